"""Every command of docs/papers.md runs, row by row, on toys: capitals are filled in, and what takes long is cut.

An option that stands alone, as in "the same with `--detector ash_b`", is put into the command that it belongs to.
"""

import csv
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from transformers import AutoImageProcessor, AutoModelForImageClassification
from writing_commands import INPUTS, Inputs, _predict, _train, _world

from oochub.builders.sources.nooch.suite import PUBLISHED_CONTEXTS
from oochub.cli import main

PAGE = Path(__file__).parents[2] / "docs" / "papers.md"
TINY = (
    "--only ERM --override model=resnet-tiny --override image_size=24 --override seeds=0 --override max_steps=2".split()
)
DETECTORS = "--detector msp --detector vim --detector mahalanobis".split()  # knn takes more rows than there are
GENERATED = ["--model", "PIPELINE", "--captioner", "CAPTIONER", "--steps", "1"]
SMALL = {
    "sweep nooch_suite --data-dir": [*TINY, "--override", "tasks=nooch/ce_car"],
    "sweep nooch_suite --variant gist": [*TINY, "--override", "tasks=nooch/gist_car", "--option", "encoder=ENCODER"],
    "sweep nooch_suite --override": TINY,
    "sweep wilds": [*TINY, "--only", "wilds/iwildcam"],
    "sweep spawrious": [*TINY, "--only", "spawrious/o2o_easy", "--features"],
    "build nooch/gist_car": ["--option", "encoder=ENCODER"],
    "nooch suite": ["--size", "2", "--minimum", "1"],
    "train": ["--num-train-epochs", "1"],
    "wilds tables": ["--partial"],
    "spawrious compose --search": ["--search", "3"],
    "spawrious generate": [
        *GENERATED,
        "--prompts",
        "3",
        "--images-per-prompt",
        "4",
        "--repeat",
        "0",
        "--background",
        "snow",
    ],
    "spawrious prompt_check --breed": [*GENERATED, "--images", "6"],
    "spawrious cleanliness spawrious": ["--raters", "2", "--images", "3"],
    "report PREDS.parquet --data-dir RAW --plot gallery:only": ["--option", "encoder=ENCODER"],
    "report ERM.parquet GDRO.parquet IRM.parquet": ["--option", "encoder=ENCODER"],
    "imagenet_ood detect MODELS": DETECTORS,
    "imagenet_ood detect MODELS --data-dir RAW --table random": ["--random", "2", "--classes", "present"],
    "imagenet_ood detect MODEL --data-dir RAW --table gain": DETECTORS,
}
"""Words added to the commands that begin so: fewer runs, images and detectors, smaller models."""
CHANGED = {
    "RECIPE": "nooch_suite",
    "microsoft/resnet-50": "resnet-tiny",
    "distilbert/distilbert-base-uncased": "distilbert-tiny",
    "sheep<cow": "cow<car",  # the toy has no sheep
    "distance_regression=": "distance_regression:subsets=4=",
}
"""Parts of words that a toy has in another form."""
FILLED = {
    "NOOCH": {
        "MODEL": "all_run", "ENCODER": "encoder", "ALL.parquet": "gist_all.parquet", "PREDS.parquet": "car.parquet",
        "ERM.parquet": "car.parquet", "GDRO.parquet": "gdro.parquet", "IRM.parquet": "irm.parquet",
        "REPORT.json": "car.json", "REPORTS": "suite", "IDS": "ids",
        "FIRST.parquet": "known.parquet", "SECOND.parquet": "known.parquet",
    },
    "ImageNet-OOD": {
        "MODEL": "imagenet_model", "MODELS": "models.txt", "ID.parquet": "known.parquet", "R.parquet": "r.parquet",
        "OOD.parquet": "ood.parquet", "OPEN.parquet": "open.parquet", "SKETCH.parquet": "sketch.parquet",
        "TRAIN.parquet": "train.parquet", "PASS_ID.parquet": "known.parquet", "PASS_R.parquet": "r.parquet",
        "PASS_OOD.parquet": "ood.parquet",
    },
    "WILDS": {"PREDICTIONS": "submission", "ENTRIES": "results"},
    "Spawrious": {
        "MODEL": "run", "MIXUP": "mixup", "PREDS.parquet": "preds.parquet", "REPORT.json": "report.json",
        "PIPELINE": "pipeline", "CAPTIONER": "captioner",
        "FILE.toml": "composition.toml", "REPORTS": "report.json",
    },
}  # fmt: skip
"""The input of `MADE` for each word in capitals."""
RAW = {"NOOCH": "nooch", "ImageNet-OOD": "imagenet_ood", "WILDS": "wilds/iwildcam", "Spawrious": "spawrious"}

ANSWERS = {"rater_1": "right", "rater_2": "right", "prompt": "fits", "decisions": "drop"}
"""What people say on the page of each file of decisions: `pairs.html` gives decisions.csv."""


