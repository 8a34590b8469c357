"""The columns of predictions as evaluation reads them: each when it is asked for, names as numbers."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from oochub.output import Arrays
from oochub.prediction.predictions import Predictions

_NOT_ASKED_FOR = {"thumbnail", "thumbnail_text", "example_id", "features"} | {
    f"{before}{name}" for before in ("zoom_", "odin_", "zoom_odin_") for name in ("features", "logits")
}


class EvaluatedColumns(Mapping[str, Any]):
    """What metrics ask for by name: what the kind of output computes, and the auxiliary columns.

    A column of text is a pandas Categorical: a byte a row where it has few names.

    Attributes:
        shadowed: Auxiliary columns that are not read, since what is computed bears their name.

    >>> rows = Predictions.from_arrays(logits=[[1.0, 0.0]] * 2, label=[0, 1], group=["sea", "land"])
    >>> columns = EvaluatedColumns(rows, {})
    >>> columns["group"].codes, columns["group"] == "sea", sorted(columns)
    (array([1, 0], dtype=int8), array([ True, False]), ['group', 'split'])
    """

    def __init__(self, predictions: Predictions, computed: Arrays) -> None:
        self._predictions = predictions
        self._computed = computed
        self._read: Arrays = {}
        left_out = {*_NOT_ASKED_FOR, *predictions.output.columns, *predictions.output.beside}
        left_out.add(predictions.output.label_column)
        self._names = [name for name in predictions.column_names if name not in left_out]
        self.shadowed = sorted(computed.keys() & self._names)

    def __getitem__(self, name: str) -> Any:
        if name in self._computed:
            return self._computed[name]
        if name not in self._read:
            if name not in self._names:
                raise KeyError(name)
            self._read[name] = _column(self._predictions, name)
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._names, *self._computed]))

    def __len__(self) -> int:
        return len({*self._names, *self._computed})


def _column(predictions: Predictions, name: str) -> Any:
    light = predictions.rows.light
    column = (light if name in light.column_names else predictions.rows).column(name)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return predictions.column(name)
    encoded = (column if kind != column.type else pc.dictionary_encode(column)).combine_chunks()
    names = encoded.dictionary.to_pylist() + ["None"] * bool(column.null_count)
    place = {name: number for number, name in enumerate(sorted(set(names)))}  # an array would give each the longest
    places = np.fromiter(map(place.__getitem__, names), np.min_scalar_type(-len(names)), len(names))
    codes: NDArray[np.signedinteger] = places[encoded.indices.fill_null(len(places) - 1).to_numpy()]
    categories: Any = list(place)
    return pd.Categorical.from_codes(codes, categories=categories)
