"""The section of docs/results.md on groups that were found, from docs/results/found_groups.parquet."""

from typing import Any

import pandas as pd
from found_groups_runs import METHODS
from results_numbers import BEATS, against, interval

from oochub.report import format_numbers

_WORLDS = {"waterbirds": "Waterbirds", "spawrious/o2o_hard": "Spawrious o2o_hard"}
_GIVEN = {"none": "labels", "true": "true groups", "found": "found groups"}


def found_groups_section(table: pd.DataFrame, about: dict[str, Any]) -> str:
    """Markdown.

    Args:
        table: The table of docs/results/found_groups.parquet.
        about: What its metadata says: `versions` and `label_alone`.
    """
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    lines = [_PREFACE.format(runs=len(table), versions=versions)]
    for task in dict.fromkeys(table["task"]):
        lines += [*_describe_world(table[table["task"] == task], task, about["label_alone"][task]), ""]
    return "\n".join(lines)


def _describe_world(table: pd.DataFrame, task: str, label_alone: float) -> list[str]:
    of = {title: table[table["method"] == title] for title in METHODS}
    erm = of["ERM"].set_index("seed")["worst_group"]
    beats: dict[str, list[str]] = {groups: [] for groups in _GIVEN}
    rows = []
    for title, runs in of.items():
        worst, average = interval(runs, "worst_group"), interval(runs, "average")
        verdict = "" if title == "ERM" else against(worst, interval(of["ERM"], "worst_group"))
        ahead = int((runs["worst_group"].to_numpy() > erm.loc[runs["seed"]].to_numpy()).sum())
        groups = runs["groups"].iloc[0]
        if verdict == BEATS:
            beats[groups].append(title)
        is_found = groups == "found"
        cells = [
            f"**{title}**" if title == "ERM" else title,
            _format_each(runs["k"], "d") if is_found else format_numbers.ABSENT,
            _format_each(100 * runs["wrong_groups"], ".1f") if is_found else format_numbers.ABSENT,
            _format_each(100 * runs["mixed_groups"], ".1f") if is_found else format_numbers.ABSENT,
            worst.text(),
            average.text(),
            f"{ahead} of {len(runs)}" if verdict else format_numbers.ABSENT,
            verdict or format_numbers.ABSENT,
        ]
        rows.append(f"| {' | '.join(cells)} |")
    shown = "; ".join(f"{words}: {', '.join(beats[groups]) or 'none'}" for groups, words in _GIVEN.items())
    no_more = [title for title, runs in of.items() if (runs["mixed_groups"] >= label_alone - 1e-9).all()]
    smallest = int(table["worst_group.n"].min())
    return [
        f"**{_WORLDS[task]}.** The worst group of the test split has n = {smallest} images or more, the average "
        f"{int(table['average.n'].iloc[0]):,}. Groups by the label alone would be mixed in {100 * label_alone:.1f}% of "
        f"the training rows; clusters that are no less mixed on any seed: {', '.join(no_more) or 'none'}. Beat ERM, "
        f"given {shown}.\n",
        "| method | k | wrong groups, % | mixed groups, % | worst group | average | seeds ahead | against ERM |",
        "|" + "---|" * 8,
        *rows,
    ]


def _format_each(values: pd.Series, form: str) -> str:
    return ", ".join(format(value, form) for value in values)


_PREFACE = """## Groups that were found

This is for data without group labels: `oochub contexts --contexts clusters` groups the training rows by what
the ERM model of the same seed sees in whole images (`region=picture`), less the mean of each class (GEORGE, Sohoni et
al. 2020). The methods are then given class by cluster (`--environments label/contexts`) instead of class by context.
Clusters are found on the training split alone.
Made from `docs/results/found_groups.parquet`, the numbers of {runs} runs;
`python docs/make/found_groups_runs.py` does them again, some ten minutes on one core. {versions}.

Settings, selection of the epoch and rule are those above, fixed before the runs; accuracies are times 100, and the rule
is about the worst group of the test split. Waterbirds is trained for 4 epochs: after 7, ERM has almost no gap to close
(its worst group is at 95.0 on seed 0), which was seen before any other method was run. k = 2 was added when the
clusters of a first model had been seen. The runs on found groups were done twice, the second time because the way
`clusters` had changed; these are the second.

*k* is the number of clusters of each seed: by the silhouette, or 2, as many contexts as each class has here. *Wrong
groups* are training rows in another group than their own where each found group stands for one true group at most, by
the best matching: where a true group is cut in two, one part of it is wrong. *Mixed groups* are training rows that are
not of the true group that most rows of their found group are of: a group that is cut in two is not mixed.
"""
