"""Contract of the bridges to other programs: every file of the folder, on an example of the program's own format."""

import hashlib
from pathlib import Path

import pytest
from bridge_rows import IDS, bridge_data, bridge_predictions
from declared_in_tests import declared_in_tests

from oochub import catalog
from oochub.errors import OochubError
from oochub.exchange.bridge import Bridge, find_bridge, get_bridge
from oochub.exchange.export import export
from oochub.storage.ownership import overwriting

BRIDGES = catalog.names("bridge")
EXAMPLES = declared_in_tests("BRIDGE_EXAMPLES", "exchange")
"""What each bridge reads, for the ten rows of tests/helpers/bridge_rows.py: BRIDGE_EXAMPLES = {"name": lambda folder:
path}, written by hand or by the program, never by oochub."""
READERS = [name for name in BRIDGES if get_bridge(name).answers or get_bridge(name).beside]
WRITERS = [(name, kind) for name in BRIDGES for kind in get_bridge(name).written_kinds]
PAGE = Path(__file__).parents[2] / "docs" / "bridges.md"


def read(bridge: Bridge, path: Path) -> list[str]:
    """What a bridge reads: the ids of its answers, else the names of its columns."""
    if bridge.answers:
        return bridge.read(path, None).table.column("example_id").to_pylist()
    return bridge.read_columns(path).column_names


@pytest.mark.parametrize("name", BRIDGES)
def test_a_bridge_says_what_it_is_for(name):
    bridge = get_bridge(name)
    assert bridge.name == name and bridge.title and bridge.title in PAGE.read_text("utf-8"), "docs/bridges.md"
    assert bridge.answers or bridge.beside or bridge.written
    assert bool(bridge.written) == (bool(bridge.written_kinds) or bridge.of_report) and set(
        bridge.written_kinds
    ) <= set(catalog.names("output"))


@pytest.mark.parametrize("name", READERS)
def test_its_own_file_is_recognized_by_it_alone(name, tmp_path):
    assert name in EXAMPLES, f"BRIDGE_EXAMPLES of tests/exchange/test_{name}.py: what the program writes"
    path = EXAMPLES[name](tmp_path)
    head = b"" if path.is_dir() else path.read_bytes()[: 1 << 16]
    assert [other for other in BRIDGES if get_bridge(other).recognizes(path, head)] == [name]
    found = find_bridge(path)
    assert found is not None and found.name == name and read(found, path)


@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file_is_refused_in_words(name, tmp_path):
    """Cut and overwritten at forty places: refused by an `OochubError`, or read; the file stays as it is."""
    path = EXAMPLES[name](tmp_path)
    bridge = get_bridge(name)
    files = [file for file in bridge.files(path) if file.is_file()]
    for file in files:
        content = file.read_bytes()
        for part in range(20):
            place = len(content) * part // 20
            for damaged in (content[:place], content[:place] + b"\xff\x00[" + content[place + 3 :]):
                file.write_bytes(damaged)
                try:
                    read(bridge, path)
                except OochubError as error:
                    assert str(file.parent) in str(error) or file.name in str(error), error
        file.write_bytes(content)
    assert files and read(bridge, path)


@pytest.mark.parametrize("name, kind", WRITERS)
def test_what_it_writes_is_whole_and_the_same_again(name, kind, tmp_path):
    """Same predictions, same bytes; an earlier export is replaced, and nothing else is."""
    bridge, predictions, data = get_bridge(name), bridge_predictions(kind), bridge_data()
    suffix = "" if bridge.written.is_folder else bridge.written.suffixes[0]
    out, other = tmp_path / f"out{suffix}", tmp_path / f"other{suffix}"
    digests = []
    for _ in range(2):
        with overwriting(name == "coco_results"):  # a list of JSON has no place for a mark
            assert export(predictions, name, out, data=data) == out
        files = [out] if out.is_file() else sorted(file for file in out.rglob("[!.]*") if file.is_file())
        digests.append({str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in files})
    assert digests[0] and digests[0] == digests[1]
    assert [file.name for file in tmp_path.iterdir()] == [out.name]
    if bridge.written.is_folder:
        other.mkdir()
        (other / "thesis.txt").write_text("mine")
    else:
        other.write_text("mine")
    with pytest.raises(OochubError, match="not replaced"):
        export(predictions, name, other, data=data)


@pytest.mark.parametrize("name", [name for name in BRIDGES if get_bridge(name).needs_images])
def test_images_that_are_missing_are_named(name, tmp_path):
    predictions, data = bridge_predictions(), bridge_data()
    with pytest.raises(OochubError, match=r"--data-dir|oochub\.load"):
        export(predictions, name, tmp_path / "out")
    with pytest.raises(OochubError, match=IDS[9]):
        export(predictions, name, tmp_path / "out", data={"test": data["test"].select(range(9))})
    with pytest.raises(OochubError, match="no split test"):
        export(predictions, name, tmp_path / "out", data={"train": data["test"]})
    with pytest.raises(OochubError, match="no column of images"):
        export(predictions, name, tmp_path / "out", data={"test": data["test"].remove_columns("image")})
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_written_is_said(tmp_path):
    from oochub import Predictions

    numbers = Predictions.from_arrays(value=[0.5, 1.0], label=[0.0, 1.0])
    for name in {name for name, _ in WRITERS}:
        with pytest.raises(OochubError, match="kind number"):
            export(numbers, name, tmp_path / f"out{''.join(get_bridge(name).written.suffixes[:1])}", data={})
    with pytest.raises(OochubError, match="fiftyone"):
        export(numbers, "fiftyon", tmp_path / "out")
