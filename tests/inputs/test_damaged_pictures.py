"""Damaged and odd images of each format: the fused path and the processor agree, and who is left out is counted."""

import struct
import zlib
from functools import cache

import datasets
import numpy as np
import pytest
import torch
import transformers
from input_rows import encoded
from PIL import Image

import oochub
from oochub.errors import OochubError

_NAMES = ["LABEL_0", "LABEL_1"]
_FEATURES = datasets.Features(
    {"example_id": datasets.Value("string"), "image": datasets.Image(), "label": datasets.ClassLabel(names=_NAMES)}
)
_PROCESSOR = transformers.BitImageProcessorPil(size={"shortest_edge": 36}, crop_size={"height": 32, "width": 32})


def _noise(*shape, dtype=np.uint8):
    return np.random.default_rng(0).integers(0, np.iinfo(dtype).max, shape, dtype)


def _png(width, height, *chunks):
    def chunk(kind, content, crc=None):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", crc or zlib.crc32(kind + content))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + b"".join(chunk(*each) for each in chunks) + chunk(b"IEND", b"")


@cache
def _of_format(form):
    """Whole, cut, zeroed, with a byte of another value, with something after it, of one pixel, gray."""
    whole = encoded(Image.fromarray(_noise(40, 50, 3)), form)
    middle = len(whole) // 2
    found = {"whole": whole, "after": whole + b"more" * 9, "zeros": whole[:middle] + bytes(len(whole) - middle)}
    found["changed"] = whole[:middle] + bytes([whole[middle] ^ 255]) + whole[middle + 1 :]
    found |= {f"first {n}": whole[:n] for n in (0, 1, 4, 10, 30)}
    found |= {f"cut {share}": whole[: int(len(whole) * share)] for share in (0.3, 0.6, 0.9, 0.99)}
    found["pixel"] = encoded(Image.new("RGB", (1, 1)), form)
    return found | {"gray": encoded(Image.fromarray(_noise(40, 50)), form)}


@cache
def _odd():
    """What one format alone can hold."""
    noise = Image.fromarray(_noise(40, 50, 3))
    more = [noise.rotate(90)] * 3
    pixels = zlib.compress(bytes(61 * 20))
    exif = {number: Image.Exif() for number in (0, 6, 77)}
    for number, each in exif.items():
        each[0x112] = number
    turned = encoded(noise, "JPEG", exif=exif[6])
    place = turned.find(b"Exif")
    restarts = encoded(noise, "JPEG", restart_marker_blocks=1)
    mark = restarts.find(b"\xff\xd0")
    head = restarts.find(b"\xff\xc0")
    animated = encoded(noise, "GIF", save_all=True, append_images=more)
    bitmap = encoded(noise, "BMP")
    return {
        "cmyk.jpg": encoded(noise.convert("CMYK"), "JPEG"),
        "cmyk.tif": encoded(noise.convert("CMYK"), "TIFF"),
        "deep.png": encoded(Image.fromarray(_noise(20, 20, dtype=np.uint16)), "PNG"),
        "float.tif": encoded(Image.fromarray(np.full((20, 20), np.nan, np.float32)), "TIFF"),
        "palette.png": encoded(noise.convert("P"), "PNG", transparency=bytes(range(256))),
        "rgba.png": encoded(noise.convert("RGBA"), "PNG"),
        "bits.png": encoded(noise.convert("1"), "PNG"),
        "animated.gif": animated,
        "animated cut.gif": animated[: len(animated) * 6 // 10],
        "animated.webp": encoded(noise, "WEBP", save_all=True, append_images=more),
        "animated.png": encoded(noise, "PNG", save_all=True, append_images=more),
        "turned.jpg": turned,
        "exif 0.jpg": encoded(noise, "JPEG", exif=exif[0]),
        "exif 77.png": encoded(noise, "PNG", exif=exif[77]),
        "exif broken.jpg": turned[: place + 12] + b"\xff" + turned[place + 13 :],
        "exif short.jpg": turned[: place + 10] + turned[place + 30 :],
        "0 x 0.png": _png(0, 0, (b"IDAT", pixels)),
        "huge.png": _png(60_000, 60_000, (b"IDAT", pixels)),
        "wide.png": _png(2**31 - 1, 1, (b"IDAT", pixels)),
        "no data.png": _png(20, 20, (b"IDAT", zlib.compress(b""))),
        "other sum.png": _png(20, 20, (b"IDAT", pixels, 1)),
        "text bomb.png": _png(20, 20, (b"zTXt", b"a\0\0" + zlib.compress(bytes(10**7))), (b"IDAT", pixels)),
        "restarts.jpg": restarts,
        "wrong restart.jpg": restarts[: mark + 1] + b"\xd5" + restarts[mark + 2 :],
        "no restart.jpg": restarts[:mark] + restarts[mark + 2 :],
        "0 x 0.jpg": restarts[: head + 5] + bytes(4) + restarts[head + 9 :],
        "64k.jpg": restarts[: head + 5] + b"\xff" * 4 + restarts[head + 9 :],
        "12 bits.jpg": restarts[: head + 4] + b"\x0c" + restarts[head + 5 :],
        "0.bmp": bitmap[:18] + bytes(8) + bitmap[26:],
        "huge.bmp": bitmap[:18] + struct.pack("<ii", 10**6, 10**6) + bitmap[26:],
        "0.gif": animated[:6] + bytes(4) + animated[10:],
        "line.png": encoded(Image.new("RGB", (3000, 1)), "PNG"),
        "page.jpg": b"<html>",
        "drawing.png": b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        "script.png": b"%!PS-Adobe-3.0 EPSF-3.0",
    }


def _model():
    torch.manual_seed(0)
    config = transformers.ResNetConfig(embedding_size=8, hidden_sizes=[8], depths=[1], layer_type="basic")
    return transformers.ResNetForImageClassification(config).eval()


def _rows(files):
    pictures = [{"bytes": content, "path": None} for content in files.values()]
    label = [number % 2 for number in range(len(files))]
    rows = {"example_id": list(files), "image": pictures, "label": label}
    return datasets.Dataset.from_dict(rows, _FEATURES)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "odd"])
