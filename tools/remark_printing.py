"""`stepwell-opt --remarks`: what each pass chose, on stderr."""

from __future__ import annotations

import sys

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..driver.pass_manager import Instrumentation
from ..transforms.remarks import Remark, listen


class RemarkPrinting(Instrumentation):
    """Prints the remarks of each pass as it makes them, every one once."""

    def before_pass(self, pass_: ModulePass, module: ModuleOp) -> None:
        said: set[Remark] = set()

        def print_once(remark: Remark) -> None:
            if remark not in said:
                said.add(remark)
                where = f"{remark.where}: " if remark.where else ""
                print(f"{where}remark: {pass_.name}: {remark.message}", file=sys.stderr)

        listen(print_once)

    def after_pass(self, pass_: ModulePass, module: ModuleOp) -> None:
        listen(None)

    def after_failure(self, pass_: ModulePass, error: Exception) -> None:
        listen(None)
