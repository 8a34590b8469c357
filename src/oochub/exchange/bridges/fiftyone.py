"""FiftyOne: a folder in its format FiftyOneDataset, with truth, answers and contexts as fields of each sample."""

import base64
import hashlib
import io
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oochub.errors import OochubError, unknown_name
from oochub.exchange.bridge import Bridge, BridgedAnswers, RowImage, list_plain_columns, make_plain
from oochub.storage.artifacts import FileKind
from oochub.storage.reading import NUMPY_FAULTS, read_json

if TYPE_CHECKING:
    from oochub.prediction.predictions import Predictions

_Document = Mapping[str, object]  # of JSON
_VERSION = "1.0.0"  # of the documents that are written; newer FiftyOnes migrate them as they read
_FIELDS = "fiftyone.core.fields."
_PLAIN = {"text": "StringField", "truth": "BooleanField", "whole": "IntField", "fraction": "FloatField"}
_OWN = ("id", "filepath", "tags", "metadata", "created_at", "last_modified_at", "ground_truth", "prediction")
_TRUTH, _ANSWER = "ground_truth", ("prediction", "predictions")
_LARGEST = 1 << 24  # bytes of the logits of one row


class FiftyOne(Bridge):
    """Reads `samples.json` of a FiftyOneDataset, and writes such a folder with the images of the rows.

    A sample has the fields `ground_truth` and `prediction` (Classification), the latter with confidence and logits if
    the predictions have them, and each narrow column of the predictions. The same fields are read; another field of
    the type Classification is taken if it is the only one, or if it is named as the model.

    Source: FiftyOne, User Guide, Importing data, FiftyOneDataset.
    """

    title = "FiftyOne"
    answers = "a folder of the format FiftyOneDataset, or its samples.json"
    written = FileKind(
        "a FiftyOne dataset",
        (),
        lambda folder: False,
        is_folder=True,
        names=("samples.json", "metadata.json", "data/*"),
    )
    written_kinds = ("classes", "choices")
    needs_images = True

    def recognizes(self, path: Path, head: bytes) -> bool:
        """See `Bridge.recognizes`; a samples.json begins with its list of samples."""
        if path.is_dir():
            return (path / "samples.json").is_file()
        return path.suffix.lower() == ".json" and head.split(b":")[0].split() in ([b'{"samples"'], [b"{", b'"samples"'])

    def files(self, path: Path) -> Sequence[Path]:
        """See `Bridge.files`; images are not read."""
        folder = path if path.is_dir() else path.parent
        listed = [folder / "samples.json"] if path.is_dir() else [path]
        return [*listed, *(file for file in [folder / "metadata.json"] if file.is_file())]

    def read(self, path: Path, model: str | None) -> BridgedAnswers:
        """See `Bridge.read`; `model` is the field that holds its answers, if there is a field of that name."""
        samples_file, *metadata_file = self.files(path)
        content = read_json(samples_file)
        samples = content.get("samples") if isinstance(content, dict) else None
        if not isinstance(samples, list) or not all(isinstance(sample, dict) for sample in samples):
            raise OochubError(f"{samples_file} has no list of samples. Export the dataset again.")
        if not samples:
            raise OochubError(f"{samples_file} contains no samples. Export some.")
        told = _read_metadata(metadata_file[0]) if metadata_file else {}
        field = _find_field(samples, samples_file, model)
        ids = [_read_id(sample, number, samples_file) for number, sample in enumerate(samples)]
        answers = [_read_label(sample, field, samples_file) for sample in samples]
        columns: dict[str, object] = {"example_id": pa.array(ids, pa.string())}
        splits = [sample.get("split") for sample in samples]
        if all(isinstance(split, str) for split in splits):
            columns["split"] = pa.array(splits, pa.string())
        columns["prediction"] = pa.array([answer.get("label") for answer in answers], pa.string())
        truths = [_read_label(sample, _TRUTH, samples_file).get("label") for sample in samples]
        if any(truth is not None for truth in truths):
            columns["label"] = pa.array(truths, pa.string())
        logits = _read_logits(answers, _find_classes(told, field), samples_file)
        columns |= logits
        return BridgedAnswers(pa.table(columns), model=field if field not in _ANSWER else _find_model(told))

    def write(self, predictions: "Predictions", draft: Path, images: Iterator[RowImage | None]) -> None:
        """See `Bridge.write`: `data/`, `samples.json`, `metadata.json`; the ids of documents follow from the rows."""
        (draft / "data").mkdir()
        columns = list_plain_columns(predictions, without=_OWN)
        with (draft / "samples.json").open("w", encoding="utf-8") as file:
            file.write('{"samples": [')
            for number, (sample, image) in enumerate(zip(_iterate_samples(predictions, columns), images, strict=True)):
                if image is not None:
                    place = f"data/{number:07d}{image.suffix}"
                    (draft / place).write_bytes(image.content)
                    sample["filepath"] = place
                file.write(("," if number else "") + "\n" + json.dumps(sample, allow_nan=False))
            file.write("\n]}\n")
        (draft / "metadata.json").write_text(json.dumps(_describe(predictions, columns), indent=1), "utf-8")


