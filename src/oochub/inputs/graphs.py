"""Graphs whose nodes and edges are whole numbers, such as molecules, padded to the largest of a batch."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oochub.errors import OochubError
from oochub.inputs._columns import ArrowColumn
from oochub.inputs._stored_processors import GraphProcessor, read_graphs
from oochub.records.schema import to_json

if TYPE_CHECKING:
    import torch

_NONE = -1  # what fills up a smaller graph
_SMILES = "smiles"  # the column of a molecule's structure as text


class Graphs(ArrowColumn):
    """Graphs as `nodes` (b, n, f), `edges` (b, e, 2) and `edge_features` (b, e, g), int64, filled up with -1.

    n and e are those of the largest graph of the batch; an edge is the numbers of two nodes, from the first to the
    second. A row's own are never mixed with another's, so that a batch can be cut by rows as any other.

    Args:
        processor: Processor of the model, with the column, and how many values each number has.

    >>> from datasets import Dataset
    >>> small = {"nodes": [[5]], "edges": [], "edge_features": []}
    >>> large = {"nodes": [[5], [7]], "edges": [[0, 1], [1, 0]], "edge_features": [[0], [0]]}
    >>> rows = Dataset.from_dict({"graph": [small, large]})
    >>> graphs = Graphs(GraphProcessor.of(rows))
    >>> batch = graphs.fetch(rows, None)([1, 0])
    >>> batch["nodes"].tolist(), batch["edges"].tolist()
    ([[[5], [7]], [[5], [-1]]], [[[0, 1], [1, 0]], [[-1, -1], [-1, -1]]])
    """

    auto_model: ClassVar[str] = "AutoModelForSequenceClassification"
    unit: ClassVar[str] = "graph"
    rank: ClassVar[int] = 3
    arguments: ClassVar[tuple[str, ...]] = ("nodes", "edges", "edge_features")
    processor_type: ClassVar[type] = GraphProcessor
    column = "graph"

    def __init__(self, processor: GraphProcessor) -> None:
        self.processor, self.column = processor, processor.column

    @classmethod
    def load_processor(cls, source: str | None, dataset: Any, *, training: bool = False) -> GraphProcessor:
        """See `Input.load_processor`: `graphs.json`; in training, where there is none, the numbers of the rows."""
        try:
            if source is not None:
                return GraphProcessor.from_pretrained(source)
        except OSError:
            if not training:
                raise
        if not training:
            raise OochubError("A model object needs processor=, the GraphProcessor that it was trained with.")
        return GraphProcessor.of(dataset)

    @classmethod
    def config(cls, processor: GraphProcessor) -> dict[str, Any]:
        """See `Input.config`: `node_sizes` and `edge_sizes`."""
        return {"node_sizes": list(processor.node_sizes), "edge_sizes": list(processor.edge_sizes)}

    def tensors(self, table: pa.Table, names: Sequence[str]) -> "dict[str, torch.Tensor]":
        """See `ArrowColumn.tensors`."""
        nodes, edges, features = read_graphs(table, self.column, names=names)
        node_sizes, edge_sizes = self.processor.node_sizes, self.processor.edge_sizes
        return {
            "nodes": _pad([_clip_to_known(node, node_sizes, "nodes") for node in nodes], len(node_sizes)),
            "edges": _pad(edges, 2),
            "edge_features": _pad(
                [_clip_to_known(feature, edge_sizes, "edge_features") for feature in features], len(edge_sizes)
            ),
        }

    def probe(self) -> dict[str, "torch.Tensor"]:
        """See `Input.probe`: two rings of three nodes."""
        import torch

        rng = np.random.default_rng(0)
        nodes, features = (
            torch.from_numpy(rng.integers(0, sizes, (2, 3, len(sizes))))
            for sizes in (self.processor.node_sizes, self.processor.edge_sizes)
        )
        edges = torch.tensor([[[0, 1], [1, 2], [2, 0]]] * 2)
        return {"nodes": nodes, "edges": edges, "edge_features": features}

    def settings(self) -> dict[str, Any]:
        """See `Input.settings`: the record of `graphs.json`."""
        return {"graph_processor": to_json(self.processor)}

    def lines(self, part: Any, rows: Sequence[int]) -> list[str | None]:
        """See `Input.lines`: how large each graph is, and of a molecule the column `smiles`."""
        read = [self.column, *(name for name in (_SMILES,) if name in part.column_names)]
        table = part.select_columns(read).with_format("arrow")[list(rows)]
        nodes, edges, _ = read_graphs(table, self.column, names=[f"row {row}" for row in rows])
        sizes = [f"{len(own):,} nodes, {len(pairs):,} edges" for own, pairs in zip(nodes, edges, strict=True)]
        if _SMILES not in read:
            return list(sizes)
        smiles = table.column(_SMILES).to_pylist()
        return [size if text is None else f"{text} ({size})" for text, size in zip(smiles, sizes, strict=True)]


def _clip_to_known(values: NDArray[Any], sizes: Sequence[int], what: str) -> NDArray[Any]:
    """The numbers, those that training did not have as the last value."""
    if len(values) and values.shape[1] != len(sizes):
        raise OochubError(f"{what} have {values.shape[1]} numbers each, but the model takes {len(sizes)}.")
    return np.minimum(values, np.array(sizes) - 1) if len(values) else values


def _pad(values: Sequence[NDArray[Any]], width: int) -> "torch.Tensor":
    """int64 (b, longest, width)."""
    import torch

    filled = np.full((len(values), max(map(len, values), default=0), width), _NONE, np.int64)
    for row, own in enumerate(values):
        if len(own):
            filled[row, : len(own)] = own
    return torch.from_numpy(filled)
