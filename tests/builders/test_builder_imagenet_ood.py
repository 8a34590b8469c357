"""The ImageNet-OOD builder: labels in the standard order, every way to store images, lists, gaps, broken files."""

import hashlib
import io
import re
import shutil
import tarfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from datasets import Image as ImageFeature
from datasets import load_dataset
from PIL import Image

import oochub
from oochub.builders.sources.imagenet import imagenet_pictures
from oochub.builders.sources.imagenet_listing import list_pictures
from oochub.builders.sources.imagenet_ood_classes import OOD_CLASSES
from oochub.builders.sources.imagenet_sets import CORRUPTIONS
from oochub.class_names.imagenet_classes import IMAGENET_1K_NAMES, IMAGENET_1K_WNIDS, IMAGENET_R_WNIDS
from oochub.records.build_record import BuildRecord


def _load(config, raw, **options):
    return load_dataset("imagenet_ood", config, data_dir=raw, **options)


def _rows(split):
    """Every row with a hash of its image's bytes in their place, and names for numbers."""
    rows, features = [], split.features
    for row in split.cast_column("image", ImageFeature(decode=False)):
        row["image"] = (row["image"]["path"], hashlib.sha256(row["image"]["bytes"]).hexdigest())
        rows.append(row | {name: features[name].int2str(row[name]) for name in ("environment", "group", "shift")})
    return rows


def _record(data):
    return BuildRecord.of(data["test"].info)


def _jpeg(color=(9, 99, 199), codec="JPEG", size=(8, 6)) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", size, color).save(file, codec)
    return file.getvalue()


def _tar(path, members) -> Path:
    """A tar of name -> bytes, or of TarInfo -> bytes where the name alone does not say it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w") as archive:
        for name, data in members:
            member = name if isinstance(name, tarfile.TarInfo) else tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return path


@pytest.fixture(scope="module")
def pictures(imagenet):
    """The toy's images of ImageNet-21K, "<wnid>/<wnid>_<k>.JPEG" to bytes, read with the standard library alone."""
    bytes_of = {}
    for path in sorted((imagenet / "imagenet-21k").iterdir()):
        if path.is_dir():
            bytes_of |= {f"{path.name}/{file.name}": file.read_bytes() for file in path.iterdir()}
            continue
        with tarfile.open(path) as archive:
            bytes_of |= {
                f"{path.stem}/{member.name}": archive.extractfile(member).read() for member in archive.getmembers()
            }
    return bytes_of


def test_classes_are_the_standard_ones_in_their_order(real_data):
    """Planted faults: two wnids swapped; a name moved by one."""
    folder = real_data / "imagenet"
    assert list(IMAGENET_1K_WNIDS) == (folder / "imagenet1k_wnids.txt").read_text().split()
    assert list(OOD_CLASSES) == (folder / "imagenet_ood_637_wnids.txt").read_text().split()
    paper = (real_data.parent / "papers" / "imagenet_ood.txt").read_text().rpartition("IMAGENET-OOD CLASSES")[2]
    paper = re.sub(
        r"Continued on next page|Published as a conference paper at ICLR 2024|Synset ID Class\s+Name", "", paper
    )
    printed = dict(re.findall(r"(n\d{8})\s+(.*?)\s*(?=n\d{8}|$)", paper, re.DOTALL))
    assert len(printed) == 637
    assert {wnid: " ".join(name.split()) for wnid, name in printed.items()} == OOD_CLASSES


