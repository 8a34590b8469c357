"""`oochub challenge --criterion swap`: the probe's images as data, so that any program gives the probe's gap."""

import csv
import os
import re
import shlex
import shutil
import subprocess
import sys

import datasets
import numpy as np
import pytest
import torch
from loopback_hub import child_environment
from PIL import Image
from planted_pictures import PROCESSOR, SIZE, Onlooker, planted_folder
from tiny_generators import pipeline
from transformers.modeling_outputs import ImageClassifierOutput

import oochub
from oochub.cli import main
from oochub.errors import OochubError
from oochub.probing.probes.background import Background
from oochub.settings.data_settings import DataSettings

COLUMNS = {"label": "tone", "context": "ground"}


class Speckled(Onlooker):
    """Goes by the background, but calls every third image light by a pixel of the background."""

    def forward(self, pixel_values):
        speck = (pixel_values[:, 0, 0, 0] * 255).round() % 3 == 0
        sign = pixel_values[:, 0, -2:].mean((1, 2)) - pixel_values[:, 2, -2:].mean((1, 2)) + 2 * speck
        return ImageClassifierOutput(logits=self.sharpness * torch.stack([-sign, sign], dim=1))


def answer_by_hand(picture):
    pixels = np.asarray(picture, int)
    is_light = pixels[0, 0, 0] % 3 == 0 or pixels[-2:, :, 0].mean() > pixels[-2:, :, 2].mean()
    return "light" if is_light else "dark"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("swapped")
    planted_folder(folder / "squares", train=2, test=14)
    (folder / "masks").mkdir()
    for tone in ("light", "dark"):
        for number in range(14):
            mask = np.zeros((SIZE, SIZE), np.uint8)
            mask[4:12, 4:12] = 255
            Image.fromarray(mask).save(folder / "masks" / f"{tone}{number}.png")
    return folder


@pytest.fixture(scope="module")
def swapped(world):
    """The set by the command, and its words."""
    words = ["challenge", "squares", "--criterion", "swap", "--masks", "masks", "--backgrounds", "3", "--out", "set"]
    words += ["--label-column", "tone", "--context-column", "ground"]
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as ended:
        patch.chdir(world)
        patch.setattr(sys, "argv", ["oochub", *words])
        main()
    assert not ended.value.code
    return world / "set"


