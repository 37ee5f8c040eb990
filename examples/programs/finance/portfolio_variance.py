"""The return and the risk of many random portfolios, and the one with the best ratio."""

SMALL = {"portfolios": 20, "assets": 5}


def inputs(rng, portfolios=20_000, assets=30):
    returns = 0.01 * rng.normal(size=(250, assets)) + 0.0005
    return rng.random((portfolios, assets)), returns


def program(np, draws, returns):
    weights = draws / draws.sum(axis=1, keepdims=True)
    mean = weights @ returns.mean(axis=0) * 250
    covariance = np.cov(returns, rowvar=False) * 250
    risk = np.sqrt(((weights @ covariance) * weights).sum(axis=1))
    best = np.argmax(mean / risk)
    return mean, risk, weights[best]


def torch(torch, draws, returns):
    weights = draws / draws.sum(dim=1, keepdim=True)
    mean = weights @ returns.mean(dim=0) * 250
    risk = torch.sqrt(((weights @ (torch.cov(returns.T) * 250)) * weights).sum(dim=1))
    return mean, risk, weights[torch.argmax(mean / risk)]
