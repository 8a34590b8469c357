"""Makes the images of one prompt in one folder, and goes on where an earlier run was stopped."""

from collections import Counter
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from PIL import Image

from oochub.errors import OochubError, choose_wording
from oochub.storage.files import write_whole
from oochub.studies.spawrious.generation.generation_plan import GenerationPlan, Job
from oochub.studies.spawrious.generation.tried_image import (
    IN_BAD_MINIBATCH,
    TriedImage,
    part_file,
    read_part,
    reason_to_drop,
    write_part,
)

if TYPE_CHECKING:
    from oochub.models.captioner import Captioner
    from oochub.studies.spawrious.generation.picture_maker import PictureMaker

SIDE = 224
"""Pixels of an image of the release."""
_SHOWN = 3


def missing_images(folder: Path, plan: GenerationPlan, job: Job) -> int:
    """How many images a job still lacks.

    Raises:
        OochubError: Its list is damaged.
    """
    return max(0, plan.images_per_prompt - _count_accepted(_read_tried(folder, plan, job)))


def make_images(folder: Path, plan: GenerationPlan, job: Job, maker: "PictureMaker", captioner: "Captioner") -> None:
    """Makes images until enough are fit; after each batch they stand on the disk, and then in the job's list.

    Raises:
        OochubError: Too few are fit, see `GenerationPlan.most_tries`.
    """
    tried = _read_tried(folder, plan, job)
    while (lacking := plan.images_per_prompt - _count_accepted(tried)) > 0:
        if len(tried) >= plan.most_tries * (_count_accepted(tried) + plan.together):
            raise _explain_too_few(folder, plan, job, tried)
        attempts = range(len(tried), len(tried) + min(plan.batch_size, lacking))
        attempts_made = judged_pictures(plan, job, attempts, maker, captioner)
        reasons = [attempt_made.reason for attempt_made in attempts_made]
        if plan.together > 1 and any(reasons):
            reasons = [reason or IN_BAD_MINIBATCH for reason in reasons]
        for attempt, judged, reason in zip(attempts, attempts_made, reasons, strict=True):
            number = plan.picture_number(job, _count_accepted(tried))
            file = "" if reason else job.folder.file(number)
            if file:
                save_picture(judged.image, folder / file)
            tried.append(judged._replace(reason=reason).record(job, attempt, file))
        write_part(folder, job, tried)


class JudgedPicture(NamedTuple):
    """An image as it was made, its seed and caption, and why it is to be dropped, "" where it is not."""

    image: Image.Image
    seed: int
    caption: str
    reason: str

    def record(self, job: Job, attempt: int, file: str) -> TriedImage:
        """What is said of it in a list of images; `file` is its path, "" where it is not kept."""
        return TriedImage(
            repeat=job.folder.repeat,
            background=job.folder.background,
            breed=job.folder.breed,
            prompt_number=job.number,
            attempt=attempt,
            seed=self.seed,
            prompt=job.prompt,
            caption=self.caption,
            accepted=not self.reason,
            reason=self.reason,
            file=file,
        )


def judged_pictures(
    plan: GenerationPlan, job: Job, attempts: Sequence[int], maker: "PictureMaker", captioner: "Captioner"
) -> list[JudgedPicture]:
    """Makes an image for each attempt and judges each alone; they are one batch."""
    seeds = [plan.image_seed(job, attempt) for attempt in attempts]
    images = maker.pictures(job.prompt, seeds, negative_prompt=plan.negative_prompt, steps=plan.steps_taken)
    captions = iter(captioner.captions([image.image for image in images if not image.flagged]))
    judged = []
    for seed, drawn in zip(seeds, images, strict=True):
        caption = "" if drawn.flagged else next(captions)
        reason = reason_to_drop(caption, flagged=drawn.flagged, form=plan.form)
        judged.append(JudgedPicture(drawn.image, seed, caption, reason))
    return judged


def _read_tried(folder: Path, plan: GenerationPlan, job: Job) -> list[TriedImage]:
    """What was tried, up to the first image that was deleted since; a minibatch counts whole."""
    tried = read_part(folder, job)
    whole = list(takewhile(lambda each: not each.file or (folder / each.file).is_file(), tried))
    return whole[: len(whole) - len(whole) % plan.together]


def _count_accepted(tried: Sequence[TriedImage]) -> int:
    return sum(image.accepted for image in tried)


def save_picture(image: Image.Image, file: Path) -> None:
    """Writes an image as the release has them, 224 pixels per side."""
    with write_whole(file) as draft:
        image.convert("RGB").resize((SIDE, SIDE), Image.Resampling.LANCZOS).save(draft, "PNG")


def _explain_too_few(folder: Path, plan: GenerationPlan, job: Job, tried: Sequence[TriedImage]) -> OochubError:
    reasons = Counter(image.reason for image in tried if image.reason)
    counts = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
    captions = dict.fromkeys(image.caption for image in tried if image.caption and not image.accepted)
    seen = f" Captions: {'; '.join(map(repr, list(captions)[:_SHOWN]))}." if captions else ""
    return OochubError(
        f"{_count_accepted(tried)} of {len(tried)} images of {job.prompt.partition('. ')[0]!r} are fit ({counts}), "
        f"and {plan.images_per_prompt} are wanted.{seen} Look at {part_file(folder, job)}; then take another model "
        f"or captioner, or raise {choose_wording('most_tries', '--most-tries')} ({plan.most_tries}). Finished images "
        "are kept: run the same command again to resume."
    )
