"""Opens a model that answers in words, and says what it is asked: a prompt, and the words of each answer.

For classes the answers are their names in words. A task that asks whether a thing is there is answered by yes or no.
Rows with their own `question` and `options` are answered by the letter of an option.
"""

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from oochub.errors import OochubError, choose_wording, unknown_name
from oochub.input import Input
from oochub.inputs.pictures.chat_processor import ImageQuestion, ImageQuestions
from oochub.models.chat.answer_scores import check_length, read_next_token, select_prompt
from oochub.models.mode import PredictedData
from oochub.models.model_source import ModelSource
from oochub.models.supported_models import choose_auto_model
from oochub.output import Output, find_output_of_features, get_output
from oochub.records.build_record import BuildFacts, BuildRecord, presence_class
from oochub.records.question_options import ask_each_row, name_options
from oochub.storage.reading import read_json

OPTIONS, CLASS, QUESTION = "{options}", "{class}", "{question}"
"""What a prompt may hold: the classes or options in a list, the place of the answer, the question of the row."""
_NAMED = "What is in this image? Answer with its name."
_PRESENT = "Is there {thing} in this image? Answer yes or no."
_ASKED = f"{QUESTION}\n{OPTIONS}\nAnswer with the letter of the option."
_MOST_OPTIONS = 26  # a letter each
_MOST_TOKENS = 256  # of an answer


CHAT_MODELS = ("AutoModelForImageTextToText",)
"""The classes of transformers that open such models."""


@dataclass(frozen=True)
class Questions:
    """What is asked of every row of a data set.

    Attributes:
        kind: Kind of output.
        class_names: Names of the classes; letters for rows with their own options.
        prompt: What the user says, with `OPTIONS` or `QUESTION` where each row has its own.
        answers: The words of each class.
        has_own: Whether each row has its own question and options.
    """

    kind: Output
    class_names: tuple[str, ...]
    prompt: str
    answers: tuple[str, ...]
    has_own: bool = False

    def ask(self, row: Mapping[str, object]) -> ImageQuestion:
        """The question of a row.

        Args:
            row: Its `example_id`, and for rows with their own questions, `question` and `options`.

        Raises:
            OochubError: A row without a question or with fewer than two options.
        """
        names = self.answers
        if self.has_own:
            options = row.get("options")
            names = tuple(map(str, options)) if isinstance(options, Sequence) else ("first", "second")  # noise has none
            if not 2 <= len(names) <= _MOST_OPTIONS:
                raise OochubError(
                    f"The row {row.get('example_id')} has {len(names)} options; a letter stands for 2 to "
                    f"{_MOST_OPTIONS}. Remove the row, or give it fewer."
                )
        start = _choose_rotation(row.get("example_id"), len(names)) if OPTIONS in self.prompt else 0
        order = [(start + k) % len(names) for k in range(len(names))]
        letters = name_options(len(names))
        if self.has_own:
            listed = "\n".join(f"{letters[place]}. {names[k]}" for place, k in enumerate(order))
            answers = tuple(letters[order.index(k)] for k in range(len(names)))
        else:
            listed, answers = ", ".join(names[k] for k in order), self.answers
        prompt = self.prompt.replace(QUESTION, str(row.get("question") or "")).replace(OPTIONS, listed)
        return ImageQuestion(prompt.partition(CLASS)[0], answers)


def _choose_rotation(example: object, count: int) -> int:
    """By the row's id: each option stands in each place for as many rows, whatever else is predicted."""
    return zlib.crc32(str(example).encode()) % count


