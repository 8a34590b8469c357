"""The check of a prompt before anything is generated from it: its images, all of them, on a page for a person."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oochub.errors import OochubError, choose_wording
from oochub.reviewing.review_page import Card, Choice, Question, Shown, make_review_page, make_thumbnail
from oochub.storage.files import lock_target, write_whole_folder
from oochub.studies.file_kinds import PROMPT_CHECK
from oochub.studies.spawrious.generation.generation_job import judged_pictures, save_picture
from oochub.studies.spawrious.generation.generation_plan import GenerationPlan, Job
from oochub.studies.spawrious.generation.tried_image import TriedImage, tried_text

if TYPE_CHECKING:
    from oochub.models.captioner import Captioner
    from oochub.studies.spawrious.generation.picture_maker import PictureMaker

LIST = "pictures.jsonl"
"""The name of the list of the images, as `read_tried` reads it."""
QUESTION = Question(
    heading="Is each image realistic, and does it fit the prompt?",
    lead="Fits: it looks real and shows what the prompt says. No dog: it is unfit, for there is no dog in it. Unfit: "
    "it is unfit in any other way, such as a dog with five legs, or another place.",
    then="run: oochub spawrious prompt_check FOLDER prompt.csv",
    choices=(
        Choice(decision="fits", label="Fits", past="fit", key="f"),
        Choice(decision="no_dog", label="No dog", past="without a dog", key="n", is_good=False),
        Choice(decision="unfit", label="Unfit", past="unfit", key="u", is_good=False),
    ),
    file="prompt.csv",
)
"""What is asked of each image; the captions are not shown, for they would be believed."""


def prompt_check(
    out: Path | str,
    plan: GenerationPlan,
    number: int,
    maker: "PictureMaker",
    captioner: "Captioner",
    *,
    images: int = 100,
    bar: Callable[[Iterable[Any]], Iterable[Any]] = iter,
) -> Job:
    """Makes the images of one prompt as `generate_spawrious` makes them, and keeps the dropped ones too.

    The seeds are those of the first tries of a generation by the same plan. The folder is written whole or not at all:
    `pictures/`, their list, and the page prompt.html, whose answers `prompt_verdict` takes.

    Args:
        out: The folder.
        plan: A plan of one breed, background and repeat.
        number: Number of the prompt among the 72, from 0.
        maker: The plan's model, which makes the images.
        captioner: The plan's captioner.
        images: Number of images; the paper looks at 100.
        bar: Is given the batches, to show how many are done.

    Returns:
        The prompt with its place.

    Raises:
        OochubError: A plan of several folders, a number that is none of the 72, or a folder that holds something else.

    Source: Lynch et al., Spawrious, Appendix E.
    """
    job = checked_job(plan, number, images)
    batches = [range(first, min(first + plan.batch_size, images)) for first in range(0, images, plan.batch_size)]
    with lock_target(out), write_whole_folder(out, kind=PROMPT_CHECK) as draft:
        tried: list[TriedImage] = []
        shown = []
        (draft / "pictures").mkdir()
        for attempts in bar(batches):
            for attempt, judged in zip(attempts, judged_pictures(plan, job, attempts, maker, captioner), strict=True):
                tried.append(judged.record(job, attempt, f"pictures/{attempt}.png"))
                save_picture(judged.image, draft / tried[-1].file)
                shown.append(make_thumbnail(judged.image))
        (draft / LIST).write_text(tried_text(tried), "utf-8")
        (draft / "prompt.html").write_text(_write_page(tried, shown), "utf-8")
    return job


def checked_job(plan: GenerationPlan, number: int, images: int) -> Job:
    """The prompt with that number in the one folder of a plan.

    Raises:
        OochubError: A plan of several folders, a number that is none of the 72, or no image.
    """
    if len(plan.folders()) != 1:
        raise OochubError("A check covers one prompt: give one breed, one background and one repeat.")
    job = next((job for job in replace(plan, prompts=72).jobs() if job.number == number), None)
    if job is None or images < 1:
        raise OochubError(
            f"{choose_wording('number', '--number')} must be a prompt of the 72, from 0 to 71, and "
            f"{choose_wording('images', '--images')} 1 or more; got {number} and {images}."
        )
    return job


def _write_page(tried: Sequence[TriedImage], shown: Sequence[str]) -> str:
    cards = [
        Card(id=attempt_made.file, pictures=(Shown("", source, attempt_made.file, ""),))
        for attempt_made, source in zip(tried, shown, strict=True)
    ]
    digest = hashlib.sha256(tried_text(tried).encode()).hexdigest()[:16]
    return make_review_page(
        cards,
        QUESTION,
        title="A prompt of Spawrious",
        about=f"{len(tried):,} images of: {tried[0].prompt}",
        store=f"oochub prompt_check {digest}",
    )
