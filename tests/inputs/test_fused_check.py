"""preprocessing="auto": the fused path where it gives what the processor does, the processor where it does not."""

import io
import math
from functools import partial
from itertools import count
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from datasets import ClassLabel, Dataset, Features
from datasets import Image as ImageFeature
from input_rows import encoded, photograph
from PIL import Image

import oochub
from oochub.errors import OochubError
from oochub.inputs.pictures.preprocessing import FusedCheck, Preprocessing, check_fused, normalize

CPU = torch.device("cpu")
SHAPES = ((60, 45), (60, 45), (45, 60), (80, 40), (33, 33), (60, 45), (50, 40), (90, 70), (45, 61), (70, 41), (64, 48))


class OtherMean(transformers.ViTImageProcessorPil):
    """Says one mean and takes another, 0.02 (5 of 255 levels) away."""

    def __call__(self, images: Any, **options: Any) -> Any:
        return super().__call__(images, image_mean=[mean + 0.02 for mean in self.image_mean], **options)


class OtherSize(transformers.ViTImageProcessorPil):
    """Gives images of another size than it says."""

    def __call__(self, images: Any, **options: Any) -> Any:
        return super().__call__(images, size={"height": 16, "width": 32}, **options)


def rows(*files: bytes) -> Dataset:
    files = files or tuple(encoded(photograph(*shape, seed=seed)) for seed, shape in enumerate(SHAPES))
    features = Features({"image": ImageFeature(), "label": ClassLabel(names=["LABEL_0", "LABEL_1"])})
    images = [{"bytes": content, "path": None} for content in files]
    return Dataset.from_dict({"image": images, "label": [k % 2 for k in range(len(files))]}, features)


def model() -> Any:
    torch.manual_seed(0)
    config = transformers.ResNetConfig(embedding_size=8, hidden_sizes=[8], depths=[1], layer_type="basic")
    return transformers.ResNetForImageClassification(config).eval()


def predicted(processor: Any, preprocessing: str, **options: Any) -> Any:
    return oochub.predict(model(), rows(), image_processor=processor, preprocessing=preprocessing, **options)


CROPPED = transformers.BitImageProcessorPil(size={"shortest_edge": 36}, crop_size={"height": 32, "width": 32})
PLAIN = transformers.ViTImageProcessorPil(size={"height": 32, "width": 32})


@pytest.mark.parametrize("processor", [CROPPED, PLAIN], ids=["cropped", "plain"])
def test_where_both_agree_the_fused_path_is_taken_to_the_bit(processor):
    """Reference: preprocessing="fused". Fault planted: `settle` always takes the processor."""
    found, fused = predicted(processor, "auto"), predicted(processor, "fused")
    assert np.array_equal(found.logits, fused.logits)
    said = found.metadata.provenance
    assert said["preprocessing"] == "fused" and said["preprocessing_check"].endswith("8 images and 2 of noise")
    assert "preprocessing_check" not in fused.metadata.provenance


@pytest.mark.parametrize("processor", [OtherMean, OtherSize])
def test_a_processor_that_does_not_what_it_says_is_taken_itself(processor):
    """Reference: preprocessing="processor". Fault planted: pixels are not compared."""
    other = processor(size={"height": 32, "width": 32})
    found, own = predicted(other, "auto"), predicted(other, "processor")
    assert np.array_equal(found.logits, own.logits)
    assert not np.allclose(found.logits, predicted(other, "fused").logits, atol=1e-3)
    said = found.metadata.provenance
    assert said["preprocessing"] == "processor" and said["preprocessing_check"].startswith("fused: ")


def test_a_shifted_crop_is_noticed(monkeypatch):
    """Fault planted: the fused path crops one pixel too far to the left."""
    fitted = Preprocessing.fitted
    assert predicted(CROPPED, "auto").metadata.provenance["preprocessing"] == "fused"
    monkeypatch.setattr(Preprocessing, "fitted", lambda self, *a: np.roll(fitted(self, *a), 1, axis=1))
    found = predicted(CROPPED, "auto")
    assert found.metadata.provenance["preprocessing"] == "processor"
    assert np.array_equal(found.logits, predicted(CROPPED, "processor").logits)


def test_a_processor_without_a_fused_path_is_taken_without_a_word():
    processor = transformers.ViTImageProcessorPil(size={"height": 32, "width": 32}, do_pad=True, pad_size=None)
    with pytest.raises(OochubError, match='preprocessing="processor"'):
        predicted(processor, "fused")
    found = predicted(processor, "auto")
    assert np.array_equal(found.logits, predicted(processor, "processor").logits)
    assert found.metadata.provenance["preprocessing"] == "processor"


