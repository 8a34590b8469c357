"""The map of a page of all rows: the place of each row, the clusters of wrong answers, and how both are to be read.

Rows are points of a plane by the features that the model stored: near points look alike to the model.

PCA is a projection: distances are those of the features as far as two directions hold them, and the map says what share
of their variance that is. t-SNE keeps neighbors together; how far apart two groups lie, how large they are and how
dense says nothing. Neither knows labels or answers.

Source: van der Maaten and Hinton 2008 (J. Mach. Learn. Res. 9:2579-2605); a start at the principal components:
Kobak and Berens 2019 (Nat. Commun. 10:5416).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from oochub.browsing.filter_columns import Field, RowColumns
from oochub.browsing.mistake_clusters import MistakeCluster, find_mistake_clusters
from oochub.errors import OochubError, choose_wording, unknown_name
from oochub.evaluation.evaluation_rows import EvaluationRows
from oochub.prediction.predictions import Predictions

MapWay = Literal["pca", "tsne"]
MOST_IN_TSNE = 5_000
"""Rows of a t-SNE: it takes half a minute for so many on one core, and grows faster than they do."""
_PARTS = 50  # principal components that t-SNE and clusters see
_FEWEST = 10  # rows of a map
_PERPLEXITY = 30.0
_ROUNDING = 1e-6  # of the largest feature: less is none


_NONE = "none"


@dataclass(frozen=True, kw_only=True)
class RowMap:
    """A place for each row.

    Attributes:
        way: "pca" or "tsne": what the map shows, which is "pca" if t-SNE was skipped.
        places: x and y of each row in [0, 1] (n, 2); nan for a row that is not on the map.
        parts: The first principal components of the features (n, k), k at most 50, that clusters are looked for in.
        notes: How the map is to be read, a sentence each.
    """

    way: MapWay
    places: NDArray[np.float32]
    parts: NDArray[np.float32]
    notes: tuple[str, ...]


def make_row_map(predictions: Predictions, way: MapWay, *, seed: int = 0) -> RowMap:
    """The map of the rows of predictions that have features.

    t-SNE of fewer than ten different points is skipped, and the map of PCA shown, with a note that says so: it has no
    neighborhoods to keep, and of rows that are all one point scikit-learn ends the process (1.9.1).

    Args:
        predictions: The rows.
        way: "pca" or "tsne".
        seed: Random seed for t-SNE and for the rows that it takes.

    Raises:
        OochubError: Another way, rows without features, features that are not finite, or fewer than ten rows.

    >>> features = np.repeat(np.eye(3, 8), 10, axis=0) + 0.1 * np.random.default_rng(0).normal(size=(30, 8))
    >>> rows = Predictions.from_arrays(logits=[[1.0, 0.0]] * 30, label=[0] * 30, features=features)
    >>> found = make_row_map(rows, "pca")
    >>> found.places.shape, found.notes[0]
    ((30, 2), 'The two axes hold 92% of the variance of the features (PCA).')
    """
    if way not in get_args(MapWay):
        raise unknown_name("map", str(way), get_args(MapWay))
    check_features(predictions)
    features = predictions.features
    assert features is not None  # noqa: S101  checked
    if not np.isfinite(features).all():
        raise OochubError("The features of these predictions are not all finite, so they have no map. Predict again.")
    parts, shares = _find_parts(features)
    taken = _take_rows(len(parts), seed)
    steps = parts[taken] / max(_ROUNDING * float(np.abs(features).max()), float(np.finfo(np.float32).tiny))
    points = len(np.unique(steps.round(), axis=0)) if way == "tsne" else 0
    if way == "pca" or points < _FEWEST:
        share = float(shares[:2].sum())
        note = f"The two axes hold {100 * share:.0f}% of the variance of the features (PCA)."
        far = "Rows that lie together here may be far apart in the directions that are not shown."
        skipped = f"t-SNE was skipped: it needs {_FEWEST} rows with different features, and there are {points}."
        notes = (skipped, note, far) if way == "tsne" else (note, far)
        return RowMap(way="pca", places=_fit_to_square(parts[:, :2]), parts=parts, notes=notes)
    places = np.full((len(predictions), 2), np.nan, np.float32)
    sentences = [
        "Only neighborhoods can be read off this map (t-SNE): distances, sizes and densities of groups mean nothing."
    ]
    if len(taken) < len(places):
        sentences.append(
            f"The map has {MOST_IN_TSNE:,} of {len(places):,} rows, drawn at random, because t-SNE of more takes "
            "minutes; PCA shows all."
        )
    places[taken] = _fit_to_square(_embed(parts[taken], points, seed))
    return RowMap(way=way, places=places, parts=parts, notes=tuple(sentences))


def check_features(predictions: Predictions) -> None:
    """Checks that rows have features, before anything slow.

    Raises:
        OochubError: They have none, or are fewer than ten.
    """
    if "features" not in predictions.column_names:
        stored = choose_wording("oochub.predict(..., features=True)", "oochub predict MODEL SOURCE --features")
        raise OochubError(f"A map needs the features of each row, which these predictions lack. Store them: {stored}.")
    if len(predictions) < _FEWEST:
        raise OochubError(f"A map needs {_FEWEST} rows or more, got {len(predictions)}.")


def _take_rows(n: int, seed: int) -> NDArray[np.int64]:
    """The rows that t-SNE takes, in order: all, or as many as it takes at most, drawn at random."""
    rows = np.arange(n)
    return rows if n <= MOST_IN_TSNE else np.sort(np.random.default_rng(seed).choice(rows, MOST_IN_TSNE, replace=False))


def _find_parts(features: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """The first principal components (n, k), two at least, and their shares of the variance."""
    from sklearn.decomposition import PCA

    flat = features.reshape(len(features), -1)
    if flat.shape[1] < 2:
        flat = np.column_stack([flat, np.zeros(len(flat), flat.dtype)])
    flat = np.asarray(flat, np.float64) if flat.std() < 1e-3 else flat  # too small for the squares of float32
    fitted = PCA(min(_PARTS, *flat.shape), svd_solver="covariance_eigh").fit(flat)
    total = max(float(fitted.explained_variance_.sum()), np.finfo(np.float64).tiny)
    shares = np.nan_to_num(fitted.explained_variance_ratio_) if total > 0 else np.zeros(len(fitted.components_))
    parts: NDArray[np.float32] = np.asarray(fitted.transform(flat), np.float32)
    return parts, shares


def _embed(parts: NDArray[np.float32], points: int, seed: int) -> NDArray[np.float32]:
    """The places (n, 2) of rows that are so many different points."""
    from sklearn.manifold import TSNE

    model = TSNE(perplexity=min(_PERPLEXITY, (points - 1) / 3), init="pca", random_state=seed)
    placed: NDArray[np.float32] = model.fit_transform(parts).astype(np.float32)
    return placed


def _fit_to_square(places: NDArray[np.floating]) -> NDArray[np.float32]:
    """The same places in [0, 1] on both axes, at one scale, so that no distance is stretched."""
    low, high = places.min(axis=0), places.max(axis=0)
    size = float((high - low).max()) or 1.0
    square: NDArray[np.float32] = (0.5 + (places - (low + high) / 2) / size).clip(0, 1).astype(np.float32)
    return square


class PageMap(NamedTuple):
    """What a page needs for its map.

    Attributes:
        columns: The columns of the page, with a field for the clusters of wrong answers.
        places: x and y of each row (n,), in the order in which rows are shown.
        about: How the map is to be read, and the clusters, as JSON types.
    """

    columns: RowColumns
    places: Mapping[str, NDArray[np.float32]]
    about: Mapping[str, object]


def make_page_map(evaluated: EvaluationRows, columns: RowColumns, way: MapWay) -> PageMap:
    """The map of the rows of a page.

    Args:
        evaluated: The rows, which have features.
        columns: The columns of the page.
        way: "pca" or "tsne".

    Raises:
        OochubError: What `make_row_map` refuses.
    """
    row_map, order = make_row_map(evaluated.predictions, way), columns.order
    wrong = np.asarray(evaluated.predictions.output.wrong(evaluated.columns))[order]
    clusters = find_mistake_clusters(row_map.parts[order], wrong, evaluated.known[order], columns.fields)
    names = [f"{number}: {cluster.name}" for number, cluster in enumerate(clusters.clusters, 1)]
    if names:
        codes = np.where(clusters.place < 0, len(names), clusters.place).astype(np.uint8)
        field = Field(name="mistakes", title="Cluster of mistakes", values=(*names, _NONE), codes=codes)
        columns = replace(columns, fields=(*columns.fields, field))
    return PageMap(
        columns=columns,
        places={"map x": row_map.places[order, 0], "map y": row_map.places[order, 1]},
        about={
            "way": row_map.way,
            "notes": [*row_map.notes, *clusters.notes],
            "clusters": [_describe(name, cluster) for name, cluster in zip(names, clusters.clusters, strict=True)],
        },
    )


def _describe(name: str, cluster: MistakeCluster) -> dict[str, object]:
    rate = cluster.error_rate
    return {
        "value": name,
        "rows": cluster.rows,
        "shared": [
            f"{shared.title} {shared.value}: {100 * shared.share:.0f}%, lift {shared.lift:.1f}"
            for shared in cluster.shared
        ],
        "rule": cluster.rule,
        "n": cluster.n_rule,
        "wrong": [float(rate), rate.low, rate.high] if cluster.rule else None,
    }
