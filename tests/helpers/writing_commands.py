"""Every command that writes, as its user types it, on the smallest inputs; they are made when they are asked for."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from declared_in_tests import declared_in_tests

from oochub import catalog

_TASK = "spawrious/o2o_hard"
_RECIPE = """
about = "Two short trainings."
tasks = ["spawrious/o2o_hard"]
model = "resnet-tiny"
seeds = [0]
select = "validation_loss"
image_size = 24
[arguments]
num_train_epochs = 1
[methods.ERM]
objective = "erm"
[methods.GDRO]
objective = "group_dro"
environments = "group"
"""

Words = list[str]


class Inputs:
    """The files that the commands read: `inputs("run")` is a path, whose file is made by its command at the first call.

    Args:
        folder: Holds them.
        finish: Runs a command to its end.
        made: How each is made; None takes INPUTS.
    """

    def __init__(self, folder: Path, finish: Callable[[Words], None], *, made: "MadeInputs | None" = None) -> None:
        self._folder, self._finish, self._made = folder, finish, made

    def __call__(self, name: str) -> str:
        """The path of an input by its name in this file."""
        path = self._folder / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            words = (self._made or INPUTS)[name](self, path)
            if words:
                self._finish(words)
        return str(path)


def _world(name: str, **options: Any) -> Callable[[Inputs, Path], Words]:
    def draw(inputs: Inputs, path: Path) -> Words:
        from importlib import import_module

        getattr(import_module(f"oochub.builders.toy_worlds.{name}"), name)(path, **options)
        return []

    return draw


def _encoder(inputs: Inputs, path: Path) -> Words:
    from tiny_encoder import tiny_encoder

    tiny_encoder(path)
    return []


def _imagenet_model(inputs: Inputs, path: Path) -> Words:
    from oochub.class_names.imagenet_classes import IMAGENET_1K_NAMES
    from oochub.trainers.backbone import open_backbone

    model, processor = open_backbone("resnet-tiny", class_names=IMAGENET_1K_NAMES, seed=1)
    model.save_pretrained(path)
    processor.save_pretrained(path)
    return []


def _tiny(name: str) -> Callable[[Inputs, Path], Words]:
    def save(inputs: Inputs, path: Path) -> Words:
        import tiny_generators

        getattr(tiny_generators, name)(path)
        return []

    return save


def _own_pictures(inputs: Inputs, path: Path) -> Words:
    from own_data import picture_folder

    picture_folder(path)
    return []


def _recipe(inputs: Inputs, path: Path) -> Words:
    path.write_text(_RECIPE)
    return []


def _composition(inputs: Inputs, path: Path) -> Words:
    from oochub.builders.sources.spawrious_compositions import TABLE_2

    path.write_text(TABLE_2["m2m_easy"].toml)
    return []


def _results(inputs: Inputs, path: Path) -> Words:
    from oochub.hub.leaderboard_repository import write_entry

    said = {"track": "open", "selection": "in_domain", "supervision": "labels", "date": "2026-11-22"}
    inputs("preds.parquet")
    for model in ("one", "two"):
        write_entry(inputs("report.json"), path, model=model, **said)
    return []


def _submission(inputs: Inputs, path: Path) -> Words:
    import csv

    with Path(inputs("raw/iwildcam"), "metadata.csv").open() as file:
        rows = sum(row["split"] == "test" for row in csv.DictReader(file))
    path.mkdir()
    (path / "iwildcam_split:test_seed:0_epoch:best_pred.csv").write_text("0\n" * rows)
    return []


def _wilds_report(inputs: Inputs, path: Path) -> Words:
    import reports

    content = reports.spawrious_report()
    content["benchmark"] |= {"name": "wilds", "config": "camelyon17"}
    reports.read(content).save(path)
    return []


def _train(task: str, raw: str) -> Callable[[Inputs, Path], Words]:
    return lambda inputs, path: [
        *("train", task, "--data-dir", inputs(raw), "--out", str(path), "--num-train-epochs", "1")
    ]


def _predict(model: str, task: str, raw: str, *more: str) -> Callable[[Inputs, Path], Words]:
    return lambda inputs, path: [
        *("predict", inputs(model), task, "--data-dir", inputs(raw), "--out", str(path), *more)
    ]


MadeInputs = dict[str, Callable[[Inputs, Path], Words]]
INPUTS: MadeInputs = {
    "raw/spawrious": _world("toy_spawrious"),
    "raw/waterbirds": _world("toy_waterbirds", size=20),
    "raw/cub": _world("toy_cub", size=10),
    "raw/celebA": _world("toy_celebA", size=20),
    "raw/spuriverse": _world("toy_spuriverse", size=1),
    "raw/iwildcam": _world("toy_wilds_iwildcam"),
    "submission": _submission,
    "wilds.json": _wilds_report,
    "raw/nooch": _world("toy_coco", size=120, focus="car"),
    "raw/imagenet_ood": _world("toy_imagenet", size=1),
    "encoder": _encoder,
    "own_pictures": _own_pictures,
    "dogs": lambda inputs, path: ["example", str(path), "--size", "60"],
    "found": lambda inputs, path: [
        *("contexts", _TASK, "--contexts", "properties", *_data(inputs, "spawrious", str(path)))
    ],
    "pipeline": _tiny("pipeline"),
    "captioner": _tiny("captioner"),
    "recipe.toml": _recipe,
    "composition.toml": _composition,
    "imagenet_model": _imagenet_model,
    "run": _train(_TASK, "raw/spawrious"),
    "car_run": _train("nooch/ce_car", "raw/nooch"),
    "all_run": _train("nooch/all", "raw/nooch"),
    "preds.parquet": _predict("run", _TASK, "raw/spawrious"),
    "car.parquet": _predict("car_run", "nooch/ce_car", "raw/nooch"),
    "all.parquet": _predict("all_run", "nooch/all", "raw/nooch"),
    "known.parquet": _predict("imagenet_model", "imagenet_ood/imagenet_1k", "raw/imagenet_ood", "--features"),
    "ood.parquet": _predict("imagenet_model", "imagenet_ood/imagenet_ood", "raw/imagenet_ood", "--features"),
    "results": _results,
    "report.json": lambda inputs, path: ["evaluate", inputs("preds.parquet"), "--out", str(path)],
}


def _data(inputs: Inputs, raw: str, out: str) -> Words:
    return ["--data-dir", inputs(f"raw/{raw}"), "--out", out]


COMMANDS: dict[str, Callable[[Inputs, Path], Words]] = {
    "build": lambda i, o: ["build", _TASK, *_data(i, "spawrious", f"{o}/spawrious")],
    "build by two": lambda i, o: ["build", _TASK, *_data(i, "spawrious", f"{o}/spawrious"), "--num-proc", "2"],
    "build webdataset": lambda i, o: [
        *("build", _TASK, *_data(i, "spawrious", f"{o}/spawrious"), "--format", "webdataset")
    ],
    "build gist": lambda i, o: [
        *("build", "nooch/gist_car", *_data(i, "nooch", f"{o}/nooch"), "--option", f"encoder={i('encoder')}")
    ],
    "build own data": lambda i, o: [
        *("build", i("own_pictures"), "--label-column", "species", "--context-column", "place", "--out", f"{o}/own")
    ],
    "build audit": lambda i, o: ["build", "imagenet_ood/imagenet_ood", "--audit", f"{o}/audit.csv"],
    "loading script nooch": lambda i, o: [
        *("loading script nooch", *_data(i, "nooch", f"{o}/nooch"), "--config", "ce_car", "--no-strict")
    ],
    "loading script spawrious": lambda i, o: [
        *("loading script spawrious", *_data(i, "spawrious", f"{o}/spawrious"), "--config", "o2o_hard", "--no-strict")
    ],
    "loading script waterbirds": lambda i, o: [
        *("loading script waterbirds", *_data(i, "waterbirds", f"{o}/waterbirds"), "--no-strict")
    ],
    "loading script celebA": lambda i, o: [
        *("loading script celebA", *_data(i, "celebA", f"{o}/celebA"), "--no-strict")
    ],
    "loading script spuriverse": lambda i, o: [
        *("loading script spuriverse", *_data(i, "spuriverse", f"{o}/spuriverse"), "--no-strict")
    ],
    "loading script wilds": lambda i, o: [
        *("loading script wilds", *_data(i, "iwildcam", f"{o}/wilds"), "--config", "iwildcam", "--no-strict")
    ],
    "loading script imagenet_ood": lambda i, o: [
        *("loading script imagenet_ood", *_data(i, "imagenet_ood", f"{o}/sets")),
        *("--config", "imagenet_ood", "--no-strict"),
    ],
    "challenge": lambda i, o: [
        *("challenge", _TASK, *_data(i, "spawrious", f"{o}/set"), "--criterion", "membership"),
        *("--value", "background", "--allowed", "snow,jungle"),
    ],
    "contexts": lambda i, o: [
        *("contexts", _TASK, "--contexts", "properties", *_data(i, "spawrious", f"{o}/found"), "--no-cache")
    ],
    "contexts from the cache": lambda i, o: [
        *("contexts", _TASK, "--contexts", "properties", *_data(i, "spawrious", f"{o}/found"))
    ],
    "contexts page": lambda i, o: ["contexts", i("found"), "--page", f"{o}/check.html", "--rows", "2"],
    "train": lambda i, o: [
        *("train", _TASK, *_data(i, "spawrious", f"{o}/run"), "--objective", "group_dro", "--environments", "group"),
        *("--num-train-epochs", "3", "--argument", "save_steps=2", "--argument", f"cache_dir={o}/pixels"),
    ],
    "predict": lambda i, o: [
        *("predict", i("run"), _TASK, *_data(i, "spawrious", f"{o}/preds.parquet"), "--features", "--batch-size", "4"),
        "--no-cache",
    ],
    "audit": lambda i, o: ["audit", i("run"), _TASK, *_data(i, "spawrious", f"{o}/audit"), "--no-cache"],
    "example": lambda i, o: ["example", f"{o}/example", "--size", "8"],
    "evaluate": lambda i, o: ["evaluate", i("preds.parquet"), "--out", f"{o}/report.json"],
    "evaluate tasks": lambda i, o: [
        *("evaluate", i("all.parquet"), "--task", "ce_car", "--task", "ce_cow", "--out", f"{o}/reports")
    ],
    "report": lambda i, o: [
        *("report", i("report.json"), "--html", f"{o}/report.html", "--markdown", f"{o}/report.md"),
        *("--latex", f"{o}/report.tex", "--plot", f"groups={o}/groups.png"),
    ],
    "compare": lambda i, o: [
        *("compare", i("report.json"), "--csv", f"{o}/all.csv", "--markdown", f"{o}/all.md", "--html", f"{o}/all.html")
    ],
    "compare pair": lambda i, o: [
        *("compare", i("preds.parquet"), i("preds.parquet"), "--html", f"{o}/pair.html", "--csv", f"{o}/pair.csv")
    ],
    "leaderboard": lambda i, o: ["leaderboard", i("results"), "--out", f"{o}/site"],
    "sweep": lambda i, o: ["sweep", i("recipe.toml"), *_data(i, "spawrious", f"{o}/sweep"), "--latex", f"{o}/s.tex"],
    "sweep features": lambda i, o: ["sweep", i("recipe.toml"), *_data(i, "spawrious", f"{o}/sweep"), "--features"],
    "spawrious compose": lambda i, o: [
        *("spawrious", "compose", i("composition.toml"), *_data(i, "spawrious", f"{o}/composed"))
    ],
    "spawrious compose search": lambda i, o: [
        *("spawrious", "compose", "--search", "3", "--model", "resnet-tiny", *_data(i, "spawrious", f"{o}/found"))
    ],
    "nooch suite": lambda i, o: [
        "nooch",
        "suite",
        i("all.parquet"),
        "--size",
        "2",
        "--minimum",
        "1",
        "--out",
        f"{o}/suite.csv",
    ],
    "report gallery": lambda i, o: [
        *("report", i("car.parquet"), "--data-dir", i("raw/nooch"), "--plot", f"gallery={o}/gallery.png"),
        *("--plot", f"gallery={o}/shown.csv"),
    ],
    "report rows": lambda i, o: [
        *("report", i("report.json"), "--predictions", i("preds.parquet"), "--data-dir", i("raw/spawrious")),
        *("--browse", f"{o}/rows"),
    ],
    "imagenet_ood detect": lambda i, o: [
        *(
            "imagenet_ood",
            "detect",
            i("imagenet_model"),
            *_data(i, "imagenet_ood", f"{o}/study"),
            "--image-set",
            "imagenet_ood",
        ),
        *("--detector", "msp", "--detector", "max_cosine"),
    ],
    "spawrious generate": lambda i, o: [
        *("spawrious", "generate", "--model", i("pipeline"), "--captioner", i("captioner"), "--out", f"{o}/dogs"),
        *("--prompts", "3", "--images-per-prompt", "4", "--steps", "1", "--repeat", "0", "--background", "snow"),
    ],
    "imagenet_ood review": lambda i, o: [
        *(
            "imagenet_ood",
            "review",
            i("ood.parquet"),
            i("known.parquet"),
            *_data(i, "imagenet_ood", f"{o}/review.html"),
        ),
        *("--keep", f"{o}/keep.txt", "--top", "5", "--overwrite"),  # a list has no place for our mark
    ],
    "spawrious prompt_check": lambda i, o: [
        *("spawrious", "prompt_check", "--model", i("pipeline"), "--captioner", i("captioner"), "--out", f"{o}/check"),
        *("--images", "6", "--steps", "1"),
    ],
    "saliency": lambda i, o: [
        *("saliency", i("run"), _TASK, *_data(i, "spawrious", f"{o}/maps.png"), "--numbers", f"{o}/maps.csv"),
        *("--pictures", "2"),
    ],
    "spawrious cleanliness": lambda i, o: [
        *("spawrious", "cleanliness", _TASK, *_data(i, "spawrious", f"{o}/check"), "--raters", "2", "--images", "3")
    ],
    "waterbirds construct": lambda i, o: [
        *("waterbirds", "construct", "--cub", f"{i('raw/cub')}/CUB_200_2011", "--out", f"{o}/waterbirds"),
        *("--places", f"{i('raw/cub')}/places365"),
    ],
    "wilds submission": lambda i, o: ["wilds", "submission", i("submission"), *_data(i, "iwildcam", f"{o}/scores")],
    "wilds tables": lambda i, o: [
        *("wilds", "tables", i("wilds.json"), "--partial", "--html", f"{o}/tables.html", "--csv", f"{o}/tables.csv"),
        *("--markdown", f"{o}/tables.md", "--latex", f"{o}/tables.tex"),
    ],
    "demo": lambda i, o: ["demo", "--out", f"{o}/demo"],
}
"""The words of each, by the folder that it may write into. What stands before a blank is the command.

A command of a paper has two words: "nooch suite". `command_of` gives the command of such a name.

The test of a new command has its own: `TYPED = {"name": lambda inputs, out: ["name", "--out", f"{out}/file.csv"]}`, or
`READS_ONLY = {"name": "why"}` of one that writes no file.
"""
COMMANDS |= declared_in_tests("TYPED", "commands") | declared_in_tests("TYPED", "studies")


def command_of(name: str) -> str:
    """The command whose words a name of COMMANDS stands for: "spawrious compose" of "spawrious compose search"."""
    known = catalog.names("command")
    return next(each for each in (" ".join(name.split()[:2]), name.split()[0]) if each in known)


READING = ("cache", "list", "show", "nooch verify", *declared_in_tests("READS_ONLY", "commands"))
"""The commands that write no file."""

PUSHING = ("push",)
"""The commands that write to the Hub; tests/hub/test_push_kills.py stops them."""
