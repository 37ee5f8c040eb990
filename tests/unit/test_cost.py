"""`stepwell cost`: what is counted of each operation, and in all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from stepwell.analysis.graph_cost import Cost, costs_by_kind, node_costs, total_cost
from stepwell.frontend.text import make_context, parse_text
from stepwell.tools.cli import main

LAYER = """
func.func @layer(%x: tensor<8x64xf32>) -> tensor<8x10xf32> {
  %w = graph.constant dense<1.0> : tensor<64x10xf32>
  %b = graph.constant dense<2.0> : tensor<10xf32>
  %h = graph.matmul %x, %w : tensor<8x64xf32>, tensor<64x10xf32> -> tensor<8x10xf32>
  %s = graph.add %h, %b : tensor<8x10xf32>, tensor<10xf32> -> tensor<8x10xf32>
  %t = graph.add %s, %b : tensor<8x10xf32>, tensor<10xf32> -> tensor<8x10xf32>
  func.return %t : tensor<8x10xf32>
}
"""


@pytest.fixture
def layer(tmp_path: Path) -> str:
    path = tmp_path / "layer.mlir"
    path.write_text(LAYER)
    return str(path)


def test_each_operation_is_counted_and_a_shared_constant_once():
    nodes = node_costs(parse_text(LAYER, "layer", make_context()))
    matmul, first, second = (node.cost for node in nodes)
    assert matmul == Cost(8 * 64 * 10, 2 * 8 * 64 * 10, 640, 4 * (8 * 64 + 640 + 80))
    assert first == Cost(0, 80, 10, 4 * (80 + 10 + 80))
    assert second.parameters == 0
    assert total_cost(nodes).parameters == 650
    assert {kind: count for kind, (count, _) in costs_by_kind(nodes).items()} == {
        "matmul": 1,
        "add": 2,
    }


def test_an_open_extent_leaves_the_sum_open():
    text = "func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {\n %y = graph.exp %x : tensor<?xf32>\n func.return %y : tensor<?xf32>\n}"
    cost = total_cost(node_costs(parse_text(text, "open", make_context())))
    assert cost.flops is None and cost.bytes is None and cost.multiply_adds == 0


def test_the_table_has_a_line_for_each_node_and_the_sums(
    layer: str, capsys: pytest.CaptureFixture[str]
):
    assert main(["cost", layer]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["h", "matmul", "8x10", "5.12", "k", "10.2", "k", "640", "4.93", "k"]
    assert lines[-1].split()[0] == "total" and "650" in lines[-1]


def test_a_line_for_each_kind(layer: str, capsys: pytest.CaptureFixture[str]):
    assert main(["cost", layer, "--by", "kind"]) == 0
    assert [line.split()[:2] for line in capsys.readouterr().out.splitlines()[1:3]] == [
        ["matmul", "1"],
        ["add", "2"],
    ]


def test_json(layer: str, capsys: pytest.CaptureFixture[str]):
    assert main(["cost", layer, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["total"]["multiply_adds"] == 5120
    assert [node["kind"] for node in found["nodes"]] == ["matmul", "add", "add"]


def test_a_step_of_a_scan_is_counted_as_often_as_it_is_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "scan.mlir"
    path.write_text(
        """
        func.func @f(%h0: tensor<2x3xf32>, %r: tensor<3x3xf32>) -> tensor<2x3xf32> {
          %last = graph.scan 7 carry (%h = %h0) : (tensor<2x3xf32>) -> tensor<2x3xf32> {
            %n = graph.matmul %h, %r : tensor<2x3xf32>, tensor<3x3xf32> -> tensor<2x3xf32>
            graph.yield %n : tensor<2x3xf32>
          }
          func.return %last : tensor<2x3xf32>
        }
        """
    )
    assert main(["cost", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["total"]["multiply_adds"] == 7 * 18


def test_a_program_below_the_graph_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "low.mlir"
    path.write_text(
        "func.func @f(%x: f32) -> f32 {\n  %y = math.exp %x : f32\n  func.return %y : f32\n}\n"
    )
    assert main(["cost", str(path)]) == 1
    error = capsys.readouterr().err
    assert "found a program at level 'core', expected one at 'graph'" in error
    assert error.count("\n") == 1
