"""A model as the user gave it: a folder, a Hub id or an object; what is known of it before its weights are read.

That is its config, what its card says that it was trained on, and how it was trained, from the recipe that `oochub
train` leaves beside it.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from transformers.modeling_outputs import BaseModelOutputWithNoAttention, ImageClassifierOutput

from oochub import catalog
from oochub.errors import OochubError, choose_wording
from oochub.input import Input, check_changes, check_config, find_input_kinds, find_processor_kind
from oochub.models.callable_model import CallableModel, digest_state, unknown_model
from oochub.models.open_model import (
    Answers,
    Pretrained,
    check_memory,
    model_load_errors,
    open_pretrained,
    read_model_config,
)
from oochub.models.other_formats import MADE_OF, is_adapter, refuse_other_senses
from oochub.models.packaged_model import fetch_packaged, is_packaged
from oochub.records.build_record import find_border
from oochub.records.metadata import HeldOut, PredictedBy, Training
from oochub.records.schema import from_json, optional, to_json
from oochub.remote.check_source import check_source, split_revision
from oochub.remote.remote_repository import fetch_model_folder
from oochub.storage.reading import read_bytes, read_json

if TYPE_CHECKING:
    from transformers import PreTrainedConfig


@dataclass(frozen=True)
class ModelSource:
    """A model, not opened yet.

    Args:
        given: Folder, Hub id, a model of transformers or a `CallableModel`.

    >>> ModelSource(Path("runs/erm")).path
    'runs/erm'
    """

    given: Any

    def check_place(self) -> None:
        """Checks that the folder of a model is there, or that its id can be one of the Hub.

        Raises:
            OochubError: It is not, or cannot.
        """
        if isinstance(self.given, str | Path) and not is_packaged(self.given):
            check_source(self.given, kind="model", hint="Run `oochub train` to create one.")

    @property
    def is_pretrained(self) -> bool:
        """Whether it is a model of transformers, whose features and last layer can be found."""
        return self.path is not None or (not isinstance(self.given, CallableModel) and hasattr(self.given, "config"))

    @cached_property
    def path(self) -> str | None:
        """The folder or Hub id; None for a model that is an object."""
        if not isinstance(self.given, str | Path):
            return None
        if is_packaged(self.given):
            return str(fetch_packaged(self.given))
        place = str(Path(self.given).expanduser())
        if is_adapter(place):
            from oochub.models.adapter import merge_adapter

            return merge_adapter(place)
        return place

    @cached_property
    def config(self) -> Any:
        """The config of transformers.

        Raises:
            OochubError: There is none, or it is broken.
        """
        if self.path is None and not hasattr(self.given, "config"):
            raise unknown_model(self.given)
        return self.given.config if self.path is None else read_model_config(self.path)

    @property
    def is_known(self) -> bool:
        """Whether a digest stands for all that it computes, so that its predictions can be cached."""
        is_object = self.path is None and not isinstance(self.given, CallableModel)
        return not is_object and self.revision is not None

    @cached_property
    def architecture(self) -> str:
        """The name of the class that made the weights, "" where nobody says."""
        if self.path is None:
            return type(self.given).__name__
        names = getattr(self.config, "architectures", None)
        return str(names[0]) if isinstance(names, list | tuple) and names else ""  # a config.json may say anything

    @cached_property
    def training(self) -> Training | None:
        """How it was trained, where `oochub train` made it.

        Raises:
            OochubError: A recipe that is none.
        """
        return None if self.path is None else _read_training_record(Path(fetch_model_folder(self.path)) / "recipe.json")

    @cached_property
    def revision(self) -> str | None:
        """A digest of the weights of a folder or object, or the commit of the Hub's; None if not known."""
        if isinstance(self.given, CallableModel):
            return self.given.revision
        if self.path is None:
            return digest_state(self.given.state_dict())
        folder = Path(self.path)
        if not folder.is_dir():
            copy = Path(fetch_model_folder(self.path))
            return copy.name if copy.is_dir() else None
        files = sorted(folder.glob("*.safetensors"))
        if not files or not all(file.is_file() for file in files):  # whoever opens them says what is wrong
            return None
        digest = hashlib.sha256()
        for file in files:
            with file.open("rb") as content:
                while block := content.read(2**20):
                    digest.update(block)
        return digest.hexdigest()[:40]

    def about(self, mode: str) -> PredictedBy:
        """What predictions say of the model; an absolute path by its last part, for a report holds no path.

        Args:
            mode: Name of the mode.
        """
        if isinstance(self.given, CallableModel):
            return PredictedBy(id=self.given.model_id, revision=self.revision, mode=mode)
        if self.path is None:
            return PredictedBy(id=type(self.given).__name__, revision=self.revision, mode=mode)
        folder = Path(self.path)
        made_of = read_json(folder / MADE_OF) if (folder / MADE_OF).is_file() else None
        if isinstance(made_of, Mapping):  # an adapter on its base
            name, own, base = (str(made_of.get(key)) for key in ("adapter", "revision", "base"))
            trained_on = _read_trained_on(folder / "README.md")
            return PredictedBy(id=name, revision=own, mode=mode, trained_on=trained_on, base=base)
        name = folder.name if folder.is_absolute() else split_revision(str(self.given))[0]
        card = Path(fetch_model_folder(self.path)) / "README.md"
        return PredictedBy(id=name, revision=self.revision, mode=mode, trained_on=_read_trained_on(card))

    def pin(self, typed: object) -> object:
        """What was typed; an id on the Hub with its commit, so that the same weights can be asked for again."""
        source = "." if self.path is None or is_packaged(self.given) else str(Path(self.given).expanduser())
        folder = None if Path(source).is_dir() else Path(fetch_model_folder(source))
        return typed if folder is None or not folder.is_dir() else f"{split_revision(str(typed))[0]}@{folder.name}"

    def inputs(
        self,
        dataset: Any,
        *,
        processor: Any = None,
        preprocessing: str = "fused",
        kind: type[Input] | None = None,
        **changes: Any,
    ) -> Input:
        """How the rows of a data set become what the model is called with.

        The kind of input is that of the processor, where one is given; else the data set has a column of it, and
        where it has columns of several, the model's architecture tells which.

        Args:
            dataset: A split that the model is to read.
            processor: Its image processor, tokenizer or ArrayProcessor, or the folder or Hub id of one; None takes the
                one beside the model.
            preprocessing: See `Input.of`.
            kind: The kind of input that the mode reads; None chooses it as said above.
            changes: Settings that not every kind of input knows, see `oochub.input.check_changes`.

        Raises:
            OochubError: A model object without its processor, one that does not fit, or a change that is for inputs of
                another kind.
        """
        if self.path is None and not hasattr(self.given, "config"):
            raise unknown_model(self.given)
        if processor is None and isinstance(self.given, CallableModel):
            processor = self.given.processor
        place = self.path if processor is None else processor
        is_given = processor is not None and not isinstance(processor, str | Path)
        if kind is None:
            kind = find_processor_kind(processor) if is_given else choose_input(dataset, self.path)
        elif kind.column_in(dataset) is None:
            raise OochubError(
                f"The model reads {kind.words()}, but the dataset has no column {kind.column!r}; only "
                f"{', '.join(dataset.column_names or ())}. Rename a column with dataset.rename_column."
            )
        check_changes(kind, **changes)
        words = f"a model of {kind.words()}"
        if self.path is not None:
            _check_kind(kind, read_model_config(self.path, words=words), self.path)  # said with these words
        if place is None:
            processor = kind.load_processor(None, dataset)
        elif not is_given:
            place = str(Path(place).expanduser())
            with model_load_errors(place, words=words if processor is None else f"a processor of {kind.words()}"):
                processor = kind.load_processor(place, dataset)
        inputs = kind.of(processor, preprocessing=preprocessing)
        inputs.border = find_border(dataset)
        check_config(inputs, self.config)
        return inputs

    def open(
        self,
        auto_model: str,
        inputs: Input,
        *,
        beside: Mapping[str, torch.Tensor] | None = None,
        logits: str | Answers = "logits",
        whole: bool = False,
        device: torch.device | None = None,
    ) -> Pretrained:
        """The model with its weights, float32 and in evaluation mode; an object as it is.

        Args:
            auto_model: The class of transformers that opens it, such as "AutoModelForImageClassification".
            inputs: Makes what the model is called with.
            beside: What else it must be called with, such as the tokens of a text.
            logits: See `open_pretrained`.
            whole: Whether no weight may miss, see `open_pretrained`.
            device: Device that it will run on, to check that it fits there; None is not checked.

        Raises:
            OochubError: Weights that do not fit its config, or do not fit into memory.
        """
        import transformers

        if self.path is None:
            return Pretrained(self.given.eval(), ())
        is_bare = self.config.model_type in _WITHOUT_LOGITS and auto_model == inputs.auto_model
        words = f"a model of {inputs.words()}"
        self.check_kind(auto_model)
        check_memory(self.path, device)
        if is_bare:
            logits = "last_hidden_state"
        auto, others = getattr(transformers, auto_model), beside or {}
        opened = open_pretrained(
            auto, self.path, probe=lambda: {**inputs.probe(), **others}, words=words, logits=logits, whole=whole
        )
        if is_bare:
            opened.model.register_forward_hook(_call_states_logits)
        return opened

    def check_kind(self, auto_model: str) -> None:
        """Checks that a class of transformers opens a folder or Hub id of this type.

        Args:
            auto_model: The class, such as "AutoModelForImageClassification".

        Raises:
            OochubError: It does not; the modes that serve the model are named.
        """
        import transformers

        mapping: Any = getattr(getattr(transformers, auto_model), "_model_mapping", None)
        if self.path is None or mapping is None or type(self.config) in mapping:
            return
        kind = self.architecture or self.config.model_type
        every = {name: catalog.get("mode", name).auto_models for name in catalog.names("mode")}
        modes = [
            name
            for name, autos in every.items()
            if any(type(self.config) in getattr(transformers, auto)._model_mapping for auto in autos)
        ]
        option = choose_wording(f"mode={modes[0]!r}") if modes else ""
        hint = f"Pass {option} ({' and '.join(modes)} do), or remove the mode." if modes else "Use another model."
        kind = kind if self.config.model_type in kind.lower() else f"{kind} of type {self.config.model_type}"
        raise OochubError(f"{self.path} is a {kind}, which this mode does not support. {hint}")


