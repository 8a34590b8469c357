"""A network in int8: its ONNX form quantized by ONNX Runtime, by images that the user names and that nobody scores.

The range of each value in the network is measured on two thirds of these images. On the others the answers are compared
with those in float32. Weights get a scale for each channel, the values between layers one for each layer.
"""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import datasets
import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image as Pictures

from oochub.errors import OochubError, choose_wording, did_you_mean
from oochub.input import InputBatch
from oochub.models.onnx_file import import_onnxruntime
from oochub.stats.logits import logit_difference
from oochub.stats.proportion import wilson
from oochub.storage.files import make_scratch_folder

Inputs = Mapping[str, torch.Tensor]

_FACTORS = ("avx512_vnni", "avx_vnni", "amx_int8")  # without one, sums of int8 products overflow on x86


_MOST = 192  # images; a third of them compare the answers
_CHECKED = 3


class CalibrationImages:
    """The images that int8 is calibrated on, as a network reads them; none of them may be scored.

    Args:
        calibrating: Gives the batches whose ranges are measured, each time it is called.
        checking: Gives the batches on which answers are compared.
        described: Where the images are from, in words.

    Attributes:
        count: The number of images that calibrate.
        key: A digest of these.

    >>> read = lambda: iter([{"pixel_values": torch.ones(4, 3, 2, 2)}])
    >>> images = CalibrationImages(read, read, "photos")
    >>> images.count
    4
    >>> images.check_unscored({"pixel_values": torch.ones(1, 3, 2, 2)})
    Traceback (most recent call last):
    oochub.errors.OochubError: An image that is scored is also one of photos, which int8 is calibrated on. Name \
other images by calibrate_on=.
    """

    def __init__(
        self, calibrating: Callable[[], Iterator[Inputs]], checking: Callable[[], Iterator[Inputs]], described: str
    ) -> None:
        self.calibrating, self.checking, self.described = calibrating, checking, described
        self.count = 0
        digest = hashlib.sha256()
        self._digests: dict[int, set[bytes]] = {}
        for batches, is_calibrating in ((calibrating(), True), (checking(), False)):
            for row in (row for batch in batches for row in _list_rows(batch)):
                own = _digest_row(row)
                self._digests.setdefault(_sum_bits(row), set()).add(own)
                if is_calibrating:
                    self.count += 1
                    digest.update(own)
        self.key = digest.hexdigest()

    def check_unscored(self, inputs: Inputs) -> None:
        """Refuses a batch of rows that are scored, if one of them is among these images.

        Raises:
            OochubError: One is, pixel by pixel.
        """
        for row in _list_rows(inputs):
            digests = self._digests.get(_sum_bits(row))
            if digests and _digest_row(row) in digests:
                raise OochubError(
                    f"An image that is scored is also one of {self.described}, which int8 is calibrated on. Name other "
                    f"images by {choose_wording('calibrate_on=')}."
                )


def quantize(model: bytes, batches: Iterator[Mapping[str, NDArray[np.generic]]]) -> bytes:
    """A network of ONNX with nodes that quantize and dequantize, which both runtimes compute in int8.

    Args:
        model: Content of its file, in float32.
        batches: Inputs by name, each of the shape that the network takes.

    Raises:
        Exception: ONNX Runtime cannot quantize it; the class is its own.
    """
    import_onnxruntime()
    from onnxruntime import quantization

    class Reader(quantization.CalibrationDataReader):  # type: ignore[misc]
        def get_next(self) -> Mapping[str, NDArray[np.generic]] | None:
            return next(batches, None)

    with make_scratch_folder() as folder:
        plain, prepared, quantized = (folder / f"{name}.onnx" for name in ("plain", "prepared", "int8"))
        plain.write_bytes(model)
        quantization.shape_inference.quant_pre_process(plain, prepared, skip_symbolic_shape=True)
        quantization.quantize_static(
            prepared,
            quantized,
            Reader(),
            per_channel=True,
            activation_type=quantization.QuantType.QUInt8,
            weight_type=quantization.QuantType.QInt8,
            reduce_range=needs_reduced_range(),
            extra_options={"CalibMovingAverage": True},
        )
        return _free_outputs(quantized.read_bytes())


def _free_outputs(model: bytes) -> bytes:
    """The network with logits and features that are not quantized: that would cut off those beyond the range seen."""
    import onnx

    proto = onnx.load_from_string(model)
    nodes = proto.graph.node
    for output in [tensor.name for tensor in proto.graph.output]:
        makers = {name: node for node in nodes for name in node.output}
        last = makers.get(output)
        first = makers.get(last.input[0]) if last is not None and last.op_type == "DequantizeLinear" else None
        if last is None or first is None or first.op_type != "QuantizeLinear" or first.input[0] not in makers:
            continue
        exact, rounded = first.input[0], f"{output}_dequantized"
        last.output[0] = rounded
        for node in nodes:
            names = {output: rounded, exact: output}
            node.input[:] = [names.get(name, name) for name in node.input]
        maker = makers[exact]
        maker.output[:] = [output if name == exact else name for name in maker.output]
        for node in (last, first):
            if not any(name in user.input for user in nodes for name in node.output):
                nodes.remove(node)
    content: bytes = proto.SerializeToString()
    return content


