"""The arithmetic of docs/scale.md: slopes of one core, times how many, over the cores and devices of a machine."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SLOPES = Path(__file__).parents[1] / "scale" / "slopes.json"

GPU = "RTX 3090"
GPU_RATES = {"resnet50": 3729.86, "lite0": 9657.18, "fine_tune": 1218.01}
"""Images a second at 224, mixed precision, channels last, synthetic input: timm's own benchmark, see `GPU_SOURCE`."""
GPU_SOURCE = (
    "[timm's benchmark](https://github.com/huggingface/pytorch-image-models/tree/"
    "aa4b5850c1543fa488abf260f18390eda46cf85d/results), `benchmark-infer-amp-nhwc-pt240-cu124-rtx3090.csv` and "
    "`benchmark-train-amp-nhwc-pt112-cu113-rtx3090.csv`"
)

COCO, ANNOTATIONS, TRAIN, TEST, TASKS, RUNS, EPOCHS, GRID = 123_287, 1_500_000, 86_302, 24_657, 171, 1296, 30, 96
REFERENCE, QUERIES, IMAGENET_C, MODELS = 1_281_167, 111_802, 3_750_000, 13
WEB = 1_000_000_000
CONTEXT_ROWS, CONTEXT_WAYS = 100_000, ("properties", "clusters", "segments", "zero_shot")
COMMAND_ROWS, COMMANDS = 100_000, ("compare", "build_own", "shards", "push", "repair")
PICTURE = 65e3  # bytes
PART_ROWS, FEATURE_ROWS = 8192, 5504  # of a part: of 1,000 logits; with 2,048 features too


@dataclass(frozen=True, kw_only=True)
class Size:
    """What there is to run on.

    Attributes:
        name: In words.
        machines: How many.
        cores: Of one machine.
        gpus: Of one machine.
        memory: Of one machine, bytes.
    """

    name: str
    machines: int = 1
    cores: int
    gpus: int = 0
    memory: float

    @property
    def all_cores(self) -> int:
        """Of all machines."""
        return self.machines * self.cores

    @property
    def all_gpus(self) -> int:
        """Of all machines."""
        return self.machines * self.gpus


