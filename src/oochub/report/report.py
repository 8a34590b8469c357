"""The report: numbers with intervals, as JSON, table, picture and page."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oochub.errors import OochubError, unknown_name
from oochub.files import written_whole
from oochub.stats.estimation import Estimate

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Report:
    """What `oochub.evaluate` returns; `docs/report.md` describes every field of `data`.

    `report["auc_hard"]` is an `Estimate`, a float with `low`, `high`, `n` and `reason`, on all rows of the evaluation
    split; `report["out_of_context/nll"]` is one of a slice, and so is `report["hard/nll"]` where the benchmark calls
    these rows hard; `report["worst_group"]` the worst group's accuracy; `report["gap"]` the primary metric out of
    context minus in context, and `report["matched_gap"]` the same at equal values of a column, if one was matched on.

    Attributes:
        data: The content of report.json, JSON types only.
    """

    data: Mapping[str, Any]

    @classmethod
    def load(cls, path: str | Path) -> "Report":
        """Reads a report.json.

        Raises:
            OochubError: No such file, not JSON, or of another schema version.
        """
        path = Path(path).expanduser()
        if not path.is_file():
            raise OochubError(f"No report at {path}. `oochub evaluate predictions.parquet --out {path}` makes one.")
        try:
            data = json.loads(path.read_text("utf-8"))
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise OochubError(f"{path} is not a report: {error}. Make it again with `oochub evaluate`.") from error
        found = data.get("schema_version") if isinstance(data, dict) else None
        if found != SCHEMA_VERSION:
            raise OochubError(
                f"{path} has schema version {found}, this oochub reads {SCHEMA_VERSION}. "
                "Make the report again from its predictions with `oochub evaluate`."
            )
        return cls(data)

    def save(self, path: str | Path) -> Path:
        """Writes report.json, whole or not at all."""
        text = json.dumps(self.data, indent=1, ensure_ascii=False, allow_nan=False)
        with written_whole(path) as draft:
            draft.write_text(text + "\n", "utf-8")
        return Path(path)

    def __getitem__(self, key: str) -> Estimate:
        numbers, own = self._numbers(), self._own_name(key)
        if own not in numbers:
            raise unknown_name("number in this report", key, numbers)
        return Estimate.from_dict(numbers[own])

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self._own_name(key) in self._numbers()

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers())

    def slice(self, name: str) -> Mapping[str, Any]:
        """The slice of that name, or of that title where it is a side of the comparison: "hard" is "out_of_context".

        Raises:
            OochubError: No such slice.
        """
        parts = self._slices()
        if name not in parts:
            raise unknown_name("slice in this report", name, parts)
        return parts[name]

    def _slices(self) -> dict[str, Mapping[str, Any]]:
        parts = {part["title"]: part for part in self.data["slices"] if part["role"] in ("in", "out")}
        return parts | {part["name"]: part for part in self.data["slices"]}

    def _own_name(self, key: str) -> str:
        name, _, metric = key.rpartition("/")
        part = self._slices().get(name)
        return key if part is None else f"{part['name']}/{metric}"

    def _numbers(self) -> dict[str, Mapping[str, Any]]:
        numbers: dict[str, Mapping[str, Any]] = {}
        for part in self.data["slices"]:
            for metric, fields in part["metrics"].items():
                if part["role"] == "all":
                    numbers[metric] = fields
                    numbers.setdefault(metric.partition(".")[0], fields)  # "worst_group": its headline
                numbers[f"{part['name']}/{metric}"] = fields
        gap = self.data["gap"]
        numbers["gap"] = {**gap, "n": gap["n_in"] + gap["n_out"]}
        for row in self.data.get("detection", ()):
            for metric, fields in row["metrics"].items():
                numbers[f"{row['detector']}/{row['id_set']}/{row['ood_set']}/{metric}"] = fields
        for row in self.data.get("probes", ()):
            of = f"{row['probe']}/{row['detector']}/{row['id_set']}/{row['ood_set']}"
            numbers |= {f"{of}/{key}": row[key] for key in ("before", "after", "change", "beyond_msp") if row[key]}
        if self.data.get("matched_gap"):
            numbers["matched_gap"] = self.data["matched_gap"]
        return numbers

    def to_pandas(self) -> "pd.DataFrame":
        """One row a number: slice, split, metric, value, low, high, n, method, reason."""
        from oochub.report.tables import to_frame

        return to_frame(self.data)

    def to_markdown(self) -> str:
        """The verdict, the slices and the groups as Markdown tables."""
        from oochub.report.tables import to_markdown

        return to_markdown(self.data)

    def to_latex(self) -> str:
        """The slices as a LaTeX table (booktabs)."""
        from oochub.report.tables import to_latex

        return to_latex(self.data)

    def to_html(self, path: str | Path | None = None, *, images: bool = True) -> str:
        """The self-contained page; written to `path` when one is given."""
        from oochub.report.page import render_page

        page = render_page(self.data, images=images)
        if path is not None:
            with written_whole(path) as draft:
                draft.write_text(page, "utf-8")
        return page

    def plot(self, kind: str = "gap", ax: "Axes | None" = None) -> "Axes":
        """Draws one kind of plot with matplotlib: "gap", "slices", "groups", "reliability" or "detection"."""
        from oochub.figures._plots import plot

        return plot(self.data, kind=kind, ax=ax)
