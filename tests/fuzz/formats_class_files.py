"""Label maps, prompts, templates, names of outputs, one thing wrong: refused, or every class stays answered."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fuzz_case import Format, Used

from oochub.models.class_map import match_classes, read_label_map
from oochub.models.dual_encoder import read_prompts, read_templates, write_prompts
from oochub.settings.model_settings import ModelSettings
from oochub.settings.option import list_options

_MODEL = ["tabby", "Siamese", "beagle", "pug", "goldfish"]
_CLASSES = ["cat", "dog"]
_MAP = {"cat": ["tabby", 1], "dog": ["beagle", "pug"]}
_TEXTS = {"cat": ["a photo of a cat.", "a cat on a road."], "dog": "a photo of a dog."}
_NAMES = ("label_map", "The label map", "The prompts", "prompts must", "templates must", "class of the dataset")


def _labels(file: str) -> Callable[[Path, Path], Used]:
    def use(folder: Path, out: Path) -> Used:
        found = match_classes(_MODEL, _CLASSES, given=read_label_map(folder / file))
        assert list(found.class_names) == _CLASSES and all(found.outputs)
        return Used(numbers=[list(several) for several in found.outputs])

    return use


def _texts(folder: Path, out: Path) -> Used:
    given = write_prompts(_CLASSES, (), given=read_prompts(folder / "prompts.json"))
    assert len(given) == len(_CLASSES) and all(given)
    return Used(numbers=[list(several) for several in given])


def _templates(folder: Path, out: Path) -> Used:
    return Used(numbers=list(read_templates(str(folder / "templates.txt"), what="templates")))


def _outputs(folder: Path, out: Path) -> Used:
    """The names of the outputs, which must be those of the data."""
    parse = list_options(ModelSettings)["class_names"].parse
    assert parse is not None
    found = match_classes(list(parse(str(folder / "names.txt"), "--class-names")), _MODEL)
    return Used(numbers=[list(several) for several in found.outputs])


def _writes(file: str, content: Any) -> Callable[[Path], Any]:
    text = content if isinstance(content, str) else json.dumps(content)
    return lambda folder: (folder / file).write_text(text, "utf-8")


LINES = "cat,tabby,1\ndog,beagle\ndog,pug\n"
JSON_MAP = Format(name="label map, JSON", make=_writes("map.json", _MAP), use=_labels("map.json"), names=_NAMES)
CSV_MAP = Format(name="label map, CSV", make=_writes("map.csv", LINES), use=_labels("map.csv"), names=_NAMES)
PROMPTS = Format(name="prompts", make=_writes("prompts.json", _TEXTS), use=_texts, names=_NAMES)
TEMPLATES = Format(
    name="templates", make=_writes("templates.txt", "a photo of a {}.\na {}.\n"), use=_templates, names=_NAMES
)
OUTPUTS = Format(
    name="names of outputs", make=_writes("names.txt", "\n".join(_MODEL) + "\n"), use=_outputs, names=_NAMES
)
