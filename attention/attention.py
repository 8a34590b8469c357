"""What one or two models look at in the images that the first gets wrong out of context.

Which mistakes to look at: out of context, of one class taken for one other.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import datasets
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from oochub.attention.attention_map import AttentionMap
from oochub.attention.object_masks import ObjectMasks
from oochub.attention.seen_maps import make_seen_maps
from oochub.attention.smooth_grad_cam import Variant, check_saliency
from oochub.data.declaration import find_declaration
from oochub.data.load import find_data_declaration
from oochub.errors import OochubError, choose_wording, unknown_name
from oochub.evaluation.evaluation_rows import EvaluationColumns
from oochub.models.acceleration import choose_device
from oochub.predicting import predict
from oochub.prediction.prediction_data import list_example_ids, select_rows
from oochub.prediction.predictions import Predictions
from oochub.records.sides import GroupsOfRows


class _ChosenMistakes(NamedTuple):
    """Mistakes of one model.

    Attributes:
        label: The name of their class.
        answer: The name of the class that they were taken for.
        rows: Their numbers, those with the highest loss first.
        looked_at: (n,) True for the rows that they were chosen from.
        words: In words, which rows these are.
    """

    label: str
    answer: str
    rows: NDArray[np.int64]
    looked_at: NDArray[np.bool_]
    words: str


def _choose_mistakes(
    predictions: Sequence[Predictions], *, label: str | None = None, answer: str | None = None
) -> _ChosenMistakes:
    """The mistakes of the first model, which the second gets right where there is one.

    Args:
        predictions: Predictions of one split by one or two models.
        label: The class of the rows; None and None take the most frequent pair, of equal ones the first by class.
        answer: The class that they were taken for.

    Raises:
        OochubError: An unknown class, answers that are no class, models of other rows or classes, no such mistake.

    >>> rows = {"logits": [[0.0, 1.0], [0.0, 3.0], [2.0, 0.0]], "label": [0, 0, 0], "class_names": ["cat", "dog"]}
    >>> found = _choose_mistakes([Predictions.from_arrays(**rows)])
    >>> found.label, found.answer, found.rows.tolist(), found.words
    ('cat', 'dog', [1, 0], 'all of test')
    """
    first = predictions[0]
    names = first.class_names
    for part in predictions:
        if not part.output.has_confidence:
            raise OochubError(
                f"A mistake is one class taken for another, but {part.metadata.model.id} answers with "
                f"{part.metadata.kind}. Use a model and data with one class per row."
            )
        if part.class_names != names or list(part.column("example_id")) != list(first.column("example_id")):
            raise OochubError(
                f"{part.metadata.model.id} and {first.metadata.model.id} differ in classes or rows. Compare models "
                "with the same classes on the same rows."
            )
    for name in (label, answer):
        if name is not None and name not in names:
            raise unknown_name("class", name, names)
    if label is not None and label == answer:
        raise OochubError(f"{label} taken for {answer} is not a mistake. Name two different classes.")
    looked_at, words = _choose_rows(first)
    right = [part.prediction == first.label for part in predictions]
    chosen = looked_at & ~right[0] & np.logical_and.reduce(right[1:]) if right[1:] else looked_at & ~right[0]
    if label is not None:
        chosen &= first.label == names.index(label)
    if answer is not None:
        chosen &= first.prediction == names.index(answer)
    pairs = Counter(zip(first.label[chosen].tolist(), first.prediction[chosen].tolist(), strict=True))
    if not pairs:
        raise OochubError(_explain_no_rows(first, predictions[1:], label, answer, words))
    wrong, taken = min(pairs, key=lambda pair: (-pairs[pair], pair))
    rows = np.flatnonzero(chosen & (first.label == wrong) & (first.prediction == taken))
    loss = first.output.arrays(first)["loss"][rows]
    return _ChosenMistakes(names[wrong], names[taken], rows[np.argsort(-loss, kind="stable")], looked_at, words)


def _choose_rows(predictions: Predictions) -> tuple[NDArray[np.bool_], str]:
    """The rows out of context with a known class, else all such rows; in words."""
    output, declared = predictions.output, find_declaration(predictions)
    columns = EvaluationColumns(predictions, output.arrays(predictions))
    is_labeled = output.known(predictions.label)
    side = declared.out_of_context
    if not isinstance(side, GroupsOfRows) and set(side.where) <= set(columns):
        out = is_labeled & side.mask(columns)
        if out.any():
            return out, f"{side.name} ({side.description})"
    return is_labeled, f"all of {next(iter(predictions.metadata.rows))}"


def _explain_no_rows(
    first: Predictions, others: Sequence[Predictions], label: str | None, answer: str | None, words: str
) -> str:
    wanted = f"of {label or 'any class'} taken for {answer or 'another'}" if label or answer else "of any class"
    beside = f" that {others[0].metadata.model.id} gets right" if others else ""
    named = f"Name other classes with {choose_wording('label= and answer=')}"
    hint = named if label or answer else "Look at another split, or at another model"
    return f"{first.metadata.model.id} makes no mistake {wanted}{beside} among {words}. {hint}."


@dataclass(frozen=True, kw_only=True)
class Attention:
    """The maps of one or two models on the same images.

    Attributes:
        models: Names of the models.
        split: The split of the images.
        rows: In words, which of its rows were looked at.
        label: The class of the images that are shown.
        answer: The class that the first model took them for.
        n: How many rows there are of that label and answer (and right by the second model, where there is one).
        maps: Maps of each model for the images shown, the surest mistakes first, then those for the mean share alone.
        settings: samples, noise, variant and seed of the maps.
        notes: What the models' predictions say of themselves, such as images that are left out.
    """

    models: tuple[str, ...]
    split: str
    rows: str
    label: str
    answer: str
    n: int
    maps: tuple[AttentionMap, ...]
    settings: Mapping[str, Any]
    notes: tuple[str, ...] = ()

    def table(self) -> pd.DataFrame:
        """A line for each image and model: what it is, what was answered, and where masks are known the shares."""
        names = ("example_id", "label", "context", "model", "answer", "probability", "shown", "share", "area")
        return pd.DataFrame([{name: getattr(mapping, name) for name in names} for mapping in self.maps])


def attention(
    model: Any,
    data: Mapping[str, datasets.Dataset],
    *,
    beside: Any = None,
    split: str | None = None,
    label: str | None = None,
    answer: str | None = None,
    pictures: int = 6,
    masks: str | Path | None = None,
    most: int = 200,
    samples: int = 4,
    noise: float = 0.3,
    variant: Variant = "paper",
    seed: int = 0,
    device: str = "auto",
    cache: bool = True,
    mode: str = "auto",
    processor: Any = None,
    limit: int | None = None,
    skip_broken: bool = False,
    **settings: Any,
) -> Attention:
    """Maps by Smooth Grad-CAM++ of mistakes out of context, each for the answer that the model gave.

    The images are those that the benchmark declares out of context, else all of the split, which the model takes for
    another class: those of `label` taken for `answer`, by default of the most frequent such pair. With `beside` they
    are right by that model.

    Args:
        model: Folder or Hub id of a model, or the model itself with `processor=`.
        data: The splits, as `oochub.load` gives them.
        beside: A second model, to show where it looks in the same images.
        split: Split to take the images from; None takes that of the benchmark's headline.
        label: Their class, by name.
        answer: The class that the first model took them for.
        pictures: Number of images to show, 1 or more.
        masks: A folder of masks of the object, see `oochub.attention.object_masks`; then also up to `most` other
            images out of context, right or wrong, are mapped, for the mean share on the object.
        most: Maximum number of those images, drawn with a fixed seed.
        samples: See `oochub.attention.smooth_grad_cam.SmoothGradCam`; so are `noise`, `variant` and `seed`.
        noise: Standard deviation of the noise for the maps.
        variant: How the maps are computed, "paper" or "torchcam".
        seed: Random seed for the noise of the maps.
        device: See `oochub.predict`; so are `cache`, `mode`, `processor`, `limit` and `skip_broken`.
        cache: See there.
        mode: See there.
        processor: See there.
        limit: See there.
        skip_broken: See there.
        **settings: Settings of the mode.

    Raises:
        OochubError: An unknown split or class, no such mistake, models that answer for other rows, answers that are no
            class, a mask that is missing or of another size; what `oochub.predict` and `SmoothGradCam` raise.
    """
    if pictures < 1 or most < 1:
        raise OochubError(f"At least one image must be shown and one mapped, got {min(pictures, most)}.")
    saliency: dict[str, Any] = {"samples": samples, "noise": noise, "variant": variant, "seed": seed}
    check_saliency(samples=samples, noise=noise, variant=variant)
    read = None if masks is None else ObjectMasks(masks)
    chosen = _choose_split(data, split)
    part = data[chosen]
    opening: dict[str, Any] = {"mode": mode, "processor": processor, "cache": cache}
    given = [model] if beside is None else [model, beside]
    options = {**opening, **settings, "device": device, "limit": limit, "skip_broken": skip_broken}
    own = [predict(model_given, data, splits=[chosen], images=False, **options) for model_given in given]
    mistakes = _choose_mistakes(own, label=label, answer=answer)
    rows = mistakes.rows[:pictures].tolist()
    shown = len(rows)
    if read is not None:
        drawn = np.random.default_rng(0).permutation(np.flatnonzero(mistakes.looked_at))[:most]
        rows += sorted(set(drawn.tolist()) - set(rows))
    ids = [str(name) for name in np.asarray(own[0].column("example_id"))[rows]]
    if masks is not None:
        read = ObjectMasks(masks, thing=own[0].metadata.facts.object)
        read.check(ids)
    number = {name: row for row, name in enumerate(list_example_ids(part))}
    some = select_rows(part, [number[name] for name in ids])
    names, maps = _name_models(own), list[AttentionMap]()
    for source, predictions, name in zip(given, own, names, strict=True):
        taken = predictions.take(np.asarray(rows))
        seen = make_seen_maps(
            source,
            some,
            data,
            taken,
            device=choose_device(device),
            mask=None if read is None else read.mask,
            settings=settings,
            **opening,
            **saliency,
        )
        for row, (picture, mapping, mask) in enumerate(seen):
            fact = _describe_map(taken, row)
            maps.append(AttentionMap(**fact, model=name, shown=row < shown, picture=picture, map=mapping, mask=mask))
    return Attention(
        models=tuple(names),
        split=chosen,
        rows=mistakes.words,
        label=mistakes.label,
        answer=mistakes.answer,
        n=len(mistakes.rows),
        maps=tuple(maps),
        settings=saliency,
        notes=tuple(dict.fromkeys(note for part in own for note in part.metadata.notes)),
    )


def _choose_split(data: Mapping[str, Any], split: str | None) -> str:
    """The split that was named, else that of the headline, else the last."""
    if split is not None and split not in data:
        raise unknown_name("split", split, data)
    declared = find_data_declaration(data)
    wanted = split or (declared.evaluation_split if declared else "test")
    chosen = wanted if wanted in data else list(data)[-1]
    if not isinstance(data[chosen], datasets.Dataset):
        raise OochubError(
            "Images are chosen by their mistakes, which needs a second pass, and a stream can be read only once. "
            "Load the data."
        )
    return chosen


def _name_models(predictions: list[Predictions]) -> list[str]:
    """The last part of each model's id; of equal ones with a number."""
    names = [str(part.metadata.model.id).rstrip("/").rpartition("/")[2] for part in predictions]
    return names if len(set(names)) == len(names) else [f"{name} ({k})" for k, name in enumerate(names, 1)]


def _describe_map(predictions: Predictions, row: int) -> dict[str, Any]:
    """What an AttentionMap says of a row."""
    record, names = predictions.rows.row(row), predictions.class_names
    answer = int(predictions.prediction[row])
    context = find_declaration(predictions).describe_context(record, predictions.metadata.facts)
    return {
        "example_id": str(record["example_id"]),
        "label": names[int(predictions.label[row])],
        "context": context or None,
        "answer": names[answer],
        "probability": float(predictions.probability[row, answer]),
    }