def _check_kind(kind: type[Input], config: "PreTrainedConfig", source: str) -> None:
    """Refuses a type of model that transformers knows for images where rows are texts, or the reverse.

    Arrays of bands are read by models of images too, and a kind of images with prompts says itself what a model lacks.

    Raises:
        OochubError: Such a model.
    """
    from transformers.models.auto import image_processing_auto, modeling_auto

    refuse_other_senses(source, config.model_type)
    of_images = config.model_type in image_processing_auto.IMAGE_PROCESSOR_MAPPING_NAMES
    of_texts = config.model_type in modeling_auto.MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES
    wants_images = kind.unit == "image"
    if of_images == of_texts or of_images == wants_images or kind.unit not in ("image", "text"):
        return
    if kind.auto_model == "AutoModelForImageTextToText":
        return
    reads, wanted = ("images", f"{kind.unit}s") if of_images else ("texts", "images")
    raise OochubError(
        f"{source} is a {config.model_type} model, which reads {reads}, but each row of this dataset holds "
        f"{'an' if wanted[0] in 'aei' else 'a'} {wanted[:-1]}. Choose one that reads {wanted}."
    )


_WITHOUT_LOGITS = ("pp_lcnet",)
"""Types of classifiers of transformers whose output calls its logits last_hidden_state."""


