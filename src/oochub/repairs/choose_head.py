"""Fits every new head on the rows that fit, and chooses one on the rows that choose.

What a model would answer on rows that it was trained on, if it did not know them by heart.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from oochub import catalog
from oochub.prediction.predictions_file import StoredHead
from oochub.process.follow import follow
from oochub.repairs.fine_tune import FineTunedNetwork
from oochub.repairs.head_method import HeadMethod, HeadRows, fit_logistic
from oochub.repairs.repair import FINE_TUNE, TriedHead
from oochub.repairs.repair_data import FEWEST, RepairRows, RowParts
from oochub.stats.estimate import Sampling
from oochub.stats.mean_interval import t_interval

_C = 0.1


NONE = "none"
"""Name of the method that keeps the model's own head."""
_ONE_ERROR = 0.6827
"""Level of the interval that ends one standard error below and above."""
_COLDEST, _HOTTEST = 0.05, 20.0


def answer_freshly(
    rows: RepairRows, fit: NDArray[np.int64], numbers: NDArray[np.int64], *, seen: NDArray[np.bool_]
) -> NDArray[np.float32]:
    """The logits (k, c) of the model on some rows; those that it was trained on are answered by a plain refit.

    A last layer that was fitted on a row says more of it than of others: it would seem to have no gap, and no new head
    could be better. So a plain logistic regression on the features of other rows, all of them alike, takes its place.

    Args:
        rows: All rows.
        fit: Rows that the refit is fitted on, none of `numbers`.
        numbers: Rows to answer (k,).
        seen: Rows (n,) that the model was trained on.
    """
    logits: NDArray[np.float32] = np.array(rows.predictions.logits[numbers], np.float32)
    is_seen = seen[numbers]
    if is_seen.any() and len(np.unique(rows.label[fit])) > 1:
        logits[is_seen] = rows.logits(refit_plainly(rows, fit), numbers[is_seen])
    return logits


def refit_plainly(rows: RepairRows, fit: NDArray[np.int64]) -> StoredHead:
    """A plain logistic regression on the features of some rows, all of them alike.

    Args:
        rows: All rows.
        fit: Rows that it is fitted on, of two classes or more.
    """
    own = HeadRows(rows.features[fit], rows.label[fit], rows.groups["side"][fit], rows.classes)
    features, scale = own.standardized()
    return scale.fold(*fit_logistic(features, own.label, np.ones(len(fit)), classes=own.classes, c=_C))


class ChosenHead(NamedTuple):
    """A new head, or a network that was fine-tuned behind one.

    Attributes:
        head: Its weight and bias, the temperature included; fitted on the rows that fit and choose. None if the model's
            own is best.
        temperature: What its logits were divided by.
        tried: The record of each head that was tried, the model's own first.
        network: The network that is better than the head; None if none is.
    """

    head: StoredHead | None
    temperature: float | None
    tried: tuple[TriedHead, ...]
    network: FineTunedNetwork | None = None

    @property
    def chosen(self) -> TriedHead:
        """The record of the chosen head; the model's own where no other is better."""
        return next((head for head in self.tried if head.is_chosen), self.tried[0])


class _Candidate(NamedTuple):
    method: str
    settings: Mapping[str, float]
    groups: str
    rows: str


class _Score(NamedTuple):
    inside: float
    outside: float
    loss: float
    right: NDArray[np.bool_]  # of the rows that choose
    is_allowed: tuple[bool, bool] = (True, True)  # with a standard error to spare; by the estimate alone

    @property
    def rank(self) -> tuple[float, float]:
        """What is larger is better: accuracy of the worse side, then the loss."""
        return min(self.inside, self.outside), -self.loss


