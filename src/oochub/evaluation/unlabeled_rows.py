"""Accuracy, both sides, the gap and the worst group from few labeled images and many without a label.

The proxy of a right answer is the probability that the model itself, or other models on average, give to its answer.
On which side of the comparison an image without a label lies depends on its class, so the chance of either side is that
of the classes that it may be; see `oochub.stats.prediction_powered` for how an error in all that is corrected.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from oochub.errors import OochubError, choose_wording
from oochub.prediction.predictions import Predictions
from oochub.records.finding_records import FewLabelNumbers, FewLabelRow
from oochub.stats.estimate import Estimate
from oochub.stats.prediction_powered import FewShare, estimate_share, subtract_shares, take_smallest

_TINY = 1e-12
_NO_CONTEXT = "no image that has a label has a context too"


@dataclass(frozen=True, kw_only=True)
class KnownRows:
    """The images, those with a label first.

    Attributes:
        label: Class number of each image that has one (m,), the first m of n.
        prediction: Class number of the model's answer (n,).
        probability: What the proxy gives to each class (n, c).
        context: Number of the context (n,), -1 where it is not known.
        is_usual: Whether the context is usual for the label (m,).
        is_unusual: Whether it is unusual.
    """

    label: NDArray[np.int64]
    prediction: NDArray[np.int64]
    probability: NDArray[np.float64]
    context: NDArray[np.int64]
    is_usual: NDArray[np.bool_]
    is_unusual: NDArray[np.bool_]

    @cached_property
    def with_context(self) -> "KnownRows":
        """The images that have a context."""
        every = self.context >= 0
        if every.all():
            return self
        labeled = every[: len(self.label)]
        return KnownRows(
            label=self.label[labeled],
            prediction=self.prediction[every],
            probability=self.probability[every],
            context=self.context[every],
            is_usual=self.is_usual[labeled],
            is_unusual=self.is_unusual[labeled],
        )

    @cached_property
    def answered(self) -> NDArray[np.float64]:
        """What the proxy gives to the model's answer (n,)."""
        return self.probability[np.arange(len(self.prediction)), self.prediction]

    @cached_property
    def is_right(self) -> NDArray[np.bool_]:
        """Whether the answer is right, of the images with a label (m,)."""
        right: NDArray[np.bool_] = self.prediction[: len(self.label)] == self.label
        return right

    def estimate_accuracy(self) -> FewShare:
        """The share of right answers."""
        labeled, every = np.ones(len(self.label)), np.ones(len(self.prediction))
        return estimate_share(self.is_right, labeled, self.answered, every, (self._lean, 0 * every))

    def estimate_members(self, members: NDArray[np.bool_], *, confidence: float = 0.95) -> FewShare:
        """The share of right answers among images of some pairs of class and context; all have a context.

        Args:
            members: Whether an image of the class in the context is one of them (c, k).
            confidence: Level; another than 0.95 takes the exact interval.
        """
        may_be = members.T[self.context]  # (n, c)
        is_member = members[self.label, self.context[: len(self.label)]]
        may_be[self._only, self.label[self._only]] = False
        answers = may_be[np.arange(len(self.prediction)), self.prediction]
        right = self.answered * answers
        chance = np.einsum("nc,nc->n", self.probability, may_be)
        if_wrong = (chance - right) / np.maximum(1 - self.answered, _TINY)
        return estimate_share(
            is_member & self.is_right,
            is_member,
            right,
            chance,
            (self._lean * answers, self._lean * (answers - if_wrong)),
            confidence=confidence,
            exact=confidence != 0.95,
        )

    @cached_property
    def _lean(self) -> NDArray[np.float64]:
        """1 where the context is usual for the answer, -1 where it is unusual, 0 where that is not known (n,).

        The probability may not know what an unusual context does to the answer.
        """
        usual, unusual = (
            self.mark_pairs(side)[self.prediction, self.context] for side in (self.is_usual, self.is_unusual)
        )
        lean = np.where(self.context < 0, 0.0, usual * 1.0 - unusual)
        lean[self._only[self.is_right[self._only]]] = 0
        return lean

    @cached_property
    def _only(self) -> NDArray[np.int64]:
        """The images with a label that alone have their pair of class and context.

        No image tells the side of a pair for its own proxy, as images without a label do not.
        """
        pair = self.label * (int(self.context.max(initial=0)) + 2) + self.context[: len(self.label)]
        _, number, counts = np.unique(pair, return_inverse=True, return_counts=True)
        return np.flatnonzero(counts[number] == 1)

    def mark_pairs(self, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The pairs of class and context (c, k) that some of the images with a label (m,) have."""
        marked = np.zeros((self.probability.shape[1], int(self.context.max(initial=0)) + 1), bool)
        marked[self.label[chosen], self.context[: len(self.label)][chosen]] = True
        return marked


def estimate_numbers(rows: KnownRows) -> dict[str, FewShare | str]:
    """Each number from the labels alone and with the other images; or why it cannot be estimated.

    Args:
        rows: The images; one has a label.
    """
    shares: dict[str, FewShare | str] = {"accuracy": rows.estimate_accuracy()}
    placed = rows.with_context
    sides: list[FewShare] = []
    for name, side in (("in_context", placed.is_usual), ("out_of_context", placed.is_unusual)):
        sides += [placed.estimate_members(placed.mark_pairs(side))] if side.any() else []
        words = name.replace("_", " ")
        shares[name] = sides[-1] if side.any() else f"no image that has a label is known to be {words}"
    gap = subtract_shares(*sides[::-1]) if len(sides) == 2 else "one side has no image that has a label"
    shares |= {"gap": gap}
    pairs = np.argwhere(placed.mark_pairs(np.ones(len(placed.label), bool)))
    groups = []
    for label, context in pairs:
        one = np.zeros((placed.probability.shape[1], int(placed.context.max()) + 1), bool)
        one[label, context] = True
        groups.append(placed.estimate_members(one, confidence=1 - 0.05 / len(pairs)))
    shares["worst_group"] = take_smallest(groups) if groups else _NO_CONTEXT
    return shares


def read_proxies(given: Predictions | str | Path | Sequence[Predictions | str | Path]) -> list[Predictions]:
    """Opens other models' predictions.

    Args:
        given: Predictions, or their path, or several of them.

    Raises:
        OochubError: Predictions that cannot be read, or without a probability for each class.
    """
    given = [given] if isinstance(given, Predictions | str | Path) else list(given)
    opened = [proxy if isinstance(proxy, Predictions) else Predictions.load(Path(proxy)) for proxy in given]
    for one, proxy in zip(given, opened, strict=True):
        if not (proxy.output.one_answer and proxy.output.has_confidence):
            raise OochubError(
                f"{_name_proxy(one, proxy)} has no probability for each class, but {proxy.metadata.kind}. Pass "
                "predictions of a classifier."
            )
    return opened


def check_proxies(proxies: Sequence[Predictions], ids: Sequence[str], class_names: Sequence[str] | None) -> None:
    """Checks that other models' predictions are of the same images and classes.

    Args:
        proxies: What `read_proxies` gives.
        ids: Ids of the images.
        class_names: Names of the classes, in any order; None if they are numbers yet.

    Raises:
        OochubError: An image without a prediction, or with two, or other classes.
    """
    option = choose_wording("proxy=", "--proxy")
    for proxy in proxies:
        own = proxy.column("example_id").tolist()
        name = _name_proxy(None, proxy)
        if class_names is not None and set(proxy.class_names) != set(class_names):
            raise OochubError(
                f"The classes of {option} {name} are {', '.join(proxy.class_names)[:200]}, but those of the labels are "
                f"{', '.join(class_names)[:200]}. Pass predictions for the same classes."
            )
        if len(set(own)) < len(own):
            raise OochubError(f"{option} {name} has two rows for one image. Pass predictions of one split.")
        missing = sorted(set(ids) - set(own))
        if missing:
            raise OochubError(
                f"{option} {name} has no prediction for {len(missing):,} of {len(ids):,} images, such as "
                f"{missing[0]!r}. Predict the same images with it: audit it with the same labels and folders."
            )


def _name_proxy(given: object, proxy: Predictions) -> str:
    return str(given) if isinstance(given, str | Path) else (proxy.metadata.model.id or "another model")


def measure_few_labels(predictions: Predictions, proxies: Sequence[Predictions] = ()) -> FewLabelNumbers:
    """Each number from the images with a label alone, and from all.

    Sides and groups are those of the labeled images: a pair of class and context is on the side on which the labeled
    images of that pair are.

    Args:
        predictions: The predictions of all images, whose label is -1 without one.
        proxies: Other models' predictions of the same images, see `check_proxies`; none takes the model's own
            probability.

    Raises:
        OochubError: See `check_proxies`; a model without probabilities, and no other one.
    """
    if not proxies and not predictions.output.has_confidence:
        raise OochubError(
            f"This model gives no probability for each class, but {predictions.metadata.kind}. Pass another model's "
            f"predictions with {choose_wording('proxy=', '--proxy')}."
        )
    check_proxies(proxies, predictions.column("example_id").tolist(), predictions.class_names)
    rows = _read_rows(predictions, proxies)
    n, shown = len(rows.label), rows.answered
    varies = n > 2 and np.ptp(shown[:n]) > 0 and 0 < rows.is_right.mean() < 1
    return FewLabelNumbers(
        rows=tuple(_make_row(name, number) for name, number in estimate_numbers(rows).items()),
        n_labeled=n,
        n_unlabeled=len(shown) - n,
        n_contexts=int((rows.context[n:] >= 0).sum()),
        proxies=tuple(_name_proxy(None, proxy) for proxy in proxies),
        correlation=float(np.corrcoef(shown[:n], rows.is_right)[0, 1]) if varies else None,
        p_value=_compare(shown[:n], shown[n:]),
    )


def _make_row(name: str, number: FewShare | str) -> FewLabelRow:
    if isinstance(number, str):
        nothing = Estimate(math.nan, n=0, method="none", reason=number)
        return FewLabelRow(name=name, alone=nothing, together=nothing, saved=0.0)
    alone, together = ((share.high - share.low) ** 2 for share in (number.alone, number.together))
    saved = max(0.0, min(number.saved, 1 - together / alone)) if alone > 0 else 0.0  # no more than the interval shows
    return FewLabelRow(name=name, alone=number.alone, together=number.together, saved=saved)


def _compare(first: NDArray[np.float64], second: NDArray[np.float64]) -> float | None:
    from scipy import stats  # takes half a second

    return float(stats.ks_2samp(first, second).pvalue) if len(first) and len(second) else None


def _read_rows(predictions: Predictions, proxies: Sequence[Predictions]) -> KnownRows:
    label, ids = np.asarray(predictions.label), predictions.column("example_id").tolist()
    order, count = np.argsort(label < 0, kind="stable"), int((label >= 0).sum())
    place, side = (_read_names(predictions, column)[order] for column in ("context", "challenge"))
    contexts = np.unique(place[place != ""])
    probability = predictions.probability if not proxies else _average(proxies, ids, predictions.class_names)
    return KnownRows(
        label=label[order[:count]],
        prediction=np.asarray(predictions.prediction)[order],
        probability=probability[order],
        context=np.where(place == "", -1, np.searchsorted(contexts, place)),
        is_usual=side[:count] == "easy",
        is_unusual=np.char.startswith(side[:count], "hard"),
    )


def _read_names(predictions: Predictions, column: str) -> NDArray[np.str_]:
    """A column of names (n,), "" where there is none."""
    if column not in predictions.column_names:
        return np.full(len(predictions), "")
    return np.array(
        ["" if value is None else str(value) for value in predictions.rows.light.column(column).to_pylist()]
    )


def _average(proxies: Sequence[Predictions], ids: Sequence[str], class_names: Sequence[str]) -> NDArray[np.float64]:
    """The mean probability of each class (n, c), in the order of these images and classes."""
    total = np.zeros((len(ids), len(class_names)))
    for proxy in proxies:
        place = {name: row for row, name in enumerate(proxy.column("example_id").tolist())}
        total += proxy.probability[[place[example_id] for example_id in ids]][
            :, [*map(proxy.class_names.index, class_names)]
        ]
    mean: NDArray[np.float64] = total / len(proxies)
    return mean
