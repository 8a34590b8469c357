"""Reports, recipes, decisions, answers to WILDS, class files, models, detectors and masks, changed by a seed."""

import csv
import io
import json
import math
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import ANY

import numpy as np
import pyarrow.parquet as pq
import pytest
from drawn_changes import bytes_of, cells_of, changed_field, field_of, lines_of, place_of
from drawn_columns import cell, columns_of, retyped, rows
from fresh_cases import Change, Reader, counted, every_day, fresh
from fuzz_case import SAFE, Format, Used
from fuzz_predictions import arrays, evaluated, numbers_of
from PIL import Image
from safetensors.numpy import load_file, save_file
from test_fuzz_boxes_and_tokens import _FILE as _PREDICTIONS
from test_fuzz_boxes_and_tokens import CHECKED
from test_fuzz_class_files import CSV_MAP, JSON_MAP, PROMPTS, TEMPLATES
from test_fuzz_decisions import DECISIONS
from test_fuzz_detectors import DETECTORS, HEADS
from test_fuzz_exif import EXIF
from test_fuzz_models import MODELS
from test_fuzz_object_areas import BOXES, PNG
from test_fuzz_recipes import _RECIPE, RECIPES, _text
from test_fuzz_reports import REPORTS
from test_fuzz_submissions import _LINES, CASES

from oochub import Predictions

_OUTPUTS = ["tabby", "Siamese", "beagle", "pug", "goldfish"]


def _count_report(folder: Path) -> Any:
    """Value, low, high and n of every metric of every slice, as the JSON has them."""
    content = json.loads((folder / "report.json").read_text("utf-8"))
    found = {}
    for part in content["slices"]:
        for name, each in part["metrics"].items():
            numbers = [each["value"], each.get("low"), each.get("high"), each["n"]]
            assert all(number is None or not isinstance(number, bool | str) for number in numbers)
            found[f"{part['name']}/{name}"] = numbers
            if part["role"] == "all":
                found[name] = numbers
    return _of_report(found)


def _of_report(numbers: Any) -> Any:
    """Those of the two metrics, to nine places."""
    kept = {key: values for key, values in numbers.items() if key.rpartition("/")[2] in ("auc", "nll")}
    return {key: _rounded(values) for key, values in kept.items()}


def _rounded(values: Any) -> list[Any]:
    """To nine places; nan is no number, as null is none."""
    return [None if value is None or value != value else round(float(value), 9) for value in values]


def _count_recipe(folder: Path) -> Any:
    """The fields of the TOML that the recipe has as they stand, and how many settings of each method it asks for."""
    content = tomllib.loads((folder / "own.toml").read_text("utf-8-sig"))
    methods = {}
    for title, each in content["methods"].items():
        size = math.prod(len(values) for values in each.get("grid", {}).values())
        methods[title] = [each["objective"], each["draws"] if "random" in each else size]
    return {**{name: content.get(name, ANY) for name in _PLAIN}, "methods": methods}


_PLAIN = ("tasks", "seeds", "model", "image_size", "environments", "select", "head", "hidden_size", "arguments")


_KEYS = ("learning_rate", "weight_decay", "num_train_epochs", "optim", "max_steps", "step_size", "adjustment")


def _of_recipe(numbers: Any) -> Any:
    methods = {each["title"]: [each["objective"], len(each["settings"])] for each in numbers["methods"]}
    return {**{name: numbers[name] for name in _PLAIN}, "methods": methods}


def _recipe(folder: Path, rng: Random) -> str:
    recipe = json.loads(json.dumps(_RECIPE))
    done = changed_field(recipe, rng)
    try:
        text = _text(recipe)
        tomllib.loads(text)
        (folder / "own.toml").write_text(text, "utf-8")
    except (TypeError, ValueError, AttributeError, UnicodeError):  # no TOML says that
        return f"nothing: {done}"
    return done


def _count_decisions(folder: Path) -> Any:
    with (folder / "decisions.csv").open(encoding="utf-8-sig", newline="") as file:
        found = [row for row in csv.DictReader(file) if any(row.values())]
    assert len({(row["scope"], row["id"]) for row in found}) == len(found)
    assert all(row["scope"] in ("image", "class") and row["decision"] in ("drop", "keep") for row in found)
    return sorted([row["scope"], row["id"], row["decision"]] for row in found)


def _of_decisions(numbers: Any) -> Any:
    return sorted(row[:3] for row in numbers)


