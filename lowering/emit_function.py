"""What is written of one function of LLVM IR: its blocks, and the names of its values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TypeAlias

from xdsl.dialects import llvm
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import LLVMTranslationException

from ..analysis.dominance import reachable_order
from ..analysis.natural_loops import innermost_loops
from ..analysis.operations import operands_of, operations_of
from ..analysis.scalar_loops import has_no_vectors
from .by_address import ByAddress, UndefinedValue
from .emit_values import symbol, type_text, untranslatable
from .llvm_text import GOMP_PARALLEL, VECTOR

Handler: TypeAlias = "Callable[[FunctionWriter, Operation], None]"


@dataclass
class ModuleParts:
    """What the functions of a module share."""

    functions: Mapping[str, llvm.FuncOp]
    """all that are defined or declared, by name"""
    intrinsics: dict[str, str] = field(default_factory=dict[str, str])
    """declarations of those that are called, by name"""
    metadata: list[str] = field(default_factory=list[str])
    """the text of each node, which `!` and its place in the list refer to"""
    called: set[str] = field(default_factory=set[str])
    addressed: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    """symbols whose address is taken, and the functions that do"""
    has_scalar_loops: bool = False
    """whether there is a loop without others inside that does not work on vectors"""
    generated: set[str] = field(default_factory=set[str])
    """C functions that instructions become calls of"""
    renamed: dict[str, str] = field(default_factory=dict[str, str])
    """what symbols are called in the text, where that is not as in the module"""
    has_hints: bool = True
    """whether values and blocks are called as the module calls them, and not by numbers"""

    exported: frozenset[llvm.FuncOp] = frozenset()
    """local functions that are called from outside of the module"""
    elsewhere: set[llvm.FuncOp] = field(default_factory=set[llvm.FuncOp])
    """functions that another module defines"""

    @property
    def imports(self) -> set[str]:
        """The functions that are called and not defined, but for LLVM's own."""
        defined = {name for name, op in self.functions.items() if op.body.blocks}
        return {name for name in self.called - defined if not name.startswith("llvm.")}

    def symbol(self, name: str) -> str:
        """How a function or global of the module is written."""
        return symbol(self.renamed.get(name, name))

    def node(self, text: str) -> str:
        """A reference to the metadata node `text`."""
        if text not in self.metadata:
            self.metadata.append(text)
        return f"!{self.metadata.index(text)}"

    def loop_node(self, wishes: Sequence[str]) -> str:
        """A reference to a node that names itself, and so is no other loop's, and then these."""
        itself = f"!{len(self.metadata)}"
        self.metadata.append(f"distinct !{{{', '.join((itself, *wishes))}}}")
        return itself


@dataclass
class _BlockText:
    label: str
    lines: list[str] = field(default_factory=list[str])
    incoming: list[list[str]] = field(default_factory=list[list[str]])
    """for each argument of the block, `[value, predecessor]` for each edge into it"""


