"""Complex numbers: traced, on arrays alone, as arguments and as results, against NumPy's."""

import numpy as np
import pytest
import stepwell as sw

RNG = np.random.default_rng(0)
Z, W = RNG.normal(size=(2, 3, 4)) + 1j * RNG.normal(size=(2, 3, 4))
X = RNG.normal(size=(3, 4)).astype("f4")

PROGRAMS = {
    "arithmetic": lambda m, z, w, x: (
        *(z + w, x + z * 2j, x - z, z - 1, 1j - z, z * w * x, -z, z / w, x / z, z / 2, 1 / z),
        *(z**3, z**-2, z**0, z**w, x * 1j, m.reciprocal(z), m.square(z)),
    ),
    "functions": lambda m, z, w, x: (
        *(abs(z), m.angle(z), m.angle(z, True), m.conj(z), z.real, z.imag, m.real(x), m.imag(z)),
        *(m.exp(z), m.log(z), m.sqrt(z), m.sqrt(-z), m.sin(z), m.cos(z), m.sinh(z), m.cosh(z)),
        *(m.tan(z), m.tanh(z), m.tanh(z * 30), m.tan(z.astype("c8"))),
    ),
    "comparisons": lambda m, z, w, x: (
        *(z == w, z != w, z == z + 0, m.isnan(z), m.isinf(z), m.isfinite(z / 0), m.iscomplex(z)),
        *(m.isreal(z), m.isclose(z, z + 1e-12), m.allclose(z, w)),
    ),
    "products": lambda m, z, w, x: (
        *(z @ w.T, z @ x.T, x @ z.T, m.dot(z, w.T), m.vdot(z, w), m.outer(z, w), m.kron(z, x)),
        *(m.tensordot(z, w, 2), m.inner(z, w), m.cross(z[:, :3], w[:, :3])),
    ),
    "linear algebra": lambda m, z, w, x: (
        *(m.linalg.solve(z[:, :3], w), m.linalg.solve(z[:, :3], w[:, 0])),
        *(m.linalg.inv(z[:, 1:]), m.linalg.norm(z), m.linalg.norm(z, 1), m.linalg.norm(z, axis=0)),
    ),
    "movement": lambda m, z, w, x: (
        *(m.concatenate([z, x]), m.stack([z, w]), z.reshape(4, 3), z[1:, ::2], z[None], z.T),
        *(m.where(x > 0, z, x), m.roll(z, 1), m.flip(z, 1), m.pad(z, 1), *m.split(z, 2, 1)),
        *(m.prod(z), m.prod(z, 1), m.prod(z, (0, 1), keepdims=True), m.var(z, 0), m.std(z, ddof=1)),
        *(m.einsum("ij,kj->ik", z, w), m.einsum("ij,j,ij->i", z, x[0], w), m.einsum("ij->j", z)),
        *(z.sum(0), z.mean(), m.cumsum(z, 1), m.diff(z), m.take(z, [0, 2], 1), m.trace(z)),
    ),
    "dtypes": lambda m, z, w, x: (
        *(z.astype(np.complex64), z.astype("complex64") * x, x.astype(complex), z.ravel()),
        *(
            m.zeros(2, complex) + z[0, 0],
            m.ones_like(z),
            m.asarray([1, 2j]),
            m.eye(2, dtype=complex),
        ),
    ),
}


def assert_same(found, expected):
    for number, (one, other) in enumerate(zip(found, expected, strict=True)):
        other = np.asarray(other)
        assert one.shape == other.shape, number
        assert one.dtype == other.dtype, number
        tolerance = 1e-5 if other.dtype in ("f4", "c8") else 1e-11
        np.testing.assert_allclose(one, other, tolerance, tolerance, err_msg=str(number))


def expected_of(program):
    with np.errstate(all="ignore"):
        return PROGRAMS[program](np, Z, W, X)


@pytest.mark.parametrize("program", PROGRAMS)
def test_on_arrays(program):
    assert_same(PROGRAMS[program](sw, sw.asarray(Z), W, X), expected_of(program))


@pytest.mark.parametrize(
    "program",
    ["linear algebra", *(pytest.param(one, marks=pytest.mark.slow) for one in PROGRAMS)],
)
def test_compiled(program):
    traced = sw.jit(lambda z, w, x: PROGRAMS[program](sw, z, w, x), opt="quick")
    assert_same(traced(Z, W, X), expected_of(program))