def own_pixels(picture: Image.Image) -> dict[str, torch.Tensor]:
    return dict(CROPPED(picture, return_tensors="pt"))


def off_by(levels: float, picture: Image.Image) -> dict[str, torch.Tensor]:
    gray = levels / 255 / torch.tensor(CROPPED.image_std).view(1, 3, 1, 1)
    return {"pixel_values": own_pixels(picture)["pixel_values"] + gray}


def checked(network: Any, part: Any, processed: Any = own_pixels) -> FusedCheck:
    fused = Preprocessing.from_processor(CROPPED)
    return check_fused(fused, processed, network, part, batch_size=3, device=CPU)


def test_levels_are_those_of_a_loop():
    """Reference: the largest difference of one image after the other, in gray levels, by Python's own numbers."""
    seen: list[Image.Image] = []

    def shifted(picture: Image.Image) -> dict[str, torch.Tensor]:
        seen.append(picture)
        return off_by((len(seen) - 1) / 20, picture)  # 0, 0.05, ... gray levels

    found = checked(lambda pixel_values: SimpleNamespace(logits=pixel_values.mean((2, 3))), rows(), shifted)
    fused, worst = Preprocessing.from_processor(CROPPED), 0.0
    for place, picture in enumerate(seen):
        ours = normalize(torch.from_numpy(fused.fitted(picture)[None].copy()), fused)[0]
        theirs = own_pixels(picture)["pixel_values"][0]
        for channel, std in enumerate(CROPPED.image_std):
            worst = max(worst, ((ours - theirs)[channel] * std * 255 - place / 20).abs().max().item())
    assert found.levels == pytest.approx(worst, abs=1e-3) and found.levels > 0.4
    assert [picture.size for picture in seen[:8]] == list(dict.fromkeys(SHAPES))[:8], "not of different shapes"


def test_pixels_decide_too():
    """A network that hardly looks is not given pixels that are off by two levels. Planted: only logits decide."""
    network = lambda pixel_values: SimpleNamespace(logits=pixel_values.mean((2, 3)) + torch.arange(3) * 50)  # noqa: E731
    found = checked(network, rows(), partial(off_by, 2))
    assert 1.5 < found.levels < 4 and found.logits < 0.02 and not found.holds


def test_logits_decide_too():
    """A network that makes much of little is not given pixels that differ a little. Planted: only pixels decide."""
    calls = count()
    answers = [0.0] * 4 + [1.0] * 4  # four passes of each way, three rows at most
    jumpy = checked(
        lambda pixel_values: SimpleNamespace(
            logits=torch.tensor([[0.0, 9.0 + answers[next(calls)]]]).expand(len(pixel_values), 2)
        ),
        rows(),
    )
    assert jumpy.levels <= 1.01 and jumpy.logits == pytest.approx(0.1) and not jumpy.holds
    nan = checked(lambda pixel_values: SimpleNamespace(logits=torch.full((len(pixel_values), 2), math.nan)), rows())
    assert not nan.holds


class Passes:
    """A network that counts its rows, and says something else of the ten that come second."""

    def __init__(self, step: float = 0.0) -> None:
        self.rows, self.step = 0, step

    def __call__(self, pixel_values: torch.Tensor) -> Any:
        logits = torch.tensor([[0.0, 9.0 + self.step * (self.rows % 20 >= 10)]])
        self.rows += len(pixel_values)
        return SimpleNamespace(logits=logits.expand(len(pixel_values), 2))


class Remembering(Passes):
    """One of which every measurement is kept that may be."""

    def __init__(self, step: float = 0.0) -> None:
        super().__init__(step)
        self.kept: list[Any] = []

    def measure_once(self, about: Any, measure: Any, *, holds: Any) -> tuple[Any, bool]:
        if self.kept:
            return self.kept[0], True
        value = measure()
        self.kept += [value] if holds(value) else []
        return value, False


def test_equal_pixels_need_no_pass():
    """Of a processor with one resize both are equal but for float32. Planted: passes over equal pixels."""
    network, fused = Passes(), Preprocessing.from_processor(PLAIN)
    found = check_fused(
        fused, lambda each: dict(PLAIN(each, return_tensors="pt")), network, rows(), batch_size=3, device=CPU
    )
    assert network.rows == 0 and found.holds and 0 <= found.levels < 1e-4
    assert str(found) == "fused: equal pixels on 8 images and 2 of noise"


