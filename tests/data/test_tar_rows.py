"""Shards of a user: every key is a row with one image, or the archive is refused with the place of the fault."""

import io
import json
import tarfile
from collections import Counter

import pytest
from PIL import Image

import oochub
from oochub.errors import OochubError, OochubWarning
from oochub.records.build_record import BuildRecord


def _image(number, form):
    file = io.BytesIO()
    Image.new("RGB", (4, 4), (number, 0, 0)).save(file, form)
    return file.getvalue()


PNG = [_image(number, "PNG") for number in range(12)]
JPG = _image(99, "JPEG")


def _write(path, members, mode="w"):
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, mode) as archive:
        for name, content in members:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return path


def _samples(key="{:04}", suffix="png", rows=range(12)):
    return [
        (f"{key.format(number)}.{end}", content)
        for number in rows
        for end, content in ((suffix, PNG[number]), ("cls", str(number % 2).encode()))
    ]


def test_every_byte_of_a_header_that_is_damaged_is_met(tmp_path):
    """The header of each member, at several bytes: refused with an offset, or all twelve rows; never fewer.

    Before, 6 of 12 rows. Planted fault seen: the end of the archive not looked at.
    """
    whole = _write(tmp_path / "whole.tar", _samples()).read_bytes()
    with tarfile.open(tmp_path / "whole.tar") as archive:
        offsets = [member.offset for member in archive]
    refused = 0
    for offset in offsets[::3]:
        for place in (0, 3, 100, 124, 148, 156, 257):
            content = bytearray(whole)
            content[offset + place] ^= 0x15
            (tmp_path / "torn.tar").write_bytes(content)
            try:
                assert oochub.load(tmp_path / "torn.tar")["train"].num_rows == 12
            except OochubError as error:
                assert "at byte " in str(error)
                refused += 1
    assert refused == len(offsets[::3]) * 7


@pytest.mark.parametrize("how", ["a cut at a member", "a cut in a member", "zeros in the middle", "a cut at the end"])
def test_an_archive_that_is_cut_is_refused_with_the_place(how, tmp_path):
    whole = _write(tmp_path / "whole.tar", _samples()).read_bytes()
    with tarfile.open(tmp_path / "whole.tar") as archive:
        offset = archive.getmembers()[12].offset
        end = archive.getmembers()[-1].offset_data + 512
    content = {
        "a cut at a member": whole[:offset],
        "a cut in a member": whole[: offset + 600],
        "zeros in the middle": whole[:offset] + bytes(1024) + whole[offset + 1024 :],
        "a cut at the end": whole[:end],
    }[how]
    (tmp_path / "torn.tar").write_bytes(content)
    with pytest.raises(OochubError, match=r"torn\.tar is (corrupted|truncated).* at byte [\d,]+"):
        oochub.load(tmp_path / "torn.tar")


def test_suffixes_may_be_mixed_and_keys_have_dots(tmp_path):
    """Before: "don't share the same types", or rows without an image; keys with dots were one row.

    The count and the images by the loop that wrote them.
    """
    mixed = [(f"{n:04}.{('png', 'jpg', 'JPEG')[n % 3]}", PNG[n] if n % 3 == 0 else JPG) for n in range(12)]
    classes = [(f"{n:04}.cls", str(n % 2).encode()) for n in range(12)]
    for name, members in {
        "mixed": [each for pair in zip(mixed, classes, strict=True) for each in pair],
        "dots": _samples("n01.v{}.b"),
        "dots after one word": _samples("img.{:03}"),
        "folders": _samples("set.1/part/{}"),
        "images first": sorted(_samples(), key=lambda each: each[0].endswith("cls")),
        "with a dot before": [(f"./{name}", content) for name, content in _samples()],
    }.items():
        data = oochub.load(_write(tmp_path / f"{name}.tar", members))["train"]
        assert data.num_rows == 12 and Counter(data["label"]) == {0: 6, 1: 6}, name
        if name != "mixed":
            assert [row["image"].getpixel((0, 0))[0] % 2 == row["label"] for row in data] == [True] * 12
        assert len(set(data["example_id"])) == 12
    packed = _write(tmp_path / "packed.tar.gz", _samples(), "w:gz")
    assert oochub.load(packed)["train"].num_rows == 12
    assert oochub.load(_write(tmp_path / "shards/train-0.tar", _samples()).parent)["train"].num_rows == 12
    _write(tmp_path / "shards/test-0.tar", _samples(rows=range(5)))
    assert oochub.load(tmp_path / "shards").num_rows == {"train": 12, "test": 5}


def test_fields_of_json_are_columns_and_two_images_of_each_key_too(tmp_path):
    records = [
        (f"{n}.json", json.dumps({"place": "sea", "n": n} | ({} if n else {"more": [1]})).encode()) for n in range(4)
    ]
    members = sorted([*records, *((f"{n}.png", PNG[n]) for n in range(4))])
    data = oochub.load(_write(tmp_path / "a.tar", members))["train"]
    assert data["json.n"][:] == [0, 1, 2, 3] and data["json.more"][:] == [[1], None, None, None]
    pairs = [(f"{n}.{side}.png", PNG[n]) for n in range(4) for side in ("left", "right")]
    data = oochub.load(_write(tmp_path / "b.tar", pairs), image="left.png")["train"]
    assert data.num_rows == 4 and "right.png" in data.column_names


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ([("0003.cls", b"1")], r"contains '0003\.cls' twice, at bytes"),
        ([("0003.jpg", JPG)], r"The key '0003', with '0003\.png' at byte .* has 2 images \(jpg, png\), but other keys"),
        ([("0099.cls", b"1")], r"The key '0099', with .*no image"),
        ([("0099.png", PNG[0]), ("0099.cls", b"cat")], "is not a number"),
        ([("0099.png", PNG[0]), ("0099.json", b"{")], "is not JSON"),
        ([("../0099.png", PNG[0])], "points outside"),
    ],
)
def test_what_cannot_be_one_row_an_image_is_refused(more, words, tmp_path):
    with pytest.raises(OochubError, match=words):
        oochub.load(_write(tmp_path / "a.tar", _samples() + more))


def test_links_are_refused_and_files_without_suffix_are_said(tmp_path):
    path = _write(tmp_path / "a.tar", [*_samples(), ("LICENSE", b"mine"), ("._0000.png", b"x")])
    with pytest.warns(OochubWarning, match="1 file of the shards has no suffix and is left out: LICENSE"):
        data = oochub.load(path)
    assert data["train"].num_rows == 12 and len(BuildRecord.of(data["train"].info).notes) == 1
    with tarfile.open(path, "a") as archive:
        entry = tarfile.TarInfo("0020.png")
        entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(entry)
    with pytest.raises(OochubError, match=r"'0020\.png' at byte [\d,]+, which is not a plain file"):
        oochub.load(path)
