"""What a reviewer decided on images and classes: read and checked, merged by time, and turned into a list to keep."""

import csv
import io
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from oochub.artifacts import CSV
from oochub.errors import OochubError
from oochub.files import written_whole
from oochub.prediction.predictions import Predictions
from oochub.reading import read_text

_ALLOWED = {"image": ("keep", "drop", "open"), "class": ("drop", "open")}


class Decision(NamedTuple):
    """One line of a file of decisions.

    Attributes:
        scope: "image" or "class".
        id: The example's id, or the class's (its wnid).
        decision: "keep", "drop", or "open": an earlier decision was taken back. A class is dropped or open.
        at: When, in ISO 8601 with a time zone; of two decisions on the same the later one holds.
    """

    scope: str
    id: str
    decision: str
    at: str


Decisions = Mapping[tuple[str, str], Decision]
"""(scope, id) to the decision that holds."""


def read_decisions(path: str | Path) -> Decisions:
    r"""Decisions as the review page saves them: a CSV with the columns scope, id, decision and at.

    Raises:
        OochubError: No such file, other columns, a line that is not a decision, or two on the same; the line is named.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "decisions.csv"
    >>> _ = file.write_text("scope,id,decision,at\nimage,n02666943_12,drop,2026-01-31T12:00:00Z\n")
    >>> read_decisions(file)["image", "n02666943_12"].decision
    'drop'
    """
    file = Path(path).expanduser()
    if not file.exists():
        raise OochubError(f"There are no decisions at {file}. The page of `oochub review` saves them there.")
    decisions: dict[tuple[str, str], Decision] = {}
    rows = csv.reader(io.StringIO(read_text(file), newline=""))
    try:
        if tuple(next(rows, ())) != Decision._fields:
            raise OochubError(f"{file} is no file of decisions: its first line must be {','.join(Decision._fields)}.")
        for row in filter(None, rows):
            where = f"{file}, line {rows.line_num}"
            decision = _checked(row, where)
            if (decision.scope, decision.id) in decisions:
                raise OochubError(f"{where}: a second decision on {decision.scope} {decision.id}. Keep one of them.")
            decisions[decision.scope, decision.id] = decision
    except csv.Error as error:
        raise OochubError(f"{file}, line {rows.line_num}: {error}. Save the page's decisions again.") from error
    return decisions


def _checked(row: list[str], where: str) -> Decision:
    if len(row) != len(Decision._fields):
        raise OochubError(f"{where}: expected {len(Decision._fields)} values, got {len(row)}.")
    decision = Decision(*row)
    if decision.decision not in _ALLOWED.get(decision.scope, ()):
        allowed = "; ".join(f"{scope}: {', '.join(words)}" for scope, words in _ALLOWED.items())
        raise OochubError(f"{where}: no decision {decision.decision!r} on {decision.scope!r}. Allowed are {allowed}.")
    try:
        written = datetime.fromisoformat(decision.at)
        time = written.astimezone(UTC) if written.tzinfo else None
    except (ValueError, OverflowError):  # no time, or one that is beyond the years 1 to 9999 in UTC
        time = None
    if time is None:
        raise OochubError(f"{where}: {decision.at!r} is no time with a time zone, as 2026-01-31T12:00:00Z.")
    return decision._replace(at=time.isoformat(timespec="milliseconds").replace("+00:00", "Z"))


def merged(parts: Iterable[Decisions]) -> Decisions:
    """The latest decision on each image and class; of equal times that of the later part.

    >>> early, late = Decision("image", "a", "drop", "2026-01-01T00:00:00.000Z"), "2026-01-02T00:00:00.000Z"
    >>> merged([{("image", "a"): early._replace(decision="keep", at=late)}, {("image", "a"): early}])["image", "a"][2]
    'keep'
    """
    latest: dict[tuple[str, str], Decision] = {}
    for part in parts:
        for key, decision in part.items():
            if key not in latest or decision.at >= latest[key].at:
                latest[key] = decision
    return latest


def check_known(decisions: Decisions, ood: Predictions) -> None:
    """Refuses decisions on images and classes that the predictions do not hold.

    Raises:
        OochubError: It names the first three and counts them.
    """
    known = {"image": set(ood.column("example_id").tolist()), "class": set(class_ids(ood)) - {""}}
    unknown = [f"{scope} {name}" for scope, name in decisions if name not in known[scope]]
    if unknown:
        more = f" and {len(unknown) - 3:,} more" if len(unknown) > 3 else ""
        raise OochubError(
            f"{len(unknown):,} decisions are on nothing in these predictions: {', '.join(unknown[:3])}{more}. Give the "
            "predictions of the data that were reviewed."
        )


def write_decisions(path: str | Path, decisions: Decisions) -> None:
    """Writes what `read_decisions` reads, sorted by scope and id."""
    with written_whole(path, kind=CSV) as draft, draft.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(Decision._fields)
        rows.writerows(decisions[key] for key in sorted(decisions))


def class_ids(predictions: Predictions) -> list[str]:
    """The id of each row's class: its wnid where the data have one, else the name of its label; "" for neither."""
    names = predictions.class_names
    labels = [names[label] if label >= 0 else "" for label in predictions.label]
    if "wnid" not in predictions.column_names:
        return labels
    return [wnid or label for wnid, label in zip(predictions.table.column("wnid").to_pylist(), labels, strict=True)]


def keep_list(ood: Predictions, decisions: Decisions) -> list[str]:
    """What is left when every dropped image is gone, and every image of a dropped class that is not kept by name.

    Args:
        ood: Predictions of the reviewed images.
        decisions: What was decided; an image without a decision stays.

    Returns:
        In row order the images' `file_name` where the data have it, as in the published list, so that
        `load_dataset("imagenet_ood", "imagenet_ood", file_list=...)` takes it; else their `example_id`.

    Raises:
        OochubError: A decision on what is not there.

    >>> import pyarrow as pa
    >>> columns = {"example_id": ["a", "b"], "split": ["test"] * 2, "label": [-1, -1], "logits": [[0.0], [0.0]]}
    >>> about = {"benchmark": "custom", "config": "default", "version": "1", "model": {"id": "resnet-50"}}
    >>> ood = Predictions(pa.table(columns), {**about, "class_names": ["tench"], "rows": {"test": 2}})
    >>> keep_list(ood, {("image", "a"): Decision("image", "a", "drop", "2026-01-31T12:00:00.000Z")})
    ['b']
    """
    check_known(decisions, ood)
    verdicts = {key: decision.decision for key, decision in decisions.items()}
    column = "file_name" if "file_name" in ood.column_names else "example_id"
    rows = zip(ood.column("example_id").tolist(), class_ids(ood), ood.column(column).tolist(), strict=True)
    return [name for example, of_class, name in rows if _stays(verdicts, example, of_class)]


def _stays(verdicts: Mapping[tuple[str, str], str], example: str, of_class: str) -> bool:
    own = verdicts.get(("image", example), "open")
    return own == "keep" or (own == "open" and verdicts.get(("class", of_class), "open") == "open")