def test_logits_are_measured_once_for_a_network():
    """But pixels each time, and what is near the bound is measured again. Planted: pixels that are remembered too."""
    network = Remembering()
    first, again = checked(network, rows()), checked(network, rows())
    assert network.rows == 20 and (first.is_earlier, again.is_earlier) == (False, True)
    assert str(again) == (
        f"fused: pixels within {again.levels:.2f} gray levels on 8 images and 2 of noise; logits within 0.00% of their "
        "range on those of an earlier run"
    )
    far = checked(network, rows(), partial(off_by, 2))
    assert not far.is_earlier and far.levels > 1.5 and not far.holds
    near = Remembering(0.15)
    assert 0.01 < checked(near, rows()).logits < 0.02 and not checked(near, rows()).is_earlier


def test_pictures_that_cannot_be_read_are_passed_over_and_streams_are_read():
    still = lambda pixel_values: SimpleNamespace(logits=pixel_values.mean((2, 3)))  # noqa: E731
    good = [encoded(photograph(40, 30, seed)) for seed in range(3)]
    found = checked(still, rows(b"", good[0][:300], *good, b"no picture"))
    assert found.pictures == 3 and found.holds
    assert checked(still, rows(b"")).pictures == 0
    assert checked(still, rows(*good).to_iterable_dataset()).pictures == 3


LARGE = ((400, 300), (300, 500), (60, 45), (150, 140))  # three that a decoder may shrink, for 32 pixels, and one


def drafted(content: bytes) -> Image.Image:
    """By Pillow alone: the decoder shrinks to a half, a quarter or an eighth, and no side falls below its target."""
    picture = Image.open(io.BytesIO(content))
    short = min(picture.size)
    if short >= 4 * 36:
        picture.draft("RGB", tuple(2 * 36 * side // short for side in picture.size))
    return picture.convert("RGB")


def test_a_draft_is_what_the_decoder_shrinks_and_its_error_is_measured():
    """References: Pillow's own draft; the processor on whole images. A draft that is far off is used, and it is said.

    Planted faults seen: nothing is shrunk; the check on images that are not; the processor in place of the draft.
    """
    files = [encoded(photograph(*shape, seed), "JPEG", quality=90) for seed, shape in enumerate(LARGE)]
    network, data = model(), rows(*files)
    ways = {
        way: oochub.predict(network, data, image_processor=CROPPED, preprocessing=way, cache=False)
        for way in ("draft", "processor", "fused")
    }
    said = ways["draft"].metadata.provenance
    assert said["preprocessing"] == "draft" and "preprocessing_check" not in ways["fused"].metadata.provenance
    small = [drafted(content) for content in files]
    assert [each.size for each in small] != [Image.open(io.BytesIO(content)).size for content in files]
    own = [Image.open(io.BytesIO(content)).convert("RGB") for content in files]
    seen, whole = (torch.cat([own_pixels(each)["pixel_values"] for each in images]) for images in (small, own))
    with torch.inference_mode():
        wanted = network(pixel_values=seen).logits.numpy()
    assert np.abs(ways["draft"].logits - wanted).max() < 0.02 * np.ptp(wanted)
    levels = ((seen - whole).abs() * torch.tensor(CROPPED.image_std).view(1, 3, 1, 1) * 255).amax().item()
    measured = float(said["preprocessing_check"].removeprefix("draft: pixels within ").partition(" gray")[0])
    assert levels > 3 and measured == pytest.approx(levels, abs=1.5)
    assert not np.allclose(ways["draft"].logits, ways["processor"].logits, atol=1e-3)
    (note,) = [note for note in ways["draft"].metadata.notes if "smaller size" in note]
    assert note.endswith(said["preprocessing_check"]) and "4 images and 2 of noise" in note
    row = 2  # too small to shrink
    assert np.array_equal(ways["draft"].logits[row], ways["fused"].logits[row])


def test_a_draft_is_not_zoomed_into():
    with pytest.raises(OochubError, match="needs full-resolution images, which draft preprocessing does not decode"):
        predicted(CROPPED, "draft", zoom=1.2)
    with pytest.raises(OochubError, match='preprocessing="processor"'):
        padded = transformers.ViTImageProcessorPil(size={"height": 32, "width": 32}, do_pad=True, pad_size=None)
        predicted(padded, "draft")
