"""Frozen dataclasses whose methods are compiled when the first one is called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields, replace
from functools import cache
from operator import attrgetter
from reprlib import recursive_repr
from threading import RLock
from types import CodeType, FunctionType
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")

_COMPILED = ("__init__", "__eq__", "__hash__")
_FIELDS = "__dataclass_fields__"
_MATCH_ARGS = "__match_args__"
_SIGNATURE = "__signature__"
_FACTS = (_FIELDS, _MATCH_ARGS, _SIGNATURE)

_lock = RLock()


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """
    Class decorator: what `dataclass(frozen=True)` is, in a fraction of the time where the class is not used.

    A process imports hundreds of classes that it makes nothing of, and a dataclass takes most of a millisecond to
    make: its methods are compiled from text, one by one. Here they are when an instance is made, or compared, or
    when the fields are asked for; a default that is a `field` is no attribute of the class before. Every attribute of
    an instance is frozen.
    """
    known = cls.__dict__
    if "__init__" in known:
        return dataclass(frozen=True)(cls)
    methods: dict[str, Any] = {name: _compiled_later(cls, name) for name in _COMPILED}
    methods["__repr__"] = _repr
    if not _inherits_frozen(cls):
        methods |= {"__setattr__": _frozen, "__delattr__": _frozen}
    # A class with a method __eq__ has None as its __hash__.
    missing = [name for name in methods if known.get(name) is None]
    for name in missing:
        setattr(cls, name, methods[name])
    for name in _FACTS:
        setattr(cls, name, _Later(cls, name, missing))
    return cls


def _inherits_frozen(cls: type) -> bool:
    """Whether it inherits from a frozen dataclass of the standard library, which then says how it is frozen."""
    params = (base.__dict__.get("__dataclass_params__") for base in cls.__mro__[1:])
    return any(one is not None and one.frozen for one in params)


def replaced(instance: T, **changes: Any) -> T:
    """As `dataclasses.replace`, in a fraction of the time where nothing is done but to set the fields."""
    cls = type(instance)
    names = _plain_fields(cls)
    if not names or not changes.keys() <= names.keys():
        return replace(instance, **changes)  # pyright: ignore[reportArgumentType, reportUnknownVariableType]
    made = object.__new__(cls)
    own = instance.__dict__
    if len(own) != len(names):  # cached properties are among them
        own = {name: own[name] for name in names}
    made.__dict__.update(own, **changes)
    return made


@cache
def _plain_fields(cls: type) -> dict[str, None]:
    """The fields of a class all of which are arguments of its constructor, which sets them; none of another one."""
    every = fields(cls)  # pyright: ignore[reportArgumentType]
    is_plain = all(f.init for f in every) and not hasattr(cls, "__post_init__")
    return {f.name: None for f in every} if is_plain else {}


class _Later:
    """A fact about a class that is known when it is complete, and the methods that it then gets."""

    def __init__(self, cls: type, name: str, methods: Sequence[str]):
        self.cls, self.name, self.methods = cls, name, methods

    def __get__(self, instance: object, owner: type) -> Any:
        _complete(self.cls)
        return getattr(self.cls, self.name)


def _compiled_later(cls: type, name: str) -> Callable[..., Any]:
    def method(*args: Any, **named: Any) -> Any:
        _complete(cls)
        return getattr(cls, name)(*args, **named)

    return method


def _complete(cls: type) -> None:
    """Compile the methods, unless another thread has: each takes its place at once."""
    with _lock:
        later = cls.__dict__[_FIELDS]
        if not isinstance(later, _Later):
            return
        is_frozen = _inherits_frozen(cls)
        delattr(cls, _SIGNATURE)  # from here on it is that of __init__
        dataclass(init=False, repr=False, eq=False, match_args=False, frozen=is_frozen)(cls)
        every = fields(cls)  # pyright: ignore[reportArgumentType]
        compiled = _methods(cls, every)
        for name in _COMPILED:
            if name in later.methods:
                compiled[name].__qualname__ = f"{cls.__qualname__}.{name}"
                setattr(cls, name, compiled[name])
        setattr(cls, _MATCH_ARGS, tuple(f.name for f in every if f.init and not f.kw_only))


def _methods(cls: type, every: Sequence[Field[Any]]) -> dict[str, Any]:
    _require_defaults_last(cls, every)
    compared = [f.name for f in every if f.compare]
    hashed = [f.name for f in every if (f.compare if f.hash is None else f.hash)]
    return {
        "__init__": _plain_init(cls, every) or _init(cls, every),
        "__eq__": _eq(_values_of(compared)),
        "__hash__": _hash(_values_of(hashed)),
    }


def _require_defaults_last(cls: type, every: Sequence[Field[Any]]) -> None:
    """Raises TypeError for a field without a default behind one that has it, to which a constructor would give the default."""
    optional: str | None = None
    for f in every:
        if not f.init or f.kw_only:
            continue
        if f.default is not MISSING or f.default_factory is not MISSING:
            optional = f.name
        elif optional is not None:
            raise TypeError(
                f"{cls.__qualname__}: found field {f.name!r} without a default behind {optional!r}, which has one; "
                "give it a default, or have it first"
            )


def _plain_init(cls: type, every: Sequence[Field[Any]]) -> Callable[..., None] | None:
    """
    The constructor of a class all of whose fields are arguments in their order, with defaults that are values: that of
    another class with as many fields, under its own names. None for another class.
    """
    is_plain = all(f.init and not f.kw_only and f.default_factory is MISSING for f in every)
    if not every or not is_plain:
        return None
    names = tuple(f.name for f in every)
    model = _init_of(len(every), checks=hasattr(cls, "__post_init__"))
    own = dict(zip(model.co_varnames[1:], names, strict=True))
    constants = tuple(own.get(each, each) for each in model.co_consts)
    code = model.replace(co_varnames=("self", *names), co_consts=constants)
    defaults = tuple(f.default for f in every if f.default is not MISSING)
    return FunctionType(code, _SCOPE, "__init__", defaults)


@cache
def _init_of(count: int, *, checks: bool) -> CodeType:
    """The code of a constructor that sets so many fields, and may check them."""
    names = [f"field_{n}" for n in range(count)]
    body = "; ".join(f"set_(self, {name!r}, {name})" for name in names)
    body += "; self.__post_init__()" if checks else ""
    scope: dict[str, Any] = {}
    exec(f"def __init__(self, {', '.join(names)}): {body}", scope)
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
