"""Shards of a built WebDataset and their index with one thing wrong: the shard is named, or the rows are the same."""

import hashlib
import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pytest
from fuzz_case import CHANGED, REFUSED, SAME, Campaign, Case, Format, Used
from mutations import edited, json_cases, json_text_cases, place_cases
from PIL import Image

from oochub.data.shards import ShardRows
from oochub.repository.write_webdataset import SplitRows, write_webdataset

_FEATURES = datasets.Features(
    {
        "example_id": datasets.Value("string"),
        "image": datasets.Image(decode=False),
        "label": datasets.ClassLabel(names=["no car", "car"]),
        "area": datasets.Value("float32"),
        "objects": datasets.List(datasets.Value("int64")),
    }
)


def _rows(count: int) -> datasets.Dataset:
    pictures = []
    for k in range(count):
        file = io.BytesIO()
        Image.new("RGB", (4, 4), (40 * k, 99, 199)).save(file, "PNG")
        pictures.append({"bytes": file.getvalue(), "path": f"{k}.png"})
    columns = {"image": pictures, "label": [k % 2 for k in range(count)], "area": [k / 7 for k in range(count)]}
    ids = [f"row {k}" for k in range(count)]
    return datasets.Dataset.from_dict(
        {"example_id": ids, **columns, "objects": [list(range(k)) for k in range(count)]}, _FEATURES
    )


def _make(folder: Path) -> None:
    splits = {
        name: SplitRows(count, lambda count=count: _rows(count).with_format("arrow").iter(5))
        for name, count in (("train", 16), ("test", 2))
    }
    write_webdataset(splits, folder, name="tiny", features=_FEATURES)


def _use(folder: Path, out: Path) -> Used:
    parts = ShardRows(folder).as_streaming_dataset()
    numbers = {}
    for name, part in parts.items():
        rows = list(part.cast_column("image", datasets.Image(decode=False)))
        numbers[name] = [row | {"image": hashlib.sha256(row["image"]["bytes"]).hexdigest()} for row in rows]
    return Used(numbers=numbers)


SHARDS = Format(name="shards", make=_make, use=_use)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


Member = tuple[str, bytes]


def _repacked(change: Callable[[list[Member]], list[Member]]) -> Callable[[Path], None]:
    """The first shard of train packed anew, and the index made to fit it: only what it holds is wrong."""

    def mutate(folder: Path) -> None:
        index = json.loads((folder / "index.json").read_text())
        shard = index["datasets"][0]["shardlist"][0]
        path = folder / shard["url"]
        with tarfile.open(path) as archive:
            members = [(member.name, archive.extractfile(member).read()) for member in archive]
        with tarfile.open(path, "w") as archive:
            for name, content in change(members):
                entry = tarfile.TarInfo(name)
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
        shard |= {"filesize": path.stat().st_size, "sha256": _digest(path.read_bytes())}
        (folder / "index.json").write_text(json.dumps(index))

    return mutate


