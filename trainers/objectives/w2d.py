"""W2D: trains on the rows with the largest losses, and hides what the model looks at in some of them.

For that the last map of features inside a classifier is found, and the rest of the classifier is a function of it.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from oochub.errors import OochubError
from oochub.records.typed_values import Bounds, Share
from oochub.trainers.batch import Batch
from oochub.trainers.losses import example_losses
from oochub.trainers.objective import Objective, Step
from oochub.trainers.training_step import TrainingStep

_LEAST_CHANGE = 1e-4  # of a probability: a smaller fall is none


_NO_MAPS = (nn.Linear, nn.Conv2d, nn.Dropout)  # projections of a map, and weights of attention


def _find_map(model: Any, probe: Mapping[str, Tensor]) -> str:
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
    >>> _find_map(vit, {"pixel_values": torch.randn(2, 3, 8, 8)}).endswith("1.layernorm_before")
    True
    """
    names: dict[nn.Module, str] = {m: name for name, m in model.named_modules() if name and not isinstance(m, _NO_MAPS)}
    outputs: dict[str, Tensor] = {}

    def record(module: nn.Module, inputs: Any, output: Any) -> None:
        outputs.pop(names[module], None)  # the order is that of the last calls
        if isinstance(output, Tensor) and output.requires_grad and _find_positions(output) > 1:
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
        f"{type(model).__name__} has no map of features, (n, channels, height, width) or (n, tokens, channels), "
        "before its last layer. Use another objective."
    )


