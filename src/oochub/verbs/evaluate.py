"""The verb `oochub evaluate`."""

from pathlib import Path
from typing import Annotated

import typer

from oochub.verbs._options import AsJson, done, out_console


def evaluate(
    predictions: Annotated[list[Path], typer.Argument(help="Files of `oochub predict`, of one model.")],
    out: Annotated[Path, typer.Option(help="The JSON file of the report; a folder for several tasks.")],
    metric: Annotated[list[str] | None, typer.Option(help="Repeatable; default the benchmark's.")] = None,
    match: Annotated[str | None, typer.Option(help="Also the gap at equal values of this column: area.")] = None,
    task: Annotated[
        list[str] | None, typer.Option(help="Of nooch/all: ce_car, gist_car, ...; repeatable; every for all of them.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the bootstrap.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Scores predictions: metrics with intervals in and out of context, groups, worst mistakes."""
    from oochub.evaluation import evaluate as run
    from oochub.files import check_writable
    from oochub.report import Report
    from oochub.tables import terminal
    from oochub.task_reports import task_reports

    if task:
        written = task_reports(predictions, task, out, metrics=metric or None, match=match, seed=seed)
        if len(written) == 1 and not as_json:
            out_console.print(terminal(Report.load(*written.values()).data))
        done({"reports": len(written), "report": str(out)}, as_json)
        return
    check_writable(out)
    report = run(list(predictions), metrics=metric or None, match=match, seed=seed)
    report.save(out)
    if not as_json:
        out_console.print(terminal(report.data))
    done({"report": str(out)}, as_json)
