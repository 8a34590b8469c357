"""Images as a model sees them, with the map of its answer and the mask of the object in the same pixels."""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import datasets
import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from oochub.attention.smooth_grad_cam import SmoothGradCam
from oochub.errors import OochubError
from oochub.input import Input
from oochub.inputs.pictures.preprocessing import decode
from oochub.inputs.pictures.stored_pictures import keep_encoded, read_picture_bytes
from oochub.models.mode import PredictedData, choose_mode
from oochub.models.model_source import ModelSource
from oochub.prediction.predictions import Predictions
from oochub.process.follow import follow

_BATCH = 8


class SeenMap(NamedTuple):
    """`picture` uint8 (h, w, 3), `map` float32 (h, w) in [0, 1], `mask` (h, w) or None."""

    picture: NDArray[np.uint8]
    map: NDArray[np.float32]
    mask: NDArray[np.bool_] | None


def make_seen_maps(
    model: Any,
    part: datasets.Dataset,
    splits: Mapping[str, Any],
    predictions: Predictions,
    *,
    device: torch.device,
    mask: Callable[[str, tuple[int, int]], NDArray[np.bool_]] | None,
    mode: str = "auto",
    processor: Any = None,
    cache: bool = True,
    settings: Mapping[str, Any],
    **saliency: Any,
) -> Iterator[SeenMap]:
    """The map of each row for the class that the model answered with.

    Images and masks go through the model's own preprocessing; what it makes of black and of white says which gray
    level a value stands for.

    Args:
        model: Folder or Hub id, or the model itself.
        part: The rows, with `example_id` and `image`.
        splits: All splits of the data set.
        predictions: The model's predictions for these rows, in their order.
        device: Device that the model runs on.
        mask: Gives the mask of an example from its id and the (width, height) of its image; None for none.
        mode: See `oochub.predict`; so are `processor` and `cache`.
        processor: See there.
        cache: See there.
        settings: Settings of the mode.
        saliency: Settings of `SmoothGradCam`.

    Raises:
        OochubError: A mask of another size than its image; what opening the model and `SmoothGradCam` raise.
    """
    source = ModelSource(model)
    way = str(predictions.metadata.provenance.get("preprocessing", "auto"))
    chosen = choose_mode(source, mode, settings, part)
    if not chosen.is_one_pass:
        raise OochubError(
            f"The mode {chosen.__module__.rpartition('.')[2]} scores words, and no layer of one pass says where it "
            "looks. Use --probe background of oochub audit, which alters the images."
        )
    inputs = source.inputs(part, processor=processor, preprocessing=way)
    data = PredictedData(part, splits, device, _BATCH, cache)
    opened = chosen(source, inputs, data, **settings)
    probe = {name: values.to(device) for name, values in inputs.probe().items()}
    saliency_of = SmoothGradCam(opened.network, probe, **saliency)
    black, white = _find_extremes(inputs, device)
    answers = torch.from_numpy(predictions.prediction.astype(np.int64))
    ids, start = part["example_id"][:], 0
    pictures = part.select_columns(["image"])
    files = keep_encoded(pictures)
    with follow(total=len(part), desc=f"Mapping {predictions.metadata.model.id}", unit=" image", disable=None) as bar:
        for batch in inputs.batches(pictures, batch_size=_BATCH, device=device):
            count = len(batch.inputs["pixel_values"])
            maps = saliency_of(batch.inputs, answers[start : start + count]).cpu().numpy()
            levels = _compute_gray_levels(batch.inputs["pixel_values"], black, white)
            for place, name in enumerate(ids[start : start + count]):
                own = None
                if mask is not None:
                    size = decode(read_picture_bytes(files[start + place]["image"], name), name).size
                    own = _fit_mask(mask(name, size), size, name, inputs, black, white)
                yield SeenMap((255 * levels[place]).round().astype(np.uint8), maps[place], own)
            start += count
            bar.update(count)


def _convert_to_pictures(images: Sequence[Image.Image]) -> datasets.Dataset:
    files = []
    for image in images:
        file = io.BytesIO()
        image.save(file, "PNG")
        files.append({"bytes": file.getvalue(), "path": None})
    return datasets.Dataset.from_dict({"image": files}, datasets.Features({"image": datasets.Image()}))


def _process(inputs: Input, images: Sequence[Image.Image], device: torch.device) -> torch.Tensor:
    (batch,) = inputs.batches(_convert_to_pictures(images), batch_size=len(images), device=device)
    return batch.inputs["pixel_values"]


def _find_extremes(inputs: Input, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """What the preprocessing makes of black and of white, (3, 1, 1) each."""
    both = _process(inputs, [Image.new("RGB", (64, 64), color) for color in ("black", "white")], device)
    middle = both[:, :, both.shape[2] // 2, both.shape[3] // 2, None, None]
    return middle[0], middle[1]


def _compute_gray_levels(pixels: torch.Tensor, black: torch.Tensor, white: torch.Tensor) -> NDArray[np.float32]:
    """Gray levels (b, h, w, 3) in [0, 1] of what a model is called with."""
    levels: NDArray[np.float32] = ((pixels - black) / (white - black)).clamp(0, 1).movedim(1, -1).cpu().numpy()
    return levels


def _fit_mask(
    mask: NDArray[np.bool_],
    size: tuple[int, int],
    name: str,
    inputs: Input,
    black: torch.Tensor,
    white: torch.Tensor,
) -> NDArray[np.bool_]:
    """The mask in the pixels that the model sees."""
    if mask.shape[::-1] != size:
        raise OochubError(
            f"The mask of {name} is {mask.shape[1]} x {mask.shape[0]} pixels, its image {size[0]} x {size[1]}. Pass "
            "masks of the images as they are stored."
        )
    image = Image.fromarray(mask).convert("RGB")
    levels = _compute_gray_levels(_process(inputs, [image], black.device), black, white)[0]
    fitted: NDArray[np.bool_] = levels.mean(-1) >= 0.5
    return fitted
