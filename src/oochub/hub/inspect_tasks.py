"""Questions as the loader of Inspect takes them from the Hub: images as text in a configuration of their own."""

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from datasets import Features, Image

from oochub.hub.push_results import name_task
from oochub.records.question_options import OPTIONS, QUESTION, ask_each_row
from oochub.storage.parquet_file import seal
from oochub.storage.picture_file import open_picture

FRAMEWORK = "inspect-ai"
"""What the Hub calls it."""
CONFIG = "inspect"
"""The configuration that it reads."""
_IMAGE, _LABEL, _ID = "image", "label", "example_id"
_ROWS = 64  # held at once


def write_inspect_files(folder: Path, splits: Mapping[str, Sequence[str]], out: Path) -> dict[str, list[str]]:
    """Writes the questions of a configuration with images as data URIs, which Inspect reads as text.

    Args:
        folder: A repository of Parquet files.
        splits: Paths in it of the files of each split.
        out: Folder that gets them in `inspect/`, by the same names.

    Returns:
        The paths of the new files by split; none for rows that ask no questions on images.
    """
    first = next(path for paths in splits.values() for path in paths)
    if not first.endswith(".parquet"):
        return {}
    features = Features.from_arrow_schema(pq.read_schema(folder / first))
    if not (ask_each_row(features) and isinstance(features.get(_IMAGE), Image) and _LABEL in features):
        return {}
    (out / CONFIG).mkdir(parents=True, exist_ok=True)
    return {split: [_write_file(folder / path, out) for path in paths] for split, paths in splits.items()}


def _write_file(source: Path, out: Path) -> str:
    target = out / CONFIG / source.name  # which holds a digest of what it is made of
    columns = [_ID, QUESTION, OPTIONS, _LABEL]
    texts = pa.field(_IMAGE, pa.string())
    with pq.ParquetFile(source) as file:
        schema = pa.schema([*(file.schema_arrow.field(column).remove_metadata() for column in columns), texts])
        with pq.ParquetWriter(target, schema, use_content_defined_chunking=True) as writer:
            for batch in file.iter_batches(_ROWS, columns=[*columns, _IMAGE]):
                images = batch.column(_IMAGE).field("bytes").to_pylist()
                uris = pa.array([_make_uri(content) for content in images], pa.string())
                writer.write_table(pa.table([*(batch.column(column) for column in columns), uris], schema=schema))
    seal(target)
    return str(target.relative_to(out))


def _make_uri(content: bytes | None) -> str:
    if not content:
        return ""
    kind = str(open_picture(content, name="image").format).lower()
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"


def make_inspect_task(split: str) -> dict[str, Any]:
    """The task of `eval.yaml` that asks the questions: which columns it reads, how it asks and scores.

    Args:
        split: The split that is asked.

    >>> make_inspect_task("test")["field_spec"]["choices"]
    'options'
    """
    return {
        "id": name_task(CONFIG, "accuracy"),
        "config": CONFIG,
        "split": split,
        "field_spec": {"input": QUESTION, "target": _LABEL, "choices": OPTIONS, "input_image": _IMAGE},
        "solvers": [{"name": "multiple_choice"}],
        "scorers": [{"name": "choice"}],
    }
