"""Everything that is stored of what a model says: logits, features, and both of changed images.

Features are what the last linear layer sees, which is found by what it computes, never by what it is called. The
perturbed input of ODIN is a small step that makes the model surer of what it says, larger for known classes.

The boxes of a detector are stored, each with the score of its class, as fractions of images that it sees whole. Whole
means squeezed to one size: a crop, or padding, would lose where a box lies in the image.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from oochub.errors import OochubError, choose_wording
from oochub.input import InputBatch
from oochub.models.onnx_file import OnnxFile
from oochub.records.metadata import VECTORS, OdinSettings
from oochub.settings.prediction_settings import ODIN_TEMPERATURE


class Perturbation:
    """x' = x - epsilon sign(grad_x CE(l(x) / T, argmax l(x))) / std.

    x is what the model sees: pixels scaled, usually to [0, 1], less a mean, divided by `std`. The step in that space
    is epsilon / std of each channel, so epsilon itself is a step of the scaled pixels before they are normalized, as
    in the released code of ODIN: 0.0014 is about a third of one of 255 gray levels. The sign of a gradient of 0 is 0
    (the released code takes +1).

    Each image is perturbed by its own gradient: neither the size of the batch nor its other images matter, beyond
    the rounding of the model itself.

    Args:
        epsilon: The step, above 0.
        temperature: T, above 0. The score of `odin` is at the same temperature.
        std: What the model's processor divides each channel by.

    Source: Liang, Li and Srikant 2018 (arXiv 1706.02690), Section 3, Equation 2.
    """

    def __init__(
        self, epsilon: float, *, temperature: float = ODIN_TEMPERATURE, std: Sequence[float] = (1.0,) * 3
    ) -> None:
        self.epsilon, self.temperature = float(epsilon), float(temperature)
        self.std = [float(deviation) for deviation in std]

    @property
    def settings(self) -> OdinSettings:
        """What predictions say of their `odin_logits`.

        >>> Perturbation(0.0014).settings
        OdinSettings(epsilon=0.0014, temperature=1000.0, std=(1.0, 1.0, 1.0))
        """
        return OdinSettings(epsilon=self.epsilon, temperature=self.temperature, std=tuple(self.std))

    def __call__(self, model: Any, pixel_values: torch.Tensor | None) -> torch.Tensor:
        """The perturbed x' (b, 3, h, w) of x; the model's parameters get no gradient.

        Args:
            model: Model in evaluation mode; its output has `logits` (b, c).
            pixel_values: x, on the model's device; None for a model that is called with something else.

        Raises:
            OochubError: The model does not read pixels of such channels, but patches of an image or color numbers.
        """
        if pixel_values is None or pixel_values.ndim != 4 or pixel_values.shape[1] != len(self.std):
            raise OochubError(
                f"ODIN perturbs the pixels of an image, but {type(model).__name__} does not take pixels. Remove "
                f"{choose_wording('odin=')}."
            )
        with torch.enable_grad():
            x = pixel_values.detach().clone().requires_grad_(True)
            logits = model(pixel_values=x).logits
            loss = torch.nn.functional.cross_entropy(
                logits / self.temperature, logits.detach().argmax(1), reduction="sum"
            )
            (gradient,) = torch.autograd.grad(loss, x)
        std = torch.tensor(self.std, dtype=x.dtype, device=x.device).view(1, -1, 1, 1)
        return x.detach() - self.epsilon * gradient.sign() / std


class Head(NamedTuple):
    """The layers whose mean output is the logits: `mean(f_k @ W_k.T + b_k)`, and the features they see.

    `weight` (c, d) and `bias` (c,) act on the concatenated inputs of the layers, so that
    `features @ weight.T + bias` equals the logits. An ONNX file has no layers; `read` gives its features.
    """

    layers: tuple[nn.Module, ...]
    weight: torch.Tensor
    bias: torch.Tensor
    read: Callable[[Mapping[str, torch.Tensor]], torch.Tensor] | None = None


def find_head(model: Any, probe: Mapping[str, torch.Tensor]) -> Head:
    """The head of a Hugging Face classifier or regressor, found with one probe batch in evaluation mode.

    Hooks on every linear layer and 1x1 convolution record what goes in and out. The head is the last layer whose
    output equals the logits; else the linear layers with one output a class whose mean equals them (a classifier
    with a distillation head).

    Args:
        model: A model whose output has `logits` (n, c).
        probe: What the model is called with, of at least two rows that differ: `pixel_values` (n, 3, h, w), ...

    Raises:
        OochubError: No such layer; features cannot be stored for this model.

    >>> from transformers import ResNetConfig, ResNetForImageClassification
    >>> config = ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic", num_labels=3)
    >>> head = find_head(ResNetForImageClassification(config).eval(), {"pixel_values": torch.randn(2, 3, 32, 32)})
    >>> tuple(head.weight.shape)
    (3, 16)
    """
    file = getattr(model, "function", None)
    if isinstance(file, OnnxFile):
        return Head(
            (), *file.read_head(probe["pixel_values"]), lambda inputs: file(inputs["pixel_values"], is_features=True)
        )
    with record_calls(model, _find_linear_layers(model)) as calls, torch.inference_mode():
        logits = model(**probe).logits
    n = len(logits)
    for layer, (_, output) in reversed(calls.items()):
        if output.reshape(n, -1).shape == logits.shape and torch.equal(output.reshape(n, -1), logits):
            return _check_head(Head((layer,), *_read_parameters(layer)), calls, logits)
    parts = [layer for layer, (_, output) in calls.items() if output.shape == logits.shape]
    if len(parts) > 1 and torch.allclose(torch.stack([calls[p][1] for p in parts]).mean(0), logits, atol=1e-5):
        weights, biases = zip(*map(_read_parameters, parts), strict=True)
        return _check_head(
            Head(tuple(parts), torch.cat(weights, 1) / len(parts), torch.stack(biases).mean(0)), calls, logits
        )
    raise OochubError(
        f"{type(model).__name__} does not end in a linear layer that outputs the logits, so its features cannot be "
        f"determined. Predict without {choose_wording('features=True')}."
    )


Calls = dict[nn.Module, tuple[torch.Tensor, torch.Tensor]]
"""The first tensor that went into each layer and the first that came out of it, by its last call; empty for none."""


def take_features(calls: Calls, layers: Sequence[nn.Module]) -> torch.Tensor:
    """The input of the layers of a head (n, d) from recorded calls."""
    return torch.cat([calls[layer][0].flatten(1) for layer in layers], dim=1)


class record_calls:
    """Records the input and output of the last call of each layer while the block runs.

    Args:
        model: The model.
        layers: Layers of it.
        copies: Record copies of the outputs, which a later layer that works in place does not change.
    """

    def __init__(
        self, model: nn.Module, layers: list[nn.Module] | tuple[nn.Module, ...], *, copies: bool = False
    ) -> None:
        self._layers, self._copies = layers, copies
        self._calls: Calls = {}
        self._handles: list[Any] = []

    def __enter__(self) -> Calls:
        def record(layer: nn.Module, inputs: object, output: object) -> None:
            self._calls.pop(layer, None)  # the order of the dict is that of the last calls
            tensor = _take_first_tensor(output)
            self._calls[layer] = (_take_first_tensor(inputs), tensor.clone() if self._copies else tensor)

        self._handles = [layer.register_forward_hook(record) for layer in self._layers]
        return self._calls

    def __exit__(self, *error: object) -> None:
        for handle in self._handles:
            handle.remove()


def _take_first_tensor(values: object) -> torch.Tensor:
    """The first tensor of what a layer takes or gives: one, several, or several by name; an empty one for none."""
    several = values.values() if isinstance(values, Mapping) else values
    several = several if isinstance(several, Iterable) and not isinstance(several, torch.Tensor) else [several]
    return next((tensor.detach() for tensor in several if isinstance(tensor, torch.Tensor)), torch.empty(0))


def _find_linear_layers(model: nn.Module) -> list[nn.Module]:
    return [
        layer
        for layer in model.modules()
        if isinstance(layer, nn.Linear) or (isinstance(layer, nn.Conv2d) and layer.kernel_size == (1, 1))
    ]


def _read_parameters(layer: Any) -> tuple[torch.Tensor, torch.Tensor]:
    weight: torch.Tensor = layer.weight.detach().flatten(1)
    bias = torch.zeros(len(weight), device=weight.device) if layer.bias is None else layer.bias.detach()
    return weight, bias


def _check_head(head: Head, calls: Calls, logits: torch.Tensor) -> Head:
    rebuilt = take_features(calls, head.layers) @ head.weight.T + head.bias
    error = (rebuilt - logits).abs().max().item()
    if error > 1e-4 * max(1.0, logits.abs().max().item()):
        raise OochubError(
            f"The head that was found does not reproduce the logits (off by {error:.2g}); predict without features."
        )
    return head


class FeatureReader:
    """Reads the features (n, d) of a batch.

    Attributes:
        layers: Layers whose calls are recorded while the network runs.
        head: The last layer of the network, if the features are its input.
        details: What predictions say of features that are not the input of the head.
    """

    layers: tuple[nn.Module, ...] = ()
    head: Head | None = None
    details: Mapping[str, str] = {}

    def __call__(self, calls: Calls, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Float (n, d).

        Args:
            calls: What went into the layers, and what came out.
            inputs: What the network was called with.
        """
        raise NotImplementedError