def test_both_paths_agree_who_is_broken_and_what_the_others_are(form):
    """Each left-out row is counted and named with its reason, the whole ones get near logits either way."""
    files = _odd() if form == "odd" else _of_format(form)
    usual = {f"usual {number}": encoded(Image.fromarray(_noise(36 + number, 40, 3)), "PNG") for number in range(4)}
    told = [
        oochub.predict(
            _model(),
            _rows({**files, **usual}),
            image_processor=_PROCESSOR,
            preprocessing=way,
            skip_broken=True,
            cache=False,
        )
        for way in ("fused", "processor")
    ]
    fused, own = (each.table.column("example_id").to_pylist() for each in told)
    assert fused == own and {*usual, *(["whole", "pixel", "gray", "after"] if form != "odd" else [])} <= {*fused}
    assert not {"first 0", "first 1", "first 4", "first 10", "cut 0.3", "0 x 0.png", "huge.png", "page.jpg"} & {*fused}
    ours, theirs = (np.array(each.table.column("logits").to_pylist()) for each in told)
    np.testing.assert_allclose(ours, theirs, atol=0.05)
    report = oochub.evaluate(told[0], resamples=100)
    left = len(files) + len(usual) - len(fused)
    assert f"{left} " in " ".join(report.caveats) or not left, report.caveats
    bad = [name for name in files if name not in fused]
    for name in bad:
        with pytest.raises(OochubError, match=f"example {name}"):
            oochub.predict(_model(), _rows({name: files[name], **usual}), image_processor=_PROCESSOR, cache=False)


def test_a_picture_of_a_folder_is_named_by_its_file(tmp_path):
    """Its number alone was said."""
    for name in ("a", "b"):
        (tmp_path / "birds" / name).mkdir(parents=True)
        for number in range(3):
            Image.fromarray(_noise(40, 40, 3)).save(tmp_path / "birds" / name / f"{number}x.png")
    cut = tmp_path / "birds" / "b" / "1x.png"
    cut.write_bytes(cut.read_bytes()[:500])
    with pytest.raises(OochubError, match=r"example 4 \(b/1x.png\)"):
        oochub.predict(_model(), oochub.load(tmp_path / "birds"), image_processor=_PROCESSOR)
