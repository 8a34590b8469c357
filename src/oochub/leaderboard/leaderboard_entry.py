"""One result on a leaderboard: what `entry.json` says of it, beside its report and its predictions."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date as Date
from pathlib import Path
from typing import Literal

from oochub.errors import OochubError
from oochub.records.schema import check_version, from_json, optional, to_json
from oochub.storage.files import write_whole
from oochub.storage.reading import read_json

SCHEMA_VERSION = 1
_LONGEST = 2_000  # characters of a text
_FILE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._ -]{0,119}\.parquet")

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

    def __post_init__(self) -> None:
        for name in ("model", "external_data", "who"):
            if len(getattr(self, name)) > _LONGEST:
                raise OochubError(f"{name} of an entry takes at most {_LONGEST:,} characters. Shorten it.")
        if not self.model.strip():
            raise OochubError("The model of an entry must have a name. Pass one: model=resnet-50.")
        if self.track == "standard" and self.external_data.strip():
            raise OochubError(
                "The standard track takes no external data. Send the entry to the open track: track=open."
            )
        try:
            day = Date.fromisoformat(self.date).isoformat()
        except ValueError:
            day = ""
        if day != self.date:
            raise OochubError(f"The date of an entry must be a day such as 2026-11-22, got {self.date[:40]!r}. Fix it.")
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