def _call_states_logits(model: object, given: object, made: BaseModelOutputWithNoAttention) -> ImageClassifierOutput:
    return ImageClassifierOutput(logits=made.last_hidden_state)


def choose_input(dataset: Any, model: str | None) -> type[Input]:
    """The kind of input of a data set; where it has columns of several, the first that a model reads.

    Args:
        dataset: A split.
        model: Folder or Hub id of the model; None for a model that is still to be made.

    Raises:
        OochubError: A data set without a column of any kind.
    """
    import transformers

    kinds = find_input_kinds(dataset)
    if len(kinds) == 1 or model is None:
        return kinds[0]
    try:
        config = type(read_model_config(model))
    except OochubError:  # said with more words when the model is loaded
        return kinds[0]
    suitable = [kind for kind in kinds if config in getattr(transformers, kind.auto_model)._model_mapping]
    return suitable[0] if suitable else kinds[0]


_HEADER = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_CARD_FIELDS = ("datasets", "trained_on")
_CARD = 10**6  # characters that are looked at: YAML is read slowly
_LONGEST, _MOST = 200, 100  # characters of a name, names


def _read_trained_on(card: Path) -> tuple[str, ...] | None:
    """The data sets that a model card names in its metadata, under `datasets` or `trained_on`, in their order.

    A card is no input of a computation: one that is broken says nothing, and the model is used all the same.

    They are 100 at most; None where there is no card, or where it does not say.

    >>> _read_trained_on(Path("nowhere/README.md")) is None
    True
    """
    import yaml

    if not card.is_file():
        return None
    try:
        header = _HEADER.match(read_bytes(card).decode("utf-8", "replace")[:_CARD])
        content = yaml.safe_load(header[1]) if header else None
    except (OochubError, yaml.YAMLError, ValueError, RecursionError):  # ValueError: a day that no calendar has
        return None
    fields = content if isinstance(content, dict) else {}
    names = dict.fromkeys(name for field in _CARD_FIELDS for name in _list_card_names(fields.get(field)))
    return tuple(names)[:_MOST] or None


