"""Programs with control flow: text at the graph level, and what each computes in NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

Arrays = Sequence[np.ndarray]


class Program(NamedTuple):
    """A function named `main`, the shapes and dtypes of its arguments, and NumPy's word on its results."""

    text: str
    arguments: tuple[str, ...]
    numpy: Callable[..., tuple[np.ndarray, ...]]


def _rnn(xs: np.ndarray, h: np.ndarray, w: np.ndarray, r: np.ndarray) -> tuple[np.ndarray, ...]:
    ys: list[np.ndarray] = []
    for x in xs:
        h = np.tanh(x @ w + h @ r)
        ys.append(h)
    return h, np.stack(ys)


RNN = Program(
    """
    func.func @main(%xs: tensor<7x3x5xf32>, %h0: tensor<3x6xf32>, %w: tensor<5x6xf32>, %r: tensor<6x6xf32>)
        -> (tensor<3x6xf32>, tensor<7x3x6xf32>) {
      %last, %ys = graph.scan 7 carry (%h = %h0) over (%x = %xs)
          : (tensor<3x6xf32>, tensor<7x3x5xf32>) -> (tensor<3x6xf32>, tensor<7x3x6xf32>) {
        %a = graph.matmul %x, %w : tensor<3x5xf32>, tensor<5x6xf32> -> tensor<3x6xf32>
        %b = graph.matmul %h, %r : tensor<3x6xf32>, tensor<6x6xf32> -> tensor<3x6xf32>
        %s = graph.add %a, %b : tensor<3x6xf32>, tensor<3x6xf32> -> tensor<3x6xf32>
        %n = graph.tanh %s : tensor<3x6xf32>
        graph.yield %n, %n : tensor<3x6xf32>, tensor<3x6xf32>
      }
      func.return %last, %ys : tensor<3x6xf32>, tensor<7x3x6xf32>
    }
    """,
    ("7x3x5xf32", "3x6xf32", "5x6xf32", "6x6xf32"),
    _rnn,
)


def _fibonacci(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, ...]:
    for _ in range(9):
        a, b = b, a + b
    return a, b


FIBONACCI = Program(
    """
    func.func @main(%a0: tensor<3xi64>, %b0: tensor<3xi64>) -> (tensor<3xi64>, tensor<3xi64>) {
      %a9, %b9 = graph.scan 9 carry (%a = %a0, %b = %b0)
          : (tensor<3xi64>, tensor<3xi64>) -> (tensor<3xi64>, tensor<3xi64>) {
        %c = graph.add %a, %b : tensor<3xi64>, tensor<3xi64> -> tensor<3xi64>
        graph.yield %b, %c : tensor<3xi64>, tensor<3xi64>
      }
      func.return %a9, %b9 : tensor<3xi64>, tensor<3xi64>
    }
    """,
    ("3xi64", "3xi64"),
    _fibonacci,
)
"""One state becomes another: what it was has to be read before it is replaced."""


def _rotation(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, ...]:
    before: list[np.ndarray] = []
    for _ in range(4):
        before.append(a)
        a, b, c = b, c, a
    return a, b, c, np.stack(before)


ROTATION = Program(
    """
    func.func @main(%a0: tensor<2xf32>, %b0: tensor<2xf32>, %c0: tensor<2xf32>)
        -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<4x2xf32>) {
      %r:4 = graph.scan 4 carry (%a = %a0, %b = %b0, %c = %c0)
          : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)
          -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<4x2xf32>) {
        graph.yield %b, %c, %a, %a : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
      }
      func.return %r#0, %r#1, %r#2, %r#3 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<4x2xf32>
    }
    """,
    ("2xf32", "2xf32", "2xf32"),
    _rotation,
)


def _both_ways(xs: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, ...]:
    def sums(rows: np.ndarray) -> np.ndarray:
        return np.cumsum(rows @ w, axis=0)

    sequence = xs.transpose(1, 0, 2)
    forwards, backwards = sums(sequence), sums(sequence[::-1])[::-1]
    return (np.concatenate([forwards, backwards], axis=2).transpose(1, 0, 2),)


