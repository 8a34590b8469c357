"""OGB-MolPCBA: which of 128 assays a molecule is active in, for molecules with rarer scaffolds."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from oochub.builders.wilds._data_set import BASE, WildsDataSet, WildsRows, of_splits, raw_files, sides_named
from oochub.errors import OochubError
from oochub.records.build_record import BuildFacts
from oochub.records.sides import Rows
from oochub.storage.reading import NUMPY_FAULTS, check_regular_file

_FOLDER = "ogbg_molpcba"  # that of the package ogb, which downloads it for WILDS
_SPLITS = {"train": "train", "val": "valid", "test": "test"}  # and OGB's names of them
_TASKS = 128
_ATOM = (119, 5, 12, 12, 10, 6, 6, 2, 2)  # how many values each of the nine numbers of an atom has
_BOND = (5, 6, 2)
_ROWS = {"train": 350_343, "val": 43_793, "test": 43_793}


def _read(folder: Path, config: str) -> WildsRows:
    graph, count = _read_graphs(folder / "raw")
    label = _read_number_table(folder / "raw/graph-label.csv.gz", columns=_TASKS, dtype="float32", may_be_unknown=True)
    _check_count(folder / "raw/graph-label.csv.gz", len(label), count, "molecules in num-node-list.csv.gz")
    wrong = ~(np.isin(label, (0, 1)) | np.isnan(label)).all(axis=1)
    if wrong.any():
        raise OochubError(
            f"{folder / 'raw/graph-label.csv.gz'}, line {1 + int(wrong.argmax())}: a label must be 0, 1, or empty if "
            "unknown. Fetch it again."
        )
    scaffold = _read_scaffolds(folder / "raw/scaffold_group.npy", count)
    rows = pa.table(
        {
            "example_id": [str(row) for row in range(count)],
            "labels": pa.ListArray.from_arrays(np.arange(0, label.size + 1, _TASKS, dtype=np.int32), label.reshape(-1)),
            "environment": scaffold,
            "graph": graph,
            "scaffold": scaffold,
        }
    )
    smiles, names = _read_mapping(folder / "mapping/mol.csv.gz", count)
    features = {
        "example_id": datasets.Value("string"),
        "labels": datasets.List(datasets.Value("float32")),
        "environment": datasets.Value("int32"),
        "graph": {
            "nodes": datasets.List(datasets.List(datasets.Value("uint8"), length=len(_ATOM))),
            "edges": datasets.List(datasets.List(datasets.Value("int16"), length=2)),
            "edge_features": datasets.List(datasets.List(datasets.Value("uint8"), length=len(_BOND))),
        },
        "scaffold": datasets.Value("int32"),
    }
    if smiles is not None:
        rows, features["smiles"] = rows.append_column("smiles", smiles), datasets.Value("string")
    split = _split(folder / "split/scaffold", count)
    notes: tuple[str, ...] = ()
    if config.endswith("_random"):
        split = split[np.random.default_rng(0).permutation(count)]
        notes = (
            "the authors published no random split: this one is drawn with seed 0 and is as large as the official one",
        )
    facts = BuildFacts(label_names=names or tuple(f"assay_{number}" for number in range(_TASKS)))
    return WildsRows(
        features=datasets.Features(features),
        splits=of_splits(rows, split.tolist(), list(_SPLITS)),
        facts=facts,
        notes=notes,
    )


def _read_graphs(raw: Path) -> tuple[pa.StructArray, int]:
    """Each molecule, and how many they are. A bond is two edges, there and back, as OGB's own readers have it."""
    sizes, bonds = (_read_counts(raw / f"num-{what}-list.csv.gz") for what in ("node", "edge"))
    count = len(sizes)
    _check_count(raw / "num-edge-list.csv.gz", len(bonds), count, "molecules in num-node-list.csv.gz")
    if not sizes.all():
        raise OochubError(
            f"{raw}/num-node-list.csv.gz, line {1 + int(np.argmin(sizes))}: the molecule has no atoms. Fetch it again."
        )
    atoms = _read_codes(raw / "node-feat.csv.gz", _ATOM, int(sizes.sum()), "the sum of num-node-list.csv.gz")
    kinds = _read_codes(raw / "edge-feat.csv.gz", _BOND, int(bonds.sum()), "the sum of num-edge-list.csv.gz")
    file = raw / "edge.csv.gz"
    ends = _read_number_table(file, columns=2, dtype="int16")
    _check_count(file, len(ends), int(bonds.sum()), "the sum of num-edge-list.csv.gz")
    wrong = ((ends < 0) | (ends >= np.repeat(sizes, bonds)[:, None])).any(axis=1)
    if wrong.any():
        line = int(wrong.argmax())
        row = int(np.searchsorted(np.cumsum(bonds), line, side="right"))
        raise OochubError(
            f"{file}, line {line + 1}: a bond of molecule {row} must join two of its atoms 0..{sizes[row] - 1}, got "
            f"{', '.join(map(str, ends[line]))}. Fetch it again."
        )
    both = np.stack([ends, ends[:, ::-1]], axis=1).reshape(-1, 2)
    columns = [
        _split_into_lists(atoms, sizes),
        _split_into_lists(both, 2 * bonds),
        _split_into_lists(kinds.repeat(2, axis=0), 2 * bonds),
    ]
    return pa.StructArray.from_arrays(columns, ["nodes", "edges", "edge_features"]), count


