"""One step of k-means in 32 dimensions: each point to the nearest centre, each centre to the mean of its points."""

SMALL = {"n": 101, "k": 5}


def inputs(rng, n=10_000, k=16):
    return tuple(rng.standard_normal((count, 32)).astype("float32") for count in (n, k))


def program(np, points, centres):
    nearest = ((points[:, None] - centres[None]) ** 2).sum(-1).argmin(1)
    is_own = (nearest[:, None] == np.arange(centres.shape[0])[None]).astype(np.float32)
    count = np.maximum(is_own.sum(0), np.float32(1))
    return (is_own.T @ points) / count[:, None]


def torch(torch, points, centres):
    nearest = torch.cdist(points, centres).argmin(1)
    sums = torch.zeros_like(centres).index_add_(0, nearest, points)
    return sums / torch.bincount(nearest, minlength=centres.shape[0]).clamp(min=1)[:, None]
