"""Images: the pixels against transformers' own processors and a literal resize and crop; errors name the image."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from datasets import Dataset, Features, Value
from datasets import Image as ImageFeature
from input_rows import ROWS, encoded, photograph
from PIL import Image

from oochub.errors import OochubError
from oochub.inputs.pictures.image_threads import cache_pixels, read_batches
from oochub.inputs.pictures.preprocessing import Normalizer, Preprocessing, decode, decode_mask, normalize

SHAPES = [(500, 375), (375, 500), (333, 251), (301, 1200), (64, 48), (97, 101), (640, 427), (224, 224)]


def example() -> tuple[Any, list[Any], Any]:
    """See `input_rows.example_of`."""
    files = [{"bytes": encoded(photograph(20, 16, k)), "path": None} for k in range(ROWS)]
    return ImageFeature(), files, transformers.ViTImageProcessorPil(size={"height": 16, "width": 16})


PROCESSORS = {
    "vit": transformers.ViTImageProcessorPil(),
    "bit": transformers.BitImageProcessorPil(size={"shortest_edge": 256}),
    "bit_48": transformers.BitImageProcessorPil(size={"shortest_edge": 51}, crop_size={"height": 48, "width": 48}),
    "clip": transformers.CLIPImageProcessorPil(),
    "convnext_224": transformers.ConvNextImageProcessorPil(size={"shortest_edge": 224}, crop_pct=0.875),
    "convnext_384": transformers.ConvNextImageProcessorPil(size={"shortest_edge": 384}),
    "levit": transformers.LevitImageProcessorPil(),
    "beit": transformers.BeitImageProcessorPil(),
    "pvt": transformers.PvtImageProcessorPil(),
    "mobilenet_v1": transformers.MobileNetV1ImageProcessorPil(),
    "unscaled": transformers.ViTImageProcessorPil(do_rescale=False, do_normalize=False, resample=2),
}


EVERYDAY = ("vit", "bit_48", "convnext_384", "unscaled")  # a square, a cut, one that enlarges, whole numbers


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in EVERYDAY else pytest.mark.slow) for name in PROCESSORS]
)
def test_equals_the_processor(name: str, tmp_path: Path) -> None:
    """Reference: the processor itself, after it was saved and loaded again.

    The fused resize rounds once less, so a pixel may differ by 1 of 255 levels; a planted shift of the crop by one
    pixel, or rounding its corner up, differs by more than 50 levels.
    """
    PROCESSORS[name].save_pretrained(tmp_path)
    processor = transformers.AutoImageProcessor.from_pretrained(tmp_path)
    preprocessing = Preprocessing.from_processor(processor)
    level = preprocessing.scale / min(preprocessing.std)
    for seed, shape in enumerate(SHAPES):
        picture = photograph(*shape, seed=seed)
        theirs = processor(picture, return_tensors="pt")["pixel_values"]
        pixels = torch.tensor(preprocessing.pixels(encoded(picture), "row 0")[None])
        ours = normalize(pixels, preprocessing)
        assert ours.dtype == torch.float32
        difference = (ours - theirs).abs()
        assert difference.max() <= level * 1.001 + 1e-5, shape
        assert difference.mean() <= 0.03 * level, shape  # the mean shows a systematic shift that 1 level would hide


def test_normalize_equals_the_processor_where_nothing_is_resized() -> None:
    """Without a resize only the arithmetic of floats is left: below 1e-5."""
    processor = PROCESSORS["vit"]
    picture = photograph(224, 224)
    theirs = processor(picture, return_tensors="pt")["pixel_values"]
    preprocessing = Preprocessing.from_processor(processor)
    ours = normalize(torch.from_numpy(np.asarray(picture)[None].copy()), preprocessing)
    assert (ours - theirs).abs().max() < 1e-5


def test_normalizer_equals_normalize_in_the_same_memory() -> None:
    preprocessing = Preprocessing.from_processor(PROCESSORS["vit"])
    normalizer = Normalizer(preprocessing)
    rng, places = np.random.default_rng(0), set()
    for count in (5, 3, 5):
        batch = torch.tensor(rng.integers(0, 256, (count, 224, 224, 3), np.uint8))
        found = normalizer(batch)
        places.add(found.data_ptr())
        assert torch.equal(found, normalize(batch, preprocessing))
    assert len(places) == 1


def two_steps(picture: Image.Image, shortest: int, crop: int, resample: int) -> np.ndarray:
    width, height = picture.size
    short, long = min(width, height), max(width, height)
    longer = int(shortest * long / short)
    size = (shortest, longer) if width <= height else (longer, shortest)
    resized = picture.resize(size, resample)
    left, top = (size[0] - crop) // 2, (size[1] - crop) // 2
    return np.asarray(resized.crop((left, top, left + crop, top + crop)))


@pytest.mark.parametrize("resample", [0, 1, 2, 3])
@pytest.mark.parametrize(
    ("resize", "crop"), [(59, 48), *(pytest.param(*size, marks=pytest.mark.slow) for size in ((256, 224), (272, 239)))]
)
def test_fused_resize_equals_resize_then_crop(resample: int, resize: int, crop: int) -> None:
    """Reference: Pillow's resize, then its crop, on wide, tall and square images, shrunk and enlarged."""
    for seed, shape in enumerate([(500, 375), (375, 500), (333, 251), (301, 1200), (64, 48), (320, 473), (420, 420)]):
        picture = photograph(*shape, seed=seed)
        preprocessing = Preprocessing(resize=resize, crop=(crop, crop), resample=resample)
        ours = preprocessing.pixels(encoded(picture), "row 0").astype(int)
        theirs = two_steps(picture, resize, crop, resample).astype(int)
        assert np.abs(ours - theirs).max() <= (resample != 0), shape


