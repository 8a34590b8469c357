"""What a study measures: its tables, and the sets, pairs and detectors that they need, all checked by name."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from oochub.builders.imagenet_ood import ImagenetOod
from oochub.builders.sources.imagenet_sets import SETS, set_of
from oochub.detection.detector_scores import BASELINE, GOALS, make_detector, make_detector_key
from oochub.errors import OochubError, choose_wording, unknown_name
from oochub.prediction.present_classes import Classes, check_classes

Pair = tuple[str, str]
_NEW = "auroc_new_class"
_GOALS = dict(zip(GOALS, ("new-class detection", "failure detection"), strict=True))
_NINE = ("msp", "max_logit", "energy", "mahalanobis", "vim", "knn", "max_cosine", "ash_b", "react")
_SEVEN = tuple(name for name in _NINE if name not in ("max_cosine", "ash_b"))
_ID, _OOD = "imagenet_1k", "imagenet_ood"
_PAIRS = (
    *((covariate, _OOD) for covariate in ("imagenet_c", "imagenet_r", "imagenet_sketch")),
    (_ID, "openimage_o"),
    (_ID, _OOD),
)
_WORST = (
    *("gaussian_noise_5", "shot_noise_5", "impulse_noise_5"),
    *("defocus_blur_5", "glass_blur_5", "motion_blur_5", "zoom_blur_5"),
)


class TableKind(NamedTuple):
    """A table of the paper.

    Attributes:
        title: What it shows.
        metrics: Its metrics and their titles.
        detectors: Those of the paper.
        pairs: Those of the paper, (in distribution, out of it).
        where: Its place in the paper.
    """

    title: str
    metrics: Mapping[str, str]
    detectors: Sequence[str]
    pairs: Sequence[Pair]
    where: str


TABLES: Mapping[str, TableKind] = {
    "1": TableKind("AUROC of detectors by pair of sets", _GOALS, _NINE, _PAIRS, "Table 1"),
    "2": TableKind(
        "Correct examples discarded where 75% of the OOD rows are rejected",
        {"correct_discarded": "share of correct ID rows"},
        _SEVEN,
        ((_ID, _OOD), *_PAIRS[:2]),
        "Table 2",
    ),
    "3": TableKind(
        "AUROC of gradient-based detectors and OpenMax",
        _GOALS,
        ("msp", "odin:epsilon=0.0014", "odin", "grad_norm", "open_max"),
        _PAIRS[3:],
        "Table 3",
    ),
    "4": TableKind(
        "Breakdown of the AUROC",
        {
            "ood_breakdown.correct_vs_ood": "correct ID (+) vs. OOD (-)",
            "ood_breakdown.incorrect_vs_ood": "incorrect ID (+) vs. OOD (-)",
            "ood_breakdown.correct_vs_incorrect": "correct ID (+) vs. incorrect ID (-)",
        },
        ("msp", "max_logit", "energy"),
        _PAIRS[4:],
        "Table 4",
    ),
    "differences": TableKind(
        "AUROC of detectors minus that of msp, on the same rows", _GOALS, _NINE, _PAIRS, "no table"
    ),
    "gain": TableKind(
        "Where the gain over msp in new-class AUROC comes from",
        {_NEW: "gain, points", "gain_from_incorrect": "share of the gain from incorrect ID rows, %"},
        _NINE,
        _PAIRS[4:],
        "Appendix E",
    ),
    "random": TableKind(
        "Sanity check: AUROC of detectors on models with random weights",
        _GOALS,
        _SEVEN,
        tuple((_ID, other) for other in (*_WORST, "imagenet_r", _OOD)),
        "Figures 4 and 11",
    ),
}
_BY_DEFAULT = ("1", "2", "4", "differences", "gain")


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is to be measured.

    Attributes:
        id_set: The set in distribution that reports are of.
        tables: For the name of each table, its detectors (keys) and its pairs.
        random: Random copies of each architecture.
        classes: What an answer may be to be right.
    """

    id_set: str
    tables: Mapping[str, tuple[tuple[str, ...], tuple[Pair, ...]]]
    random: int
    classes: Classes

    def pairs(self, *, random: bool) -> tuple[Pair, ...]:
        """The pairs that trained models, or random copies, are measured on."""
        return tuple(
            dict.fromkeys(
                pair for name, (_, own) in self.tables.items() if (name == "random") is random for pair in own
            )
        )

    def detectors(self, *, random: bool) -> tuple[str, ...]:
        """The keys of the detectors that trained models, or random copies, are measured with."""
        keys = [key for name, (own, _) in self.tables.items() if (name == "random") is random for key in own]
        compared = {"differences", "gain"} & set(self.tables) and not random
        return tuple(dict.fromkeys([*([BASELINE] if compared else []), *keys]))

    def sets(self, *, random: bool) -> tuple[str, ...]:
        """The sets that trained models, or random copies, are to predict; the one in distribution first."""
        named = [name for pair in self.pairs(random=random) for name in pair]
        return tuple(dict.fromkeys([self.id_set, *named])) if named else ()


