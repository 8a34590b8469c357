"""Draws the figures of detection in docs/figures: a toy ImageNet, a small network trained for seconds, others not.

The network sees 24 x 24 pixels; its features are what its last layer sees, as `oochub predict --features` stores them.
"""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import torch
from matplotlib import pyplot
from tqdm import tqdm

import oochub
from oochub.builders.toy_worlds.toy_imagenet import toy_imagenet
from oochub.detection.detector_scores import ScoredSet, score_sets
from oochub.prediction.predictions import Predictions, count_rows
from oochub.prediction.predictions_file import StoredHead
from oochub.records.build_record import BuildRecord
from oochub.studies.imagenet_ood.measures import SetScores, random_measures

_FIGURES = Path(__file__).parents[1] / "figures"
_PIXELS, _FEATURES, _EPOCHS, _MODELS = 24, 64, 4, 5
_SETS = ("imagenet_1k", "imagenet_r", "imagenet_ood")
_DETECTORS = ("msp", "energy", "vim", "react")
_SHOWN = ("gaussian_noise", "impulse_noise", "defocus_blur", "zoom_blur", "fog", "contrast", "pixelate")
_PANELS: Mapping[str, list[dict[str, Any]]] = {
    "score_distributions": [
        *({"detector": key} for key in ("msp", "vim")),
        *({"detector": key, "by": "answer", "sets": _SETS[1:]} for key in ("msp", "vim")),
    ],
    "detector_ranks": [{"detector": "vim", "rows": rows} for rows in ("correct", "incorrect", "ood")],
    "distance_regression": [{"detector": key, "subsets": 40} for key in _DETECTORS[::2]],
}
_INCHES = {"detector_ranks": (6.4, 3.8), "distance_regression": (6.4, 4.8)}
"""Of a panel: panels stand below each other, so that their text can be read where a page is narrow."""


class _Network(torch.nn.Module):
    """Three convolutions, their mean over the image, one linear layer."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        layers: list[torch.nn.Module] = []
        for before, after in ((3, 16), (16, 32), (32, _FEATURES)):
            layers += [torch.nn.Conv2d(before, after, 3, padding=1), torch.nn.BatchNorm2d(after), torch.nn.ReLU()]
            layers += [torch.nn.MaxPool2d(2)]
        self.body = torch.nn.Sequential(*layers, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())
        self.head = torch.nn.Linear(_FEATURES, classes)


def pixels(part: datasets.Dataset) -> torch.Tensor:
    """(n, 3, 24, 24) float32 about 0."""
    small = [np.asarray(picture.convert("RGB").resize((_PIXELS, _PIXELS))) for picture in part["image"]]
    return torch.from_numpy(np.stack(small)).permute(0, 3, 1, 2).float() / 128 - 1


def trained(x: torch.Tensor, label: torch.Tensor, classes: int) -> _Network:
    """A network after a few epochs."""
    torch.manual_seed(0)
    network = _Network(classes)
    steps = _EPOCHS * (len(x) // 64 + 1)
    optimizer = torch.optim.AdamW(network.parameters(), lr=4e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=steps)
    for _ in tqdm(range(_EPOCHS), desc="training"):
        for rows in torch.randperm(len(x)).split(64):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(network.head(network.body(x[rows])), label[rows]).backward()
            optimizer.step()
            schedule.step()
    return network.eval()


def untrained(x: torch.Tensor, classes: int, seed: int) -> _Network:
    """A network with Kaiming's random weights; its normalization has seen training images, so signals pass."""
    torch.manual_seed(seed)
    network = _Network(classes)
    for layer in network.modules():
        if isinstance(layer, torch.nn.Conv2d | torch.nn.Linear):
            torch.nn.init.kaiming_normal_(layer.weight)
    with torch.no_grad():
        network.body(x[:2000])
    return network.eval()


def predictions(
    part: datasets.Dataset, x: torch.Tensor, network: _Network, names: list[str], config: str, model: str
) -> Predictions:
    """What `oochub predict --features` would write; labels are numbered among the classes of the toy world."""
    with torch.inference_mode():
        features = torch.cat([network.body(rows) for rows in x.split(500)])
        logits = network.head(features)
    columns = part.remove_columns(["image"]).to_dict()
    class_names = part.features["label"].names
    columns["label"] = [names.index(class_names[number]) if number >= 0 else -1 for number in columns["label"]]
    columns["shift"] = part.features["shift"].int2str(columns["shift"])
    columns |= {
        "split": [str(part.split)] * len(part),
        "logits": list(logits.numpy()),
        "features": list(features.numpy()),
    }
    kept = ("example_id", "split", "label", "logits", "features", "shift", "is_ood", "class_name")
    record = BuildRecord.of(part.info)
    metadata = {
        "benchmark": "imagenet_ood",
        "config": config,
        "version": record.version if record else "",
        "class_names": names,
    }
    metadata |= {"model": {"id": model}, "rows": count_rows(columns["split"])}
    return Predictions(pa.table({name: columns[name] for name in kept}), metadata)


def head_of(network: _Network) -> StoredHead:
    """The last layer."""
    return StoredHead(weight=network.head.weight.detach().numpy(), bias=network.head.bias.detach().numpy())


