"""What `--collect` asks and writes: options that belong together, cells by name, and a ranking of unlabeled images."""

import csv
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from repair_rows_by_hand import predictions_by_hand, rows_by_hand

from oochub.errors import OochubError
from oochub.prediction.predictions import Predictions
from oochub.repairs.collect_images import (
    UnlabeledImages,
    check_collecting,
    collect_rows,
    measure_cell_probabilities,
    rank_unlabeled,
)
from oochub.repairs.collection import CellGain, Collection
from oochub.repairs.learning_curves import list_cells
from oochub.repairs.repair_data import divide_rows
from oochub.settings.repair_settings import RepairSettings
from oochub.stats.estimate import Estimate


def test_options_of_collecting_need_it():
    """Planted fault seen: none of them looked at."""
    with pytest.raises(OochubError, match="more_rows= says what is collected: pass collect=True too"):
        check_collecting(RepairSettings(more_rows=50), has_out=True)
    with pytest.raises(OochubError, match="unlabeled= says what is collected"):
        check_collecting(RepairSettings(unlabeled="images"), has_out=True)
    with pytest.raises(OochubError, match="name one with out="):
        check_collecting(RepairSettings(collect=True, unlabeled="images"), has_out=False)
    check_collecting(RepairSettings(collect=True, unlabeled="images", more_rows=50), has_out=True)
    check_collecting(RepairSettings(), has_out=False)


def test_cells_are_classes_on_sides_and_in_contexts():
    """With two contexts a side is its context and is named so; with four, both are listed."""
    rows = rows_by_hand({"validation": (6, 4), "test": (2, 2)})
    cells = list_cells(rows, np.arange(len(rows.label)))
    assert [(cell.name, cell.side, cell.is_part) for cell in cells] == [
        ("cat/sea", "in", False),
        ("cat/land", "out", False),
        ("dog/land", "in", False),
        ("dog/sea", "out", False),
    ]
    assert [int(cell.has.sum()) for cell in cells] == [8, 6, 8, 6]
    given = predictions_by_hand({"validation": (6, 4), "test": (2, 2)})
    more = [f"{name}{number % 2}" for number, name in enumerate(given.column("group").tolist())]
    rows = type(rows).of(predictions_by_hand({"validation": (6, 4), "test": (2, 2)}, place=more))
    assert "context" not in rows.groups  # a column of another name is no group
    table = given.table.set_column(given.table.column_names.index("group"), "group", [more])
    rows = type(rows).of(given.with_table(table))
    names = [cell.name for cell in list_cells(rows, np.arange(len(rows.label)))]
    assert names[:4] == [
        "cat in usual contexts",
        "cat in unusual contexts",
        "dog in usual contexts",
        "dog in unusual contexts",
    ]
    assert sorted(names[4:]) == sorted(set(more))


def test_images_of_a_cell_are_ranked_first():
    """Fresh rows whose cells are known: the 20 that are ranked first all belong to the cell."""
    rows = rows_by_hand({"validation": (60, 20), "test": (5, 5)})
    parts = divide_rows(rows, trained=[])
    fresh = rows_by_hand({"all": (40, 40)}, seed=7)
    names = ["cat/sea", "cat/land", "dog/land", "dog/sea"]
    probability = measure_cell_probabilities(rows, parts, fresh.features, names)
    assert probability.shape == (160, 4) and np.allclose(probability.sum(axis=1), 1)
    for number, name in enumerate(names):
        top = np.argsort(-probability[:, number])[:20]
        assert (fresh.predictions.column("group")[top] == name).all()


def gain(name, value):
    return CellGain(name=name, side="out", rows=20, more=20, gain=Estimate(value, low=0, high=0.2, n=40, method=""))


