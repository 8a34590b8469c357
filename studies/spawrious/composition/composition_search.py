"""How hard compositions of Spawrious are: a linear head on features for each, and how far it gets out of context."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from oochub import catalog
from oochub.builders.sources.spawrious_compositions import BACKGROUNDS, BREEDS, SpawriousComposition
from oochub.errors import OochubError
from oochub.process.follow import follow
from oochub.stats.estimate import Estimate
from oochub.stats.proportion import wilson
from oochub.trainers.arguments import RobustTrainingArguments
from oochub.trainers.heads.fitted_head import FittedHead, Probe
from oochub.trainers.heads.head_stack import HeadStack
from oochub.trainers.samplers import UniformSampler

Folder = tuple[int, str, str]
"""Repeat, background and breed."""
_FOLDERS = list(product((0, 1), BACKGROUNDS, BREEDS))
_SIDE_BY_SIDE = 32  # heads: their batches of wide features stay below 100 MB
_LEAST = 20  # images a folder: each half needs 10, of which some are validation
_LEAST_CORRELATED = 4  # pairs, for an interval of their correlation
_EPOCHS, _LEAST_STEPS, _BATCH = 12, 600, 64  # with these a head of few rows is as good as scikit-learn's
_LEARNING_RATE, _WEIGHT_DECAY = 0.1, 1e-3  # the rate over the root of how many features add up


@dataclass(frozen=True, kw_only=True)
class SearchedComposition:
    """A composition with its accuracies on half of the images, and again on the other half.

    Attributes:
        composition: The composition that was trained and tested on.
        in_context: Accuracy on the validation rows, on the first half of the images.
        accuracy: Out of context, on the test rows of the first half; the ranking goes by it.
        confirmed: The same on the second half: other images to train and to test on, and another head.
    """

    composition: SpawriousComposition
    in_context: Estimate
    accuracy: Estimate
    confirmed: Estimate


@dataclass(frozen=True, kw_only=True)
class CompositionSearch:
    """What a search found.

    Attributes:
        ranked: The easiest first.
        agreement: Pearson's correlation between the two halves' accuracies. Near 1, compositions differ in how hard
            they are; where its interval holds 0, they differ by no more than chance may give.
    """

    ranked: tuple[SearchedComposition, ...]
    agreement: Estimate

    @property
    def proposed(self) -> Mapping[str, SearchedComposition]:
        """easy, medium and hard: the first, the middle and the last of the ranking, where it has three."""
        if len(self.ranked) < 3:
            return {}
        return {"easy": self.ranked[0], "medium": self.ranked[len(self.ranked) // 2], "hard": self.ranked[-1]}

    @property
    def table(self) -> pd.DataFrame:
        """One row a composition, the easiest first: rank, proposed, about, and each accuracy with interval and n."""
        names = {id(proposal): level for level, proposal in self.proposed.items()}
        rows = []
        for rank, candidate in enumerate(self.ranked, start=1):
            row: dict[str, Any] = {
                "rank": rank,
                "proposed": names.get(id(candidate), ""),
                "about": candidate.composition.about,
            }
            for name in ("in_context", "accuracy", "confirmed"):
                estimate: Estimate = getattr(candidate, name)
                row |= {
                    name: estimate.value,
                    f"{name}_low": estimate.low,
                    f"{name}_high": estimate.high,
                    f"{name}_n": estimate.n,
                }
            rows.append(row)
        return pd.DataFrame(rows)


def composition_search(
    compositions: Sequence[SpawriousComposition],
    features: Mapping[Folder, NDArray[np.float32]],
    *,
    seed: int = 0,
) -> CompositionSearch:
    """Trains an ERM head for each composition, and ranks them by accuracy out of context.

    The images of each folder are dealt out to two halves. Everything is done twice, on halves that share no image:
    who ranks highest among many is there partly by luck, and the second half, which ranked nothing, is free of it.
    Features are standardized over all images; a head trains on the training rows alone, its last epoch counts.

    Args:
        compositions: What to try, all with equally many training rows.
        features: Features of each of the 48 folders, float32 (n, d), in the order of the numbers of its images.
        seed: Random seed for the heads.

    Raises:
        OochubError: A folder that is missing or of another size, fewer than 20 images per folder, features that are not
            finite, compositions with unequally many training rows.

    Source: Lynch et al., Spawrious, Section 4.2, which trained whole networks; how it graded them is not said.
    """
    halves, n = _standardize_halves(features)
    label = torch.arange(len(BREEDS)).repeat_interleave(n).repeat(len(_FOLDERS) // len(BREEDS))
    numbers = {folder: torch.arange(n) + n * place for place, folder in enumerate(_FOLDERS)}
    rows = [_select_rows(composition, numbers, n) for composition in compositions]
    measured: list[list[tuple[Estimate, Estimate]]] = []
    lengths = sorted({len(row["train"]) for row in rows})
    if len(lengths) > 1:
        raise OochubError(f"Compositions are compared at equally many training rows, got {lengths}. Search each alone.")
    epochs = _count_epochs(rows[0]["train"]) if rows else 0
    with follow(total=2 * len(rows) * epochs, desc=f"{2 * len(rows)} heads", unit="epoch", disable=None) as bar:
        for number, half in enumerate(halves):
            measured.append([])
            for start in range(0, len(rows), _SIDE_BY_SIDE):
                some = rows[start : start + _SIDE_BY_SIDE]
                first_seed = (seed + number) * len(rows) + start
                heads = _train_heads(half, label, [candidate["train"] for candidate in some], seed=first_seed, bar=bar)
                for head, candidate in zip(heads, some, strict=True):
                    right = {split: head.logits(half[of]).argmax(1) == label[of] for split, of in candidate.items()}
                    hits = {
                        split: wilson(int(rows_found.sum()), len(rows_found)) for split, rows_found in right.items()
                    }
                    measured[-1].append((hits["validation"], hits["test"]))
    rows_found = [
        SearchedComposition(composition=composition, in_context=inside, accuracy=outside, confirmed=again)
        for composition, (inside, outside), (_, again) in zip(compositions, *measured, strict=True)
    ]
    ranked = tuple(sorted(rows_found, key=lambda each: -each.accuracy))
    return CompositionSearch(ranked=ranked, agreement=_measure_agreement(ranked))


def _standardize_halves(features: Mapping[Folder, NDArray[np.float32]]) -> tuple[list[torch.Tensor], int]:
    """The standardized features of each half, folder after folder; and how many images of each folder it has."""
    sizes = {folder: len(features.get(folder, ())) for folder in _FOLDERS}
    most = max(sizes.values())
    wrong = [f"{'/'.join(map(str, folder))} has {size}" for folder, size in sizes.items() if size != most]
    if wrong:
        raise OochubError(f"All 48 folders must have the same {most} images; {', '.join(wrong)}. Complete the data.")
    if most < _LEAST:
        raise OochubError(f"A search needs {_LEAST} images per folder, got {most}: one half ranks, the other confirms.")
    means = np.mean([features[folder].mean(0, dtype=np.float64) for folder in _FOLDERS], 0)
    squares = np.mean([np.square(features[folder], dtype=np.float64).mean(0) for folder in _FOLDERS], 0)
    if not (np.isfinite(means).all() and np.isfinite(squares).all()):
        raise OochubError("The features are not finite. Use another model.")
    deviation = np.sqrt(np.maximum(squares - means**2, 0))
    shift, scale = means.astype(np.float32), np.where(deviation > 0, deviation, 1).astype(np.float32)
    n = most // 2
    halves = [np.concatenate([features[folder][half : 2 * n : 2] for folder in _FOLDERS]) for half in (0, 1)]
    return [torch.from_numpy((half - shift) / scale) for half in halves], n


def _select_rows(
    composition: SpawriousComposition, numbers: Mapping[Folder, torch.Tensor], n: int
) -> dict[str, torch.Tensor]:
    """The numbers of the rows of each split, as the builder selects them."""
    rows: dict[str, list[torch.Tensor]] = {"train": [], "validation": [], "test": []}
    for part in composition.slices(n):
        own = numbers[part.repeat, part.background, part.breed][part.first : part.last]
        kept = len(own) - (len(own) // 5 if part.split == "train" else 0)
        rows[part.split].append(own[:kept])
        rows["validation"].append(own[kept:])
    return {split: torch.cat(some) for split, some in rows.items()}


def _count_epochs(trained: torch.Tensor) -> int:
    return max(_EPOCHS, math.ceil(_LEAST_STEPS * _BATCH / len(trained)))


def _train_heads(
    features: torch.Tensor, label: torch.Tensor, trained: Sequence[torch.Tensor], *, seed: int, bar: Any
) -> list[FittedHead]:
    """A head for each set of rows, all in one stack."""
    probes = [
        Probe(
            catalog.get("objective", "erm")(),
            RobustTrainingArguments(
                output_dir="unused",
                num_train_epochs=_count_epochs(trained[0]),
                per_device_train_batch_size=_BATCH,
                learning_rate=_LEARNING_RATE / math.sqrt(features.shape[1]),
                weight_decay=_WEIGHT_DECAY,
                lr_scheduler_type="onecycle",
                seed=seed + number,
            ),
        )
        for number in range(len(trained))
    ]
    samplers = [UniformSampler(rows.numpy(), seed=seed) for rows in trained]
    rows: Any = SimpleNamespace(label=label, environment=torch.zeros_like(label))
    return HeadStack(rows, features, probes, samplers, outputs=len(BREEDS)).fit(None, bar)


def _measure_agreement(ranked: Sequence[SearchedComposition]) -> Estimate:
    from scipy.stats import pearsonr

    n, method = len(ranked), "pearson, fisher"
    first, second = ([float(getattr(candidate, name)) for candidate in ranked] for name in ("accuracy", "confirmed"))
    if n < _LEAST_CORRELATED or len({*first}) == 1 or len({*second}) == 1:
        reason = f"{n} compositions are too few" if n < _LEAST_CORRELATED else "all are equally hard"
        return Estimate(math.nan, n=n, method=method, reason=reason)
    correlation = pearsonr(first, second)
    interval = correlation.confidence_interval()
    return Estimate(float(correlation.statistic), low=interval.low, high=interval.high, n=n, method=method)
