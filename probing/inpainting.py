"""Pipelines of diffusers, opened from safetensors alone; inpainting fills the place of an object."""

import hashlib
import math
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from safetensors import safe_open

from oochub.errors import OochubError, check_installed
from oochub.models.open_model import model_load_errors
from oochub.remote.check_source import check_source, split_revision

_STEP = 8  # pixels of which each side is a multiple


class OpenedPipeline:
    """A pipeline of diffusers with its weights.

    Args:
        source: A folder or Hub id; safetensors only, none of its code is run.
        task: The class of `diffusers` that opens it, such as "AutoPipelineForInpainting".
        words: What it is, in words: "an inpainting pipeline of diffusers".
        hint: What an error advises.

    Attributes:
        pipeline: The pipeline.
        folder: Where its files are.

    Raises:
        OochubError: diffusers is not installed, no such pipeline, or weights that miss.
    """

    def __init__(self, source: str, *, task: str, words: str, hint: str) -> None:
        check_installed("diffusers", "images", "Making images")
        import diffusers

        check_source(source, kind="model", hint=hint)
        diffusers.logging.disable_progress_bar()
        diffusers.logging.set_verbosity_error()  # a flagged image is counted, a missing weight refused below
        with model_load_errors(source, words=words, hint=hint):
            self.folder = Path(source).expanduser()
            if not self.folder.is_dir():
                name, revision = split_revision(source)
                safely = {"use_safetensors": True, "trust_remote_code": False}
                self.folder = Path(diffusers.DiffusionPipeline.download(name, revision=revision, **safely))
            self.pipeline = getattr(diffusers, task).from_pretrained(
                str(self.folder), use_safetensors=True, trust_remote_code=False
            )
        self._check_whole(source)
        self.pipeline.set_progress_bar_config(disable=True)

    @cached_property
    def revision(self) -> str:
        """The commit of the Hub, or a digest of the weights of a folder."""
        if self.folder.parent.name == "snapshots":
            return self.folder.name
        digest = hashlib.sha256()
        for file in sorted(self.folder.rglob("*.safetensors")):
            digest.update(file.relative_to(self.folder).as_posix().encode())
            with file.open("rb") as content:
                while block := content.read(2**20):
                    digest.update(block)
        return digest.hexdigest()[:40]

    def _check_whole(self, source: str) -> None:
        """Refuses parts that have more weights than their files: the others would be random."""
        for name, part in self.pipeline.components.items():
            if isinstance(part, torch.nn.Module):
                stored = sum(_read_weights(file) for file in (self.folder / name).glob("*.safetensors"))
                wanted = sum(weight.numel() for weight in part.parameters())
                if stored < wanted:
                    raise OochubError(
                        f"The {name} of {source} has {wanted:,} weights, but its file has {stored:,}: the others "
                        "would be random. Download the files again."
                    )


def _read_weights(file: Path) -> int:
    with safe_open(file, "pt") as opened:
        return sum(math.prod(opened.get_slice(name).get_shape()) for name in opened.keys())


class Inpainting:
    """Fills an area of an image by an inpainting pipeline of diffusers, without a text; the rest stays as it is.

    Args:
        source: A folder or Hub id.
        seed: Random seed, the same for every image.

    Attributes:
        model: The folder or Hub id.
        settings: What the filled images depend on, JSON types.

    Raises:
        OochubError: See `OpenedPipeline`.
    """

    def __init__(self, source: str | Path, *, seed: int = 0) -> None:
        self.model, self._seed = str(source), seed
        self._opened = OpenedPipeline(
            self.model,
            task="AutoPipelineForInpainting",
            words="an inpainting pipeline of diffusers",
            hint="Name a folder or Hub id of one, or remove fill (--fill) to fill with tiles.",
        )
        self.settings = [self._opened.revision, seed]

    def __call__(self, pixels: NDArray[np.uint8], area: NDArray[np.bool_]) -> NDArray[np.uint8] | None:
        """The image with the area filled, uint8 (h, w, 3); None if the pipeline's safety checker flagged it.

        Args:
            pixels: uint8 (h, w, 3).
            area: (h, w), True where it is filled.
        """
        height, width = area.shape
        sides = {name: max(_STEP, round(side / _STEP) * _STEP) for name, side in (("height", height), ("width", width))}
        size = sides["width"], sides["height"]
        output = self._opened.pipeline(
            prompt="",
            image=Image.fromarray(pixels).resize(size, Image.Resampling.BICUBIC),
            mask_image=Image.fromarray(area).convert("L").resize(size, Image.Resampling.NEAREST),
            strength=1.0,
            generator=torch.Generator("cpu").manual_seed(self._seed),
            **sides,
        )
        if any(getattr(output, "nsfw_content_detected", None) or ()):
            return None
        filled = output.images[0].convert("RGB").resize((width, height), Image.Resampling.BICUBIC)
        return np.where(area[..., None], np.asarray(filled), pixels)
