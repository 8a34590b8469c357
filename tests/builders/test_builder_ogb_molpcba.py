"""OGB-MolPCBA as `wilds`: its rows against OGB's files as pandas reads them, wrong lines by number."""

import gzip
import re
import shutil

import numpy as np
import pandas as pd
import pytest
from datasets import load_dataset

import oochub
from oochub.builders.wilds.ogb_molpcba import _read_number_table
from oochub.records.build_record import BuildRecord

_SPLITS = {"train": "train", "val": "valid", "test": "test"}


@pytest.fixture
def own(raw, tmp_path):
    """A copy of the toy folder that a test may change."""
    folder = tmp_path / "ogbg_molpcba"
    shutil.copytree(raw("wilds/ogb_molpcba"), folder)
    return folder


def _table(file):
    return pd.read_csv(file, header=None)


def test_rows_are_those_of_the_files(raw):
    """Reference: pandas, a loop over molecules, each bond there and back as `read_csv_graph_raw` of ogb repeats it."""
    folder = raw("wilds/ogb_molpcba")
    atoms, bonds, kinds = (_table(folder / f"raw/{name}.csv.gz") for name in ("node-feat", "edge", "edge-feat"))
    nodes, edges = (_table(folder / f"raw/num-{what}-list.csv.gz")[0] for what in ("node", "edge"))
    labels, scaffolds = _table(folder / "raw/graph-label.csv.gz"), np.load(folder / "raw/scaffold_group.npy")
    mapping = pd.read_csv(folder / "mapping/mol.csv.gz")
    data = load_dataset("wilds", "ogb_molpcba", data_dir=str(folder))
    assert list(data) == list(_SPLITS)
    first = list(data["train"].features)[:4]
    assert first == ["example_id", "labels", "environment", "graph"]
    for split, stem in _SPLITS.items():
        part = data[split]
        assert sorted(map(int, part["example_id"])) == _table(folder / f"split/scaffold/{stem}.csv.gz")[0].tolist()
        for row in part:
            k = int(row["example_id"])
            atom, bond = nodes[:k].sum(), edges[:k].sum()
            graph = row["graph"]
            assert graph["nodes"] == atoms[atom : atom + nodes[k]].to_numpy().tolist()
            there = bonds[bond : bond + edges[k]].to_numpy().tolist()
            assert graph["edges"] == [pair for a, b in there for pair in ([a, b], [b, a])]
            own = kinds[bond : bond + edges[k]].to_numpy().tolist()
            assert graph["edge_features"] == [kind for kind in own for _ in range(2)]
            np.testing.assert_array_equal(row["labels"], labels.loc[k].to_numpy())
            assert row["scaffold"] == row["environment"] == scaffolds[k] and row["smiles"] == mapping["smiles"][k]
            assert row["from_source_domain"] is (split == "train")
    facts = BuildRecord.of(data["train"].info).facts
    assert facts.label_names == tuple(mapping.columns[:128])


def test_the_random_split_has_the_sizes_of_the_official(raw):
    """Scaffolds are in both of its sides, and the note says whose split it is; no molecule is lost."""
    folder = str(raw("wilds/ogb_molpcba"))
    official, other = (load_dataset("wilds", f"ogb_molpcba{name}", data_dir=folder) for name in ("", "_random"))
    assert other.num_rows == official.num_rows
    assert sorted(id_ for part in other.values() for id_ in part["example_id"]) == sorted(
        id_ for part in official.values() for id_ in part["example_id"]
    )
    assert set(other["train"]["scaffold"]) & set(other["test"]["scaffold"])
    assert not set(official["train"]["scaffold"]) & set(official["test"]["scaffold"])
    assert any("published no random split" in note for note in BuildRecord.of(other["train"].info).notes)


def _changed(file, change):
    file.write_bytes(gzip.compress(change(gzip.decompress(file.read_bytes()).decode()).encode()))


def _third(text):
    """Puts a text in place of the third line."""

    def change(content):
        lines = content.splitlines(keepends=True)
        lines[2] = text + "\n"
        return "".join(lines)

    return change


