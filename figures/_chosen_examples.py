"""The examples worth looking at: hard ones that a model gets most wrong, easy ones that it gets most right."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from oochub.errors import OochubError, choose_wording, unknown_name
from oochub.prediction.predictions import Predictions
from oochub.report import wording
from oochub.stats.logits import summarize_softmax

KINDS = ("hard_positive", "hard_negative", "easy_positive", "easy_negative")
_SHOWN = KINDS[:3]
_CRITERIA = ("ce", "gist")
_AUXILIARY = ("challenge", "challenge_ce", "challenge_gist", "area", "context", "context_area", "gist_similarity")
_ORIGIN = ("license", "source_url")


def choose_examples(
    predictions: Predictions | Sequence[Predictions],
    *,
    than: Predictions | None = None,
    only: str | None = None,
    kinds: Sequence[str] | None = None,
    most: int = 4,
    split: str = "test",
    names: Sequence[str] | None = None,
    criteria: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """The examples of a binary task that tell most of a model, or of the difference of two.

    Hard ones come by highest loss of the (first) model, easy ones by lowest. Only those hard positives count whose
    object is larger than the mean object of the split's positives. With `than`, all come by how much lower the first
    model's loss is than that of `than`, largest difference first, where it is lower at all; objects of any size. Among
    equal ones, the first in the file comes first.

    Args:
        predictions: Predictions of one model, or of several on the same examples; only the first is ranked.
        than: Predictions of the model that the first one is compared with; swap the two for the reverse.
        only: "ce" or "gist": hard ones by this criterion that the other calls easy, easy ones by both. None takes the
            criterion of the task.
        kinds: Some of `KINDS`; None is hard positives, hard negatives and easy positives, with `than` the hard ones.
        most: Examples of each kind, at least 1.
        split: The split to choose from.
        names: Names of the models, `than` last; None takes the last part of their ids.
        criteria: By `example_id`, `challenge_ce` and `challenge_gist` of predictions that do not have both.

    Returns:
        One row per example, by kind and rank: kind, example_id, split, label (the class name), `nll <model>` of each
        model in nats, better_by (with `than`), and the auxiliary columns that the first predictions have: challenge,
        area and context_area as fractions of the image, context, gist_similarity, license, source_url.

    Raises:
        OochubError: No binary task, no such split, kind or criterion, a column that is missing, predictions of other
            examples or labels, models of one name, no example of any kind.

    Source: Madras and Zemel, NOOCH, Section 6.2 (Figs. 2, 8, 9) and Appendix D (Figs. 15 to 26).

    >>> import pyarrow as pa
    >>> columns = {
    ...     "example_id": ["1", "2", "3"], "split": ["test"] * 3, "label": [1, 1, 1], "area": [0.1, 0.3, 0.3],
    ...     "logits": [[2.0, 0.0], [1.0, 0.0], [0.0, 4.0]], "challenge": ["hard_positive", "hard_positive", "easy"],
    ... }
    >>> told = {"model": {"id": "runs/erm"}, "class_names": ["no_car", "car"], "rows": {"test": 3}}
    >>> made = Predictions(pa.table(columns), {"benchmark": "nooch", "config": "ce_car", "version": "1.0.0", **told})
    >>> choose_examples(made)[["kind", "example_id", "nll erm"]].round(3).values.tolist()
    [['hard_positive', '2', 1.313], ['easy_positive', '3', 0.018]]
    """
    first = [predictions] if isinstance(predictions, Predictions) else list(predictions)
    models = [*first, *([than] if than is not None else [])]
    wanted = _check_choice(first, only, kinds or (_SHOWN[:2] if than is not None else _SHOWN), most)
    called = _name_models(models, names)
    frames = [_build_frame(model, name, split) for model, name in zip(models, called, strict=True)]
    frame = frames[0]
    if criteria is not None:
        frame = frame.drop(columns=[name for name in criteria.columns[1:] if name in frame])
        lacking = ~frame["example_id"].isin(criteria["example_id"])
        if lacking.any():
            raise OochubError(
                f"The dataset lacks {lacking.sum():,} of the predicted rows of {split}, first "
                f"{frame['example_id'][lacking].iloc[0]}. Give the raw data that were predicted."
            )
        frame = frame.merge(criteria, on="example_id", how="left", validate="one_to_one")
    for name, other in zip(called[1:], frames[1:], strict=True):
        frame = _join_losses(frame, other, called[0], name)
    ranked = f"nll {called[0]}"
    if than is not None:
        frame["better_by"] = frame[f"nll {called[-1]}"] - frame[ranked]
    chosen = []
    for kind in wanted:
        rows = frame[_is_kind(frame, kind, only)]
        if than is not None:
            rows = rows[rows["better_by"] > 0]
            order = -rows["better_by"]
        elif kind.startswith("easy"):
            order = rows[ranked]
        else:
            order = -rows[ranked]
            if kind == "hard_positive":
                area = _get_column(frame, "area")
                rows = rows[area[rows.index] > area[frame["label"] == 1].mean()]
        best = rows.loc[order[rows.index].sort_values(kind="stable").index[:most]]
        chosen.append(best.assign(kind=kind))
    shown = pd.concat(chosen, ignore_index=True)
    if shown.empty:
        raise OochubError(_explain_no_examples(wanted, split, called, than=than is not None, only=only))
    auxiliary = [column for column in (*_AUXILIARY, *_ORIGIN) if column in shown]
    losses = [f"nll {name}" for name in called] + (["better_by"] if than is not None else [])
    shown["label"] = np.array(models[0].class_names)[shown["label"]]
    return shown[["kind", "example_id", "split", "label", *losses, *auxiliary]]


def _check_choice(first: Sequence[Predictions], only: str | None, kinds: Sequence[str], most: int) -> list[str]:
    if not first:
        raise OochubError("There are no predictions. Pass at least one Predictions.")
    classes = first[0].class_names
    if len(classes) != 2:
        raise OochubError(
            f"Hard and easy positives exist only in a binary task, but these predictions have {len(classes)} classes "
            f"({', '.join(classes[:4])}, ...). For predictions for nooch/all choose one task: "
            + choose_wording('oochub.task(predictions, "ce_car").', "--plot gallery:task=ce_car=FILE.")
        )
    if only is not None and only not in _CRITERIA:
        raise unknown_name("criterion of NOOCH", only, _CRITERIA)
    for kind in kinds:
        if kind not in KINDS:
            raise unknown_name("kind of example", kind, KINDS)
    if most < 1:
        raise OochubError(f"The number of examples of each kind must be at least 1, got {most}.")
    return list(dict.fromkeys(kinds))


def _name_models(models: Sequence[Predictions], given: Sequence[str] | None) -> list[str]:
    names = list(given or (str(model.metadata.model.id).rpartition("/")[2] for model in models))
    if len(names) != len(models):
        raise OochubError(
            f"There are {len(models)} models but {len(names)} names for them: {', '.join(names)}. Pass one name per "
            "model."
        )
    if len(set(names)) < len(names):
        raise OochubError(
            f"Two models have the same name: {', '.join(names)}. Name each with "
            f"{choose_wording('names=[...]', 'gallery:names=A,B=FILE')}, in the order of the models."
        )
    return [wording.name(name) for name in names]


def _build_frame(predictions: Predictions, name: str, split: str) -> pd.DataFrame:
    rows = predictions.split == split
    if not rows.any():
        raise OochubError(
            f"The predictions of {name} have no split {split!r}, only "
            f"{', '.join(dict.fromkeys(predictions.split.tolist()))}."
        )
    auxiliary = [column for column in (*_AUXILIARY, *_ORIGIN) if column in predictions.column_names]
    frame = pd.DataFrame({column: predictions.column(column)[rows] for column in ("example_id", "split", *auxiliary)})
    frame["label"] = predictions.label[rows]
    frame[f"nll {name}"] = summarize_softmax(predictions.logits[rows].astype(np.float64), label=frame["label"]).loss
    return frame


def _join_losses(frame: pd.DataFrame, other: pd.DataFrame, first: str, name: str) -> pd.DataFrame:
    """`frame` with the losses of another model on the same examples."""
    ids = {first: set(frame["example_id"]), name: set(other["example_id"])}
    alone = {left: sorted(ids[left] - ids[right]) for left, right in ((first, name), (name, first))}
    if any(alone.values()):
        counts = " and ".join(f"{len(only)} only in {left}" for left, only in alone.items())
        example = next(only[0] for only in alone.values() if only)
        raise OochubError(
            f"{first} and {name} did not predict the same examples: {counts}, first {example}. "
            "Predict both on the same config and split."
        )
    joined = frame.merge(other[["example_id", "label", f"nll {name}"]], on="example_id", suffixes=("", " of the other"))
    differing = joined["label"] != joined.pop("label of the other")
    if differing.any():
        raise OochubError(
            f"{first} and {name} have different labels for {differing.sum()} examples, first "
            f"{joined['example_id'][differing].iloc[0]}. Predict both on the same config, built from the same raw "
            "data."
        )
    return joined


def _get_column(frame: pd.DataFrame, name: str) -> "pd.Series[float]":
    if name not in frame:
        why = {
            "area": "Hard positives are chosen among large objects.",
            "challenge": "It says what is hard; a NOOCH task has it.",
        }.get(name, "Both criteria are in the configs gist_<class>, and in tasks of nooch/all with embeddings.")
        raise OochubError(f"The predictions have no column {name!r}. {why} Predict on a config that has it.")
    return frame[name]


def _is_kind(frame: pd.DataFrame, kind: str, only: str | None) -> NDArray[np.bool_]:
    challenge = _get_column(frame, f"challenge_{only}" if only else "challenge")
    rows = challenge == kind
    if kind.startswith("easy"):
        rows = (challenge == "easy") & (frame["label"] == int(kind == "easy_positive"))
    if only is not None:
        rows &= _get_column(frame, f"challenge_{_CRITERIA[only == 'ce']}") == "easy"
    return rows.to_numpy(dtype=bool)


def _explain_no_examples(
    kinds: Sequence[str], split: str, names: Sequence[str], *, than: bool, only: str | None
) -> str:
    what = " or ".join(kind.replace("_", " ") for kind in kinds) + (f" by {only} only" if only else "")
    large = " Hard positives count where the object is larger than the mean." * (KINDS[0] in kinds)
    limit = f" that {names[0]} gets better than {names[-1]}." if than else f".{large}"
    return f"The split {split} has no {what}{limit} Choose other kinds, or take more data."
