"""What became of each image that was made: its prompt, seed and caption, and why it was dropped."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from oochub.records.schema import from_json, to_json
from oochub.storage.files import write_whole
from oochub.storage.reading import parse_json, read_lines
from oochub.studies.spawrious.generation.dog_prompts import Form
from oochub.studies.spawrious.generation.generation_plan import Job

FLAGGED = "flagged by the safety checker"
NO_DOG = "no dog in the caption"
IN_BAD_MINIBATCH = "another of its minibatch is unfit"


@dataclass(frozen=True, kw_only=True)
class TriedImage:
    """One image that was made.

    Attributes:
        repeat: Its half, 0 or 1.
        background: The background that the prompt names.
        breed: The breed that the prompt names.
        prompt_number: Among the 72, from 0.
        attempt: Which image of this prompt in this folder, from 0.
        seed: Seed of its generator.
        prompt: Its text.
        caption: What the captioner says; "" of an image that was flagged, which is black.
        accepted: Whether it is kept.
        reason: Why it is dropped; "" where it is kept.
        file: Its path, from the folder of the generation; "" if it is dropped.
    """

    repeat: int
    background: str
    breed: str
    prompt_number: int
    attempt: int
    seed: int
    prompt: str
    caption: str
    accepted: bool
    reason: str = ""
    file: str = ""


def reason_to_drop(caption: str, *, flagged: bool, form: Form) -> str:
    """Why an image is dropped, "" where it is kept.

    Args:
        caption: What the captioner says.
        flagged: Whether the safety checker flagged the image.
        form: "paper" looks for the word dog in lower case; "released" for dog between blanks.

    >>> reason_to_drop("A Dog, running", flagged=False, form="paper")
    ''
    >>> reason_to_drop("a dog, running", flagged=False, form="released")
    'no dog in the caption'
    """
    words = caption.strip().split(" ") if form == "released" else re.findall(r"[^\W_]+", caption.lower())
    return FLAGGED if flagged else "" if "dog" in words else NO_DOG


def part_file(folder: Path, job: Job) -> Path:
    """The file that lists the images of a job, one JSON object per line."""
    return folder / "tries" / f"{job.folder.path.replace('/', '_')}_{job.number:02d}.jsonl"


def read_part(folder: Path, job: Job) -> list[TriedImage]:
    """The images of a job that were made until now.

    Raises:
        OochubError: A file that is damaged.
    """
    file = part_file(folder, job)
    return read_tried(file) if file.is_file() else []


def read_tried(file: Path) -> list[TriedImage]:
    """The images that a file lists, one JSON object per line.

    Raises:
        OochubError: No such file, or one that is damaged; the line is named.
    """
    lines = enumerate(read_lines(file), start=1)
    return [
        from_json(TriedImage, parse_json(line, name=f"{file}, line {number}"), what=f"{file}, line {number}")
        for number, line in lines
    ]


def write_part(folder: Path, job: Job, tried: Sequence[TriedImage]) -> None:
    """Lists the images of a job, whole or as before."""
    with write_whole(part_file(folder, job)) as draft:
        draft.write_text(tried_text(tried), "utf-8")


def tried_text(tried: Sequence[TriedImage]) -> str:
    """What `read_tried` reads."""
    return "".join(json.dumps(to_json(image), ensure_ascii=False) + "\n" for image in tried)
