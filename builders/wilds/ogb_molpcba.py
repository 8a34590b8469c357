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

from oochub.builders.sources.raw_table import RawTable
from oochub.builders.wilds._data_set import BASE, WildsDataSet, WildsRows, raw_files
from oochub.errors import OochubError
from oochub.records.build_record import BuildFacts
from oochub.records.sides import Rows, Vocabulary
from oochub.storage.reading import NUMPY_FAULTS, check_regular_file

_FOLDER = "ogbg_molpcba"  # that of the package ogb, which downloads it for WILDS
_SPLITS = {"train": "train", "val": "valid", "test": "test"}  # and OGB's names of them
_TASKS = 128
_ATOM = (119, 5, 12, 12, 10, 6, 6, 2, 2)  # how many values each of the nine numbers of an atom has
_BOND = (5, 6, 2)
_ROWS = {"train": 350_343, "val": 43_793, "test": 43_793}


def _read(folder: Path, config: str) -> WildsRows:
    raw = folder / "raw"
    graph, count = _read_graphs(raw)
    label = _read_number_table(raw / "graph-label.csv.gz", columns=_TASKS, dtype="float32", count=count, is_label=True)
    scaffold = _read_scaffolds(raw / "scaffold_group.npy", count)
    smiles, names = _read_mapping(folder / "mapping/mol.csv.gz", count)
    pair, codes = datasets.List(datasets.Value("int16"), length=2), datasets.Value("uint8")
    columns = {
        "labels": (
            datasets.List(datasets.Value("float32")),
            pa.ListArray.from_arrays(np.arange(0, label.size + 1, _TASKS, dtype=np.int32), label.reshape(-1)),
        ),
        "environment": ("int32", scaffold),
        "graph": (
            {
                "nodes": datasets.List(datasets.List(codes, length=len(_ATOM))),
                "edges": datasets.List(pair),
                "edge_features": datasets.List(datasets.List(codes, length=len(_BOND))),
            },
            graph,
        ),
        "scaffold": ("int32", scaffold),
        **({} if smiles is None else {"smiles": ("string", smiles)}),
    }
    split = _split(folder / "split/scaffold", count)
    notes: tuple[str, ...] = ()
    if config.endswith("_random"):
        split = split[np.random.default_rng(0).permutation(count)]
        notes = (
            "the authors published no random split: this one is drawn with seed 0 and is as large as the official one",
        )
    facts = BuildFacts(label_names=names or tuple(f"assay_{number}" for number in range(_TASKS)))
    return WildsRows.of(columns, split.tolist(), list(_SPLITS), facts=facts, notes=notes)


def _read_graphs(raw: Path) -> tuple[pa.StructArray, int]:
    """Each molecule, and how many they are. A bond is two edges, there and back, as OGB's own readers have it."""
    sizes = _read_number_table(raw / "num-node-list.csv.gz", dtype="uint16")[:, 0].astype(np.int64)
    _lines_of(raw / "num-node-list.csv.gz").require(sizes > 0, "the molecule has no atoms")
    count = len(sizes)
    bonds = _read_number_table(raw / "num-edge-list.csv.gz", dtype="uint16", count=count)[:, 0].astype(np.int64)
    atoms = _read_codes(raw / "node-feat.csv.gz", _ATOM, int(sizes.sum()))
    kinds = _read_codes(raw / "edge-feat.csv.gz", _BOND, int(bonds.sum()))
    ends = _read_number_table(raw / "edge.csv.gz", columns=2, dtype="int16", count=int(bonds.sum()))
    molecule = np.repeat(np.arange(count), bonds)
    _lines_of(raw / "edge.csv.gz").require(
        ((ends >= 0) & (ends < sizes[molecule][:, None])).all(axis=1),
        lambda line: (
            f"a bond of molecule {molecule[line]} must join two of its atoms 0..{sizes[molecule[line]] - 1}, "
            f"got {', '.join(map(str, ends[line]))}"
        ),
    )
    both = np.stack([ends, ends[:, ::-1]], axis=1).reshape(-1, 2)
    columns = [
        _split_into_lists(atoms, sizes),
        _split_into_lists(both, 2 * bonds),
        _split_into_lists(kinds.repeat(2, axis=0), 2 * bonds),
    ]
    return pa.StructArray.from_arrays(columns, ["nodes", "edges", "edge_features"]), count


def _lines_of(file: Path, first: int = 0) -> RawTable:
    return RawTable(file=file, place=lambda line: f"line {first + line + 1}")


