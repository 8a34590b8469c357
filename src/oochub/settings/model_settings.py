"""How a model answers: its mode, the classes that it knows, what prepares its inputs."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oochub.errors import OochubError
from oochub.settings.option import Settings, option, parse_names, parse_pairs, revision_option
from oochub.storage.reading import read_text

TYPED = (
    *("mode", "label_map", "restrict", "prompt", "mode_options"),
    *("class_names", "model_id", "image_processor", "processor"),
    *("splits", "limit", "skip_broken", "preprocessing"),
)
"""The options of model and rows that belong to them, whatever is asked of them; a report's commands keep them."""


def _read_class_names(typed: str | None, flag: str) -> tuple[str, ...] | None:
    """The names of a text with commas, or of a file with one on each line.

    Raises:
        OochubError: A name of a file that is not there.

    >>> _read_class_names("cat, dog", "--class-names")
    ('cat', 'dog')
    """
    if typed is None:
        return None
    if _is_file(typed) or ("," not in typed and (os.sep in typed or Path(typed).suffix == ".txt")):
        return tuple(line.strip() for line in read_text(typed).splitlines() if line.strip())
    return parse_names(typed, flag)


def _is_file(typed: str) -> bool:
    """Whether a text names a file; a list of a thousand names is too long to be one."""
    try:
        return Path(typed).is_file()
    except OSError:
        return False


@dataclass(frozen=True, kw_only=True)
class ModelSettings(Settings):
    """How a model answers.

    >>> ModelSettings(restrict=True, mode_options={"temperature": 2}).of_mode
    {'restrict': True, 'temperature': 2}
    """

    model_file: str | None = option(
        None,
        help="Run your own Python file, which creates the model, instead of MODEL.",
        panel="Model",
        metavar="FILE.py:NAME",
        common=True,
        commands=("predict", "audit", "repair", "imagenet_ood detect"),
        python=False,
    )
    revision: str | None = revision_option(
        "MODEL", panel="Model", commands=("predict", "audit", "repair", "imagenet_ood detect")
    )
    mode: str = option(
        "auto",
        help="How to get predictions: auto (by architecture), or a mode from `oochub list mode`.",
        more='"head" uses the model\'s own head; "linear_probe" fits logistic regression to the features of the '
        "split train; ...",
        panel="Model",
        common=True,
    )
    label_map: Any = option(
        None,
        help="CSV or JSON file that maps classes of the data to classes of the model.",
        panel="Model",
        common=True,
        typed=str | None,
        python=False,
    )
    restrict: bool = option(
        False,
        help="Skip rows whose class the model does not know.",
        panel="Model",
        flag="--restrict",
        python=False,
    )
    prompt: str | None = option(
        None,
        help="Prompt for a model that generates text (default: depends on the data).",
        more='For the modes multiple_choice and generate. "Is there a car in this image? Answer yes or no." is that of '
        "nooch/ce_car.",
        panel="Model",
        metavar="TEXT",
        python=False,
    )
    mode_options: Mapping[str, Any] | None = option(
        None,
        help="Another option of the mode.",
        form="key=value",
        panel="Model",
        flag="--mode-option",
        typed=list[str] | None,
        parse=parse_pairs,
        python=False,
    )
    image_processor: Any = option(
        None,
        help="Folder or Hub id to load the image processor from, if the model has no preprocessor_config.json.",
        more="The same as `processor`, for images.",
        panel="Model",
        metavar="FOLDER_OR_ID",
        typed=str | None,
    )
    processor: Any = option(
        None,
        help="For a model object, or instead of the one beside the model: an image processor, a tokenizer, an "
        "`oochub.inputs.arrays.ArrayProcessor`, or the folder or Hub id of one. A model object "
        "without a processor takes arrays as they are.",
        panel="Model",
        commands=(),
    )
    class_names: object = option(
        None,
        help="Class names of the model outputs, in order: a,b,c or a file with one name per line. For models without "
        "class names.",
        more="In Python a list. For a function or a module of PyTorch. The labels of the data are matched to them by "
        "name.",
        panel="Model",
        metavar="NAMES",
        typed=str | None,
        parse=_read_class_names,
        commands=("predict", "audit", "repair"),
    )
    transform: object = option(
        None,
        help="For such a model: a function from a PIL image to one float tensor (c, h, w), such as the `transforms` of "
        "torchvision or timm; or give image_processor.",
        panel="Model",
        commands=(),
    )
    model_id: str | None = option(
        None,
        help="For such a model: its name in reports. A module is cached by its weights and code; a plain function only "
        "by this name, so change it when the function changes.",
        panel="Model",
        flag="--name",
        commands=("predict", "audit", "repair"),
    )

    said_by_file: tuple[str, ...] = ()
    """Names of the options that the file of `model_file` says, so that they are not typed again."""

    @property
    def of_mode(self) -> dict[str, Any]:
        """The settings of the mode that were given, by name: in Python keywords of `oochub.predict`.

        Raises:
            OochubError: A setting in two ways.
        """
        own = {name: value for name, value in self.given().items() if name in ("label_map", "restrict", "prompt")}
        others = self.mode_options or {}
        twice = next((name for name in others if name in own), None)
        if twice is not None:
            words = f"--{twice.replace('_', '-')}"
            raise OochubError(f"--mode-option {twice}= and {words} set the same option. Pass one of them.")
        return {**own, **others}
