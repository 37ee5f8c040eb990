"""Frozen dataclasses whose methods are compiled when the first one is called."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields, replace
from functools import cache
from operator import attrgetter
from reprlib import recursive_repr
from threading import RLock
from types import CodeType, FunctionType
from typing import Any, TypeVar, dataclass_transform

from .forks import Rank, held_over_forks

T = TypeVar("T")

_COMPILED = ("__init__", "__eq__", "__hash__")
_FIELDS = "__dataclass_fields__"
_MATCH_ARGS = "__match_args__"
_SIGNATURE = "__signature__"
_FACTS = (_FIELDS, _MATCH_ARGS, _SIGNATURE)

_lock = held_over_forks(RLock(), Rank.INNERMOST)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """
    Class decorator: what `dataclass(frozen=True)` is, in a fraction of the time where the class is not used.

    A process imports hundreds of classes that it makes nothing of, and a dataclass takes most of a millisecond to
    make: its methods are compiled from text, one by one. Here they are when an instance is made, or compared, or
    when the fields are asked for; a default that is a `field` is no attribute of the class before. Every attribute of
    an instance is frozen.
    """
    if "__init__" in cls.__dict__:
        return dataclass(frozen=True)(cls)
    guards = {} if _inherits_frozen(cls) else {"__setattr__": _frozen, "__delattr__": _frozen}
    return _with_methods(cls, guards)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen_in_types(cls: type[T]) -> type[T]:
    """
    Class decorator: as `frozen`, for classes inside of the compiler of which instances are made by the thousand. That nothing sets
    their attributes is for the type checker to find: a constructor that sets them without asking takes a quarter of the time.
    """
    return _with_methods(cls, {})


def _with_methods(cls: type[T], guards: Mapping[str, Any]) -> type[T]:
    """The class with the methods of a dataclass, and others, as far as it has none of its own."""
    known = cls.__dict__
    methods: dict[str, Any] = {name: _compiled_later(cls, name) for name in _COMPILED}
    methods |= {"__repr__": _repr, **guards}
    # A class with a method __eq__ has None as its __hash__.
    missing = [name for name in methods if known.get(name) is None]
    for name in missing:
        setattr(cls, name, methods[name])
    for name in _FACTS:
        setattr(cls, name, _Later(cls, name, {each for each in missing if each in _COMPILED}))
    return cls


def _inherits_frozen(cls: type) -> bool:
    """Whether it inherits from a frozen dataclass of the standard library, which then says how it is frozen."""
    params = (base.__dict__.get("__dataclass_params__") for base in cls.__mro__[1:])
    return any(one is not None and one.frozen for one in params)


def replaced(instance: T, **changes: Any) -> T:
    """As `dataclasses.replace`, in a fraction of the time where nothing is done but to set the fields."""
    cls = type(instance)
    names = _plain_fields(cls)
    if not names or not names.keys() >= changes.keys():
        return replace(instance, **changes)  # pyright: ignore[reportArgumentType, reportUnknownVariableType]
    made = object.__new__(cls)
    own = instance.__dict__
    if len(own) != len(names):  # cached properties are among them
        own = {name: own[name] for name in names}
    made.__dict__.update(own, **changes)
    return made


@cache
def _plain_fields(cls: type) -> Mapping[str, Any]:
    """The fields of a class all of which are arguments of its constructor, which sets them; none of another one."""
    if hasattr(cls, "__post_init__"):
        return {}
    plain = _plain(cls) if _FIELDS in cls.__dict__ else None
    if plain is not None:
        return plain
    every = fields(cls)
    return dict.fromkeys(f.name for f in every) if all(f.init for f in every) else {}


def defaults_of(cls: type) -> Mapping[str, Any]:
    """The fields of a class, with their defaults or MISSING, without what a dataclass finds out about them if it is not needed."""
    plain = _plain(cls) if isinstance(cls.__dict__.get(_FIELDS), _Later) else None
    return {f.name: f.default for f in fields(cls)} if plain is None else plain


class _Later:
    """A fact about a class that is known when it is complete, and the methods that are not compiled yet."""

    def __init__(self, cls: type, name: str, methods: set[str]):
        self.cls, self.name, self.methods = cls, name, methods

    def __get__(self, instance: object, owner: type) -> Any:
        with _lock:
            if self.cls.__dict__.get(self.name) is self:  # else another thread has completed it
                _complete(self.cls, self.cls.__dict__[_FIELDS])
        return getattr(self.cls, self.name)


def _compiled_later(cls: type, name: str) -> Callable[..., Any]:
    def method(*args: Any, **named: Any) -> Any:
        with _lock:
            later = cls.__dict__[_FIELDS]
            if isinstance(later, _Later) and name in later.methods:
                plain = None if _inherits_frozen(cls) else _plain(cls)
                if plain is None:
                    _complete(cls, later)
                else:
                    _compile(cls, later, _methods_of_plain(cls, plain))
        return getattr(cls, name)(*args, **named)

    return method


def _plain(cls: type) -> dict[str, Any] | None:
    """
    The fields and their defaults, where the class and those that it inherits from only annotate them: then they are seen
    without what a dataclass finds out about them, which takes ten times as long as the methods do. Else None.
    """
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        known = base.__dict__
        if _FIELDS not in known:
            continue
        if not isinstance(known[_FIELDS], _Later):
            every = fields(base)
            if len(every) != len(known[_FIELDS]) or not all(map(_is_plain, every)):
                return None
            found |= {f.name: f.default for f in every}
            continue
        for name, annotation in known.get("__annotations__", {}).items():
            if isinstance(annotation, str) and annotation.startswith("ClassVar["):
                continue
            default = getattr(base, name, MISSING)
            is_field = isinstance(annotation, str) and not _SPECIAL.search(annotation)
            if not is_field or isinstance(default, Field) or type(default).__hash__ is None:
                return None
            found[name] = default
    return found


_SPECIAL = re.compile("ClassVar|InitVar|KW_ONLY")


def _is_plain(f: Field[Any]) -> bool:
    is_argument = f.init and not f.kw_only and f.default_factory is MISSING
    return is_argument and f.compare and f.hash is None


def _compile(cls: type, later: _Later, compiled: dict[str, Any]) -> None:
    """Give the class its methods: each takes its place at once."""
    for name in later.methods:
        compiled[name].__qualname__ = f"{cls.__qualname__}.{name}"
        setattr(cls, name, compiled[name])
    later.methods.clear()


def _complete(cls: type, later: _Later) -> None:
    """Let a dataclass find the fields, and compile the methods if they are not yet."""
    is_frozen = _inherits_frozen(cls)
    delattr(cls, _SIGNATURE)  # from here on it is that of __init__
    dataclass(init=False, repr=False, eq=False, match_args=False, frozen=is_frozen)(cls)
    every = fields(cls)
    if later.methods:
        _compile(cls, later, _methods(cls, every))
    setattr(cls, _MATCH_ARGS, tuple(f.name for f in every if f.init and not f.kw_only))


def _methods_of_plain(cls: type, plain: dict[str, Any]) -> dict[str, Any]:
    _require_defaults_last(cls, plain)
    values = _values_of([*plain])
    return {"__init__": _plain_init(cls, plain), "__eq__": _eq(values), "__hash__": _hash(values)}


def _methods(cls: type, every: Sequence[Field[Any]]) -> dict[str, Any]:
    """The methods of a class with any kinds of fields."""
    if all(map(_is_plain, every)):
        return _methods_of_plain(cls, {f.name: f.default for f in every})
    by_place = [f for f in every if f.init and not f.kw_only]
    _require_defaults_last(
        cls,
        {
            f.name: f.default if f.default_factory is MISSING else f.default_factory
            for f in by_place
        },
    )
    compared = [f.name for f in every if f.compare]
    hashed = [f.name for f in every if (f.compare if f.hash is None else f.hash)]
    return {
        "__init__": _init(cls, every),
        "__eq__": _eq(_values_of(compared)),
        "__hash__": _hash(_values_of(hashed)),
    }


def _require_defaults_last(cls: type, defaults: dict[str, Any]) -> None:
    """Raises TypeError for a field without a default behind one that has it, to which a constructor would give the default."""
    optional: str | None = None
    for name, default in defaults.items():
        if default is not MISSING:
            optional = name
        elif optional is not None:
            raise TypeError(
                f"{cls.__qualname__}: found field {name!r} without a default behind {optional!r}, which has one; "
                "give it a default, or have it first"
            )


def _plain_init(cls: type, plain: dict[str, Any]) -> Callable[..., None]:
    """
    The constructor of a class all of whose fields are arguments in their order, with defaults that are values: that of
    another class with as many fields, under its own names.
    """
    names, is_settable = tuple(plain), cls.__setattr__ is object.__setattr__
    model = _init_of(len(names), checks=hasattr(cls, "__post_init__"), is_settable=is_settable)
    count = len(names) + 1
    numbered, others = model.co_varnames[1:count], model.co_varnames[count:]
    own: dict[Any, Any] = dict(zip(numbered, names, strict=True)) | {numbered: names}
    constants = tuple(own.get(each, each) for each in model.co_consts)
    attributes = tuple(own.get(each, each) for each in model.co_names)
    code = model.replace(
        co_varnames=("self", *names, *others), co_consts=constants, co_names=attributes
    )
    defaults = tuple(default for default in plain.values() if default is not MISSING)
    return FunctionType(code, _SCOPE, "__init__", defaults)


@cache
def _init_of(count: int, *, checks: bool, is_settable: bool) -> CodeType:
    """The code of a constructor that sets so many fields, which may be set as those of any object, and may check them."""
    names = [f"field_{n}" for n in range(count)]
    if is_settable:
        sets = [f"self.{name} = {name}" for name in names]
    else:  # each is set in less time than by the method of any object, and than all at once
        sets = ["own = self.__dict__", *(f"own[{name!r}] = {name}" for name in names)]
    body = "; ".join(sets) or "pass"
    body += "; self.__post_init__()" if checks else ""
    scope: dict[str, Any] = {}
    exec(f"def __init__({', '.join(['self', *names])}): {body}", scope)
    return scope["__init__"].__code__


_SCOPE: dict[str, Any] = {"set_": object.__setattr__}


def _init(cls: type, every: Sequence[Field[Any]]) -> Callable[..., None]:
    """The constructor of any class, compiled from text."""
    scope: dict[str, Any] = {**_SCOPE, "missing": MISSING}
    arguments, by_name, body = ["self"], ["*"], [""]
    for f in every:
        value = f.name
        if f.default_factory is not MISSING:
            scope[f"make_{f.name}"] = f.default_factory
            value = f"make_{f.name}()"
        if f.init:
            default = ""
            if f.default is not MISSING:
                default, scope[f"default_{f.name}"] = f"=default_{f.name}", f.default
            elif f.default_factory is not MISSING:
                default, value = "=missing", f"{value} if {f.name} is missing else {f.name}"
            (by_name if f.kw_only else arguments).append(f.name + default)
        elif f.default_factory is MISSING:
            continue
        body.append(f"set_(self, {f.name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    arguments += by_name if len(by_name) > 1 else []
    text = f"def __init__({', '.join(arguments)}): {'; '.join(body[1:]) or 'pass'}"
    exec(compile(text, f"<methods of {cls.__qualname__}>", "exec"), scope)
    return scope["__init__"]


def _values_of(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    """The function that gives these attributes of an object."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda instance: tuple(getattr(instance, name) for name in names)


def _eq(values: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any, Any], Any]:
    def __eq__(self: Any, other: Any) -> Any:
        if other.__class__ is self.__class__:
            return values(self) == values(other)
        return NotImplemented

    return __eq__


def _hash(values: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any], int]:
    def __hash__(self: Any) -> int:
        return hash(values(self))

    return __hash__


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if f.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _frozen(self: object, name: str, *_: object) -> None:
    raise FrozenInstanceError(f"cannot assign to or delete field {name!r}")