def _find_field(samples: Sequence[_Document], file: Path, model: str | None) -> str:
    """The field with the answers."""
    fields = {
        name
        for sample in samples
        for name, value in sample.items()
        if name != _TRUTH and isinstance(value, dict) and value.get("_cls") == "Classification"
    }
    if model in fields:
        return str(model)
    named = [name for name in _ANSWER if name in fields] or (sorted(fields) if len(fields) == 1 else [])
    if named:
        return named[0]
    if not fields:
        raise OochubError(
            f"{file} has no answers: no sample has a field of the type Classification besides {_TRUTH}. Export the "
            "dataset with the field that holds the model's answers."
        )
    raise unknown_name("field of answers", str(model), sorted(fields), "Choose one with --model-name.")


def _read_id(sample: _Document, number: int, file: Path) -> str:
    """The id of a row, else the stem of its image's name."""
    example_id, path = sample.get("example_id"), sample.get("filepath")
    if isinstance(example_id, str | int) and not isinstance(example_id, bool):
        return str(example_id)
    if not isinstance(path, str) or not PurePosixPath(path.replace("\\", "/")).stem:
        raise OochubError(f"Sample {number} of {file} has neither example_id nor filepath. Export the dataset again.")
    return PurePosixPath(path.replace("\\", "/")).stem


def _read_label(sample: _Document, field: str, file: Path) -> _Document:
    """A Classification of a sample; empty if it has none."""
    value = sample.get(field)
    label = value.get("label") if isinstance(value, dict) else None
    if not isinstance(value, dict | None) or not isinstance(label, str | None):
        raise OochubError(f"The field {field} of a sample of {file} is not a Classification. Export the dataset again.")
    return value or {}


def _read_metadata(file: Path) -> _Document:
    content = read_json(file)
    if not isinstance(content, dict) or not {"version", "media_type"} & content.keys():
        raise OochubError(f"{file} says neither a version nor a media type. Export the dataset again.")
    return content


def _find_model(told: _Document) -> str | None:
    """The model that `write` noted."""
    info = told.get("info")
    model = info.get("model") if isinstance(info, dict) else None
    return model if isinstance(model, str) and model else None


def _find_classes(told: _Document, field: str) -> list[str] | None:
    """The classes in the order of the logits, if the dataset says them."""
    of_fields = told.get("classes")
    names = (of_fields.get(field) if isinstance(of_fields, dict) else None) or told.get("default_classes")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return None
    return names if names and len(set(names)) == len(names) else None


def _read_logits(answers: Sequence[_Document], classes: list[str] | None, file: Path) -> dict[str, pa.Array]:
    """A column of logits for each class, if every sample has them and the classes are known."""
    stored = [answer.get("logits") for answer in answers]
    if classes is None or any(content is None for content in stored):
        return {}
    rows = np.stack([_unpack_logits(content, len(classes), file) for content in stored])
    return {f"logit_{name}": pa.array(rows[:, number]) for number, name in enumerate(classes)}


def _unpack_logits(stored: object, count: int, file: Path) -> NDArray[np.float64]:
    """A list of numbers, or an array as FiftyOne packs one: NPY, compressed, in base64."""
    try:
        if isinstance(stored, dict):
            packed = base64.b64decode(stored["$binary"]["base64"], validate=True)
            unpacker = zlib.decompressobj()
            plain = unpacker.decompress(packed, _LARGEST)
            if unpacker.unconsumed_tail:
                raise ValueError(f"more than {_LARGEST:,} bytes")
            stored = np.load(io.BytesIO(plain), allow_pickle=False)
        values = np.asarray(stored)
        if values.dtype.kind not in "fiu" or values.shape != (count,):
            raise ValueError(f"{values.dtype} {values.shape} where {count} numbers are expected")
        return values.astype(np.float64)
    except (*NUMPY_FAULTS, OverflowError) as error:
        raise OochubError(f"The logits of a sample of {file} cannot be read: {error}. Export it again.") from error


def _pack_logits(row: NDArray[np.float32]) -> dict[str, object]:
    buffer = io.BytesIO()
    np.save(buffer, row, allow_pickle=False)
    return {"$binary": {"base64": base64.b64encode(zlib.compress(buffer.getvalue())).decode(), "subType": "00"}}


