"""Writes docs/scale.md and its two images from docs/scale/slopes.json: `python docs/make/scale_page.py`."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scale_numbers import (
    COMMAND_ROWS,
    COMMANDS,
    CONTEXT_ROWS,
    CONTEXT_WAYS,
    GPU,
    GPU_RATES,
    GPU_SOURCE,
    PART_ROWS,
    SIZES,
    SLOPES,
    WEB,
    Stage,
    bytes_a_row,
    days,
    jobs,
    slopes,
)
from scale_walls import walls

DOCS = Path(__file__).parents[1]
PAGE = DOCS / "scale.md"
_PICTURES = {
    "NOOCH": "COCO's 123,287 images, 171 tasks, a ResNet-50. Training is the grid of the paper's suite: 12 tasks x"
    " 9 methods x 4 settings x 3 seeds, 30 epochs of 86,302 images each.",
    "ImageNet-OOD": "13 models, each as a ResNet-50; 1,281,167 images of the training set; three sets (ImageNet's"
    " validation set 50,000, ImageNet-OOD 31,802, ImageNet-R 30,000); 12 detectors, 2,048 features, 1,000 classes.",
    "a billion web images": "One ResNet-50 with 1,000 classes; JPEGs of 65 kB, 65 TB, in WebDataset or Parquet.",
}


def page(content: Mapping[str, Any]) -> str:
    """docs/scale.md.

    Args:
        content: Of slopes.json.
    """
    slope, memory = slopes(content), {each["name"]: each for each in content["memory"]}
    lines = [_PREFACE, _memory(memory), _HEADER.format(machine=content["machine"], load=content["load"])]
    lines += [
        "| what | a unit | CPU seconds of a core | of the rounds | start, s | bytes stored | n |",
        "|" + "---|" * 7,
    ]
    for each in slope.values():
        stored = "" if each["bytes"] is None else f"{each['bytes']:,.0f}"
        rounds = f"{each['cpu_least']:.2g} to {each['cpu_most']:.2g}" if each["rounds"] > 1 else "one round"
        count = " and ".join(f"{size:,}" for size in each["sizes"])
        cells = (f"`{each['name']}`: {each['what']}", each["unit"], f"{each['cpu']:.2g}", rounds)
        lines.append(f"| {' | '.join(cells)} | {each['start']:.1g} | {stored} | {count} |")
    lines.append(_sizes())
    for job, stages in jobs(slope).items():
        lines += [f"## {job[0].upper()}{job[1:]}\n", f"{_PICTURES[job]}\n", *_job(stages)]
    lines += [_contexts(slope, memory, content["loads"]), _commands(slope, content["loads"])]
    lines += [_WALLS, *_walls(slope, memory), _PICTURE]
    return "\n".join(lines)


def _memory(memory: Mapping[str, Any]) -> str:
    lines = [
        "## Memory, measured\n",
        "Peak of a fresh process above what it had after its imports and 200 rows.\n",
        "| what | rows | MB | rows | MB | ratio | bytes a row more |",
        "|" + "---|" * 7,
    ]
    names = {
        "predict_1000": "predict, a layer of 8 x 1,000, into a file",
        "evaluate_2": "evaluate, two classes, every interval",
        **{f"contexts_{way}": f"contexts by {way}, measures drawn" for way in CONTEXT_WAYS},
    }
    for name, what in names.items():
        (few, many), (small, large) = memory[name]["sizes"], memory[name]["peaks"]
        cells = (what, f"{few:,}", f"{small / 1e6:.0f}", f"{many:,}", f"{large / 1e6:.0f}", f"{large / small:.2f}")
        lines.append(
            f"| {' | '.join(cells)} | {f'{bytes_a_row(memory[name]):,.0f}' if _grows(memory[name]) else '?'} |"
        )
    lines.append(
        "\nIf the peak grows by less than a tenth, the growth is hidden in memory that is already reserved: ?. The\n"
        "vectors of a prediction are never whole in memory; ids, labels, columns and row summaries are. The small\n"
        "model of the first row holds little beside them: to a large network the same growth adds a smaller share.\n"
        "The goals were a ratio of 1.1 for prediction and 100 bytes per row for evaluation: neither is met here.\n"
    )
    return "\n".join(lines)


def _grows(peaks: Mapping[str, Any]) -> bool:
    """Whether the peak tells of the rows at all."""
    small, large = peaks["peaks"]
    return bool(large > 1.1 * small)


def _contexts(slope: Mapping[str, Any], memory: Mapping[str, Any], loads: Mapping[str, float]) -> str:
    lines = [
        "## Contexts\n",
        f"`oochub contexts` of {CONTEXT_ROWS:,} images on one core, computed of the slopes `measure_` and `name_`\n"
        f"and of the peaks above, at a load of {loads['context']}. An image is measured once and kept in the cache.\n",
        "| way | measure all images | name the contexts, join the rows | memory beside the model |",
        "|" + "---|" * 4,
    ]
    for way in CONTEXT_WAYS:
        spent = [days(CONTEXT_ROWS * max(0.0, slope[f"{step}_{way}"]["cpu"])) for step in ("measure", "name")]
        peaks = memory[f"contexts_{way}"]
        held = _bytes(CONTEXT_ROWS * bytes_a_row(peaks)) if _grows(peaks) else "?"
        lines.append(f"| {way} | {' | '.join(spent)} | {held} |")
    lines.append(
        "\nThe networks have random weights but EfficientNet-Lite0's. What is named are drawn measures of a model's\n"
        "size. Memory is what a row more takes, carried on from 5,000 (clusters) or 20,000 rows.\n"
    )
    parts = ("measure_captions", "measure_captions_tiny", "name_captions", "encode_captions")
    whole, own, named, encoded = (days(CONTEXT_ROWS * max(0.0, slope[part]["cpu"])) for part in parts)
    lines.append(
        f"`captions`, at a load of {loads['caption']}: five captions of each of {CONTEXT_ROWS:,} images by a\n"
        f"ViT-B/16 with GPT-2 take {whole}; by a captioner of one narrow layer, which is what reading, drawing words\n"
        f"and our own code take, {own}. Random weights end next to no caption before 16 tokens, so the first is the\n"
        f"most that such a captioner takes. A DistilRoBERTa encodes the captions in {encoded}; the contexts are named\n"
        f"and the rows joined in {named}. Memory was not measured.\n"
    )
    return "\n".join(lines)


def _commands(slope: Mapping[str, Any], loads: Mapping[str, float]) -> str:
    lines = [
        "## Compare, build, push and repair\n",
        "Each at two sizes, the larger ten times the smaller, CPU seconds of one core at a load of "
        f"{loads['commands']};\n{COMMAND_ROWS:,} rows are computed of the slope.\n",
        f"| what | rows | seconds | ten times the rows take | {COMMAND_ROWS:,} rows, computed |",
        "|" + "---|" * 5,
    ]
    for name in COMMANDS:
        each = slope[name]
        few, many = (each["start"] + size * each["cpu"] for size in each["sizes"])
        counts = " and ".join(f"{size:,}" for size in each["sizes"])
        whole = days(each["start"] + COMMAND_ROWS * max(0.0, each["cpu"]))
        lines.append(f"| {each['what']} | {counts} | {few:.2g} and {many:.2g} | {many / few:.2g} | {whole} |")
    lines.append(
        "\nA repair also extracts the features of all images, which is a prediction of each, and is not counted here.\n"
        "The Hub that is pushed to runs in the same process. Memory was not measured.\n"
    )
    return "\n".join(lines)


def _sizes() -> str:
    lines = [
        "\n## The machines\n",
        "| size | machines | cores each | GPUs each | memory each |",
        "|---|---|---|---|---|",
    ]
    for size in SIZES:
        cells = (size.name, size.machines, size.cores, size.gpus or "none", f"{size.memory / 1e9:.0f} GB")
        lines.append(f"| {' | '.join(map(str, cells))} |")
    rates = ", ".join(f"{name} {rate:,.0f}" for name, rate in GPU_RATES.items())
    lines.append(
        f"\n**No GPU was measured.** A GPU here is an {GPU} by published rates, images a second: {rates}\n("
        f"ResNet-50, EfficientNet-Lite0, its training step), from {GPU_SOURCE}.\nThey are of networks that are"
        " given synthetic images on the device: the best that can be had. Put the rate of yours into\n"
        "`docs/make/scale_numbers.py`. Cores are taken to be as fast as the measured one, and to add up; nothing"
        " waits\nfor a disk or network, and starting is not counted. Small data have few parts, so that not all devices"
        " get\none. So every time below is a **lower bound, computed**, none is measured.\n"
    )
    return "\n".join(lines)


def _job(stages: list[Stage]) -> list[str]:
    names = " | ".join(size.name for size in SIZES)
    lines = [f"| stage, computed | {names} | on the disk |", "|" + "---|" * (len(SIZES) + 2)]
    for stage in stages:
        times = " | ".join(days(stage.seconds(size)) for size in SIZES)
        lines.append(f"| {stage.name} | {times} | {_bytes(stage.bytes)} |")
    hours = []
    for size in SIZES:
        total = sum(stage.seconds(size) for stage in stages if not stage.name.startswith("or "))
        hours.append(f"{float(f'{total / 3600 * max(size.all_gpus, size.machines):.2g}'):,g}")
    what = "machine-hours, or GPU-hours where there are GPUs; without rows that begin with or"
    lines.append(f"| {what} | {' | '.join(hours)} | |")
    lines += ["\n| stage | formula, in slopes | shared out by |", "|---|---|---|"]
    lines += [f"| {stage.name} | {stage.formula} | {stage.engine} |" for stage in stages]
    return [*lines, ""]


def _walls(slope: Mapping[str, Any], memory: Mapping[str, Any]) -> list[str]:
    lines = ["| size | wall | needed / there | in numbers, computed | instead |", "|---|---|---|---|---|"]
    for size in SIZES:
        for wall in [each for each in walls(slope, memory, size) if each.ratio > 1][:3]:
            cells = (size.name, wall.name, f"{float(f'{wall.ratio:.2g}'):,g}", wall.words, wall.instead)
            lines.append(f"| {' | '.join(cells)} |")
    files = -(-WEB // PART_ROWS)
    return [
        *lines,
        f"\nA billion rows are {files:,} parts of {PART_ROWS:,} rows (computed). A folder of so many files is slow\nto "
        "list on every file system, and its manifest is read whole: write a prediction for each group of shards.\n",
    ]


def _bytes(count: float) -> str:
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if count >= size:
            return f"{float(f'{count / size:.2g}'):,g} {unit}"
    return ""


def draw(content: Mapping[str, Any]) -> None:
    """Writes the two images into docs/figures."""
    from matplotlib import pyplot

    from oochub.report import theme

    slope, memory = slopes(content), {each["name"]: each for each in content["memory"]}
    colors = ["#0072B2", "#56B4E9", "#E69F00", "#D55E00", "#009E73"]  # of Okabe and Ito, for every kind of eye
    figure, axes = pyplot.subplots(1, 3, figsize=(15, 4.6), layout="constrained")
    for ax, (job, stages) in zip(axes, jobs(slope).items(), strict=True):
        for place, size in enumerate(SIZES):
            at = [len(stages) - row - 0.16 * place for row in range(len(stages))]
            hours = [stage.seconds(size) / 3600 for stage in stages]
            ax.barh(at, hours, height=0.15, color=colors[place], label=size.name, left=1e-4)
        ax.set_yticks([len(stages) - row - 0.32 for row in range(len(stages))], [stage.name for stage in stages])
        ax.set_xscale("log")
        ax.set_title(f"{job[0].upper()}{job[1:]}: hours, computed", loc="left", fontsize=11)
        ax.grid(axis="x", color=theme.LIGHT["grid"])
        ax.set_axisbelow(True)
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.tick_params(length=0, labelsize=8)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(SIZES), frameon=False)
    figure.savefig(DOCS / "figures" / "scale_seconds.png", dpi=120)
    pyplot.close(figure)
    shown = [(size, walls(slope, memory, size)[:3]) for size in SIZES]
    figure, ax = pyplot.subplots(figsize=(11, 5.2), layout="constrained")
    names, at = [], 0
    for (size, several), color in zip(shown, colors, strict=True):
        for wall in several:
            ax.barh(-at, wall.ratio, color=color, height=0.7, left=1e-4)
            ax.annotate(f" {float(f'{wall.ratio:.2g}'):,g}", (wall.ratio, -at), va="center", fontsize=8)
            names.append(f"{size.name}: {wall.name}")
            at += 1
        at += 0.6
    places = [-(row + 0.6 * (row // 3)) for row in range(len(names))]
    ax.set_yticks(places, names, fontsize=8)
    ax.axvline(1, color=theme.LIGHT["ink2"], linestyle=":", linewidth=1)
    ax.set_xscale("log")
    ax.set_xlim(0.05, None)
    ax.set_title("What runs out first: needed / there, computed; above 1 is a wall", loc="left", fontsize=11)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(length=0)
    figure.savefig(DOCS / "figures" / "scale_walls.png", dpi=120)
    pyplot.close(figure)


_PREFACE = """# From a laptop to a hundred machines

