"""Waterbirds from CUB and Places: species, counts and places by other means, pixels by hand, what is refused."""

import csv
import hashlib
import shutil
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import oochub
from oochub.builders.toy_worlds.toy_cub import toy_cub
from oochub.cli import main
from oochub.records.build_record import BuildRecord
from oochub.storage.ownership import MANIFEST
from oochub.studies.waterbirds.construct_waterbirds import construct_waterbirds
from oochub.studies.waterbirds.cub_images import CubImage
from oochub.studies.waterbirds.pasted_bird import pasted_bird
from oochub.studies.waterbirds.water_species import water_species
from oochub.studies.waterbirds.waterbird_rows import waterbird_rows


@pytest.fixture(scope="module")
def birds(tmp_path_factory) -> Path:
    return toy_cub(tmp_path_factory.mktemp("birds") / "toy", size=10)


def _folders(root: Path) -> dict[str, Path]:
    return {"cub": root / "CUB_200_2011", "places": root / "places365"}


def _digests(folder: Path) -> dict[str, str]:
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != MANIFEST]  # it holds times
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.slow
def test_the_toy_of_cub_and_places(birds, tmp_path):
    """The same bytes for the same arguments, another world for another seed, a mask a bird."""
    assert _digests(toy_cub(tmp_path / "again", size=10)) == _digests(birds)
    other = _digests(toy_cub(tmp_path / "other", size=10, seed=1))
    pictures = {name for name in other if name.endswith((".jpg", ".png"))}
    first = _digests(birds)
    assert len(pictures) == 2 * 60 + 4 * 30 and not any(other[name] == first[name] for name in pictures)
    for file in (birds / "CUB_200_2011" / "segmentations").rglob("*.png"):
        with Image.open(file) as mask, Image.open(str(file).replace("segmentations", "images")[:-3] + "jpg") as bird:
            share = (np.asarray(mask) > 127).mean()
            assert mask.mode == "L" and mask.size == bird.size and 0.03 < share < 0.5


def test_species_are_those_of_a_real_list(real_data):
    """All 200 species of CUB, labeled in a list that others made by the released code: the same 46."""
    with (real_data / "waterbirds" / "metadata_unofficial.csv").open() as lines:
        labels = {row["class_name"].partition(".")[2]: row["y"] for row in csv.DictReader(lines)}
    assert len(labels) == 200
    assert {name for name, y in labels.items() if y == "1"} == water_species()