def _count_lines(kind: str) -> Callable[[Path], Any]:
    """Each line of a file of answers as its numbers."""

    def count(folder: Path) -> Any:
        found = []
        for line in next(folder.iterdir()).read_text("utf-8-sig").splitlines():
            if not line.strip():
                continue
            if kind == "boxes":
                said = json.loads(line)
                found.append([said["boxes"], said["scores"]])
            else:
                plain = line.translate(str.maketrans("", "", "[]()"))  # brackets say nothing, as to WILDS
                numbers = [float(each) for each in next(csv.reader([plain]))]
                found.append(numbers if kind in ("labels", "tokens") else numbers[0])
                assert kind in ("labels", "tokens") or len(numbers) == 1
        return json.loads(json.dumps(found))

    return count


def _of_lines(numbers: Any) -> Any:
    columns = [numbers[name] for name in numbers if name != "example_id"]
    return list(columns[0]) if len(columns) == 1 else [list(row) for row in zip(*columns, strict=True)]


def _submitted(kind: str) -> Reader:
    name, _ = _LINES[kind]
    format_ = next(each for each, _ in CASES if each.name == f"submitted {kind}")
    lines: Change = lines_of(name, values=("2", "1,2,3", "3", "0.5", '{"boxes": [], "scores": []}'))
    return Reader(
        kind=counted(format_, _count_lines(kind), _of_lines),
        changes={"lines": lines, "more lines": lines, "bytes": bytes_of(name), "place": place_of(name)},
        share=0.4,
    )


def _outputs(given: dict[str, list[Any]]) -> Any:
    """Numbers of the model's classes of each class, by name or number."""
    found, known = [], [name.lower() for name in _OUTPUTS]  # a name in another case is meant
    for name in ("cat", "dog"):
        words = [each if isinstance(each, int) else each.strip().lower() for each in given[name]]
        numbers = [int(each) if str(each).isdigit() else known.index(each) for each in words]
        assert numbers and all(0 <= number < 5 for number in numbers)
        found.append(sorted(set(numbers)))
    assert not set(found[0]) & set(found[1]) and set(given) == {"cat", "dog"}
    return found


def _count_json_map(folder: Path) -> Any:
    content = json.loads((folder / "map.json").read_text("utf-8"))
    return _outputs({key: value if isinstance(value, list) else [value] for key, value in content.items()})


def _count_csv_map(folder: Path) -> Any:
    given: dict[str, list[Any]] = {}
    for line in csv.reader(io.StringIO((folder / "map.csv").read_text("utf-8-sig"))):
        if line:
            given.setdefault(line[0].strip(), []).extend(cell for cell in line[1:] if cell.strip())
    return _outputs(given)


def _sorted(numbers: Any) -> Any:
    return [sorted(each) for each in numbers]


def _count_prompts(folder: Path) -> Any:
    content = json.loads((folder / "prompts.json").read_text("utf-8"))
    return [[content[name]] if isinstance(content[name], str) else content[name] for name in ("cat", "dog")]


def _count_templates(folder: Path) -> Any:
    lines = (folder / "templates.txt").read_text("utf-8-sig").splitlines()
    return [line for line in lines if line.strip()]


def _use_energy(folder: Path, out: Path) -> Used:
    used = DETECTORS["energy"].use(folder, out)
    return Used(numbers=used.numbers, notes=used.notes, counts=np.round(used.numbers, 4).tolist())


def _count_energy(folder: Path) -> Any:
    """The log of the sum of the exponentials at the card's temperature."""
    temperature = json.loads((folder / "detector.json").read_text("utf-8"))["hyperparameters"]["temperature"]
    logits = arrays(2)["logits"].astype(float) / temperature
    top = logits.max(1)
    return np.round(temperature * (top + np.log(np.exp(logits - top[:, None]).sum(1))), 4).tolist()


def _use_model(folder: Path, out: Path) -> Used:
    used = MODELS.use(folder, out)
    logits = np.asarray(used.numbers[0], float)
    return Used(numbers=used.numbers, notes=used.notes, counts=_to_digits(logits))


def _count_model(folder: Path) -> Any:
    """The same images through transformers alone, one by one; the classes in the order of the data."""
    import torch
    from test_fuzz_models import _colored
    from transformers import AutoImageProcessor, AutoModelForImageClassification

    model = AutoModelForImageClassification.from_pretrained(folder, ignore_mismatched_sizes=True).eval()
    processor = AutoImageProcessor.from_pretrained(folder)
    with Image.open(folder / "picture.png") as last:
        pictures = [*(_colored(k) for k in range(3)), last.convert("RGB")]
    names = [str(model.config.id2label[k]).strip().lower() for k in range(model.config.num_labels)]
    order = [names.index(name) for name in ("cat", "dog", "owl")]
    with torch.inference_mode():
        each = [model(**processor(picture, return_tensors="pt")).logits[0, order] for picture in pictures]
    return _to_digits(torch.stack(each).double().numpy())