def make_plan(
    *,
    id_set: str = _ID,
    sets: Iterable[str] | None = None,
    pairs: Iterable[Pair] | None = None,
    detectors: Iterable[str] | None = None,
    tables: Iterable[str] | None = None,
    random: int = 0,
    classes: Classes = "all",
) -> Plan:
    """The tables that were asked for, with the paper's sets and detectors where none were named.

    Args:
        id_set: A config of `imagenet_ood` whose rows are in distribution.
        sets: Configs beside it; every table takes those of them that fit it. None takes the paper's, table by table.
        pairs: Pairs (in distribution, out of it) instead of sets.
        detectors: Names or "odin:epsilon=0.0014"; every table shows all of them. None takes the paper's.
        tables: Names of `TABLES`; None takes those of 1, 2, 4, differences and gain that the sets and detectors fill,
            and random where copies are asked for.
        random: Random copies of each architecture; needed by the table random.
        classes: What an answer may be to be right: "all" classes, or those "present" in its set.

    Raises:
        OochubError: An unknown name; sets and pairs at once; a pair whose sides are of the wrong kind; a table that no
            pair fits; random copies without their table, or the table without copies.

    >>> plan = make_plan(tables=["3"])
    >>> plan.sets(random=False), plan.detectors(random=False)[1]
    (('imagenet_1k', 'openimage_o', 'imagenet_ood'), 'odin:epsilon=0.0014')
    """
    check_classes(classes)
    names = list(dict.fromkeys(tables or (*_BY_DEFAULT, *(["random"] if random else []))))
    for name in names:
        if name not in TABLES:
            raise unknown_name("table", name, TABLES)
    if random < 0 or ("random" in names) != bool(random):
        raise OochubError(
            f"The table random and random copies (--random 5, as in the paper) need each other; got {random} copies "
            f"and the tables {', '.join(names)}."
        )
    if sets is not None and pairs is not None:
        named, left_out = choose_wording("pairs=", "--pair"), choose_wording("sets=", "--image-set")
        raise OochubError(f"{named} names its sets: remove {left_out}.")
    keys = (
        None
        if detectors is None
        else list(dict.fromkeys(make_detector_key(make_detector(detector)) for detector in detectors))
    )
    set_names = None if sets is None else list(dict.fromkeys(sets))
    own_pairs = None if pairs is None else [(inside, outside) for inside, outside in dict.fromkeys(pairs)]
    _check_pairs((own_pairs or ()) if names != ["random"] else ())
    _check_sets([id_set, *(set_names or ()), *(member for pair in own_pairs or () for member in pair)], id_set)
    contents = {}
    for name in names:
        kind = TABLES[name]
        columns = _choose_pairs(name, id_set, set_names, own_pairs)
        rows = [key for key in keys or kind.detectors if not (key == BASELINE and name in ("differences", "gain"))]
        if tables is None and not (columns and rows) and name != "random":
            continue
        if not (columns and rows):
            lacking = "pair of sets" if not columns else f"detector besides {BASELINE}"
            raise OochubError(f"The table {name} ({kind.title}) has no {lacking}. {_explain_set(name)}")
        contents[name] = (tuple(rows), tuple(columns))
    if not contents:
        raise OochubError(f"These sets make no table. {_explain_set('1')} Give --image-set imagenet_ood, for one.")
    plan = Plan(id_set=id_set, tables=contents, random=random, classes=classes)
    _check_odin(plan)
    return plan


