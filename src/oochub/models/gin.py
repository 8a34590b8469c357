"""A graph isomorphism network with a virtual node, in plain torch."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import AutoConfig, AutoModelForSequenceClassification, PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput


class GinConfig(PreTrainedConfig):  # type: ignore[misc]
    """The config of a `GinForGraphClassification`; the defaults are those of WILDS for OGB-MolPCBA.

    Attributes:
        hidden_size: Length of the vector of a node.
        num_layers: Rounds of messages, 2 or more.
        dropout: Dropout after each round.
        node_sizes: How many values each number of a node may have; those of an atom by default.
        edge_sizes: The same for an edge; those of a bond by default.

    >>> GinConfig(num_layers=3).edge_sizes
    (5, 6, 2)
    """

    model_type = "oochub_gin"
    hidden_size: int = 300
    num_layers: int = 5
    dropout: float = 0.5
    node_sizes: list[int] | tuple[int, ...] = (119, 5, 12, 12, 10, 6, 6, 2, 2)
    edge_sizes: list[int] | tuple[int, ...] = (5, 6, 2)


class GinForGraphClassification(PreTrainedModel):  # type: ignore[misc]
    """Nodes send messages along edges, and a virtual node to and from all nodes of its graph; their mean is read out.

    With h the vectors of nodes, v that of the virtual node, 0 at first, and e of edges, a round is
    h <- norm(MLP((1 + eps) h_i + sum over edges j -> i of relu(h_j + e_ji))) after h <- h + v, then
    v <- MLP(v + the sum of those h). Numbers of nodes and edges are sums of embeddings.

    Args:
        config: A GinConfig.

    Source: Xu et al. 2019, How Powerful are Graph Neural Networks; Hu et al. 2020, Open Graph Benchmark; the GIN with
    virtual node of WILDS' Appendix, `examples/models/gnn.py` of WILDS 2.0.0.

    >>> model = GinForGraphClassification(GinConfig(hidden_size=8, node_sizes=[9], edge_sizes=[4], num_labels=3))
    >>> nodes, edges = torch.tensor([[[5], [7]], [[5], [-1]]]), torch.tensor([[[0, 1]], [[-1, -1]]])
    >>> model.eval()(nodes=nodes, edges=edges, edge_features=torch.tensor([[[2]], [[-1]]])).logits.shape
    torch.Size([2, 3])
    """

    config_class = GinConfig
    main_input_name = "nodes"

    def __init__(self, config: GinConfig) -> None:
        super().__init__(config)
        width = config.hidden_size
        self.node_embedding = _Sum(config.node_sizes, width)
        self.virtual_node = nn.Parameter(torch.zeros(width))
        self.layers = nn.ModuleList(_Layer(config.edge_sizes, width) for _ in range(config.num_layers))
        self.virtual_layers = nn.ModuleList(
            nn.Sequential(_make_mlp(width), nn.BatchNorm1d(width), nn.ReLU()) for _ in range(config.num_layers - 1)
        )
        self.classifier = nn.Linear(width, config.num_labels)
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        """Layers draw their own as torch does, embeddings by Xavier as OGB does."""
        if isinstance(module, nn.Embedding):
            nn.init.xavier_uniform_(module.weight)

    def forward(self, nodes: Tensor, edges: Tensor, edge_features: Tensor, **_: Any) -> SequenceClassifierOutput:
        """The logits (b, k) of graphs.

        Args:
            nodes: int64 (b, n, f); -1 fills up.
            edges: int64 (b, e, 2), from a node to a node of the same graph; -1 fills up.
            edge_features: int64 (b, e, g).
        """
        is_node, is_edge = nodes[..., 0] >= 0, edges[..., 0] >= 0
        graph, counts = is_node.nonzero()[:, 0], is_node.sum(1)
        starts = counts.cumsum(0) - counts
        source, target = (edges + starts[:, None, None])[is_edge].unbind(1)
        kinds = edge_features[is_edge]
        hidden = self.node_embedding(nodes[is_node])
        virtual = self.virtual_node.expand(len(nodes), -1)
        dropout, last = self.config.dropout, len(self.layers) - 1
        for number, layer in enumerate(self.layers):
            seen = hidden + virtual[graph]
            hidden = layer(seen, source, target, kinds)
            hidden = functional.dropout(hidden if number == last else hidden.relu(), dropout, self.training)
            if number < last:
                virtual = self.virtual_layers[number](virtual.index_add(0, graph, seen))
                virtual = functional.dropout(virtual, dropout, self.training)
        pooled = hidden.new_zeros(len(nodes), hidden.shape[1]).index_add(0, graph, hidden) / counts[:, None]
        return SequenceClassifierOutput(logits=self.classifier(pooled))


class _Layer(nn.Module):  # type: ignore[misc]
    def __init__(self, edge_sizes: Any, width: int) -> None:
        super().__init__()
        self.edge_embedding = _Sum(edge_sizes, width)
        self.eps = nn.Parameter(torch.zeros(1))
        self.mlp, self.norm = _make_mlp(width), nn.BatchNorm1d(width)

    def forward(self, hidden: Tensor, source: Tensor, target: Tensor, kinds: Tensor) -> Tensor:
        messages = (hidden[source] + self.edge_embedding(kinds)).relu()
        return self.norm(self.mlp(((1 + self.eps) * hidden).index_add(0, target, messages)))  # type: ignore[no-any-return]


class _Sum(nn.Module):  # type: ignore[misc]
    """The sum of an embedding for each number (m, f) -> (m, width)."""

    def __init__(self, sizes: Any, width: int) -> None:
        super().__init__()
        self.of = nn.ModuleList(nn.Embedding(size, width) for size in sizes)

    def forward(self, numbers: Tensor) -> Tensor:
        return torch.stack([embedding(numbers[:, place]) for place, embedding in enumerate(self.of)]).sum(0)


def _make_mlp(width: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(width, 2 * width), nn.BatchNorm1d(2 * width), nn.ReLU(), nn.Linear(2 * width, width))


AutoConfig.register(GinConfig.model_type, GinConfig, exist_ok=True)
AutoModelForSequenceClassification.register(GinConfig, GinForGraphClassification, exist_ok=True)