@pytest.mark.slow
def test_any_program_gives_the_gap_of_the_probe(world, swapped, tmp_path):
    """A loop over the pairs, `predict` on the set and a file of answers give what the probe says, to the digit."""
    given = {"image_processor": PROCESSOR, **COLUMNS, "probe": "background"}
    settings = {"masks": world / "masks", "backgrounds": 3}
    probed = oochub.audit(Speckled("background"), world / "squares", probe_settings=settings, **given).background
    rows = datasets.load_dataset(str(swapped))["test"]
    names, kinds = rows.features["label"].names, rows.features["challenge"].names
    answers, pairs = {}, {}
    for row in rows:
        answers[row["example_id"]] = answer_by_hand(row["image"])
        right = answers[row["example_id"]] == names[row["label"]]
        pairs.setdefault(row["pair"], {})[kinds[row["challenge"]]] = right
    assert len(pairs) == 28 * 3 and all(set(each) == {"easy", "hard"} for each in pairs.values())
    by_hand = np.mean([each["easy"] - each["hard"] for each in pairs.values()])
    assert 0.2 < by_hand < 0.9
    assert probed.gap == pytest.approx(by_hand)
    predictions = oochub.predict(Speckled("background"), oochub.load(swapped), image_processor=PROCESSOR)
    assert -oochub.evaluate(predictions)["gap"] == pytest.approx(by_hand)
    with (tmp_path / "answers.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("example_id", "prediction"), *answers.items()])
    report = oochub.evaluate(tmp_path / "answers.csv", benchmark=str(swapped))
    assert -report["gap"] == pytest.approx(by_hand) and report.gap.pairs.both == 28
    assert "on a background of its own class" in report.to_markdown()


@pytest.mark.slow
def test_a_pushed_set_loads_without_oochub_and_gives_the_same_gap(hub, run, swapped, tmp_path):
    """Pushed, loaded by `datasets` alone in a process of its own, answered there, scored against the Hub's copy."""
    assert run("push", swapped, "--to", "user/swapped").code == 0
    code = """
import csv, sys, datasets, numpy as np
rows = datasets.load_dataset("user/swapped")["test"]
assert "oochub" not in sys.modules
def answer(pixels):
    is_light = pixels[0, 0, 0] % 3 == 0 or pixels[-2:, :, 0].mean() > pixels[-2:, :, 2].mean()
    return "light" if is_light else "dark"
table = [(row["example_id"], answer(np.asarray(row["image"], int))) for row in rows]
csv.writer(open(sys.argv[1], "w", newline="")).writerows([("example_id", "prediction"), *table])
print(rows.column_names)
"""
    file = tmp_path / "answers.csv"
    environment = {**os.environ, **child_environment(hub, tmp_path / "other")}
    shown = subprocess.run([sys.executable, "-c", code, str(file)], env=environment, capture_output=True, text=True)
    assert shown.returncode == 0, shown.stderr
    assert {"pair", "object_of", "background_of", "challenge", "boxes"} <= set(re.findall(r"'(\w+)'", shown.stdout))
    here, there = (oochub.evaluate(file, benchmark=source) for source in (str(swapped), "user/swapped"))
    assert there.gap.estimate == here.gap.estimate and there["gap"] < -0.2 and there.gap.pairs.both == 28
    assert there.benchmark.out_of_context == here.benchmark.out_of_context


def test_what_a_row_holds(world, swapped):
    """Object and background are those of the named rows, pixel by pixel; the box is the mask's."""
    rows = oochub.load(swapped)["test"]
    source = {str(row["example_id"]): row for row in oochub.load(world / "squares", **COLUMNS)["test"]}
    for row in rows:
        thing, ground = (np.asarray(source[row[name]]["image"]) for name in ("object_of", "background_of"))
        pixels = np.asarray(row["image"])
        assert (pixels[4:12, 4:12] == thing[4:12, 4:12]).all() and (pixels[:4] == ground[:4]).all()
        assert row["boxes"] == [[4.0, 4.0, 12.0, 12.0]] and row["label"] == source[row["object_of"]]["label"]
        is_own = source[row["background_of"]]["label"] == row["label"]
        assert is_own == (row["challenge"] == 0) and row["object_of"] != row["background_of"]
    assert len(set(rows["example_id"])) == len(rows) == 28 * 3 * 2
    assert "context" not in rows.column_names


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("--criterion threshold --value year --at 3 --masks masks", "--masks needs --criterion swap"),
        ("--criterion swap --masks masks --replace", "do not apply to swap"),
        ("--criterion swap --masks masks --value year", "parameter of swap"),
        ("--criterion swap", "The probe must know where the object is"),
        ("--criterion swap --masks nowhere", "Mask folder not found"),
    ],
)
def test_what_is_refused(world, monkeypatch, capsys, tmp_path, typed, words):
    monkeypatch.chdir(world)
    command = ["challenge", "squares", "--label-column", "tone", *shlex.split(typed), "--out", str(tmp_path / "no")]
    monkeypatch.setattr(sys, "argv", ["oochub", *command])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2 and words in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "no").exists()


def test_a_swapped_set_is_not_swapped_again(swapped, tmp_path):
    with pytest.raises(OochubError, match="have swapped backgrounds already"):
        Background(boxes="boxes").write_pairs(str(swapped), tmp_path / "again")


@pytest.mark.slow
def test_an_inpainting_pipeline_fills_the_place_of_an_object(world, tmp_path):
    """A tiny random one: what it fills shows beside a smaller object; nothing beyond the filled box changes."""
    model = pipeline(tmp_path / "pipeline", checker=False)
    masks = tmp_path / "masks"
    shutil.copytree(world / "masks", masks)
    wide = np.zeros((SIZE, SIZE), np.uint8)
    wide[2:14, 2:14] = 255
    for number in range(14):
        Image.fromarray(wide).save(masks / f"dark{number}.png")
    made = {}
    for name, settings in {"tiles": {}, "first": {"fill": model}, "again": {"fill": model}}.items():
        probe = Background(masks=masks, backgrounds=1, rows=8, **settings)
        probe.write_pairs(str(world / "squares"), tmp_path / name, DataSettings(**COLUMNS))
        rows = oochub.load(tmp_path / name)["test"]
        made[name] = {row["example_id"]: np.asarray(row["image"], int) for row in rows}
    assert str(model) in (tmp_path / "first" / "README.md").read_text()
    assert all((made["first"][each] == made["again"][each]).all() for each in made["first"])
    beside = np.ones((SIZE, SIZE), bool)
    beside[2:14, 2:14] = False
    same = [(made["first"][each] == made["tiles"][each])[beside].all() for each in made["tiles"]]
    changed = [(made["first"][each] != made["tiles"][each]).any() for each in made["tiles"] if each[0] == "l"]
    assert all(same) and any(changed)