def test_names_are_those_of_the_standard_labels():
    """Labels that torchvision's, Keras' and the Hub's documents all print."""
    text = """0 tench, 1 goldfish, 2 great white shark, 9 ostrich, 100 black swan, 130 flamingo, 145 king penguin,
        151 Chihuahua, 207 golden retriever, 250 Siberian husky, 281 tabby, 291 lion, 340 zebra, 386 African elephant,
        388 giant panda, 404 airliner, 409 analog clock, 466 bullet train, 504 coffee mug, 574 golf ball, 609 jeep,
        661 Model T, 701 parachute, 717 pickup, 779 school bus, 805 soccer ball, 817 sports car, 834 suit,
        900 water tower, 920 traffic light, 948 Granny Smith, 954 banana, 963 pizza, 980 volcano, 985 daisy,
        999 toilet tissue"""
    known = {int(line.split()[0]): " ".join(line.split()[1:]) for line in text.split(",")}
    assert {k: IMAGENET_1K_NAMES[k].partition(", ")[0] for k in known} == known
    assert len(IMAGENET_1K_NAMES) == len(set(IMAGENET_1K_NAMES)) == len(set(IMAGENET_1K_WNIDS)) == 1000
    assert len(set(IMAGENET_R_WNIDS)) == 200 and set(IMAGENET_R_WNIDS) < set(IMAGENET_1K_WNIDS)
    assert not set(OOD_CLASSES) & set(IMAGENET_1K_WNIDS)


def test_imagenet_1k_rows(imagenet):
    data = _load("imagenet_1k", imagenet)
    assert {name: len(split) for name, split in data.items()} == {"train": 900, "test": 90}
    place = {path.stem: path for path in imagenet.glob("imagenet/val/*/*.JPEG")}
    for row in _rows(data["test"]):
        path = place[row["example_id"]]
        assert row["wnid"] == path.parent.name and row["label"] == sorted(IMAGENET_1K_WNIDS).index(row["wnid"])
        assert row["image"] == (path.name, hashlib.sha256(path.read_bytes()).hexdigest())
        assert (row["shift"], row["is_ood"], row["environment"]) == ("none", False, "imagenet_1k")
        assert (row["codec"], row["width"], row["height"], row["file_name"]) == ("JPEG", 48, 48, path.name)
    notes = _record(data).notes
    assert {"partial: 30 of 1,000 classes", "partial: 90 of 50,000 images"} < set(notes)
    assert _record(data).facts.present_classes == tuple(sorted(set(data["test"]["label"])))
    with pytest.raises(oochub.OochubError, match="strict=True, but imagenet_1k is not complete"):
        _load("imagenet_1k", imagenet, strict=True)


def test_held_out_takes_of_each_class(imagenet):
    data = _load("imagenet_1k", imagenet, held_out=0.1)
    assert set(Counter(data["validation"]["wnid"]).values()) == {3}
    assert set(Counter(data["train"]["wnid"]).values()) == {27} and len(data["test"]) == 90
    for share, config in ((1.0, "imagenet_1k"), (0.1, "imagenet_c")):
        with pytest.raises(oochub.OochubError, match=r"held_out (is only for|must be a share)"):
            _load(config, imagenet, held_out=share)


def _flat(imagenet, root):
    """The toy's validation images in one folder as published; returns each stem's wnid."""
    (root / "imagenet" / "val").mkdir(parents=True)
    truth = {}
    for path in imagenet.glob("imagenet/val/*/*.JPEG"):
        shutil.copy(path, root / "imagenet" / "val")
        truth[path.stem] = path.parent.name
    return truth