def _commands() -> Iterator[tuple[str, str, list[str]]]:
    """The section, what is in the paper, and the commands of each row that has some; a paragraph is a row."""
    for part in re.split(r"^## ", PAGE.read_text("utf-8"), flags=re.M):
        section = part.partition("\n")[0] if part[:1] != "#" else "NOOCH"
        rows: dict[str, list[str]] = {}
        for line in re.split(r"\n(?=\|)|\n\n", part):
            item = line.split("|")[1].strip() if line.startswith("| ") else f"{section}: {line[:20]}"
            answer = line.rpartition(" | ")[2] if line.startswith("| ") else line
            made = _complete(re.findall(r"`([^`]+)`", answer.replace("\n", " ")), answer, rows)
            if made:
                rows[item] = made
                yield section, item, made


def _complete(quoted: list[str], answer: str, rows: dict[str, list[str]]) -> list[str]:
    """The commands in backticks; an option alone is put into the one before it, or into the one that is named."""
    made: list[str] = []
    config = ""
    named = re.search(r"the commands? of (Figure \d+)", answer)
    other = next((r for item, r in rows.items() if named and item.startswith(named[1])), None)
    if other is None and rows and answer.strip().startswith("the same"):
        other = rows[[*rows][-1]]
    for words in quoted:
        if words.startswith("oochub "):
            config = ""
            made.append(words if " " in words.removeprefix("oochub ") else f"{words} --help")
        elif re.match(r"--[a-z-]+ \S", words) and (made or other):
            base = made[-1] if made else (other or [])[-1]
            base = re.sub(r"(?<= )\w+/\w+(?= )", config, base) if config else base
            for option in re.findall(r"--(?:plot|objective|answer)(?= )", words):
                base = re.sub(rf" {option} \S+", "", base)
            made += [] if made else (other or [])[:-1]
            made.append(f"{base.replace('--out RUN', '--out OTHER')} {words}")
        elif re.fullmatch(r"\w+/\w+", words):
            config = words
    return made


ROWS = list(_commands())


def _image_sets(name: str, *more: str) -> Callable[[Inputs, Path], list[str]]:
    return _predict("imagenet_model", f"imagenet_ood/{name}", "raw/imagenet_ood", "--features", *more)


def _objective(name: str, task: str, raw: str) -> Callable[[Inputs, Path], list[str]]:
    return lambda inputs, path: [*_train(task, raw)(inputs, path), "--objective", name]


def _gist(model: str, task: str = "nooch/gist_car") -> Callable[[Inputs, Path], list[str]]:
    return lambda inputs, path: [
        *(*_predict(model, task, "large/nooch")(inputs, path), "--option", f"encoder={inputs('encoder')}")
    ]


def _always_labrador(inputs: Inputs, path: Path) -> list[str]:
    """A model whose every mistake is one labrador."""
    model = AutoModelForImageClassification.from_pretrained(inputs("run"))
    model.classifier[-1].bias.data[model.config.label2id["labrador"]] = 100
    model.save_pretrained(path)
    AutoImageProcessor.from_pretrained(inputs("run")).save_pretrained(path)
    return []


def _ids(inputs: Inputs, path: Path) -> list[str]:
    """No hard example, in the files of the release: the toy has others, so that verify ends with 3."""
    path.mkdir()
    for name in PUBLISHED_CONTEXTS:
        for end in ("hard_positive_valid", "hard_positive_test", "hard_negative_valid", "hard_negative_test"):
            for criterion in ("CE", "gist"):
                np.save(path / f"nooch_ids_{criterion}_{name}_{end}.npy", np.zeros(0, np.int64))
    return []


def _models(inputs: Inputs, path: Path) -> list[str]:
    path.write_text(inputs("imagenet_model") + "\n")
    return []


MADE = INPUTS | {
    "large/nooch": _world("toy_coco", size=400, focus="car"),
    "car_run": _train("nooch/ce_car", "large/nooch"),
    "all_run": _train("nooch/all", "large/nooch"),
    "car.parquet": _predict("car_run", "nooch/ce_car", "large/nooch"),
    "gist_all.parquet": _gist("all_run", "nooch/all"),
    "always_labrador": _always_labrador,
    "gdro_run": _objective("group_dro", "nooch/ce_car", "large/nooch"),
    "irm_run": _objective("irm", "nooch/ce_car", "large/nooch"),
    "gdro.parquet": _predict("gdro_run", "nooch/ce_car", "large/nooch"),
    "irm.parquet": _predict("irm_run", "nooch/ce_car", "large/nooch"),
    "car.json": lambda inputs, path: ["evaluate", inputs("car.parquet"), "--out", str(path)],
    "suite": lambda inputs, path: [
        *("sweep", "nooch_suite", *SMALL["sweep nooch_suite --data-dir"]),
        *("--data-dir", inputs("large/nooch"), "--out", str(path)),
    ],
    "ids": _ids,
    "models.txt": _models,
    "r.parquet": _image_sets("imagenet_r"),
    "open.parquet": _image_sets("openimage_o"),
    "sketch.parquet": _image_sets("imagenet_sketch"),
    "train.parquet": _image_sets("imagenet_1k", "--split", "train"),
    "mixup": _objective("mixup", "spawrious/o2o_hard", "raw/spawrious"),
}  # fmt: skip


