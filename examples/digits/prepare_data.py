"""Make `digits.npz` from scikit-learn's copy of the UCI optical digits test set.

    python prepare_data.py PATH/TO/sklearn/datasets/data/digits.csv.gz

Each line of the source is one image: 64 pixels (0..16, row by row) and the digit it shows.
"""

import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent


def main(source: str) -> None:
    table = np.loadtxt(source, delimiter=",", dtype=np.uint8)
    if table.shape != (1797, 65):
        sys.exit(f"error: {source}: found a {table.shape} table, expected (1797, 65)")
    images, labels = table[:, :64].reshape(-1, 8, 8), table[:, 64]
    np.savez_compressed(HERE / "digits.npz", images=images, labels=labels)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: prepare_data.py digits.csv.gz")
    main(sys.argv[1])
