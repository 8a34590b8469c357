"""What the fuzz files share: a campaign of the session, whose counts are printed at its end."""

from collections import Counter
from collections.abc import Iterator

import pytest
from fuzz_case import Campaign

_PROPERTY = "fuzz"
_CAMPAIGN = pytest.StashKey[Campaign]()


@pytest.fixture(scope="session")
def campaign(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Campaign:
    """Runs cases, and counts their outcomes."""
    request.config.stash[_CAMPAIGN] = Campaign(tmp_path_factory.mktemp("campaign"))
    return request.config.stash[_CAMPAIGN]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Puts what a test counted into its report, which comes home from the worker that ran it."""
    outcome = yield
    run = item.config.stash.get(_CAMPAIGN, None)
    if run is not None and outcome.get_result().when == "call":
        outcome.get_result().user_properties.append((_PROPERTY, [[*key, n] for key, n in run.outcomes.items()]))
        run.outcomes.clear()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints how many cases of each format had which outcome."""
    counts: Counter[tuple[str, str]] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, rows in getattr(report, "user_properties", ()):
                if name == _PROPERTY:
                    counts.update({(kind, outcome): n for kind, outcome, n in rows})
    if not counts:
        return
    outcomes = ("refused", "same", "said", "changed", "failed")
    terminalreporter.section("fuzz cases by format and outcome")
    terminalreporter.write_line(f"{'':<14}" + "".join(f"{outcome:>9}" for outcome in (*outcomes, "all")))
    for kind in [*sorted({kind for kind, _ in counts}), "all"]:
        row = [sum(n for (of, came), n in counts.items() if kind in (of, "all") and came == each) for each in outcomes]
        terminalreporter.write_line(f"{kind:<14}" + "".join(f"{n:>9,}" for n in (*row, sum(row))))
