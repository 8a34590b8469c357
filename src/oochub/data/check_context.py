"""Whether data say what surrounds their things, so that a report can compare in context with out of context."""

from collections.abc import Mapping
from typing import Any

from oochub import catalog
from oochub.errors import OochubError, either, unknown_name
from oochub.records.build_record import BuildRecord
from oochub.records.sides import CHALLENGES

_ANY = ("context", "contexts", "group", "groups", "challenge")


def check_context(dataset: Any) -> None:
    """Checks that own data have a column of contexts, groups or challenges; a benchmark always passes.

    Args:
        dataset: A Dataset or DatasetDict, as `oochub.load` gives it.

    Raises:
        OochubError: They have none; it says how to add one. A column challenge with another word than these.

    >>> import datasets
    >>> check_context(datasets.Dataset.from_dict({"label": [0, 1], "context": ["grass", "sand"]}))
    """
    for each in dataset.values() if isinstance(dataset, Mapping) else (dataset,):
        _check_challenge(each)
    part = next(iter(dataset.values())) if isinstance(dataset, Mapping) else dataset
    columns = list(part.column_names or ())
    record = BuildRecord.of(part.info)
    known = (record.benchmark if record else part.info.dataset_name) in catalog.names("benchmark")
    if known or any(column in _ANY for column in columns):
        return
    name = either("context='NAME'", "--context-column NAME")
    found = either("oochub.contexts(data, by='properties')", "oochub contexts SOURCE --by properties --out DIR")
    raise OochubError(
        "The data do not say what surrounds each thing: there is no column context, group or challenge, only "
        f"{', '.join(columns)}. If one of these holds it, name it with {name}. Else add a column `context`; of a "
        "folder of pictures, in its metadata.csv:\n"
        "  file_name,label,context\n"
        "  1.jpg,dog,grass\n"
        "  2.jpg,dog,beach\n"
        "What is usual for a class is then counted, and pictures in another context are the hard ones. Or have "
        f"contexts found: {found}."
    )


def _check_challenge(part: Any) -> None:
    """That a column of challenges of a loaded data set holds the words that an evaluation reads."""
    feature = (part.features or {}).get("challenge")
    if feature is None or not hasattr(part, "unique"):
        return
    names = getattr(feature, "names", None)
    words = part.unique("challenge") if names is None else names
    for word in words:
        if word not in (None, "", *CHALLENGES):
            raise unknown_name("challenge", word, CHALLENGES, "The column challenge says it of each row.")
