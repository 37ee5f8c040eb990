"""What the interpreter evaluates an operation of arith or math by, for tests of single operations."""

import numpy as np
from stepwell.interpreters import arith, math
from xdsl.utils.test_value import create_ssa_value

TABLE = arith.EVALUATORS | math.EVALUATORS


def evaluator(op):
    made = TABLE[type(op)](op)

    def evaluate(*args):
        with np.errstate(all="ignore"):
            return made(*args)

    return evaluate


def values(type_, count=1):
    return [create_ssa_value(type_) for _ in range(count)]