@pytest.mark.parametrize("source", ["devkit", "kaggle"])
def test_flat_validation_images_get_their_classes(imagenet, tmp_path, source):
    """Equal to the rows of the class folders. Planted fault: the devkit's numbers taken for labels."""
    truth = _flat(imagenet, tmp_path)
    with pytest.raises(oochub.OochubError, match=r"LOC_val_solution.csv or ILSVRC2012_devkit_t12/ beside"):
        _load("imagenet_1k", tmp_path)
    if source == "kaggle":
        lines = [f"{stem},{wnid} 85 1 499 272 {wnid} 1 2 3 4" for stem, wnid in reversed(truth.items())]
        (tmp_path / "imagenet/LOC_val_solution.csv").write_text("\n".join(["ImageId,PredictionString", *lines]))
    else:
        folder = tmp_path / "imagenet/ILSVRC2012_devkit_t12/data"
        folder.mkdir(parents=True)
        order = [*np.random.default_rng(0).permutation(IMAGENET_1K_WNIDS).tolist(), "n00004475"]
        kind = [("ILSVRC2012_ID", "f8"), ("WNID", "O"), ("num_children", "f8")]
        synsets = np.array([(k + 1, wnid, 0) for k, wnid in enumerate(order)], kind)
        scipy.io.savemat(folder / "meta.mat", {"synsets": synsets})
        numbers = [str(order.index(truth[f"ILSVRC2012_val_{k:08}"]) + 1) for k in range(1, len(truth) + 1)]
        (folder / "ILSVRC2012_validation_ground_truth.txt").write_text("\n".join(numbers) + "\n")
    assert _rows(_load("imagenet_1k", tmp_path)["test"]) == _rows(_load("imagenet_1k", imagenet)["test"])


def test_imagenet_ood_rows(imagenet, pictures):
    data = _load("imagenet_ood", imagenet)
    rows = _rows(data["test"])
    listed = (imagenet / "imagenetood.txt").read_text().split()
    assert [row["file_name"] for row in rows] == listed and len(rows) == 48
    for row in rows:
        assert (row["label"], row["is_ood"], row["shift"]) == (-1, True, "semantic")
        assert row["class_name"] == OOD_CLASSES[row["wnid"]] and row["severity"] is None
        assert row["image"][1] == hashlib.sha256(pictures[row["file_name"]]).hexdigest()
        assert f"{row['wnid']}/{row['example_id']}.JPEG" == row["file_name"]
    assert "partial: 48 of 31,802 images" in _record(data).notes


def _nested(pictures, root):
    classes = sorted({name[:9] for name in pictures})
    inner = [(f"{wnid}.tar", _tar(root / f"{wnid}.tar", _of(pictures, wnid)).read_bytes()) for wnid in classes]
    for wnid in classes:
        (root / f"{wnid}.tar").unlink()
    _tar(root / "imagenet-21k/fall11_whole.tar", inner)


def _of(pictures, wnid):
    return [(name[10:], data) for name, data in pictures.items() if name.startswith(wnid)]


def _sharded(pictures, root):
    samples = sorted(pictures.items(), key=lambda item: hashlib.sha256(item[0].encode()).hexdigest())
    for number in range(3):
        members = [
            member
            for name, data in samples[number::3]
            for member in ((name[10:-5] + ".jpg", data), (name[10:-5] + ".cls", b"17"), (name[10:-5] + ".json", b"{}"))
        ]
        _tar(root / f"imagenet-21k/imagenet_w21-train-{number:04}.tar", members)


def _foldered(pictures, root):
    for name, data in pictures.items():
        (root / "imagenet-21k/train" / name).parent.mkdir(parents=True, exist_ok=True)
        (root / "imagenet-21k/train" / name).write_bytes(data)


_LAYOUTS = {
    "folders": _foldered,
    "class tars": lambda p, root: [_tar(root / f"imagenet-21k/{w}.tar", _of(p, w)) for w in {name[:9] for name in p}],
    "one tar": lambda p, root: _tar(root / "imagenet-21k/all.tar", [(f"./whole/{name}", p[name]) for name in p]),
    "tar of class tars": _nested,
    "WebDataset shards": _sharded,
    "packed and unpacked": lambda p, root: (_foldered(p, root), _nested(p, root)),
}


@pytest.mark.parametrize("layout", list(_LAYOUTS))
def test_every_way_to_store_gives_the_same_rows(imagenet, pictures, tmp_path, layout):
    """Planted faults: an inner archive's beginning forgotten; rows in the order of the archives."""
    _LAYOUTS[layout](pictures, tmp_path)
    shutil.copy(imagenet / "imagenetood.txt", tmp_path)
    assert _rows(_load("imagenet_ood", tmp_path)["test"]) == _rows(_load("imagenet_ood", imagenet)["test"])