## What you do

A prediction of more rows than a part (8,192 rows, or 2^24 numbers) writes each part when it is complete, into the
hidden folder `.<name>.parts` beside `--out`. A run that is killed resumes after its last complete part: give the same
line again.

```bash
oochub example toy
oochub predict toy/model toy/pictures --label-column breed --context-column background \\
  --split test --out toy/dogs.parquet
oochub evaluate toy/dogs.parquet --out toy/dogs.json
```

More than 2^28 numbers (a gigabyte) stay a folder of parts with `_manifest.json`. `oochub evaluate` takes it as it takes
a file, and so do pandas and pyarrow: `pandas.read_parquet("dogs.parquet")` is one table. Wide columns come in blocks:

```python
import numpy as np
import oochub

rng = np.random.default_rng(0)
logits, label = rng.normal(size=(1000, 50)), rng.integers(0, 50, 1000)
oochub.Predictions.from_arrays(logits=logits, label=label).save("fifty.parquet")
predictions = oochub.Predictions.load("fifty.parquet")
for rows, block in predictions.blocks("logits"):  # a few megabytes at a time
    print(rows, block["logits"].shape)
print(oochub.evaluate(predictions)["accuracy"])
```

Several devices or machines: the processes of torchrun make a part each, on their own device, into one folder on a disk
that all see. `--engine ray --ray-address ADDRESS` does the same on a cluster of Ray. Rows and numbers are those of
one process, and so are the contexts of `oochub contexts`, which takes the same options:
[docs/models.md](models.md#several-devices-and-machines).

<!-- not run: it needs several devices or machines -->
```bash
torchrun --nproc_per_node 8 -m oochub.cli predict MODEL SOURCE --out predictions.parquet
```

Both share out the rows of the dataset as it is loaded. Keep images in Parquet or WebDataset shards: a store of
single files is slow to list long before a billion.
"""

_HEADER = """## What was measured

On a machine of {machine}, by
`python speed/scale.py --out docs/scale/slopes.json`: each work
at two sizes, n, and the slope between them in CPU time of one core, the median of the rounds; start is what the size
does not change. The machine had other work (load {load} when it began), which makes CPU time longer too: a quiet one is
faster. ResNet-50 has random weights, EfficientNet-Lite0 its published ones; time does not depend on them. A slope
that another round gives below 0 is within the noise, and counts as 0 below where it is below 0 itself.
"""

_WALLS = """## The first walls

What a job needs over what a size has; above 1 it does not fit, or takes over a week. At most three a size.
"""

_PICTURE = """![Hours of each stage of the three jobs, for five sizes](figures/scale_seconds.png)

![Needed over there for five sizes](figures/scale_walls.png)

## What it costs

Machine-hours and GPU-hours are the last row of each job's table. Money is that number times the price that you pay for
an hour: `cost = hours x price`. No price is given here, for it changes.
"""


def main() -> None:
    """Writes page and images."""
    content = json.loads(SLOPES.read_text("utf-8"))
    PAGE.write_text(page(content), "utf-8")
    draw(content)


if __name__ == "__main__":
    main()