def _read_counts(file: Path) -> NDArray[Any]:
    return _read_number_table(file, columns=1, dtype="uint16")[:, 0].astype(np.int64)


def _read_codes(file: Path, sizes: tuple[int, ...], count: int, what: str) -> NDArray[Any]:
    """Numbers of 0..size - 1, a size each column (count, columns)."""
    values = _read_number_table(file, columns=len(sizes), dtype="uint8")
    _check_count(file, len(values), count, what)
    wrong = values >= np.array(sizes)
    if wrong.any():
        line, column = (int(place) for place in np.argwhere(wrong)[0])
        raise OochubError(
            f"{file}, line {line + 1}: number {column + 1} must be in 0..{sizes[column] - 1}, got "
            f"{values[line, column]}. Fetch it again."
        )
    return values


def _split_into_lists(values: NDArray[Any], lengths: NDArray[Any]) -> pa.ListArray:
    """A list of rows of `values` (m, d) for each length, in order."""
    inner = pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), values.shape[1])
    return pa.ListArray.from_arrays(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32), inner)


def _check_count(file: Path, lines: int, count: int, what: str) -> None:
    if lines != count:
        raise OochubError(f"{file} has {lines:,} lines, but there should be {count:,}: {what}. Fetch the folder again.")


def _read_scaffolds(file: Path, count: int) -> NDArray[Any]:
    try:
        with check_regular_file(file).open("rb") as content:
            scaffold: NDArray[Any] = np.lib.format.read_array(content, allow_pickle=False)
    except NUMPY_FAULTS as error:
        raise OochubError(f"{file} is not an .npy file of numbers ({error}). Fetch it again.") from error
    if scaffold.shape != (count,) or scaffold.dtype.kind not in "iu" or (scaffold < 0).any():
        raise OochubError(
            f"{file} must hold a whole number, 0 or more, for each of {count:,} molecules, got {scaffold.dtype} of "
            f"{scaffold.shape}{', some below 0' if scaffold.dtype.kind in 'iu' else ''}. Fetch it again."
        )
    return scaffold.astype(np.int32)


def _read_mapping(file: Path, count: int) -> tuple[pa.ChunkedArray | None, tuple[str, ...] | None]:
    """The molecules in the notation SMILES and the names of the assays; None without the file."""
    if not os.path.lexists(file):
        return None, None
    try:
        with pa.csv.open_csv(check_regular_file(file)) as reader:
            columns = reader.schema.names
        only = pa.csv.ConvertOptions(include_columns=["smiles"], column_types={"smiles": pa.string()})
        smiles = pa.csv.read_csv(file, convert_options=only).column("smiles")
    except (pa.ArrowInvalid, OSError, KeyError) as error:
        fault = str(error).partition("\n")[0].rstrip(".")
        raise OochubError(f"{file} is not a table with a column smiles ({fault}). Fetch it again.") from None
    _check_count(file, len(smiles), count, "molecules in raw/num-node-list.csv.gz")
    names = tuple(name for name in columns if name not in ("smiles", "mol_id"))
    return smiles, names if len(names) == _TASKS else None


def _split(folder: Path, count: int) -> NDArray[Any]:
    """The split of each molecule (count,)."""
    split = np.full(count, "", object)
    for name, stem in _SPLITS.items():
        file = folder / f"{stem}.csv.gz"
        rows = _read_number_table(file, columns=1, dtype="int64")[:, 0]
        wrong = (rows < 0) | (rows >= count)
        if wrong.any():
            line = int(wrong.argmax())
            raise OochubError(
                f"{file}, line {line + 1}: a molecule must be a number in 0..{count - 1}, got {rows[line]}. Fetch it "
                "again."
            )
        taken = (split[rows] != "") | (np.bincount(rows, minlength=count)[rows] > 1)
        if taken.any():
            line = int(taken.argmax())
            raise OochubError(f"{file}, line {line + 1}: molecule {rows[line]} is in the splits twice. Fetch it again.")
        split[rows] = name
    if (split == "").any():
        raise OochubError(
            f"{folder}: molecule {int(np.argmax(split == ''))} is in none of {', '.join(_SPLITS.values())}. Fetch it "
            "again."
        )
    return split


