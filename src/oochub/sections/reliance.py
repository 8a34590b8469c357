"""Reliance on declared contexts, or contexts that are harder for every class: the interaction, and each context."""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from oochub.records.finding_records import DeclaredContext, Difficulty, Reliance
from oochub.records.table import Table
from oochub.report import format_numbers, wording
from oochub.report.footnotes import Footnotes
from oochub.report.group_findings import describe_neither, describe_remaining, describe_wanted
from oochub.section import NamedNumber, Passage, Section
from oochub.stats.context_effects import effect_by_role
from oochub.stats.effect_of_side import effect_of_side
from oochub.stats.estimate import Sampling
from oochub.stats.mean_interval import mean_estimate
from oochub.stats.p_values import adjusted_p_values
from oochub.stats.stratified_gap import stratified_gap

if TYPE_CHECKING:
    from oochub.evaluation.evaluation import Evaluation
    from oochub.report.report_record import ReportRecord

_LISTED = 12  # contexts; all are in report.json
_LEVEL = 0.05
_MOST_TESTED = 200  # contexts
_MOST_SEARCHED = 12  # classes, and contexts, among which rows that would tell are looked for
_MOST_WANTED = 3
_STATUS: tuple[Difficulty, ...] = ("harder for all", "easier for all", "not shown", "too few")
_ROLE = {"easy": 1, "hard": -1, "hard_positive": -1, "hard_negative": -1}


class RelianceOrDifficulty(Section["ReportRecord"]):
    """Shows `report.findings["reliance"]`, by which the verdict tells reliance from contexts that are simply harder.

    What would tell is said if the interval of the gap at the same class and context includes zero, and no context is
    harder or easier for every class.
    """

    title, anchor, place = "Reliance or difficulty", "reliance", 45
    record = Reliance

    def measure(self, evaluation: "Evaluation") -> Reliance | None:
        """The interaction of class and context, and what each context does to every class alike.

        A model that relies on context is right less often where the context is unusual for the class, whatever the
        class and the context. Contexts that are simply harder lower its accuracy where they are usual as well. The
        test of each context is that of contexts that were found (`oochub.stats.context_effects`), corrected by Holm.

        None for rows whose sides are not those of own contexts, for a kind of output without one class per row, and
        for rows without a context that is usual or unusual for their class.
        """
        evaluated = evaluation.rows
        predictions, benchmark = evaluated.predictions, evaluated.benchmark
        facts, names, output = predictions.metadata.facts, predictions.column_names, predictions.output
        is_declared = facts.usual_contexts is not None and {"context", "challenge"} <= set(names)
        if not is_declared or not output.one_answer or output.asks_each_row(predictions):
            return None
        named = evaluated.named("context")
        rows = np.flatnonzero(
            evaluated.known & (predictions.split == evaluation.split) & (True if named is None else named)
        )
        context, challenge = (
            np.asarray(evaluated.columns[name][rows]).astype(str) for name in ("context", "challenge")
        )
        label = np.asarray(predictions.label[rows], np.int64)
        right, role = (
            label == evaluated.columns["prediction"][rows],
            np.array([_ROLE.get(side, 0) for side in challenge]),
        )
        sides = (benchmark.in_context, benchmark.out_of_context)
        if any(set(side.where) != {"challenge"} for side in sides if role.any()) or not len(rows):
            return None
        places, code = np.unique(context, return_inverse=True)
        roles = np.zeros((len(predictions.class_names), len(places)), np.int8)
        roles[label, code] = role
        sampling = Sampling(cluster=evaluated.cluster(rows), **evaluated.sampling)
        effect = effect_of_side(right, label, code, roles[label, code], cluster=sampling.cluster)
        return Reliance(
            gap=effect.gap,
            log_odds=effect.log_odds,
            p_value=None if math.isnan(effect.p_value) else effect.p_value,
            is_identified=effect.is_identified,
            n_usual=int((role > 0).sum()),
            n_unusual=int((role < 0).sum()),
            n_neither=int((role == 0).sum()),
            contexts=_test_contexts(places.tolist(), code, right, label, roles, sampling),
            wanted=_find_wanted(label, code, predictions.class_names, places.tolist(), facts.usual_contexts or {}),
        )

    def passages(self, report: "ReportRecord") -> Iterable[Passage]:
        """The gap that is left, and the accuracy in each context."""
        reliance: Reliance | None = self.found(report)
        if reliance is not None:
            is_told = any(context.status in ("harder for all", "easier for all") for context in reliance.contexts)
            yield Passage(
                title=self.title,
                sentences=(
                    describe_remaining(reliance),
                    "" if is_told else describe_wanted(report.benchmark, reliance),
                    describe_neither(reliance),
                ),
                table=_build_table(reliance),
                below=_write_below(reliance),
            )

    def numbers(self, report: "ReportRecord") -> Iterable[NamedNumber]:
        """The gap that is left, the odds, and both numbers of each context."""
        reliance: Reliance | None = self.found(report)
        if reliance is None:
            return
        yield NamedNumber("same class and context", "gap", reliance.gap, "reliance/gap")
        yield NamedNumber("same class and context", "log_odds", reliance.log_odds, "reliance/log_odds")
        for context in reliance.contexts:
            yield NamedNumber(
                f"context {context.name}", "accuracy", context.accuracy, f"reliance/{context.name}/accuracy"
            )
            yield NamedNumber(f"context {context.name}", "having", context.having, f"reliance/{context.name}/having")