BOTH_WAYS = Program(
    """
    func.func @main(%xs: tensor<3x5x4xf32>, %w: tensor<4x2xf32>) -> tensor<3x5x4xf32> {
      %sequence = graph.transpose %xs perm = [1, 0, 2] : tensor<3x5x4xf32> -> tensor<5x3x4xf32>
      %zero = graph.constant dense<0.0> : tensor<3x2xf32>
      %f, %forwards = graph.scan 5 carry (%h = %zero) over (%x = %sequence)
          : (tensor<3x2xf32>, tensor<5x3x4xf32>) -> (tensor<3x2xf32>, tensor<5x3x2xf32>) {
        %p = graph.matmul %x, %w : tensor<3x4xf32>, tensor<4x2xf32> -> tensor<3x2xf32>
        %s = graph.add %p, %h : tensor<3x2xf32>, tensor<3x2xf32> -> tensor<3x2xf32>
        graph.yield %s, %s : tensor<3x2xf32>, tensor<3x2xf32>
      }
      %b, %backwards = graph.scan 5 reverse carry (%h = %zero) over (%x = %sequence)
          : (tensor<3x2xf32>, tensor<5x3x4xf32>) -> (tensor<3x2xf32>, tensor<5x3x2xf32>) {
        %p = graph.matmul %x, %w : tensor<3x4xf32>, tensor<4x2xf32> -> tensor<3x2xf32>
        %s = graph.add %p, %h : tensor<3x2xf32>, tensor<3x2xf32> -> tensor<3x2xf32>
        graph.yield %s, %s : tensor<3x2xf32>, tensor<3x2xf32>
      }
      %both = graph.concat %forwards, %backwards axis = 2
          : tensor<5x3x2xf32>, tensor<5x3x2xf32> -> tensor<5x3x4xf32>
      %result = graph.transpose %both perm = [1, 0, 2] : tensor<5x3x4xf32> -> tensor<3x5x4xf32>
      func.return %result : tensor<3x5x4xf32>
    }
    """,
    ("3x5x4xf32", "4x2xf32"),
    _both_ways,
)
"""What is scanned over is a view, and so is what the scans write: both stay where they are."""


def _nested(table: np.ndarray, start: np.ndarray) -> tuple[np.ndarray, ...]:
    state, rows = start, []
    for row in table:
        inner = []
        for element in row:
            state = state * np.float32(0.5) + element
            inner.append(state + row.sum())
        rows.append(inner)
    return state, np.array(rows, np.float32)


NESTED = Program(
    """
    func.func @main(%table: tensor<3x4xf32>, %start: tensor<f32>) -> (tensor<f32>, tensor<3x4xf32>) {
      %half = graph.constant dense<0.5> : tensor<f32>
      %last, %all = graph.scan 3 carry (%s = %start) over (%row = %table)
          : (tensor<f32>, tensor<3x4xf32>) -> (tensor<f32>, tensor<3x4xf32>) {
        %total = graph.sum %row axes = [0] : tensor<4xf32> -> tensor<f32>
        %l, %ys = graph.scan 4 carry (%t = %s) over (%x = %row)
            : (tensor<f32>, tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>) {
          %h = graph.mul %t, %half : tensor<f32>, tensor<f32> -> tensor<f32>
          %n = graph.add %h, %x : tensor<f32>, tensor<f32> -> tensor<f32>
          %y = graph.add %n, %total : tensor<f32>, tensor<f32> -> tensor<f32>
          graph.yield %n, %y : tensor<f32>, tensor<f32>
        }
        graph.yield %l, %ys : tensor<f32>, tensor<4xf32>
      }
      func.return %last, %all : tensor<f32>, tensor<3x4xf32>
    }
    """,
    ("3x4xf32", "f32"),
    _nested,
)


def _collatz(n: np.ndarray) -> tuple[np.ndarray, ...]:
    number, steps = int(abs(n)) + 7, 0
    while number != 1:
        number = 3 * number + 1 if number % 2 else number // 2
        steps += 1
    return np.int64(number), np.int64(steps)


