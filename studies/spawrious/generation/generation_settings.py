"""How dogs are made from texts: the options that `oochub spawrious generate` and `prompt_check` share."""

from dataclasses import dataclass
from typing import Any

from oochub.remote.check_source import name_revision
from oochub.settings.option import Settings, option, revision_option
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
    revision: str | None = revision_option("MODEL", panel="Model")
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

    @property
    def of_plan(self) -> dict[str, Any]:
        """The fields of a `GenerationPlan` that these options set.

        Raises:
            OochubError: A revision of a folder.
        """
        model = name_revision(self.model, self.revision)
        return {name: value for name, value in self.record().items() if name != "revision"} | {"model": model}
