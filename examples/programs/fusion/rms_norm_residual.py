"""The sum with a residual and its RMS normalization, of which a network needs both."""

SMALL = {"n": 5, "width": 33}


def inputs(rng, n=512, width=1024):
    shapes = (n, width), (n, width), (width,)
    return tuple(rng.standard_normal(shape).astype("float32") for shape in shapes)


def program(np, x, residual, weight):
    total = x + residual
    scale = 1 / np.sqrt((total * total).mean(-1, keepdims=True) + 1e-6)
    return total, total * scale * weight


def torch(torch, x, residual, weight):
    total = x + residual
    return total, torch.nn.functional.rms_norm(total, weight.shape, weight, 1e-6)
