"""The last map of features inside a classifier, and the rest of the classifier as a function of it."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from oochub.errors import OochubError

_NO_MAPS = (nn.Linear, nn.Conv2d, nn.Dropout)  # projections of a map, and weights of attention


def find_map(model: Any, probe: Mapping[str, Tensor]) -> str:
    """The name of the module whose output is the last map of which most positions matter to the logits.

    A map is (n, channels, height, width) or (n, tokens, channels). Behind a class token the other tokens do not matter
    any more; the map then lies before the last layer that reads them.

    Args:
        model: A classifier; its mode is as before afterwards.
        probe: Inputs to call it with.

    Raises:
        OochubError: There is no such module.

    >>> from transformers import ViTConfig, ViTForImageClassification
    >>> shape = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 8}
    >>> vit = ViTForImageClassification(ViTConfig(image_size=8, patch_size=4, **shape))
    >>> find_map(vit, {"pixel_values": torch.randn(2, 3, 8, 8)}).endswith("1.layernorm_before")
    True
    """
    names: dict[nn.Module, str] = {m: name for name, m in model.named_modules() if name and not isinstance(m, _NO_MAPS)}
    outputs: dict[str, Tensor] = {}

    def record(module: nn.Module, inputs: Any, output: Any) -> None:
        outputs.pop(names[module], None)  # the order is that of the last calls
        if isinstance(output, Tensor) and output.requires_grad and _positions(output) > 1:
            outputs[names[module]] = output

    training = model.training
    handles = [module.register_forward_hook(record) for module in names]
    try:
        score = model.eval()(**probe).logits.square().sum()
    finally:
        model.train(training)
        for handle in handles:
            handle.remove()
    values = torch.autograd.grad(score, list(outputs.values()), allow_unused=True) if outputs else ()
    gradients = dict(zip(outputs, values, strict=True))
    for where in reversed(list(outputs)):
        gradient = gradients[where]
        if gradient is not None:
            matters = gradient.abs().sum((0, 1 if gradient.ndim == 4 else 2)) > 0
            if matters.float().mean() > 0.5:
                return where
    raise OochubError(
        f"{type(model).__name__} has no map of features, (n, channels, height, width) or (n, tokens, channels), before "
        "its last layer. Take another objective."
    )


class Tail:
    """A model from the map on: the modules that ran before it answer what they answered in one recorded pass.

    Args:
        model: The model.
        name: Of the module whose output is the map.
    """

    def __init__(self, model: nn.Module, name: str) -> None:
        self._model, self._layer = model, model.get_submodule(name)
        parents = [model.get_submodule(name.rpartition(".")[0] if "." in name else "")]
        while parents[-1] is not model:
            inner = next(name for name, module in model.named_modules() if module is parents[-1])
            parents.append(model.get_submodule(inner.rpartition(".")[0] if "." in inner else ""))
        path = {self._layer, *parents}
        self._siblings = [child for parent in parents for child in parent.children() if child not in path]
        self._kept: dict[nn.Module, Any] = {}

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Keeps what the modules up to the map answer while the block runs."""
        self._kept = {}

        def keep(module: nn.Module, inputs: Any, output: Any) -> None:
            if self._layer not in self._kept:
                self._kept[module] = output

        handles = [module.register_forward_hook(keep) for module in (*self._siblings, self._layer)]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    @property
    def map(self) -> Tensor:
        """The recorded map."""
        values: Tensor = self._kept[self._layer]
        return values

    def __call__(self, inputs: Mapping[str, Tensor], changed: Tensor) -> Tensor:
        """The logits of the recorded inputs with the map replaced."""
        answers = {**self._kept, self._layer: changed}
        own = [(module, vars(module).get("forward")) for module in answers]  # None: that of its class
        for module, answer in answers.items():
            vars(module)["forward"] = _answering(answer)
        try:
            logits: Tensor = self._model(**inputs).logits
        finally:
            for module, forward in own:
                if forward is None:
                    del vars(module)["forward"]
                else:
                    vars(module)["forward"] = forward
        return logits

    def first_tokens(self, inputs: Mapping[str, Tensor]) -> int:
        """How many tokens of the map stand before those of the patches: class token, registers."""
        patch, tokens = getattr(self._model.config, "patch_size", None), self.map.shape[1]
        if self.map.ndim != 3 or not isinstance(patch, int):
            return 0
        height, width = inputs["pixel_values"].shape[-2:]
        patches = (height // patch) * (width // patch)
        return tokens - patches if tokens > patches else 0


def _answering(answer: Any) -> Callable[..., Any]:
    return lambda *args, **kwargs: answer


def _positions(output: Tensor) -> int:
    if output.ndim == 3 and output.shape[2] > 1:  # (n, channels, 1) is a mean, no map
        return int(output.shape[1])
    return int(output.shape[2] * output.shape[3]) if output.ndim == 4 else 0
