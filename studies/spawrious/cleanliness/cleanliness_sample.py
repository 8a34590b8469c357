"""The images that raters look at: a random sample of Spawrious, a page each, with what every image should show."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from oochub.errors import OochubError
from oochub.storage.reading import read_text

FILE = "sample.csv"
"""The name of the file beside the pages."""
_COLUMNS = ("page", "example_id", "breed", "background")


@dataclass(frozen=True, kw_only=True, order=True)
class SampledImage:
    """An image on a page.

    Attributes:
        page: Number of the page, from 1.
        example_id: Id of the image.
        breed: The name of its class.
        background: The name of its background.
    """

    page: int
    example_id: str
    breed: str
    background: str

    @property
    def description(self) -> str:
        """What the image should show, in the words of the paper's Figure 9."""
        return description(self.breed, self.background)


def description(breed: str, background: str) -> str:
    """What an image should show.

    >>> description("corgi", "dirt")
    'a corgi in the dirt location'
    """
    return f"a {breed} in the {background} location"


def cleanliness_sample(
    data: Mapping[str, Any], *, raters: int = 10, images: int = 48, shared: int = 0, seed: int = 0
) -> list[SampledImage]:
    """Images at random without replacement from all splits together, dealt out to the pages of the raters.

    Args:
        data: The splits of Spawrious.
        raters: Number of pages, one per rater.
        images: Number of images on each page.
        shared: Number of these that are the same on every page, so that raters can be compared.
        seed: Another seed is another sample.

    Raises:
        OochubError: Data without breeds and backgrounds, more images than there are, more shared than on a page.

    Source: Lynch et al., Spawrious, Appendix F: a random sample of 480 images, partitioned into 10 folders.
    """
    if min(raters, images) < 1 or not 0 <= shared <= images:
        raise OochubError(
            f"There must be 1 rater and 1 image or more, of which 0 to {images} are shared; got {raters} raters, "
            f"{images} images and {shared} shared."
        )
    from datasets import ClassLabel

    rows: dict[str, tuple[str, str]] = {}
    for split, part in data.items():
        classes = [part.features.get(name) for name in ("label", "background")]
        if "example_id" not in part.features or not all(isinstance(cls, ClassLabel) for cls in classes):
            raise OochubError(
                f"The split {split} has no columns example_id, label and background, so it is not known what an "
                "image should show. Pass Spawrious, such as spawrious/o2o_hard."
            )
        breeds, backgrounds = (cls.names for cls in classes)
        columns = part.select_columns(["example_id", "label", "background"])[:]
        for example, breed, background in zip(*columns.values(), strict=True):
            rows[example] = breeds[breed], backgrounds[background]
    own = images - shared
    wanted = shared + raters * own
    if wanted > len(rows):
        raise OochubError(
            f"{raters} pages of {images} images need {wanted:,}, but there are {len(rows):,}. Ask for fewer: "
            "--raters, --images."
        )
    ids = sorted(rows)
    drawn = [ids[place] for place in np.random.default_rng(seed).choice(len(ids), wanted, replace=False)]
    common, rest = drawn[:shared], drawn[shared:]
    return [
        SampledImage(page=page + 1, example_id=example, breed=rows[example][0], background=rows[example][1])
        for page in range(raters)
        for example in _mix_rows(common, rest[page * own : (page + 1) * own], seed=(seed, page))
    ]


def _mix_rows(common: Sequence[str], own: Sequence[str], *, seed: tuple[int, int]) -> list[str]:
    """Both in an order of its own for each page, so that no place says which are shared."""
    every = [*common, *own]
    return [every[place] for place in np.random.default_rng(seed).permutation(len(every))]


def sample_text(sample: Sequence[SampledImage]) -> str:
    r"""The sample as a CSV, which `read_sample` takes.

    >>> print(sample_text([SampledImage(page=1, example_id="0/dirt/corgi/5", breed="corgi", background="dirt")]))
    page,example_id,breed,background
    1,0/dirt/corgi/5,corgi,dirt
    <BLANKLINE>
    """
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(_COLUMNS)
    rows.writerows([image.page, image.example_id, image.breed, image.background] for image in sample)
    return text.getvalue()


def read_sample(folder: Path) -> list[SampledImage]:
    """The sample that stands beside the pages of a folder.

    Raises:
        OochubError: No such file, or another content; the line is named.
    """
    file = folder / FILE
    if not file.is_file():
        raise OochubError(
            f"There is no {FILE} in {folder}. Pass the folder that `oochub spawrious cleanliness SOURCE --out "
            "FOLDER` wrote, then the files that its pages saved."
        )
    rows = csv.reader(io.StringIO(read_text(file), newline=""))
    sample = []
    try:
        if tuple(next(rows, ())) != _COLUMNS:
            raise OochubError(f"{file} is not a sample: its first line must be {','.join(_COLUMNS)}.")
        for row in filter(None, rows):
            if len(row) != len(_COLUMNS) or not row[0].isascii() or not row[0].isdigit() or len(row[0]) > 9:
                raise OochubError(f"{file}, line {rows.line_num}: expected a page from 1 and three names, got {row}.")
            sample.append(SampledImage(page=int(row[0]), example_id=row[1], breed=row[2], background=row[3]))
    except csv.Error as error:
        raise OochubError(f"{file}, line {rows.line_num}: {error}. Write the pages again.") from error
    if not sample:
        raise OochubError(f"{file} names no image. Write the pages again.")
    return sample