def make_questions(
    part: Any, *, prompt: str | None, words: Mapping[str, str] | str | Path | None, has_template: bool
) -> Questions:
    """What is asked of the rows of a split.

    Args:
        part: The split.
        prompt: What the user asks instead of the default.
        words: The answer that stands for each class: a mapping, or a JSON file of one.
        has_template: Whether the model has a chat template.

    Raises:
        OochubError: Rows without names of classes, a prompt without text, words for another class or for too few.
    """
    if prompt is not None and (not isinstance(prompt, str) or not prompt.strip()):
        raise OochubError(f"prompt must be a text, got {prompt!r:.60}. For example 'What animal is this?'.")
    if prompt is not None and CLASS in prompt and has_template:
        raise OochubError(
            f"The prompt has {CLASS}, but this model has a chat template, and its answer stands at the end of the "
            f"rendered prompt. Remove {CLASS}: the words of each class are scored as the answer."
        )
    features = part.features or {}
    kind = get_output(find_output_of_features(features) or "classes")
    if ask_each_row(features) and kind.name == "choices":
        return Questions(kind, tuple(kind.class_names(part) or ()), prompt or _ASKED, (), has_own=True)
    if kind.name != "classes":
        hint = " Audit one task, such as nooch/ce_car." if kind.name == "labels" else ""
        raise OochubError(
            f"A model that answers in words gives one class to each row, but these rows have {kind.name}.{hint} Use a "
            "model with a head for them."
        )
    names = kind.class_names(part) if kind.label_column in features else None
    if not names:
        named = choose_wording(
            "Cast its label to datasets.ClassLabel(names=...).", "Name a column of text by --label-column."
        )
        raise OochubError(f"The dataset has no class names, so there are no words for them. {named}")
    record = BuildRecord.of(part.info)
    thing = presence_class(names, record.facts if record else BuildFacts())
    answers: tuple[str, ...]
    if thing is not None:
        answers = ("No", "Yes") if thing.present else ("Yes", "No")
        usual = _PRESENT.format(thing=_add_article(put_in_words(thing.name)))
    else:
        answers, usual = tuple(map(put_in_words, names)), _NAMED
    if words is not None:
        answers = _read_words(words, names)
    return Questions(kind, tuple(names), prompt or usual, answers)


def put_in_words(name: str) -> str:
    """The name of a class as an answer: the first synonym, with spaces for "_".

    >>> put_in_words("polar_bear"), put_in_words("albatross, mollymawk")
    ('polar bear', 'albatross')
    """
    return name.split(",")[0].replace("_", " ").strip() or name


def _add_article(words: str) -> str:
    return f"{'an' if words[:1].lower() in 'aeiou' else 'a'} {words}"


def _read_words(words: Mapping[str, str] | str | Path, names: Sequence[str]) -> tuple[str, ...]:
    content = read_json(words) if isinstance(words, str | Path) else words
    if not isinstance(content, Mapping) or not all(isinstance(text, str) and text.strip() for text in content.values()):
        raise OochubError(
            f"words must map each class to its answer, or be a JSON file that does, got {str(content)[:60]!r}. For "
            'example {"no_car": "no", "car": "yes"}.'
        )
    for name in content:
        if name not in names:
            raise unknown_name("class of the dataset", str(name), names, "words gives an answer for each class.")
    missing = [name for name in names if name not in content]
    if missing:
        raise OochubError(
            f"words has no answer for {len(missing)} of {len(names)} classes: {', '.join(missing[:6])}. Add them."
        )
    return tuple(content[name] for name in names)