class _Tail:
    """A model from the map on: the modules that ran before it answer what they answered in one recorded pass.

    Args:
        model: The model.
        name: Name of the module whose output is the map.
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
            vars(module)["forward"] = _make_answering(answer)
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


def _make_answering(answer: Any) -> Callable[..., Any]:
    return lambda *args, **kwargs: answer


def _find_positions(output: Tensor) -> int:
    if output.ndim == 3 and output.shape[2] > 1:  # (n, channels, 1) is a mean, no map
        return int(output.shape[1])
    return int(output.shape[2] * output.shape[3]) if output.ndim == 4 else 0


class W2d(Objective):
    """The mean loss of hard rows, made harder: worst cases in the sample dimension, then in the feature dimension.

    1. Samples, until the last part of the run: the int(sample_share n) rows of the batch with the largest losses are
       kept, at least one, and weigh alike; the others are not trained on.
    2. Features: with F the last map of features of a row, a the mean over positions of the gradient of its class's
       logit by F, and cam = sum_channels a F, the int(feature_share positions) positions with the largest cam are set
       to 0 in all channels; ties at the edge stay.
    3. Only the round(batch_share n) rows whose class loses most probability by that (more than 1e-4) keep their mask;
       ties at the edge have none.

    The loss is the mean cross entropy of the masked rows; survivors are not rescaled. It knows no environments. The map
    is the last one of which most positions matter: before the pooling of a convolutional network, and for a model with
    a class token before the last layer that reads the others, whose first tokens (class, registers) are never masked.
    Steps 2 and 3 are done with the layers behind the map in evaluation mode, and cost these layers twice more. Under
    several processes the rows are chosen in each process's batch.

    The paper's text in Spawrious, that it "upweights" rows of high loss, is not what the code does. The last part is a
    share of the run here; the code has 5,000 steps written in it.

    `form` names an implementation that differs: "authors" finds the losses of step 1 in training mode, which moves the
    running statistics of BatchNorm twice a step; here in evaluation mode.

    Args:
        sample_share: p of the code, `worst_case_p`. Default 1/3; its search U(0.2, 0.4), or U(0.1, 0.5).
        feature_share: `rsc_f_drop_factor`. Default 1/4; its search U(0.1, 0.4).
        batch_share: `rsc_b_drop_factor`. Default 1/4; its search U(0.1, 0.4).
        last_share: `last_k_epoch`, the last part of the run, in which all rows are kept. Default 1/4; its search
            U(0.2, 0.4).
        form: None or "authors".

    Raises:
        OochubError: A share outside 0 to 1 (sample_share above 0, the next two below 1), or an unknown form; before
            training, labels that are not classes, or a model without a map of features.

    Source: Huang, Wang, Huang, Lee, Xing 2022 (arXiv 2204.04384), its code WisconsinAIVision/W2D, algorithms.py, W2D.

    >>> round(W2d()(torch.zeros(3, 2), torch.tensor([0, 1, 1])).item(), 4)  # log 2; what it changes is the step
    0.6931
    """

    needs_classes: ClassVar[bool] = True
    citation: ClassVar[str] = (
        "Huang, Wang, Huang, Lee, Xing. The Two Dimensions of Worst-case Training and Their Integrated Effect for "
        "Out-of-domain Generalization. CVPR 2022. arXiv:2204.04384"
    )

    def __init__(
        self,
        *,
        sample_share: Annotated[float, Bounds(0, 1, above=True)] = 1 / 3,
        feature_share: Annotated[float, Bounds(0, 1, below=True)] = 0.25,
        batch_share: Annotated[float, Bounds(0, 1, below=True)] = 0.25,
        last_share: Share = 0.25,
        form: Literal["authors"] | None = None,
    ) -> None:
        super().__init__()
        self.keep(
            sample_share=sample_share,
            feature_share=feature_share,
            batch_share=batch_share,
            last_share=last_share,
            form=form,
        )
        self._map = ""

    def examine(self, model: Any, probe: Mapping[str, Tensor], *, label: Tensor, environment: Tensor) -> None:
        """Finds the map, and refuses texts; see `Objective.examine`."""
        if "pixel_values" not in probe:
            raise OochubError("W2d hides parts of images. Use another objective for texts.")
        self._map = _find_map(model, probe)

    def take_step(self, batch: Batch, training: TrainingStep) -> Step:
        """A step on the hard rows, made harder; see `Objective.take_step`."""
        assert isinstance(batch.label, Tensor)  # noqa: S101  nothing mixes here
        if training.done <= 1 - self.last_share:
            batch = batch.take(self._select_hardest(batch, training))
        tail = _Tail(training.module, self._map)
        with tail.recording():
            training.outputs(batch.inputs)
        training.module.eval()
        mask = self._mask(tail, batch)
        training.module.train()
        logits = tail(batch.inputs, tail.map * mask)
        loss = self(logits, batch.label)
        training.update(loss)
        return Step(loss, logits, batch)

    def _select_hardest(self, batch: Batch, training: TrainingStep) -> Tensor:
        assert isinstance(batch.label, Tensor)  # noqa: S101  nothing mixes here
        training.module.train(self.form == "authors")
        with torch.no_grad():
            losses = example_losses(training.outputs(batch.inputs).logits, batch.label)
        training.module.train()
        return losses.argsort(descending=True, stable=True)[: max(1, int(len(losses) * self.sample_share))]

    def _mask(self, tail: _Tail, batch: Batch) -> Tensor:
        """1 where the map stays and 0 where it is hidden, in the map's own shape with one channel."""
        label: Any = batch.label
        leaf = tail.map.detach().requires_grad_()
        logits = tail(batch.inputs, leaf)
        of_class = logits.gather(1, label[:, None])[:, 0]
        gradient = torch.autograd.grad(of_class.sum(), leaf)[0]
        first = tail.first_tokens(batch.inputs)
        channel, places = (2, (1,)) if leaf.ndim == 3 else (1, (2, 3))
        values, slopes = (
            leaf.detach()[:, first:] if first else leaf.detach(),
            gradient[:, first:] if first else gradient,
        )
        cam = (values * slopes.mean(places, keepdim=True)).sum(channel, keepdim=True)
        flat = cam.flatten(1)
        edge = flat.sort(1, descending=True).values[:, int(flat.shape[1] * self.feature_share)]
        mask = (flat <= edge[:, None]).to(leaf.dtype).view(cam.shape)
        if first:
            mask = torch.cat([mask.new_ones(len(mask), first, 1), mask], 1)
        with torch.no_grad():
            before, after = (
                output.float().softmax(1).gather(1, label[:, None])[:, 0]
                for output in (logits, tail(batch.inputs, leaf * mask))
            )
        change = (before - after - _LEAST_CHANGE).clamp(min=0)
        place = min(round(len(change) * self.batch_share), len(change) - 1)
        masked = change > change.sort(descending=True).values[place]
        return mask.where(masked.view(-1, *[1] * (mask.ndim - 1)), 1.0)
