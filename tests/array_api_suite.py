"""
The array API standard's own suite, on `stepwell.array_api`: every function it calls is compiled for the shapes it draws.

    python tests/array_api_suite.py                 # fetches the suite with git into build/
    python tests/array_api_suite.py --suite FOLDER  # one that is there, with its submodule `array-api`
    python tests/array_api_suite.py -- -k linalg    # what stands behind -- is for pytest

The suite is at https://github.com/data-apis/array-api-tests; it is no package, so that it is fetched at a commit. It needs
pytest-json-report and ndindex. What is not claimed is not run: complex dtypes, the extension `fft`, quotients of
infinities by `//`, which are NumPy's NaN.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ADDRESS = "https://github.com/data-apis/array-api-tests"
COMMIT = "55fcc60179efa2680ddd6cd926ddf17b83530e2b"
FOLDER = Path("build/array-api-tests")

_QUOTIENTS = (
    "x1_i is +infinity and isfinite(x2_i) and x2_i > 0) -> +infinity",
    "x1_i is +infinity and isfinite(x2_i) and x2_i < 0) -> -infinity",
    "x1_i is -infinity and isfinite(x2_i) and x2_i > 0) -> -infinity",
    "x1_i is -infinity and isfinite(x2_i) and x2_i < 0) -> +infinity",
    "isfinite(x1_i) and x1_i > 0 and x2_i is -infinity) -> -0",
    "isfinite(x1_i) and x1_i < 0 and x2_i is +infinity) -> -0",
)

NOT_CLAIMED = {
    **{
        f"array_api_tests/test_special_cases.py::{test}({case}]": "floor_divide rounds down, as NumPy's"
        for test in (
            "test_binary[floor_divide",
            "test_binary[__floordiv__",
            "test_iop[__ifloordiv__",
        )
        for case in _QUOTIENTS
    },
    "array_api_tests/test_linalg.py::test_vecdot_conj": "there is no complex dtype",
    **{
        f"array_api_tests/test_has_names.py::test_has_names[fft-{name}]": "there is no complex dtype"
        for name in (
            *("fft", "ifft", "fftn", "ifftn", "rfft", "irfft", "rfftn", "irfftn", "hfft", "ihfft"),
            *("fftfreq", "rfftfreq", "fftshift", "ifftshift"),
        )
    },
}
"""Tests of the suite that are left out, with the reason."""


def fetched() -> Path:
    """The suite at its commit, from GitHub unless it is there. Exits with one line where git cannot fetch it."""
    if FOLDER.is_dir():
        return FOLDER
    # A folder that was fetched in part has another name, and is fetched again.
    new = FOLDER.with_name(f"{FOLDER.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    new.parent.mkdir(exist_ok=True)
    for command in (
        ["clone", "--quiet", ADDRESS, str(new)],
        ["-C", str(new), "checkout", "--quiet", COMMIT],
        ["-C", str(new), "submodule", "--quiet", "update", "--init"],
    ):
        done = subprocess.run(
            ["git", *command],
            env={**os.environ, "GIT_TERMINAL_PROMPT": "0"},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            why = " ".join(done.stderr.split()) or "git says nothing"
            sys.exit(
                f"error: cannot fetch the suite from {ADDRESS} ({why}), expected network and git; fetch it elsewhere at "
                f"{COMMIT[:12]} with its submodule, and give its folder: python tests/array_api_suite.py --suite FOLDER"
            )
    return new.rename(FOLDER)


def copied(suite: Path, folder: Path) -> Path:
    """
    A copy of the suite, which this script may write to. Exits with one line where the folder has no suite in it.
    """
    for part in ("array_api_tests", "array-api/src"):
        if not (suite / part).is_dir():
            sys.exit(
                f"error: found no {part} in {suite}, expected a clone of {ADDRESS} at {COMMIT[:12]} with its submodule "
                "array-api: git submodule update --init, or clone https://github.com/data-apis/array-api there"
            )
    return Path(shutil.copytree(suite, folder / "suite", ignore=shutil.ignore_patterns(".git")))


def without_complex(suite: Path) -> None:
    """Let the suite be imported by a library without complex dtypes, of which it takes the greatest."""
    file = suite / "array_api_tests" / "dtype_helpers.py"
    text = file.read_text()
    greatest = "[(dt, dtype_nbits[dt]) for dt in complex_dtypes], key=lambda x: x[1]\n"
    file.write_text(text.replace(greatest, greatest.rstrip() + ", default=(None,)\n"))


def main() -> int:
    """Run the suite; the exit code is pytest's."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument(
        "--suite", type=Path, help="a clone with its submodule, which is left as it is"
    )
    parser.add_argument("--examples", type=int, default=20, help="how many calls are drawn a test")
    parser.add_argument("rest", nargs="*", help="arguments of pytest")
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        suite = copied((given.suite or fetched()).resolve(), Path(folder))
        return run(suite, given.examples, given.rest)


def run(suite: Path, examples: int, rest: list[str]) -> int:
    """Run the suite in this folder, with pytest's further arguments; the exit code is pytest's."""
    without_complex(suite)
    skipped = suite / "stepwell-skips.txt"
    skipped.write_text("".join(f"{name}\n" for name in NOT_CLAIMED))
    environment = {
        **os.environ,
        "ARRAY_API_TESTS_MODULE": "exec('import stepwell; xp = stepwell.array_api')",
        "ARRAY_API_TESTS_SKIP_DTYPES": "complex64,complex128",
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--disable-deadline"]
    command += ["--max-examples", str(examples), "--skips-file", str(skipped)]
    command += ["--disable-extension", "fft", "--rootdir", str(suite)]
    command += ["-c", str(suite / "pytest.ini")]
    command += ["-k", "not imag"]  # "imag" is in what is said of complex numbers
    return subprocess.run(
        [*command, *(rest or ["array_api_tests"])], cwd=suite, env=environment, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
