"""What the features of a row are: the input of the head, the output of a named layer, or what a function returns."""

from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch import nn

from oochub.errors import OochubError, choose_wording, did_you_mean
from oochub.inputs.pictures.image_processor import digest_code
from oochub.models.callable_model import CallableModel, digest_module
from oochub.models.extraction import Calls, FeatureReader, Head, take_features
from oochub.models.mode import Mode


class HeadFeatures(FeatureReader):
    """The input of the last linear layer.

    Args:
        head: The layer, see `oochub.models.extraction.find_head`.
    """

    def __init__(self, head: Head) -> None:
        self.head, self.layers, self._read = head, head.layers, head.read

    def __call__(self, calls: Calls, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """See `FeatureReader`."""
        return take_features(calls, self.layers) if self._read is None else self._read(inputs)


class LayerFeatures(FeatureReader):
    """The output of a layer: (n, d) as it is, the mean over the tokens of (n, t, d) or the places of (n, d, h, w).

    Args:
        network: Network of a mode.
        name: Name of the layer as `named_modules()` of the user's module, or of the model of transformers, has it.

    Raises:
        OochubError: No such layer, or a model that is a plain function.

    >>> net = nn.Sequential(nn.Flatten(), nn.Linear(4, 3))
    >>> LayerFeatures(net, "1").layers
    (Linear(in_features=4, out_features=3, bias=True),)
    """

    def __init__(self, network: nn.Module, name: str) -> None:
        own = _find_own_module(network)
        named = {} if own is None else dict(own.named_modules())
        named.pop("", None)
        option = choose_wording(f"features={name!r}", f"the features {name!r}")
        if not named:
            raise OochubError(f"{option} names a layer, but the model has none. Pass a function from images to (n, d).")
        if name not in named:
            raise OochubError(
                f"{option}: the model has no layer of that name.{did_you_mean(name, named)} "
                "[name for name, _ in net.named_modules()] lists them."
            )
        self.layers, self._name = (named[name],), name
        self.details = {"features": f"the layer {name}", "head": f"none: the features are the output of {name}"}

    def __call__(self, calls: Calls, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """See `FeatureReader`.

        Raises:
            OochubError: The layer did not run, or its output is not one vector, list of tokens or map a row.
        """
        if self.layers[0] not in calls:
            raise OochubError(f"The layer {self._name} does not run when the model answers. Choose one that does.")
        output, count = calls[self.layers[0]][1], len(next(iter(inputs.values())))
        if not output.is_floating_point() or output.ndim not in (2, 3, 4) or len(output) != count:
            shown = f"{_describe_type(output)} {tuple(output.shape)}" if output.numel() else "no tensor"
            raise OochubError(
                f"The layer {self._name} gives {shown} for {count} rows, but features are floats: (n, d), tokens (n, "
                "t, d) or places (n, d, h, w). Choose another layer, or give a function from images to (n, d)."
            )
        pooled: torch.Tensor = output.flatten(2).mean(2) if output.ndim == 4 else output
        return pooled.mean(1) if output.ndim == 3 else pooled


class FunctionFeatures(FeatureReader):
    """What a function or module makes of the images, beside the network.

    Args:
        function: Takes images float32 (n, c, h, w) on the device, returns floats (n, d), a tensor or an array.
        device: Device of the network; a module is moved there.
        dtype: What the network beside it computes in; a shorter one than float32 is autocast.
    """

    def __init__(
        self, function: Callable[[torch.Tensor], object], device: torch.device, dtype: torch.dtype = torch.float32
    ) -> None:
        self._dtype = dtype
        self._function = function.to(device).eval() if isinstance(function, nn.Module) else function
        own = type(function) if isinstance(function, nn.Module) else function
        self._name = str(getattr(own, "__name__", type(function).__name__))
        self.details = {"features": f"the function {self._name}", "head": "none: the features are of a function"}

    def __call__(self, calls: Calls, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """See `FeatureReader`.

        Raises:
            OochubError: The network reads no plain images, or the function returned something else.
        """
        if set(inputs) != {"pixel_values"}:
            raise OochubError(
                f"A function of features is called with one tensor of images, but the rows give {', '.join(inputs)}. "
                f"Name a layer: {choose_wording('features=', 'features:')} 'encoder'."
            )
        pixels = inputs["pixel_values"]
        with torch.autocast(pixels.device.type, dtype=self._dtype, enabled=self._dtype != torch.float32):
            features = self._function(pixels)
        features = torch.from_numpy(features) if isinstance(features, np.ndarray) else features
        if not isinstance(features, torch.Tensor):
            raise OochubError(
                f"The function {self._name} of features must return a tensor or array ({len(pixels)}, d), but it "
                f"returned a {type(features).__name__}."
            )
        if (
            features.ndim != 2
            or len(features) != len(pixels)
            or not features.shape[1]
            or not features.is_floating_point()
        ):
            raise OochubError(
                f"The function {self._name} of features must return floats ({len(pixels)}, d), a vector for each "
                f"image. It returned {_describe_type(features)} {tuple(features.shape)}."
            )
        return features


def choose_features(
    features: object, mode: Mode, few: Mapping[str, torch.Tensor], *, device: torch.device, dtype: torch.dtype
) -> FeatureReader | None:
    """What reads the features that were asked for.

    Args:
        features: See `oochub.predict`.
        mode: Mode, opened.
        few: Inputs of a few rows.
        device: Device of the network.
        dtype: What the network computes in.

    Raises:
        OochubError: No head, no such layer, or features of another form than (n, d).
    """
    if features is False:
        return None
    if features is True:
        return HeadFeatures(mode.head(few))
    if mode.kind.name in ("tokens", "boxes"):
        raise OochubError(
            f"Features need rows with one answer, but these have {mode.kind.name}. Remove "
            f"{choose_wording('features=')}."
        )
    if isinstance(features, str):
        return LayerFeatures(mode.network, features)
    assert callable(features)  # noqa: S101  the record of settings says so
    return FunctionFeatures(features, device, dtype)


def describe_features(features: object) -> object:
    """What a cache key says of the features: a text, or the function itself if no digest stands for it.

    >>> describe_features("layer4"), describe_features(True)
    ('layer4', True)
    """
    if isinstance(features, bool | str):
        return features
    digest = digest_module(features) if isinstance(features, nn.Module) else digest_code(features)
    return features if digest is None else ["function", digest]


def _find_own_module(network: nn.Module) -> nn.Module | None:
    """The user's module or the model of transformers inside the network of a mode; None for a plain function."""
    from transformers import PreTrainedModel

    kinds = (CallableModel, PreTrainedModel)
    own: nn.Module = next((inner for inner in network.modules() if isinstance(inner, kinds)), network)
    if not isinstance(own, CallableModel):
        return own
    return own.function if isinstance(own.function, nn.Module) else None


def _describe_type(values: torch.Tensor) -> str:
    return str(values.dtype).removeprefix("torch.")