def test_draft_is_close_and_keeps_the_geometry() -> None:
    smooth = photograph(40, 30).resize((1600, 1200), 2)
    data = encoded(smooth, "JPEG", quality=95)
    exact, fast = (Preprocessing(resize=256, crop=(224, 224), draft=draft) for draft in (False, True))
    difference = np.abs(exact.pixels(data, "row 0").astype(int) - fast.pixels(data, "row 0"))
    assert difference.mean() < 1.5
    small = encoded(photograph(500, 375), "JPEG")  # short side below 4 x 256: draft changes nothing
    assert np.array_equal(exact.pixels(small, "row 0"), fast.pixels(small, "row 0"))


@pytest.mark.parametrize("name", ["efficientnet", "poolformer", "mobilevit", "pad", "no_resize", "longest", "no_crop"])
def test_unknown_geometry_points_to_the_processor(name: str) -> None:
    processor = {
        "efficientnet": lambda: transformers.EfficientNetImageProcessorPil(),
        "poolformer": lambda: transformers.PoolFormerImageProcessorPil(),
        "mobilevit": lambda: transformers.MobileViTImageProcessorPil(),
        "pad": lambda: transformers.ViTImageProcessorPil(do_pad=True),
        "no_resize": lambda: transformers.ViTImageProcessorPil(do_resize=False),
        "longest": lambda: transformers.ViTImageProcessorPil(size={"shortest_edge": 224, "longest_edge": 512}),
        "no_crop": lambda: transformers.BitImageProcessorPil(do_center_crop=False),
    }[name]()
    with pytest.raises(OochubError, match='preprocessing="processor"'):
        Preprocessing.from_processor(processor)


def test_a_crop_that_does_not_fit_is_refused() -> None:
    with pytest.raises(OochubError, match=r"crop of \(50, 48\) does not fit in images resized to 48"):
        Preprocessing(resize=48, crop=(50, 48))


@pytest.mark.parametrize("mode", ["L", "LA", "RGBA", "CMYK", "P", "1", "I;16"])
def test_every_mode_becomes_rgb(mode: str) -> None:
    """Reference: Pillow's convert; 16-bit grays by hand, since convert cuts them off at 255."""
    picture = photograph(20, 10)
    if mode == "I;16":
        gray = np.asarray(picture.convert("L")).astype(np.uint16) * 257
        source, expected = Image.fromarray(gray), picture.convert("L").convert("RGB")
    else:
        source = picture.convert(mode)
        expected = source.convert("RGB")
    data = encoded(source, "TIFF" if mode == "CMYK" else "PNG")
    found = decode(data, "row 0")
    assert found.mode == "RGB"
    assert np.array_equal(np.asarray(found), np.asarray(expected))