def _test_contexts(
    names: Sequence[str],
    code: NDArray[np.int64],
    right: NDArray[np.bool_],
    label: NDArray[np.int64],
    roles: NDArray[np.int8],
    sampling: Sampling,
) -> tuple[DeclaredContext, ...]:
    """Each of the largest contexts beside all others, the hardest for all first."""
    largest = np.argsort(-np.bincount(code, minlength=len(names)), kind="stable")[:_MOST_TESTED].tolist()
    effects = [
        effect_by_role(right, code == place, label, roles[label, place], cluster=sampling.cluster) for place in largest
    ]
    alike = adjusted_p_values([effect.alike for effect in effects])
    contexts = []
    for place, effect, p_value in zip(largest, effects, alike, strict=True):
        has = code == place
        having = stratified_gap(right, has, label, cluster=sampling.cluster).estimate
        status: Difficulty = (
            "too few" if all(map(math.isnan, (effect.usual.p_value, effect.others.p_value))) else "not shown"
        )
        if p_value <= _LEVEL:
            status = "harder for all" if having < 0 else "easier for all"
        contexts.append(
            DeclaredContext(
                name=names[place],
                n=int(has.sum()),
                accuracy=mean_estimate(right[has].astype(np.float64), sampling.of_rows(has), within=(0.0, 1.0)),
                having=having,
                alike_p_value=None if math.isnan(p_value) else p_value,
                status=status,
            )
        )
    last = math.inf
    return tuple(
        sorted(
            contexts, key=lambda each: (_STATUS.index(each.status), last if math.isnan(each.having) else each.having)
        )
    )


def _find_wanted(
    label: NDArray[np.int64],
    code: NDArray[np.int64],
    classes: Sequence[str],
    contexts: Sequence[str],
    usual: Mapping[str, Sequence[str]],
) -> tuple[str, ...]:
    """The groups with the fewest rows among two classes and two contexts that would tell, those that come cheapest.

    Two classes and two contexts tell if a context is usual for one class and not for the other. Those count whose
    scarcest groups have most rows, so that few more are needed.
    """
    counts = np.zeros((len(classes), len(contexts)), np.int64)
    np.add.at(counts, (label, code), 1)
    role = np.array([[1 if place in usual.get(name, ()) else -1 for place in contexts] for name in classes])
    first, second = (np.argsort(-counts.sum(axis), kind="stable")[:_MOST_SEARCHED].tolist() for axis in (1, 0))
    best: tuple[tuple[int, int], tuple[str, ...]] = ((-1, -1), ())
    for a, b in combinations(first, 2):
        for c, d in combinations(second, 2):
            if role[a, c] - role[a, d] == role[b, c] - role[b, d]:
                continue
            cells = sorted((int(counts[y, k]), y, k) for y in (a, b) for k in (c, d))
            rank = (sum(n > 0 for n, _, _ in cells), cells[0][0] + cells[1][0])
            if rank > best[0]:
                few = [cell for cell in cells if cell[0] == 0] or cells[:2]
                best = rank, tuple(f"{classes[y]}/{contexts[k]}" for _, y, k in few[:_MOST_WANTED])
    return best[1]


def _build_table(found: Reliance) -> Table:
    below = Footnotes()
    rows = [
        (
            wording.words(effect.name),
            format_numbers.count(effect.n),
            below.cell(effect.accuracy),
            below.cell(effect.having, signed=True),
            effect.status,
        )
        for effect in found.contexts[:_LISTED]
    ]
    heads = ("Context", "n", "Accuracy, %", "Against other contexts, points", "For every class")
    return Table(heads=heads, rows=tuple(rows), footnotes=below.lines)


def _write_below(found: Reliance) -> tuple[str, ...]:
    more = len(found.contexts) - _LISTED
    return (
        "Against other contexts: accuracy in the context minus that of the same classes elsewhere, class by class. "
        "Harder for all: that is below zero both for the classes for which the context is usual and for the others "
        "(Holm, 5%).",
        f"{format_numbers.count(more)} more contexts are in report.json." if more > 0 else "",
    )
