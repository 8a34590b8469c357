"""Py150-wilds: the next token of Python code, in repositories that are not in training."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oochub.builders.sources.metadata_table import MetadataTable
from oochub.builders.wilds._data_set import BASE, WildsDataSet, WildsRows, raw_files, sides_named
from oochub.errors import OochubError
from oochub.metric import TOKEN_KINDS
from oochub.records.sides import Rows
from oochub.storage.reading import read_json, read_lines

_FOLDER = "py150_v1.0"
_NAMES = "metadata/repo_file_names"
_FILES = {"train": "train", "id_val": "IDval", "val": "OODval", "id_test": "IDtest", "test": "OODtest"}
_SPLITS = ("train", "val", "test", "id_val", "id_test")
_MASKED = -100  # the kind, and the next token, that nobody asks for
_LARGEST = 2**31 - 1
_WORDS = 50_001  # of the tokenizer of microsoft/CodeGPT-small-py, by which WILDS made the tokens
_NO_KIND = -1  # as `datasets` says that a row has no class


def _read(folder: Path, config: str) -> WildsRows:
    numbers = _read_repositories(folder / _NAMES / "repo_ids.csv")
    splits, first, length, listed = {}, 0, 0, Counter[str]()
    for split, name in _FILES.items():
        file = folder / "processed" / f"{name}_input.json"
        blocks, kinds = (
            _read_blocks(file, length),
            _read_token_kinds(folder / "processed" / f"{name}_input_tok_type.json"),
        )
        length = blocks.shape[1]
        paths = folder / _NAMES / f"{name}.txt"
        repositories, within = _read_paths(paths, numbers)
        for other, rows in ((paths, len(within)), (folder / "processed" / f"{name}_input_tok_type.json", len(kinds))):
            if rows != len(blocks):
                raise OochubError(f"{other} has {rows:,} rows, but {file} has {len(blocks):,}. Fetch the folder again.")
        if kinds.shape != blocks.shape:
            raise OochubError(f"{file}: {length} tokens per row, but kinds for {kinds.shape[1]}. Fetch it again.")
        asked = kinds[:, 1:] != _MASKED
        splits[split] = pa.table(
            {
                "example_id": [str(first + row) for row in range(len(blocks))],
                "input_ids": _convert_to_lists(blocks[:, :-1]),
                "tokens": _convert_to_lists(np.where(asked, blocks[:, 1:], _MASKED)),
                "kinds": _convert_to_lists(np.where(asked, kinds[:, 1:], _NO_KIND).astype(np.int8)),
                "environment": repositories,
                "group": repositories,
                "repo": [numbers[name] for name in repositories],
                "path": within,
            }
        )
        listed.update(map("/".join, zip(repositories, within, strict=True)))
        first += len(blocks)
    names = datasets.ClassLabel(names=list(numbers))
    features = datasets.Features(
        {
            "example_id": datasets.Value("string"),
            "tokens": datasets.List(datasets.Value("int32")),
            "environment": names,
            "group": names,
            "kinds": datasets.List(datasets.ClassLabel(names=list(TOKEN_KINDS))),
            "input_ids": datasets.List(datasets.Value("int32")),
            "repo": datasets.Value("int32"),
            "path": datasets.Value("string"),
        }
    )
    twice = [path for path, count in listed.items() if count > 1]
    notes = (f"files listed more than once: {len(twice):,}, such as {twice[0][:80]}",) if twice else ()
    return WildsRows(features=features, splits={split: splits[split] for split in _SPLITS}, notes=notes)


def _read_repositories(file: Path) -> dict[str, int]:
    """The number of each repository, in the order of the numbers."""
    table = MetadataTable.of_csv(file, ("id", "repo_name"))
    table.check_unique("id")
    table.check_unique("repo_name")
    numbers = dict(zip(table.columns["repo_name"], table.whole("id"), strict=True))
    return dict(sorted(numbers.items(), key=lambda each: each[1]))


def _read_paths(file: Path, numbers: dict[str, int]) -> tuple[list[str], list[str]]:
    """The repository of each file, and the file's path in it; nothing is read there."""
    repositories, within = [], []
    for line, text in enumerate(read_lines(file), 1):
        owner, name, path = [*text.split("/", 2), "", ""][:3]
        if f"{owner}/{name}" not in numbers:
            raise OochubError(
                f"{file}, line {line}: a path must begin with a repository of repo_ids.csv, owner/name, got "
                f"{text[:80]!r}. Fetch it again."
            )
        repositories.append(f"{owner}/{name}")
        within.append(path)
    return repositories, within


def _read_token_kinds(file: Path) -> NDArray[np.int32]:
    """The kinds of tokens (n, length), numbers of `TOKEN_KINDS`, -100 where nobody asks for the token."""
    kinds = _read_numbers(file)
    wrong = ((kinds < 0) & (kinds != _MASKED)) | (kinds >= len(TOKEN_KINDS))
    if wrong.any():
        row, place = np.argwhere(wrong)[0].tolist()
        allowed = ", ".join(f"{number} ({name})" for number, name in enumerate(TOKEN_KINDS))
        raise OochubError(
            f"{file}, row {row}, token {place}: a kind must be {allowed} or {_MASKED} (masked), got "
            f"{kinds[row, place]}. Fetch it again."
        )
    return kinds


def _read_blocks(file: Path, length: int) -> NDArray[np.int32]:
    """The numbers of tokens (n, length); with a length of 0 any."""
    blocks = _read_numbers(file)
    if blocks.shape[1] < 2 or (length and blocks.shape[1] != length):
        wanted = f"{length}, as in the other files" if length else "2 or more"
        raise OochubError(f"{file}: a row has {blocks.shape[1]} tokens, but {wanted}, are needed. Fetch it again.")
    wrong = (blocks < 0) | (blocks >= _WORDS)
    if wrong.any():
        row, place = np.argwhere(wrong)[0].tolist()
        raise OochubError(
            f"{file}, row {row}, token {place}: a token must be in 0..{_WORDS - 1}, the vocabulary of Py150-wilds, "
            f"got {blocks[row, place]}. Fetch it again."
        )
    return blocks


def _read_numbers(file: Path) -> NDArray[np.int32]:
    """Lists of whole numbers of one length, as (n, length)."""
    rows: Any = read_json(file)
    if not isinstance(rows, list) or not rows:
        raise OochubError(f"{file} is not a list of rows, or is empty. Fetch it again.")
    lengths = [len(row) if isinstance(row, list) else 0 for row in rows]
    usual = max(Counter(lengths).most_common(1)[0][0], 1)
    odd = next((row for row, length in enumerate(lengths) if length != usual), None)
    if odd is not None:
        found = f"{lengths[odd]} numbers" if isinstance(rows[odd], list) else repr(rows[odd])[:80]
        raise OochubError(f"{file}, row {odd}: rows must be lists of one length, {usual}, got {found}. Fetch it again.")
    for row, values in enumerate(rows):
        if set(map(type, values)) != {int} or max(values) > _LARGEST or min(values) < -_LARGEST:
            shown = next(value for value in values if type(value) is not int or abs(value) > _LARGEST)
            raise OochubError(
                f"{file}, row {row}: whole numbers below 2^31 are needed, got {str(shown)[:80]}. Fetch it again."
            )
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
            words=sides_named(
                example="file",
                inside="in repositories of training",
                outside="in other repositories",
                place="in",
            ),
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