_RAMP = np.arange(20 * 10).reshape(10, 20)
_DEEP = {  # the format of the file, its pixels, and the gray levels by hand
    "16 bits in TIFF": ("TIFF", (_RAMP * 300).astype(np.uint16), _RAMP * 300 // 256),
    "16 bits, big-endian": ("TIFF", (_RAMP * 300).astype(">u2"), _RAMP * 300 // 256),
    "16 bits in PNG": ("PNG", (_RAMP * 300).astype(np.uint16), _RAMP * 300 // 256),
    "32 bits": ("TIFF", (_RAMP * 10**7).astype(np.int32), "whole numbers of 32 bits"),
    "floats": ("TIFF", _RAMP.astype(np.float32), "floats"),
    "floats up to 1": ("TIFF", (_RAMP / 200).astype(np.float32), "floats"),
    "CIELAB": ("TIFF", "LAB", "colors of CIELAB"),
}


@pytest.mark.parametrize("kind", _DEEP)
def test_pixels_of_more_than_a_byte_have_a_rule_or_are_refused(kind: str) -> None:
    """Never all white or all black. Faults planted: Pillow's own convert, which cuts off; floats times 255."""
    codec, pixels, expected = _DEEP[kind]
    image = Image.new("LAB", (20, 10), (120, 130, 140)) if isinstance(pixels, str) else Image.fromarray(pixels)
    data = encoded(image, codec)
    if isinstance(expected, str):
        with pytest.raises(OochubError, match=rf"row 0: its pixels are {expected}.*Save it as a PNG of 8 bits"):
            decode(data, "row 0")
        return
    found = np.asarray(decode(data, "row 0"))
    assert np.array_equal(found, np.repeat(expected[:, :, None], 3, axis=2))


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.int32, np.float32])
def test_a_mask_is_where_a_number_is_above_0(kind: type) -> None:
    """Numbers of things from 1 on, which the upper 8 of 16 bits lose. Fault planted: the mask decoded as an image."""
    numbers = (_RAMP % 3).astype(kind)
    assert np.array_equal(decode_mask(encoded(Image.fromarray(numbers), "TIFF"), "mask"), numbers > 0)


def test_exif_orientation_is_followed_as_datasets_does() -> None:
    """Reference: the Image feature of `datasets`."""
    picture = photograph(40, 24)
    exif = Image.Exif()
    exif[0x0112] = 6
    data = encoded(picture, "PNG", exif=exif)
    theirs = ImageFeature().decode_example({"bytes": data, "path": None})
    assert np.array_equal(np.asarray(decode(data, "row 0")), np.asarray(theirs))
    preprocessing = Preprocessing(resize=(12, 20))
    assert np.array_equal(preprocessing.pixels(data, "x"), np.asarray(theirs.resize((20, 12), 2)))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (encoded(photograph(300, 200), "JPEG")[:5000], "truncated"),
        (encoded(photograph(300, 200))[:5000], "truncated"),
        (b"", "no image"),
    ],
)
def test_a_broken_picture_is_named(data: bytes, message: str) -> None:
    with pytest.raises(OochubError, match=f"split test, example 0042: .*{message}"):
        decode(data, "split test, example 0042")


def dataset_of(pictures: list[bytes]) -> Dataset:
    rows = {
        "example_id": [f"id{i}" for i in range(len(pictures))],
        "image": [{"bytes": data, "path": None} for data in pictures],
        "label": list(range(len(pictures))),
    }
    return Dataset.from_dict(
        rows, Features({"example_id": Value("string"), "image": ImageFeature(), "label": Value("int64")})
    )


PREPROCESSING = Preprocessing(resize=20, crop=(16, 16))


@pytest.fixture(scope="module")
def pictures() -> list[bytes]:
    return [encoded(photograph(40, 30, seed=i)) for i in range(11)]


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("streaming", [False, True])
def test_batches_are_in_order_and_whole(pictures: list[bytes], workers: int, streaming: bool) -> None:
    dataset = dataset_of(pictures)
    source = dataset.to_iterable_dataset() if streaming else dataset.with_format("torch")
    found = list(read_batches(source, PREPROCESSING.pixels, batch_size=4, num_workers=workers))
    assert [len(batch.rows) for batch in found] == [4, 4, 3]
    assert np.concatenate([batch.rows for batch in found]).tolist() == list(range(11))
    assert [label for batch in found for label in batch.columns["label"]] == list(range(11))
    together = torch.cat([batch.pixels for batch in found])
    assert together.dtype == torch.uint8
    expected = np.stack([PREPROCESSING.pixels(data, "") for data in pictures])
    assert np.array_equal(together.numpy(), expected)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_broken_picture_among_many_is_named_without_a_worker_traceback(pictures: list[bytes], workers: int) -> None:
    broken = [*pictures[:9], pictures[9][:600], pictures[10]]
    with pytest.raises(OochubError, match=r"^example id9: cannot read the image"):
        list(read_batches(dataset_of(broken), PREPROCESSING.pixels, batch_size=4, num_workers=workers))


