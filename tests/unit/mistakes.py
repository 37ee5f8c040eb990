"""A user's mistake, and what must be said about it: for the lists of them that test_errors.py goes through."""

from dataclasses import dataclass

READ = "stepwell-opt in.mlir"
RUN = "stepwell run in.mlir"

IDENTITY = """func.func @f(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  func.return %x : tensor<2x3xf32>
}
"""


@dataclass(frozen=True)
class Mistake:
    """
    A command line, the text of `in.mlir`, and what must be in the one line: where, then the rest in order.
    """

    name: str
    command: str
    text: str | None
    where: str
    parts: tuple[str, ...]


def function(body: str, arguments: str = "", result: str = "") -> str:
    """A function with `body` on line 2."""
    arrow = f" -> {result}" if result else ""
    return f"func.func @f({arguments}){arrow} {{\n  {body}\n}}\n"


def mistake(name: str, command: str, text: str | None, where: str, *parts: str) -> Mistake:
    return Mistake(name, command, text, where, parts)
