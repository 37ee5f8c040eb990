"""`frozen` makes what `dataclass(frozen=True)` does, when it is first used."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, asdict, dataclass, field, fields, replace
from functools import cached_property
from inspect import signature
from typing import ClassVar

import pytest
from stepwell.frozen import defaults_of, frozen, frozen_in_types, replaced


@frozen
class Point:
    x: int
    y: int = 2
    names: list[str] = field(default_factory=list[str], compare=False, repr=False)
    UNIT: ClassVar[str] = "mm"


@frozen
class Named(Point):
    name: str = field(default="p", kw_only=False)

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("no name")


@dataclass(frozen=True)
class Base:
    a: int


@frozen
class Derived(Base):
    b: int = 3


class Plain(Point):
    """Inherits what is compiled later."""


@frozen_in_types
class Pair:
    first: int
    second: int = 2

    @cached_property
    def sum(self) -> int:
        return self.first + self.second


@frozen_in_types
class Triple(Pair):
    third: int = 3

    def __post_init__(self) -> None:
        if self.third < 0:
            raise ValueError("negative")


def test_methods() -> None:
    assert repr(Point(1)) == "Point(x=1, y=2)" and repr(Named(1, name="q")).endswith("name='q')")
    assert Point(1, 2, ["a"]) == Point(1) != Point(2) and Point(1) != (1, 2)
    assert hash(Point(1)) == hash(Point(1, 2, ["a"])) == hash((1, 2))
    assert Named(1) != Point(1) and Plain(1) != Point(1) and Plain(3, y=4).y == 4
    assert Point(1).names is not Point(1).names
    with pytest.raises(ValueError, match="no name"):
        Named(1, name="")
    with pytest.raises(TypeError, match=r"^Point.__init__\(\) missing 1 .* argument: 'x'"):
        Point()


def test_classes_that_are_frozen_in_types_alone() -> None:
    assert repr(Pair(1)) == "Pair(first=1, second=2)" and Pair(1, second=4).sum == 5
    assert (
        Pair(1) == Pair(1, 2) != Pair(2) and Pair(1) != Triple(1) and hash(Pair(1)) == hash((1, 2))
    )
    assert Triple(1).third == 3 and Triple(1, 2, 4) == replaced(Triple(1), third=4)
    assert [f.name for f in fields(Triple)] == ["first", "second", "third"]
    assert pickle.loads(pickle.dumps(Triple(5))) == Triple(5)
    with pytest.raises(ValueError, match="negative"):
        Triple(1, third=-1)
    with pytest.raises(TypeError, match=r"^Pair.__init__\(\) missing 1 .* argument: 'first'"):
        Pair()  # pyright: ignore[reportCallIssue]
    # Fields are set where instances keep those of a class together: `__dict__` would give each a dictionary of its own.
    assert "__dict__" not in Pair.__init__.__code__.co_names


@pytest.mark.parametrize("value", [Point(1), Named(1), Derived(1), Plain(1)])
def test_frozen(value: object) -> None:
    for name in ("x", "a"):
        if hasattr(value, name):
            with pytest.raises(FrozenInstanceError):
                setattr(value, name, 5)
            with pytest.raises(FrozenInstanceError):
                delattr(value, name)
    assert pickle.loads(pickle.dumps(value)) == value


def test_facts_are_known_before_an_instance_is() -> None:
    @frozen
    class Later:
        a: int
        b: int = 1

    assert [f.name for f in fields(Later)] == ["a", "b"]

    @frozen
    class Matched:
        a: int
        b: int = 1

    assert Matched.__match_args__ == ("a", "b")
    match Matched(7):
        case Matched(a, b):
            assert (a, b) == (7, 1)


@pytest.mark.parametrize("decorator", [frozen, dataclass(frozen=True)])
def test_what_is_given_by_name_and_own_equality(decorator: Callable[[type], type]) -> None:
    @decorator
    class Given:
        width: int = field(kw_only=True)
        height: int = 3

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Given)

    assert list(signature(Given).parameters) == ["height", "width"]
    assert repr(Given(4, width=5)).endswith("Given(width=5, height=4)")
    assert Given.__match_args__ == ("height",)
    assert hash(Given(width=1)) == hash((1, 3)) and Given(width=1) == Given(width=2)
    with pytest.raises(TypeError, match="positional"):
        Given(1, 2)


def test_what_dataclasses_offer() -> None:
    assert replace(Named(1), y=5) == Named(1, 5) and replace(Derived(1), a=2) == Derived(2, 3)
    assert asdict(Named(1, names=["n"])) == {"x": 1, "y": 2, "names": ["n"], "name": "p"}
    assert [f.name for f in fields(Derived)] == ["a", "b"] and Derived(1) == Derived(1, 3)


@frozen
class Area:
    width: int
    height: int = 2

    @cached_property
    def size(self) -> int:
        return self.width * self.height


def test_replaced() -> None:
    for value in (Point(1), Named(1), Derived(1), Plain(1)):
        field_name = fields(value)[0].name
        made = replaced(value, **{field_name: 7})
        assert made == replace(value, **{field_name: 7}) and type(made) is type(value)
        assert replaced(value) == value and replaced(value) is not value
    area = Area(3)
    assert area.size == 6 and replaced(area, width=5).size == 10 and area.size == 6
    with pytest.raises(ValueError, match="no name"):
        replaced(Named(1), name="")
    with pytest.raises(TypeError, match="depth"):
        replaced(area, depth=1)


def test_a_field_without_a_default_behind_one_that_has_it() -> None:
    """The constructor would give the default to the other one."""

    @frozen
    class Last(Point):
        depth: int

    message = (
        "found field 'depth' without a default behind 'names', which has one; give it a default"
    )
    with pytest.raises(TypeError, match=message):
        Last(1, 2)

    @frozen
    class Plain:
        first: int = 1
        second: int

    with pytest.raises(TypeError, match="found field 'second' without a default behind 'first'"):
        Plain(5)


def test_a_class_with_plain_fields_is_used_without_its_facts() -> None:
    """What a dataclass finds out about the fields takes longer than all that most classes are used for."""

    @frozen
    class Plain:
        UNIT: ClassVar[str] = "mm"
        a: int
        b: int
        c: int = 3
        d: int = 4

    @frozen
    class More(Plain):
        e: int = 5

    one = More(1, 2, d=6)
    assert (one.a, one.b, one.c, one.d, one.e) == (1, 2, 3, 6, 5)
    assert one == More(1, 2, 3, 6, 5) != More(1, 2) and hash(one) == hash((1, 2, 3, 6, 5))
    assert replaced(one, e=7) == More(1, 2, 3, 6, 7)
    assert defaults_of(More) == {"a": MISSING, "b": MISSING, "c": 3, "d": 4, "e": 5}
    for cls in (Plain, More):  # the facts are still to be found
        assert not isinstance(cls.__dict__["__dataclass_fields__"], dict)
    assert [f.name for f in fields(More)] == ["a", "b", "c", "d", "e"]
    assert isinstance(More.__dict__["__dataclass_fields__"], dict)
    assert [*defaults_of(More).items()][3:] == [("d", 4), ("e", 5)]
    assert More(1, 2) == replace(one, d=4) and More.__match_args__ == ("a", "b", "c", "d", "e")


def test_fields_that_are_shared_by_all_instances() -> None:
    @frozen
    class Shared:
        UNIT: ClassVar[str] = "mm"
        size: int = 1

    assert Shared(2).size == 2 and Shared.UNIT == "mm"
    with pytest.raises(TypeError, match="argument"):
        Shared(2, "cm")


def test_a_default_that_may_change_is_refused() -> None:
    @frozen
    class Changing:
        names: list[str] = []

    with pytest.raises(ValueError, match="mutable default"):
        Changing()
