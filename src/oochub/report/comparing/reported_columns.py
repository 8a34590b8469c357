"""Which of a paper's numbers stand beside the runs of a comparison: those of the model that was trained."""

from collections.abc import Sequence

from oochub.errors import OochubError, either, unknown_name
from oochub.report.paper_numbers import (
    ReportedNumbers,
    reported_benchmarks,
    reported_models,
    reported_numbers,
    reported_tables,
)
from oochub.report.report import Report


def reported_columns(
    reports: Sequence[Report], metric: str, slice: str, *, table: str | None = None
) -> dict[str, ReportedNumbers]:
    """The reported numbers that belong beside reports of one benchmark.

    Where a paper has tables of several models, those of the architecture that the reports say was trained are taken,
    from trained weights or from scratch as it was.

    Args:
        reports: Of one benchmark, one or more.
        metric: Key of the metric.
        slice: Name of the slice.
        table: The number of a table, to take that one whatever was trained.

    Returns:
        The numbers by the name of their model, in the order of the reports; one entry, named "", where no model was
        chosen.

    Raises:
        OochubError: The paper has several models, and what was trained is none of them or is not said.
    """
    benchmark = reports[0].benchmark.name
    models = reported_models(benchmark) if table is None else {}
    if not models:
        return {"": reported_numbers(benchmark, metric, slice, table=table)}
    trained = [(each.architecture, each.pretrained) for each in (r.provenance.training for r in reports) if each]
    chosen = dict.fromkeys(
        model for pair in trained for model in models.values() if (model.architecture, model.pretrained) == pair
    )
    if not chosen:
        listed = "; ".join(f"{number}: {model.title}" for number, model in models.items())
        raise OochubError(
            f"The paper of {benchmark} has tables of several models ({listed}), and the reports do not say that one of "
            f"these was trained. Name a table with {either('table=', '--table')}."
        )
    return {model.title: reported_numbers(benchmark, metric, slice, model=model) for model in chosen}


def check_table(table: str, benchmarks: Sequence[str]) -> None:
    """Checks that a paper of one of the benchmarks has a table of that number.

    Raises:
        OochubError: None has.

    >>> check_table("5", ["nooch", "spawrious"])
    """
    known = [number for name in benchmarks if name in reported_benchmarks() for number in reported_tables(name)]
    if table not in known:
        raise unknown_name(f"table with reported numbers of {', '.join(benchmarks)}", table, dict.fromkeys(known))
