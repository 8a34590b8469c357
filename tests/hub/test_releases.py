"""A push is a release: a tag, what differs, what is sent of a changed row, and what stays as it was."""

import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest
import yaml
from huggingface_hub import DatasetCard, HfApi
from PIL import Image
from typer.testing import CliRunner

import oochub
from oochub.app import app
from oochub.errors import OochubWarning
from oochub.repository.write_repository import write_user_repository

HERE = "datasets/user/dogs"
_TOML = """
title = "Dogs of Ada"
name = "dogs-of-ada"
version = "{version}"
authors = ["Ada Byron", "Grace Hopper"]
license = "CC BY 4.0"
homepage = "https://example.org/dogs"
citation = "@misc{{ada, author = {{Someone Else}}, year = {{2026}}}}"
[data]
label = "breed"
context = "place"
[usual]
corgi = ["grass"]
husky = ["snow"]
"""


def _author(folder, rows, side=8):
    """A folder of images whose pixels are noise, with a table and a benchmark.toml of version 1.0.0."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    lines = ["file_name,breed,place"]
    for number in range(rows):
        Image.fromarray(rng.integers(0, 256, (side, side, 3), dtype=np.uint8)).save(folder / f"{number:04d}.png")
        breed = ("corgi", "husky")[number % 2]
        lines.append(f"{number:04d}.png,{breed},{('grass', 'snow')[number % 2 ^ (number % 10 < 2)]}")
    (folder / "metadata.csv").write_text("\n".join(lines) + "\n")
    return _version(folder, "1.0.0")


def _version(folder, version):
    (folder / "benchmark.toml").write_text(_TOML.format(version=version))
    return folder


def _built(folder):
    return str(write_user_repository(str(folder), folder.parent / "built"))


def _relabel(folder, number):
    lines = (folder / "metadata.csv").read_text().splitlines()
    name, breed, place = lines[number + 1].split(",")
    lines[number + 1] = ",".join((name, {"corgi": "husky", "husky": "corgi"}[breed], place))
    (folder / "metadata.csv").write_text("\n".join(lines) + "\n")


def _tags():
    return {tag.name: tag.target_commit for tag in HfApi().list_repo_refs("user/dogs", repo_type="dataset").tags}


def test_versions_of_an_author(hub, tmp_path):
    """Tag, card, license, Croissant, what differs, and a dry run that says the same as the push."""
    folder = _author(tmp_path / "mine", 20)
    rehearsed = oochub.push(_built(folder), "user/dogs", dry_run=True)
    first = oochub.push(_built(folder), "user/dogs")
    assert replace(rehearsed, commit=first.commit) == first and first.tag == "1.0.0" and first.changes == ()
    assert {"README.md", "LICENSE.md", "build.json", "croissant.json", "examples.webp"} < set(hub.files(HERE))
    again = oochub.push(_built(folder), "user/dogs")
    assert not again.is_change and again.commit == first.commit
    card = DatasetCard(hub.content(HERE, "README.md").decode())
    assert (card.data.pretty_name, card.data.license) == ("Dogs of Ada", "cc-by-4.0")
    assert 'load_dataset("user/dogs")' in card.text and "oochub audit MODEL user/dogs" in card.text
    croissant = json.loads(hub.content(HERE, "croissant.json"))
    assert [each["name"] for each in croissant["creator"]] == ["Ada Byron", "Grace Hopper"]
    assert croissant["name"] == "dogs-of-ada"

    _relabel(_version(folder, "2.0.0"), 3)
    rehearsed = oochub.push(_built(folder), "user/dogs", dry_run=True)
    second = oochub.push(_built(folder), "user/dogs")
    assert replace(rehearsed, commit=second.commit) == second and second.tag == "2.0.0"
    assert second.changes == ("- `default` 2.0.0, from 1.0.0: 1 row relabelled",)
    assert _tags() == {"1.0.0": first.commit, "2.0.0": second.commit}
    versions = [oochub.load("user/dogs", revision=tag)["train"] for tag in ("1.0.0", "2.0.0")]
    assert [part["label"][3] for part in versions] == [1, 0]
    assert oochub.load("user/dogs@1.0.0")["train"]["label"] == versions[0]["label"]

    with (folder / "metadata.csv").open("a") as table:  # version 3 has one row more, in another file
        table.write("0020.png,corgi,snow\n")
    Image.new("RGB", (8, 8)).save(folder / "0020.png")
    third = oochub.push(_built(_version(folder, "3.0.0")), "user/dogs")
    assert third.changes == ("- `default` 3.0.0, from 2.0.0: 1 row added",)
    words = hub.content(HERE, "README.md").decode()
    assert words.index(third.changes[0]) < words.index(second.changes[0])
    assert not oochub.push(_built(folder), "user/dogs").is_change

    _relabel(folder, 4)  # and no version of its own
    with pytest.warns(OochubWarning, match=r"version 3\.0\.0 differ.*stays where it is"):
        fourth = oochub.push(_built(folder), "user/dogs")
    assert fourth.tag is None and fourth.has_files and _tags()["3.0.0"] == third.commit
    assert fourth.changes == ("- `default` 3.0.0, without a new version: 1 row relabelled",)


def test_a_push_that_was_killed_before_its_tag(hub, tmp_path):
    """The next one sets it, and says so. Planted fault seen: a tag counts as no change."""
    built = _built(_author(tmp_path / "mine", 4))
    first = oochub.push(built, "user/dogs")
    HfApi().delete_tag("user/dogs", tag="1.0.0", repo_type="dataset")
    said = CliRunner().invoke(app, ["push", built, "--to", "user/dogs", "--dry-run"]).output
    assert "tag 1.0.0" in said and "Nothing to change" not in said
    assert oochub.push(built, "user/dogs").tag == "1.0.0" and _tags() == {"1.0.0": first.commit}


def test_a_folder_of_that_name_comes_before_the_hub(hub, tmp_path, monkeypatch):
    """Planted fault seen: the revision split off before the folder is looked for."""
    folder = _author(tmp_path / "mine", 4)
    oochub.push(_built(folder), "user/dogs")
    monkeypatch.chdir(tmp_path)
    _relabel(folder, 0)
    (tmp_path / "user").mkdir()
    write_user_repository(str(folder), tmp_path / "user" / "dogs@1.0.0")
    assert oochub.load("user/dogs@1.0.0")["train"]["label"][0] == 1
    monkeypatch.chdir(tmp_path / "mine")
    assert oochub.load("user/dogs@1.0.0")["train"]["label"][0] == 0


@pytest.mark.parametrize(
    ("licenses", "expected"),
    [
        (("", ""), (None, None)),
        (("MIT License", "MIT License"), ("mit", None)),
        (("CC BY 4.0", "CC0 1.0"), ("other", "cc-by-4.0-and-cc0-1.0")),
        (("Ask the museum.", ""), ("other", "ask-the-museum.")),
    ],
)
def test_licenses_in_the_form_of_the_hub(tmp_path, licenses, expected):
    """Planted fault seen: the license of the images alone, where labels have another."""
    (tmp_path / "rows.csv").write_text("label,context\n" + "a,x\n" * 9 + "b,y\n" * 9)
    lines = ['title = "T"', f'license = "{licenses[0]}"', f'labels_license = "{licenses[1]}"', "[data]"]
    (tmp_path / "benchmark.toml").write_text("\n".join([*lines, 'source = "rows.csv"', ""]))
    out = write_user_repository(str(tmp_path / "benchmark.toml"), tmp_path / "out")
    data = yaml.safe_load((out / "README.md").read_text().split("---")[1])
    assert (data.get("license"), data.get("license_name")) == expected
    assert (out / "LICENSE.md").is_file() == bool(any(licenses))


def _chunks(content: bytes) -> dict[bytes, int]:
    """Digest and size of each content-defined chunk of about 64 kB, at least 8 and at most 128, as Xet cuts them.

    A gear hash, of the last 48 bytes, by doubling: the hash of 2k bytes is that of k and, shifted, of the k before.
    """
    table = np.random.default_rng(7).integers(0, 2**64, 256, dtype=np.uint64)
    value, shift = table[np.frombuffer(content, np.uint8)], 1
    while shift < 64:
        value[shift:] += value[:-shift] << np.uint64(shift)
        shift *= 2
    places = np.flatnonzero(value >> np.uint64(48) == 0) + 1
    chunks, start = {}, 0
    while start < len(content):
        later = places[np.searchsorted(places, start + 2**13) :]
        end = min(int(later[0]) if len(later) else len(content), start + 2**17, len(content))
        chunks[hashlib.sha256(content[start:end]).digest()] = end - start
        start = end
    return chunks


def test_chunks_follow_the_content():
    """Against the definition of the gear hash, byte by byte, and an insertion changes few chunks."""
    content = np.random.default_rng(1).bytes(2**20)
    table = [int(each) for each in np.random.default_rng(7).integers(0, 2**64, 256, dtype=np.uint64)]
    value, start, expected = 0, 0, {}
    for place, byte in enumerate(content, start=1):
        value = (value << 1) + table[byte] & 2**64 - 1
        if (place - start >= 2**13 and value >> 48 == 0) or place - start == 2**17 or place == len(content):
            expected[hashlib.sha256(content[start:place]).digest()] = place - start
            start = place
    assert _chunks(content) == expected
    assert len(_chunks(content[:500_000] + b"!" + content[500_000:]).keys() - expected.keys()) <= 3


@pytest.mark.slow
@pytest.mark.parametrize("change", ["label", "image"])
def test_a_changed_row_sends_little(hub, tmp_path, change):
    """Of 1,000 rows with images: under 5% of the bytes, by chunks, are in no file of the version before."""
    folder = _author(tmp_path / "mine", 1000, side=64)
    oochub.push(_built(folder), "user/dogs")
    before = [hub.content(HERE, path) for path in hub.files(HERE)]
    if change == "label":
        _relabel(folder, 500)
    else:
        Image.new("RGB", (64, 64), "red").save(folder / "0500.png")
    pushed = oochub.push(_built(_version(folder, "1.1.0")), "user/dogs")
    after = [hub.content(HERE, path) for path in hub.files(HERE)]
    there = {digest for content in before for digest in _chunks(content)}
    every = {digest: size for content in after for digest, size in _chunks(content).items()}
    share = sum(size for digest, size in every.items() if digest not in there) / sum(every.values())
    said = {"label": "1 row relabelled", "image": "no row is added"}[change]
    assert len(pushed.changes) == 1 and said in pushed.changes[0]
    assert 0 < share < 0.05


@pytest.mark.parametrize(
    "damage", ["shard", "record", *(pytest.param(name, marks=pytest.mark.slow) for name in ("missing", "digest"))]
)
def test_earlier_rows_that_cannot_be_read_stop_no_push(hub, tmp_path, damage):
    """What stands there was damaged by somebody: the push says so and replaces it."""
    folder = _author(tmp_path / "mine", 4)
    oochub.push(_built(folder), "user/dogs")
    (shard,) = (path for path in hub.files(HERE) if path.endswith(".parquet"))
    where = {"repo_id": "user/dogs", "repo_type": "dataset"}
    if damage == "missing":
        HfApi().delete_file(shard, **where)
    elif damage == "shard":
        HfApi().upload_file(path_or_fileobj=b"PAR1 damaged", path_in_repo=shard, **where)
    else:
        records = json.loads(hub.content(HERE, "build.json"))
        records["default"]["written"] |= {"splits": 7} if damage == "record" else {"digest": "0" * 64}
        HfApi().upload_file(path_or_fileobj=json.dumps(records).encode(), path_in_repo="build.json", **where)
    _relabel(_version(folder, "2.0.0"), 0)
    pushed = oochub.push(_built(folder), "user/dogs")
    assert len(pushed.changes) == 1 and "the earlier rows could not be read" in pushed.changes[0]
    assert oochub.load("user/dogs")["train"]["label"][0] == 1
