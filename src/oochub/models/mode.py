"""The form of a mode: how a model answers with a logit for each class of a data set."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from oochub import catalog
from oochub.benchmark import Benchmark
from oochub.errors import OochubError, choose_wording, unknown_name
from oochub.input import Input
from oochub.models.extraction import Head, find_head
from oochub.models.model_source import ModelSource
from oochub.models.supported_models import list_architectures
from oochub.output import Output
from oochub.records.build_record import BuildRecord, OwnDeclaration
from oochub.records.metadata import PredictedBy, Training
from oochub.records.typed_values import check_parameters


class PredictedData(NamedTuple):
    """What a mode sees of a data set.

    Attributes:
        part: The first of the splits that are predicted; its features name the classes.
        splits: Every split of the data set by name, those of training and validation too, where it has them.
        device: Device that the network is to run on.
        batch_size: Rows per forward pass.
        cache: Whether what is learned from may be kept in the cache, and taken from it.
        skip_broken: Whether rows that cannot be read are left out.
    """

    part: Any
    splits: Mapping[str, Any]
    device: torch.device
    batch_size: int
    cache: bool = False
    skip_broken: bool = False


class Mode(ABC):
    """How a model answers; a subclass is a file of `models/modes/`, and its name is the file's.

    Its constructor `(source, inputs, data, **settings)` opens the model; its keyword-only parameters are the settings
    of the mode, which `oochub.predict` takes by name. What the network gives is the same for every mode, so that
    extraction, ODIN and detectors know none of them.

    Attributes:
        auto_models: The classes of transformers whose models it serves: their architectures are those of "auto".
        rank: "auto" takes the lowest of those that serve an architecture.
        network: `network(**inputs).logits` is float (b, c), one for each of `class_names`; in evaluation mode, on the
            device of the data.
        kind: Kind of output.
        class_names: Names of the c classes or labels; for a number, the name of its column.
        about: What predictions say of the model, the mode included.
        training: How it was trained; None if unknown.
        left_out: Classes of the data set that it has no answer for: their rows are not predicted.
        is_linear: Whether the logits are a linear function of the features, so that the head is worth keeping.
        reads: The kind of input that it needs; None takes what the data set and the model's processor say.
        is_one_pass: Whether the network is one pass of tensors, which can be compiled or exported.
        headless: Why no layer of it is a head, as "answers in words"; "" for a mode with one.
        metadata: Fields of `oochub.records.metadata.Metadata` that it fills.
        details: What else predictions say of how the answers are made: JSON types by name.
        notes: Caveats that the report repeats.
    """

    auto_models: ClassVar[tuple[str, ...]]
    rank: ClassVar[int]
    reads: ClassVar[type[Input] | None] = None
    is_one_pass: ClassVar[bool] = True
    headless: ClassVar[str] = ""

    network: nn.Module
    kind: Output
    class_names: tuple[str, ...]
    about: PredictedBy
    training: Training | None = None
    left_out: tuple[str, ...] = ()
    is_linear: bool = True
    metadata: Mapping[str, Any] = {}
    details: Mapping[str, Any] = {}
    notes: tuple[str, ...] = ()

    @abstractmethod
    def __init__(self, source: ModelSource, inputs: Input, data: PredictedData, **settings: Any) -> None:
        """Opens the model; the settings are keyword-only parameters with names, types and defaults.

        Args:
            source: The model.
            inputs: How the rows of the data set become what it is called with.
            data: Data that it is to answer.
            settings: Settings of the mode.

        Raises:
            OochubError: The model cannot answer for the classes of the data set.
        """

    def finish(self, outputs: NDArray[np.float32], columns: Mapping[str, Sequence[Any]]) -> NDArray[np.float32]:
        """What the kind of output stores, made of what the network gave.

        Args:
            outputs: (n, ...), the network's logits.
            columns: The other columns of the rows, by name.

        Raises:
            OochubError: A column that the mode needs is missing.
        """
        return outputs

    def make_columns(
        self, outputs: NDArray[np.float32], columns: Mapping[str, Sequence[Any]]
    ) -> Mapping[str, Sequence[Any]]:
        """Columns that the mode adds to the predictions, by name; none by default.

        Args:
            outputs: (n, ...), the network's logits.
            columns: The other columns of the rows, by name.
        """
        return {}

    @classmethod
    def architectures(cls) -> frozenset[str]:
        """The names of the classes of transformers whose models it serves."""
        return frozenset().union(*map(list_architectures, cls.auto_models))

    def head(self, probe: Mapping[str, torch.Tensor]) -> Head:
        """The last layer of the network, whose input are the features and whose rows are the classes.

        Args:
            probe: Inputs of two rows or more that differ.

        Raises:
            OochubError: The network has none.
        """
        if self.headless:
            raise OochubError(
                f"The mode {self.about.mode} {self.headless}, so there are no features and no head. Remove "
                f"{choose_wording('features=True')}."
            )
        return find_head(self.network, probe)


def choose_mode(source: ModelSource, name: str, settings: Mapping[str, Any], dataset: Any = None) -> type[Mode]:
    """The mode of that name; for "auto" the one that serves the model's architecture, else its own head.

    Args:
        source: The model.
        name: Name of the mode, one of `oochub.names("mode")`, or "auto".
        settings: Settings of the mode, checked by its signature.
        dataset: A split that the model is to read; for "auto", a mode that reads its images with a prompt comes before
            one that reads the model's texts alone.

    Raises:
        OochubError: An unknown mode, or a setting that it does not have.

    >>> from transformers import ResNetConfig, ResNetForImageClassification
    >>> model = ResNetForImageClassification(ResNetConfig(embedding_size=8, hidden_sizes=[8], depths=[1]))
    >>> choose_mode(ModelSource(model), "auto", {}).__name__
    'HeadMode'
    """
    names = catalog.names("mode")
    if name not in ("auto", *names):
        raise unknown_name("mode", name, ("auto", *names))
    mode: type[Mode]
    if name == "auto":
        modes: list[type[Mode]] = [catalog.get("mode", mode_named) for mode_named in names]
        serving = [mode for mode in modes if source.architecture in mode.architectures()]
        fitting = [
            mode
            for mode in serving
            if mode.reads is None or dataset is None or mode.reads.column_in(dataset) is not None
        ]
        mode = min(fitting or [catalog.get("mode", "head")], key=lambda each: (each.reads is None, each.rank))
    else:
        mode = catalog.get("mode", name)
    words = f"option of the mode {mode.__module__.rpartition('.')[2]}"
    own = _list_options(mode)
    for key in settings:
        if key not in own:
            raise unknown_name(words, key, own)
    check_parameters(mode, settings, kind=words)
    return mode


def list_mode_options() -> list[str]:
    """The names of the options that some mode has."""
    return [name for mode_named in catalog.names("mode") for name in _list_options(catalog.get("mode", mode_named))]


def _list_options(mode: type[Mode]) -> list[str]:
    return [
        name
        for name, parameter in inspect.signature(mode).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    ]


def find_declared(record: BuildRecord | None) -> Benchmark | OwnDeclaration | None:
    """What is declared of data that were built: by the file beside own data, else by the benchmark if it is known here.

    Args:
        record: Build record of the data; None for data without one.
    """
    if record is None or record.facts.declared is not None:
        return None if record is None else record.facts.declared
    if record.benchmark not in catalog.names("benchmark"):
        return None
    benchmark: Benchmark = catalog.get("benchmark", record.benchmark)
    return benchmark.of(record.config)
