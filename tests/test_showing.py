"""What `oochub show` says of a class, read from its source, is what Python says of it."""

import inspect
from typing import Any

import pytest

import oochub
from oochub.commands.show import _describe as describe

CLASSES = [(kind, name) for kind in ("detector", "objective") for name in oochub.names(kind)]


@pytest.mark.parametrize(("kind", "name"), CLASSES)
def test_the_arguments_of_a_class_are_those_that_it_takes(kind: str, name: str) -> None:
    """Names, defaults and docstrings as `inspect` has them of the imported class, those of a base included."""
    thing = oochub.get(kind, name)
    head, _, text = describe(kind, name).partition("\n\n")
    namespace: dict[str, Any] = {}
    exec(f"from __future__ import annotations\ndef {head}: ...", namespace)  # noqa: S102  our own source
    assert _parameters(namespace[name]) == _parameters(thing)
    assert text == f"{inspect.getdoc(inspect.getmodule(thing))}\n\n{inspect.getdoc(thing)}"


def _parameters(function: Any) -> list[tuple[str, Any, Any]]:
    parameters = inspect.signature(function).parameters.values()
    return [(parameter.name, parameter.kind, parameter.default) for parameter in parameters]


def test_the_raw_folder_is_marked(raw, tmp_path, monkeypatch):
    """Found or missing, of a folder that is named, or in $OOCHUB_DATA; fault planted: the tree without marks."""
    monkeypatch.delenv("OOCHUB_DATA", raising=False)
    (tmp_path / "wilds" / "camelyon17_v1.0").mkdir(parents=True)
    (tmp_path / "wilds" / "camelyon17_v1.0" / "metadata.csv").touch()
    plain = describe("benchmark", "wilds/camelyon17")
    assert "DATA_DIR/\n  camelyon17_v1.0/metadata.csv  one row per patch" in plain
    named = describe("benchmark", "wilds/camelyon17", data_dir=str(raw("wilds/camelyon17")))
    assert "found    camelyon17_v1.0/metadata.csv" in named and "found    camelyon17_v1.0/patches/" in named
    monkeypatch.setenv("OOCHUB_DATA", str(tmp_path))
    every = describe("benchmark", "wilds")
    assert "found    camelyon17_v1.0/metadata.csv" in every and "missing  camelyon17_v1.0/patches/" in every


def test_the_folder_of_one_data_set_is_not_that_of_another(raw):
    """Camelyon17, iWildCam and RxRx1 have a metadata.csv each; planted: it is found for all three."""
    every = describe("benchmark", "wilds", data_dir=str(raw("wilds/camelyon17")))
    assert "found    camelyon17_v1.0/metadata.csv" in every and "found    camelyon17_v1.0/patches/" in every
    assert "missing  iwildcam_v2.0/metadata.csv" in every and "missing  rxrx1_v1.0/metadata.csv" in every


def test_a_folder_that_cannot_be_marked():
    with pytest.raises(oochub.OochubError, match="Folder not found: no/such"):
        describe("benchmark", "nooch", data_dir="no/such")
    with pytest.raises(oochub.OochubError, match="Only benchmarks have raw files, got a folder for a metric"):
        describe("metric", "ece", data_dir=".")
