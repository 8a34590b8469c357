"""What the hub wrote is written again; what it did not write stays as it is, whatever its name."""

import os
import stat

import numpy as np
import pytest
from foreign_files import FOREIGN
from reports import nooch_report, read

import oochub
from oochub.report.report import Report
from oochub.storage import artifacts
from oochub.storage.artifacts import FileKind
from oochub.storage.files import check_writable, write_whole
from oochub.storage.ownership import overwriting
from oochub.studies import file_kinds

KINDS = {name: kind for name, kind in {**vars(artifacts), **vars(file_kinds)}.items() if isinstance(kind, FileKind)}


@pytest.fixture(scope="module")
def report() -> Report:
    return read(nooch_report())


@pytest.fixture(scope="module")
def predictions() -> oochub.Predictions:
    logits = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 0.5]])
    return oochub.Predictions.from_arrays(logits=logits, label=np.array([1, 0, 1]), class_names=["cat", "dog"])


@pytest.mark.parametrize("name", KINDS)
def test_something_else_is_not_replaced(tmp_path, name):
    """Planted faults: each `recognizes` in turn as one that says yes to everything."""
    kind = KINDS[name]
    for suffix in kind.suffixes or ("",):
        target = tmp_path / f"thing{suffix}"
        if kind.is_folder:
            target.mkdir()
            (target / "thesis.docx").write_bytes(b"PK")
        else:
            target.write_bytes(FOREIGN[suffix])
        with pytest.raises(
            oochub.OochubError, match=f"what stands there is not {kind.name} that oochub wrote, and is not replaced"
        ):
            check_writable(target, kind=kind)


@pytest.mark.slow
def test_own_files_are_replaced(tmp_path, report, predictions):
    """Each twice; and an empty file, which `touch` or `mktemp` makes, by anything."""
    for _ in range(2):
        predictions.save(tmp_path / "p.parquet")
        report.save(tmp_path / "r.json")
        report.to_html(tmp_path / "r.html")
        for suffix in (".png", ".pdf", ".svg"):
            with write_whole(tmp_path / f"gap{suffix}", kind=artifacts.FIGURE) as draft:
                report.plot("gap").figure.savefig(draft)
    (tmp_path / "empty.json").touch()
    report.save(tmp_path / "empty.json")
    assert len(oochub.Predictions.load(tmp_path / "p.parquet")) == 3
    assert (tmp_path / "empty.json").read_bytes() == (tmp_path / "r.json").read_bytes()


@pytest.mark.parametrize("name", ["dogs.json", "p.csv", "p"])
def test_predictions_never_take_the_place_of_a_report(tmp_path, report, predictions, name):
    """The issue's `predict --out dogs.json` over a report. Planted fault: `save` without its kind."""
    target = tmp_path / name
    target.write_text("kept")
    with pytest.raises(oochub.OochubError, match=r"its name must end in \.parquet"):
        predictions.save(target)
    with pytest.raises(oochub.OochubError, match=r"its name must end in \.parquet"):
        oochub.predict("nowhere", None, out=target)
    assert target.read_text() == "kept"


def test_a_report_never_takes_the_place_of_another_json(tmp_path, report):
    """A package.json is JSON too; a page is no page of ours. Planted fault: `save` and `to_html` without their kind."""
    for target, write in ((tmp_path / "package.json", report.save), (tmp_path / "index.html", report.to_html)):
        target.write_bytes(FOREIGN[target.suffix])
        with pytest.raises(oochub.OochubError, match="and is not replaced"):
            write(target)
        assert target.read_bytes() == FOREIGN[target.suffix]


def test_no_link_is_followed_and_a_mode_kept(tmp_path, predictions):
    """A link to our own file is refused, with `--overwrite` too; 640 came back as 644."""
    predictions.save(tmp_path / "real.parquet")
    (tmp_path / "real.parquet").chmod(0o640)
    (tmp_path / "link.parquet").symlink_to("real.parquet")
    before = (tmp_path / "real.parquet").stat().st_ino
    for allowed in (False, True):
        with overwriting(allowed), pytest.raises(oochub.OochubError, match=r"link\.parquet: it is a link"):
            predictions.save(tmp_path / "link.parquet")
    assert (tmp_path / "real.parquet").stat().st_ino == before
    predictions.save(tmp_path / "real.parquet")
    assert stat.S_IMODE((tmp_path / "real.parquet").stat().st_mode) == 0o640


def test_what_is_no_file_is_refused_and_the_null_device_is_not(tmp_path, predictions):
    """A pipe or device was replaced by a file. Planted fault: the check of regular files left out."""
    os.mkfifo(tmp_path / "pipe.parquet")
    with pytest.raises(oochub.OochubError, match="it is a pipe, socket or device"):
        predictions.save(tmp_path / "pipe.parquet")
    predictions.save("/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)  # noqa: PTH116  as the system has it


def test_a_detector_and_a_repository_know_their_folders(tmp_path):
    """A project's README is no card; a folder of notes is no detector."""
    energy = oochub.get("detector", "energy")()
    for _ in range(2):
        energy.save(tmp_path / "energy")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("mine")
    with pytest.raises(oochub.OochubError, match="is not a detector"):
        energy.save(tmp_path / "notes")
    (tmp_path / "project" / "data").mkdir(parents=True)
    (tmp_path / "project" / "data" / "own.parquet").touch()
    (tmp_path / "project" / "README.md").write_text("# My project\n")
    with pytest.raises(oochub.OochubError, match="is not a Parquet repository"):
        check_writable(tmp_path / "project", kind=artifacts.REPOSITORY)


def test_what_a_killed_process_left_is_no_obstacle(tmp_path):
    """A run that was killed before its first file leaves hidden names alone."""
    for kind in KINDS.values():
        if kind.is_folder:
            (tmp_path / kind.name / ".draft").mkdir(parents=True)
            check_writable(tmp_path / kind.name, kind=kind)
