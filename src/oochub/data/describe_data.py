"""A first `benchmark.toml` of own data: which columns, splits, classes and contexts there are, and what is usual."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import datasets

from oochub.data.benchmark_file import NAME
from oochub.data.load import open_data
from oochub.data.user_columns import list_candidates
from oochub.errors import OochubError
from oochub.records.sides import CHALLENGES
from oochub.settings.data_settings import DataSettings

_SHOWN = 12  # names in a comment
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def describe_data(source: str, file: str | Path, *, settings: DataSettings | None = None) -> str:
    r"""The text of a `benchmark.toml` for own data, which is to be corrected by hand.

    Args:
        source: Folder or file of the rows, in the folder of the file or below it.
        file: Where the text will stand; only its folder counts.
        settings: Which columns of the data are what; what is not named is guessed if one column alone fits.

    Returns:
        TOML that `oochub.load` reads: the columns, the usual contexts as counted, and both sides.

    Raises:
        OochubError: What `oochub.load` raises; rows elsewhere than below the folder of the file, or a file of another
            name.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "birds.csv").write_text("label,context\n" + "gull,sea\n" * 9 + "wren,land\n" * 9)
    >>> text = describe_data(str(folder / "birds.csv"), folder / "benchmark.toml")
    >>> [line for line in text.splitlines() if line.startswith(("source", "# gull", "split"))]
    ['source = "birds.csv"', '# gull = ["sea"]', 'split = "train"', 'split = "train"']
    """
    place, target = Path(source).expanduser().resolve(), Path(file).expanduser().absolute()
    if target.name != NAME:
        raise OochubError(f"The declaration must be named {NAME}, got {target.name}.")
    if target.exists():
        raise OochubError(
            f"{target} already exists and may contain manual edits. Move or delete it to generate a new one."
        )
    folder = target.parent.resolve()
    if not place.exists() or not place.is_relative_to(folder):
        raise OochubError(f"{NAME} stands beside its data or above them, but {source} is not in {folder}.")
    settings = settings or DataSettings()
    opened = open_data(source, settings, guess=("label", "context"))
    data, first, record = opened.rows, opened.first, opened.record
    columns = {**settings.named, **opened.guessed}
    missing = [role for role in ("label", "context") if role not in columns and role not in first.features]
    fitting = list_candidates(data, besides=columns.values())
    lines = [
        "# A first declaration by `oochub build --describe`. Fix it: an empty text says nothing.",
        f"title = {_quote(place.stem if place.is_file() else place.name)}",
        f"name = {_quote(_shorten(place.stem if place.is_file() else place.name))}  # on boards: no other may have it",
        'summary = ""  # one sentence: what is out of context here',
        'version = "1.0.0"',
        "authors = []",
        'license = ""  # of the images, such as CC BY 4.0',
        'labels_license = ""',
        'homepage = ""',
        'citation = """"""  # BibTeX',
        "",
        "[data]",
        f"source = {_quote(str(place.relative_to(folder)))}",
        *(f"{role} = {_quote(column)}" for role, column in columns.items()),
        *(f"# {role} =   # could be {' or '.join(map(_quote, fitting))}" for role in missing if fitting),
        "",
        f"# Rows: {', '.join(f'{split} {len(part):,}' for split, part in data.items())}",
        *(f"# {column}: {_list_names(data, column)}" for column in ("label", "context") if column in first.features),
    ]
    usual = record.facts.usual_contexts if record is not None else None
    if usual:
        lines += [
            "",
            "# The usual contexts of each class, as counted. Without this table they are counted again; with it they",
            "# are fixed, and every other context is unusual.",
            "# [usual]",
        ]
        for name, contexts in usual.items():
            key = name if _BARE.fullmatch(name) else _quote(name)
            lines.append(f"# {key} = [{', '.join(map(_quote, contexts))}]")
    return "\n".join([*lines, *_describe_sides(data), ""])


def _describe_sides(data: Mapping[str, datasets.Dataset]) -> list[str]:
    """Both sides on the split that is evaluated: easy rows against hard ones, or all rows against the worst group."""
    split = "test" if "test" in data else list(data)[-1]
    features = data[split].features
    if "challenge" in features:
        hard = [word for word in CHALLENGES if word != "easy"]
        inside = ['name = "usual"', f"split = {_quote(split)}", 'where = { challenge = ["easy"] }']
        where = ", ".join(map(_quote, hard))
        outside = ['name = "unusual"', f"split = {_quote(split)}", f"where = {{ challenge = [{where}] }}"]
        words = ["in usual contexts", "in unusual contexts"]
    elif "group" in features:
        inside = ['name = "all rows"', f"split = {_quote(split)}"]
        outside = ['name = "worst group"', f"split = {_quote(split)}", 'form = "worst_group"', 'column = "group"']
        words = ["over all rows", "in the worst group"]
    else:
        return [
            "",
            "# No context column was found, so there are no sides: name a context, then describe again.",
        ]
    titles = (("inside", words[0]), ("outside", words[1]), ("inside_title", words[0]), ("outside_title", words[1]))
    return [
        "",
        "[in_context]  # the rows on which context helps",
        *inside,
        "",
        "[out_of_context]  # the rows on which it misleads",
        *outside,
        "",
        "[words]  # as they follow a number: right 97 times in 100 ...",
        *(f"{key} = {_quote(text)}" for key, text in titles),
        'cause = "context"  # what a model relies on that does worse there; remove it if those rows may be harder',
    ]


def _list_names(data: Mapping[str, datasets.Dataset], column: str) -> str:
    """The values of a column with their rows, the most frequent first."""
    counts: Counter[str] = Counter()
    for part in data.values():
        feature, values = part.features[column], part[column][:]
        names = feature.int2str(values) if isinstance(feature, datasets.ClassLabel) else values
        counts.update(map(str, names))
    shown = [f"{_clean(name)} {count:,}" for name, count in counts.most_common(_SHOWN)]
    return ", ".join(shown) + (f" and {len(counts) - _SHOWN:,} more" if len(counts) > _SHOWN else "")


def _shorten(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-.") or "data"


def _clean(text: str) -> str:
    return "".join(character if character.isprintable() else "\ufffd" for character in text)


def _quote(text: str) -> str:
    """A text as TOML: JSON's escapes, and that of DEL, which JSON leaves."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