def test_without_a_list_every_picture_of_the_637_classes(imagenet, pictures, tmp_path):
    """Also what no list names; a class of ImageNet-1K in ImageNet-21K and files of other names are left out."""
    _foldered(pictures, tmp_path)
    (tmp_path / "imagenet-21k/train/n02725872/notes.png").write_bytes(b"")
    data = _load("imagenet_ood", tmp_path)
    expected = sorted(name for name in pictures if name[:9] in OOD_CLASSES)
    assert [row["file_name"] for row in _rows(data["test"])] == expected and len(expected) == 64 < len(pictures)
    note = "no file list: every image of 16 of the 637 classes, not the published choice"
    assert note in _record(data).notes
    with pytest.raises(oochub.OochubError, match=r"strict=True.*no file list"):
        _load("imagenet_ood", tmp_path, strict=True)


def test_missing_files_are_counted_and_named(imagenet, tmp_path):
    listed = (imagenet / "imagenetood.txt").read_text().split()
    gone = [f"n02725872/n02725872_{k}.JPEG" for k in range(100, 112)]
    (tmp_path / "list.txt").write_text("\n".join([*gone, "", *listed[:5]]))
    data = _load("imagenet_ood", imagenet, file_list=str(tmp_path / "list.txt"))
    assert len(data["test"]) == 5
    note = next(note for note in _record(data).notes if "missing" in note)
    assert note == f"12 of the 17 files listed are missing: {', '.join(gone[:10])} and 2 more"
    assert _record(data).facts.other["missing"] == gone
    with pytest.raises(oochub.OochubError, match=r"strict=True.*12 of the 17 files listed are missing"):
        _load("imagenet_ood", imagenet, file_list=str(tmp_path / "list.txt"), strict=True)
    (tmp_path / "list.txt").write_text("\n".join(listed[:6]))  # a changed list is never met by an old cache
    assert len(_load("imagenet_ood", imagenet, file_list=str(tmp_path / "list.txt"))["test"]) == 6
    (tmp_path / "list.txt").write_text("\n".join(gone))
    with pytest.raises(oochub.OochubError, match="None of the 12 listed files is there"):
        _load("imagenet_ood", imagenet, file_list=str(tmp_path / "list.txt"))


def test_the_published_list(real_data, tmp_path):
    """31,802 lines, where the paper says 31,807; the notes say both."""
    file = real_data / "imagenet" / "imagenet_ood_files.txt"
    lines = file.read_text().split()
    for name in (lines[0], lines[-1]):
        (tmp_path / "imagenet-21k" / name).parent.mkdir(parents=True)
        (tmp_path / "imagenet-21k" / name).write_bytes(_jpeg())
    data = _load("imagenet_ood", tmp_path, file_list=str(file))
    assert [row["file_name"] for row in _rows(data["test"])] == [lines[0], lines[-1]]
    notes = _record(data).notes
    assert notes[0].startswith("31,800 of the 31,802 files listed are missing: ") and notes[0].endswith("31,790 more")
    assert notes[1] == "the published file list has 31,802 files, but the paper says 31,807"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            ["n02725872/n02725872_1.JPEG", "n02725872/n02882647_1.JPEG"],
            r"line 2: file must be n02925009/.* got 'n02725872",
        ),
        (["n01443537/n01443537_1.JPEG"], "line 1: .* belongs to a class of ImageNet-1K, so it is not OOD"),
        (
            ["n02725872/n02725872_1.JPEG", "", "n02725872/n02725872_1.JPEG"],
            "line 3: file must be unique, got .*, as in line 1",
        ),
        ([""], "has no rows"),
    ],
)
def test_broken_lists(imagenet, tmp_path, lines, message):
    (tmp_path / "list.txt").write_text("\n".join(lines))
    with pytest.raises(oochub.OochubError, match=message):
        _load("imagenet_ood", imagenet, file_list=str(tmp_path / "list.txt"))


