"""Py150-wilds: the next token of Python code, in repositories that are not in training."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oochub.builder import make_features
from oochub.builders.sources.raw_table import RawColumn, RawTable
from oochub.builders.wilds._data_set import BASE, WildsDataSet, WildsRows, raw_files
from oochub.errors import OochubError
from oochub.metric import TOKEN_KINDS
from oochub.records.sides import Rows, Vocabulary
from oochub.storage.reading import read_json, read_lines

_FOLDER = "py150_v1.0"
_NAMES = "metadata/repo_file_names"
_FILES = {"train": "train", "id_val": "IDval", "val": "OODval", "id_test": "IDtest", "test": "OODtest"}
_SPLITS = ("train", "val", "test", "id_val", "id_test")
_MASKED = -100  # the kind, and the next token, that nobody asks for
_WORDS = 50_001  # of the tokenizer of microsoft/CodeGPT-small-py, by which WILDS made the tokens
_KINDS = ", ".join(f"{number} ({name})" for number, name in enumerate(TOKEN_KINDS))
_NO_KIND = -1  # as `datasets` says that a row has no class


def _read(folder: Path, config: str) -> WildsRows:
    numbers = _read_repositories(folder / _NAMES / "repo_ids.csv")
    splits, first, length, listed = {}, 0, 0, Counter[str]()
    for split, name in _FILES.items():
        file, of_kinds = (folder / "processed" / f"{name}_input{end}.json" for end in ("", "_tok_type"))
        paths = folder / _NAMES / f"{name}.txt"
        blocks = _read_numbers(file, range(_WORDS), f"in 0..{_WORDS - 1}, the vocabulary of Py150-wilds")
        kinds = _read_numbers(of_kinds, (*range(len(TOKEN_KINDS)), _MASKED), f"{_KINDS} or {_MASKED} (masked)")
        repositories, within = _read_paths(paths, numbers)
        if blocks.shape[1] < 2 or (length and blocks.shape[1] != length):
            wanted = f"{length}, as in the other files" if length else "2 or more"
            raise OochubError(
                f"{file}: a row has {blocks.shape[1]} tokens, but {wanted}, are needed. Download it again."
            )
        length = blocks.shape[1]
        for other, shape in ((paths, (len(within), length)), (of_kinds, kinds.shape)):
            if shape != blocks.shape:
                rows = f"{shape[0]:,} rows of {shape[1]:,} tokens, but {file} has {len(blocks):,} of {length:,}"
                raise OochubError(f"{other} has {rows}. Download the folder again.")
        is_asked = kinds[:, 1:] != _MASKED
        splits[split] = pa.table(
            {
                "example_id": [str(first + row) for row in range(len(blocks))],
                "input_ids": _convert_to_lists(blocks[:, :-1]),
                "tokens": _convert_to_lists(np.where(is_asked, blocks[:, 1:], _MASKED)),
                "kinds": _convert_to_lists(np.where(is_asked, kinds[:, 1:], _NO_KIND).astype(np.int8)),
                "environment": repositories,
                "group": repositories,
                "repo": [numbers[name] for name in repositories],
                "path": within,
            }
        )
        listed.update(map("/".join, zip(repositories, within, strict=True)))
        first += len(blocks)
    features = make_features(
        tokens=datasets.List(datasets.Value("int32")),
        environment=list(numbers),
        group=list(numbers),
        kinds=datasets.List(datasets.ClassLabel(names=list(TOKEN_KINDS))),
        input_ids=datasets.List(datasets.Value("int32")),
        repo="int32",
        path="string",
    )
    twice = [path for path, count in listed.items() if count > 1]
    notes = (f"files listed more than once: {len(twice):,}, such as {twice[0][:80]}",) if twice else ()
    return WildsRows(features=features, splits={split: splits[split] for split in _SPLITS}, notes=notes)


def _read_repositories(file: Path) -> dict[str, int]:
    """The number of each repository, in the order of the numbers."""
    table = RawTable.of_csv(
        file, {"id": RawColumn(kind="count", is_unique=True), "repo_name": RawColumn(is_unique=True)}
    )
    numbers = dict(zip(table["repo_name"], table["id"].tolist(), strict=True))
    return dict(sorted(numbers.items(), key=lambda each: each[1]))


def _read_paths(file: Path, numbers: dict[str, int]) -> tuple[list[str], list[str]]:
    """The repository of each file, and the file's path in it; nothing is read there."""
    lines = read_lines(file)
    parts = [[*text.split("/", 2), "", ""][:3] for text in lines]
    names = [f"{owner}/{name}" for owner, name, _ in parts]
    RawTable(file=file, place=lambda row: f"line {row + 1}").require(
        [name in numbers for name in names],
        lambda row: f"a path must begin with a repository of repo_ids.csv, owner/name, got {lines[row][:80]!r}",
    )
    return names, [path for _, _, path in parts]


