"""The quartiles of every column, and how many values lie outside of 1.5 times their range."""

SMALL = {"rows": 99, "columns": 5}


def inputs(rng, rows=5000, columns=20):
    return (rng.normal(size=(rows, columns)),)


def program(np, x):
    q1, q2, q3 = np.percentile(x, np.array([25, 50, 75]), axis=0)
    width = 1.5 * (q3 - q1)
    outside = (x < q1 - width) | (x > q3 + width)
    return q1, q2, q3, outside.sum(axis=0)


def torch(torch, x):
    q = torch.tensor([0.25, 0.5, 0.75], dtype=x.dtype)
    q1, q2, q3 = torch.quantile(x, q, dim=0)
    width = 1.5 * (q3 - q1)
    return q1, q2, q3, ((x < q1 - width) | (x > q3 + width)).sum(dim=0)