def _finish(words: list[str]) -> None:
    assert _run(words) == 0, words


def _run(words: list[str]) -> int:
    """The exit code of a command in this process."""
    before, sys.argv = sys.argv, ["oochub", *words]
    try:
        main()
    except SystemExit as stopped:
        return int(stopped.code or 0)
    finally:
        sys.argv = before
    return 0


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    """What the commands read, made by commands in this process when it is asked for."""
    return Inputs(tmp_path_factory.mktemp("inputs"), _finish, made=MADE)


def _fill(words: list[str], section: str, inputs: Inputs, raw: Callable[[str], Path]) -> list[str]:
    """The words with inputs for capitals, unless the row has made a file of that name or is to make it."""
    text = " ".join(words)
    known = FILLED[section] | ({"MODEL": "always_labrador"} if "labrador" in words else {})

    def name_input(match: re.Match[str]) -> str:
        name = match[0]
        if name == "RAW":
            return _find_raw(words, section, inputs, raw)
        return inputs(known[name]) if name in known and not Path(name).exists() else name

    filled = [word for start, more in SMALL.items() if text.startswith(start) for word in more]
    filled = [*words, *(filled if "--dry-run" not in words else [])]
    for part, other in CHANGED.items():
        filled = [word.replace(part, other) for word in filled]
    return [
        word if before == "--out" else re.sub(r"(?<![\w/.])[A-Z][A-Z_]*(?:\.\w+)?(?!\w)", name_input, word)
        for before, word in zip(["", *filled], filled, strict=False)
    ]


def _find_raw(words: list[str], section: str, inputs: Inputs, raw: Callable[[str], Path]) -> str:
    text = " ".join(words)
    name = next((each for each in words if each.startswith("wilds/")), RAW[section])
    name = next((each for each in ("breeds", "imagenet_ood") if f" {each}/" in text), name)
    name = "waterbirds" if "waterbirds" in text else "wilds/iwildcam" if "submission" in text else name
    own = {"nooch": "large/nooch"}.get(name, f"raw/{name}")
    return inputs(own) if own in MADE else str(raw(name))


def _answer(name: str) -> None:
    """The file that a page saves when every image on it is answered."""
    (page,) = [each for each in Path().rglob("*.html") if each.stem in (name, "pairs")]
    ids = dict.fromkeys(re.findall(r'data-id="([^"]+)"', page.read_text("utf-8")))
    with Path(f"{name}.csv").open("w", newline="") as file:
        rows = [("image", each, ANSWERS[name], "2026-01-31T12:00:00.000Z") for each in ids]
        csv.writer(file).writerows([("scope", "id", "decision", "at"), *rows])


@pytest.mark.slow
@pytest.mark.parametrize(("section", "item", "commands"), ROWS, ids=[item for _, item, _ in ROWS])
def test_the_commands_of_a_row_run(section, item, commands, inputs, raw, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for line in (each.replace("--out OUT", f"--out OUT{k}") for k, each in enumerate(commands)):
        words = shlex.split(line)[1:]
        for name in ANSWERS:
            if f"{name}.csv" in words:
                _answer(name)
        if "REPORTS" in words:  # those of the sweep before it
            words = [
                next((f for f in ("SUITE", "SWEEP") if Path(f).exists()), w) if w == "REPORTS" else w for w in words
            ]
        filled = _fill(words, section, inputs, raw)
        code = _run(filled)
        output = capsys.readouterr()
        assert code == (3 if words[:2] == ["nooch", "verify"] else 0), (line, filled, output.err or output.out)
        for path in re.findall(r"--(?:out|csv|html|keep|plot) (\S+)", line):
            assert Path(path.rpartition("=")[2]).exists(), (line, path)


def test_the_rows_are_found():
    """Every command, and nine options that stand alone. Planted fault seen: rows without the paragraphs."""
    lines = [line for *_, made in ROWS for line in made]
    quoted = re.findall(r"`(oochub [^`]+)`", PAGE.read_text("utf-8").replace("\n", " "))
    assert {*(re.sub(" --help$", "", line) for line in lines)} >= {*quoted} and len(quoted) > 85
    assert len({*lines} - {*quoted}) == 9 + 2  # and two bare names
