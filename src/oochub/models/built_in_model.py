"""The form of a built-in model: a network that training makes from scratch by its name, without a folder.

For a model of tokens, the vocabulary and the length follow from the rows: `measure_token_rows`.
"""

from collections.abc import Mapping
from copy import deepcopy
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import pyarrow.compute as pc

from oochub import catalog
from oochub.errors import OochubError
from oochub.input import Input, find_input_kinds
from oochub.output import find_output_of_features


class BuiltInModel:
    """A network made of its config, for the rows that it is to learn; it has no weights yet, and nothing is fetched.

    A subclass is one file of `models/built_in/`, and its name is the file's; users may write - for _.

    Attributes:
        inputs: The names of the kinds of input that it reads, such as `pictures`.
        is_detector: Whether it answers with boxes.
        is_default: Whether it is taken for such rows where no model is named.
        side: Pixels of the square that whole images are squeezed to.
        config_name: Module and name of the class of its config.
        sizes: What the config says whatever the rows are.
    """

    inputs: ClassVar[tuple[str, ...]]
    is_detector: ClassVar[bool] = False
    is_default: ClassVar[bool] = False
    side: ClassVar[int] = 224
    config_name: ClassVar[str]
    sizes: ClassVar[Mapping[str, Any]] = {}

    @classmethod
    def config(cls, said: Mapping[str, Any], *, processor: Any, dataset: Any) -> Any:
        """The config of transformers.

        Args:
            said: What it must say of labels and inputs, such as `id2label` and `num_channels`.
            processor: Processor that `processor` gives.
            dataset: The training set.
        """
        module, _, name = cls.config_name.rpartition(".")
        rows = measure_token_rows(dataset) if "token_ids" in cls.inputs else {}
        return getattr(import_module(module), name)(**deepcopy(dict(cls.sizes)), **rows, **said)

    @classmethod
    def processor(cls, kind: type[Input], dataset: Any, *, image_size: int | None = None) -> Any:
        """What stands beside the model: an image processor, a tokenizer, ...

        Args:
            kind: Kind of input.
            dataset: The training set, from which is learned what the rows alone say.
            image_size: Pixels, in place of `side`.
        """
        loaded = kind.load_processor(None, dataset, training=True)
        if kind.words() == "pictures":
            loaded.size = dict.fromkeys(("height", "width"), image_size or cls.side)
        return loaded

    @classmethod
    def fits(cls, kind: type[Input], *, boxes: bool) -> bool:
        """Whether it reads rows of this kind of input and answers with boxes where these are asked for."""
        return kind.words() in cls.inputs and cls.is_detector == boxes


def list_model_names() -> list[str]:
    """The built-in models as users write them.

    >>> "resnet-tiny" in list_model_names()
    True
    """
    return [name.replace("_", "-") for name in catalog.names("model")]


def find_built_in(name: str) -> type[BuiltInModel] | None:
    """The built-in model of a name; None for a folder or Hub id, and where a model's folder has this very name.

    >>> find_built_in("gin-virtual").inputs, find_built_in("runs/erm")
    (('graphs',), None)
    """
    if name.replace("_", "-") not in list_model_names() or Path(name, "config.json").is_file():
        return None
    model: type[BuiltInModel] = catalog.get("model", name.replace("-", "_"))
    return model


def choose_built_in(name: str | None, kind: type[Input], *, boxes: bool) -> str:
    """The name of the model to train: the one that was asked for, else the default for such rows.

    Args:
        name: A built-in model, a folder or a Hub id; None for the default.
        kind: Kind of input of the rows.
        boxes: Whether boxes are asked for.

    Raises:
        OochubError: A built-in model of other rows.

    >>> choose_built_in(None, catalog.get("input", "graphs"), boxes=False)
    'gin-virtual'
    """
    every = {title: catalog.get("model", title.replace("-", "_")) for title in list_model_names()}
    fitting = {title: model for title, model in every.items() if model.fits(kind, boxes=boxes)}
    if name is None:
        name = next((title for title, model in fitting.items() if model.is_default), None)
        if name is None:
            raise OochubError(f"There is no built-in model for {kind.words()}. Pass a folder or Hub id as the model.")
    built_in = find_built_in(name)
    if built_in is not None and not built_in.fits(kind, boxes=boxes):
        reads = f"reads {' or '.join(built_in.inputs)}"
        fault = (
            reads
            if kind.words() not in built_in.inputs
            else "draws boxes"
            if built_in.is_detector
            else "draws no boxes"
        )
        words = "boxes of images" if boxes else kind.words()
        raise OochubError(
            f"{name!r} {fault}, and the rows are of {words}. Built-in models for them: {', '.join(fitting) or 'none'}; "
            "or name a folder or Hub id."
        )
    return name


def check_built_in(name: str | None, features: Mapping[str, Any]) -> None:
    """Checks that a built-in model, or the default, reads rows of these features; they need not be built yet.

    Args:
        name: See `choose_built_in`.
        features: Features of a data set.

    Raises:
        OochubError: The model does not read such rows, or no column is of a kind of input.

    >>> from datasets import Features, Value
    >>> check_built_in("gin-virtual", Features({"text": Value("string")}))
    Traceback (most recent call last):
    oochub.errors.OochubError: 'gin-virtual' reads graphs, and the rows are of texts. Built-in models for them: ...
    """
    import datasets

    columns = datasets.Features(features)
    rows = datasets.Dataset.from_dict({column: [] for column in columns}, features=columns)
    choose_built_in(name, find_input_kinds(rows)[0], boxes=find_output_of_features(columns) == "boxes")


_READ_TOGETHER = 4096  # rows
_PLACES = 1024  # of GPT-2, where no row is longer


def measure_token_rows(dataset: Any) -> dict[str, int]:
    """What the config of a new GPT-2 must say of rows of tokens.

    Args:
        dataset: Data set with `input_ids`, lists of numbers of tokens, and `tokens`, what comes next.

    >>> from datasets import Dataset
    >>> measure_token_rows(Dataset.from_dict({"input_ids": [[7, 8], [9]], "tokens": [[8, -100], [11]]}))
    {'vocab_size': 12, 'n_positions': 1024}
    """
    largest, longest = 0, _PLACES
    for table in dataset.select_columns(["input_ids", "tokens"]).with_format("arrow").iter(_READ_TOGETHER):
        largest = max(largest, *(pc.max(pc.list_flatten(column)).as_py() or 0 for column in table.columns))
        longest = max(longest, pc.max(pc.list_value_length(table.column("input_ids"))).as_py() or 0)
    return {"vocab_size": largest + 1, "n_positions": longest}