def test_the_ranking_names_paths_and_cells(tmp_path):
    """Every image once for each cell to collect, likeliest first; of a cell that promises nothing there is no line."""
    rng = np.random.default_rng(0)
    (tmp_path / "pool" / "deep").mkdir(parents=True)
    for name in ("a", "deep/b", "c"):
        pixels = rng.integers(0, 255, (8, 8, 3), np.uint8)
        Image.fromarray(pixels).save(tmp_path / "pool" / f"{name}.png")
    images = UnlabeledImages.open(str(tmp_path / "pool"))
    part = images.splits["unlabeled"]
    assert part.column_names == ["example_id", "image"]
    assert sorted(images.paths.values()) == ["a.png", "c.png", "deep/b.png"]
    ids = part["example_id"][:]
    x = {"a.png": [-1, 3], "c.png": [1, -3], "deep/b.png": [-1.2, 3]}  # cat on land twice, dog at sea once
    features = np.array([x[images.paths["unlabeled", each]] for each in ids], np.float32)
    answers = Predictions.from_arrays(
        logits=np.zeros((3, 2), np.float32),
        features=features,
        label=[-1] * 3,
        class_names=["cat", "dog"],
        example_id=ids,
        split="unlabeled",
    )
    known = predictions_by_hand({"validation": (60, 20), "test": (5, 5)})
    for made, notes in ((known, ("a probe",)), (answers, ("a probe", "1 image could not be read"))):
        object.__setattr__(made, "metadata", replace(made.metadata, notes=notes))
    collection = Collection(more=100, cells=(gain("cat/land", 0.1), gain("dog/sea", 0.05), gain("cat/sea", 0.001)))
    target = tmp_path / "collect.csv"
    made = rank_unlabeled(collection, known, RepairSettings(collect=True), images, answers, target)
    assert made.ranked == 3 and made.notes == ("1 image could not be read",)
    with target.open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert [(line["cell"], line["rank"], line["path"]) for line in lines] == [
        ("cat/land", "1", "deep/b.png"),
        ("cat/land", "2", "a.png"),
        ("cat/land", "3", "c.png"),
        ("dog/sea", "1", "c.png"),
        *[("dog/sea", line["rank"], line["path"]) for line in lines[4:]],
    ]
    assert all(0 <= float(line["probability"]) <= 1 for line in lines) and len(lines) == 6


def test_no_name_becomes_a_formula_in_a_spreadsheet(tmp_path):
    """A path and a cell are names of the user's files; before, `=HYPERLINK(...)` was a formula where it is opened."""
    answers = predictions_by_hand({"test": (2, 1)})
    keys = zip(answers.split.tolist(), map(str, answers.column("example_id").tolist()), strict=True)
    names = ["=HYPERLINK(1).png", "@a.png", "-2.png", "plain.png", "+1.png", "e.png"]
    images = UnlabeledImages({}, dict(zip(keys, names, strict=False)))
    known = predictions_by_hand({"validation": (60, 20), "test": (5, 5)})
    target = tmp_path / "collect.csv"
    collection = Collection(more=100, cells=(gain("cat/land", 0.1),))
    rank_unlabeled(collection, known, RepairSettings(collect=True), images, answers, target)
    with target.open(encoding="utf-8") as file:
        cells = [cell for line in csv.reader(file) for cell in line]
    assert "plain.png" in cells and "'=HYPERLINK(1).png" in cells
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))]


def test_a_folder_without_images_is_refused(tmp_path):
    (tmp_path / "notes.csv").write_text("text\na\nb\n")
    with pytest.raises(OochubError, match="has 0 columns of images: "):
        UnlabeledImages.open(str(tmp_path / "notes.csv"))


@pytest.mark.slow
def test_collecting_goes_by_the_first_division_and_the_seed():
    known = predictions_by_hand({"validation": (30, 12), "test": (10, 10)})
    settings = RepairSettings(collect=True, more_rows=30, draws=2)
    found = collect_rows(known, settings)
    assert found.more == 30 and len(found.cells) == 4 and found == collect_rows(known, settings)
