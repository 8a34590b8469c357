"""Whether a model of images and texts finds the intended description the best of all 24."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from oochub.errors import OochubError
from oochub.stats.array_checks import Array
from oochub.stats.estimate import Estimate
from oochub.stats.proportion import wilson
from oochub.studies.spawrious.cleanliness.cleanliness_sample import description


@dataclass(frozen=True, kw_only=True)
class DescriptionMatch:
    """Shares of images in [0, 1], each with Wilson's interval.

    Attributes:
        both: The best description is the intended one.
        breed: The best description names the breed, on whatever background.
        background: It names the background, with whatever breed.
        groups: `both` of each breed on each background, "corgi/dirt".
        texts: The texts that describe each group.
    """

    both: Estimate
    breed: Estimate
    background: Estimate
    groups: Mapping[str, Estimate]
    texts: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(
        cls, best: Array, intended: Array, *, names: Sequence[str], texts: Mapping[str, tuple[str, ...]]
    ) -> "DescriptionMatch":
        """Counts the matches.

        Args:
            best: Which of `names` is the best description of each image (n,).
            intended: Which of `names` is the intended one (n,).
            names: The groups, "breed/background".
            texts: The texts that describe each group.
        """
        breeds, backgrounds = (np.array([name.split("/")[part] for name in names]) for part in (0, 1))
        same = best == intended
        return cls(
            both=_share(same),
            breed=_share(breeds[best] == breeds[intended]),
            background=_share(backgrounds[best] == backgrounds[intended]),
            groups={name: _share(same[intended == code]) for code, name in enumerate(names)},
            texts=texts,
        )


def description_match(
    model: Any, data: Mapping[str, Any], *, templates: Sequence[str] = ("a photo of {}.",), **settings: Any
) -> DescriptionMatch:
    """Scores how often the description that an image is meant for is the nearest of all 24, breed by background.

    The answer is that of the mode zero_shot: the cosine of image and text. A model's breeds and places are its own:
    the score is low where the model cannot tell them apart, so read it beside that of people.

    Args:
        model: Folder or Hub id of a CLIP-like model, or the model itself.
        data: The splits of Spawrious, with the column `group`; all images are scored.
        templates: Texts with {} for "a corgi in the dirt location"; embeddings of several are averaged.
        **settings: Settings of `oochub.predict`: `limit`, `batch_size`, `device`, `processor`, ...

    Raises:
        OochubError: Data without groups of breed and background, a template without {}, a model of another kind.
    """
    import datasets

    from oochub.predicting import predict

    for template in templates:
        if "{}" not in template:
            raise OochubError(f"A template has {{}} where the description goes, got {template!r}: 'a photo of {{}}.'")
    described = {}
    for split, part in data.items():
        group = part.features.get("group")
        if not isinstance(group, datasets.ClassLabel) or not all(name.count("/") == 1 for name in group.names):
            raise OochubError(
                f"The split {split} has no groups of a breed and a background, so it is not known what an image "
                "should show. Pass Spawrious, such as spawrious/o2o_hard."
            )
        names = group.names
        columns = part.select_columns(["example_id", "image", "group"])
        described[split] = columns.rename_column("group", "label")
    texts = {
        name: tuple(template.replace("{}", description(*name.split("/"))) for template in templates) for name in names
    }
    predictions = predict(
        model, datasets.DatasetDict(described), mode="zero_shot", splits=list(described), prompts=texts, images=False,
        **settings,
    )  # fmt: skip
    return DescriptionMatch.of(predictions.prediction, predictions.label, names=names, texts=texts)


def _share(is_right: Array) -> Estimate:
    return wilson(int(is_right.sum()), len(is_right))
