"""Training environments from contexts that nobody labelled: those that `oochub contexts` found become a column."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import datasets
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oochub.errors import OochubError, unknown_name
from oochub.records.build_record import CONTEXTS_COLUMN, BuildRecord, FoundContexts
from oochub.records.schema import to_json

_GROUPS = "label/"
_NONE = "none of them"
_ONE = "found_context"  # the column of the one context of each row: `contexts` holds lists


class FoundEnvironments(NamedTuple):
    """The splits, and the name of the column of environments, None where none was asked for."""

    data: Mapping[str, datasets.Dataset]
    column: str | None


def context_environments(
    data: Mapping[str, datasets.Dataset], environments: str | None, *, needed: Sequence[str], source: str = "The data"
) -> FoundEnvironments:
    """The data with a column that holds the environment of each row, found as `environments` says.

    - "contexts:NAME": whether a row has that context, "NAME" or "without NAME".
    - "contexts": the one context of each row, where they exclude each other, as clusters do; rows that have none are
      an environment of their own. The column is `found_context`.
    - "label/contexts:NAME", "label/contexts": the groups, each class by each of these.

    Else the column bears the name that was asked for. Any other name, and that of a column of data in which nothing
    was found, is left alone. A row whose image could not be read has no environment.

    Args:
        data: The splits, as `oochub.load` gives them.
        environments: What training was asked for.
        needed: The splits in which each row must have an environment, that of training first.
        source: What an error calls the data.

    Raises:
        OochubError: Data in which no contexts were found, an unknown context, rows without contexts or with several of
            them, one environment alone in training, groups of data without classes.

    >>> import oochub, tempfile
    >>> from oochub.studies.demo.example import example
    >>> images, _ = example(tempfile.mkdtemp() + "/example", size=16)
    >>> found = oochub.contexts(images, by="properties", label="breed")
    >>> made = context_environments(found, "contexts:dark", needed=["train"])
    >>> made.data["train"].features["contexts:dark"].names
    ['dark', 'without dark']
    """
    column_names = _parse_environments(environments)
    first = data[needed[0]]
    record = _read_found(first)
    if column_names is None or environments is None or (record is None and environments in first.column_names):
        return FoundEnvironments(data, environments)
    if record is None or CONTEXTS_COLUMN not in first.column_names:
        raise OochubError(
            f"{source} has no found contexts to make the environments {environments!r} from. Write the data with "
            "contexts by `oochub contexts SOURCE --contexts METHOD --out FOLDER`, and train on that folder."
        )
    names = list(first.features[CONTEXTS_COLUMN].feature.names)
    if column_names.name is not None and column_names.name not in names:
        raise unknown_name("context that was found", column_names.name, names)
    has = {split: _has(part, len(names)) for split, part in data.items()}
    for split in needed:
        _check_known(has[split], split, data[split])
    codes, classes = _encode_environments(has, names, column_names.name, needed, environments)
    _check_several(codes[needed[0]], classes, has[needed[0]], names, column_names.name, needed[0])
    if column_names.groups:
        codes, classes = _split_by_class(data, codes, classes, environments)
    column = _ONE if environments == CONTEXTS_COLUMN else environments
    parts = {split: _join_column(part, column, codes[split], classes) for split, part in data.items()}
    return FoundEnvironments(datasets.DatasetDict(parts), column)


def find_environments(dataset: datasets.Dataset, column: str | None) -> dict[str, Any] | None:
    """What a recipe says of environments that were found; None of others.

    Args:
        dataset: The training rows.
        column: Column that holds the environments; None if there is none.

    Returns:
        way, model, and checked: what people said of each context that made them and that they checked.
    """
    parsed, record = _parse_environments(CONTEXTS_COLUMN if column == _ONE else column), _read_found(dataset)
    if parsed is None or record is None:
        return None
    used = record.names if parsed.name is None else (parsed.name,)
    checks = {name: to_json(check) for name, check in (record.checks or {}).items() if name in used}
    return {"way": record.way, "model": record.model, "checked": checks}


class _Asked(NamedTuple):
    """What a name of environments asks for: groups or not, and which context, None for the one of each row."""

    groups: bool
    name: str | None


def _parse_environments(environments: str | None) -> _Asked | None:
    rest = (environments or "").removeprefix(_GROUPS)
    column, colon, name = rest.partition(":")
    return _Asked(rest != environments, name if colon else None) if column == CONTEXTS_COLUMN else None


def _read_found(dataset: datasets.Dataset) -> FoundContexts | None:
    record = BuildRecord.of(dataset.info)
    return record.facts.found_contexts if record else None


def _has(part: datasets.Dataset, contexts: int) -> NDArray[np.float64]:
    """Whether each row has each context, nan in a row whose contexts are not known."""
    column = part.select_columns([CONTEXTS_COLUMN]).with_format("arrow")[:].column(CONTEXTS_COLUMN).combine_chunks()
    has = np.zeros((len(part), contexts))
    lengths = column.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    has[np.repeat(np.arange(len(part)), lengths), column.flatten().to_numpy(zero_copy_only=False)] = 1
    has[column.is_null().to_numpy(zero_copy_only=False)] = np.nan
    return has


def _check_known(has: NDArray[np.float64], split: str, part: datasets.Dataset) -> None:
    unknown = np.flatnonzero(np.isnan(has).any(1))
    if len(unknown):
        row = int(unknown[0])
        name = f"row {row}" if "example_id" not in part.column_names else str(part["example_id"][row])
        raise OochubError(
            f"{len(unknown):,} of the {len(has):,} rows of {split} have no contexts, {name} first: their images "
            f"could not be read. Mend or drop these images and run `oochub contexts` again."
        )


def _encode_environments(
    has: Mapping[str, NDArray[np.float64]], names: list[str], name: str | None, needed: Sequence[str], asked: str
) -> tuple[dict[str, NDArray[np.float64]], list[str]]:
    """The number of each row's environment, nan where none is known, and the names of the environments."""
    if name is not None:
        return {split: 1 - of[:, names.index(name)] for split, of in has.items()}, [name, f"without {name}"]
    for split in needed:
        several = np.flatnonzero(has[split].sum(1) > 1)
        if len(several):
            both = ", ".join(names[number] for number in np.flatnonzero(has[split][several[0]]))
            form = asked.partition(":")[0]
            raise OochubError(
                f"{len(several):,} of the {len(has[split]):,} rows of {split} have several contexts, such as {both}: "
                f"{asked!r} needs one per row. Choose one, {' or '.join(f'{form}:{of_class}' for of_class in names)}, "
                "or find contexts that exclude each other, as `--contexts clusters` does."
            )
    codes = {split: np.where(of.sum(1) > 0, of.argmax(1), len(names)).astype(float) for split, of in has.items()}
    for split, of in has.items():
        codes[split][np.isnan(of).any(1) | (of.sum(1) > 1)] = np.nan
    without = any((numbers == len(names)).any() for numbers in codes.values())
    return codes, [*names, _NONE] if without else names


