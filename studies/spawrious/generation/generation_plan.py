"""What a generation of Spawrious makes: which models, which images, and the seed of each."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple, get_args

from oochub.errors import OochubError, choose_wording, unknown_name
from oochub.models.acceleration import DTYPES
from oochub.studies.spawrious.generation.dog_prompts import BACKGROUNDS, BREEDS, NEGATIVE_PROMPT, Form, dog_prompts

MINIBATCH = 4
"""Images that the released code makes at once, and drops together where one is unfit."""
_PROMPTS = 72
_RELEASED_STEPS = 100
_REPEATS = (0, 1)


class DogFolder(NamedTuple):
    """One of the 48 folders."""

    repeat: int
    background: str
    breed: str

    @property
    def path(self) -> str:
        """Its path below `spawrious224`."""
        return f"{self.repeat}/{self.background}/{self.breed}"

    def file(self, number: int) -> str:
        """The path of one of its images, from the folder that holds `spawrious224`."""
        return f"spawrious224/{self.path}/{self.background}_{self.breed}_{number}.png"


class Job(NamedTuple):
    """The images of one prompt in one folder.

    Attributes:
        folder: The folder.
        number: Number of the prompt among the 72, from 0.
        place: Place of the prompt among those that are taken, from 0.
        prompt: Its text.
    """

    folder: DogFolder
    number: int
    place: int
    prompt: str


@dataclass(frozen=True, kw_only=True)
class GenerationPlan:
    """What is made; of the same plan, on machines of one kind, come the same images.

    Attributes:
        model: Text-to-image pipeline, a folder or Hub id.
        captioner: Says what an image shows, a folder or Hub id.
        form: "paper": the template as the paper prints it, each image judged alone, "dog" a word of its caption in
            lower case. "released": the code's brackets, negative prompt and 100 steps, four images kept or dropped
            together, and "dog" between blanks.
        seed: Random seed from which the seed of each image is derived.
        steps: Scheduler steps; None takes the released code's 100, or the pipeline's own number in the paper's form.
        prompts: Number of prompts out of the 72, evenly spread.
        unchecked: Whether the pipeline may lack a safety checker.
        dtype: Type of number that the pipeline computes with, one of `DTYPES`.
        images_per_prompt: Images of each prompt in each folder.
        repeats: Halves to make, out of 0 and 1.
        backgrounds: Backgrounds to make, out of the six.
        breeds: Breeds to make, out of the four.
        batch_size: Images that are made at once; another number moves single pixels by a level. The released form
            takes 4.
        most_tries: The generation stops if a prompt has fewer than one fit image in this number of tries; in the
            released form, if it has fewer than one fit minibatch of 4 in four times as many.

    Raises:
        OochubError: A name or number that is not allowed.
    """

    model: str = "CompVis/stable-diffusion-v1-4"
    captioner: str = "nlpconnect/vit-gpt2-image-captioning"
    form: Form = "paper"
    seed: int = 0
    steps: int | None = None
    prompts: int = _PROMPTS
    unchecked: bool = False
    dtype: str = "auto"
    images_per_prompt: int = 44
    repeats: tuple[int, ...] = _REPEATS
    backgrounds: tuple[str, ...] = tuple(BACKGROUNDS)
    breeds: tuple[str, ...] = tuple(BREEDS)
    batch_size: int = MINIBATCH
    most_tries: int = 50

    def __post_init__(self) -> None:
        if self.form not in get_args(Form):
            raise OochubError(f"form must be 'paper' or 'released', got {self.form!r}.")
        for kind, names, allowed in (
            ("background", self.backgrounds, tuple(BACKGROUNDS)),
            ("breed", self.breeds, tuple(BREEDS)),
            ("repeat", tuple(map(str, self.repeats)), tuple(map(str, _REPEATS))),
            ("dtype", (self.dtype,), tuple(DTYPES)),
        ):
            wrong = next((name for name in names if name not in allowed), None)
            if wrong is not None:
                raise unknown_name(kind, wrong, allowed)
            if not names or len(set(names)) < len(names):
                raise OochubError(f"Name each {kind} once, and at least one; got {', '.join(names) or 'none'}.")
        least = {"images_per_prompt": 1, "batch_size": 1, "most_tries": 1, "seed": 0, "prompts": 1}
        for name, lowest in (least | ({} if self.steps is None else {"steps": 1})).items():
            if getattr(self, name) < lowest:
                raise OochubError(f"{_name_option(name)} must be {lowest} or more, got {getattr(self, name)}.")
        if self.prompts > _PROMPTS:
            raise OochubError(f"There are {_PROMPTS} prompts, got {_name_option('prompts')} {self.prompts}.")
        if self.form == "released" and (self.images_per_prompt % MINIBATCH or self.batch_size != MINIBATCH):
            raise OochubError(
                f"The released code makes {MINIBATCH} images at once and keeps or drops them together: "
                f"{_name_option('images_per_prompt')} must be a multiple of {MINIBATCH}, got {self.images_per_prompt}, "
                f"and {_name_option('batch_size')} {MINIBATCH}, got {self.batch_size}."
            )

    @property
    def together(self) -> int:
        """How many images are kept or dropped together."""
        return MINIBATCH if self.form == "released" else 1

    @property
    def negative_prompt(self) -> str:
        """What the images shall not show, "" for nothing."""
        return NEGATIVE_PROMPT if self.form == "released" else ""

    @property
    def steps_taken(self) -> int | None:
        """Steps of the scheduler; None is the pipeline's own number."""
        return _RELEASED_STEPS if self.steps is None and self.form == "released" else self.steps

    def folders(self) -> list[DogFolder]:
        """The folders, in the order in which they are filled."""
        return [DogFolder(*names) for names in product(self.repeats, self.backgrounds, self.breeds)]

    def jobs(self) -> Iterator[Job]:
        """What is to be made: for each prompt a part of each folder, so that a run that is stopped has some of all."""
        numbers = [place * _PROMPTS // self.prompts for place in range(self.prompts)]
        texts = {folder: dog_prompts(folder.breed, folder.background, form=self.form) for folder in self.folders()}
        for place, number in enumerate(numbers):
            for folder, prompts in texts.items():
                yield Job(folder, number, place, prompts[number])

    def picture_number(self, job: Job, accepted: int) -> int:
        """The number in the name of the accepted image `accepted`, from 0, of a job.

        Images of one prompt lie `prompts` apart: whatever range of numbers a split takes, it has all prompts alike.
        """
        return 1 + accepted * self.prompts + job.place

    def image_seed(self, job: Job, attempt: int) -> int:
        """The seed of one image, in [0, 2**63): of it and nothing else, so that nobody needs to be told of others.

        Args:
            job: Its prompt and folder.
            attempt: Number of the attempt, from 0.
        """
        name = f"{self.seed}/{job.folder.path}/{job.number}/{attempt}"
        return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") >> 1


def _name_option(name: str) -> str:
    return choose_wording(name, f"--{name.replace('_', '-')}")