class Extraction:
    """Runs a model on batches and gives the columns that are stored of each.

    The plain columns come from a pass of their own: what else is asked for does not change a bit of them.

    Args:
        network: Network of a mode: in evaluation mode, its logits in the order of the classes.
        features: Reads the features to store; None for none.
        perturbation: Perturbation of ODIN, to store the logits of the perturbed images; None for none.
    """

    def __init__(
        self, network: Any, *, features: FeatureReader | None = None, perturbation: Perturbation | None = None
    ) -> None:
        self._network, self._features, self._perturbation = network, features, perturbation

    def __call__(self, batch: InputBatch) -> dict[str, torch.Tensor]:
        """float32 (b, ...) on the CPU, by the name of the column, in the order of `VECTORS`."""
        columns = self._extract_columns(batch.inputs)
        if batch.zoomed is not None:
            columns |= {f"zoom_{name}": values for name, values in self._extract_columns(batch.zoomed).items()}
        return {name: columns[name] for name in VECTORS if name in columns}

    def _extract_columns(self, inputs: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        columns = {}
        layers = () if self._features is None else self._features.layers
        copies = self._features is not None and self._features.head is None
        with torch.inference_mode(), record_calls(self._network, layers, copies=copies) as calls:
            columns["logits"] = self._compute_logits(inputs)
            if self._features is not None:
                columns["features"] = self._features(calls, inputs).float().cpu()
        if self._perturbation is not None:
            perturbed = self._perturbation(self._network, inputs.get("pixel_values"))
            with torch.inference_mode():
                columns["odin_logits"] = self._compute_logits({**inputs, "pixel_values": perturbed})
        return columns

    def _compute_logits(self, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
        logits: torch.Tensor = self._network(**inputs).logits
        return logits.float().cpu()


def check_whole_images(processor: Any) -> None:
    """Checks that an image processor squeezes whole images to one height and width.

    Raises:
        OochubError: The processor crops, pads or keeps the shape: where a box lies in the image would be lost.

    >>> from transformers import YolosImageProcessorPil
    >>> check_whole_images(YolosImageProcessorPil(size={"height": 512, "width": 512}))
    """
    names = {name for name, pixels in dict(getattr(processor, "size", None) or {}).items() if pixels}
    crops = getattr(processor, "do_center_crop", False)
    if crops or not {"height", "width"} <= names:
        does = "crops them" if crops else f"resizes them by {', '.join(sorted(names)) or 'no size'}"
        raise OochubError(
            f"For boxes a model must see whole images resized to one size, but its processor {does}. Save it with "
            "size={'height': 512, 'width': 512} and do_center_crop=False, or train with an image_size."
        )


def read_image_sizes(columns: Mapping[str, Sequence[Any]]) -> NDArray[np.float64]:
    """The width and height of the image of each row (n, 2), in pixels.

    Raises:
        OochubError: A column is missing.

    >>> read_image_sizes({"width": [640], "height": [480]}).tolist()
    [[640.0, 480.0]]
    """
    missing = [name for name in ("width", "height") if name not in columns]
    if missing:
        raise OochubError(
            f"Boxes are in pixels, but the dataset has no image sizes: it has no column {' and '.join(missing)}. "
            "Add the columns width and height, in pixels."
        )
    return np.stack([np.asarray(columns[name], np.float64) for name in ("width", "height")], axis=1)


def score_boxes(logits: Tensor, boxes: Tensor, classes: int) -> tuple[Tensor, Tensor, Tensor]:
    """The corners (n, q, 4) of the boxes of a detector, and of each the largest score and its class (n, q).

    A score is the largest of a box over the classes: from a softmax without its last class, "no object", where the
    model has one for it, else from a sigmoid. See `draw_boxes` for the arguments.
    """
    has_none = logits.shape[-1] == classes + 1
    scores, label = (logits.softmax(-1)[..., :-1] if has_none else logits.sigmoid()).max(-1)
    center, half = boxes[..., :2], boxes[..., 2:] / 2
    return torch.cat([center - half, center + half], -1), scores, label


def draw_boxes(logits: Tensor, boxes: Tensor, asked: Sequence[int], *, classes: int) -> Tensor:
    """The boxes of a detector with the scores that transformers' post-processing gives them, see `score_boxes`.

    Args:
        logits: float (n, q, c + 1), the last "no object"; or (n, q, c).
        boxes: float (n, q, 4), x and y of the center, width and height, as fractions of the image.
        asked: Numbers of the classes whose boxes count.
        classes: Number of classes, c.

    Returns:
        float (n, q, 5): x1, y1, x2, y2 as fractions of the image, and the score; -1 for a box of another class.

    >>> logits = torch.tensor([[[0.0, 0.0], [9.0, 0.0]]])
    >>> boxes = torch.tensor([[[0.5, 0.5, 1, 1], [0.25, 0.5, 0.5, 1]]])
    >>> draw_boxes(logits, boxes, [0], classes=1)[0].round(decimals=2)
    tensor([[0.0000, 0.0000, 1.0000, 1.0000, 0.5000],
            [0.0000, 0.0000, 0.5000, 1.0000, 1.0000]])
    """
    corners, scores, label = score_boxes(logits, boxes, classes)
    is_asked = torch.isin(label, torch.tensor(list(asked), device=label.device))
    return torch.cat([corners, scores.where(is_asked, -1)[..., None]], -1)
