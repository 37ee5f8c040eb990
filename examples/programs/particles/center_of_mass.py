"""The centre of mass, the momentum, the energy and the tensor of inertia of a cloud."""

SMALL = {"n": 99}


def inputs(rng, n=200_000):
    return rng.random(n) + 0.5, rng.normal(size=(n, 3)), rng.normal(size=(n, 3))


def program(np, mass, place, velocity):
    total = mass.sum()
    centre = (mass[:, None] * place).sum(axis=0) / total
    momentum = mass @ velocity
    energy = 0.5 * (mass * (velocity**2).sum(axis=1)).sum()
    r = place - centre
    inertia = np.eye(3) * (mass * (r**2).sum(axis=1)).sum() - (mass[:, None] * r).T @ r
    return centre, momentum, energy, inertia


def torch(torch, mass, place, velocity):
    total = mass.sum()
    centre = (mass[:, None] * place).sum(dim=0) / total
    energy = 0.5 * (mass * (velocity**2).sum(dim=1)).sum()
    r = place - centre
    spin = torch.eye(3, dtype=r.dtype) * (mass * (r**2).sum(dim=1)).sum()
    return centre, mass @ velocity, energy, spin - (mass[:, None] * r).T @ r
