"""Properties of images by hand-made images, and of JPEG and EXIF as Pillow writes them."""

import colorsys
import io
import statistics

import numpy as np
import pytest
from PIL import Image

from oochub.context_finder import OpenedPicture
from oochub.context_finding.finders.properties import Properties, _compute_quantiles
from oochub.errors import OochubError

WAY = Properties()


def measures(image, *, form="PNG", way=WAY, **saving):
    file = io.BytesIO()
    image.save(file, form, **saving)
    return way.measures([way.prepare(OpenedPicture(file.getvalue(), image.convert("RGB")))]).to_pylist()[0]


def test_one_color():
    """By the standard library's HSV, and luma by hand."""
    for color in [(200, 40, 40), (200, 200, 20), (10, 99, 9), (0, 120, 120), (9, 9, 200), (99, 0, 99), (50, 40, 200)]:
        found = measures(Image.new("RGB", (12, 6), color))
        assert found["hue"] == pytest.approx(360 * colorsys.rgb_to_hsv(*(each / 255 for each in color))[0], abs=1e-3)
        assert found["brightness"] == pytest.approx((0.299 * color[0] + 0.587 * color[1] + 0.114 * color[2]) / 255)
        assert found["chroma"] == pytest.approx((max(color) - min(color)) / 255)
        assert (found["contrast"], found["sharpness"]) == pytest.approx((0, 0), abs=1e-6)
        assert (found["pixels"], found["aspect"], found["border"]) == (72, 2, 1)
    assert measures(Image.new("L", (3, 3), 99))["hue"] is None


def test_stripes_and_borders():
    stripes = np.tile(np.array([0, 255], np.uint8), (8, 4))  # columns of black and white
    found = measures(Image.fromarray(stripes), way=Properties(region="picture"))
    assert (found["contrast"], found["border"]) == pytest.approx((1, 2 / 8))  # the outermost columns
    assert found["sharpness"] == pytest.approx((1 + 0) / 2)  # across, down
    noise = np.random.default_rng(0).integers(0, 256, (6, 16), np.uint8)
    boxed = np.pad(noise, ((2, 2), (0, 0)))  # 4 of 10 rows are black
    assert measures(Image.fromarray(boxed))["border"] == pytest.approx(0.4)
    assert measures(Image.fromarray(np.pad(noise, ((0, 0), (0, 4)))))["border"] == pytest.approx(0.2)


@pytest.mark.parametrize("shape", [(40, 24), (5, 40), (1, 1), (2, 3), (8, 9)])
def test_the_rim_by_a_loop_over_pixels(shape):
    """The thing in the middle is not looked at: brightness, contrast, chroma and sharpness by hand."""
    height, width = shape
    pixels = np.random.default_rng(0).integers(0, 256, (*shape, 3), np.uint8)
    rim = {
        (y, x)
        for y in range(height)
        for x in range(width)
        if min(y, height - 1 - y) < max(1, round(height / 10)) or min(x, width - 1 - x) < max(1, round(width / 10))
    }
    found = measures(Image.fromarray(pixels))
    middle = pixels.copy()
    for y in range(height):
        for x in range(width):
            if (y, x) not in rim:
                middle[y, x] = 255 - middle[y, x]
    other = measures(Image.fromarray(middle))
    seen = ("brightness", "contrast", "chroma", "sharpness", "hue")
    assert {name: found[name] for name in seen} == {name: other[name] for name in seen}
    gray = {place: (pixels[place] / 255) @ [0.299, 0.587, 0.114] for place in rim}
    assert found["brightness"] == pytest.approx(np.mean(list(gray.values())), abs=1e-6)
    quarters = statistics.quantiles(gray.values(), n=4, method="inclusive") if len(gray) > 1 else [0, 0, 0]
    assert found["contrast"] == pytest.approx(quarters[2] - quarters[0], abs=1e-6)
    assert found["chroma"] == pytest.approx(np.mean([np.ptp(pixels[place] / 255) for place in rim]), abs=1e-6)
    by_axis = [
        [abs(gray[y, x] - gray[y + down, x + right]) for y, x in rim if (y + down, x + right) in rim]
        for down, right in ((1, 0), (0, 1))
    ]
    assert found["sharpness"] == pytest.approx(
        np.mean([statistics.median(each) for each in by_axis if each] or [0]), abs=1e-6
    )


def test_colors_are_exact_means_of_bytes():
    """By Python's whole numbers, and the standard library's HSV; a size at which sums in float32 are inexact."""
    pixels = np.random.default_rng(0).integers(0, 256, (200, 256, 3), np.uint8)
    pixels[..., 0] |= 192
    colors = pixels.reshape(-1, 3).tolist()
    red, green, blue = (sum(each) / len(colors) / 255 for each in zip(*colors, strict=True))
    found = measures(Image.fromarray(pixels), way=Properties(region="picture"))
    assert found["hue"] == pytest.approx(360 * colorsys.rgb_to_hsv(red, green, blue)[0], rel=1e-11)
    assert found["chroma"] == pytest.approx(sum(max(c) - min(c) for c in colors) / len(colors) / 255, rel=1e-12)


