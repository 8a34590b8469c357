"""The texts that stand for each class where a model answers from texts: templates, names in words, a file."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from oochub.errors import OochubError, either, unknown_name
from oochub.storage.reading import read_json, read_lines

TEMPLATE_SETS: Mapping[str, tuple[str, ...]] = {
    "photo": ("a photo of a {}.",),
    "imagenet_7": (
        "itap of a {}.",
        "a bad photo of the {}.",
        "a origami {}.",
        "a photo of the large {}.",
        "a {} in a video game.",
        "art of the {}.",
        "a photo of the small {}.",
    ),
}
"""Templates by name; "imagenet_7" is the subset of its 80 that OpenAI found best for ImageNet (notebook
Prompt_Engineering_for_ImageNet of github.com/openai/CLIP)."""
_ARTICLE = re.compile(r"\b([Aa]) (?=[aeiou])", re.IGNORECASE)
_PLACE = re.compile(r"\b[Aa] \{\}|\{\}")
_COCO_SUFFIX = re.compile(r"-(other|stuff|merged)$")

Templates = Sequence[str] | str
Given = Mapping[str, Sequence[str] | str]


def prompts(names: Sequence[str], templates: Sequence[str], *, given: Given | None = None) -> list[tuple[str, ...]]:
    """The texts of each class.

    A name is put in words: the first synonym, with spaces for "_"; COCO-Stuff's "-other", "-stuff" and the number of
    "crane2" are no words. "a {}" becomes "an {}" before a vowel (which OpenAI's code does not do).

    Args:
        names: Of the classes.
        templates: Texts with {} for the name.
        given: Texts of each class as they are, instead.

    Raises:
        OochubError: Given texts for another class, for too few of them, or none for a class.

    >>> prompts(["polar_bear", "albatross, mollymawk"], ["a photo of a {}."])
    [('a photo of a polar bear.',), ('a photo of an albatross.',)]
    """
    if given is None:
        return [tuple(_filled(template, name) for template in templates) for name in names]
    for name in given:
        if name not in names:
            raise unknown_name("class of the data set", name, names, "The prompts give texts for each class.")
    missing = [name for name in names if name not in given]
    if missing:
        raise OochubError(
            f"The prompts have no text for {len(missing)} of {len(names)} classes: {', '.join(missing[:6])}. Add them."
        )
    return [_texts(given[name], what=f"The prompts of {name!r}") for name in names]


def read_templates(templates: Templates, *, what: str) -> tuple[str, ...]:
    """Templates of a name, a file, a text or a list of texts.

    Args:
        templates: A name of `TEMPLATE_SETS`, a file .txt of a text a line, or texts.
        what: What errors call them: those that are "templates" need {} in each.

    Raises:
        OochubError: Nothing, something that is no text, or a file that cannot be read.

    >>> read_templates("a sketch of a {}.", what="templates")
    ('a sketch of a {}.',)
    """
    if isinstance(templates, str) and templates in TEMPLATE_SETS:
        return TEMPLATE_SETS[templates]
    is_file = isinstance(templates, str) and templates.endswith(".txt")
    texts = _texts(read_lines(str(templates)) if is_file else templates, what=what)
    without = [text for text in texts if "{}" not in text]
    if without and what == "templates":
        raise OochubError(
            f"templates must be one of {', '.join(TEMPLATE_SETS)}, a file .txt with one a line, or texts with {{}} for "
            f"the class, got {without[0]!r}. {either('', 'A text with a comma stands in a file. ')}Texts that name "
            f"their class themselves are {either('prompts=', '--mode-option prompts=FILE')}."
        )
    return texts


def read_prompts(source: Any) -> Given:
    """The texts of each class from a mapping or a JSON file: an object of class to text, or to a list of texts.

    Raises:
        OochubError: No such file, or it holds something else.
    """
    content = read_json(source) if isinstance(source, str | Path) else source
    if not isinstance(content, Mapping) or not content:
        raise OochubError(
            f"prompts must be an object of class to texts, or a JSON file of one, got {str(content)[:60]!r}. Such as "
            '{"car": ["a photo of a car.", "a car on a road."]}.'
        )
    return content


def _texts(value: Any, *, what: str) -> tuple[str, ...]:
    texts = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, Sequence) else ()
    if not texts or not all(isinstance(text, str) and text.strip() for text in texts):
        raise OochubError(f"{what} must be a text or a list of texts, got {value!r}. Give at least one.")
    return texts


def _filled(template: str, name: str) -> str:
    words = _words(name)
    return _PLACE.sub(lambda place: _ARTICLE.sub(r"\1n ", place[0].replace("{}", words)), template)


def _words(name: str) -> str:
    first = name.split(",")[0].replace("_", " ").strip() or name
    return re.sub(r"(?<=[a-z])\d$", "", _COCO_SUFFIX.sub("", first))
