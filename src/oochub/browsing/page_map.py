"""The map of a page of all rows: the place of each row, the clusters of wrong answers, and how both are to be read."""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from oochub.browsing.mistake_clusters import MistakeCluster, find_mistake_clusters
from oochub.browsing.row_columns import Field, RowColumns
from oochub.browsing.row_map import MapWay, make_row_map
from oochub.evaluation.evaluation_rows import EvaluationRows

_NONE = "none"


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
    found, order = make_row_map(evaluated.predictions, way), columns.order
    wrong = np.asarray(evaluated.predictions.output.wrong(evaluated.columns))[order]
    clusters = find_mistake_clusters(found.parts[order], wrong, evaluated.known[order], columns.fields)
    names = [f"{number}: {each.name}" for number, each in enumerate(clusters.clusters, 1)]
    if names:
        codes = np.where(clusters.place < 0, len(names), clusters.place).astype(np.uint8)
        field = Field(name="mistakes", title="Cluster of mistakes", values=(*names, _NONE), codes=codes)
        columns = replace(columns, fields=(*columns.fields, field))
    return PageMap(
        columns=columns,
        places={"map x": found.places[order, 0], "map y": found.places[order, 1]},
        about={
            "way": found.way,
            "notes": [*found.notes, *clusters.notes],
            "clusters": [_describe(name, each) for name, each in zip(names, clusters.clusters, strict=True)],
        },
    )


def _describe(name: str, cluster: MistakeCluster) -> dict[str, object]:
    rate = cluster.error_rate
    return {
        "value": name,
        "rows": cluster.rows,
        "shared": [
            f"{each.title} {each.value}: {100 * each.share:.0f}%, lift {each.lift:.1f}" for each in cluster.shared
        ],
        "rule": cluster.rule,
        "n": cluster.n_rule,
        "wrong": [float(rate), rate.low, rate.high] if cluster.rule else None,
    }
