"""The GIN against loops over nodes and edges; trained on labels that are unknown in part, opened and predicted."""

import numpy as np
import pytest
import torch
from datasets import Dataset, load_dataset

import oochub
from oochub.inputs._stored_processors import GraphProcessor
from oochub.inputs.graphs import Graphs
from oochub.models.gin import GinConfig, GinForGraphClassification


def _model():
    torch.manual_seed(0)
    config = GinConfig(hidden_size=6, num_layers=3, node_sizes=[9, 4], edge_sizes=[5], num_labels=3)
    model = GinForGraphClassification(config)
    for name, values in model.named_parameters():
        if name.endswith("eps") or name == "virtual_node":  # 0 at first would hide what they do
            values.data.normal_()
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm1d):
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2)
    return model.eval()


def _by_loops(model, graph):
    """One graph alone: WILDS' `gnn.py` in words, a loop over edges; norms are in evaluation mode."""
    h = [sum(e.weight[n] for e, n in zip(model.node_embedding.of, node, strict=True)) for node in graph["nodes"]]
    v = model.virtual_node
    for number, layer in enumerate(model.layers):
        h = [each + v for each in h]
        total = [(1 + layer.eps) * each for each in h]
        for (a, b), kinds in zip(graph["edges"], graph["edge_features"], strict=True):
            kind = sum(e.weight[n] for e, n in zip(layer.edge_embedding.of, kinds, strict=True))
            total[b] = total[b] + torch.relu(h[a] + kind)
        new = [layer.norm(layer.mlp(each[None]))[0] for each in total]
        if number < len(model.layers) - 1:
            v = model.virtual_layers[number]((v + sum(h))[None])[0]
            new = [torch.relu(each) for each in new]
        h = new
    return model.classifier(sum(h) / len(h))


def test_messages_are_those_of_loops_over_edges():
    """Each row alone and in a padded batch, one graph without an edge."""
    model, rng = _model(), np.random.default_rng(0)
    processor = GraphProcessor(column="graph", node_sizes=(9, 4), edge_sizes=(5,))
    graphs = [
        {
            "nodes": rng.integers(0, (9, 4), (nodes, 2)).tolist(),
            "edges": rng.integers(0, nodes, (edges, 2)).tolist(),
            "edge_features": rng.integers(0, 5, (edges, 1)).tolist(),
        }
        for nodes, edges in ((6, 8), (3, 2), (1, 0), (4, 5))
    ]
    (batch,) = Graphs(processor).batches(Dataset.from_dict({"graph": graphs}), batch_size=9, device=torch.device("cpu"))
    with torch.no_grad():
        expected = torch.stack([_by_loops(model, graph) for graph in graphs])
        torch.testing.assert_close(model(**batch.inputs).logits, expected, rtol=1e-4, atol=1e-5)


def test_dropout_is_that_of_training_alone():
    """All dropped, only the bias of the head is left; embeddings begin as Xavier's uniform numbers do."""
    torch.manual_seed(0)
    config = GinConfig(hidden_size=6, num_layers=2, dropout=1.0, node_sizes=[9], edge_sizes=[5], num_labels=3)
    model, nodes = GinForGraphClassification(config), torch.tensor([[[1], [2]], [[3], [4]]])
    inputs = {
        "nodes": nodes,
        "edges": torch.tensor([[[0, 1]], [[1, 0]]]),
        "edge_features": torch.tensor([[[0]], [[1]]]),
    }
    with torch.no_grad():
        trained, used = model.train()(**inputs).logits, model.eval()(**inputs).logits
    assert (trained == model.classifier.bias).all() and not (used == model.classifier.bias).any()
    drawn, bound = model.node_embedding.of[0].weight.abs(), (6 / (9 + 6)) ** 0.5
    assert bound / 2 < drawn.max() <= bound and GinConfig().dropout == 0.5


def test_sizes_are_those_of_wilds():
    """Parameters of WILDS' model, counted by hand from its layers: embeddings, 5 rounds, 4 of the virtual node."""
    model = GinForGraphClassification(GinConfig(num_labels=128))
    d = 300
    mlp, norm = d * 2 * d + 2 * d + 2 * 2 * d + 2 * d * d + d, 2 * d
    expected = 174 * d + d + 5 * (13 * d + 1 + mlp + norm) + 4 * (mlp + norm) + d * 128 + 128
    assert sum(values.numel() for values in model.parameters()) == expected
    assert sum(model.config.node_sizes) == 174 and sum(model.config.edge_sizes) == 13


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["erm", "group_dro"])
def test_trained_opened_and_predicted(objective, raw, tmp_path):
    """From a config alone, with labels that are unknown in part; its answers beat guessing."""
    folder = str(raw("wilds/ogb_molpcba"))
    GinConfig(hidden_size=16, num_layers=2, dropout=0.0).save_pretrained(tmp_path / "gin")
    oochub.train(
        "wilds/ogb_molpcba",
        tmp_path / "run",
        data_dir=folder,
        model=str(tmp_path / "gin"),
        pretrained=False,
        objective=objective,
        arguments={"num_train_epochs": 12, "learning_rate": 1e-2},
    )
    test = load_dataset("wilds", "ogb_molpcba", data_dir=folder)["test"]
    predictions = oochub.predict(tmp_path / "run", test, features=True, out=tmp_path / "test.parquet")
    assert predictions.logits.shape == (48, 128)
    value = oochub.get("metric", "mean_average_precision")(predictions.label, predictions.logits)
    shares = np.nanmean(predictions.label, axis=0)  # what guessing gets, where both are there
    assert value > shares[(shares > 0) & (shares < 1)].mean() + 0.1