class FunctionWriter:
    """Writes the blocks of one function: handlers read operations and append lines."""

    def __init__(
        self, op: llvm.FuncOp, module: ModuleParts, handlers: Mapping[type[Operation], Handler]
    ):
        self.op = op
        self.module = module
        self._handlers = handlers
        self._references = ByAddress[str]()
        self._operands = ByAddress[str]()
        self._blocks: dict[int, _BlockText] = {}
        """by the `id` of each block"""
        self._names: set[str] = set()
        self._numbers = count()
        self._block = _BlockText("")

    def arguments(self) -> list[str]:
        """Name the arguments of the function."""
        entry = self.op.body.blocks.first
        assert entry is not None
        return [self._named(value) for value in entry.args]

    def lines(self) -> list[str]:
        """The text between the braces, once `arguments` has been called."""
        order = reachable_order(self.op.body)
        for number, block in enumerate(order):
            hint = block.name_hint if self.module.has_hints else None
            self._blocks[id(block)] = _BlockText(self._unused(hint or f"b{number}"))
        for block in order[1:]:
            for value in block.args:
                self._named(value)
            self._blocks[id(block)].incoming = [[] for _ in block.args]
        for block in order:
            self._block = self._blocks[id(block)]
            self._write_all(block)
        loops = innermost_loops(order)
        if not all(self._is_final(blocks) for blocks in loops):
            self.module.has_scalar_loops = True
        return [line for block in order for line in self._text_of(block)]

    def _is_final(self, blocks: Collection[Block]) -> bool:
        """Whether LLVM would make no vectors of a loop: there are some already, or there is nothing to make them of."""
        texts = ("\n".join(self._blocks[id(block)].lines) for block in blocks)
        return any(map(VECTOR.search, texts)) or has_no_vectors(blocks, GOMP_PARALLEL)

    def _write_all(self, block: Block) -> None:
        handlers = self._handlers
        for op in operations_of(block):
            handler = handlers.get(type(op))
            if handler is None:
                raise untranslatable(op, "has no translation to LLVM IR")
            try:
                handler(self, op)
            except UndefinedValue:
                raise untranslatable(op, "uses a value that is defined after it") from None
            except LLVMTranslationException as error:
                raise untranslatable(op, f"has no translation to LLVM IR ({error})") from None

    def _text_of(self, block: Block) -> list[str]:
        text = self._blocks[id(block)]
        phis = [
            f"{self._references[id(value)]} = phi {type_text(value.type)} {', '.join(incoming)}"
            for value, incoming in zip(block.args, text.incoming, strict=False)
        ]
        return [f"{text.label}:", *phis, *text.lines]

    # Names.

    def _unused(self, hint: str) -> str:
        """The hint, or with a number where it is taken. Names that begin with a point are for values without one."""
        stem = name = hint.lstrip(".") or "v"
        number = 0
        while name in self._names:
            number += 1
            name = f"{stem}.{number}"
        self._names.add(name)
        return name

    def _named(self, value: SSAValue) -> str:
        """Name an argument of the function or of a block."""
        hint = value.name_hint if self.module.has_hints else None
        return self._bind(value, f"%{self._unused(hint)}" if hint else self._numbered())

    def _numbered(self) -> str:
        return f"%.{next(self._numbers)}"

    def _bind(self, value: SSAValue, reference: str) -> str:
        self._references[id(value)] = reference
        self._operands[id(value)] = f"{type_text(value.type)} {reference}"
        return reference

    # For handlers.

    def reference(self, value: SSAValue) -> str:
        """What a value is called, or the constant that it is."""
        return self._references[id(value)]

    def operand(self, value: SSAValue) -> str:
        """As `reference`, after its type."""
        return self._operands[id(value)]

    def operands(self, op: Operation) -> list[str]:
        known = self._operands
        return [known[id(value)] for value in operands_of(op)]

    def line(self, text: str) -> None:
        """Append an instruction without a result."""
        self._block.lines.append(text)

    def define(self, op: Operation, text: str) -> None:
        """Append the instruction that defines the result of an operation."""
        (value,) = op.results
        name, address = f"%.{next(self._numbers)}", id(value)
        self._block.lines.append(f"{name} = {text}")
        self._references[address] = name
        self._operands[address] = f"{type_text(value.type)} {name}"

    def unnamed(self, text: str) -> str:
        """Append an instruction whose result no operation has; how it is called."""
        name = self._numbered()
        self._block.lines.append(f"{name} = {text}")
        return name

    def constant(self, value: SSAValue, text: str) -> None:
        """`value` is written as `text` wherever it is used."""
        self._bind(value, text)

    def label(self, block: Block) -> str:
        return f"label %{self._blocks[id(block)].label}"

    def pass_on(self, to: Block, values: Sequence[str]) -> None:
        """The edge from the current block to `to` carries these values, given without types."""
        here = self._block.label
        for incoming, value in zip(self._blocks[id(to)].incoming, values, strict=True):
            incoming.append(f"[{value}, %{here}]")

    def intrinsic(self, name: str, operands: Sequence[SSAValue], result: str) -> str:
        """Declare an intrinsic by its full name; how it is called, from the type of the result on."""
        if name not in self.module.intrinsics:
            types = ", ".join(type_text(value.type) for value in operands)
            self.module.intrinsics[name] = f"declare {result} @{name}({types})"
        arguments = ", ".join([self._operands[id(value)] for value in operands])
        return f"{result} @{name}({arguments})"
