"""Which outputs of a model answer for each class of a data set, in a message, and as a user wrote it in a file."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from oochub.errors import OochubError
from oochub.storage.reading import parse_json, read_text

_SHOWN = 6


class Answering(NamedTuple):
    """The outputs of a model that answer for a class of a data set, and why.

    Attributes:
        name: Name of the class.
        outputs: Numbers of these outputs, one or more.
        rule: "order", "name", "synonym" (ImageNet's), "WordNet", "benchmark" (declared by it), "file", "number" (an
            output without a name, for the class of its number), or "unnamed" (one for the class at its place).
    """

    name: str
    outputs: tuple[int, ...]
    rule: str


@dataclass(frozen=True)
class LabelMap:
    """The outputs of a model for the classes of a data set; made by `match_classes`.

    Attributes:
        model_names: Names of the model's classes.
        answering: The outputs for each class that is answered for, in the data set's order.
        left_out: Classes of the data set that the model does not know.
    """

    model_names: tuple[str, ...]
    answering: tuple[Answering, ...]
    left_out: tuple[str, ...] = ()

    @classmethod
    def in_order(cls, names: Sequence[str], model_names: Sequence[str] | None = None) -> "LabelMap":
        """Class k is output k; None for the names of the model takes the same.

        >>> LabelMap.in_order(["cat", "dog"]).outputs
        ((0,), (1,))
        """
        answering = tuple(Answering(name, (k,), "order") for k, name in enumerate(names))
        return cls(tuple(model_names or names), answering)

    @property
    def class_names(self) -> tuple[str, ...]:
        """The names of the classes that are answered for."""
        return tuple(each.name for each in self.answering)

    @property
    def outputs(self) -> tuple[tuple[int, ...], ...]:
        """Those of each class."""
        return tuple(each.outputs for each in self.answering)

    @property
    def is_identity(self) -> bool:
        """Whether the outputs are the classes, in their order."""
        return self.outputs == tuple((k,) for k in range(len(self.model_names)))

    @property
    def has_sums(self) -> bool:
        """Whether several outputs answer for one class: its logit is the logsumexp of theirs."""
        return any(len(each.outputs) > 1 for each in self.answering)

    @property
    def details(self) -> dict[str, dict[str, object]]:
        """What a reader needs to check it: JSON types, of the classes that have another name in the model."""
        return {
            each.name: {"rule": each.rule, "outputs": {str(k): self.model_names[k] for k in each.outputs}}
            for each in self._renamed
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """Caveats that a report repeats."""
        unnamed = [each for each in self.answering if each.rule == "unnamed"]
        if unnamed:
            return (
                "the outputs of the model have no names, and answer for the classes in their order: "
                f"{', '.join(f'{each.outputs[0]} for {each.name}' for each in unnamed[:_SHOWN])}"
                f"{', ...' * (len(unnamed) > _SHOWN)}",
            )
        if self.is_identity:
            return ()
        notes = []
        used, every = sum(map(len, self.outputs)), len(self.model_names)
        if used < every:
            notes.append(
                f"answers are among the {len(self.answering):,} classes of the data set, not the model's {every:,}"
            )
        if self._renamed:
            shown = [f"{each.name} by {list_outputs(each.outputs, self.model_names)}" for each in self._renamed]
            more = ["..."] * (len(shown) > _SHOWN)
            notes.append(f"classes are matched with the model's: {'; '.join(shown[:_SHOWN] + more)}")
        return tuple(notes)

    @property
    def _renamed(self) -> list[Answering]:
        named = [each for each in self.answering if each.rule not in ("order", "number", "unnamed")]
        return [each for each in named if tuple(self.model_names[k] for k in each.outputs) != (each.name,)]


_SHOWN_CLASSES = 6


def list_names(names: Sequence[str], between: str = ", ") -> str:
    """The first names of classes.

    >>> list_names(["tabby, tabby cat", "beagle"])
    'tabby, beagle'
    """
    shown = [name.split(",")[0] for name in names[:_SHOWN_CLASSES]]
    return between.join(shown + ["..."] * (len(names) > _SHOWN_CLASSES))


def list_outputs(numbers: Sequence[int], names: Sequence[str]) -> str:
    """Outputs of a model, with their numbers; if they are many, how many.

    >>> list_outputs([0, 2], ["crane", "hen", "crane"])
    '0 (crane), 2 (crane)'
    """
    if len(numbers) > _SHOWN_CLASSES:
        return f"{len(numbers)} of them"
    return ", ".join(f"{k} ({list_names([names[k]])})" for k in numbers)


_FORMS = 'CSV with lines "data class,model class", repeatable; or JSON {"data class": ["model class", ...]}'


def read_label_map(given: Any) -> dict[str, list[str | int]]:
    r"""A label map from a file or a mapping.

    Args:
        given: A path that ends in .csv or .json, or a mapping. A class of the model is its name, the number of its
            output, or of ImageNet's a word or a wnid: the thing and all kinds of it. A CSV has two columns or more and
            no header; cells after the first are classes of the model, a class with a comma is in quotes.

    Raises:
        OochubError: No such file, another ending, or content of another form; the line or class is named.

    >>> read_label_map({"cat": "tabby", "dog": ["beagle", 7]})
    {'cat': ['tabby'], 'dog': ['beagle', 7]}
    """
    if isinstance(given, Mapping):
        return _check_content(given, "label_map")
    if not isinstance(given, str | Path):
        raise OochubError(f"label_map must be a mapping, or a path of a file: {_FORMS}; got {type(given).__name__}.")
    path = Path(given).expanduser()
    if path.suffix.lower() == ".json":
        content = parse_json(read_text(path), name=str(path))
        if not isinstance(content, Mapping):
            raise OochubError(f"{path} is not a label map: {_FORMS}.")
        return _check_content(content, str(path))
    if path.suffix.lower() == ".csv":
        return _check_content(_read_lines(path), str(path))
    raise OochubError(f"A label map must be a .csv or .json file, got {path.name}: {_FORMS}.")


def _read_lines(path: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    reader = csv.reader(read_text(path).splitlines(), skipinitialspace=True, strict=True)
    try:
        for cells in reader:
            name, *classes = [cell.strip() for cell in cells] or [""]
            if name or classes:
                if not name or not any(classes):
                    raise OochubError(
                        f"{path}, line {reader.line_num}: a data class and a model class are needed. {_FORMS}."
                    )
                found.setdefault(name, []).extend(filter(None, classes))
    except csv.Error as error:
        raise OochubError(f"{path}, line {reader.line_num}: {error}. A label map is {_FORMS}.") from None
    return found


def _check_content(content: Mapping[Any, Any], what: str) -> dict[str, list[str | int]]:
    if not content:
        raise OochubError(f"{what} is empty. A label map is {_FORMS}.")
    checked: dict[str, list[str | int]] = {}
    for name, classes in content.items():
        several = [classes] if isinstance(classes, str | int) else classes
        is_list = isinstance(several, Sequence) and len(several) > 0
        if not isinstance(name, str) or not is_list or not all(map(_is_class, several)):
            raise OochubError(
                f"{what}: {name!r} must map to one or more classes of the model, names or numbers, got {classes!r}."
            )
        checked[name] = list(several)
    return checked


def _is_class(one: Any) -> bool:
    return isinstance(one, str | int) and not isinstance(one, bool)
