"""
Recurrent networks: RNN, GRU and LSTM, and the LSTM of quantized weights.

The products of the inputs with their weights are one product for all steps, before the scan; a step has that of the
state, and the gates. A direction is a scan of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ...frozen import frozen
from ..control_flow import scan
from ..nn import activations
from ..numpy import elementwise, joining, manipulation, reductions
from .indices import counting_along
from .quantized_layers import dynamic_quantize_matmul
from .registry import Maybe, Unsupported, Value, is_known, onnx_op

Function = Callable[[Value], Value]

_ACTIVATIONS: dict[str, tuple[Callable[[Value, float, float], Value], float, float]] = {
    "affine": (lambda x, a, b: x * a + b, 1.0, 0.0),
    "elu": (lambda x, a, b: elementwise.where(x < 0, (elementwise.exp(x) - 1) * a, x), 1.0, 0.0),
    "hardsigmoid": (lambda x, a, b: elementwise.clip(x * a + b, 0, 1), 0.2, 0.5),
    "leakyrelu": (lambda x, a, b: elementwise.where(x < 0, x * a, x), 0.01, 0.0),
    "relu": (lambda x, a, b: activations.relu(x), 0.0, 0.0),
    "scaledtanh": (lambda x, a, b: elementwise.tanh(x * b) * a, 1.0, 1.0),
    "sigmoid": (lambda x, a, b: activations.sigmoid(x), 0.0, 0.0),
    "softplus": (
        lambda x, a, b: elementwise.maximum(x, 0) + elementwise.log(elementwise.exp(-abs(x)) + 1),
        0.0,
        0.0,
    ),
    "softsign": (lambda x, a, b: x / (abs(x) + 1), 0.0, 0.0),
    "tanh": (lambda x, a, b: elementwise.tanh(x), 0.0, 0.0),
    "thresholdedrelu": (lambda x, a, b: elementwise.where(x > a, x, 0), 1.0, 0.0),
}
"""The functions of gates by name in small letters, with their default alpha and beta."""

_WITH_BETA = ("affine", "hardsigmoid", "scaledtanh")
_WITH_ALPHA = (*_WITH_BETA, "elu", "leakyrelu", "thresholdedrelu")


@frozen
class QuantizedWeights:
    """Weights of 8 bits. What they are multiplied by is quantized by the range it has."""

    matrix: Value
    """[input, gates · hidden]"""
    scale: Value
    """One number, or one for each column."""
    zero_point: Value

    @property
    def shape(self) -> tuple[int, int]:
        """As of weights that are not quantized, of which these are the transpose."""
        rows, columns = self.matrix.shape
        return columns, rows


@frozen
class Direction:
    """The weights of one direction, and the functions of its gates."""

    w: Value
    """[gates · hidden, input], or QuantizedWeights of this shape"""
    r: Value
    """[gates · hidden, hidden], or QuantizedWeights of this shape"""
    wb: Value
    """[gates · hidden], or None"""
    rb: Value
    functions: tuple[Function, ...]
    clip: float | None
    hidden: int
    dtype: np.dtype

    def clipped(self, x: Value) -> Value:
        return x if self.clip is None else elementwise.clip(x, -self.clip, self.clip)

    def gate(self, number: int, x: Value) -> Value:
        """The function of that number, of what the gate sums up."""
        return self.functions[number](self.clipped(x))

    def part(self, x: Value, number: int) -> Value:
        """What of a tensor belongs to the gate of that number: a range of its last axis."""
        return x[..., number * self.hidden : (number + 1) * self.hidden]


Cell = Callable[[Direction, Value, "tuple[Value, ...]"], "tuple[Value, ...]"]
"""The next state, of which the first is the output, from what the inputs give for a step, and the state."""


def _rnn_cell(d: Direction, x: Value, state: tuple[Value, ...]) -> tuple[Value, ...]:
    (h,) = state
    return (d.gate(0, x + h @ _transposed(d.r)),)


def _gru_cell(linear_before_reset: bool) -> Cell:
    def cell(d: Direction, x: Value, state: tuple[Value, ...]) -> tuple[Value, ...]:
        """z, r and h, in this order."""
        (h,) = state
        split = 2 * d.hidden
        if linear_before_reset:
            products = h @ _transposed(d.r)
            if d.rb is not None:
                products = products + d.rb
        else:
            products = h @ _transposed(d.r[:split])
        z = d.gate(0, d.part(x, 0) + d.part(products, 0))
        r = d.gate(0, d.part(x, 1) + d.part(products, 1))
        past = (
            d.part(products, 2) * r if linear_before_reset else (r * h) @ _transposed(d.r[split:])
        )
        new = d.gate(1, d.part(x, 2) + past)
        return (new + z * (h - new),)

    return cell


def _lstm_cell(peepholes: Value, input_forget: bool) -> Cell:
    def cell(d: Direction, x: Value, state: tuple[Value, ...]) -> tuple[Value, ...]:
        """i, o, f and c, in this order; peepholes are those of i, o and f."""
        h, c = state
        sums = x + _times(h, d.r)

        def summed(gate: int, seen: Value) -> Value:
            part = d.part(sums, gate)
            return part if peepholes is None else part + d.part(peepholes, gate) * seen

        i = d.gate(0, summed(0, c))
        forget = 1 - i if input_forget else d.gate(0, summed(2, c))
        following = forget * c + i * d.gate(1, d.part(sums, 3))
        o = d.gate(0, summed(1, following))
        return o * d.functions[2](following), following

    return cell


@frozen
class _Layer:
    """The inputs and attributes that all three operators have."""

    x: Value
    w: Value
    r: Value
    b: Value
    lengths: Value
    initial: tuple[Value, ...]
    gates: int
    defaults: tuple[str, ...]
    attributes: dict[str, Any]

    def run(self, cell_of: Callable[[int], Cell], bias_apart: bool = False) -> list[Value]:
        """Y, and the last values of each state, for all directions, in the layout that is asked for."""
        is_batch_first = bool(self.attributes["layout"])
        if self.attributes["layout"] not in (0, 1):
            raise Unsupported(f"layout={self.attributes['layout']}")
        x = manipulation.transpose(self.x, (1, 0, 2)) if is_batch_first else self.x
        initial = [
            manipulation.transpose(one, (1, 0, 2)) if is_batch_first and one is not None else one
            for one in self.initial
        ]
        direction = self.attributes["direction"]
        if direction not in ("forward", "reverse", "bidirectional"):
            raise Unsupported(f"direction='{direction}'")
        reverses = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[
            direction
        ]
        functions = list(self._functions(len(reverses)))
        found = [
            self._scanned(
                x,
                [None if one is None else one[number] for one in initial],
                self._direction(number, functions[number], bias_apart),
                cell_of(number),
                reverse,
            )
            for number, reverse in enumerate(reverses)
        ]
        ys = joining.stack([y for y, _ in found], 1)
        last = [joining.stack(list(column)) for column in zip(*(s for _, s in found), strict=True)]
        if not is_batch_first:
            return [ys, *last]
        return [
            manipulation.transpose(ys, (2, 0, 1, 3)),
            *(manipulation.transpose(s, (1, 0, 2)) for s in last),
        ]

    def _functions(self, directions: int) -> Iterator[tuple[Function, ...]]:
        """The functions of the gates of each direction; alphas and betas are given to those that have any."""
        names = self.attributes["activations"] or list(self.defaults) * directions
        count = len(self.defaults)
        if len(names) != count * directions:
            raise Unsupported(f"{len(names)} activations")
        alphas = iter(self.attributes["activation_alpha"] or ())
        betas = iter(self.attributes["activation_beta"] or ())
        found: list[Function] = []
        for name in names:
            kind = name.lower()
            if kind not in _ACTIVATIONS:
                raise Unsupported(f"activation '{name}'")
            function, alpha, beta = _ACTIVATIONS[kind]
            alpha = next(alphas, alpha) if kind in _WITH_ALPHA else alpha
            beta = next(betas, beta) if kind in _WITH_BETA else beta
            found.append(_bound(function, alpha, beta))
        for start in range(0, len(found), count):
            yield tuple(found[start : start + count])

    def _direction(
        self, number: int, functions: tuple[Function, ...], bias_apart: bool
    ) -> Direction:
        w, r = self.w[number], self.r[number]
        hidden = r.shape[-1]
        asked = self.attributes["hidden_size"]
        if asked is not None and asked != hidden:
            raise Unsupported(f"hidden_size={asked} with weights for {hidden}")
        wb = rb = None
        if self.b is not None:
            wb, rb = self.b[number][: self.gates * hidden], self.b[number][self.gates * hidden :]
            if not bias_apart:
                wb = elementwise.add(wb, rb)
        return Direction(w, r, wb, rb, functions, self.attributes["clip"], hidden, self.x.dtype)

    def _scanned(
        self,
        x: Value,
        initial: Sequence[Value],
        d: Direction,
        cell: Cell,
        reverse: bool,
    ) -> tuple[Value, Sequence[Value]]:
        steps, batch, _ = x.shape
        # One product for all steps: a tall matrix by the weights.
        products = _times(manipulation.reshape(x, (steps * batch, -1)), d.w)
        if d.wb is not None:
            products = products + d.wb
        products = manipulation.reshape(products, (steps, batch, d.w.shape[0]))
        zero = np.zeros((batch, d.hidden), d.dtype)
        state = tuple(zero if one is None else one for one in initial)
        lengths = self.lengths
        if lengths is None or (is_known(lengths) and np.all(np.asarray(lengths) == steps)):

            def step(now: Any, given: Value) -> tuple[Any, Value]:
                following = cell(d, given, now)
                return following, following[0]

            last, ys = scan(step, state, products, reverse=reverse)
            return ys, last
        # A sequence that is shorter keeps its state, and gives zeros, at the indices behind its end.
        column = manipulation.astype(
            manipulation.reshape(lengths, (1, batch, 1)), np.dtype(np.int64)
        )
        places = counting_along(0, steps, 3)
        inside = elementwise.less(places, column)
        # ONNX Runtime sets a state to zero in the step after the last, so that one more step sees it.
        is_quantized = isinstance(d.r, QuantizedWeights)
        counts = inside
        if is_quantized and not reverse:
            counts = elementwise.less(places, elementwise.add(column, 1))

        def masked(now: Any, given: tuple[Value, Value, Value]) -> tuple[Any, Value]:
            x, runs, counted = given
            seen = now
            if isinstance(
                d.r, QuantizedWeights
            ):  # what is over has no part in the range of the states
                seen = (elementwise.where(counted, now[0], np.zeros((), d.dtype)), *now[1:])
            following = cell(d, x, seen)
            kept = tuple(
                elementwise.where(runs, new, old) for new, old in zip(following, now, strict=True)
            )
            return kept, elementwise.where(runs, following[0], np.zeros((), d.dtype))

        last, ys = scan(masked, state, (products, inside, counts), reverse=reverse)
        return ys, last


def _bound(function: Callable[[Value, float, float], Value], alpha: float, beta: float) -> Function:
    return lambda x: function(x, alpha, beta)


def _times(x: Value, weights: Value) -> Value:
    """x @ weightsᵀ"""
    if not isinstance(weights, QuantizedWeights):
        return x @ _transposed(weights)
    return dynamic_quantize_matmul(x, weights.matrix, weights.scale, weights.zero_point)


def _transposed(matrix: Value) -> Value:
    return manipulation.transpose(matrix, (1, 0))


@onnx_op("RNN")
def rnn(
    x: Value,
    w: Value,
    r: Value,
    b: Value = None,
    sequence_lens: Value = None,
    initial_h: Value = None,
    *,
    activation_alpha: Sequence[float] | None = None,
    activation_beta: Sequence[float] | None = None,
    activations: Sequence[str] | None = None,
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
    layout: int = 0,
) -> list[Value]:
    """h = f(x · Wᵀ + h · Rᵀ + b)"""
    attributes = _attributes(locals())
    return _Layer(x, w, r, b, sequence_lens, (initial_h,), 1, ("Tanh",), attributes).run(
        lambda number: _rnn_cell
    )


@onnx_op("GRU")
def gru(
    x: Value,
    w: Value,
    r: Value,
    b: Value = None,
    sequence_lens: Value = None,
    initial_h: Value = None,
    *,
    activation_alpha: Sequence[float] | None = None,
    activation_beta: Sequence[float] | None = None,
    activations: Sequence[str] | None = None,
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
    layout: int = 0,
    linear_before_reset: int = 0,
) -> list[Value]:
    """z and r are gates; h = (1 - z) · g(x · Wᵀ + (r · h) · Rᵀ + b) + z · h"""
    attributes = _attributes(locals())
    layer = _Layer(x, w, r, b, sequence_lens, (initial_h,), 3, ("Sigmoid", "Tanh"), attributes)
    apart = bool(linear_before_reset)
    return layer.run(lambda number: _gru_cell(apart), bias_apart=apart)


@onnx_op("LSTM")
def lstm(
    x: Value,
    w: Value,
    r: Value,
    b: Value = None,
    sequence_lens: Value = None,
    initial_h: Value = None,
    initial_c: Value = None,
    p: Value = None,
    *,
    activation_alpha: Sequence[float] | None = None,
    activation_beta: Sequence[float] | None = None,
    activations: Sequence[str] | None = None,
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
    input_forget: int = 0,
    layout: int = 0,
) -> list[Value]:
    """c = f · c + i · g(x · Wᵀ + h · Rᵀ + b) and h = o · k(c), with the gates i, o and f"""
    attributes = _attributes(locals())
    layer = _Layer(
        x,
        w,
        r,
        b,
        sequence_lens,
        (initial_h, initial_c),
        4,
        ("Sigmoid", "Tanh", "Tanh"),
        attributes,
    )
    return layer.run(
        lambda number: _lstm_cell(None if p is None else p[number], bool(input_forget))
    )


@onnx_op("DynamicQuantizeLSTM", domain="com.microsoft")
def dynamic_quantize_lstm(
    x: Value,
    w: Value,
    r: Value,
    b: Maybe,
    sequence_lens: Maybe,
    initial_h: Maybe,
    initial_c: Maybe,
    p: Maybe,
    w_scale: Value,
    w_zero_point: Value,
    r_scale: Value,
    r_zero_point: Value,
    *,
    activation_alpha: Sequence[float] | None = None,
    activation_beta: Sequence[float] | None = None,
    activations: Sequence[str] | None = None,
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
    input_forget: int = 0,
) -> list[Value]:
    """
    An LSTM whose weights are of 8 bits: `w` [directions, input, 4 · hidden] and `r` [directions, hidden, 4 · hidden], with
    a scale and a zero point for each direction, or for each column of each.

    All inputs are quantized by one range, and in each step the states of all sequences that run, as ONNX Runtime does it
    on one thread. Backward, sequences of different lengths end together here and begin together there, so that these
    ranges differ.
    """

    def quantized(weights: Value, scale: Value, zero_point: Value) -> list[QuantizedWeights]:
        return [
            QuantizedWeights(weights[number], scale[number], zero_point[number])
            for number in range(weights.shape[0])
        ]

    if sequence_lens is not None:
        # What stands behind the end of the longest sequence has no part in the range. 0 is in every range.
        steps = counting_along(0, x.shape[0], 3)
        longest = reductions.max(manipulation.astype(sequence_lens, np.dtype(np.int64)))
        x = elementwise.where(elementwise.less(steps, longest), x, np.zeros((), x.dtype))
    return lstm(
        x,
        quantized(w, w_scale, w_zero_point),
        quantized(r, r_scale, r_zero_point),
        b,
        sequence_lens,
        initial_h,
        initial_c,
        p,
        activation_alpha=activation_alpha,
        activation_beta=activation_beta,
        activations=activations,
        clip=clip,
        direction=direction,
        hidden_size=hidden_size,
        input_forget=input_forget,
    )


def _attributes(given: dict[str, Any]) -> dict[str, Any]:
    names = (
        "activation_alpha",
        "activation_beta",
        "activations",
        "clip",
        "direction",
        "hidden_size",
        "layout",
    )
    return {name: given[name] for name in names}
