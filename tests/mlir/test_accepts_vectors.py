"""Vector code at levels 4 and 5 is valid for upstream's mlir-opt."""

from __future__ import annotations

from pathlib import Path

import pytest
from stepwell.frontend.text import parse_text

from .test_accepts import check_accepted
from .upstream import mlir_opt, needs_tools, text_of

pytestmark = needs_tools

MASKS = """
func.func @f(%A: memref<64xf32>, %B: memref<64xf32>, %n: index) attributes {stepwell.noalias} {
  %T = loop.alloc register : memref<2x8xf32>
  loop.for parallel unroll "r" %r = 0 to min(2, %n) {
    loop.for parallel vector "i" %i = 0 to 8 {
      %v = loop.if (%n - %i >= 0, %i - 3 == 0) -> (f32) {
        %a = loop.load %A[%i + %r * 8] : memref<64xf32>
        loop.yield %a : f32
      } else {
        %g = loop.load %A[%i * 3] : memref<64xf32>
        loop.yield %g : f32
      }
      loop.store %v, %T[%r, %i] : memref<2x8xf32>
    }
  }
  loop.for reduction vector "j" %j = 0 to 8 {
    loop.if (%n - %j >= 0) {
      %s = loop.load %B[0] : memref<64xf32>
      %t = loop.load %T[0, %j] : memref<2x8xf32>
      %u = arith.addf %s, %t fastmath<reassoc> : f32
      loop.store %u, %B[0] : memref<64xf32>
    }
  }
  func.return
}"""
CASTS = """
func.func @f(%A: memref<64xi8>, %B: memref<64xf32>, %C: memref<64xi32>) attributes {stepwell.noalias} {
  loop.for parallel vector "i" %i = 0 to 7 {
    %a = loop.load %A[%i] : memref<64xi8>
    %b = arith.extsi %a : i8 to i32
    %c = arith.sitofp %b : i32 to f32
    %u = arith.uitofp %a : i8 to f32
    %d = arith.addf %c, %u : f32
    %l = arith.cmpf olt, %c, %u : f32
    %m = arith.select %l, %c, %d : f32
    loop.store %m, %B[%i] : memref<64xf32>
    %v = arith.index_cast %i : index to i32
    %w = arith.fptosi %d : f32 to i32
    %x = arith.addi %v, %w : i32
    %y = arith.trunci %x : i32 to i8
    %z = arith.extui %y : i8 to i32
    loop.store %z, %C[%i] : memref<64xi32>
  }
  func.return
}"""


@pytest.mark.parametrize("text", [MASKS, CASTS], ids=["masks", "casts"])
def test_accepts_vectors(text: str):
    check_accepted(parse_text(text))


def test_accepts_the_text_of_vector_operations():
    file = Path(__file__).parents[1] / "filecheck" / "dialects" / "vector" / "ops.mlir"
    mlir_opt(text_of(parse_text(file.read_text())))
