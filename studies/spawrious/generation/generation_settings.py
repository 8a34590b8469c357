"""How dogs are made from texts: the options that `oochub spawrious generate` and `prompt_check` share."""

from dataclasses import dataclass

from oochub.settings.option import Settings, option
from oochub.studies.spawrious.generation.dog_prompts import Form


@dataclass(frozen=True, kw_only=True)
class GenerationSettings(Settings):
    """How dogs are made from texts.

    >>> GenerationSettings(seed=3).words()
    ('--seed', '3')
    """

    model: str = option(
        "CompVis/stable-diffusion-v1-4",
        help="Text-to-image pipeline of diffusers, a folder or Hub id; safetensors only.",
        panel="Model",
        common=True,
    )
    captioner: str = option(
        "nlpconnect/vit-gpt2-image-captioning",
        help="Captioner that describes each image, a folder or Hub id.",
        panel="Model",
        common=True,
    )
    form: Form = option(
        "paper",
        help="released: brackets, negative prompt, 100 steps; images are kept or dropped by fours.",
        panel="Model",
    )
    steps: int | None = option(
        None, help="Number of scheduler steps (default: set by the pipeline).", panel="Model", least=1
    )
    unchecked: bool = option(
        False, help="Accept a pipeline that has no safety checker.", panel="Model", flag="--unchecked"
    )
    batch_size: int = option(4, help="Number of images generated per batch.", panel="Speed", least=1)
    seed: int = option(0, help="Random seed; the seed of each image is derived from it.", panel="Output", least=0)
