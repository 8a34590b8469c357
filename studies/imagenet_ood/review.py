"""The review of a set of OOD images: those nearest to ID images, in pairs on a page, to keep or to drop."""

import base64
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

import pandas as pd
from markupsafe import Markup

from oochub.errors import OochubError
from oochub.evaluation.nearest import nearest_rows
from oochub.prediction.predictions import Predictions
from oochub.report import theme
from oochub.report.self_contained_page import environment
from oochub.schema import to_json
from oochub.studies.imagenet_ood.review_decisions import Decisions, class_ids

_EDGE = 256  # pixels of a picture's longer side
_STYLES = ("page.css", "review.css")


def review_queue(ood: Predictions, reference: Predictions, *, top: int = 1000) -> pd.DataFrame:
    """The OOD images nearest to an ID image, by the cosine distance of their features; the nearest first.

    Args:
        ood: Predictions of the OOD images, with features (n, d).
        reference: Predictions of the ID images by the same model, with features (m, d): ImageNet-1K's validation set.
        top: How many to review; all where there are fewer.

    Returns:
        A row a pair: example_id, class_id ("" for none), class_name, nearest_id, nearest_class, distance in [0, 2].

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
        raise OochubError(f"top is the number of images to review, 1 or more; got {top}.")
    if ood.metadata.model != reference.metadata.model:
        raise OochubError("These predictions are of two models. Predict both sets with the same one.")
    if (reference.label < 0).any():
        raise OochubError(
            f"{(reference.label < 0).sum():,} of the ID images are outside the label set. Give the OOD predictions "
            "first, and those of the ID images second."
        )
    features = [_features(predictions, what) for predictions, what in ((ood, "OOD"), (reference, "ID"))]
    index, distance = nearest_rows(*features)
    names = _class_names(reference)
    rows = pd.DataFrame(
        {
            "example_id": ood.column("example_id"),
            "class_id": class_ids(ood),
            "class_name": _class_names(ood),
            "nearest_id": reference.column("example_id")[index],
            "nearest_class": [names[row] for row in index],
            "distance": distance,
        }
    )
    return rows.sort_values("distance", kind="stable").head(top).reset_index(drop=True)


def _features(predictions: Predictions, what: str) -> Any:
    if predictions.features is None:
        raise OochubError(f"The {what} predictions have no features. Predict again with --features.")
    ids = pd.Series(predictions.column("example_id"))
    if ids.duplicated().any():
        twice = ids[ids.duplicated()].iloc[0]
        raise OochubError(f"The {what} predictions have {twice} in two splits. Predict one split (--split).")
    return predictions.features


def _class_names(predictions: Predictions) -> list[str]:
    if "class_name" in predictions.column_names:
        return [name or "" for name in predictions.table.column("class_name").to_pylist()]
    return class_ids(predictions)


def review_page(
    queue: pd.DataFrame,
    ood: tuple[Predictions, Any],
    reference: tuple[Predictions, Any],
    *,
    decisions: Decisions | None = None,
) -> str:
    """The queue as one HTML file: two pictures a pair, and buttons that keep or drop the image, or drop its class.

    A page cannot write files. Marks stay in the browser (localStorage, by data set), and a button downloads them with
    all `decisions` as decisions.csv, which `oochub review --apply` takes. Where the browser and `decisions` disagree
    the later holds. The page loads nothing; its policy names the hashes of its one style and its one script.

    Args:
        queue: What `review_queue` gives.
        ood: The OOD predictions, and their data: a Dataset or a dict of splits, with `example_id` and `image`.
        reference: The same of the ID images.
        decisions: Earlier ones; those on images outside the queue are carried along.

    Raises:
        OochubError: A picture that is not in the data or cannot be read.
    """
    pictures = _pictures(ood[1], queue["example_id"].tolist(), "OOD")
    nearest = _pictures(reference[1], queue["nearest_id"].tolist(), "ID")
    pairs = [
        row | {"picture": pictures[row["example_id"]], "nearest_picture": nearest[row["nearest_id"]]}
        for row in queue.to_dict("records")
    ]
    about = [{**to_json(part.metadata), "n": len(part)} for part in (ood[0], reference[0])]
    store = [about[0].get(key, "") for key in ("benchmark", "config", "version", "fingerprint")]
    style = theme.css_variables() + "".join(_file(name) for name in _STYLES)
    script = _file("review.js")
    policy = f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; img-src data:"
    template = environment().get_template("review.html.jinja")
    return template.render(
        pairs=pairs,
        ood=about[0],
        reference=about[1],
        store=" ".join(["oochub review", *store]),
        marks=json.dumps([list(decision) for decision in (decisions or {}).values()]),
        style=Markup(style),  # noqa: S704  our own files, no text of the data
        script=Markup(script),  # noqa: S704
        policy=f"{policy}; base-uri 'none'; form-action 'none'",
    )


def _file(name: str) -> str:
    return resources.files("oochub").joinpath(f"report/templates/{name}").read_text("utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _pictures(data: Any, ids: Sequence[str], what: str) -> dict[str, str]:
    """Small JPEGs of these examples as `data:` addresses; no other picture is read."""
    import datasets
    from tqdm import tqdm

    from oochub.inputs.pictures.preprocessing import decode
    from oochub.inputs.pictures.stored_pictures import picture_bytes

    parts = list(data.values()) if isinstance(data, Mapping) else [data]
    row_of = {
        example: (number, row)
        for number, part in enumerate(parts)
        for row, example in enumerate(part.select_columns(["example_id"])["example_id"])
    }
    wanted = list(dict.fromkeys(ids))
    missing = [example for example in wanted if example not in row_of]
    if missing:
        raise OochubError(
            f"{len(missing):,} of the {len(wanted):,} {what} images to show are not in the data, first {missing[0]}. "
            "Give the data that were predicted (--data-dir)."
        )
    pictures = {}
    raw = [part.select_columns(["image"]).cast_column("image", datasets.Image(decode=False)) for part in parts]
    for example in tqdm(wanted, desc=f"{what} pictures", unit="img", delay=2, disable=None):
        number, row = row_of[example]
        where = f"{what} image {example}"
        picture = decode(picture_bytes(raw[number][row]["image"], where), where)
        picture.thumbnail((_EDGE, _EDGE))
        file = io.BytesIO()
        picture.save(file, "JPEG", quality=80)
        pictures[example] = "data:image/jpeg;base64," + base64.b64encode(file.getvalue()).decode()
    return pictures