def perturbation(keys: Iterable[str]) -> dict[str, float]:
    """The arguments of `oochub.predict` that detectors need beside features.

    >>> perturbation(["msp", "odin:epsilon=0.0014"])
    {'odin': 0.0014, 'odin_temperature': 1000.0}
    """
    for detector in map(make_detector, keys):
        if "odin_logits" in detector.score_needs:
            return {"odin": detector.epsilon, "odin_temperature": detector.temperature}
    return {}


def _choose_pairs(name: str, id_set: str, sets: list[str] | None, pairs: list[Pair] | None) -> list[Pair]:
    if sets is None and pairs is None:
        return [(id_set if inside == _ID else inside, outside) for inside, outside in TABLES[name].pairs]
    if name == "random":
        named = sets if sets is not None else [name for pair in pairs or () for name in pair]
        return [(id_set, name) for name in dict.fromkeys(named) if name != id_set]
    candidates = pairs if pairs is not None else _pair_sets(id_set, sets or [])
    if name == "2":
        near = [pair for pair in candidates if pair[1] == _OOD] or candidates
        return sorted(near, key=lambda pair: pair[0] != id_set)
    return [pair for pair in candidates if pair[0] == id_set] if name in ("3", "4", "gain") else list(candidates)


def _pair_sets(id_set: str, sets: list[str]) -> list[Pair]:
    """Covariate shift against ImageNet-OOD (or whatever new classes there are), and ID against all new classes."""
    new = [name for name in sets if _shift(name) == "semantic"]
    near = [_OOD] if _OOD in new else new
    shifted = [name for name in sets if name not in new and name != id_set]
    return [*((name, other) for name in shifted for other in near), *((id_set, other) for other in new)]


def _shift(config: str) -> str:
    return SETS[set_of(config)].shift


def _check_sets(named: Iterable[str], id_set: str) -> None:
    for name in named:
        if name not in ImagenetOod.builder_configs:
            raise unknown_name("config of imagenet_ood", name, ImagenetOod.builder_configs)
    if _shift(id_set) == "semantic":
        raise OochubError(
            f"{id_set} has classes that no model knows, so it is not in distribution. Pass --id imagenet_1k."
        )


def _check_pairs(pairs: Iterable[Pair]) -> None:
    for inside, outside in pairs:
        for name, wanted in ((inside, False), (outside, True)):
            if name in ImagenetOod.builder_configs and (_shift(name) == "semantic") is not wanted:
                side = "out of distribution: its classes" if wanted else "in distribution: its classes"
                which = "are those of ImageNet-1K" if wanted else "are not of ImageNet-1K"
                raise OochubError(f"In the pair {inside}:{outside}, {name} is not {side} {which}. Write IN:OUT.")


def _check_odin(plan: Plan) -> None:
    keys = plan.detectors(random=False) + plan.detectors(random=True)
    perturbations = {tuple(perturbation([key]).values()) for key in keys} - {()}
    if len(perturbations) > 1:
        raise OochubError(
            f"Predictions hold one perturbation of ODIN, but {len(perturbations)} were requested: "
            f"{', '.join(dict.fromkeys(key for key in keys if perturbation([key])))}. Use another --out for each."
        )


def _explain_set(name: str) -> str:
    kind = TABLES[name]
    pairs = ", ".join(":".join(pair) for pair in kind.pairs[:5])
    return f"The paper's has the pairs {pairs} and the detectors {', '.join(kind.detectors)}."
