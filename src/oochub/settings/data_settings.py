"""Which data, which of their columns is what, and which table labels a few of their images."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oochub.errors import OochubError, choose_wording, unknown_name
from oochub.settings.option import Settings, option, parse_pairs, parse_path, parse_paths, revision_option

_ROLES = ("image", "label", "context", "group", "cluster", "pair")


def parse_usual(texts: Iterable[str] | None, flag: str = "--usual") -> dict[str, tuple[str, ...]] | None:
    """The usual contexts of classes from texts `class=context,context`; None of no text.

    Raises:
        OochubError: A text without a class or a context, a class that is given twice.

    >>> parse_usual(["dog=grass,beach", "polar bear=snow"])
    {'dog': ('grass', 'beach'), 'polar bear': ('snow',)}
    """
    usual: dict[str, tuple[str, ...]] = {}
    for text in texts or ():
        name, _, rest = text.partition("=")
        contexts = tuple(context.strip() for context in rest.split(","))
        if not name.strip() or "" in contexts:
            raise OochubError(
                f"{flag} must have the form CLASS=CONTEXT,CONTEXT, for example dog=grass,beach; got {text!r}."
            )
        if name.strip() in usual:
            raise OochubError(f"{flag} lists {name.strip()} twice. List it once and separate its contexts with commas.")
        usual[name.strip()] = contexts
    return usual or None


@dataclass(frozen=True, kw_only=True)
class DataSettings(Settings):
    """The place of data, and which columns of a user's data are what the hub needs, by the user's names.

    A name with a dot is a field of a column of records: `json.context`. Without a name a column is found: `image`, else
    the only one of images; `label`, else `cls` of a WebDataset, else the class folders; `context`; `group`, else
    groups are made of label and context.

    >>> DataSettings(label="species", context="place").named
    {'label': 'species', 'context': 'place'}
    """

    label: str | None = option(
        None,
        help="Custom data: label column (default: label).",
        more="A field of a WebDataset's JSON is written `json.species`.",
        panel="Data",
        common=True,
        flag="--label-column",
    )
    context: str | None = option(
        None,
        help="Context column for groups and challenges (default: context).",
        more="For a benchmark: the column to use as its context.",
        panel="Data",
        common=True,
        flag="--context-column",
    )
    group: str | None = option(
        None, help="Custom data: group column (default: group, or label/context).", panel="Data", flag="--group-column"
    )
    cluster: str | None = option(
        None,
        help="Custom data: column that identifies related rows, such as a patient, a video or a source image.",
        more="Intervals then treat clusters, not rows, as independent, and a repair never splits a cluster.",
        panel="Data",
        flag="--cluster-column",
    )
    pair: str | None = option(
        None,
        help="Custom data: column that identifies the object in a row, if the same objects appear in and out of "
        "context.",
        more="For example, one foreground on two backgrounds. The interval of the gap is then paired.",
        panel="Data",
        flag="--pair-column",
    )
    image: str | None = option(
        None,
        help="Custom data: column of images or image paths (default: image).",
        more="Without a name, the only column of images is taken.",
        panel="Data",
        flag="--image-column",
    )
    usual: Mapping[str, str | Sequence[str]] | None = option(
        None,
        help="Usual contexts of a class (default: the contexts that are clearly more frequent with the class than "
        "without it).",
        more='Such as {"dog": ["grass", "beach"]}.',
        form="CLASS=CONTEXT,CONTEXT",
        panel="Data",
        typed=list[str] | None,
        parse=parse_usual,
    )
    context_words: Mapping[str, Any] | None = option(
        None,
        help="Custom data: what a report calls sides and contexts, place=on for “cow on grass”.",
        more="The words of [words] in benchmark.toml, by name.",
        form="NAME=WORDS",
        panel="Data",
        flag="--words",
        typed=list[str] | None,
        parse=parse_pairs,
    )
    merge_names: bool = option(
        False,
        help="Custom data: treat names of labels, contexts and groups that look alike as one name.",
        more="Such as snow, Snow and 'snow ': they differ by case, spaces or the form of Unicode. A note lists them.",
        panel="Data",
    )
    revision: str | None = revision_option("SOURCE", panel="Data", commands=("build", "challenge", "contexts"))
    config: str | None = option(None, help="Config, if the source has several.", panel="Data")
    data_dir: str | None = option(
        None, help="Raw data folder (default: $OOCHUB_DATA/<benchmark>).", panel="Data", common=True
    )
    options: Mapping[str, Any] | None = option(
        None,
        help="Option of the benchmark.",
        more="By name, as `load_dataset` takes them.",
        form="key=value",
        panel="Data",
        flag="--option",
        typed=list[str] | None,
        parse=parse_pairs,
    )

    @property
    def named(self) -> dict[str, str]:
        """What the user named: role to column."""
        roles = {role: getattr(self, role) for role in _ROLES}
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
                named = choose_wording(f"{role}=", f"--{role}-column")
                hint = f"Pass the {role} column with {named}."
                raise unknown_name("column", column, there, hint)


@dataclass(frozen=True, kw_only=True)
class LabelSettings(Settings):
    """The table of labels, more images without one, and other models' answers.

    Raises:
        OochubError: What belongs to a table of labels, without it.

    >>> LabelSettings(labels="few.csv").words()
    ('--labels', 'few.csv')
    """

    labels: str | None = option(
        None,
        help="Table with the labels of a few images of SOURCE: file_name, label, context.",
        more="A CSV, JSON Lines or Parquet file; file_name is relative to the folder. The images with a label must be "
        "a random choice. A row may have a context and no label. See `oochub.evaluation.unlabeled_rows`.",
        panel="Data",
        metavar="FILE",
        typed=Path | None,
        parse=parse_path,
    )
    unlabeled: str | None = option(
        None,
        help="With --labels: folder of more images like those of SOURCE, without labels.",
        more="All images below it.",
        panel="Data",
        metavar="FOLDER",
        typed=Path | None,
        parse=parse_path,
    )
    proxy: Any = option(
        (),
        help="With --labels: predictions of another model on the same images, used in place of the model's own "
        "confidence.",
        more="A list of predictions, or their paths; several are averaged.",
        panel="Data",
        typed=list[Path] | None,
        parse=parse_paths,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        first = next((name for name in ("unlabeled", "proxy") if getattr(self, name)), None)
        if self.labels is None and first:
            named, needed = choose_wording(f"{first}=", f"--{first}"), choose_wording("labels=", "--labels FILE")
            raise OochubError(f"{named} requires a table with the labels of a few images. Pass {needed}.")