def check_answers(questions: Questions, inputs: ImageQuestions, *, can_be_prefixes: bool) -> None:
    """Checks that the answers can be told apart by their tokens.

    Args:
        questions: What is asked.
        inputs: Makes the tokens.
        can_be_prefixes: Whether an answer may begin with another one.

    Raises:
        OochubError: Two classes with the same tokens, one that begins another; of a class none, too many or a special
            one.
    """
    if questions.has_own:
        return  # letters
    tokens = [inputs.processor.encode(answer) for answer in questions.answers]
    for name, answer, own in zip(questions.class_names, questions.answers, tokens, strict=True):
        if not 1 <= len(own) <= _MOST_TOKENS:
            raise OochubError(
                f"The answer of the class {name[:60]!r} has {len(own)} tokens ({answer[:60]!r}); 1 to {_MOST_TOKENS} "
                f"are allowed. {_write_words_hint()}"
            )
    added = getattr(inputs.processor.tokenizer, "added_tokens_decoder", {})
    special = {number for number, token in added.items() if token.special}
    marked = next((k for k, own in enumerate(tokens) if special.intersection(own)), None)
    if marked is not None:
        raise OochubError(
            f"The answer of the class {questions.class_names[marked][:60]!r} has a special token of the model "
            f"({questions.answers[marked][:60]!r}). {_write_words_hint()}"
        )
    by_tokens: dict[tuple[int, ...], str] = {}
    for name, own in zip(questions.class_names, tokens, strict=True):
        same = by_tokens.setdefault(tuple(own), name)
        if same != name:
            raise OochubError(
                f"The answers of the classes {same!r} and {name!r} are the same tokens, so the model cannot tell them "
                f"apart. {_write_words_hint()}"
            )
    if can_be_prefixes:
        return
    for own, name in by_tokens.items():
        shorter = next((by_tokens[own[:k]] for k in range(1, len(own)) if own[:k] in by_tokens), None)
        if shorter is not None:
            raise OochubError(
                f"The answer of the class {shorter!r} begins that of {name!r}, which could then never be more likely. "
                f"{_write_words_hint()} Or normalize by length: "
                f"{choose_wording('normalize=', '--mode-option normalize=')}tokens."
            )


def _write_words_hint() -> str:
    option = choose_wording('words={"class": "answer"}', "--mode-option words=FILE.json")
    return f"Pass other words: {option}."


class ChatModel(NamedTuple):
    """A model that answers in words, on the device of the data.

    Attributes:
        model: The model of transformers, in evaluation mode.
        inputs: Makes its inputs, and asks what `questions` say.
        questions: What is asked.
        prompt: The rendered prompt.
        details: What predictions say of it.
        notes: Caveats that the report repeats.
    """

    model: Any
    inputs: ImageQuestions
    questions: Questions
    prompt: str
    details: Mapping[str, Any]
    notes: tuple[str, ...]


def open_chat_model(
    source: ModelSource,
    inputs: Input,
    data: PredictedData,
    *,
    mode: str,
    prompt: str | None,
    words: Mapping[str, str] | str | Path | None,
    more_tokens: int = 0,
    check: Callable[[Questions, ImageQuestions], None] | None = None,
) -> ChatModel:
    """The model with its weights, once all that the user typed has been checked.

    Args:
        source: The model.
        inputs: How images are read.
        data: What it is to answer.
        mode: Name of the mode.
        prompt: See `make_questions`.
        words: See `make_questions`.
        more_tokens: How many tokens it may write after the prompt.
        check: Checks the questions before the weights are read.

    Raises:
        OochubError: A model or rows of another kind; a prompt or words that cannot be used; a model that does not fit
            into memory; a prompt that is longer than it reads.
    """
    choose_auto_model(source, CHAT_MODELS, mode=mode)
    if not isinstance(inputs, ImageQuestions):
        raise OochubError(f"The mode {mode} asks about images, but the rows are {inputs.words()}. Use another mode.")
    questions = make_questions(data.part, prompt=prompt, words=words, has_template=inputs.processor.has_template)
    if check is not None:
        check(questions, inputs)
    inputs.ask = questions.ask
    rendered = inputs.processor.render(questions.prompt)
    inputs.processor.check_reads_prompt()
    probe = inputs.probe()
    model, unexpected = source.open(CHAT_MODELS[0], inputs, logits=read_next_token, device=data.device)
    check_length(model, select_prompt(model, probe), more_tokens)
    details: dict[str, Any] = {"unexpected_weights": list(unexpected)} if unexpected else {}
    if questions.answers:
        details["answers"] = list(questions.answers)
    notes: tuple[str, ...] = ()
    if not inputs.processor.has_template:
        notes = (f"the model has no chat template and reads the prompt as it is: {rendered!r:.200}",)
    return ChatModel(model.to(data.device), inputs, questions, rendered, details, notes)
