"""Which columns of a user's data are what the hub needs, by the user's names."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from oochub.errors import OochubError, either, unknown_name


@dataclass(frozen=True, kw_only=True)
class Columns:
    """The columns of a user's data, and what was said of its contexts.

    A name with a dot is a field of a column of records: `json.context`.

    Attributes:
        image: The pictures, or the paths of their files; None takes `image`, else the only column of pictures.
        label: The class of each row; None takes `label`, else `cls` of a WebDataset, else the class folders.
        context: What surrounds the thing; None takes `context`.
        group: The groups; None takes `group`, else makes them of label and context.
        usual: Class to its usual contexts, in place of those that are counted.

    >>> Columns(label="species", context="place").named
    {'label': 'species', 'context': 'place'}
    """

    image: str | None = None
    label: str | None = None
    context: str | None = None
    group: str | None = None
    usual: Mapping[str, Sequence[str]] | None = None

    @property
    def named(self) -> dict[str, str]:
        """What the user named: role to column."""
        roles = {"image": self.image, "label": self.label, "context": self.context, "group": self.group}
        return {role: column for role, column in roles.items() if column is not None}

    def check(self, known: Iterable[str]) -> None:
        """Checks that the named columns are among those of the data.

        Args:
            known: Names of columns, also of fields, as `json.context`.

        Raises:
            OochubError: A column that is not there, with near names.
        """
        there = list(known)
        for role, column in self.named.items():
            if column not in there:
                hint = f"{either(f'{role}=', f'--{role}-column')} names the column of the data that holds the {role}."
                raise unknown_name("column", column, there, hint)


def parse_usual(texts: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The usual contexts of classes from texts `class=context,context`.

    Raises:
        OochubError: A text without a class or a context, a class that is given twice.

    >>> parse_usual(["dog=grass,beach", "polar bear=snow"])
    {'dog': ('grass', 'beach'), 'polar bear': ('snow',)}
    """
    usual: dict[str, tuple[str, ...]] = {}
    for text in texts:
        name, _, rest = text.partition("=")
        contexts = tuple(context.strip() for context in rest.split(","))
        if not name.strip() or "" in contexts:
            raise OochubError(f"--usual is written CLASS=CONTEXT,CONTEXT, for example dog=grass,beach, got {text!r}.")
        if name.strip() in usual:
            raise OochubError(f"--usual gives {name.strip()} twice. Give it once, with commas between its contexts.")
        usual[name.strip()] = contexts
    return usual