def _list_card_names(value: Any) -> list[str]:
    given = value if isinstance(value, list) else [value]
    return [text.strip() for text in given if isinstance(text, str) and 0 < len(text.strip()) <= _LONGEST]


@dataclass(frozen=True, kw_only=True)
class _Objective:
    name: str
    hyperparameters: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class _Data:
    benchmark: str | None
    config: str | None
    version: str | None
    rows: Mapping[str, int]
    environment_column: str | None


@dataclass(frozen=True, kw_only=True)
class _Selection:
    rule: str
    held_out: HeldOut | None = optional()


@dataclass(frozen=True, kw_only=True)
class _Model:
    architecture: str | None = optional()
    base: str | None = optional()
    pretrained: bool | None = optional()


@dataclass(frozen=True, kw_only=True)
class _Recipe:
    """The parts of `trainers.recipe.make_recipe` that are read again."""

    objective: _Objective
    arguments: Mapping[str, Any]
    data: _Data
    selection: _Selection
    model: _Model = optional(_Model())


def _read_training_record(recipe: Path) -> Training | None:
    """What a report says of the training; None where there is no recipe: `oochub train` did not make the model.

    Raises:
        OochubError: The file is no recipe; a field that is missing or of another type is named.

    >>> _read_training_record(Path("nowhere/recipe.json")) is None
    True
    """
    if not recipe.exists():
        return None
    content: _Recipe = from_json(_Recipe, read_json(recipe), what=str(recipe))
    data, arguments = content.data, content.arguments
    facts = {
        "objective": content.objective.name,
        "hyperparameters": content.objective.hyperparameters,
        "environments": data.environment_column,
        "seed": arguments.get("seed"),
        "epochs": arguments.get("num_train_epochs"),
        "selection": content.selection.rule,
        "arguments": arguments,
        "data": {"benchmark": data.benchmark, "config": data.config, "version": data.version, "rows": data.rows},
        "architecture": content.model.architecture,
        "base": content.model.base,
        "pretrained": content.model.pretrained,
    }
    if content.selection.held_out is not None:
        facts["held_out"] = to_json(content.selection.held_out)
    record: Training = from_json(Training, facts, what=str(recipe))
    return record