def test_pictures_by_path_and_missing_ones(tmp_path: Path, pictures: list[bytes]) -> None:
    (tmp_path / "a.png").write_bytes(pictures[0])
    features = Features({"image": ImageFeature()})
    paths = [str(tmp_path / "a.png"), str(tmp_path / "b.png")]
    dataset = Dataset.from_dict({"image": paths}, features)
    batch = next(read_batches(dataset.select([0]), PREPROCESSING.pixels, batch_size=2))
    assert np.array_equal(batch.pixels[0].numpy(), PREPROCESSING.pixels(pictures[0], ""))
    with pytest.raises(OochubError, match=r"example 1 \(.*/b\.png\): Cannot read .*b\.png"):
        list(read_batches(dataset, PREPROCESSING.pixels, batch_size=2))
    with pytest.raises(OochubError, match="no column 'image'"):
        list(read_batches(Dataset.from_dict({"x": [1]}), PREPROCESSING.pixels, batch_size=2))


def test_cache_equals_the_pixels_and_is_read_again(pictures: list[bytes], tmp_path: Path) -> None:
    dataset = dataset_of(pictures)
    cached = cache_pixels(dataset, PREPROCESSING, cache_dir=tmp_path)
    assert isinstance(cached, np.memmap)
    assert np.array_equal(cached, np.stack([PREPROCESSING.pixels(data, "") for data in pictures]))
    (file,) = tmp_path.glob("*.npy")
    before = file.stat().st_mtime_ns
    cache_pixels(dataset, PREPROCESSING, cache_dir=tmp_path)
    assert file.stat().st_mtime_ns == before
    cache_pixels(dataset.select([1, 0]), PREPROCESSING, cache_dir=tmp_path)  # another fingerprint
    other_mean = Preprocessing(resize=20, crop=(16, 16), mean=(0.5,) * 3)  # the same pixels
    cache_pixels(dataset, other_mean, cache_dir=tmp_path)
    assert len(list(tmp_path.glob("*.npy"))) == 2
    cache_pixels(dataset, Preprocessing(resize=21, crop=(16, 16)), cache_dir=tmp_path)
    assert len(list(tmp_path.glob("*.npy"))) == 3


@pytest.mark.slow
def test_cache_of_a_killed_process_is_written_anew(pictures: list[bytes], tmp_path: Path) -> None:
    """The process kills itself after its first batch; what it leaves is never taken for the cache."""
    dataset_of(pictures).save_to_disk(tmp_path / "data")
    script = (
        "import os, signal, sys\nimport oochub.inputs.pictures.image_threads as images\n"
        "from datasets import load_from_disk\nfrom oochub.inputs.pictures.preprocessing import Preprocessing\n"
        "real = images.read_batches\n"
        "def dying(*a, **k):\n"
        "    yield next(real(*a, **k | {'batch_size': 4}))\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "images.read_batches = dying\n"
        "p = Preprocessing(resize=20, crop=(16, 16))\n"
        "images.cache_pixels(load_from_disk(sys.argv[1] + '/data'), p, cache_dir=sys.argv[1] + '/cache')\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], check=False, env=os.environ | {"HF_HUB_OFFLINE": "1"}
    )
    assert run.returncode == -9
    assert list((tmp_path / "cache").glob(".*.npy")), "the kill came too early to leave a draft"
    from datasets import load_from_disk

    cached = cache_pixels(load_from_disk(tmp_path / "data"), PREPROCESSING, cache_dir=tmp_path / "cache")
    assert np.array_equal(cached, np.stack([PREPROCESSING.pixels(data, "") for data in pictures]))
    assert not list((tmp_path / "cache").glob(".*.npy"))