def _json(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    """The JSON of the first sample changed in place."""

    def repack(members: list[Member]) -> list[Member]:
        record = json.loads(members[1][1])
        change(record)
        return [members[0], (members[1][0], json.dumps(record).encode()), *members[2:]]

    return _repacked(repack)


def _raw(text: bytes) -> Callable[[Path], None]:
    return _repacked(lambda members: [members[0], (members[1][0], text), *members[2:]])


def _first(folder: Path) -> Path:
    return next(iter(sorted(folder.glob("train-00000-*.tar"))))


def _on_shard(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def mutate(folder: Path) -> None:
        path = _first(folder)
        path.write_bytes(change(path.read_bytes()))

    return mutate


def _swapped(folder: Path) -> None:
    """Two shards of one size under each other's names, as after a copy from two builds."""
    one, other = sorted(folder.glob("train-*.tar"))[:2]
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)


_WRONG = {"text": "abc", "a fraction": 1.5, "a list": [1], "an object": {"a": 1}, "huge": 10**30}
_MADE = {
    "__kind__": "wids-shard-index-v1",
    "name": "tiny",
    "datasets": [{"name": "train", "shardlist": [{"url": "a", "nsamples": 2, "filesize": 9, "sha256": "b"}]}],
    "extension": "png",
}


def _of_index(place: str, word: str) -> frozenset[str]:
    """Its kind and name say nothing of the rows; a split, or its last shards, may be taken out of the list."""
    if place.startswith("__kind__") or place == "name":
        return frozenset({REFUSED, SAME})
    return frozenset({REFUSED, CHANGED}) if place.startswith("datasets") else frozenset({REFUSED})


CASES = [
    *place_cases("index.json"),
    *json_text_cases("index.json"),
    *json_cases("index.json", _MADE, _of_index),
    Case(name="no columns", mutate=edited("index.json", lambda index: index.pop("columns"))),
    Case(name="a column of no type", mutate=edited("index.json", lambda index: index["columns"].update(label={}))),
    Case(
        name="a column of a type that is none",
        mutate=edited("index.json", lambda index: index["columns"]["area"].update(dtype="float31")),
    ),
    *(
        Case(
            name=f"a column that is {content}",
            mutate=edited("index.json", lambda i, c=content: i["columns"].update(label=c)),
        )
        for content in ([], [[]], [1], {"_type": "ClassLabel", "names": 3}, {"_type": "ClassLabel", "names": [3, 4]})
    ),
    Case(
        name="a class that is a program",
        mutate=edited("index.json", lambda index: index["columns"]["area"].update(_type="os.system")),
    ),
    *(
        Case(
            name=f"a shard {url!r}",
            mutate=edited("index.json", lambda i, url=url: i["datasets"][0]["shardlist"][0].update(url=url)),
        )
        for url in ("../x.tar", "/etc/passwd", "..", "", "http://example.org/x.tar", "pipe:cat /etc/passwd")
    ),
    Case(name="a shard missing", mutate=lambda folder: _first(folder).unlink()),
    Case(name="a shard that is a folder", mutate=lambda f: (path := _first(f)).unlink() or path.mkdir()),
    *(
        Case(name=f"a shard cut at {tenth}/10", mutate=_on_shard(lambda data, t=tenth: data[: len(data) * t // 10]))
        for tenth in range(10)
    ),
    *(
        Case(
            name=f"a shard with byte {at} changed",
            mutate=_on_shard(lambda data, at=at: data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]),
        )
        for at in range(0, 4096, 256)
    ),
    Case(name="a shard of zeros", mutate=_on_shard(lambda data: bytes(len(data)))),
    Case(name="two shards swapped", mutate=_swapped),
    Case(name="a sample without its JSON", mutate=_repacked(lambda members: [members[0], *members[2:]])),
    Case(name="a sample without its image", mutate=_repacked(lambda members: members[1:])),
    Case(name="a sample less", mutate=_repacked(lambda members: members[2:])),
    Case(name="the last sample less", mutate=_repacked(lambda members: members[:-2])),
    Case(name="a sample twice", mutate=_repacked(lambda members: [*members[:2], *members[:2], *members[4:]])),
    Case(name="a sample more", mutate=_repacked(lambda m: [*m, ("000000099.png", m[0][1]), ("000000099.json", b"{}")])),
    Case(name="a member twice", mutate=_repacked(lambda members: [members[0], *members])),
    Case(name="an image of another extension", mutate=_repacked(lambda m: [("000000000.jpg", m[0][1]), *m[1:]])),
    Case(name="a key with a dot", mutate=_repacked(lambda m: [("0.00.png", m[0][1]), *m[1:]])),
    Case(name="a member that leads out", mutate=_repacked(lambda m: [("../000000000.png", m[0][1]), *m[1:]])),
    *(Case(name=f"JSON without {key}", mutate=_json(lambda row, key=key: row.pop(key))) for key in _FEATURES),
    Case(name="JSON with one more key", mutate=_json(lambda row: row.update(other=1))),
    *(
        Case(name=f"{key} is {word}", mutate=_json(lambda row, key=key, value=value: row.update({key: value})))
        for key in ("label", "area", "objects", "example_id")
        for word, value in _WRONG.items()
        if (key, word) not in {("area", "a fraction"), ("objects", "a list"), ("example_id", "text"), ("area", "huge")}
    ),
    *(
        Case(name=f"JSON that is {text[:12]!r}", mutate=_raw(text))
        for text in (b"", b"{", b"[]", b"null", b"3", b"\xff\xfe", b'{"a": 1', b"[" * 100_000, b'"\\ud800"')
    ),
]


@pytest.mark.campaign
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_shards(campaign: Campaign, case: Case) -> None:
    """Faults planted: a digest that is not compared, a key that is not looked at, a JSON whose keys are not."""
    campaign.run(SHARDS, case)