def test_a_list_only_where_it_is_read(imagenet, tmp_path):
    with pytest.raises(oochub.OochubError, match="there is no such file"):
        _load("imagenet_ood", imagenet, file_list=str(tmp_path / "none.txt"))
    with pytest.raises(oochub.OochubError, match="file_list is only read by imagenet_ood and openimage_o and ssb_hard"):
        _load("imagenet_r", imagenet, file_list=str(tmp_path / "none.txt"))


@pytest.mark.slow
def test_corruptions_pooled_and_alone(imagenet, tmp_path):
    """The pool is the 75 sets; archives give the same; the four extra corruptions stay out."""
    pool = _rows(_load("imagenet_c", imagenet)["test"])
    assert len(pool) == 75 * 30 == len({row["example_id"] for row in pool})
    alone = _rows(_load("motion_blur_4", imagenet)["test"])
    assert alone == [row for row in pool if row["group"] == "imagenet_c/motion_blur" and row["severity"] == 4]
    assert Counter((row["group"], row["severity"]) for row in pool) == {
        (f"imagenet_c/{corruption}", severity): 30 for corruption in CORRUPTIONS for severity in range(1, 6)
    }
    name, source = "n01443537/ILSVRC2012_val_00000001.JPEG", imagenet / "imagenet-c"
    path = f"motion_blur/4/{name}"
    members = [(path, (source / path).read_bytes()), (f"gaussian_blur/4/{name}", _jpeg())]
    _tar(tmp_path / "imagenet-c/blur.tar", members)
    _tar(tmp_path / "imagenet-c/extra.tar", [(f"spatter/4/{name}", _jpeg())])
    _tar(tmp_path / "imagenet-c/mine.tar", [(f"rain/4/{name}", _jpeg()), ("about.png", _jpeg())])
    packed = _rows(_load("imagenet_c", tmp_path)["test"])
    assert (
        packed == [row for row in pool if row["file_name"] == path] == _rows(_load("motion_blur_4", tmp_path)["test"])
    )
    with pytest.raises(oochub.OochubError, match="There are no images of imagenet_c in"):
        _load("motion_blur_3", tmp_path)


def test_renditions_sketches_and_open_images(imagenet, tmp_path):
    renditions = _load("imagenet_r", imagenet)["test"]
    assert {row["group"] for row in _rows(renditions)} == {
        f"imagenet_r/{k}" for k in ("art", "cartoon", "sketch", "tattoo")
    }
    for row in _rows(renditions) + _rows(_load("imagenet_sketch", imagenet)["test"]):
        assert row["shift"] == "covariate" and IMAGENET_1K_WNIDS[row["label"]] == row["wnid"]
        assert row["file_name"].startswith(row["wnid"]) and not row["is_ood"]
        assert row["example_id"] == f"{row['environment']}/{row['file_name'].rpartition('.')[0]}"
    every = sorted(path.name for path in (imagenet / "openimage_o").iterdir())
    open_images = _load("openimage_o", imagenet)
    assert [row["file_name"] for row in _rows(open_images["test"])] == every
    assert set(open_images["test"]["label"]) == {-1} and all(open_images["test"]["is_ood"])
    (tmp_path / "list.txt").write_text(
        f"openimage_o/images/{every[3]} -1\nopenimage_o/images/{every[1]} -1\nabc.jpg -1\n"
    )
    some = _load("openimage_o", imagenet, file_list=str(tmp_path / "list.txt"))
    assert [row["file_name"] for row in _rows(some["test"])] == [every[3], every[1]]
    assert "1 of the 3 files listed are missing: abc.jpg" in _record(some).notes


