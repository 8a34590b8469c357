"""Makes images of a text, by a text-to-image pipeline of diffusers, its safety checker on."""

import hashlib
import inspect
import math
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import torch
from PIL import Image
from safetensors import safe_open

from oochub.errors import OochubError, choose_wording
from oochub.models.acceleration import DTYPES
from oochub.models.open_model import model_load_errors
from oochub.remote.check_source import check_source

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

    Raises:
        OochubError: diffusers is not installed, no such pipeline, weights that miss, or no safety checker.
    """

    def __init__(
        self, source: str, *, device: torch.device | str = "cpu", dtype: str = "auto", unchecked: bool = False
    ) -> None:
        try:
            import diffusers
        except ModuleNotFoundError as error:
            raise OochubError(
                'Making images needs diffusers, which is not installed. Run: pip install "oochub[images]"'
            ) from error
        check_source(source, kind="model", hint=_HINT)
        diffusers.logging.disable_progress_bar()
        diffusers.logging.set_verbosity_error()  # a flagged image is counted, a missing weight refused below
        options = {"use_safetensors": True, "trust_remote_code": False}
        with model_load_errors(source, words=_WORDS, hint=_HINT):
            self._folder = Path(source).expanduser()
            if not self._folder.is_dir():
                self._folder = Path(diffusers.DiffusionPipeline.download(source, **options))
            pipeline = diffusers.AutoPipelineForText2Image.from_pretrained(
                str(self._folder), use_safetensors=True, trust_remote_code=False
            )
        self._check_whole(source, pipeline)
        self.has_checker = getattr(pipeline, "safety_checker", None) is not None
        if not self.has_checker and not unchecked:
            option = choose_wording("unchecked=True")
            raise OochubError(
                f"{source} has no safety checker, so no image would be checked. Use one that has, or confirm that "
                f"you check them yourself: {option}."
            )
        pipeline.set_progress_bar_config(disable=True)
        self._pipeline: Any = pipeline.to(device=device, dtype=DTYPES[dtype])
        self._settings = set(inspect.signature(pipeline.__call__).parameters)

    @cached_property
    def revision(self) -> str:
        """The commit of the Hub, or a digest of the weights of a folder."""
        if self._folder.parent.name == "snapshots":
            return self._folder.name
        digest = hashlib.sha256()
        for file in sorted(self._folder.rglob("*.safetensors")):
            digest.update(file.relative_to(self._folder).as_posix().encode())
            with file.open("rb") as content:
                while block := content.read(2**20):
                    digest.update(block)
        return digest.hexdigest()[:40]

    @property
    def readme(self) -> Path:
        """The path of its model card, which need not be there."""
        return self._folder / "README.md"

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

    def _check_whole(self, source: str, pipeline: Any) -> None:
        """Refuses parts that have more weights than their files: the others would be random."""
        for name, part in pipeline.components.items():
            if isinstance(part, torch.nn.Module):
                stored = sum(_read_weights(file) for file in (self._folder / name).glob("*.safetensors"))
                wanted = sum(weight.numel() for weight in part.parameters())
                if stored < wanted:
                    raise OochubError(
                        f"The {name} of {source} has {wanted:,} weights, but its file has {stored:,}: the others "
                        "would be random. Download the files again."
                    )


def _read_weights(file: Path) -> int:
    with safe_open(file, "pt") as opened:
        return sum(math.prod(opened.get_slice(name).get_shape()) for name in opened.keys())