COLLATZ = Program(
    """
    func.func @main(%n: tensor<i64>) -> (tensor<i64>, tensor<i64>) {
      %zero = graph.constant dense<0> : tensor<i64>
      %one = graph.constant dense<1> : tensor<i64>
      %two = graph.constant dense<2> : tensor<i64>
      %three = graph.constant dense<3> : tensor<i64>
      %seven = graph.constant dense<7> : tensor<i64>
      %positive = graph.abs %n : tensor<i64>
      %start = graph.add %positive, %seven : tensor<i64>, tensor<i64> -> tensor<i64>
      %go = graph.ne %start, %one : tensor<i64>, tensor<i64> -> tensor<i1>
      %last, %steps = graph.while %go carry (%k = %start, %count = %zero)
          : (tensor<i1>, tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>) {
        %rest = graph.mod %k, %two : tensor<i64>, tensor<i64> -> tensor<i64>
        %odd = graph.eq %rest, %one : tensor<i64>, tensor<i64> -> tensor<i1>
        %next = graph.if %odd : tensor<i1> -> tensor<i64> {
          %p = graph.mul %k, %three : tensor<i64>, tensor<i64> -> tensor<i64>
          %q = graph.add %p, %one : tensor<i64>, tensor<i64> -> tensor<i64>
          graph.yield %q : tensor<i64>
        } else {
          %h = graph.floor_div %k, %two : tensor<i64>, tensor<i64> -> tensor<i64>
          graph.yield %h : tensor<i64>
        }
        %more = graph.add %count, %one : tensor<i64>, tensor<i64> -> tensor<i64>
        %again = graph.ne %next, %one : tensor<i64>, tensor<i64> -> tensor<i1>
        graph.yield %again, %next, %more : tensor<i1>, tensor<i64>, tensor<i64>
      }
      func.return %last, %steps : tensor<i64>, tensor<i64>
    }
    """,
    ("i64",),
    _collatz,
)


def _branches(flag: np.ndarray, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, ...]:
    doubled = x * 2
    if flag:
        return doubled @ y, x, doubled
    return x - y, doubled, doubled


BRANCHES = Program(
    """
    func.func @main(%flag: tensor<i1>, %x: tensor<5x5xf32>, %y: tensor<5x5xf32>)
        -> (tensor<5x5xf32>, tensor<5x5xf32>, tensor<5x5xf32>) {
      %doubled = graph.add %x, %x : tensor<5x5xf32>, tensor<5x5xf32> -> tensor<5x5xf32>
      %r:2 = graph.if %flag : tensor<i1> -> tensor<5x5xf32>, tensor<5x5xf32> {
        %p = graph.matmul %doubled, %y : tensor<5x5xf32>, tensor<5x5xf32> -> tensor<5x5xf32>
        graph.yield %p, %x : tensor<5x5xf32>, tensor<5x5xf32>
      } else {
        %d = graph.sub %x, %y : tensor<5x5xf32>, tensor<5x5xf32> -> tensor<5x5xf32>
        graph.yield %d, %doubled : tensor<5x5xf32>, tensor<5x5xf32>
      }
      func.return %r#0, %r#1, %doubled : tensor<5x5xf32>, tensor<5x5xf32>, tensor<5x5xf32>
    }
    """,
    ("i1", "5x5xf32", "5x5xf32"),
    _branches,
)


def _mandelbrot(re: np.ndarray, im: np.ndarray) -> tuple[np.ndarray, ...]:
    x, y, count = np.zeros_like(re), np.zeros_like(im), np.zeros(re.shape, np.int32)
    for _ in range(20):
        inside = x * x + y * y <= 4
        x, y = np.where(inside, x * x - y * y + re, x), np.where(inside, 2 * x * y + im, y)
        count = count + inside
    return (count,)