@pytest.mark.parametrize(
    ("name", "kind", "folder"),
    [("ssb_hard", "near", "ssb_hard"), ("ninco", "near", "ninco"), ("inaturalist", "far", "inaturalist"),
     ("textures", "far", "texture")],
)  # fmt: skip
def test_sets_of_openood(name, kind, folder, imagenet, tmp_path):
    """All images, or those of OpenOOD's list in OpenOOD's own folders. Planted fault seen: far ones near."""
    every = sorted(path for path in (imagenet / folder).rglob("*") if path.is_file())
    rows = _rows(_load(name, imagenet)["test"])
    assert sorted(Path(row["file_name"]).name for row in rows) == sorted(path.name for path in every)
    assert {(row["label"], row["is_ood"], row["shift"], row["group"]) for row in rows} == {
        (-1, True, "semantic", f"{name}/{kind}")
    }
    place = "images_classic" if name == "textures" else "images_largescale"
    shutil.copytree(imagenet / folder, tmp_path / place / folder)
    lists = tmp_path / "benchmark_imglist" / "imagenet"
    lists.mkdir(parents=True)
    some = [every[2], every[0]]
    lines = [f"{folder}/{path.relative_to(imagenet / folder).as_posix()} -1" for path in some]
    (lists / f"test_{name}.txt").write_text("\n".join(lines) + "\n")
    data = _load(name, tmp_path)
    assert [Path(row["file_name"]).name for row in _rows(data["test"])] == [path.name for path in some]
    assert any(note.startswith("partial: 2 of ") for note in _record(data).notes)


def test_a_known_class_is_not_out_of_distribution(tmp_path):
    """As n01440764, the tench, would be. Planted fault seen: it is passed over."""
    place = tmp_path / "ssb_hard/n01440764"
    place.mkdir(parents=True)
    (place / "n01440764_1.JPEG").write_bytes(_jpeg())
    with pytest.raises(oochub.OochubError, match="belong to a class of ImageNet-1K, so they are not OOD"):
        _load("ssb_hard", tmp_path)


def test_codec_and_size_are_those_of_the_bytes(tmp_path):
    """A PNG that is called JPEG, as n02105855_2933.JPEG of ImageNet's training set is."""
    place = tmp_path / "imagenet-21k/n02725872"
    place.mkdir(parents=True)
    (place / "n02725872_1.JPEG").write_bytes(_jpeg(codec="PNG", size=(5, 7)))
    (place / "n02725872_2.webp").write_bytes(_jpeg(codec="WEBP", size=(3, 2)))
    first, second = _rows(_load("imagenet_ood", tmp_path)["test"])
    assert (first["codec"], first["width"], first["height"]) == ("PNG", 5, 7)
    assert (second["codec"], second["width"], second["file_name"]) == ("WEBP", 3, "n02725872/n02725872_2.JPEG")


def test_links_and_devices_in_archives_are_never_followed(tmp_path):
    secret = tmp_path / "secret.JPEG"
    secret.write_bytes(_jpeg())
    link = tarfile.TarInfo("n02725872_1.JPEG")
    link.type, link.linkname = tarfile.SYMTYPE, str(secret)
    device = tarfile.TarInfo("n02725872_3.JPEG")
    device.type = tarfile.CHRTYPE
    _tar(tmp_path / "imagenet-21k/n02725872.tar", [(link, b""), (device, b""), ("n02725872_2.JPEG", _jpeg())])
    assert [row["example_id"] for row in _rows(_load("imagenet_ood", tmp_path)["test"])] == ["n02725872_2"]
    assert not any(path.suffix == ".JPEG" for path in (tmp_path / "imagenet-21k").iterdir())  # nothing was extracted


@pytest.mark.parametrize(
    ("data", "message"),
    [(b"", "n02725872_1.JPEG is empty"), (b"<html>404</html>", "n02725872_1.JPEG.* no image in JPEG")],
)
def test_broken_pictures_are_named(tmp_path, data, message):
    place = tmp_path / "imagenet-21k/n02725872"
    place.mkdir(parents=True)
    (place / "n02725872_1.JPEG").write_bytes(data)
    with pytest.raises(oochub.OochubError, match=message):
        _load("imagenet_ood", tmp_path)


