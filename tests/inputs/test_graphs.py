"""Graphs: padding against the rows, numbers that training did not have, wrong rows by number."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset, List, Value
from input_rows import ROWS

from oochub.errors import OochubError
from oochub.inputs._stored_processors import GraphProcessor
from oochub.inputs.graphs import Graphs

CPU = torch.device("cpu")
_PROCESSOR = GraphProcessor(column="graph", node_sizes=(9, 4), edge_sizes=(5,))


def _graph(rng: np.random.Generator, nodes: int, edges: int) -> dict[str, Any]:
    return {
        "nodes": rng.integers(0, (9, 4), (nodes, 2)).tolist(),
        "edges": rng.integers(0, nodes, (edges, 2)).tolist(),
        "edge_features": rng.integers(0, 5, (edges, 1)).tolist(),
    }


def example() -> tuple[Any, list[Any], Any]:
    """See `input_rows.example_of`; the largest graph first, one without an edge."""
    rng = np.random.default_rng(0)
    sizes = [(6, 8), (3, 2), (1, 0), (4, 5), (2, 2)]
    assert len(sizes) == ROWS
    feature = {
        "nodes": List(List(Value("uint8"), length=2)),
        "edges": List(List(Value("int16"))),
        "edge_features": List(List(Value("int64"))),
    }
    return feature, [_graph(rng, *size) for size in sizes], _PROCESSOR


def test_every_number_of_a_row_is_in_the_batch() -> None:
    """By loops over the rows, of a selection; -1 everywhere else."""
    _, values, processor = example()
    data = Dataset.from_dict({"graph": values}).select([4, 0, 2, 3])
    chosen = [values[k] for k in (4, 0, 2, 3)]
    (batch,) = Graphs(processor).batches(data, batch_size=9, device=CPU)
    for name, width in (("nodes", 2), ("edges", 2), ("edge_features", 1)):
        found = batch.inputs[name]
        longest = max(len(graph[name]) for graph in chosen)
        assert found.shape == (4, longest, width) and found.dtype == torch.int64
        for own, graph in zip(found.tolist(), chosen, strict=True):
            assert own == [*graph[name], *[[-1] * width] * (longest - len(graph[name]))]


def test_what_training_did_not_have_is_the_last_value(tmp_path: Path) -> None:
    """By hand: numbers 0..2 and 0..7 of nodes make sizes of 4 and 9; a 5 and an 8 are then read as 3 and 8."""
    seen = {"nodes": [[2, 0], [0, 7]], "edges": [[0, 1]], "edge_features": [[3]]}
    processor = GraphProcessor.of(Dataset.from_dict({"graph": [seen]}))
    assert (processor.node_sizes, processor.edge_sizes) == ((4, 9), (5,))
    new = {"nodes": [[5, 8], [1, 99]], "edges": [[1, 0]], "edge_features": [[4]]}
    batch = Graphs(processor).fetch(Dataset.from_dict({"graph": [new]}), None)([0])
    assert isinstance(batch, dict) and batch["nodes"].tolist() == [[[3, 8], [1, 8]]]
    assert batch["edge_features"].tolist() == [[[4]]]
    processor.save_pretrained(tmp_path)
    assert GraphProcessor.from_pretrained(tmp_path) == processor


_WRONG = {
    "there is no graph": None,
    "a graph without nodes": {"nodes": [], "edges": [], "edge_features": []},
    r"an edge is two of its nodes 0\.\.1, got \[0, 2\]": {
        "nodes": [[1, 1]] * 2, "edges": [[0, 2]], "edge_features": [[0]]
    },
    "1 edges, but edge_features for 2": {"nodes": [[1, 1]] * 2, "edges": [[0, 1]], "edge_features": [[0], [0]]},
    "nodes must be 0 or more": {"nodes": [[1, -1]], "edges": [], "edge_features": []},
}  # fmt: skip


@pytest.mark.parametrize("message", _WRONG)
def test_a_row_that_is_no_graph_is_named(message: str) -> None:
    """Planted fault seen: an edge compared with the nodes of the largest graph of the batch."""
    _, values, processor = example()
    data = Dataset.from_dict({"graph": [values[0], values[1], _WRONG[message]]})
    with pytest.raises(OochubError, match=f"row 2: {message}"):
        list(Graphs(processor).batches(data, batch_size=3, device=CPU))
    assert isinstance(Graphs(processor).fetch(data, None)([2]), OochubError)  # travels through worker processes


def test_columns_that_are_no_graphs_are_refused() -> None:
    for graph, message in (
        ([1], "must hold structs of nodes, edges, edge_features"),
        ({"nodes": [[0.5]], "edges": [[0, 0]], "edge_features": [[0]]}, "lists of lists of whole numbers"),
        ({"nodes": [[1], [1, 2]], "edges": [[0, 0]], "edge_features": [[0]]}, "must have one length"),
        ({"nodes": [[1]], "edges": [[0, 0]], "edge_features": [[0]]}, "nodes have 1 numbers each, but the model takes"),
    ):
        with pytest.raises(OochubError, match=message):
            list(Graphs(_PROCESSOR).batches(Dataset.from_dict({"graph": [graph]}), batch_size=2, device=CPU))
    with pytest.raises(OochubError, match="node_sizes must say how many values"):
        GraphProcessor(column="graph", node_sizes=(0,), edge_sizes=(1,))
    with pytest.raises(OochubError, match="has no row with a node and an edge"):
        GraphProcessor.of(Dataset.from_dict({"graph": [{"nodes": [[1]], "edges": [], "edge_features": []}]}))
    with pytest.raises(OochubError, match="needs processor="):
        Graphs.load_processor(None, None)


def test_a_graph_has_a_readable_line() -> None:
    """By hand. Planted and seen: rows in the order of the data set."""
    _, values, processor = example()
    graphs, data = Graphs(processor), Dataset.from_dict({"graph": values})
    assert graphs.lines(data, [3, 0]) == ["4 nodes, 5 edges", "6 nodes, 8 edges"]
    molecules = data.add_column("smiles", ["CCO", None, "C", "N", "O"])
    assert graphs.lines(molecules, [0, 1]) == ["CCO (6 nodes, 8 edges)", "3 nodes, 2 edges"]
