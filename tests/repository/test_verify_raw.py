"""A raw folder compared with the release: whole, partial and broken ones, each config by its name."""

import csv
import json
import shutil

import pytest

import oochub
from oochub.repository.verify_release import verify_raw

_COUNTS = {"0": (3_498, 184, 56, 1_057), "1": (467, 466, 133, 133), "2": (2_255, 2_255, 642, 642)}
"""Rows of each split by bird and place, as the release has them: land on land, land on water, water on land, ..."""


@pytest.mark.slow
def test_a_whole_release_is_whole(tmp_path):
    """11,788 names, empty files: no image is read. Planted fault seen: every folder whole."""
    (tmp_path / "001.A").mkdir()
    number = 0
    with (tmp_path / "metadata.csv").open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["img_id", "img_filename", "y", "split", "place", "place_filename"])
        for split, counts in _COUNTS.items():
            for group, count in enumerate(counts):
                for _ in range(count):
                    name = f"001.A/{number}.jpg"
                    (tmp_path / name).touch()
                    lines.writerow([number, name, group // 2, split, group % 2, "/o/ocean"])
                    number += 1
    (found,) = verify_raw("waterbirds", data_dir=str(tmp_path))
    assert found.is_whole and found.rows == {"train": 4_795, "validation": 1_199, "test": 5_794} and not found.notes
    (tmp_path / "001.A" / "7.jpg").unlink()
    (found,) = verify_raw("waterbirds", data_dir=str(tmp_path))
    assert not found.is_whole and "1 of the 11,788 files" in found.error


def test_a_part_and_a_fault_are_told_apart(raw, tmp_path):
    (part,) = verify_raw("waterbirds", data_dir=str(raw("waterbirds")))
    assert part.rows["train"] == 160 and not part.error and not part.is_whole
    assert any(note.startswith("partial: 160 of 4,795 rows in train") for note in part.notes)
    folder = shutil.copytree(raw("waterbirds"), tmp_path / "raw")
    table = next(folder.rglob("metadata.csv"))
    lines = table.read_text().splitlines()
    table.write_text("\n".join([lines[0], lines[1].replace(lines[1].split(",")[1], "nowhere.jpg"), *lines[2:]]))
    (broken,) = verify_raw("waterbirds", data_dir=str(folder))
    assert "nowhere.jpg" in broken.error and not broken.rows and not broken.is_whole


@pytest.mark.slow
def test_configs_that_a_folder_cannot_give_are_left_out(raw):
    """Reference: what the builder says cannot be built; one that is named is verified alone."""
    folder = raw("spawrious")
    absent = oochub.get("benchmark", "spawrious").not_buildable(folder, {})
    found = {each.config for each in verify_raw("spawrious", data_dir=str(folder))}
    assert found and absent and not found & set(absent)
    (one,) = verify_raw("spawrious", "o2o_hard", data_dir=str(folder))
    assert one.config == "o2o_hard" and one.rows["test"] == 160


def test_the_command(raw, run):
    """It ends with 1 if something is missing, and with 2 for what cannot be verified."""
    folder = raw("waterbirds")
    code, out, _ = run("show", "waterbirds", "--data-dir", folder, "--verify")
    assert code == 1 and "0 of 1 configs whole" in out
    code, out, _ = run("show", "waterbirds", "--data-dir", folder, "--verify", "--json")
    (config,) = json.loads(out)["configs"]
    assert code == 1
    assert config["whole"] is False and config["rows"]["test"] == 160
    for words, said in (
        (("ece", "--verify"), "--verify compares the raw folder of a benchmark, got a metric"),
        (("waterbirds", "--verify", "--data-dir", "nowhere"), "is not a folder: nowhere"),
        (("nooch/ce_carr", "--verify", "--data-dir", folder), "ce_car"),
    ):
        code, _, err = run("show", *words)
        assert code == 2 and said in err