def test_the_list_of_openood_is_whole_though_it_is_shorter(tmp_path):
    """It names 5,160 of the 5,640 Textures, in its copies; one image less is partial. Planted fault seen: no remark."""
    folder = tmp_path / "texture" / "banded"
    folder.mkdir(parents=True)
    for k in range(5_160):
        (folder / f"banded_{k:04}.jpg").write_bytes(b"\xff\xd8\xff")
    names = [f"texture/banded/banded_{k:04}.jpg -1\n" for k in range(5_160)]
    (tmp_path / "list.txt").write_text("".join(names))
    listing = list_pictures("textures", tmp_path / "texture", tmp_path / "list.txt")
    assert not listing.gaps
    assert listing.remarks == ("the list of OpenOOD names 5,160 of the 5,640 published images",)
    (tmp_path / "list.txt").write_text("".join(names[1:]))
    listing = list_pictures("textures", tmp_path / "texture", tmp_path / "list.txt")
    assert listing.gaps == ["partial: 5,159 of 5,640 images"] and not listing.remarks


def test_an_archive_cut_between_reading_and_listing(tmp_path):
    """The bytes that a header promised are there or the image is named."""
    archive = _tar(tmp_path / "n02725872.tar", [("n02725872_1.JPEG", _jpeg())])
    (stored,) = imagenet_pictures(tmp_path)
    assert stored.read(tmp_path) == _jpeg()
    archive.write_bytes(archive.read_bytes()[: stored.offset + 9])
    with pytest.raises(oochub.OochubError, match=r"n02725872_1.JPEG in .*n02725872.tar is truncated"):
        stored.read(tmp_path)


def test_pictures_of_no_class_and_folders_that_lack_the_set(imagenet, tmp_path):
    for name in ("imagenet/val/n01443537/ILSVRC2012_val_00000001.JPEG", "imagenet/val/n00004475/b.JPEG"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_bytes(_jpeg())
    with pytest.raises(oochub.OochubError, match=r"1 images in .* belong to no class of ImageNet-1K: n00004475/b.JPEG"):
        _load("imagenet_1k", tmp_path)
    with pytest.raises(oochub.OochubError, match=r"it lacks imagenet-c/") as error:
        _load("fog_1", tmp_path)
    assert re.search(r"found +imagenet/val/", str(error.value)) and re.search(
        r"missing +imagenet-c/\s", str(error.value)
    )
    (tmp_path / "imagenet-c").mkdir()
    with pytest.raises(oochub.OochubError, match="There are no images of imagenet_c"):
        _load("imagenet_c", tmp_path)


def test_renditions_that_are_not_published_are_counted(tmp_path):
    """A word that is misspelt is refused; sketches are sketches whatever they are called."""
    place = tmp_path / "imagenet-r/n01443537"
    place.mkdir(parents=True)
    for name in ("misc_1.jpg", "collage_2.jpg", "photo_3.jpg"):
        (place / name).write_bytes(_jpeg())
    part = _load("imagenet_r", tmp_path)["test"]
    assert {row["group"] for row in _rows(part)} == {"imagenet_r/misc"}
    notes = BuildRecord.of(part.info).notes
    others = "n01443537/collage_2.jpg, n01443537/photo_3.jpg"
    assert f"images of other renditions than the published, so of misc: 2 ({others})" in notes
    (place / "Art_4.jpg").write_bytes(_jpeg())
    with pytest.raises(oochub.OochubError, match=r"Art_4.jpg in .*begins with 'Art', .* Did you mean 'art'\?"):
        _load("imagenet_r", tmp_path)
    (tmp_path / "sketch/n01443537").mkdir(parents=True)
    (tmp_path / "sketch/n01443537/drawing_0.JPEG").write_bytes(_jpeg())
    assert {row["group"] for row in _rows(_load("imagenet_sketch", tmp_path)["test"])} == {"imagenet_sketch/sketch"}