def _read_codes(file: Path, sizes: tuple[int, ...], count: int) -> NDArray[Any]:
    """Numbers of 0..size - 1, a size each column (count, columns)."""
    values = _read_number_table(file, columns=len(sizes), dtype="uint8", count=count)
    right = values < np.array(sizes)

    def name(line: int) -> str:
        column = int(np.argmin(right[line]))
        return f"number {column + 1} must be in 0..{sizes[column] - 1}, got {values[line, column]}"

    _lines_of(file).require(right.all(axis=1), name)
    return values


def _split_into_lists(values: NDArray[Any], lengths: NDArray[Any]) -> pa.ListArray:
    """A list of rows of `values` (m, d) for each length, in order."""
    inner = pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), values.shape[1])
    return pa.ListArray.from_arrays(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32), inner)


def _check_count(file: Path, lines: int, count: int) -> None:
    if lines != count:
        raise OochubError(
            f"{file} has {lines:,} lines, but there should be {count:,}, as num-node-list.csv.gz and "
            "num-edge-list.csv.gz say. Download the folder again."
        )


def _read_scaffolds(file: Path, count: int) -> NDArray[Any]:
    try:
        with check_regular_file(file).open("rb") as content:
            scaffold: NDArray[Any] = np.lib.format.read_array(content, allow_pickle=False)
    except NUMPY_FAULTS as error:
        raise OochubError(f"{file} is not an .npy file of numbers ({error}). Download it again.") from error
    if scaffold.shape != (count,) or scaffold.dtype.kind not in "iu" or (scaffold < 0).any():
        raise OochubError(
            f"{file} must hold a whole number, 0 or more, for each of {count:,} molecules, got {scaffold.dtype} of "
            f"{scaffold.shape}{', some below 0' if scaffold.dtype.kind in 'iu' else ''}. Download it again."
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
        raise OochubError(f"{file} is not a table with a column smiles ({fault}). Download it again.") from None
    _check_count(file, len(smiles), count)
    names = tuple(name for name in columns if name not in ("smiles", "mol_id"))
    return smiles, names if len(names) == _TASKS else None


def _split(folder: Path, count: int) -> NDArray[Any]:
    """The split of each molecule (count,)."""
    split = np.full(count, "", object)
    for name, stem in _SPLITS.items():
        file = folder / f"{stem}.csv.gz"
        rows = _read_number_table(file, dtype="int64")[:, 0]
        lines = _lines_of(file)
        lines.require(
            (rows >= 0) & (rows < count),
            lambda line, rows=rows: f"a molecule must be a number in 0..{count - 1}, got {rows[line]}",
        )
        lines.require(
            (split[rows] == "") & (np.bincount(rows, minlength=count)[rows] == 1),
            lambda line, rows=rows: f"molecule {rows[line]} is in the splits twice",
        )
        split[rows] = name
    molecules = RawTable(file=folder, place=lambda row: f"molecule {row}")
    molecules.require(split != "", f"it is in none of {', '.join(_SPLITS.values())}")
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
    words=Vocabulary.of("with scaffolds of validation", "with rarer scaffolds", example="molecule", place="with"),
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
    file: Path,
    *,
    columns: int = 1,
    dtype: str,
    count: int | None = None,
    is_label: bool = False,
    block_size: int = _BLOCK,
) -> NDArray[Any]:
    r"""The numbers (n, columns) of a CSV file; of one whose name ends with .gz, unpacked while it is read.

    Such tables have no line of names; they are read in blocks, and wrong lines are named by number.

    Args:
        file: Its path.
        columns: Number of numbers per line.
        dtype: Type of the result, by NumPy's name; a number that it cannot hold is refused.
        count: Number of lines that there should be; None for any.
        is_label: Whether a number is 0 or 1, or left out or nan: it is nan then.
        block_size: Bytes that are held as text at a time; a line must be shorter.

    Raises:
        OochubError: It cannot be read, has no line or another number of them, or a line without `columns` such
            numbers; the line is named.

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
                if not is_label:
                    is_complete = np.logical_and.reduce([column.is_valid().to_numpy(False) for column in block])
                    _lines_of(file, lines).require(is_complete, "a number is missing or nan")
                blocks.append(np.column_stack([column.to_numpy(zero_copy_only=False) for column in block]))
                lines += len(block)
    except (pa.ArrowInvalid, OSError) as error:  # no CSV of numbers; not there, or cut off
        fault = str(error).partition("\n")[0].rstrip(".")
        raise OochubError(
            f"{file}: {fault}. It must have {columns} numbers per line and no header. Download it again."
        ) from None
    values = np.concatenate(blocks).astype(dtype, copy=False)
    if count is not None:
        _check_count(file, len(values), count)
    if is_label:
        right = (np.isin(values, (0, 1)) | np.isnan(values)).all(axis=1)
        _lines_of(file).require(right, "a label must be 0, 1, or empty if unknown")
    return values