def needs_reduced_range() -> bool:
    """Whether weights take 7 bits, since this processor adds products of int8 in 16 bits, which may overflow."""
    if not hasattr(torch.cpu, "get_capabilities"):
        return True  # older versions of torch do not say
    has = torch.cpu.get_capabilities()
    return has.get("architecture") == "x86_64" and not any(has.get(feature) for feature in _FACTORS)


class Agreement(NamedTuple):
    """How far a network in int8 is from itself in float32, on images that it was not calibrated on.

    Attributes:
        difference: The largest difference of a logit, as a share of the range of all in float32.
        differ: Images whose most likely class is another.
        n: Images that were compared.
    """

    difference: float
    differ: int
    n: int

    def describe(self, *, has_classes: bool) -> str:
        """In words: "logits within 8.20% of their range, 3 of 64 answers differ (4.7%, 95% interval 1.6 to 12.9%)".

        Args:
            has_classes: Whether the largest logit is the answer.

        >>> Agreement(0.082, 3, 64).describe(has_classes=True)
        'logits within 8.20% of their range, 3 of 64 answers differ (4.7%, 95% interval 1.6% to 12.9%)'
        """
        words = f"logits within {self.difference:.2%} of their range"
        if not has_classes:
            return f"{words} on {self.n} images"
        share = wilson(self.differ, self.n)
        interval = f"{share.value:.1%}, 95% interval {share.low:.1%} to {share.high:.1%}"
        return f"{words}, {self.differ} of {self.n} answers differ ({interval})"


def measure_agreement(
    quantized: Callable[..., torch.Tensor], network: Callable[..., torch.Tensor], batches: Iterator[Inputs]
) -> Agreement:
    """How far a network in int8 is from itself in float32.

    Args:
        quantized: From inputs by name to logits (b, c).
        network: The same in float32.
        batches: Inputs of images that it was not calibrated on, at least one.

    >>> batch = {"values": torch.tensor([[0.0, 1.0], [0.3, 0.4]])}
    >>> measure_agreement(lambda values: values.round(), lambda values: values, iter([batch]))
    Agreement(difference=0.4000000059604645, differ=1, n=2)
    """
    pairs = [(quantized(**batch), network(**batch)) for batch in batches]
    logits, reference = (torch.cat(tensors).float() for tensors in zip(*pairs, strict=True))
    differ = int((logits.argmax(1) != reference.argmax(1)).sum())
    return Agreement(logit_difference(logits, reference), differ, len(logits))


def _list_rows(inputs: Inputs) -> list[list[torch.Tensor]]:
    """The inputs row by row."""
    return [list(row) for row in zip(*(inputs[name].cpu() for name in sorted(inputs)), strict=True)]


def _sum_bits(row: list[torch.Tensor]) -> int:
    """A number that is the same for the same row, faster than a digest."""
    words = (torch.int32 if tensor.element_size() % 4 == 0 else torch.uint8 for tensor in row)
    return sum(
        int(tensor.contiguous().view(word).sum(dtype=torch.int64)) for tensor, word in zip(row, words, strict=True)
    )


def _digest_row(row: list[torch.Tensor]) -> bytes:
    return hashlib.sha256(b"".join(tensor.contiguous().numpy().tobytes() for tensor in row)).digest()


@dataclass(frozen=True)
class CalibrationRows:
    """Rows to calibrate on, and rows to compare answers on.

    Attributes:
        rows: All of them, in the order in which they were drawn.
        described: Where they are from: "the split train".
    """

    rows: datasets.Dataset
    described: str

    @property
    def digest(self) -> str:
        """A digest of the images, for a cache key."""
        column = self.rows.column_names[0]
        stored = self.rows.cast_column(column, datasets.Image(decode=False))[column]
        digests = (hashlib.sha256(image["bytes"] or Path(image["path"]).read_bytes()).digest() for image in stored)
        return hashlib.sha256(b"".join(digests)).hexdigest()

    def open(self, read: Callable[..., Iterator[InputBatch]]) -> CalibrationImages:
        """The images as the network reads them.

        Args:
            read: Gives the batches of a Dataset.

        Raises:
            OochubError: An image that cannot be read.
        """
        count = len(self.rows)
        cut = count - count // _CHECKED

        def list_batches(first: int, end: int) -> Iterator[Inputs]:
            return (batch.inputs for batch in read(self.rows.select(range(first, end))))

        both = partial(list_batches, 0, cut), partial(list_batches, cut, count)
        return CalibrationImages(*both, self.described)


