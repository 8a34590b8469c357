"""The review of a set of OOD images: those nearest to ID images, or classes beside their sisters, in pairs."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from oochub.class_names.wordnet import load_wordnet_facts
from oochub.detection.image_sets import find_nearest_rows
from oochub.errors import OochubError
from oochub.prediction.predictions import Predictions
from oochub.report import wording
from oochub.reviewing.decisions import Decisions
from oochub.reviewing.review_page import Card, Choice, Question, Shown, make_review_page, make_sheet, make_thumbnails
from oochub.studies.imagenet_ood.keep_list import class_ids

QUESTION = Question(
    heading="Is the left image out of distribution?",
    lead="Drop an image that shows the class of its neighbor, or what nobody could tell from it; drop a class when all "
    "its images do. An image without a mark stays, and one that is kept stays when its class is dropped. The nearest "
    "pairs come first.",
    then="run: oochub imagenet_ood review OOD.parquet --apply decisions.csv --keep keep.txt",
    choices=(
        Choice(decision="keep", label="Keep", past="kept", key="k"),
        Choice(decision="drop", label="Drop", past="dropped", key="d", is_good=False),
        Choice(decision="drop", label="Drop class", past="dropped", key="c", scope="class", is_good=False),
    ),
)
"""What the review asks, and the words that its decisions may hold."""
CLASS_QUESTION = replace(
    QUESTION,
    heading="Can you tell the left class from the right one?",
    lead="Drop a class whose images show the class beside it, or that you cannot tell from it. A class without a mark "
    "stays; one that is dropped is dropped in all its pairs.",
    choices=QUESTION.choices[2:],
)
"""What the review of pairs of classes asks; its decisions go where those of images go."""


def review_queue(ood: Predictions, reference: Predictions, *, top: int = 1000) -> pd.DataFrame:
    """The OOD images nearest to an ID image, by the cosine distance of their features; the nearest first.

    Args:
        ood: Predictions of the OOD images, with features (n, d).
        reference: Predictions of the ID images by the same model, with features (m, d): ImageNet-1K's validation set.
        top: Number of images to review; all if there are fewer.

    Returns:
        One row per pair: example_id, class_id ("" for none), class_name, nearest_id, nearest_class, distance in [0, 2].

    Raises:
        OochubError: Predictions without features, of two models, or with an id twice; ID images without a label;
            features without a direction; `top` below 1.

    Source: Yang, Zhang and Russakovsky 2024, ImageNet-OOD, Appendix H (1,000 images, features of a ResNet-50; which
    distance is not said).

    >>> import pyarrow as pa
    >>> def made(ids, features, label):
    ...     columns = {"example_id": ids, "split": ["test"] * len(ids), "label": label, "features": features}
    ...     about = {"benchmark": "custom", "config": "default", "version": "1", "model": {"id": "resnet-50"}}
    ...     about |= {"class_names": ["tench"], "rows": {"test": len(ids)}}
    ...     return Predictions(pa.table(columns | {"logits": [[0.0]] * len(ids)}), about)
    >>> ood = made(["a", "b"], [[0.0, 1.0], [3.0, 0.1]], [-1, -1])
    >>> review_queue(ood, made(["v"], [[1.0, 0.0]], [0]))[["example_id", "nearest_id", "nearest_class"]].values.tolist()
    [['b', 'v', 'tench'], ['a', 'v', 'tench']]
    """
    if top < 1:
        raise OochubError(f"top must be the number of images to review, 1 or more; got {top}.")
    if ood.metadata.model != reference.metadata.model:
        raise OochubError("These predictions come from two models. Predict both sets with the same one.")
    if (reference.label < 0).any():
        raise OochubError(
            f"{(reference.label < 0).sum():,} of the ID images are outside the label set. Pass the OOD predictions "
            "first, and those of the ID images second."
        )
    features = [_read_features(predictions, what) for predictions, what in ((ood, "OOD"), (reference, "ID"))]
    index, distance = find_nearest_rows(*features)
    names = _read_class_names(reference)
    rows = pd.DataFrame(
        {
            "example_id": ood.column("example_id"),
            "class_id": class_ids(ood),
            "class_name": _read_class_names(ood),
            "nearest_id": reference.column("example_id")[index],
            "nearest_class": [names[row] for row in index],
            "distance": distance,
        }
    )
    return rows.sort_values("distance", kind="stable").head(top).reset_index(drop=True)


def _read_features(predictions: Predictions, what: str) -> Any:
    if predictions.features is None:
        raise OochubError(f"The {what} predictions have no features. Predict again with --features.")
    ids = pd.Series(predictions.column("example_id"))
    if ids.duplicated().any():
        twice = ids[ids.duplicated()].iloc[0]
        raise OochubError(f"The {what} predictions have {twice} in two splits. Predict one split (--split).")
    return predictions.features


def _read_class_names(predictions: Predictions) -> list[str]:
    if "class_name" in predictions.column_names:
        return [name or "" for name in predictions.table.column("class_name").to_pylist()]
    return class_ids(predictions)


def pairs_page(
    queue: pd.DataFrame,
    ood: tuple[Predictions, object],
    reference: tuple[Predictions, object],
    *,
    decisions: Decisions | None = None,
) -> str:
    """The queue as one HTML file: two images per pair, and buttons that keep or drop the image, or drop its class.

    What `oochub.reviewing.review_page` gives; `oochub imagenet_ood review --apply` takes what it saves.

    Args:
        queue: What `review_queue` returns.
        ood: The OOD predictions, and their data: a Dataset or a dict of splits, with `example_id` and `image`.
        reference: The same of the ID images.
        decisions: Earlier ones; those on images outside the queue are carried along.

    Raises:
        OochubError: An image that is not in the data or cannot be read.
    """
    pictures = make_thumbnails(ood[1], queue["example_id"].tolist(), what="OOD")
    nearest = make_thumbnails(reference[1], queue["nearest_id"].tolist(), what="ID")
    cards = [
        Card(
            id=row["example_id"],
            class_id=row["class_id"],
            pictures=(
                Shown("OOD", pictures[row["example_id"]], row["class_name"], row["example_id"]),
                Shown("nearest ID", nearest[row["nearest_id"]], row["nearest_class"], row["nearest_id"]),
            ),
            note=f"distance {row['distance']:.4f}",
        )
        for row in queue.to_dict("records")
    ]
    model, config = (wording.name(name or "") for name in (ood[0].metadata.model.id, reference[0].metadata.config))
    about = (
        f"the {len(cards):,} of {len(ood[0]):,} images nearest to {len(reference[0]):,} of {config}, by features of "
    )
    return _make_page(cards, QUESTION, ood[0], f"{about}{model or 'a model'}", decisions)


def list_class_pairs(ood: Predictions, reference: Predictions) -> pd.DataFrame:
    """The classes of the OOD images, each with its sisters: the ID classes that share a direct parent in WordNet.

    Args:
        ood: Predictions of the OOD images, with their `wnid`.
        reference: The same of the ID images.

    Returns:
        One row per pair, by the ids of both: class_id, class_name, sister_id, sister_name, parent, the parent's name.

    Raises:
        OochubError: No pair.

    Source: Yang, Zhang and Russakovsky 2024, ImageNet-OOD, Appendix H.
    """
    tree, classes = load_wordnet_facts(), set(class_ids(reference))
    rows = [
        (wnid, tree.name(wnid), sister, tree.name(sister), tree.name(parent))
        for wnid in sorted({*class_ids(ood)} - classes)
        if wnid in tree
        for parent in tree.hypernyms[wnid]
        for sister in tree.hyponyms[parent]
        if sister in classes
    ]
    if not rows:
        raise OochubError(
            "No class of the OOD images shares a direct parent in WordNet with a class of the ID images. Both "
            "predictions need the column wnid, as those for imagenet_ood have it."
        )
    pairs = pd.DataFrame(rows, columns=["class_id", "class_name", "sister_id", "sister_name", "parent"])
    return pairs.sort_values(["class_id", "sister_id"], kind="stable", ignore_index=True)


def class_pairs_page(
    pairs: pd.DataFrame,
    ood: tuple[Predictions, object],
    reference: tuple[Predictions, object],
    *,
    images: int = 50,
    decisions: Decisions | None = None,
) -> str:
    """The pairs of classes as one HTML file: a sheet of random images of either class, and a button that drops it.

    Args:
        pairs: Rows of `list_class_pairs`.
        ood: See `pairs_page`.
        reference: See `pairs_page`.
        images: Images of each class; all if there are fewer.
        decisions: See `pairs_page`.

    Raises:
        OochubError: An image that is not in the data or cannot be read.

    Source: Yang, Zhang and Russakovsky 2024, ImageNet-OOD, Section 3.2: 50 random images of each class.
    """
    sheets: dict[str, str] = {}
    for (predictions, data), what, key in ((ood, "OOD", "class_id"), (reference, "ID", "sister_id")):
        names, own = predictions.column("example_id"), pd.Index(class_ids(predictions))
        for wnid in dict.fromkeys(pairs[key]):
            every = names[own == wnid]
            chosen = np.random.default_rng(0).permutation(len(every))[:images]
            sheets[wnid] = make_sheet(data, every[np.sort(chosen)].tolist(), what=what)
    cards = [
        Card(
            id=f"{row['class_id']} {row['sister_id']}",
            class_id=row["class_id"],
            pictures=(
                Shown("OOD", sheets[row["class_id"]], row["class_name"], row["class_id"]),
                Shown("its sister in ID", sheets[row["sister_id"]], row["sister_name"], row["sister_id"]),
            ),
            note=f"below {row['parent']}",
        )
        for row in pairs.to_dict("records")
    ]
    about = f"{len(cards):,} pairs of classes that share a parent, {images} images each"
    return _make_page(cards, CLASS_QUESTION, ood[0], about, decisions, wide=True)


def _make_page(
    cards: list[Card], question: Question, ood: Predictions, about: str, decisions: Decisions | None, wide: bool = False
) -> str:
    shown = ood.metadata
    name = f"{wording.name(shown.benchmark or 'custom')}/{wording.name(shown.config or 'default')}"
    store = (shown.benchmark, shown.config, shown.version, shown.fingerprint)
    return make_review_page(
        cards,
        question,
        title=f"Review of {name}",
        about=f"{name}, {about}",
        store=" ".join(["oochub review", *(part or "" for part in store)]),
        decisions=decisions,
        wide=wide,
    )