def draw_panels(name: str, scored: list[ScoredSet]) -> None:
    """A figure of one detector, in panels."""
    panels = _PANELS[name]
    width, height = _INCHES.get(name, (6.4, 4.4))
    shape = (len(panels), 1)
    figure, axes = pyplot.subplots(*shape, figsize=(width, len(panels) * height), layout="constrained", squeeze=False)
    figure.suptitle("Toy ImageNet, drawn images; a small network, trained for seconds", x=0.01, ha="left", fontsize=9)
    for ax, options in zip(axes.flat, panels, strict=True):
        oochub.get("figure", name)(scored, **options, ax=ax)
    save(figure, name)


def draw_report(parts: list[Predictions], scored: list[ScoredSet]) -> None:
    """The figure of a report's detectors."""
    report = oochub.evaluate(parts, detectors=list(scored[0].detectors.values()), metrics=["accuracy"])
    save(report.plot("detection").figure, "detection")


def draw_pictures(scored: list[ScoredSet], data: Mapping[str, Any]) -> None:
    """The figures that show images of the data sets."""
    drawn = {
        "percentile_pictures": {"detectors": ["msp", "vim"]},
        "disagreement_pictures": {"detector": "vim", "columns": 8},
    }
    for name, options in drawn.items():
        ax = oochub.get("figure", name)(scored, datasets=data, **options)
        save(ax.figure, name)


def draw_random_models(data: Mapping[str, Any], x: Mapping[str, torch.Tensor], names: list[str]) -> None:
    """The sanity check on five untrained networks, as `oochub imagenet_ood detect --random 5` measures it."""
    corrupted = data["imagenet_c"]["test"]
    kinds, levels = corrupted.features["context"].int2str(corrupted["context"]), corrupted["severity"]
    level_names = np.array([f"{kind}_{level}" for kind, level in zip(kinds, levels, strict=True)])
    rows = {
        name: np.flatnonzero(level_names == name) for name in [f"{kind}_{k}" for kind in _SHOWN for k in range(1, 6)]
    }
    keys, numbers = ("mahalanobis", "energy"), []
    for seed in tqdm(range(_MODELS), desc="untrained models"):
        network = untrained(x["train"], len(names), seed)
        about = {"network": network, "names": names, "model": f"random_{seed}"}
        parts = [predictions(data[name]["test"], x[name], config=name, **about) for name in _SETS]
        parts += [
            predictions(corrupted.select(own), x["imagenet_c"][own], config=name, **about) for name, own in rows.items()
        ]
        reference = predictions(data["imagenet_1k"]["train"], x["train"], config="imagenet_1k", **about)
        scored = score_sets(parts, keys, reference=reference, head=head_of(network))
        bare = {part.name: SetScores(part.is_ood, part.correct, part.scores) for part in scored}
        pairs = [("imagenet_1k", name) for name in bare if name != "imagenet_1k"]
        numbers += [row | {"model": "a small network", "seed": seed} for row in random_measures(bare, keys, pairs).rows]
    figure, axes = pyplot.subplots(2, 1, figsize=(6.4, 18), layout="constrained")
    figure.suptitle("Toy ImageNet, drawn images; networks with random weights", x=0.01, ha="left", fontsize=9)
    panels = [{"detector": key, "goal": goal} for goal, key in (("new_class", "mahalanobis"), ("failure", "energy"))]
    for ax, options in zip(axes.flat, panels, strict=True):
        oochub.get("figure", "random_models")(pd.DataFrame(numbers), **options, ax=ax)
    save(figure, "random_models")


def save(figure: Any, name: str) -> None:
    """Writes the image of a figure."""
    figure.savefig(_FIGURES / f"{name}.png", dpi=120, metadata={"Software": None})
    pyplot.close(figure)


def main() -> None:
    """Writes the images of the figures of detection."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the same sums in the same order
    with tempfile.TemporaryDirectory() as folder:
        world = str(toy_imagenet(Path(folder) / "imagenet_ood", size="medium"))
        data: dict[str, Any] = {
            config: datasets.load_dataset("imagenet_ood", config, data_dir=world, cache_dir=folder)
            for config in (*_SETS, "imagenet_c")
        }
        x = {config: pixels(parts["test"]) for config, parts in data.items()}
        train = data["imagenet_1k"]["train"]
        x["train"] = pixels(train)
        names = [train.features["label"].names[number] for number in sorted(set(train["label"]))]
        label = torch.tensor([names.index(train.features["label"].names[number]) for number in train["label"]])
        network = trained(x["train"], label, len(names))
        parts = [predictions(data[name]["test"], x[name], network, names, name, "small network") for name in _SETS]
        reference = predictions(train, x["train"], network, names, "imagenet_1k", "small network")
        scored = score_sets(parts, _DETECTORS, reference=reference, head=head_of(network))
        for name in _PANELS:
            draw_panels(name, scored)
        draw_report(parts, scored)
        draw_pictures(scored, data)
        draw_random_models(data, x, names)
    torch.set_num_threads(threads)


if __name__ == "__main__":
    main()