@pytest.mark.parametrize("count", [1, 2, 7, 1000])
def test_quantiles_are_those_of_numpy(count):
    values = np.random.default_rng(count).random(count, np.float32)
    shares = (0, 0.25, 0.5, 0.75, 1)
    assert _compute_quantiles(values, *shares) == pytest.approx(np.quantile(values.astype(float), shares), rel=1e-12)


def test_of_the_whole_picture_by_name():
    black_dog = np.full((16, 16, 3), 200, np.uint8)
    black_dog[4:12, 4:12] = 0
    assert measures(Image.fromarray(black_dog))["brightness"] == pytest.approx(200 / 255)
    whole = measures(Image.fromarray(black_dog), way=Properties(region="picture"))
    assert whole["brightness"] == pytest.approx(0.75 * 200 / 255)
    assert WAY.settings() != Properties(region="picture").settings()  # measures of one are none of the other
    with pytest.raises(OochubError, match="rim"):
        Properties(region="rind")


@pytest.mark.parametrize("quality", [5, 25, 50, 75, 90, 97])
def test_the_quality_of_a_jpeg(quality):
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 256, (16, 16, 3), np.uint8))
    assert measures(noise, form="JPEG", quality=quality)["jpeg_quality"] == pytest.approx(quality, abs=1.5)
    assert measures(noise)["jpeg_quality"] is None


def test_what_a_camera_says():
    exif = Image.Exif()
    exif[272] = "Lumix\0"
    exif[0x8769] = {36867: "2024:05:06 21:08:09"}
    found = measures(Image.new("RGB", (4, 4)), form="JPEG", exif=exif.tobytes())
    assert (found["hour"], found["camera"]) == (21, "Lumix")
    exif[0x8769] = {36867: "yesterday evening"}
    assert measures(Image.new("RGB", (4, 4)), form="JPEG", exif=exif.tobytes())["hour"] is None
    damaged = b"Exif\0\0II*\0\xff\xff\xff\xff" + bytes(range(200))
    found = measures(Image.new("RGB", (4, 4)), form="JPEG", exif=damaged)
    assert (found["hour"], found["camera"]) == (None, None)


def named(rows, chosen_on):
    table = WAY.measures([WAY.prepare(OpenedPicture(content, image)) for content, image in rows])
    n = len(rows)
    return WAY.name(table, label=np.full(n, -1), classes=(), chosen_on=np.asarray(chosen_on, bool))


def stored(image, **saving):
    file = io.BytesIO()
    image.save(file, "JPEG", quality=90, **saving)
    return file.getvalue(), image


def test_thirds_are_of_the_rows_to_choose_on():
    rows = [stored(Image.new("RGB", (4, 4), (gray,) * 3)) for gray in [*range(0, 90, 10), 200, 250]]
    found = named(rows, [True] * 9 + [False] * 2)
    assert found.names == ("dark", "bright")  # all else is equal in all images
    assert found.has[:, 0].tolist() == [True] * 3 + [False] * 8
    assert found.has[:, 1].tolist() == [False] * 6 + [True] * 5
    with pytest.raises(OochubError, match="at least 6 images to be chosen on, got 2"):
        named(rows, [True, True] + [False] * 9)


def test_day_is_from_seven_to_nineteen():
    """Planted faults: another first or last hour."""
    hours = [0, 6, 7, 12, 18, 19, 23]
    rows = []
    for hour in hours:
        exif = Image.Exif()
        exif[0x8769] = {36867: f"2024:05:06 {hour:02}:59:00"}
        rows.append(stored(Image.new("RGB", (4, 4)), exif=exif.tobytes()))
    rows += [stored(Image.new("RGB", (4, 4)))]  # which says no hour
    found = named(rows * 20, [True] * 20 * len(rows))
    by_day, by_night = (found.has[: len(rows), found.names.index(name)].tolist() for name in ("by day", "by night"))
    assert by_day == [*(7 <= hour < 19 for hour in hours), False]
    assert by_night == [*(not 7 <= hour < 19 for hour in hours), False]


def test_a_camera_is_a_context_from_twenty_pictures_on():
    exif = Image.Exif()
    exif[272] = "Lumix"
    own = stored(Image.new("RGB", (4, 4)), exif=exif.tobytes())
    other = stored(Image.new("RGB", (4, 4)))
    assert named([own] * 19 + [other] * 19, [True] * 38).names == ()
    found = named([own] * 20 + [other] * 19, [True] * 39)
    assert found.names == ("camera Lumix",) and found.has[:, 0].tolist() == [True] * 20 + [False] * 19
    assert named([own] * 39, [True] * 39).names == ()  # which says nothing: all have it


def test_a_camera_of_rows_to_test_is_no_context():
    """Planted fault: cameras counted on all rows, so that what is tested says which contexts there are."""
    exif = Image.Exif()
    exif[272] = "Lumix"
    own, other = stored(Image.new("RGB", (4, 4)), exif=exif.tobytes()), stored(Image.new("RGB", (4, 4)))
    rows = [own] * 19 + [other] * 19 + [own] * 30
    assert named(rows, [True] * 38 + [False] * 30).names == ()
    assert named(rows, [True] * 39 + [False] * 29).names == ("camera Lumix",)
