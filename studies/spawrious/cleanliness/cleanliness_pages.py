"""The pages of a check of cleanliness: one per rater, each with its part of the sample."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from oochub.records.build_record import BuildRecord
from oochub.reviewing.review_page import RIGHT_OR_WRONG, Card, Question, Shown, make_review_page, make_thumbnails
from oochub.storage.files import lock_target, write_whole_folder
from oochub.studies.file_kinds import CLEANLINESS
from oochub.studies.spawrious.cleanliness.cleanliness_sample import FILE, SampledImage, sample_text


def cleanliness_pages(out: Path | str, sample: Sequence[SampledImage], data: Mapping[str, Any]) -> None:
    """Writes `rater_<k>.html` for each page and the sample beside them, the whole folder or none.

    Args:
        out: The folder.
        sample: What `cleanliness_sample` drew.
        data: The splits that it was drawn from.

    Raises:
        OochubError: An image that cannot be read, or a folder that holds something else.
    """
    pictures = make_thumbnails(data, [image.example_id for image in sample], what="sampled")
    record = BuildRecord.of(next(iter(data.values())).info)
    name = f"{record.benchmark}/{record.config}" if record else "Spawrious"
    text = sample_text(sample)
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    pages = max(image.page for image in sample)
    with lock_target(out), write_whole_folder(out, kind=CLEANLINESS) as draft:
        (draft / FILE).write_text(text, "utf-8")
        for page in range(1, pages + 1):
            own = [image for image in sample if image.page == page]
            content = make_review_page(
                [
                    Card(
                        id=image.example_id,
                        pictures=(Shown("", pictures[image.example_id], image.description, image.example_id),),
                    )
                    for image in own
                ],
                _write_question(page),
                title=f"Rater {page}: {name}",
                about=f"Rater {page} of {pages}: {len(own):,} images of {name}",
                store=f"oochub cleanliness {digest} rater {page}",
            )
            (draft / f"rater_{page}.html").write_text(content, "utf-8")


def _write_question(page: int) -> Question:
    return Question(
        heading="Does each image show what is written below it?",
        lead="Right: it shows a dog of this breed in this place. Wrong: another animal or none, another breed, another "
        "place, or an image in which nobody could tell. An image without a mark counts as not answered.",
        then=f"send rater_{page}.csv to who asked you",
        choices=RIGHT_OR_WRONG,
        file=f"rater_{page}.csv",
    )


ALLOWED = _write_question(1).allowed
"""The words that a rater's file may hold."""