def _read_numbers(file: Path, allowed: Sequence[int], words: str) -> NDArray[np.int32]:
    """Lists of whole numbers of one length, as (n, length), each one of those that are allowed, in words."""
    rows: Any = read_json(file)
    if not isinstance(rows, list) or not rows:
        raise OochubError(f"{file} is not a list of rows, or is empty. Download it again.")
    table = RawTable(file=file, place=lambda row: f"row {row}")
    lengths = [len(row) if isinstance(row, list) else 0 for row in rows]
    usual = max(Counter(lengths).most_common(1)[0][0], 1)
    table.require(
        [length == usual for length in lengths],
        lambda row: f"rows must be lists of one length, {usual}, got {lengths[row]} numbers, {rows[row]!r:.80}",
    )
    right = {*allowed}

    def find(row: int) -> str:
        place = next(place for place, value in enumerate(rows[row]) if type(value) is not int or value not in right)
        return f"token {place} must be {words}, got {rows[row][place]!r:.80}"

    table.require([set(map(type, row)) == {int} and right.issuperset(row) for row in rows], find)
    return np.array(rows, np.int32)


def _convert_to_lists(values: NDArray[Any]) -> pa.Array:
    """A matrix (n, length) as lists."""
    offsets = np.arange(0, values.size + 1, values.shape[1], dtype=np.int32)
    return pa.ListArray.from_arrays(offsets, pa.array(np.ascontiguousarray(values).ravel()))


py150 = WildsDataSet(
    name="py150",
    version="1.0",
    configs={
        "py150": replace(
            BASE,
            sources=("py150",),
            title="Py150-wilds",
            summary="The next token of Python code, in repositories that are not in training.",
            version="1.0.0",
            homepage="https://www.sri.inf.ethz.ch/py150",
            raw_files=raw_files(
                _FOLDER,
                {
                    **{f"processed/{name}_input.json": "tokens, one list per file" for name in _FILES.values()},
                    **{f"processed/{name}_input_tok_type.json": "their kinds" for name in _FILES.values()},
                    f"{_NAMES}/repo_ids.csv": "numbers and names of the repositories",
                    **{f"{_NAMES}/{name}.txt": "paths of the files" for name in _FILES.values()},
                },
                size="163 MB",
                license="MIT",
            ),
            in_context=Rows(name="repositories of training", split="id_test"),
            out_of_context=Rows(name="other repositories", split="test"),
            metrics=("token_accuracy",),
            primary_metric="token_accuracy",
            chance=0.0,
            output="tokens",
            words=Vocabulary.of("in repositories of training", "in other repositories", example="file", place="in"),
            context_column="repo",
            cluster="group",
            images_license="MIT",
            annotations_license="MIT",
            input="token_ids",
            task_category="text-generation",
            toy_world="toy_wilds_py150",
        )
    },
    read=_read,
    rows={"py150": {"train": 79_866, "val": 5_160, "test": 39_974, "id_val": 5_000, "id_test": 20_000}},
)
