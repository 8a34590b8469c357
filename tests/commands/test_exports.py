"""`oochub report --export`: own images in the samples, the side of each row, and what is refused before anything else.

Planted fault seen: the sides the other way round.
"""

import json
import sys

import numpy as np
import pytest
from bridge_rows import LABELS, LOGITS, NAMES, png

import oochub
from oochub import Predictions
from oochub.cli import main


def report(monkeypatch, *words: object) -> int:
    monkeypatch.setattr(sys, "argv", ["oochub", "report", *map(str, words)])
    with pytest.raises(SystemExit) as stopped:
        main()
    return int(stopped.value.code or 0)


@pytest.fixture
def own(tmp_path):
    """A folder of ten images, and predictions for them of which half are out of context."""
    for number, label in enumerate(LABELS):
        (tmp_path / "pets" / NAMES[label]).mkdir(parents=True, exist_ok=True)
        (tmp_path / "pets" / NAMES[label] / f"{number}.png").write_bytes(png(number))
    (split, data), *_ = oochub.load(str(tmp_path / "pets")).items()
    challenge = np.where(np.arange(10) % 2, "hard", "easy")
    made = Predictions.from_arrays(
        logits=LOGITS, label=data["label"][:], class_names=NAMES, example_id=data["example_id"][:], split=split,
        challenge=challenge,
    )  # fmt: skip
    made.save(tmp_path / "p.parquet")
    return tmp_path, data["example_id"][:], challenge


def test_own_images_and_the_side_of_each_row(own, monkeypatch, capsys):
    """The images are those of --data-dir by id; easy rows are in context, hard ones out of it."""
    folder, ids, challenge = own
    assert (
        report(monkeypatch, folder / "p.parquet", "--data-dir", folder / "pets", "--export", f"fiftyone={folder}/fo")
        == 0
    )
    assert capsys.readouterr().out.strip().endswith("fo")
    samples = json.loads((folder / "fo" / "samples.json").read_text())["samples"]
    assert [sample["example_id"] for sample in samples] == [str(each) for each in ids]
    assert [sample["side"] for sample in samples] == ["in" if each == "easy" else "out" for each in challenge]
    stored = {(folder / "fo" / sample["filepath"]).read_bytes() for sample in samples}
    assert stored == {png(number) for number in range(10)}


def test_what_is_refused(own, monkeypatch, capsys):
    """Names, forms and paths before the predictions are opened; images that nobody named."""
    folder = own[0]
    wrong = {
        "fiftyon=x": "Did you mean 'fiftyone'",
        "fiftyone": "NAME=PATH",
        "inspect_ai=x": "oochub only reads",
        "cleanlab=x.csv": "must end in .npz",
        f"fiftyone={folder}/pets": "is not replaced",
        f"fiftyone={folder}/fo": "--data-dir",
    }
    for text, words in wrong.items():
        assert report(monkeypatch, folder / "p.parquet", "--export", text) == 2
        assert words in " ".join(capsys.readouterr().err.split()), text
    assert not (folder / "fo").exists()
    assert report(monkeypatch, "report.json", "--export", f"cleanlab={folder}/a.npz") == 2
    assert "one file of predictions" in capsys.readouterr().err
