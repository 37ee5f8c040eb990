"""All eight ways to turn and to mirror a picture, added up."""

SMALL = {"n": 21}


def inputs(rng, n=700):
    return (rng.random((n, n), dtype="float32"),)


def program(np, x):
    total = x
    for turns in (1, 2, 3):
        total = total + np.rot90(x, turns)
    mirrored = np.fliplr(x)
    for turns in range(4):
        total = total + np.rot90(mirrored, turns)
    return total