def choose_calibration_rows(wanted: object, data: object, scored: Mapping[str, object], column: str) -> CalibrationRows:
    """Draws the rows that int8 is calibrated on, before a model is opened.

    Args:
        wanted: The name of a split, a folder of images, or a Dataset.
        data: The data set, with the splits that are not scored.
        scored: The splits that are scored, by name.
        column: Column of their images.

    Raises:
        OochubError: A split that is scored, no such split or folder, fewer than three images, a Dataset without one
            column of images, an image file that is scored.

    >>> pictures = [Pictures.new("RGB", (4, 4), (k, k, k)) for k in range(8)]
    >>> part = datasets.Dataset.from_dict({"image": pictures}, datasets.Features({"image": datasets.Image()}))
    >>> data = datasets.DatasetDict(train=part, test=part.select([0]))
    >>> choose_calibration_rows("train", data, {"test": data["test"]}, "image").described
    'the split train'
    >>> choose_calibration_rows("test", data, {"test": data["test"]}, "image")
    Traceback (most recent call last):
    oochub.errors.OochubError: calibrate_on="test": this split is evaluated, so it cannot be used for calibration.
    Choose one that is not: train.
    """
    option = _name_option(wanted)
    if isinstance(wanted, datasets.Dataset):
        rows, described = wanted, f"the {len(wanted)} rows of calibrate_on"
    elif not isinstance(wanted, str | os.PathLike):
        raise OochubError(
            f"{option} takes a split, a folder of images or a datasets.Dataset, got a {type(wanted).__name__}."
        )
    elif isinstance(data, Mapping) and wanted in data:
        if wanted in scored:
            others = ", ".join(name for name in data if name not in scored)
            hint = f"Choose one that is not: {others}." if others else "Pass a folder of other images."
            raise OochubError(f"{option}: this split is evaluated, so it cannot be used for calibration. {hint}")
        rows, described = data[wanted], f"the split {wanted}"
    else:
        rows, described = _open_folder(Path(wanted).expanduser(), option, data), f"the folder {Path(wanted).name}"
    images = _find_images(rows, column, option)
    if len(images) < _CHECKED:
        raise OochubError(f"{option}: int8 needs at least {_CHECKED} images, got {len(images)}.")
    drawn = np.random.default_rng(0).permutation(len(images))[:_MOST]
    chosen = CalibrationRows(images.select(drawn), described)
    _check_unscored(chosen.rows, scored, column, option)
    return chosen


def _name_option(wanted: object) -> str:
    value = f'"{wanted}"' if isinstance(wanted, str | os.PathLike) else ""
    return choose_wording(f"calibrate_on={value}", f"--calibrate-on {wanted}")


def _open_folder(folder: Path, option: str, data: object) -> datasets.Dataset:
    """The image files at any depth, in the order of their paths.

    Raises:
        OochubError: No folder, or one without images.
    """
    if not folder.is_dir():
        splits = list(data) if isinstance(data, Mapping) else []
        listed = f" (splits: {', '.join(splits)})" if splits else ""
        raise OochubError(
            f"{option} is neither a split of the data{listed} nor a folder.{did_you_mean(str(folder), splits)} Name a "
            "split that is not scored, or a folder of images."
        )
    endings = {ending for ending, kind in Pictures.registered_extensions().items() if kind in Pictures.OPEN}
    files = sorted(str(file) for file in folder.rglob("*") if file.suffix.lower() in endings and file.is_file())
    if not files:
        raise OochubError(f"{option}: the folder contains no images.")
    return datasets.Dataset.from_dict({"image": files}, datasets.Features({"image": datasets.Image()}))


def _find_images(rows: object, column: str, option: str) -> datasets.Dataset:
    """The rows with their one column of images alone, under the name of the column that is read.

    Raises:
        OochubError: A stream, no column of images, or several.
    """
    if not isinstance(rows, datasets.Dataset):
        raise OochubError(f"{option}: rows to calibrate on are drawn by number, and a stream has none. Pass a folder.")
    images = [name for name, feature in rows.features.items() if isinstance(feature, datasets.Image)]
    if column not in images and len(images) != 1:
        lack = f"has {', '.join(images)}" if images else f"has none, only {', '.join(rows.column_names)}"
        raise OochubError(f"{option} must have one column of images, but it {lack}.")
    own = column if column in images else images[0]
    only = rows.select_columns([own])
    return only if own == column else only.rename_column(own, column)


def _check_unscored(rows: datasets.Dataset, scored: Mapping[str, object], column: str, option: str) -> None:
    """Refuses files that are scored by their paths, before any image is read; pixels are compared later.

    Raises:
        OochubError: An image file of the rows is one that is scored.
    """
    own = set(_list_paths(rows, rows.column_names[0]))
    for split, part in scored.items():
        both = own.intersection(_list_paths(part, column)) if isinstance(part, datasets.Dataset) else set()
        if both:
            raise OochubError(
                f"{option}: {len(both)} of the images drawn from it are scored in the split {split}, such as "
                f"{Path(min(both)).name}. Name images that are not."
            )


def _list_paths(part: datasets.Dataset, column: str) -> list[str]:
    """The real paths of the image files of a split; none for rows that hold their images."""
    if not isinstance(part.features.get(column), datasets.Image):
        return []
    stored = part.cast_column(column, datasets.Image(decode=False)).select_columns([column]).flatten()
    table = stored.with_format("arrow")[:]
    pairs = zip(table.column(f"{column}.path").to_pylist(), table.column(f"{column}.bytes"), strict=True)
    return [os.path.realpath(path) for path, content in pairs if path and not content.is_valid]