def choose_head(rows: RepairRows, parts: RowParts, *, at_most_lost: float, seed: int) -> ChosenHead:
    """Chooses the head with the best worse side among those that lose no more than is allowed in context.

    A head that loses just what is allowed on these rows would lose more on other rows in every second case. So what it
    loses, paired with the model's own answers, plus one standard error of that, has to be within what is allowed. If
    this would cost more than half of what is gained on the worse side, as on few rows, the estimate alone has to be.

    Every head is fitted on the rows that fit and scored on those that choose; no row that proves is looked at. On rows
    that the model was trained on, a plain refit stands in its place (`answer_freshly`), also where a method uses the
    model's own head. The chosen method is then fitted once more on both together; its temperature is that which fits
    the rows that choose best before that.

    Args:
        rows: All rows.
        parts: Division of the rows.
        at_most_lost: Accuracy that may be lost in context, a share.
        seed: Random seed of the fits.
    """
    head = rows.predictions.head
    own = answer_freshly(rows, parts.fit, parts.choose, seen=parts.seen)
    is_refit = bool(parts.seen[parts.choose].any())
    refit = refit_plainly(rows, parts.fit) if head is not None and is_refit else None
    candidates = [_Candidate(NONE, {}, "", ""), *_list_candidates(rows, parts, head)]
    scores, answers = [_score(own, rows, parts.choose)], {0: own}
    for candidate in follow(candidates[1:], desc="Fitting heads", disable=None):
        logits = _answer(candidate, rows, parts, head, refit, seed)
        scores.append(_score(logits, rows, parts.choose, scores[0], at_most_lost))
        answers = {place: answers.get(place, logits) for place in _find_leaders(scores)}
    best, allowed = _pick(scores)
    tried = tuple(
        TriedHead(
            **candidate._asdict(),
            inside=score.inside,
            outside=score.outside,
            loss=score.loss,
            title=_title(candidate, is_refit=is_refit),
            is_allowed=is_allowed,
            is_chosen=place == best != 0,
        )
        for place, (candidate, score, is_allowed) in enumerate(zip(candidates, scores, allowed, strict=True))
    )
    if best == 0:
        return ChosenHead(None, None, tried)
    temperature = _fit_temperature(answers[best], rows.label[parts.choose])
    last = _fit(candidates[best], rows, np.union1d(parts.fit, parts.choose), parts, head, seed)
    cooled = StoredHead(weight=last.weight / temperature, bias=last.bias / temperature)
    return ChosenHead(cooled, temperature, tried)


def choose_network(
    chosen: ChosenHead, networks: Iterable[FineTunedNetwork], rows: RepairRows, parts: RowParts, *, at_most_lost: float
) -> ChosenHead:
    """Sets networks that were fine-tuned beside the chosen head, by the same rule and on the same rows.

    Args:
        chosen: What `choose_head` gives.
        networks: The networks. The model was not trained on the rows that choose, see `FineTuning.explain_absence`.
        rows: All rows.
        parts: Division of the rows.
        at_most_lost: Accuracy that may be lost in context, a share.

    Returns:
        The network with the best worse side, if it is better than the head; else the head. Both with all records.
    """
    before = _score(rows.predictions.logits[parts.choose], rows, parts.choose)
    tuned = list(networks)
    scores = [_score(network.choose, rows, parts.choose, before, at_most_lost) for network in tuned]
    best, allowed = _pick([before, *scores])
    records = [
        TriedHead(
            method=FINE_TUNE,
            title=network.title,
            settings=network.settings,
            groups="side",
            rows="all",
            inside=score.inside,
            outside=score.outside,
            loss=score.loss,
            is_allowed=is_allowed,
            is_chosen=False,
        )
        for network, score, is_allowed in zip(tuned, scores, allowed[1:], strict=True)
    ]
    rank = min(chosen.chosen.inside, chosen.chosen.outside), -chosen.chosen.loss
    if best == 0 or scores[best - 1].rank <= rank:
        return chosen._replace(tried=(*chosen.tried, *records))
    kept = tuned[best - 1]
    others = [replace(head, is_chosen=False) for head in chosen.tried]
    records[best - 1] = replace(records[best - 1], is_chosen=True)
    temperature = _fit_temperature(kept.choose, rows.label[parts.choose])
    return chosen._replace(temperature=temperature, tried=(*others, *records), network=kept)


def _answer(
    candidate: _Candidate,
    rows: RepairRows,
    parts: RowParts,
    head: StoredHead | None,
    refit: StoredHead | None,
    seed: int,
) -> NDArray[np.float32]:
    """What a head that is fitted on the rows that fit says of those that choose, (k, c)."""
    logits = rows.logits(_fit(candidate, rows, parts.fit, parts, head, seed), parts.choose)
    if refit is not None and catalog.get("repair", candidate.method).uses_own:
        is_seen = parts.seen[parts.choose]
        logits[is_seen] = rows.logits(_fit(candidate, rows, parts.fit, parts, refit, seed), parts.choose[is_seen])
    return logits


def _title(candidate: _Candidate, *, is_refit: bool) -> str:
    own = "the model's own, or a plain refit on rows that it was trained on" if is_refit else "the model's own"
    title: str = own if candidate.method == NONE else catalog.get("repair", candidate.method).title
    return title


