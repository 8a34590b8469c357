"""What is asked of a prediction besides the model, its mode and the data; checked when it is made."""

from dataclasses import dataclass
from typing import Any

import torch

from oochub.errors import OochubError, either, unknown_name
from oochub.inputs.pictures.zoom import check_zoom
from oochub.models.acceleration import DTYPES, check_compiler
from oochub.models.extraction import TEMPERATURE, check_perturbation

_PREPROCESSING = ("auto", "fused", "processor")


@dataclass(frozen=True, kw_only=True)
class PredictionSettings:
    """The settings of `oochub.predict` under their names there, which says what each is.

    Raises:
        OochubError: One that is out of range, or a name that is none.

    >>> PredictionSettings(device=torch.device("cpu")).rows_a_pass
    16
    """

    device: torch.device
    dtype: str = "auto"
    preprocessing: str = "auto"
    features: bool = False
    batch_size: int | None = None
    limit: int | None = None
    skip_broken: bool = False
    images: bool = True
    odin: float | None = None
    odin_temperature: float = TEMPERATURE
    zoom: float | None = None
    num_workers: int | None = None
    compile: bool = False

    def __post_init__(self) -> None:
        if self.preprocessing not in _PREPROCESSING:
            raise unknown_name("preprocessing", self.preprocessing, _PREPROCESSING)
        if self.dtype not in DTYPES:
            raise unknown_name("dtype", self.dtype, DTYPES)
        _check_count("batch_size", self.batch_size, "Leave it out for ours.")
        _check_count("limit", self.limit, "Leave it out for all rows.")
        _check_count("num_workers", self.num_workers, "Leave it out for a thread a core.", least=0)
        if self.odin is not None:
            check_perturbation(self.odin, self.odin_temperature)
        if self.compile and (self.features or self.odin is not None):
            options, others = (
                either("compile=True", "--compile"),
                either("features= and odin=", "--features and --odin"),
            )
            raise OochubError(f"{options} is for logits alone, whose network is one piece. Leave out {others}, or it.")
        if self.compile:
            check_compiler(self.device)
        if self.zoom is not None:
            object.__setattr__(self, "zoom", check_zoom(self.zoom))

    @property
    def rows_a_pass(self) -> int:
        """Rows of a forward pass: those that were asked for, else what suits the device.

        A processor takes 32 rows of 224 pixels more slowly than twice 16, which stay in its cache (docs/speed.md).
        """
        return self.batch_size or (128 if self.device.type == "cuda" else 16)

    @property
    def torch_dtype(self) -> torch.dtype:
        """What the network computes in."""
        return DTYPES[self.dtype]

    def record(self) -> dict[str, Any]:
        """All that the answers depend on, JSON types by name: equal exactly where two predictions ask for the same."""
        record = {name: value for name, value in vars(self).items() if name != "num_workers"}
        record |= {"device": self.device.type, "dtype": str(self.torch_dtype), "batch_size": self.rows_a_pass}
        return record


def _check_count(name: str, value: Any, hint: str, *, least: int = 1) -> None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
        raise OochubError(f"{name} must be a whole number, {least} or larger, got {value!r}. {hint}")
