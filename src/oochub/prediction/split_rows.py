"""Rows of a split as predictions have them, without a model: ids, truth and auxiliary columns; no picture is read."""

from collections.abc import Sequence

import datasets
import pyarrow as pa

from oochub.output import Output

_INPUTS = (datasets.Image, datasets.Audio, datasets.Video, datasets.Array2D, datasets.Array3D, datasets.Array4D)


def split_rows(name: str, part: datasets.Dataset, kind: Output, class_names: Sequence[str]) -> pa.Table:
    """The columns of predictions of a split, but the answers.

    Args:
        name: Of the split.
        part: Its rows; pictures, sounds, films and arrays are left out.
        kind: The kind of output.
        class_names: Of its truth.

    Returns:
        `example_id`, `split`, the truth, then every auxiliary column, class numbers as names, in the order of `part`.

    Raises:
        OochubError: A truth that the kind does not allow.
    """
    n, kept = len(part), [column for column, feature in part.features.items() if not isinstance(feature, _INPUTS)]
    table = part.select_columns(kept).with_format("arrow")[:] if kept else pa.table({})
    columns = {column: table.column(column) for column in table.column_names}
    ids, truth = columns.pop("example_id", None), columns.pop(kind.label_column, None)
    for column, values in columns.items():
        feature = part.features[column]
        if isinstance(feature, datasets.ClassLabel):
            names = [None if k is None or k < 0 else feature.names[k] for k in values.to_pylist()]
            columns[column] = pa.array(names, pa.string())
    return pa.table(
        {
            "example_id": pa.array([str(row) for row in (range(n) if ids is None else ids.to_pylist())], pa.string()),
            "split": pa.array([name] * n, pa.string()),
            kind.label_column: kind.truth(None if truth is None else truth.to_pylist(), n, class_names),
            **columns,
        }
    )