def _to_digits(logits: Any) -> Any:
    """With four digits: floats of a batch differ from those of single images in the seventh."""
    return [[float(f"{number:.4g}") for number in row] for row in logits.tolist()]


def _weights(folder: Path, rng: Random) -> str:
    """A tensor with other numbers, another type, shape or name."""
    file = folder / "model.safetensors"
    state = load_file(file)
    name = rng.choice(sorted(state))
    array = state[name]
    word = rng.choice(("numbers", "nan", "float16", "float64", "int8", "shape", "renamed", "missing", "more", "zeros"))
    if word in ("missing", "renamed"):
        del state[name]
    changed = {
        "numbers": lambda: array + np.asarray(rng.random(), array.dtype),
        "nan": lambda: np.full_like(array, np.nan) if array.dtype.kind == "f" else array,
        "shape": lambda: array[None],
        "zeros": lambda: np.zeros_like(array),
        "more": lambda: array,
        "renamed": lambda: array,
        "missing": lambda: array,
    }.get(word, lambda: array.astype(word))()
    if word != "missing":
        state[f"{name}_" if word in ("renamed", "more") else name] = np.asarray(changed).copy(order="C")
    save_file(state, file, metadata={"format": "pt"})
    return f"{name}: {word}"


def _labels(folder: Path, rng: Random) -> str:
    """Names of classes in the model's configuration, swapped, renamed, doubled or out of their order."""
    file = folder / "config.json"
    content = json.loads(file.read_text())
    content["id2label"] = new = rng.choice(
        (
            {"0": "dog", "1": "cat", "2": "owl"}, {"2": "cat", "1": "dog", "0": "owl"},
            {"0": "cat", "1": "cat", "2": "owl"}, {"0": "cat ", "1": "dog", "2": "owl"},
            {"0": "Cat", "1": "Dog", "2": "Owl"}, {"0": "cat", "1": "dog"}, {"1": "cat", "2": "dog", "3": "owl"},
            {"0": "cat", "1": "dog", "2": "owl", "3": "gull"}, {"0": 1, "1": 2, "2": 3},
        )
    )  # fmt: skip
    if rng.random() < 0.7:
        content["label2id"] = {str(name): int(k) for k, name in new.items()}
    file.write_text(json.dumps(content))
    return f"id2label {new}"


def _count_masks(folder: Path) -> Any:
    """Of each row the places of its mask that are not 0; a row without a file has none."""
    found = []
    for number in range(3):
        if not (folder / f"{number}.png").is_file():
            found.append(["no_area", []])
            continue
        with Image.open(folder / f"{number}.png") as picture:
            pixels = np.asarray(picture.convert("L"))
        assert pixels.shape == (12, 12)
        found.append(["probed", np.flatnonzero(pixels).tolist()])
    return found


def _count_boxes(folder: Path) -> Any:
    """The pixels that each box touches; a box has an area within its image."""
    found = []
    for value in json.loads((folder / "boxes.json").read_text()):
        if value is None:
            found.append(None)
            continue
        mask = np.zeros((12, 12), bool)
        for box in value if not value or isinstance(value[0], list) else [value]:
            assert not any(isinstance(each, bool) for each in box)
            x1, y1, x2, y2 = map(float, box)
            assert x1 < x2 and y1 < y2
            mask[max(0, math.floor(y1)) : math.ceil(y2), max(0, math.floor(x1)) : math.ceil(x2)] = True
        assert mask.any() or not value
        found.append(np.flatnonzero(mask).tolist())
    return found


def _of_kind(kind: str) -> Format:
    """Predictions of boxes or tokens: how many there are, and of tokens the share that is right."""

    def use(folder: Path, out: Path) -> Used:
        report = evaluated(folder / _PREDICTIONS, out)
        columns = Predictions.load(folder / _PREDICTIONS).table.to_pydict()
        counts = _tally(columns, kind)
        if kind == "tokens":
            counts["accuracy"] = round(float(report["accuracy"]), 9) if "accuracy" in report else counts["accuracy"]
        return Used(numbers=numbers_of(report), notes=report.notes, counts=counts)

    return Format(
        name=f"predictions of {kind}",
        make=CHECKED[kind].make,
        use=use,
        count=lambda folder: _tally(pq.ParquetFile(folder / _PREDICTIONS).read().to_pydict(), kind),
        names=("kinds", "group", "boxes", "scores", "tokens"),
    )