MANDELBROT = Program(
    """
    func.func @main(%re: tensor<33xf32>, %im: tensor<33xf32>) -> tensor<33xi32> {
      %zero = graph.constant dense<0.0> : tensor<33xf32>
      %none = graph.constant dense<0> : tensor<33xi32>
      %four = graph.constant dense<4.0> : tensor<f32>
      %r:3 = graph.scan 20 carry (%x = %zero, %y = %zero, %count = %none)
          : (tensor<33xf32>, tensor<33xf32>, tensor<33xi32>) -> (tensor<33xf32>, tensor<33xf32>, tensor<33xi32>) {
        %xx = graph.mul %x, %x : tensor<33xf32>, tensor<33xf32> -> tensor<33xf32>
        %yy = graph.mul %y, %y : tensor<33xf32>, tensor<33xf32> -> tensor<33xf32>
        %xy = graph.mul %x, %y : tensor<33xf32>, tensor<33xf32> -> tensor<33xf32>
        %s = graph.add %xx, %yy : tensor<33xf32>, tensor<33xf32> -> tensor<33xf32>
        %inside = graph.le %s, %four : tensor<33xf32>, tensor<f32> -> tensor<33xi1>
        %d = graph.sub %xx, %yy : tensor<33xf32>, tensor<33xf32> -> tensor<33xf32>
        %x1 = graph.add %d, %re : tensor<33xf32>, tensor<33xf32> -> tensor<33xf32>
        %t = graph.add %xy, %xy : tensor<33xf32>, tensor<33xf32> -> tensor<33xf32>
        %y1 = graph.add %t, %im : tensor<33xf32>, tensor<33xf32> -> tensor<33xf32>
        %x2 = graph.where %inside, %x1, %x : tensor<33xi1>, tensor<33xf32>, tensor<33xf32> -> tensor<33xf32>
        %y2 = graph.where %inside, %y1, %y : tensor<33xi1>, tensor<33xf32>, tensor<33xf32> -> tensor<33xf32>
        %one = graph.cast %inside : tensor<33xi1> -> tensor<33xi32>
        %n = graph.add %count, %one : tensor<33xi32>, tensor<33xi32> -> tensor<33xi32>
        graph.yield %x2, %y2, %n : tensor<33xf32>, tensor<33xf32>, tensor<33xi32>
      }
      func.return %r#2 : tensor<33xi32>
    }
    """,
    ("33xf32", "33xf32"),
    _mandelbrot,
)
"""One kernel that updates three states in place."""


