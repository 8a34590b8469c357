"""The model's own head: a classifier or regressor answers as it was trained to.

A causal language model is asked which token comes next at each place, and gives no logits.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import nn
from transformers.modeling_outputs import ImageClassifierOutput

from oochub import catalog
from oochub.benchmark import Benchmark
from oochub.errors import OochubError, choose_wording
from oochub.input import Input
from oochub.models.class_map import LabelMap, match_classes, read_label_map
from oochub.models.extraction import Head, find_head
from oochub.models.mode import Mode, PredictedData, find_declared
from oochub.models.model_source import ModelSource
from oochub.output import Output, check_fixed_classes, find_output_of_features, get_output
from oochub.records.build_record import BuildRecord


class HeadMode(Mode):
    """A model of transformers with a trained head, whose outputs answer for the classes of the data set.

    If label sets differ, `oochub.models.class_map` finds the outputs that answer for a class. The logit of one
    with several is the logsumexp of theirs, so its probability is the sum of their probabilities; the softmax over the
    classes of the data set renormalizes what is left when other outputs are dropped. Such logits are no linear
    function of the features: these are stored, and no head.

    Args:
        source: See `Mode`.
        inputs: See `Mode`.
        data: See `Mode`.
        label_map: A class of the data set to the classes of the model that answer for it: a mapping, or a .csv or .json
            file; see `oochub.models.class_map`. It wins over names.
        restrict: Leave out the rows of classes that the model does not know, instead of an error.

    Raises:
        OochubError: The outputs of the model are not those of the data set, or a label map that does not fit.
    """

    auto_models: ClassVar[tuple[str, ...]] = (
        "AutoModelForImageClassification",
        "AutoModelForSequenceClassification",
        "AutoModelForCausalLM",
    )
    rank: ClassVar[int] = 0

    def __init__(
        self,
        source: ModelSource,
        inputs: Input,
        data: PredictedData,
        *,
        label_map: str | Path | Mapping[str, Any] | None = None,
        restrict: bool = False,
    ) -> None:
        given = None if label_map is None else read_label_map(label_map)
        self.kind = _find_kind(source.config, data.part)
        says_tokens = inputs.auto_model == "AutoModelForCausalLM"
        if says_tokens != (self.kind.name == "tokens"):
            what, truth = ("tokens", self.kind.name) if says_tokens else ("no tokens", "tokens")
            raise OochubError(
                f"A model of {inputs.words()} answers with {what}, but the rows have {truth}. Use another model."
            )
        source.check_kind(inputs.auto_model)
        self._map = _make_label_map(source.config, data.part, self.kind, given, restrict)
        model, unexpected = source.open(inputs.auto_model, inputs)
        self._model = model.to(data.device)
        self.class_names, self.left_out = self._map.class_names, self._map.left_out
        network = self._model if self._map.is_identity else _Mapped(self._model, self._map.outputs)
        network = _NextTokens(self._model) if says_tokens else network
        positive = _find_positive(source.config, self.class_names) if self.kind.name == "classes" else None
        network = network if positive is None else _Mapped(self._model, [(0,) if k == positive else () for k in (0, 1)])
        self._positive = positive
        self.network = network.eval()
        self.about, self.training = source.about("head"), source.training
        self.is_linear, self.notes = not self._map.has_sums, self._map.notes
        if positive is not None:
            name = self.class_names[positive]
            self.notes = (*self.notes, f"the model has one output, read as a sigmoid: above 0 it answers {name}")
        if getattr(source.config, "num_channels", None) == 1 and inputs.unit == "image":
            self.notes = (*self.notes, "images are made gray, because the model reads one channel")
        self.details = {"unexpected_weights": list(unexpected)} if unexpected else {}
        self.details |= getattr(source.given, "details", {})
        if self._map.details:
            self.details |= {"label_map": self._map.details}
        if self._map.has_sums:
            self.details |= {"head": "none: the probability of a class is the sum of several of the model's"}

    def head(self, probe: Mapping[str, torch.Tensor]) -> Head:
        """See `Mode.head`; of the first output of each class."""
        if isinstance(self.network, _NextTokens):
            raise OochubError("Features need rows with one answer, but these have one for each token. Remove them.")
        head, first = find_head(self._model, probe), [outputs[0] for outputs in self._map.outputs]
        if self._positive is not None:
            is_positive = torch.tensor([k == self._positive for k in (0, 1)]).to(head.weight)
            return head._replace(weight=is_positive[:, None] * head.weight, bias=is_positive * head.bias)
        return head._replace(weight=head.weight[first], bias=head.bias[first])


class _Mapped(nn.Module):  # type: ignore[misc]
    """A model whose outputs, one or several, answer for other classes; the logit of a class with none is 0.

    So one output for one of two classes is its sigmoid.
    """

    def __init__(self, model: nn.Module, outputs: Sequence[tuple[int, ...]]) -> None:
        super().__init__()
        self.model, self._outputs = model, [list(several) for several in outputs]

    def forward(self, **inputs: torch.Tensor) -> ImageClassifierOutput:
        logits = self.model(**inputs).logits
        if all(len(several) == 1 for several in self._outputs):
            return ImageClassifierOutput(logits=logits[:, [k for (k,) in self._outputs]])
        none = logits.new_zeros(len(logits))
        summed = [logits[:, several].logsumexp(1) if several else none for several in self._outputs]
        return ImageClassifierOutput(logits=torch.stack(summed, dim=1))


def _find_positive(config: Any, names: Sequence[str]) -> int | None:
    """The class of two that one output stands for: the one that bears its name, else the second; else None.

    A model that says that it was trained to give a number has no logit.
    """
    if config.num_labels != 1 or len(names) != 2 or config.problem_type == "regression":
        return None
    own = str((config.id2label or {}).get(0, "")).strip().lower().replace("label_0", "")  # no name but a number
    return next((k for k, name in enumerate(names) if name.strip().lower() == own), 1)


def _find_kind(config: Any, part: Any) -> Output:
    """The kind of output: that of the data set's truth, else of the model's config."""
    name = find_output_of_features(part.features or {})
    if name is None:
        problem = getattr(config, "problem_type", None)
        name = next((output for output in catalog.names("output") if get_output(output).problem_type == problem), None)
        name = name or ("number" if config.num_labels == 1 else "classes")
    kind = get_output(name)
    check_fixed_classes(kind)
    return kind


def _make_label_map(
    config: Any, part: Any, kind: Output, given: Mapping[str, Sequence[str | int]] | None, restrict: bool
) -> LabelMap:
    """The outputs that answer for the classes of the data set; for a number, the output for its column."""
    named = config.id2label or {}  # some configs name none
    own = [str(named.get(k, f"LABEL_{k}")) for k in range(config.num_labels)]
    features = part.features or {}
    has_truth = kind.is_truth_of(features)
    names = kind.class_names(part) if has_truth else None
    if kind.problem_type == "regression" and len(own) != 1:
        raise OochubError(
            f"A number needs a model with one output, but this one has {len(own)}. Train one with `oochub train`."
        )
    if names is None and (given is not None or restrict):
        options = choose_wording("label_map= and restrict=")
        raise OochubError(f"{options} concern classes with names, but the dataset has none. Remove them.")
    if not kind.has_classes:
        return LabelMap.in_order([kind.label_column])
    if given is None and not restrict and kind.name == "classes" and _find_positive(config, names or ()) is not None:
        return LabelMap.in_order(names or ())
    record = BuildRecord.of(part.info)
    declared = find_declared(record)
    classes = None if declared is None else declared.imagenet_classes
    if record is not None and isinstance(declared, Benchmark) and record.facts.imagenet_classes is not None:
        classes = record.facts.imagenet_classes
    label_map = (
        LabelMap.in_order(own)
        if names is None
        else match_classes(own, names, given=given, declared=classes, restrict=restrict)
    )
    if not kind.one_answer and (label_map.has_sums or label_map.left_out):
        raise OochubError(
            "Mapping several classes of a model to one, and leaving rows out, need data with one class per row; "
            f"these rows have {kind.name}. Give each class one class of the model."
        )
    return label_map


class _NextTokens(nn.Module):  # type: ignore[misc]
    """Answers with the most probable next token: `logits` are numbers of tokens, int64 (b, t), -1 where there is none.

    Args:
        model: Model of transformers; its logits are (b, t, vocabulary).

    >>> from transformers import GPT2Config, GPT2LMHeadModel
    >>> model = GPT2LMHeadModel(GPT2Config(vocab_size=9, n_positions=4, n_embd=8, n_layer=1, n_head=1)).eval()
    >>> ids = torch.tensor([[3, 4], [5, 0]])
    >>> _NextTokens(model)(input_ids=ids, attention_mask=torch.tensor([[1, 1], [1, 0]])).logits[1, 1].item()
    -1
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        config: Any = model.config
        self._vocabulary: int = config.vocab_size
        self._longest: int = getattr(config, "max_position_embeddings", None) or 2**31

    def forward(self, *, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> ImageClassifierOutput:
        """The answers to a batch, see `Extraction`.

        Raises:
            OochubError: A token that the model does not know, or more of them than it reads.
        """
        largest, length = int(input_ids.max()), input_ids.shape[1]
        if largest >= self._vocabulary:
            raise OochubError(
                f"The dataset has the token {largest}, but the model knows only those from 0 to "
                f"{self._vocabulary - 1}. Use a model with the same tokenizer."
            )
        if length > self._longest:
            raise OochubError(
                f"A row has {length} tokens, but the model reads at most {self._longest}. Shorten the rows."
            )
        logits = self.model(input_ids=input_ids, attention_mask=attention_mask).logits
        if not logits.isfinite().all():
            raise OochubError(
                "The model produces non-finite logits. Its training diverged, or it needs a higher precision."
            )
        return ImageClassifierOutput(logits=logits.argmax(-1).masked_fill(attention_mask == 0, -1))