SIZES = (
    Size(name="2 cores", cores=2, memory=16e9),
    Size(name="8 cores", cores=8, memory=16e9),
    Size(name="one GPU", cores=16, gpus=1, memory=64e9),
    Size(name="8 GPUs", cores=64, gpus=8, memory=512e9),
    Size(name="100 machines", machines=100, cores=16, gpus=1, memory=64e9),
)


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A stage of a job.

    Attributes:
        name: In words.
        formula: How its seconds come from the slopes.
        core_seconds: Of CPU.
        images: That pass the network, for the devices that have a GPU; 0 where none does.
        network: Of `GPU_RATES`.
        network_seconds: The same pass on a core.
        at_most: Processes that can share it; None for any number.
        machines: That can share it; None for any number.
        engine: What shares it out.
        bytes: On the disk.
    """

    name: str
    formula: str
    core_seconds: float
    pictures: float = 0
    network: str = "resnet50"
    network_seconds: float = 0
    at_most: int | None = None
    machines: int | None = None
    engine: str
    bytes: float = 0

    def seconds(self, size: Size) -> float:
        """By the clock, where nothing but cores and GPUs is in the way; on a GPU cores decode while it computes."""
        shared = self.at_most or size.all_cores
        if not self.pictures:
            cores = min(size.machines, self.machines or size.machines) * size.cores
            return self.core_seconds / min(cores, shared)
        if not size.gpus:
            return (self.core_seconds + self.network_seconds) / size.all_cores
        gpus = min(size.all_gpus, shared)
        cores = gpus * size.cores / size.gpus
        return max(self.core_seconds / cores, self.pictures / GPU_RATES[self.network] / gpus)


def slopes(content: Mapping[str, Any] | None = None) -> dict[str, dict[str, Any]]:
    """Those of slopes.json by their names."""
    content = content or json.loads(SLOPES.read_text("utf-8"))
    return {slope["name"]: slope for slope in content["slopes"]}


def jobs(slope: Mapping[str, Mapping[str, Any]]) -> dict[str, list[Stage]]:
    """The stages of each job.

    Args:
        slope: Of `slopes`.
    """
    cpu = {name: max(0.0, each["cpu"]) for name, each in slope.items()}
    start = {name: each["start"] for name, each in slope.items()}
    fits = sum(value for name, value in cpu.items() if name.endswith("_fit") and name != "knn_fit")
    begun = sum(value for name, value in start.items() if name.endswith("_fit") and name != "knn_fit")
    scores = sum(value for name, value in cpu.items() if name.endswith("_score") and name != "knn_score")
    bank = int(slope["knn_score"]["what"].rpartition("bank of ")[2].replace(",", ""))
    near = cpu["knn_score"] / bank

    def network(name: str, pictures: int, what: str, *, part: int, models: int = 1, **more: Any) -> Stage:
        forward = pictures * cpu["resnet50_float32"]
        parts = models * -(-pictures // models // part)
        formula = f"{what} x (decode + resnet50_float32); GPU: the slower of decode and {GPU}"
        return Stage(
            name=name,
            formula=formula,
            core_seconds=pictures * cpu["decode"],
            pictures=pictures,
            network_seconds=forward,
            at_most=parts,
            engine="torchrun or `--engine ray`, one part per process",
            **more,
        )

    steps = RUNS * EPOCHS * TRAIN
    return {
        "NOOCH": [
            Stage(
                name="build all tasks",
                formula=f"{COCO:,} x build + {ANNOTATIONS:,} x annotations",
                core_seconds=COCO * cpu["build"] + ANNOTATIONS * cpu["annotations"],
                at_most=1,
                engine="one process a configuration",
                bytes=COCO * PICTURE,
            ),
            network(
                "features of all images, once",
                COCO,
                f"{COCO:,}",
                part=FEATURE_ROWS,
                bytes=COCO * slope["store_features"]["bytes"],
            ),
            Stage(
                name=f"train {RUNS:,} heads",
                formula=f"{RUNS:,} / {GRID} x {TRAIN:,} x {EPOCHS} / 2 x heads",
                core_seconds=RUNS / GRID * TRAIN * EPOCHS / 2 * cpu["heads"],
                at_most=12,
                engine="one process per task",
            ),
            Stage(
                name=f"or fine-tune {RUNS:,} networks",
                formula=f"{RUNS:,} x {EPOCHS} x {TRAIN:,} x (fine_tune + decode); GPU: the slower of decode and {GPU}",
                core_seconds=steps * cpu["decode"],
                pictures=steps,
                network="fine_tune",
                network_seconds=steps * cpu["fine_tune"],
                at_most=RUNS,
                engine="a run a device",
            ),
            network("predict the test images, one model", TEST, f"{TEST:,}", part=PART_ROWS, bytes=TEST * TASKS * 4.0),
            Stage(
                name=f"evaluate {TASKS} tasks",
                formula=f"{TASKS} x ({TEST:,} x evaluate_2 + its start)",
                core_seconds=TASKS * (TEST * cpu["evaluate_2"] + start["evaluate_2"]),
                at_most=TASKS,
                engine="one process per task",
            ),
        ],
        "ImageNet-OOD": [
            network(
                "features of the training set",
                MODELS * REFERENCE,
                f"{MODELS} x {REFERENCE:,}",
                part=FEATURE_ROWS,
                models=MODELS,
                bytes=MODELS * REFERENCE * slope["store_features"]["bytes"],
            ),
            network(
                "features of the three sets",
                MODELS * QUERIES,
                f"{MODELS} x {QUERIES:,}",
                part=FEATURE_ROWS,
                models=MODELS,
                bytes=MODELS * QUERIES * slope["store_features"]["bytes"],
            ),
            network(
                "ImageNet-C, whole",
                MODELS * IMAGENET_C,
                f"{MODELS} x {IMAGENET_C:,}",
                part=FEATURE_ROWS,
                models=MODELS,
                bytes=MODELS * IMAGENET_C * slope["store_features"]["bytes"],
            ),
            Stage(
                name="fit the detectors, all but KNN",
                formula=f"{MODELS} x ({REFERENCE:,} x the fits + their starts)",
                core_seconds=MODELS * (REFERENCE * fits + begun),
                engine="torchrun: partial fits, merged",
            ),
            Stage(
                name="score the three sets, all but KNN",
                formula=f"{MODELS} x {QUERIES:,} x the scores",
                core_seconds=MODELS * QUERIES * scores,
                machines=MODELS,
                engine="a model a machine",
            ),
            Stage(
                name="score by KNN, exact",
                formula=f"{MODELS} x {QUERIES:,} x {REFERENCE:,} / {bank:,} x knn_score",
                core_seconds=MODELS * QUERIES * REFERENCE * near,
                machines=MODELS,
                engine="a model a machine; `knn:index=faiss` beside it",
            ),
        ],
        "a billion web images": [
            network("predict", WEB, f"{WEB:,}", part=PART_ROWS, bytes=WEB * slope["store_logits"]["bytes"]),
            Stage(
                name="evaluate all rows",
                formula=f"{WEB:,} x evaluate_1000",
                core_seconds=WEB * cpu["evaluate_1000"],
                at_most=1,
                engine="one process",
            ),
            Stage(
                name="evaluate 1,000,000 of them",
                formula="1,000,000 x evaluate_1000",
                core_seconds=1e6 * cpu["evaluate_1000"],
                at_most=1,
                engine="one process",
            ),
        ],
    }


def bytes_a_row(memory: Mapping[str, Any]) -> float:
    """Growth of the peak from the small to the large size."""
    (few, many), (small, large) = memory["sizes"], memory["peaks"]
    return float((large - small) / (many - few))


def days(seconds: float) -> str:
    """Seconds in the unit that reads best, to two digits."""
    if seconds < 1:
        return "under 1 s"
    for unit, length in (("years", 365 * 86_400), ("days", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{_two(seconds / length)} {unit}"
    return f"{_two(seconds)} s"


def _two(value: float) -> str:
    return f"{float(f'{value:.2g}'):,g}"
