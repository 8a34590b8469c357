"""Croissant beside a card: every file by its digest, every column by its type, what a build knows of its bias.

`tests/exchange/test_real_programs.py` has mlcroissant read it.
"""

import hashlib
import json
from pathlib import Path

import datasets
import pytest

import oochub
from oochub.loading_scripts.build_repository import build_parquet, build_webdataset
from oochub.repository import write_repository
from oochub.repository.croissant import CROISSANT, _read_citation
from oochub.repository.write_repository import write_user_repository


def described(folder: Path) -> dict:
    return json.loads((folder / CROISSANT).read_text("utf-8"))


def test_a_benchmark_says_its_files_columns_and_bias(spawrious, tmp_path):
    """Two configs, built one after the other: both stand in the file that the second one leaves."""
    folder = tmp_path / "repository"
    for config in ("o2o_hard", "m2m_easy"):
        build_parquet(f"spawrious/{config}", folder, data_dir=str(spawrious))
    told = described(folder)
    assert told["conformsTo"][0] == "http://mlcommons.org/croissant/1.1" and told["name"] == "spawrious"
    written = {str(file.relative_to(folder)): file for file in folder.glob("*/*.parquet")}
    listed = {each["contentUrl"]: each["sha256"] for each in told["distribution"]}
    assert listed == {path: hashlib.sha256(file.read_bytes()).hexdigest() for path, file in written.items()}
    data = datasets.load_dataset(str(folder), "o2o_hard")
    sets = {each["@id"]: each for each in told["recordSet"]}
    assert sets.keys() == {f"{name}/{split}" for name in ("o2o_hard", "m2m_easy") for split in data}
    fields = {each["name"]: each for each in sets["o2o_hard/test"]["field"]}
    assert [*fields] == data["test"].column_names
    assert fields["image"]["dataType"] == "sc:ImageObject" and "0 bulldog, 1 corgi" in fields["label"]["description"]
    assert str(len(data["test"])) in sets["o2o_hard/test"]["description"]
    trained = [row["group"] for row in data["train"]]
    counts = {name: trained.count(number) for number, name in enumerate(data["train"].features["group"].names)}
    biases = next(text for text in told["rai:dataBiases"] if text.startswith("o2o_hard: training rows"))
    assert all(f"{name} {count}" in biases for name, count in counts.items() if count)
    assert "o2o_hard: partial: 20 of 3,168 images in each folder" in told["rai:dataLimitations"]


def test_own_data_say_what_is_declared(tmp_path, monkeypatch):
    """A split of several files is a set of them; columns without a type of Croissant's are left out."""
    monkeypatch.setattr(write_repository, "_FILE", 1)
    rows = "".join(f"gull,sea,{k}\nwren,land,{k}\n" for k in range(600))
    (tmp_path / "birds.csv").write_text("label,context,size\n" + rows)
    out = write_user_repository(str(tmp_path / "birds.csv"), tmp_path / "out")
    told = described(out)
    files = [each for each in told["distribution"] if each["@type"] == "cr:FileObject"]
    (group,) = [each for each in told["distribution"] if each["@type"] == "cr:FileSet"]
    assert len(files) > 1 and group["includes"] == [each["contentUrl"] for each in files]
    sources = {json.dumps(field["source"].get("fileSet")) for field in told["recordSet"][0]["field"]}
    assert sources == {json.dumps({"@id": group["@id"]})}
    assert write_user_repository(str(tmp_path / "birds.csv"), out) == out  # it may take the place of itself


def test_shards_are_files_without_columns(spawrious, tmp_path):
    folder = build_webdataset("spawrious/o2o_hard", tmp_path / "shards", data_dir=str(spawrious))
    told = described(folder)
    assert {Path(each["contentUrl"]).suffix for each in told["distribution"]} == {".tar", ".json"}
    assert told["recordSet"] == [] and "rai:dataUseCases" in told


@pytest.mark.parametrize("name", oochub.names("benchmark"))
def test_each_citation_is_read(name):
    """Each benchmark's BibTeX gives its year, and as many authors as it joins by "and"."""
    citation = oochub.get("benchmark", name).citation
    found = _read_citation(citation)
    assert found["datePublished"] in citation and found["citeAs"] == citation.strip()
    joined = citation.partition("author")[2].partition("title")[0].count(" and ")
    assert len(found.get("creator", [])) in (0, joined + 1) and ("creator" in found) == ("author" in citation)
    assert not any(set("{}\\") & set(each["name"]) for each in found.get("creator", []))
