"""The command `oochub check`."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated

import typer

from oochub.commands._options import AsJson, out_console, print_result, writes
from oochub.errors import OochubError
from oochub.settings.report_settings import CheckSettings
from oochub.storage.artifacts import BADGE, JUNIT, MARKDOWN, RULES
from oochub.storage.files import check_writable, write_whole

PANEL = "Audit a model"

_KINDS = {"junit": JUNIT, "summary": MARKDOWN, "badge": BADGE}


def check(
    reports: Annotated[
        list[Path], typer.Argument(help="Reports of `oochub evaluate`, or output folders of `oochub audit`.")
    ],
    rules: Annotated[
        Path | None,
        typer.Option(help="TOML file of rules; with --suggest, the new file to write.", rich_help_panel="Rules"),
    ] = None,
    suggest: Annotated[
        bool,
        typer.Option(
            "--suggest",
            help="Write rules derived from a report to --rules, or print them. Nothing is checked.",
            rich_help_panel="Rules",
        ),
    ] = False,
    *,
    asked: CheckSettings,
    junit: Annotated[
        Path | None,
        typer.Option(
            callback=writes(JUNIT), help="Write JUnit XML for a CI server to this file.", rich_help_panel="Output"
        ),
    ] = None,
    summary: Annotated[
        Path | None,
        typer.Option(
            callback=writes(MARKDOWN), help="Write a Markdown job summary to this file.", rich_help_panel="Output"
        ),
    ] = None,
    badge: Annotated[
        Path | None,
        typer.Option(
            callback=writes(BADGE), help="Write a self-contained SVG badge to this file.", rich_help_panel="Output"
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check reports against rules. Exit code 0: all pass; 1: at least one fails; 3: undecided.

    A rule is undecided if the 95% interval includes its bound, which means that there are too few rows.
    """
    outputs = {
        name: path for name, path in (("junit", junit), ("summary", summary), ("badge", badge)) if path is not None
    }
    if suggest:
        _suggest(reports, asked, rules, [*outputs, *(["json"] if as_json else [])])
        return
    if rules is None:
        raise OochubError(
            "Pass a rules file with --rules FILE.toml. `oochub check --suggest REPORT` prints a starting point."
        )
    if "margin" in asked.given():
        raise OochubError("--margin requires --suggest.")
    from oochub.checking.check_report import check as run

    result = run(list(reports), rules, **{name: getattr(asked, name) for name in asked.keywords()})
    texts: Mapping[str, Callable[[], str]] = {
        "junit": result.to_junit,
        "summary": result.to_markdown,
        "badge": result.to_badge,
    }
    for name, path in outputs.items():
        with write_whole(path, kind=_KINDS[name]) as draft:
            draft.write_text(texts[name](), "utf-8")
    if not as_json:
        out_console.print(result.to_terminal(width=out_console.width))
    print_result(
        {**{name: str(path) for name, path in outputs.items()}, **(result.to_json() if as_json else {})}, as_json
    )
    if result.exit_code:
        raise typer.Exit(result.exit_code)


def _suggest(reports: list[Path], asked: CheckSettings, rules: Path | None, others: list[str]) -> None:
    if others or asked.baseline is not None or asked.undecided is not None:
        raise OochubError("--suggest does not check anything. It can only be combined with --rules and --margin.")
    if len(reports) != 1:
        raise OochubError(f"--suggest starts from one report, got {len(reports)}.")
    if rules is not None:
        check_writable(rules, kind=RULES)
    from oochub.checking.check_report import open_report
    from oochub.checking.rules import suggest_rules
    from oochub.report.report_record import check_all_rows

    report = open_report(reports[0])
    check_all_rows(report, str(reports[0]), why="Rules hold a model to bounds on all rows")
    text = suggest_rules(report, name=str(reports[0]), margin=asked.margin)
    if rules is None:
        out_console.print(text, markup=False, end="")
        return
    with write_whole(rules, kind=RULES) as draft:
        draft.write_text(text, "utf-8")
    print_result({"rules": str(rules)}, False)