_WRONG = {
    "an atom short": (
        "raw/node-feat",
        lambda text: text[: text[:-1].rindex("\n") + 1],
        "lines, but there should be 2,646",
    ),
    "a bond short": ("raw/edge", lambda text: text[: text[:-1].rindex("\n") + 1], "lines, but there should be 2,646"),
    "an unknown atom": ("raw/node-feat", _third("119,0,4,5,2,0,2,0,1"), "line 3: number 1 must be in 0..118, got 119"),
    "another atom's bond": ("raw/edge", _third("0,99"), "line 3: a bond of molecule 0 must join two of its atoms 0.."),
    "no number": ("raw/edge-feat", _third("0,x,0"), "Row #3: CSV conversion error to uint8: invalid value 'x'"),
    "a number left out": ("raw/edge-feat", _third("0,,0"), "line 3: a number is missing or nan"),
    "a field more": ("raw/edge", _third("0,1,2"), "Row #3: Expected 2 columns, got 3"),
    "no atom": ("raw/num-node-list", _third("0"), "line 3: the molecule has no atoms"),
    "a molecule short": ("raw/num-edge-list", lambda text: text[: text[:-1].rindex("\n") + 1], "has 215 lines, but"),
    "a label of 2": (
        "raw/graph-label",
        _third(",".join(["2.0"] * 128)),
        "line 3: a label must be 0, 1, or empty if unknown",
    ),
    "labels short": ("raw/graph-label", lambda text: text[: text[:-1].rindex("\n") + 1], "has 215 lines"),
    "a row too high": ("split/scaffold/test", _third("216"), "line 3: a molecule must be a number in 0..215, got 216"),
    "no row": ("split/scaffold/test", _third("x"), "Row #3: CSV conversion error"),
    "a row left out": ("split/scaffold/test", lambda text: text.partition("\n")[2], "is in none of train, valid, test"),
    "no smiles": ("mapping/mol", lambda text: text.replace("smiles", "text"), "not a table with a column smiles"),
    "smiles short": ("mapping/mol", lambda text: text[: text[:-1].rindex("\n") + 1], "has 215 lines"),
}


@pytest.mark.parametrize("fault", _WRONG)
def test_a_wrong_line_is_named(fault, own):
    """Planted faults seen: a check of lines that counts from 0; a label of 2 that is taken."""
    name, change, message = _WRONG[fault]
    file = own / f"{name}.csv.gz"
    _changed(file, change)
    with pytest.raises(oochub.OochubError, match=re.escape(message)) as error:
        load_dataset("wilds", "ogb_molpcba", data_dir=str(own))
    assert name.rpartition("/")[0] in str(error.value)


def test_a_molecule_in_two_splits_is_named(own):
    train = gzip.decompress((own / "split/scaffold/train.csv.gz").read_bytes()).decode().splitlines()
    for text in (f"{train[1]}\n", "0\n0\n"):
        _changed(own / "split/scaffold/valid.csv.gz", lambda content, text=text: text + content)
        with pytest.raises(oochub.OochubError, match=r"valid\.csv\.gz, line 1: molecule \d+ is in the splits twice"):
            load_dataset("wilds", "ogb_molpcba", data_dir=str(own))


def test_a_file_that_is_cut_off_or_no_gzip_is_named(own):
    """A pickle among them, which is not opened."""
    file = own / "raw/edge.csv.gz"
    whole = file.read_bytes()
    for content in (whole[:-20], b"0,1\n", whole[:2]):
        file.write_bytes(content)
        with pytest.raises(oochub.OochubError, match=r"edge\.csv\.gz: .* Download it again"):
            load_dataset("wilds", "ogb_molpcba", data_dir=str(own))
    file.write_bytes(whole)
    scaffolds = own / "raw/scaffold_group.npy"
    for values in (np.array([print], object), np.zeros(3, int), np.full(216, -1), np.zeros(216)):
        np.save(scaffolds, values, allow_pickle=True)
        with pytest.raises(
            oochub.OochubError, match=r"scaffold_group\.npy (is not an \.npy file|must hold a whole number)"
        ):
            load_dataset("wilds", "ogb_molpcba", data_dir=str(own))


def test_without_the_mapping(own):
    """The file is optional: assays are then numbered."""
    (own / "mapping/mol.csv.gz").unlink()
    part = load_dataset("wilds", "ogb_molpcba", data_dir=str(own))["test"]
    assert "smiles" not in part.column_names
    assert BuildRecord.of(part.info).facts.label_names[127] == "assay_127"


@pytest.mark.parametrize("block", [64, 4096])
def test_lines_are_counted_over_blocks(block, tmp_path):
    """Against numpy, in blocks of a few lines; the line of a fault is that of the file."""
    file = tmp_path / "table.csv.gz"
    values = np.random.default_rng(0).integers(0, 9, (300, 3))
    lines = [",".join(map(str, row)) for row in values]
    file.write_bytes(gzip.compress("\n".join(lines).encode()))
    np.testing.assert_array_equal(_read_number_table(file, columns=3, dtype="uint8", block_size=block), values)
    for text, message in (("1,,2", "line 251: a number is missing"), ("1,x,2", "Row #251: CSV conversion error")):
        file.write_bytes(gzip.compress("\n".join([*lines[:250], text, *lines[250:]]).encode()))
        with pytest.raises(oochub.OochubError, match=message):
            _read_number_table(file, columns=3, dtype="uint8", block_size=block)