_official = replace(
    BASE,
    sources=("molpcba", "pcba"),
    title="OGB-MolPCBA",
    summary="Molecules and the assays in which they are active, with scaffolds that are not in training.",
    version="1.0.0",
    homepage="https://ogb.stanford.edu/docs/graphprop/#ogbg-mol",
    raw_files=raw_files(
        _FOLDER,
        {
            "raw/edge.csv.gz": "one bond per line: its two atoms",
            "raw/node-feat.csv.gz": "one atom per line: 9 numbers",
            "raw/edge-feat.csv.gz": "one line per bond: 3 numbers",
            "raw/num-node-list.csv.gz": "one line per molecule: its atoms",
            "raw/num-edge-list.csv.gz": "one line per molecule: its bonds",
            "raw/graph-label.csv.gz": "one line per molecule: 128 labels",
            "raw/scaffold_group.npy": "from snap.stanford.edu/ogb/data/misc/ogbg_molpcba/",
            "split/scaffold/train.csv.gz": "molecules of training",
            "split/scaffold/valid.csv.gz": "of validation",
            "split/scaffold/test.csv.gz": "of the test",
            "mapping/mol.csv.gz": "molecules as SMILES, names of the assays",
        },
        size="0.04 GB",
        license="MIT",
        optional=["mapping/mol.csv.gz"],
        url="https://ogb.stanford.edu/docs/graphprop/#ogbg-mol",
    ),
    in_context=Rows(name="scaffolds of validation", split="val"),
    out_of_context=Rows(name="rarer scaffolds", split="test"),
    primary_metric="mean_average_precision",
    metrics=("mean_average_precision",),
    input="graphs",
    output="labels",
    words=sides_named(
        example="molecule",
        inside="with scaffolds of validation",
        outside="with rarer scaffolds",
        place="with",
    ),
    context_column="scaffold",
    images_license="MIT",
    annotations_license="MIT",
    task_category="graph-ml",
    toy_world="toy_wilds_ogb_molpcba",
)

ogb_molpcba = WildsDataSet(
    name="ogb_molpcba",
    version="1",
    folder_name=_FOLDER,
    configs={"ogb_molpcba": _official, "ogb_molpcba_random": _official},
    read=_read,
    rows={"ogb_molpcba": _ROWS, "ogb_molpcba_random": _ROWS},
)


_BLOCK = 2**22  # bytes
_UNKNOWN = ["", "nan", "NaN"]


def _read_number_table(
    file: Path, *, columns: int, dtype: str, may_be_unknown: bool = False, block_size: int = _BLOCK
) -> NDArray[Any]:
    r"""The numbers (n, columns) of a CSV file; of one whose name ends with .gz, unpacked while it is read.

    Such tables have no line of names; they are read in blocks, and wrong lines are named by number.

    Args:
        file: Its path.
        columns: Number of numbers per line.
        dtype: Type of the result, by NumPy's name; a number that it cannot hold is refused.
        may_be_unknown: Whether a number may be left out or nan, for a `dtype` of floats: it is nan then.
        block_size: Bytes that are held as text at a time; a line must be shorter.

    Raises:
        OochubError: It cannot be read, has no line, or a line without `columns` such numbers; the line is named.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "edge.csv"
    >>> _ = file.write_text("0,1\n1,2x\n")
    >>> _read_number_table(file, columns=2, dtype="int16")
    Traceback (most recent call last):
    oochub.errors.OochubError: ...edge.csv: In CSV column #1: Row #2: ... invalid value '2x'. It must ... again.
    """
    names = [str(number) for number in range(columns)]
    blocks: list[NDArray[Any]] = []
    lines = 0
    try:
        with pa.csv.open_csv(
            check_regular_file(file),
            read_options=pa.csv.ReadOptions(column_names=names, block_size=block_size, use_threads=False),
            parse_options=pa.csv.ParseOptions(ignore_empty_lines=False),
            convert_options=pa.csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.from_numpy_dtype(np.dtype(dtype))), null_values=_UNKNOWN
            ),
        ) as reader:
            for block in reader:
                if not may_be_unknown:
                    _refuse_nulls(block, file, first=lines)
                blocks.append(np.column_stack([column.to_numpy(zero_copy_only=False) for column in block]))
                lines += len(block)
    except (pa.ArrowInvalid, OSError) as error:  # no CSV of numbers; not there, or cut off
        fault = str(error).partition("\n")[0].rstrip(".")
        raise OochubError(
            f"{file}: {fault}. It must have {columns} numbers per line and no header. Fetch it again."
        ) from None
    return np.concatenate(blocks).astype(dtype, copy=False)


def _refuse_nulls(block: pa.RecordBatch, file: Path, *, first: int) -> None:
    for column in block:
        if column.null_count:
            line = first + 1 + int(np.argmax(column.is_null()))
            raise OochubError(f"{file}, line {line}: a number is missing or nan. Fetch it again.")
