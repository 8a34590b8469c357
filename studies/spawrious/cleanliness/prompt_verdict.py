"""Whether a prompt is good enough to generate from: the two conditions of Appendix E, of what a person saw."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from oochub.errors import OochubError
from oochub.reviewing.decisions import Decisions, check_known
from oochub.studies.spawrious.generation.tried_image import TriedImage

_LEAST = 95  # percent


@dataclass(frozen=True, kw_only=True)
class PromptVerdict:
    """What was found of the images of one prompt.

    Attributes:
        asked: Number of images.
        wanted: Number of images that must fit.
        fit: Number of images that fit.
        with_dog: Files of the unfit ones that show a dog, or would be unfit with one.
        missed: Files of those without a dog that the captioner let pass.
        unanswered: Files without an answer.
        lost: Files of those that fit and that the captioner drops; they count for nothing.
    """

    asked: int
    wanted: int
    fit: int
    with_dog: tuple[str, ...]
    missed: tuple[str, ...]
    unanswered: tuple[str, ...]
    lost: tuple[str, ...]

    @property
    def outcome(self) -> Literal["accepted", "rejected", "open"]:
        """Whether the prompt is accepted; "open" where images without an answer decide."""
        if self.with_dog or self.missed or self.fit + len(self.unanswered) < self.wanted:
            return "rejected"
        return "open" if self.unanswered else "accepted"


def prompt_verdict(pictures: Sequence[TriedImage], decisions: Decisions) -> PromptVerdict:
    """Accepts a prompt where 95 of 100 images fit, and every other lacks a dog and is dropped by the captioner.

    An image that the safety checker made black counts as dropped.

    Args:
        pictures: All images of the prompt, the dropped ones too.
        decisions: A person's answer on each file: "fits", "no_dog", or "unfit" for any other reason.

    Raises:
        OochubError: No image, images of several prompts, or an answer on another file.

    Source: Lynch et al., Spawrious, Appendix E.

    >>> from oochub.reviewing.decisions import Decision
    >>> made = TriedImage(
    ...     repeat=0, background="snow", breed="corgi", prompt_number=0, attempt=0, seed=1, prompt="one corgi",
    ...     caption="a dog", accepted=True, file="0.png")
    >>> prompt_verdict([made], {("image", "0.png"): Decision("image", "0.png", "fits", "2026-01-31T12:00:00Z")}).outcome
    'accepted'
    """
    if len({picture.prompt for picture in pictures}) != 1:
        raise OochubError("A verdict covers the images of one prompt. Pass those of one, at least one image.")
    check_known(decisions, {"image": {picture.file for picture in pictures}}, "of this prompt")
    answers = {decision.id: decision.decision for decision in decisions.values() if decision.decision != "open"}
    files = {
        word: tuple(picture.file for picture in pictures if answers.get(picture.file, "open") == word)
        for word in ("fits", "unfit", "no_dog", "open")
    }
    kept = {picture.file for picture in pictures if picture.accepted}
    return PromptVerdict(
        asked=len(pictures),
        wanted=-(-_LEAST * len(pictures) // 100),
        fit=len(files["fits"]),
        with_dog=files["unfit"],
        missed=tuple(file for file in files["no_dog"] if file in kept),
        unanswered=files["open"],
        lost=tuple(file for file in files["fits"] if file not in kept),
    )
