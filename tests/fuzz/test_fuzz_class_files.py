"""Label maps, prompts, templates, names of outputs, one thing wrong: refused, or every class stays answered."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fuzz_case import CHANGED, REFUSED, SAME, Case, Format, Used
from mutations import json_cases, json_text_cases, place_cases, text_cases

from oochub.models.class_map import match_classes, read_label_map
from oochub.models.dual_encoder import read_prompts, read_templates, write_prompts
from oochub.settings.model_settings import ModelSettings
from oochub.settings.option import list_options

_MODEL = ["tabby", "Siamese", "beagle", "pug", "goldfish"]
_CLASSES = ["cat", "dog"]
_MAP = {"cat": ["tabby", 1], "dog": ["beagle", "pug"]}
_TEXTS = {"cat": ["a photo of a cat.", "a cat on a road."], "dog": "a photo of a dog."}
_NAMES = ("label_map", "The label map", "The prompts", "prompts must", "templates must", "class of the data set")
_ANY = frozenset({REFUSED, SAME, CHANGED})  # other words are other texts, which nobody can tell from wrong ones


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


def _maps(place: str, word: str) -> frozenset[str]:
    return _ANY if "[" in place and word in ("deleted", "doubled") else frozenset({REFUSED})


def _of_texts(place: str, word: str) -> frozenset[str]:
    is_text = word == "a text" or ("[" in place and word in ("deleted", "doubled"))
    return _ANY if is_text else frozenset({REFUSED})


JSON_MAPS = [*json_cases("map.json", _MAP, _maps), *json_text_cases("map.json"), *place_cases("map.json")]
CSV_MAPS = [
    *text_cases("map.csv", blank=frozenset({REFUSED}), bom=frozenset({REFUSED, SAME})),
    *place_cases("map.csv"),
    *(
        Case(name=f"map.csv is {content!r}", mutate=_writes("map.csv", content))
        for content in (
            *("cat\n", ",tabby\n", "cat,\ndog,beagle\n", "cat;tabby\ndog;beagle\n", "cat,tabby\n"),
            *('cat,"tabby\ndog,beagle\n', "cat,tabby\ndog,tabby\n", "cat,tiger\ndog,beagle\n", "cat,9\ndog,beagle\n"),
            *("class,model\ncat,tabby\ndog,beagle\n", "cat,-1\ndog,beagle\n", "Cat,tabby\ndog,beagle\n"),
        )
    ),
]
OUTPUT_CASES = [
    *text_cases("names.txt", blank=frozenset({REFUSED}), bom=frozenset({SAME})),
    *place_cases("names.txt"),
    *(
        Case(name=f"names.txt {word}", mutate=_writes("names.txt", content))
        for word, content in {
            "with a name twice": "\n".join([*_MODEL, "pug"]),
            "without a name": "\n".join(_MODEL[1:]),
            "with a name of 10,000 letters": "\n".join([*_MODEL[1:], "t" * 10_000]),
            "with a null character": "\n".join([*_MODEL[1:], "tab\0by"]),
            "in one line": ",".join(_MODEL),
        }.items()
    ),
    Case(
        name="names.txt with a million names more",
        mutate=_writes("names.txt", "\n".join([*_MODEL, *map(str, range(10**6))])),
        expect=frozenset({SAME, REFUSED}),
    ),
]
PROMPT_CASES = [
    *json_cases("prompts.json", _TEXTS, _of_texts),
    *json_text_cases("prompts.json"),
    *place_cases("prompts.json"),
]
TEMPLATE_CASES = [
    *(
        Case(name=case.name, mutate=case.mutate, expect=case.expect | {CHANGED} if "byte" in case.name else case.expect)
        for case in text_cases("templates.txt", blank=frozenset({REFUSED}), bom=frozenset({SAME, REFUSED}))
    ),
    *place_cases("templates.txt"),
    Case(name="templates.txt without a place", mutate=_writes("templates.txt", "a photo.\n")),
]
CASES = [
    *((JSON_MAP, case) for case in JSON_MAPS),
    *((CSV_MAP, case) for case in CSV_MAPS),
    *((PROMPTS, case) for case in PROMPT_CASES),
    *((TEMPLATES, case) for case in TEMPLATE_CASES),
    *((OUTPUTS, case) for case in OUTPUT_CASES),
]


@pytest.mark.parametrize("typed", ["cat,dog", ",".join(f"class {k}" for k in range(2_000)), "c" * 10_000])
def test_names_are_typed_or_read_from_a_file(typed):
    """Planted fault: a list that is too long for the name of a file."""
    parse = list_options(ModelSettings)["class_names"].parse
    assert parse is not None and parse(typed, "--class-names") == tuple(typed.split(","))


@pytest.mark.campaign
@pytest.mark.parametrize(("kind", "case"), CASES, ids=lambda part: part.name)
def test_class_files(campaign, kind, case):
    campaign.run(kind, case)
