"""Makes images of a text, by a text-to-image pipeline of diffusers, its safety checker on."""

import inspect
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from PIL import Image

from oochub.errors import OochubError, choose_wording
from oochub.models.acceleration import DTYPES
from oochub.probing.inpainting import OpenedPipeline

_WORDS = "a text-to-image pipeline of diffusers"
_HINT = "Default: CompVis/stable-diffusion-v1-4."


class MadePicture(NamedTuple):
    """An image, and whether the safety checker flagged it: it is black then."""

    image: Image.Image
    flagged: bool


class PictureMaker:
    """A pipeline with its weights.

    Args:
        source: A folder or Hub id, such as CompVis/stable-diffusion-v1-4; safetensors only, none of its code is run.
        device: Device that it runs on.
        dtype: One of `DTYPES`, what its weights are cast to.
        unchecked: Whether it may lack a safety checker.

    Attributes:
        revision: The commit of the Hub, or a digest of the weights of a folder.
        readme: The path of its model card, which need not be there.
        has_checker: Whether it has a safety checker.

    Raises:
        OochubError: diffusers is not installed, no such pipeline, weights that miss, or no safety checker.
    """

    def __init__(
        self, source: str, *, device: torch.device | str = "cpu", dtype: str = "auto", unchecked: bool = False
    ) -> None:
        opened = OpenedPipeline(source, task="AutoPipelineForText2Image", words=_WORDS, hint=_HINT)
        pipeline, self.revision, self.readme = opened.pipeline, opened.revision, opened.folder / "README.md"
        self.has_checker = getattr(pipeline, "safety_checker", None) is not None
        if not self.has_checker and not unchecked:
            option = choose_wording("unchecked=True")
            raise OochubError(
                f"{source} has no safety checker, so no image would be checked. Use one that has, or confirm that "
                f"you check them yourself: {option}."
            )
        self._pipeline = pipeline.to(device=device, dtype=DTYPES[dtype])
        self._settings = set(inspect.signature(pipeline.__call__).parameters)

    def check_takes(self, negative_prompt: str) -> None:
        """Checks that the pipeline takes a negative prompt, where there is one.

        Raises:
            OochubError: It does not.
        """
        if negative_prompt and "negative_prompt" not in self._settings:
            raise OochubError(f"{type(self._pipeline).__name__} takes no negative prompt. Use the paper's form.")

    def pictures(
        self, prompt: str, seeds: Sequence[int], *, negative_prompt: str = "", steps: int | None = None
    ) -> list[MadePicture]:
        """An image for each seed, of the pipeline's own size; one seed gives one image on one kind of machine.

        Args:
            prompt: What the images should show.
            seeds: Seeds of each image's own generator, on the CPU; they are made as one batch.
            negative_prompt: What the images should not show; "" for nothing.
            steps: Steps of the scheduler; None takes the pipeline's own number.

        Raises:
            OochubError: The pipeline takes no negative prompt.
        """
        self.check_takes(negative_prompt)
        options: dict[str, Any] = {} if steps is None else {"num_inference_steps": steps}
        if negative_prompt:
            options["negative_prompt"] = [negative_prompt] * len(seeds)
        generators = [torch.Generator("cpu").manual_seed(seed) for seed in seeds]
        output = self._pipeline(prompt=[prompt] * len(seeds), generator=generators, **options)
        flags = getattr(output, "nsfw_content_detected", None) or [False] * len(seeds)
        return [MadePicture(image, bool(flag)) for image, flag in zip(output.images, flags, strict=True)]
