"""One result on a leaderboard: what `entry.json` says of it, beside its report and its predictions.

The board that it stands on, and what was withdrawn.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date as Date
from pathlib import Path
from typing import Literal, NamedTuple

from oochub.errors import OochubError
from oochub.records.origin_records import EvaluatedBenchmark
from oochub.records.schema import check_version, from_json, from_table, optional, to_json
from oochub.storage.files import write_whole
from oochub.storage.reading import TomlFile, read_json

SCHEMA_VERSION = 1
_LONGEST = 2_000  # characters of a text
_PAGE = 80  # characters of the name of a page
_FILE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._ -]{0,119}\.parquet")

WITHDRAWN = "withdrawn.toml"
"""File of the results that says what was withdrawn."""
UNSAID = "0.0.0"
"""The version of rows that say none."""

Track = Literal["standard", "open"]
SelectionRule = Literal["none", "in_domain", "hard", "oracle"]
Supervision = Literal["none", "labels", "environments", "groups", "other"]

TRACKS: Mapping[Track, str] = {
    "standard": "the default model of the benchmark, no external data",
    "open": "any model, any data",
}
"""What each track allows; entries of two tracks are never ranked together."""
RULES: Mapping[SelectionRule, str] = {
    "none": "nothing (zero-shot)",
    "in_domain": "validation, in-domain",
    "hard": "validation, hard groups",
    "oracle": "test groups (oracle)",
}
"""What hyperparameters and the stopping point were chosen on."""
SUPERVISIONS: Mapping[Supervision, str] = {
    "none": "no labels",
    "labels": "class labels",
    "environments": "labels, environments",
    "groups": "labels, groups",
    "other": "other",
}
"""What training was told of each example."""


class BoardKey(NamedTuple):
    """What a board is of: one version of one config of a benchmark.

    >>> str(BoardKey("spawrious", "o2o_hard", "1.0.0")), str(BoardKey("custom", "birds", UNSAID))
    ('spawrious/o2o_hard 1.0.0', 'custom/birds')
    """

    benchmark: str
    config: str
    version: str

    @classmethod
    def of(cls, benchmark: EvaluatedBenchmark) -> "BoardKey":
        """The board of a report on this."""
        return cls(benchmark.name, benchmark.config, benchmark.version)

    def __str__(self) -> str:
        return f"{self.benchmark}/{self.config}" + ("" if self.version == UNSAID else f" {self.version}")

    @property
    def page(self) -> str:
        """What the file of its page is called, see `name_page`; rows that say no version have none in it."""
        return name_page(*self[: 2 if self.version == UNSAID else 3])

    @property
    def order(self) -> tuple[object, ...]:
        """Sorts boards by name, and their versions by number: 1.9.0 before 1.10.0."""
        parts = re.split(r"(\d+)", self.version)
        numbers = [(int(part), "") if part.isdecimal() and len(part) < 20 else (-1, part) for part in parts if part]
        return self.benchmark, self.config, numbers


@dataclass(frozen=True, kw_only=True)
class LeaderboardEntry:
    """What the sender says of a result; all else is read from its report and computed from its predictions.

    Attributes:
        schema_version: Version of the JSON's schema.
        model: Name that the model goes by.
        track: "standard" (the default model, no external data) or "open".
        selection: Rows that settings were chosen on: "none", "in_domain" or "hard" validation rows, or "oracle", the
            test.
        supervision: What training was told: "none", class "labels", also "environments" or "groups", or "other".
        external_data: What else the model saw, in words.
        who: Name of the sender.
        date: The day, as 2026-11-22.
        predictions: The names of the files of predictions, in the order of the report.
        method: Method that the model is one seed of: the seeds of a method are ranked as one; "" for a single model.

    Raises:
        OochubError: A model or predictions without a name, a text of more than 2,000 characters, another date, a file
            outside the folder, external data in the standard track.

    >>> LeaderboardEntry(model="resnet-50", track="standard", selection="hard", supervision="labels", date="2026-11-22",
    ...       predictions=("preds.parquet",)).external_data
    ''
    """

    schema_version: int = SCHEMA_VERSION
    model: str
    track: Track
    selection: SelectionRule
    supervision: Supervision
    external_data: str = optional("")
    who: str = optional("")
    date: str
    predictions: tuple[str, ...]
    method: str = optional("")

    def __post_init__(self) -> None:
        for name in ("model", "external_data", "who", "method"):
            if len(getattr(self, name)) > _LONGEST:
                raise OochubError(f"{name} of an entry takes at most {_LONGEST:,} characters. Shorten it.")
        if not self.model.strip():
            raise OochubError("The model of an entry must have a name. Pass one: model=resnet-50.")
        if self.track == "standard" and self.external_data.strip():
            raise OochubError(
                "The standard track takes no external data. Send the entry to the open track: track=open."
            )
        _check_day(self.date, "an entry")
        wrong = [name for name in self.predictions if not _FILE.fullmatch(name)]
        if wrong or not self.predictions or len(set(self.predictions)) < len(self.predictions):
            raise OochubError(
                "The predictions of an entry must be names such as preds.parquet, each once, beside its entry.json, "
                f"got {(wrong or list(self.predictions) or ['none'])[0][:130]!r}. Name each with letters and digits."
            )

    @classmethod
    def load(cls, folder: Path) -> "LeaderboardEntry":
        """Reads the `entry.json` of a folder.

        Raises:
            OochubError: There is none, it is not JSON, of a newer schema version, or a field is missing or wrong.
        """
        file = folder / "entry.json"
        content = read_json(file)
        check_version(content, SCHEMA_VERSION, what=str(file))
        try:
            return from_json(cls, content, what=str(file))
        except OochubError as error:
            raise error if str(error).startswith(str(file)) else OochubError(f"{file}: {error}") from None

    def save(self, folder: Path) -> None:
        """Writes `entry.json` into a folder."""
        with write_whole(folder / "entry.json") as draft:
            draft.write_text(json.dumps(to_json(self), indent=1, ensure_ascii=False) + "\n", "utf-8")


@dataclass(frozen=True, kw_only=True)
class Withdrawal:
    """Why an entry or a benchmark has no numbers on the site any longer.

    Attributes:
        date: The day, as 2026-11-22.
        reason: Why it was withdrawn, in words.

    Raises:
        OochubError: Another date, no reason, or one of more than 2,000 characters.
    """

    date: str
    reason: str

    def __post_init__(self) -> None:
        _check_day(self.date, "a withdrawal")
        if not 0 < len(self.reason.strip()) <= _LONGEST:
            raise OochubError(f"reason of a withdrawal must have a text of at most {_LONGEST:,} characters. Write one.")

    @classmethod
    def find_all(cls, results: Path) -> "dict[str, Withdrawal]":
        """What the `withdrawn.toml` of results says, a table for each thing that was withdrawn.

        A thing is the folder of an entry, a config of a benchmark ("custom/birds") or one version of it
        ("custom/birds@1.0.0").

        Args:
            results: Folder of the results.

        Raises:
            OochubError: It is no TOML, or a table has no day and reason.
        """
        if not (results / WITHDRAWN).is_file():
            return {}
        toml, withdrawals = TomlFile(results / WITHDRAWN), {}
        for name, table in toml.content.items():
            fields = (
                {key: str(value) if isinstance(value, Date) else value for key, value in table.items()}
                if isinstance(table, Mapping)
                else {}
            )
            withdrawals[name] = from_table(cls, fields, at=lambda *names, name=name: toml.at(name, *names))
        return withdrawals


def _check_day(text: str, what: str) -> None:
    try:
        day = Date.fromisoformat(text).isoformat()
    except ValueError:
        day = ""
    if day != text:
        raise OochubError(f"The date of {what} must be a day such as 2026-11-22, got {text[:40]!r}. Fix it.")


def name_page(*names: str) -> str:
    """What a page's file is called, without its suffix, for a board or an entry of any name.

    Args:
        names: What it is of: benchmark and config, or the folder of an entry.

    >>> name_page("nooch", "ce_car"), name_page("a/b", "c d"), name_page("A")
    ('nooch-ce_car', 'a-b-c-d--6e75ffc2be80366a', 'A--559aead08264d579')
    """
    whole = "/".join(names)
    plain = "-".join(re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip(".") or "-" for name in names)
    is_own = plain == "-".join(names) and len(plain) <= _PAGE and plain == plain.lower() and "--" not in plain
    if is_own and not any("-" in name for name in names[:-1]):  # "a-b", "c" is not "a", "b-c"
        return plain
    return f"{plain[:_PAGE]}--{hashlib.sha256(whole.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