def _check_several(
    codes: NDArray[np.float64],
    classes: list[str],
    has: NDArray[np.float64],
    names: list[str],
    name: str | None,
    split: str,
) -> None:
    present = np.unique(codes)
    if len(present) > 1:
        return
    share = has.mean(0)
    others = [other for other, of in zip(names, share, strict=True) if 0 < of < 1]
    reason = f"every row of {split} is {classes[int(present[0])]!r}" if len(present) else f"{split} has no rows"
    hint = (
        f"Choose one that some rows have and others lack: {', '.join(others)}."
        if others
        else "No found context is in some of its rows and not in others: find contexts by another method."
    )
    raise OochubError(
        f"{'The context ' + name if name else 'The contexts'} cannot serve as environments: {reason}. {hint}"
    )


def _split_by_class(
    data: Mapping[str, datasets.Dataset], codes: Mapping[str, NDArray[np.float64]], names: list[str], asked: str
) -> tuple[dict[str, NDArray[np.float64]], list[str]]:
    feature = next(iter(data.values())).features.get("label")
    if not isinstance(feature, datasets.ClassLabel):
        raise OochubError(
            f"The groups {asked!r} combine class and context, but the data have no column label with one class per "
            f"row. Use {asked.removeprefix(_GROUPS)!r}."
        )
    groups = {}
    for split, part in data.items():
        label = np.asarray(part.select_columns(["label"]).with_format("numpy")[:]["label"], float)
        groups[split] = np.where(label < 0, np.nan, label) * len(names) + codes[split]
    return groups, [f"{label}/{name}" for label in feature.names for name in names]


def _join_column(part: datasets.Dataset, name: str, codes: NDArray[np.float64], classes: list[str]) -> datasets.Dataset:
    features = datasets.Features({name: datasets.ClassLabel(names=classes)})
    unknown = np.isnan(codes)
    values = pa.array(np.where(unknown, 0, codes).astype(np.int64), mask=unknown)
    table = pa.table({name: values}).cast(features.arrow_schema)
    beside = datasets.Dataset(table, info=datasets.DatasetInfo(features=features))
    info = part.info.copy()
    info.features = None  # `datasets` joins those of both
    return datasets.concatenate_datasets([part, beside], axis=1, info=info, split=part.split)