def _cub() -> list[CubImage]:
    """CUB's 11,788 images with its numbers: 30 training images a species but for six, and 5,794 test images.

    46 species are water birds, with 1,379 and 1,284 images, as the release's groups sum to.
    """
    images = []
    names = [*((name, True) for name in sorted(water_species())), *((f"Owl_{k}", False) for k in range(154))]
    tests = {True: [1_284 // 46] * 46, False: [4_510 // 154] * 154}
    for kind, total in ((True, 1_284), (False, 4_510)):
        for k in range(total - sum(tests[kind])):
            tests[kind][k] += 1
    for number, (name, is_water) in enumerate(names):
        trained = 29 if name.startswith("Artic") or number >= 195 else 30
        many = trained + tests[is_water].pop()
        for k in range(many):
            file = f"{number + 1:03}.{name}/{name}_{k}.jpg"
            images.append(CubImage(str(len(images) + 1), file, (7 * k) % many < trained if many % 7 else k < trained))
    return images


def test_the_whole_of_cub_gives_the_releases_numbers():
    """4,795 / 1,199 / 5,794 rows and every group, with the default seed; planted: half rounded up, 467 for 466."""
    images = _cub()
    trained = Counter(image.is_training for image in images)
    assert trained == {True: 5_994, False: 5_794} and len(images) == 11_788
    places = {"land": [f"/b/{k}.jpg" for k in range(7_300)], "water": [f"/o/{k}.jpg" for k in range(5_000)]}
    rows = waterbird_rows(images, places)
    counts = Counter((row.split, row.y, row.place) for row in rows)
    groups = [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert [counts[0, y, place] for y, place in groups] == [3_498, 184, 56, 1_057]
    assert [counts[1, y, place] for y, place in groups] == [467, 466, 133, 133]
    assert [counts[2, y, place] for y, place in groups] == [2_255, 2_255, 642, 642]
    assert Counter(row.split for row in rows) == {0: 4_795, 1: 1_199, 2: 5_794}
    assert all((row.split == 2) != image.is_training for row, image in zip(rows, images, strict=True))
    assert [(row.img_id, row.img_filename) for row in rows] == [(image.number, image.file) for image in images]
    assert all(row.place_filename in set(places["water" if row.place else "land"]) for row in rows[::97])
    assert len({row.place_filename for row in rows}) == len(rows)
    assert waterbird_rows(images, places) == rows != waterbird_rows(images, places, seed=1)
    paper = waterbird_rows(images, places, species="paper")
    changed = {image.species for image, one, two in zip(images, rows, paper, strict=True) if one.y != two.y}
    assert changed == {"Eastern_Towhee", "Western_Meadowlark", "Western_Wood_Pewee"}
    with pytest.raises(oochub.OochubError, match="birds stand in front of water, but there are 3 images of it"):
        waterbird_rows(images, places | {"water": ["/o/1.jpg", "/o/2.jpg", "/o/3.jpg"]})


def test_a_pasted_bird_by_hand():
    """Pixel by pixel: shares of the mask, each rounded; the place keeps its middle. Planted: the mask turned round."""
    rng = np.random.default_rng(0)
    bird, place = (Image.fromarray(rng.integers(0, 256, (4, 4, 3), np.uint8)) for _ in range(2))
    mask = Image.fromarray(np.array([[0, 51, 204, 255]] * 4, np.uint8))
    made = pasted_bird(bird, mask, place)
    for x in range(4):
        for y in range(4):
            share = (0, 51, 204, 255)[x] / 255
            parts = zip(bird.getpixel((x, y)), place.getpixel((x, y)), strict=True)
            assert made.getpixel((x, y)) == tuple(round(share * b) + round((1 - share) * p) for b, p in parts)
    nothing = Image.new("L", (4, 4))
    wide = Image.fromarray(rng.integers(0, 256, (4, 8, 3), np.uint8))
    assert pasted_bird(bird, nothing, wide).tobytes() == wide.crop((2, 0, 6, 4)).tobytes()
    tall = Image.fromarray(rng.integers(0, 256, (10, 4, 3), np.uint8))
    assert pasted_bird(bird, nothing, tall).tobytes() == tall.crop((0, 3, 4, 7)).tobytes()
    small = Image.fromarray(rng.integers(0, 256, (2, 2, 3), np.uint8))
    assert pasted_bird(bird, nothing, small).tobytes() == small.resize((4, 4), Image.Resampling.LANCZOS).tobytes()
    with pytest.raises(oochub.OochubError, match=r"the mask has \(4, 3\) pixels, but the image has \(4, 4\)"):
        pasted_bird(bird, Image.new("L", (4, 3)), place)


@pytest.mark.slow
def test_from_the_shell_to_rows(birds, tmp_path, monkeypatch, capsys):
    """The command, the builder that reads what it wrote, and the same bytes again."""
    cub, places, out = *_folders(birds).values(), tmp_path / "made"
    words = ["waterbirds", "construct", "--cub", cub, "--places", places, "--out", out]
    monkeypatch.setattr(sys, "argv", ["oochub", *map(str, words)])
    with pytest.raises(SystemExit) as stopped:
        main()
    printed = capsys.readouterr().out
    assert not stopped.value.code and printed.strip().endswith(str(out)) and "landbird" in printed
    data = oochub.load("waterbirds", data_dir=out)
    record = BuildRecord.of(data["train"].info)
    assert record.facts.rows == {"train": 24, "validation": 6, "test": 30}  # of 30 and 30 images
    assert "constructed from CUB and Places by oochub: not the released images" in record.notes
    row = data["train"][0]
    mask = np.asarray(Image.open(cub / "segmentations" / f"{row['example_id']}.png"))
    bird = np.asarray(Image.open(cub / "images" / f"{row['example_id']}.jpg"), float)
    inside, made = mask == 255, np.asarray(row["image"], float)
    assert np.abs(made - bird)[inside].mean() < 12 < np.abs(made - bird)[mask == 0].mean()  # JPEG is not exact
    construct_waterbirds(tmp_path / "again", **_folders(birds))
    assert _digests(tmp_path / "again") == _digests(out)
    construct_waterbirds(out, **_folders(birds), seed=1)  # its own kind of folder may be replaced
    assert _digests(tmp_path / "again").keys() == _digests(out).keys()
    assert _digests(tmp_path / "again") != _digests(out)
    (out / "thesis.txt").write_text("years of work")
    construct_waterbirds(out, **_folders(birds))
    assert (out / "thesis.txt").read_text() == "years of work"
    (out / "metadata.csv").write_text("years of work")
    before = _digests(out)
    with pytest.raises(oochub.OochubError, match=r"metadata\.csv: it was changed after oochub wrote it"):
        construct_waterbirds(out, **_folders(birds), seed=1)
    assert _digests(out) == before


@pytest.mark.slow
def test_masks_may_lie_beside_cub(birds, tmp_path):
    """segmentations.tgz is an archive of its own, which unpacks beside CUB_200_2011."""
    shutil.copytree(birds, tmp_path / "raw")
    cub = tmp_path / "raw" / "CUB_200_2011"
    (cub / "segmentations").rename(tmp_path / "raw" / "segmentations")
    made = construct_waterbirds(tmp_path / "out", cub=cub.parent, places=tmp_path / "raw" / "places365" / "data_large")
    assert sum(made.rows.values()) == 60
    (tmp_path / "raw" / "segmentations").rename(tmp_path / "raw" / "masks")
    with pytest.raises(oochub.OochubError, match=r"segmentations of CUB are neither in .* Unpack segmentations.tgz"):
        construct_waterbirds(tmp_path / "out", cub=cub, places=tmp_path / "raw" / "places365")


_BIRD = "101.White_Pelican/White_Pelican_0010_5010"  # the last one
_WRONG = {
    "no list": (
        lambda root: (root / "CUB_200_2011/images.txt").unlink(),
        r"There is no images.txt in .*CUB_200_2011\. Pass",
    ),
    "no image": (
        lambda root: (root / f"CUB_200_2011/images/{_BIRD}.jpg").unlink(),
        r"line 60, .*Pelican_0010_5010.jpg",
    ),
    "no mask": (lambda root: (root / f"CUB_200_2011/segmentations/{_BIRD}.png").unlink(), r"line 60, .*_0010_5010.png"),
    "no ocean": (lambda root: shutil.rmtree(root / "places365/data_large/o/ocean"), r"category o/ocean in .*ocean"),
    "few places": (
        lambda root: [path.unlink() for path in root.glob("places365/data_large/[ol]/**/000000[0-2]*.jpg")],
        r"birds stand in front of water, but there are 2 images",
    ),
    "a mask of another size": (
        lambda root: Image.new("L", (3, 3)).save(root / f"CUB_200_2011/segmentations/{_BIRD}.png"),
        r"Pelican_0010_5010.jpg: the mask has \(3, 3\) pixels",
    ),
    "a broken image": (
        lambda root: (root / f"CUB_200_2011/images/{_BIRD}.jpg").write_bytes(b"\xff\xd8\xff\xe0 and no more"),
        r"Pelican_0010_5010.jpg",
    ),
    "other files": (lambda root: ((root / "out").mkdir(), (root / "out" / "thesis.txt").write_text("years")), r"out"),
}


@pytest.mark.parametrize("word", _WRONG)
def test_what_is_refused(word, birds, tmp_path):
    """The file is named, nothing is written, and what stood there stays. Fault planted: images written one by one."""
    change, said = _WRONG[word]
    root = tmp_path / "raw"
    shutil.copytree(birds, root)
    change(root)
    before = _digests(root)
    with pytest.raises(oochub.OochubError, match=said):
        construct_waterbirds(root / "out", **_folders(root))
    assert _digests(root) == before and not list(root.glob("out/[!t]*"))
