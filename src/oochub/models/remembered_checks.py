"""What the checks before a prediction measured of a network, remembered by network, machine and versions."""

import json
import platform
from collections.abc import Callable, Sequence
from functools import cached_property
from importlib.metadata import version
from typing import TypeVar

import torch
from torch import nn

from oochub.models.callable_model import digest_module, digest_state
from oochub.storage.cache import digest_code, keep_bytes, make_key, read_kept_bytes

_T = TypeVar("_T")
_HOOKS = ("_forward_hooks", "_forward_pre_hooks")


class MeasuredNetwork:
    """A network as the checks before a prediction call it: what they measured of it once is not measured again.

    A network is known by its weights, buffers, layers and code, and a measurement also by threads, precision, machine
    and versions. A network of which something cannot be known, or that calls hooks, is measured each time.

    Args:
        network: Network in evaluation mode; `network(**inputs).logits` is a tensor.
        kept: Whether measurements are kept at all.

    >>> network = MeasuredNetwork(nn.Linear(2, 3))
    >>> network.measure_once(["rows"], lambda: 2), network.measure_once(["rows"], lambda: 4)
    ((2, False), (2, True))
    """

    def __init__(self, network: nn.Module, *, kept: bool = True) -> None:
        self._network, self._kept = network, kept

    def __call__(self, **inputs: torch.Tensor) -> object:
        """What the network itself says."""
        return self._network(**inputs)

    def measure_once(
        self, about: Sequence[object], measure: Callable[[], _T], *, holds: Callable[[_T], bool] = lambda value: True
    ) -> tuple[_T, bool]:
        """What was measured of this network in an earlier run and True, else what is measured now and False.

        Args:
            about: All else that decides what comes out, JSON types.
            measure: Measures it: JSON types.
            holds: Whether a value may stand for later ones, which may be of other images.
        """
        name = self._key and f"{make_key(self._key, *about)}.json"
        content = name and read_kept_bytes("passes", name)
        if content:
            return json.loads(content), True
        value = measure()
        if name and holds(value):
            keep_bytes("passes", name, json.dumps(value).encode(), what="What was measured of the network")
        return value, False

    @cached_property
    def digest(self) -> str | None:
        """What `digest_module` gives for the network."""
        return digest_module(self._network)

    @cached_property
    def _key(self) -> str | None:
        """A digest of all that decides what the network answers; None if something cannot be known."""
        if not self._kept or any(getattr(layer, hooks) for layer in self._network.modules() for hooks in _HOOKS):
            return None
        how = [torch.get_num_threads(), torch.get_float32_matmul_precision(), torch.backends.mkldnn.enabled]
        how += [platform.machine(), torch.backends.cpu.get_cpu_capability(), *map(version, ("torch", "transformers"))]
        buffers = digest_state(dict(self._network.named_buffers()))
        return self.digest and make_key(self.digest, buffers, *how, digest_code())
