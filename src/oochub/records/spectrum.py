"""Which configs of a benchmark hold known classes, as they are or shifted, and which hold new ones, by groups."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

Reading = Literal["standard", "full_spectrum"]


@dataclass(frozen=True, kw_only=True)
class Spectrum:
    """How the configs of a benchmark are set against each other where detectors look for new classes.

    The standard reading sets `known` against each config of a group. The full spectrum counts `shifted` as in
    distribution too: a known class is known in whatever image it is shown.

    Attributes:
        known: The config with the known classes as training showed them.
        shifted: The configs with the known classes in other images.
        new: The configs with new classes, by the name of their group: {"near": (...), "far": (...)}.
        published: Those of `shifted` that the published numbers of the full spectrum are of.
        source: What published them, as a sentence names it.
        image_of: Names the image that a row is made of, by its example_id, where shifted rows are other versions of
            known ones: intervals then resample images. None where every row is an image of its own.

    Source: Yang, Zhou and Liu 2022, "Full-Spectrum Out-of-Distribution Detection"; OpenOOD v1.5 (Zhang et al. 2023).

    >>> spectrum = Spectrum(known="photo", shifted=("sketch",), new={"near": ("wolf",)}, source="Someone 2024")
    >>> spectrum.configs
    ('photo', 'sketch', 'wolf')
    """

    known: str
    shifted: tuple[str, ...] = ()
    new: Mapping[str, tuple[str, ...]]
    published: tuple[str, ...] = ()
    source: str
    image_of: Callable[[str], str] | None = None

    @property
    def configs(self) -> tuple[str, ...]:
        """Every config that has a place in it."""
        return (self.known, *self.shifted, *(config for group in self.new.values() for config in group))

    @property
    def description(self) -> str:
        """Which configs these are, in one line.

        >>> Spectrum(known="photo", shifted=("sketch",), new={"near": ("wolf",)}, source="x").description
        'known photo; known but shifted sketch; near wolf'
        """
        shifted = f"; known but shifted {', '.join(self.shifted)}" if self.shifted else ""
        groups = "".join(f"; {name} {', '.join(configs)}" for name, configs in self.new.items())
        return f"known {self.known}{shifted}{groups}"