def _tally(columns: dict[str, Any], kind: str) -> dict[str, Any]:
    if kind == "boxes":
        for name in ("boxes", "detected_boxes"):
            for x1, y1, x2, y2 in (box for row in columns[name] for box in row):
                assert math.isfinite(x1 + y1 + x2 + y2) and x1 <= x2 and y1 <= y2
        return {name: [len(row) for row in columns[name]] for name in ("boxes", "detected_boxes", "scores")}
    pairs = [
        (said, true)
        for row, truth in zip(columns["predicted_tokens"], columns["tokens"], strict=True)
        for said, true in zip(row, truth, strict=True)
        if true != -100
    ]
    return {"asked": len(pairs), "accuracy": round(sum(said == true for said, true in pairs) / len(pairs), 9)}


def _files(*patterns: str) -> dict[str, Change]:
    return {"bytes": bytes_of(*patterns), "place": place_of(*patterns)}


def _columns(kind: str) -> dict[str, Change]:
    names = {"boxes": ("boxes", "detected_boxes", "scores"), "tokens": ("tokens", "predicted_tokens", "kinds")}[kind]
    values = (
        [[0.0, 0.0, 1e9, 1e9]], [[5.0, 5.0, 1.0, 1.0]], [[math.nan] * 4], [[1.0, 2.0, 3.0]], [], [0.5], None,
        [math.inf],
        [1], [-100], [10**9, 1, 1, -100], [-5, 1, 1, -100], [2**40, 1, 1], "abc", [[]],
    )  # fmt: skip
    return {
        "values": columns_of(_PREDICTIONS, cell(*names, "group", values=values)),
        "types": columns_of(_PREDICTIONS, retyped(*names)),
        "rows": columns_of(_PREDICTIONS, rows),
        **_files(_PREDICTIONS),
    }


ENERGY = Format(name="detectors: energy", make=DETECTORS["energy"].make, use=_use_energy, count=_count_energy,
                names=("temperature",))  # fmt: skip
MODEL = Format(name="models", make=MODELS.make, use=_use_model, count=_count_model, names=(*MODELS.names, "picture"))
READERS = (
    Reader(kind=counted(REPORTS, _count_report, _of_report),
           changes={"JSON field": field_of("report.json"), "again": field_of("report.json"), **_files("report.json")}),
    Reader(kind=counted(replace(RECIPES, names=(*RECIPES.names, *_KEYS)), _count_recipe, _of_recipe),
           changes={"TOML field": _recipe, "again": _recipe, **_files("own.toml")}),
    Reader(kind=counted(DECISIONS, _count_decisions, _of_decisions), share=0.5,
           changes={"cells": cells_of("*.csv", values=("drop", "keep", "image", "class")), **_files("*.csv")}),
    *map(_submitted, _LINES),
    Reader(kind=counted(JSON_MAP, _count_json_map, _sorted), share=0.5,
           changes={"JSON field": field_of("map.json"), **_files("map.json")}),
    Reader(kind=counted(CSV_MAP, _count_csv_map, _sorted), share=0.5,
           changes={"cells": cells_of("map.csv", head=False, values=("tabby", "pug", "9", "1")), **_files("map.csv")}),
    Reader(kind=counted(PROMPTS, _count_prompts), share=0.4,
           changes={"JSON field": field_of("prompts.json"), **_files("prompts.json")}),
    Reader(kind=counted(TEMPLATES, _count_templates), share=0.4,
           changes={"lines": lines_of("templates.txt", values=("{}", "a {", "{} {}")), **_files("templates.txt")}),
    Reader(kind=ENERGY, share=0.5, changes={"JSON field": field_of("detector.json"), **_files("detector.json")}),
    *(Reader(kind=DETECTORS[name], share=0.3, expect=SAFE, changes=_files("state.safetensors"))
      for name in ("mahalanobis", "knn")),
    Reader(kind=HEADS, share=0.3, expect=SAFE, changes=_files("in.head.safetensors")),
    Reader(kind=MODEL, changes={
        "JSON field": field_of("config.json", "preprocessor_config.json"), "class names": _labels, "weights": _weights,
        "bytes": bytes_of("*.*"), "place": place_of("*.json", "*.safetensors")}),
    Reader(kind=EXIF, share=0.4, changes={"bytes": bytes_of("exif.bin")}),
    Reader(kind=counted(PNG, _count_masks), changes=_files("*.png"), share=0.5),
    Reader(kind=counted(replace(BOXES, names=("row ",)), _count_boxes), share=0.5,
           changes={"JSON field": field_of("boxes.json")}),
    *(Reader(kind=_of_kind(kind), changes=_columns(kind), share=0.7) for kind in ("boxes", "tokens")),
)  # fmt: skip


@pytest.mark.campaign
@pytest.mark.parametrize("kind, case", fresh(READERS))
def test_files(campaign, kind, case):
    campaign.run(kind, case)


@pytest.mark.parametrize("kind, case", every_day(READERS, number=1))
def test_files_every_day(campaign, kind, case):
    campaign.run(kind, case)
