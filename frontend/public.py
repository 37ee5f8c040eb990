"""The public functions by name, wherever they stand; and their entry among the operators of Tensors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any

from ..spelling import did_you_mean
from . import operators, other_packages
from .nn import (
    activations,
    convolution,
    detection,
    normalization,
    norms,
    pooling,
    quantization,
    resize,
    sampling,
    unpooling,
)
from .numpy import (
    applied,
    bessel,
    bits,
    compaction,
    counting,
    creation,
    differences,
    einsum,
    elementwise,
    fft,
    fitting,
    fourier,
    histograms,
    introspection,
    joining,
    keys,
    linalg,
    manipulation,
    masked_writes,
    mathematics,
    matrices,
    nan_reductions,
    padding,
    polynomials,
    predicates,
    products,
    random,
    reductions,
    scans,
    scatter,
    searching,
    selection,
    sets,
    sorting,
    statistics,
    updates,
    windows,
)
from .numpy import (
    complex_functions as complex_functions,  # enters what functions are of complex numbers
)
from .numpy import (
    complex_reductions as complex_reductions,
)
from .numpy.indexing import getitem
from .numpy.missing import MISSING
from .traceable import is_public
from .ufunc_methods import give_methods

_NN = (
    activations,
    convolution,
    detection,
    normalization,
    norms,
    pooling,
    quantization,
    resize,
    sampling,
    unpooling,
)
_NUMPY = (
    applied,
    bessel,
    bits,
    compaction,
    counting,
    creation,
    differences,
    einsum,
    elementwise,
    fitting,
    fourier,
    histograms,
    joining,
    manipulation,
    masked_writes,
    mathematics,
    matrices,
    nan_reductions,
    padding,
    polynomials,
    predicates,
    products,
    random,
    reductions,
    scans,
    scatter,
    searching,
    selection,
    sets,
    sorting,
    statistics,
    updates,
    windows,
)


def _functions(modules: Iterable[ModuleType]) -> dict[str, Any]:
    return {
        name: function
        for module in modules
        for name, function in vars(module).items()
        if is_public(function)
    }


class Namespace:
    """Public names under a name of their own, such as `stepwell.linalg`."""

    def __init__(self, name: str, members: Mapping[str, Any], text: str, hints: Mapping[str, str]):
        self.__name__ = name
        self.__doc__ = text
        self._hints = hints
        self.__dict__.update(members)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        names = [known for known in vars(self) if not known.startswith("_")]
        raise AttributeError(_message(self.__name__, name, names, self._hints))

    @property
    def hints(self) -> Mapping[str, str]:
        """What to write in place of names that there are not."""
        return self._hints

    def __repr__(self) -> str:
        return f"<namespace '{self.__name__}'>"


_OF_NUMPY = {
    name: function
    for name, function in _functions(_NUMPY).items()
    if name not in fft.FFT and name not in ("getitem", "updated")
}
_OF_NETWORKS = {
    name: function
    for name, function in _functions(_NN).items()
    if _OF_NUMPY.get(name) is not function
}

_STRIDE_TRICKS = Namespace(
    "stepwell.lib.stride_tricks", windows.MEMBERS, windows.__doc__ or "", windows.MISSING
)

_PUBLIC: dict[str, Any] = {
    # NumPy's names are NumPy's functions also where a network has one.
    **_OF_NETWORKS,
    **_OF_NUMPY,
    "c_": applied.C_,
    "r_": applied.R_,
    **introspection.CONSTANTS,
    **introspection.DTYPES,
    **introspection.FUNCTIONS,
    "lib": Namespace("stepwell.lib", {"stride_tricks": _STRIDE_TRICKS}, "As numpy.lib.", {}),
    "linalg": Namespace("stepwell.linalg", linalg.MEMBERS, linalg.__doc__ or "", linalg.MISSING),
    "fft": Namespace("stepwell.fft", fft.FFT, fft.__doc__ or "", {}),
    "random": Namespace("stepwell.random", keys.MEMBERS, keys.__doc__ or "", other_packages.RANDOM),
    "nn": Namespace(
        "stepwell.nn", _OF_NETWORKS, "Functions of neural networks.", other_packages.NETWORKS
    ),
}


def _name_as_called() -> None:
    """Functions that are made of an operation bear its name: let them bear the first of those that they are called by."""
    named: set[int] = set()
    for name, function in _PUBLIC.items():
        if is_public(function) and id(function) not in named:
            named.add(id(function))
            if _PUBLIC.get(function.__name__) is not function:
                function.__name__ = function.__qualname__ = name


_name_as_called()


give_methods(_OF_NUMPY)


def public(name: str, others: Iterable[str] = ()) -> Any:
    """
    What is called `name`. Raises AttributeError, with what to write instead, where there is nothing; `others` are
    public names that stand elsewhere.
    """
    if name in _PUBLIC:
        return _PUBLIC[name]
    hints = other_packages.PACKAGE | MISSING
    raise AttributeError(_message("stepwell", name, {*_PUBLIC, *others}, hints))


def _message(where: str, name: str, known: Iterable[str], hints: Mapping[str, str]) -> str:
    what = f"module '{where}' has no attribute '{name}'"
    if name in hints:
        return f"{what}: {hints[name]}"
    return f"{what}; {did_you_mean(name, known, f'dir({where}) lists what there is')}"


def public_names() -> list[str]:
    """The names of all public functions."""
    return sorted(name for name, value in _PUBLIC.items() if is_public(value))


def every_name() -> list[str]:
    """All public names, of constants, dtypes and namespaces too."""
    return sorted(_PUBLIC)


operators.enter({name: value for name, value in _PUBLIC.items() if callable(value)})
operators.enter({"__getitem__": getitem, "updated": updates.updated})
for _room, _members, _missing in (
    ("linalg", linalg.MEMBERS, linalg.MISSING),
    ("fft", fft.FFT, {}),
    ("lib.stride_tricks", windows.MEMBERS, windows.MISSING),
):
    operators.enter({f"{_room}.{name}": function for name, function in _members.items()})
    operators.enter_hints({f"{_room}.{name}": reason for name, reason in _missing.items()})
operators.enter_hints(MISSING)
