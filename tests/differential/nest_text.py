"""The text of the programs of `nest_programs.py`: a function `f` at the loop level, maybe one `kernel`."""

from __future__ import annotations

from collections.abc import Sequence

from .nest_kernels import kernel_of
from .nest_programs import (
    ARITHMETIC,
    FLOATS,
    INTEGERS,
    Access,
    Affine,
    Branch,
    Guarded,
    Let,
    Loop,
    NestProgram,
    Node,
    Opaque,
    Operand,
    Scratch,
    Statement,
    measure,
)


def text_of(program: NestProgram) -> str:
    """The program as a function `f`, followed by its kernel when it has one."""
    kernel = kernel_of(program) if program.kernel else None
    return _Writer(program).text() + (_Writer(kernel, "private @kernel").text() if kernel else "")


class _Writer:
    """The text of one program. Values are called `%v1x`: a hint that ends in a number loses it."""

    def __init__(self, program: NestProgram, name: str = "@f"):
        self.name = name
        self.program = program
        self.measure = measure(program)
        self.lines: list[str] = []
        self.count = 0

    def text(self) -> str:
        program = self.program
        mark = " {stepwell.noalias}" if program.noalias == "each" else ""
        arguments = [f"%{n}: {self._type(n)}{mark}" for n in program.arguments()]
        arguments += [f"%{name}: index" for name in program.symbols]
        attributes = " attributes {stepwell.noalias}" if program.noalias == "function" else ""
        self._line(0, f"func.func {self.name}({', '.join(arguments)}){attributes} {{")
        self._body(program.body, 1, set())
        self._line(1, "func.return")
        self._line(0, "}")
        return "\n".join(self.lines) + "\n"

    def _line(self, level: int, text: str) -> None:
        self.lines.append("  " * level + text)

    def _value(self, level: int, text: str) -> str:
        """A new value defined by `text`."""
        self.count += 1
        self._line(level, f"%v{self.count}x = {text}")
        return f"%v{self.count}x"

    def _type(self, name: str) -> str:
        sizes = [str(size) for size in self.measure.shapes[name]]
        if name in self.program.dynamic and sizes:
            sizes[0] = "?"
        shape = "x".join([*sizes, self.program.element])
        if self.name == "@f":
            return f"memref<{shape}>"
        return f"memref<{shape}, strided<[{', '.join('?' for _ in sizes)}], offset: ?>>"

    def _body(self, body: Sequence[Node], level: int, known: set[str]) -> None:
        """`known` are the names of the `Let`s that can be used."""
        known = set(known)
        for node in body:
            match node:
                case Loop():
                    self._loop(node, level, known)
                case Branch():
                    conditions = ", ".join(c.text() for c in node.conditions)
                    self._line(level, f"loop.if ({conditions}) {{")
                    self._body(node.then, level + 1, known)
                    if node.otherwise:
                        self._line(level, "} else {")
                        self._body(node.otherwise, level + 1, known)
                    self._line(level, "}")
                case Statement():
                    self._statement(node, level, known)
                case Let():
                    self._line(level, f"%{node.name} = {self._load(node.access)}")
                    known.add(node.name)
                case Scratch():
                    self._scratch(node, level)

    def _loop(self, node: Loop, level: int, known: set[str]) -> None:
        lower = _joined("max", node.lower)
        upper = _joined("min", node.upper)
        step = f" step {node.step}" if node.step != 1 else ""
        head = f'loop.for serial "{node.name}" %{node.name} = {lower} to {upper}{step} {{'
        self._line(level, head)
        self._body(node.body, level + 1, known)
        self._line(level, "}")

    def _scratch(self, node: Scratch, level: int) -> None:
        type_ = self._type(node.buffer)
        self._line(level, f"%{node.buffer} = loop.alloc {node.scope} : {type_}")
        if not self.measure.is_filled(node):
            return
        shape = self.measure.shapes[node.buffer]
        names = [f"fill{node.buffer}{axis}x" for axis in range(len(shape))]
        for depth, (name, size) in enumerate(zip(names, shape, strict=True)):
            self._line(level + depth, f'loop.for serial "{name}" %{name} = 0 to {size} {{')
        inner = level + len(shape)
        value = self._constant(3, inner)
        subscripts = ", ".join(f"%{name}" for name in names)
        self._line(inner, f"loop.store {value}, %{node.buffer}[{subscripts}] : {type_}")
        for depth in reversed(range(len(shape))):
            self._line(level + depth, "}")

    def _place(self, access: Access) -> str:
        least = self.measure.least[access.buffer]
        moved = [s.shifted(-low) for s, low in zip(access.subscripts, least, strict=True)]
        subscripts = ", ".join(s.text() for s in moved)
        return f"%{access.buffer}[{subscripts}] : {self._type(access.buffer)}"

    def _load(self, access: Access) -> str:
        return f"loop.load {self._place(access)}"

    def _constant(self, number: int, level: int) -> str:
        element = self.program.element
        text = f"{number}.0" if element in FLOATS else str(number)
        return self._value(level, f"arith.constant {text} : {element}")

    def _operand(self, operand: Operand, level: int, known: set[str]) -> str:
        match operand:
            case int():
                return self._constant(operand, level)
            case str():
                return f"%{operand}" if operand in known else self._constant(1, level)
            case Affine():
                return self._index(operand, level)
            case Access():
                return self._value(level, self._load(operand))
            case Opaque():
                return self._opaque(operand.access, level)
            case Guarded():
                return self._guarded(operand, level)

    def _index_value(self, expr: Affine, level: int) -> str:
        names = [name for name, _ in expr.terms]
        text = expr.text({name: f"d{n}" for n, name in enumerate(names)})
        dims = ", ".join(f"d{n}" for n in range(len(names)))
        operands = ", ".join(f"%{name}" for name in names)
        return self._value(level, f"affine.apply affine_map<({dims}) -> ({text})>({operands})")

    def _index(self, expr: Affine, level: int) -> str:
        index = self._index_value(expr, level)
        element = self.program.element
        if element in INTEGERS:
            return self._value(level, f"arith.index_cast {index} : index to {element}")
        whole = self._value(level, f"arith.index_cast {index} : index to i64")
        return self._value(level, f"arith.sitofp {whole} : i64 to {element}")

    def _opaque(self, access: Access, level: int) -> str:
        least = self.measure.least[access.buffer]
        moved = [s.shifted(-low) for s, low in zip(access.subscripts, least, strict=True)]
        indices = ", ".join(self._index_value(s, level) for s in moved)
        type_ = self._type(access.buffer)
        return self._value(level, f"memref.load %{access.buffer}[{indices}] : {type_}")

    def _guarded(self, operand: Guarded, level: int) -> str:
        element = self.program.element
        self.count += 1
        result = f"%v{self.count}x"
        self._line(level, f"{result} = loop.if ({operand.condition.text()}) -> ({element}) {{")
        value = self._value(level + 1, self._load(operand.access))
        self._line(level + 1, f"loop.yield {value} : {element}")
        self._line(level, "} else {")
        value = self._constant(operand.otherwise, level + 1)
        self._line(level + 1, f"loop.yield {value} : {element}")
        self._line(level, "}")
        return result

    def _statement(self, node: Statement, level: int, known: set[str]) -> None:
        value = self._operand(node.operands[0], level, known)
        for operator, operand in zip(node.operators, node.operands[1:], strict=True):
            value = self._combine(operator, value, self._operand(operand, level, known), level)
        if node.update:
            old = self._value(level, self._load(node.target))
            value = self._combine(node.update, old, value, level, node.reassociable)
        self._line(level, f"loop.store {value}, {self._place(node.target)}")

    def _combine(
        self, operator: str, a: str, b: str, level: int, reassociable: bool = False
    ) -> str:
        element = self.program.element
        if element in FLOATS:
            suffix = "f" if operator in ARITHMETIC else "imumf"
        else:
            suffix = "i" if operator in (*ARITHMETIC, "xor") else "si"
        flags = " fastmath<reassoc>" if element in FLOATS and reassociable else ""
        return self._value(level, f"arith.{operator}{suffix} {a}, {b}{flags} : {element}")


def _joined(join: str, bounds: Sequence[Affine]) -> str:
    texts = [bound.text() for bound in bounds]
    return texts[0] if len(texts) == 1 else f"{join}({', '.join(texts)})"
