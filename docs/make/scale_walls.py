"""What runs out first, for each size of docs/scale.md."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scale_numbers import GPU_RATES, PICTURE, RUNS, WEB, Size, bytes_a_row, days, jobs


@dataclass(frozen=True, kw_only=True)
class Wall:
    """What a job needs over what a size has: above 1 it is a wall.

    Attributes:
        name: Of what runs out.
        ratio: Needed over had.
        words: The numbers.
        instead: What to do.
    """

    name: str
    ratio: float
    words: str
    instead: str


def walls(slope: Mapping[str, Mapping[str, Any]], memory: Mapping[str, Mapping[str, Any]], size: Size) -> list[Wall]:
    """What could run out for a size, of all jobs, the worst first.

    Args:
        slope: Of `slopes`.
        memory: Bytes by `predict_1000` and `evaluate_2`, as slopes.json has them.
        size: What there is.
    """
    costs = []
    week = 7 * 86_400
    for job, stages in jobs(slope).items():
        for stage in stages:
            seconds = stage.seconds(size)
            costs.append(
                Wall(
                    name=f"{job}: {stage.name.removeprefix('or ')}, a week",
                    ratio=seconds / week,
                    words=f"{days(seconds)} where a week is bearable",
                    instead=_INSTEAD.get(stage.name, "more devices; or fewer images with `--limit`"),
                )
            )
    rows = bytes_a_row(memory["predict_1000"]) * WEB
    costs.append(
        Wall(
            name="a billion web images: the rows of one file in memory",
            ratio=rows / size.memory,
            words=f"{rows / 1e9:,.0f} GB needed, {size.memory / 1e9:,.0f} GB there",
            instead="a prediction for each million images or so: `--out` a file for each group of shards",
        )
    )
    if size.gpus:
        decoded = size.cores / slope["decode"]["cpu"]
        fed = size.gpus * GPU_RATES["lite0"]
        costs.append(
            Wall(
                name="EfficientNet-Lite0: cores that decode for the GPUs",
                ratio=fed / decoded,
                words=f"{fed:,.0f} images a second into the GPUs, {decoded:,.0f} out of the cores",
                instead="more cores a GPU, or images stored at 256 pixels: the decoder reads fewer of them",
            )
        )
        read = min(GPU_RATES["resnet50"] * size.gpus, decoded) * PICTURE * size.machines
        costs.append(
            Wall(
                name="a billion web images: reading from one store of 10 GB/s",
                ratio=read / 10e9,
                words=f"{read / 1e9:.2g} GB/s read at full speed",
                instead="shards on the machines' own disks, or a store that gives more",
            )
        )
    return sorted(costs, key=lambda wall: -wall.ratio)


_INSTEAD = {
    f"or fine-tune {RUNS:,} networks": "train heads on features: the row above",
    "score by KNN, exact": "`--detector knn:index=faiss`, or a sample of the bank",
    "build all tasks": "one configuration a process",
    "evaluate all rows": "evaluate a sample, or a file for each group of shards",
}
