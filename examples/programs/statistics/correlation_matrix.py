"""The correlations of all columns of a table with each other."""

SMALL = {"rows": 60, "columns": 6}


def inputs(rng, rows=5000, columns=80):
    return (rng.normal(size=(rows, columns)),)


def program(np, x):
    return np.corrcoef(x, rowvar=False)


def torch(torch, x):
    return torch.corrcoef(x.T)