def _bytes(xs: np.ndarray) -> tuple[np.ndarray, ...]:
    total, sums = np.uint8(0), []
    for x in xs:
        total = np.uint8((int(total) + int(x)) % 256)
        sums.append(total // 3)
    return np.array(total), np.array(sums, np.uint8)


BYTES = Program(
    """
    func.func @main(%xs: tensor<40xui8>) -> (tensor<ui8>, tensor<40xui8>) {
      %zero = graph.constant dense<0> : tensor<ui8>
      %three = graph.constant dense<3> : tensor<ui8>
      %last, %ys = graph.scan 40 carry (%s = %zero) over (%x = %xs)
          : (tensor<ui8>, tensor<40xui8>) -> (tensor<ui8>, tensor<40xui8>) {
        %n = graph.add %s, %x : tensor<ui8>, tensor<ui8> -> tensor<ui8>
        %y = graph.floor_div %n, %three : tensor<ui8>, tensor<ui8> -> tensor<ui8>
        graph.yield %n, %y : tensor<ui8>, tensor<ui8>
      }
      func.return %last, %ys : tensor<ui8>, tensor<40xui8>
    }
    """,
    ("40xui8",),
    _bytes,
)


def _joined_states(xs: np.ndarray, start: np.ndarray) -> tuple[np.ndarray, ...]:
    a, b, products = start, start, []
    for x in xs:
        a = a * np.float32(0.5) + x
        b = b + a
        products.append(a * b)
    return np.stack([a, b])[None], np.stack(products)


JOINED_STATES = Program(
    """
    func.func @main(%xs: tensor<5x3xf32>, %start: tensor<3xf32>) -> (tensor<1x2x3xf32>, tensor<5x3xf32>) {
      %half = graph.constant dense<0.5> : tensor<f32>
      %a1, %b1, %ys = graph.scan 5 carry (%a = %start, %b = %start) over (%x = %xs)
          : (tensor<3xf32>, tensor<3xf32>, tensor<5x3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<5x3xf32>) {
        %h = graph.mul %a, %half : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
        %a2 = graph.add %h, %x : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
        %b2 = graph.add %b, %a2 : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
        %y = graph.mul %a2, %b2 : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
        graph.yield %a2, %b2, %y : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
      }
      %first = graph.expand_dims %a1 axes = [0] : tensor<3xf32> -> tensor<1x3xf32>
      %second = graph.expand_dims %b1 axes = [0] : tensor<3xf32> -> tensor<1x3xf32>
      %both = graph.concat %first, %second axis = 0 : tensor<1x3xf32>, tensor<1x3xf32> -> tensor<2x3xf32>
      %all = graph.expand_dims %both axes = [0] : tensor<2x3xf32> -> tensor<1x2x3xf32>
      func.return %all, %ys : tensor<1x2x3xf32>, tensor<5x3xf32>
    }
    """,
    ("5x3xf32", "3xf32"),
    _joined_states,
)
"""The states are updated in place where they end up, which are parts of a result of another shape."""


def _leapfrog(before: np.ndarray, now: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, ...]:
    def steps(before: np.ndarray, now: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        for _ in range(count):
            before, now = now, w @ now - before
        return before, now

    return (*steps(before, now, 4), *steps(np.tanh(now), np.tanh(before), 5))


_LEAPFROG_STEP = """
        %p = graph.matmul %w, %b : tensor<9x9xf32>, tensor<9x9xf32> -> tensor<9x9xf32>
        %n = graph.sub %p, %a : tensor<9x9xf32>, tensor<9x9xf32> -> tensor<9x9xf32>
"""

LEAPFROG = Program(
    f"""
    func.func @main(%a0: tensor<9x9xf32>, %b0: tensor<9x9xf32>, %w: tensor<9x9xf32>)
        -> (tensor<9x9xf32>, tensor<9x9xf32>, tensor<9x9xf32>, tensor<9x9xf32>) {{
      %ta = graph.tanh %a0 : tensor<9x9xf32>
      %tb = graph.tanh %b0 : tensor<9x9xf32>
      %a4, %b4 = graph.scan 4 carry (%a = %a0, %b = %b0)
          : (tensor<9x9xf32>, tensor<9x9xf32>) -> (tensor<9x9xf32>, tensor<9x9xf32>) {{
        {_LEAPFROG_STEP}
        graph.yield %b, %n : tensor<9x9xf32>, tensor<9x9xf32>
      }}
      %go = graph.constant dense<true> : tensor<i1>
      %zero = graph.constant dense<0> : tensor<i64>
      %one = graph.constant dense<1> : tensor<i64>
      %end = graph.constant dense<5> : tensor<i64>
      %k5, %a5, %b5 = graph.while %go carry (%k = %zero, %a = %tb, %b = %ta)
          : (tensor<i1>, tensor<i64>, tensor<9x9xf32>, tensor<9x9xf32>)
          -> (tensor<i64>, tensor<9x9xf32>, tensor<9x9xf32>) {{
        {_LEAPFROG_STEP}
        %next = graph.add %k, %one : tensor<i64>, tensor<i64> -> tensor<i64>
        %again = graph.lt %next, %end : tensor<i64>, tensor<i64> -> tensor<i1>
        graph.yield %again, %next, %b, %n : tensor<i1>, tensor<i64>, tensor<9x9xf32>, tensor<9x9xf32>
      }}
      func.return %a4, %b4, %a5, %b5 : tensor<9x9xf32>, tensor<9x9xf32>, tensor<9x9xf32>, tensor<9x9xf32>
    }}
    """,
    ("9x9xf32", "9x9xf32", "9x9xf32"),
    _leapfrog,
)
"""States of many elements change buffers, in a scan that knows where it ends and in a loop that does not."""


def _turns(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, ...]:
    for _ in range(3):
        for _ in range(3):
            a, b = b, a
    return a, b


TURNS = Program(
    """
    func.func @main(%a0: tensor<70xf32>, %b0: tensor<70xf32>) -> (tensor<70xf32>, tensor<70xf32>) {
      %r:2 = graph.scan 3 carry (%a = %a0, %b = %b0)
          : (tensor<70xf32>, tensor<70xf32>) -> (tensor<70xf32>, tensor<70xf32>) {
        %s:2 = graph.scan 3 carry (%c = %a, %d = %b)
            : (tensor<70xf32>, tensor<70xf32>) -> (tensor<70xf32>, tensor<70xf32>) {
          graph.yield %d, %c : tensor<70xf32>, tensor<70xf32>
        }
        graph.yield %s#0, %s#1 : tensor<70xf32>, tensor<70xf32>
      }
      func.return %r#0, %r#1 : tensor<70xf32>, tensor<70xf32>
    }
    """,
    ("70xf32", "70xf32"),
    _turns,
)
"""Two states change places an odd number of times, in a loop in a loop."""


PROGRAMS = {
    "joined states": JOINED_STATES,
    "rnn": RNN,
    "fibonacci": FIBONACCI,
    "rotation": ROTATION,
    "both ways": BOTH_WAYS,
    "nested": NESTED,
    "collatz": COLLATZ,
    "branches": BRANCHES,
    "mandelbrot": MANDELBROT,
    "bytes": BYTES,
    "leapfrog": LEAPFROG,
    "turns": TURNS,
}
