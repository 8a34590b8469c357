"""The answers to each class in each context, as a matrix; the class that training showed in the context is outlined."""

from typing import TYPE_CHECKING, Any, Literal

from oochub import catalog
from oochub.errors import OochubError
from oochub.figures._charts import HeatCell, draw_matrix
from oochub.figures._style import INK2, draw_title, make_axes
from oochub.report import format_numbers, theme, wording
from oochub.report.report import Report
from oochub.stats.proportion import wilson

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROWS, _CLASSES = 60, 20  # that can be read


def confusion_by_context(
    report: Report, *, by: Literal["context", "class"] = "context", ax: "Axes | None" = None
) -> "Axes":
    """Draws a row for each class in each context, a column for each answer, in % of the row.

    Wrong answers are heated; the answers whose class has that context in training are outlined.

    Args:
        report: A report that says where the errors go.
        by: "context": a row for each class in each context; "class": a row for each class, as in the paper.
        ax: Axes to draw on; None makes a new figure.

    Returns:
        The axes: true class and context downward, answers to the right.

    Raises:
        OochubError: The report has no such matrix, or one of more than 60 rows or 20 classes.

    Source: Lynch et al., Spawrious, Figure 5.

    >>> import oochub, pyarrow as pa
    >>> rows = {"example_id": list("abcd"), "split": ["test"] * 4, "label": [0, 0, 1, 2], "logits": [[0, 1.0, 0]] * 4}
    >>> rows |= {"context": ["snow"] * 3 + ["sand"], "challenge": ["hard"] * 4}
    >>> told = {"model": {}, "class_names": ["cat", "dog", "cow"], "rows": {"test": 4}, "benchmark": "mine"}
    >>> told |= {"config": "own", "version": "1", "facts": {"usual_contexts": {"cat": ["sand"], "dog": ["snow"]}}}
    >>> ax = confusion_by_context(oochub.evaluate(oochub.Predictions(pa.table(rows), told)))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['cow, sand (n = 1)', 'cat, snow (n = 2)', 'dog, snow (n = 1)']
    """
    classes, rows = catalog.get("section", "where_errors_go")().chart(report)
    rows = rows if by == "context" else _sum_by_class(classes, rows)
    if not rows:
        raise OochubError(
            "This report has no confusion by context. Evaluate rows with a build record or usual contexts, which say "
            "the contexts of training, or plot another kind."
        )
    if len(rows) > _ROWS or len(classes) > _CLASSES:
        raise OochubError(
            f"A matrix of {len(rows)} rows and {len(classes)} classes would be unreadable; at most {_ROWS} and "
            f"{_CLASSES} are drawn. report.json holds the counts."
        )
    ax = make_axes(ax, 3.2 + 0.85 * len(classes), 1.3 + 0.36 * len(rows))
    width = theme.heat_width(share for row in rows for share in row.wrong_shares)
    cells = [
        [
            HeatCell(
                format_numbers.fraction(share),
                None if x == row.label else theme.heat_step(share, width),
                by == "context" and row.is_trained[x],
                is_quiet=x == row.label,
            )
            for x, share in enumerate(row.shares)
        ]
        for row in rows
    ]
    titles = [f"{row.title} (n = {format_numbers.count(row.n)})" for row in rows]
    draw_matrix(ax, titles, [wording.words(name) for name in classes], cells)
    draw_title(ax, "Answers to each class in each context" if by == "context" else "Answers to each class")
    fewest = min(row.n for row in rows)
    widest = wilson(fewest / 2, fewest)
    points = f"{50 * (widest.high - widest.low):.0f}"
    ax.set_xlabel(f"answer, % of each row; 95% intervals are ±{points} points at most", color=INK2)
    if by == "context":
        place = wording.words(report.benchmark.context_column)
        what = f"the usual {place} of this class" if _is_usual(report) else f"this class has the {place} in training"
        ax.annotate(
            f"outlined: {what}", (0, 0), (0, -6), xycoords="axes fraction", textcoords="offset points", va="top",
            color=INK2, fontsize="small",
        )  # fmt: skip
    return ax


def _is_usual(report: Report) -> bool:
    return report.errors is not None and report.errors.source == "usual"


def _sum_by_class(classes: list[str], rows: list[Any]) -> list[Any]:
    """A row for each class, over all contexts."""
    merged = []
    for label, name in enumerate(classes):
        own = [row for row in rows if row.label == label]
        n = sum(row.n for row in own)
        if n:
            shares = tuple(sum(row.n * row.shares[k] for row in own) / n for k in range(len(classes)))
            merged.append(
                own[0]._replace(title=wording.words(name), n=n, shares=shares, is_trained=(False,) * len(classes))
            )
    return merged
