"""The prompts of Spawrious: 72 for each breed and background, by the template of the paper or of its code."""

from collections.abc import Mapping
from itertools import product
from types import MappingProxyType
from typing import Literal, get_args

from oochub.errors import OochubError, unknown_name

Form = Literal["paper", "released"]

BREEDS: Mapping[str, str] = MappingProxyType(
    {"bulldog": "bulldog", "corgi": "welsh corgi dog", "dachshund": "dachshund", "labrador": "labrador"}
)
"""Each breed and its words in a prompt."""
BACKGROUNDS: Mapping[str, str] = MappingProxyType(
    {
        "desert": "in a hot, dry desert with cactuses around",
        "jungle": "in a jungle",
        "dirt": "in a park, with puddles, bushes and dirt in the background",
        "mountain": "on a rocky mountain",
        "snow": "in a snowy landscape with a cabin and a snowball in the background",
        "beach": "playing fetch on a beach with a pier and ocean in the background",
    }
)
"""Each background and its words in a prompt."""
NEGATIVE_PROMPT = (
    "human, blurry, painting, cartoon, extra limbs, disfigured, deformed, body out of frame, bad anatomy, "
    "watermark, two, multiple"
)
"""What the released code asks the model to leave out; the paper has none."""
_FURS = ("black", "brown", "white", "")
_POSES = ("sitting", "", "running")
_TIMES = ("pale sunrise", "sunset", "rainy day", "foggy day", "bright sunny day", "bright sunny day")
_STYLE = (
    "highly detailed, with cinematic lighting, 4k resolution, beautiful composition, hyperrealistic, trending, "
    "cinematic, masterpiece, close up"
)


def dog_prompts(breed: str, background: str, *, form: Form = "paper") -> tuple[str, ...]:
    """The 72 prompts of a breed on a background, of which 60 differ: a bright sunny day counts twice.

    Args:
        breed: One of `BREEDS`.
        background: One of `BACKGROUNDS`.
        form: "paper", or "released", whose brackets are plain text to a pipeline of diffusers, and whose empty words
            leave two blanks.

    Raises:
        OochubError: Another breed, background or form.

    Source: Lynch et al., Spawrious, Section 4.1; aengusl/spawrious, generate_dataset.py.

    >>> dog_prompts("corgi", "jungle")[0][:60]
    'one black welsh corgi dog sitting in a jungle, pale sunrise.'
    >>> dog_prompts("corgi", "jungle", form="released")[6][:60]
    '(((one black welsh corgi dog ))) in a jungle, pale sunrise. '
    """
    for kind, name, allowed in (("breed", breed, BREEDS), ("background", background, BACKGROUNDS)):
        if name not in allowed:
            raise unknown_name(kind, name, allowed)
    if form not in get_args(Form):
        raise OochubError(f"form must be 'paper' or 'released', got {form!r}.")
    prompts = []
    for fur, pose, time in product(_FURS, _POSES, _TIMES):
        words = ("one", fur, BREEDS[breed], pose)
        subject = f"((({' '.join(words)})))" if form == "released" else " ".join(word for word in words if word)
        prompts.append(f"{subject} {BACKGROUNDS[background]}, {time}. {_STYLE}")
    return tuple(prompts)