def _list_candidates(rows: RepairRows, parts: RowParts, head: StoredHead | None) -> Iterator[_Candidate]:
    """Every method with each of its settings, kinds of group and kinds of rows."""
    unseen = parts.fit[~parts.seen[parts.fit]]
    fewest = np.bincount(rows.groups["side"][unseen], minlength=2 * rows.classes)
    present = np.bincount(rows.groups["side"][parts.fit], minlength=2 * rows.classes) > 0
    has_both = 0 < len(unseen) < len(parts.fit) and fewest[present].min() >= FEWEST
    for name in catalog.names("repair"):
        method: type[HeadMethod] = catalog.get("repair", name)
        for settings in method.settings:
            for groups in tuple(rows.groups) if method.uses_groups else ("",):
                for kind in ("all", "unseen") if has_both else ("all",):
                    if head is not None or not method.uses_own:
                        yield _Candidate(name, settings, groups, kind)


def _head_rows(
    candidate: _Candidate, rows: RepairRows, numbers: NDArray[np.int64], parts: RowParts, head: StoredHead | None
) -> HeadRows:
    used = numbers[~parts.seen[numbers]] if candidate.rows == "unseen" else numbers
    group = rows.groups[candidate.groups or "side"][used]
    return HeadRows(rows.features[used], rows.label[used], group, rows.classes, head)


def _fit(
    candidate: _Candidate,
    rows: RepairRows,
    numbers: NDArray[np.int64],
    parts: RowParts,
    head: StoredHead | None,
    seed: int,
) -> StoredHead:
    method: HeadMethod = catalog.get("repair", candidate.method)(**candidate.settings)
    return method.fit(_head_rows(candidate, rows, numbers, parts, head), seed=seed)


def _score(
    logits: NDArray[np.float32],
    rows: RepairRows,
    numbers: NDArray[np.int64],
    before: _Score | None = None,
    at_most_lost: float = 0.0,
) -> _Score:
    label, is_out = rows.label[numbers], rows.is_out[numbers]
    right = logits.argmax(axis=1) == label
    loss = -log_softmax(logits.astype(np.float64), axis=1)[np.arange(len(label)), label]
    sides = (~is_out, is_out)
    inside, outside = (float(right[side].mean()) for side in sides)
    score = _Score(inside, outside, max(float(loss[side].mean()) for side in sides), right)
    if before is None:
        return score
    to_spare = _is_within(right, before.right, rows, numbers, at_most_lost=at_most_lost)
    return score._replace(is_allowed=(to_spare, inside >= before.inside - at_most_lost))


def _find_leaders(scores: Sequence[_Score]) -> list[int]:
    """The places of the best score that is allowed with a standard error to spare, and of the best without one."""
    return [
        max((k for k, score in enumerate(scores) if score.is_allowed[rule]), key=lambda k: scores[k].rank)
        for rule in (0, 1)
    ]


def _pick(scores: Sequence[_Score]) -> tuple[int, list[bool]]:
    """The place of the best score, and which scores are allowed; the first one is the model's own."""
    leaders = _find_leaders(scores)
    gains = [scores[k].rank[0] - scores[0].rank[0] for k in leaders]
    rule = int(gains[0] < gains[1] / 2)
    return leaders[rule], [score.is_allowed[rule] for score in scores]


def _is_within(
    new: NDArray[np.bool_],
    own: NDArray[np.bool_],
    rows: RepairRows,
    numbers: NDArray[np.int64],
    *,
    at_most_lost: float,
) -> bool:
    """Whether what is lost in context, and one standard error more, is within what is allowed.

    The standard error is that of independent rows: of a few clusters it would be so large that no head is allowed.
    """
    inside = ~rows.is_out[numbers]
    change = new[inside].astype(np.float64) - own[inside]
    if (change == change[0]).all():
        return bool(change[0] >= -at_most_lost)
    return bool(t_interval(change, Sampling(confidence=_ONE_ERROR)).low >= -at_most_lost)


def _fit_temperature(logits: NDArray[np.float32], label: NDArray[np.int64]) -> float:
    """The temperature at which the logits fit the labels best, by the mean log-likelihood; Guo et al. 2017."""

    def loss(log_temperature: float) -> float:
        scaled = logits.astype(np.float64) / np.exp(log_temperature)
        return -float(log_softmax(scaled, axis=1)[np.arange(len(label)), label].mean())

    optimum = minimize_scalar(loss, bounds=(np.log(_COLDEST), np.log(_HOTTEST)), method="bounded")
    return float(np.exp(optimum.x))