def _make_object_id(*parts: object) -> dict[str, str]:
    """The id of a document, the same for the same row: twelve bytes."""
    return {"$oid": hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:24]}


def _iterate_samples(predictions: "Predictions", columns: Mapping[str, str]) -> Iterator[dict[str, object]]:
    """The document of each row."""
    names, label, answer = predictions.class_names, predictions.label, predictions.prediction
    has_logits = predictions.output.has_confidence
    confidence = predictions.summary.confidence if has_logits else None
    losses = predictions.summary.loss if has_logits else None
    values = {name: predictions.rows.column(name).to_pylist() for name in columns}
    start = 0
    blocks = predictions.blocks("logits") if has_logits else [(slice(0, len(predictions)), {})]
    for _, block in blocks:
        count = len(block["logits"]) if has_logits else len(predictions)
        for place in range(count):
            row = start + place
            key = (values["split"][row], values["example_id"][row])
            truth = {"label": names[int(label[row])] if label[row] >= 0 else None}
            answer_fields: dict[str, object] = {"label": names[int(answer[row])] if answer[row] >= 0 else None}
            if confidence is not None:
                answer_fields["confidence"] = float(confidence[row])
                answer_fields["logits"] = _pack_logits(np.asarray(block["logits"][place], np.float32))
            yield {
                "_id": _make_object_id("sample", *key),
                "filepath": "",
                "tags": [],
                "metadata": None,
                "_media_type": "image",
                "_rand": int(_make_object_id("order", *key)["$oid"][:12], 16) / 16**12,
                **{name: make_plain(values[name][row]) for name in columns},
                _TRUTH: {"_id": _make_object_id("truth", *key), "_cls": "Classification", "tags": [], **truth},
                _ANSWER[0]: {
                    "_id": _make_object_id("answer", *key),
                    "_cls": "Classification",
                    "tags": [],
                    **answer_fields,
                },
                "correct": bool(label[row] >= 0 and label[row] == answer[row]),
                **({} if losses is None else {"loss": make_plain(float(losses[row]))}),
            }
        start += count


def _describe(predictions: "Predictions", columns: Mapping[str, str]) -> dict[str, object]:
    """The document of the dataset."""
    classification = [
        _describe_field("id", "ObjectIdField", db_field="_id"),
        _describe_field("tags", "ListField", subfield="StringField", db_field="tags"),
        _describe_field("label", "StringField", db_field="label"),
        _describe_field("confidence", "FloatField", db_field="confidence"),
        _describe_field("logits", "VectorField", db_field="logits"),
    ]
    size = [
        _describe_field("size_bytes", "IntField", db_field="size_bytes"),
        _describe_field("mime_type", "StringField", db_field="mime_type"),
    ]
    own = {
        name: _describe_field(name, "ListField", subfield="StringField")
        if kind == "texts"
        else _describe_field(name, _PLAIN[kind])
        for name, kind in {**columns, "correct": "truth", "loss": "fraction"}.items()
    }
    label = "fiftyone.core.labels.Classification"
    fields = [
        _describe_field("id", "ObjectIdField", db_field="_id"),
        _describe_field("filepath", "StringField"),
        _describe_field("tags", "ListField", subfield="StringField"),
        _describe_field("metadata", "EmbeddedDocumentField", document="fiftyone.core.metadata.Metadata", fields=size),
        _describe_field("created_at", "DateTimeField", read_only=True),
        _describe_field("last_modified_at", "DateTimeField", read_only=True),
        *own.values(),
        *(
            _describe_field(name, "EmbeddedDocumentField", document=label, fields=classification)
            for name in (_TRUTH, _ANSWER[0])
        ),
    ]
    metadata = predictions.metadata
    return {
        "version": _VERSION,
        "media_type": "image",
        "sample_fields": fields,
        "info": {"benchmark": metadata.benchmark, "config": metadata.config, "model": metadata.model.id},
        "default_classes": predictions.class_names,
        "tags": [],
    }


def _describe_field(
    name: str,
    kind: str,
    *,
    subfield: str | None = None,
    document: str | None = None,
    fields: Sequence[_Document] = (),
    db_field: str | None = None,
    read_only: bool = False,
) -> dict[str, object]:
    return {
        "name": name,
        "ftype": _FIELDS + kind,
        "embedded_doc_type": document,
        "subfield": None if subfield is None else _FIELDS + subfield,
        "fields": list(fields),
        "db_field": db_field,
        "description": None,
        "info": None,
        "read_only": read_only,
        "created_at": None,
    }