def test_arguments_and_results():
    @sw.jit(opt="quick")
    def nested(pair, factor=2j):
        return {"sum": pair[0] + pair[1] * factor, "one": pair[1], "real": pair[0].real}

    a, b = Z[:, ::2].T, np.asfortranarray(W[:, 1:3].T)
    for _ in range(2):
        found = nested((a, b))
        np.testing.assert_allclose(found["sum"], a + b * 2j)
        np.testing.assert_array_equal(found["one"], b)
        np.testing.assert_array_equal(found["real"], a.real)
    np.testing.assert_allclose(nested((a, b), 3 + 1j)["sum"], a + b * (3 + 1j))
    single = sw.jit(lambda z: z * z, opt="quick")(np.complex64(1 + 2j))
    assert single.shape == () and single.dtype == np.complex64 and single == -3 + 4j
    assert sw.jit(lambda: Z, opt="quick")().dtype == complex


def test_numpys_functions_and_captured_arrays():
    function = sw.jit(lambda z: np.exp(z) + np.concatenate([W, z])[:3] * W + Z, opt="quick")
    np.testing.assert_allclose(function(Z), np.exp(Z) + W * W + Z)


def test_assignment_and_loops():
    @sw.jit(opt="quick")
    def program(z):
        y = z.copy()
        y[0] = 1j
        y = y.at[1, 0].add(2 - 1j)
        return sw.fori_loop(0, 3, lambda i, state: state * state * 0.5 + z, y)

    expected = Z.copy()
    expected[0] = 1j
    expected[1, 0] += 2 - 1j
    for _ in range(3):
        expected = expected * expected * 0.5 + Z
    np.testing.assert_allclose(program(Z), expected)


def test_extremes_do_not_overflow():
    big = np.array([1e300 + 1e300j, 1e-300 + 1e-300j, 3e200j, 0j])

    def program(z):
        return abs(z), z[:3] / z[:3], sw.sqrt(z[2:])

    for found in (program(sw.asarray(big)), sw.jit(program, opt="quick")(big)):
        np.testing.assert_allclose(found[0], abs(big))
        np.testing.assert_allclose(found[2], np.sqrt(big[2:]))
    np.testing.assert_allclose(found[1], [1, 1, 1], atol=1e-15)


def test_exponentials_of_what_is_not_finite():
    parts = [np.inf, -np.inf, np.nan, 0.0, 1.0]
    z = np.array([complex(a, b) for a in parts for b in parts])
    with np.errstate(all="ignore"):
        expected = np.exp(z)
    found = sw.exp(z)
    np.testing.assert_array_equal(found.real, expected.real)
    np.testing.assert_array_equal(np.abs(found.imag), np.abs(expected.imag))


def test_mistakes_are_one_line():
    with pytest.raises(sw.StepwellError, match=r"found complex numbers in sort, which there is of"):
        sw.sort(Z)
    with pytest.raises(sw.StepwellError, match=r"found complex numbers in lt"):
        sw.jit(lambda z: z < 1)(Z)
    with pytest.raises(sw.StepwellError, match=r"where Python needs its elements"):
        sw.jit(lambda z: complex(z[0, 0]))(Z)
    with pytest.raises(AttributeError, match=r"a traced complex value has no attribute 'argmax'"):
        sw.jit(lambda z: z.argmax())(Z)
    with pytest.raises(sw.StepwellError, match=r"found complex values for elements of a real"):
        sw.jit(lambda x: x.at[0].set(1j))(X)
    with pytest.raises(sw.StepwellError, match=r"found ord 2 of a complex matrix"):
        sw.linalg.norm(Z, 2)


def test_roots_and_powers_of_infinities():
    z = np.array([complex(np.inf, np.inf), complex(0, np.inf), complex(-np.inf, 1), 0j, -4, 1e308])
    np.testing.assert_array_equal(sw.sqrt(z), np.sqrt(z))
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(sw.exp(z[3:4] + np.inf), np.exp(z[3:4] + np.inf))


def escaping(c, steps=20):
    """How many steps each point stays near, whose tests are all counted at the end."""
    z, count = c * 0, c.real * 0
    for _ in range(steps):
        z = z * z + c
        count = count + (abs(z) < 2)
    return count


def test_an_iteration_written_out_is_one_kernel():
    c = np.linspace(-2, 1, 33) + 1j * np.linspace(-1, 1, 17)[:, None]
    step = sw.jit(escaping)
    assert step.lower(c).as_text("te").count("te.kernel") == 1
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(step(c), escaping(c))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_hypotenuses_of_all_magnitudes(dtype):
    facts = np.finfo(dtype)
    ends = np.arange(facts.minexp - facts.nmant, facts.maxexp, 7)
    one = np.ldexp(dtype(1.3), ends)
    with np.errstate(all="ignore"):
        other = one * RNG.choice(dtype([0, 1e-9, 0.4, 1, 5, np.inf, np.nan]), one.size)
        one[RNG.random(one.size) < 0.1] = np.inf
        expected = np.hypot(one, other)
    np.testing.assert_array_max_ulp(sw.jit(sw.hypot)(one, other), expected, 2)
