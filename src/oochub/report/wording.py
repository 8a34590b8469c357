"""The names of a report as a reader sees them: cleaned, cut, and put together into fixed phrases without articles."""

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from oochub.class_names.imagenet_classes import IMAGENET_1K_NAMES
from oochub.records.build_record import OWN
from oochub.records.origin_records import EvaluatedBenchmark, EvaluatedModel
from oochub.records.report_records import ComparedRows, GroupRow, MetricDescription, Side, Slice
from oochub.records.sides import Vocabulary
from oochub.records.table import UNSAFE
from oochub.records.table import clean as clean
from oochub.report import format_numbers

if TYPE_CHECKING:
    from oochub.report.report_record import ReportRecord

_LONGEST_NAME = 120
_LONGEST_WORDS = 40  # class names stand in narrow columns
_PEOPLE = ("Pearson",)  # whom metrics are named after


def escape_json(text: str) -> str:
    r"""JSON with control and bidi characters as escapes, so that it means the same and redraws no terminal.

    >>> escape_json('["a\u202eb"]')
    '["a\\u202eb"]'
    """
    return UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def name(text: str, limit: int = _LONGEST_NAME) -> str:
    """A name on one line, cleaned, and cut in the middle to at most `limit` characters, between words if there are any.

    >>> name("abcdefghij", limit=5), name("change of neighboring pixels of the rim", limit=30)
    ('ab…ij', 'change of … of the rim')
    """
    line = clean(re.sub(r"[\n\t]", "\ufffd", str(text)))
    if len(line) <= limit:
        return line
    middle, end = limit // 2, len(line) - (limit - 1 - limit // 2)
    first, last = line[:middle].rfind(" ", middle // 2), line.find(" ", end, end + middle // 2)
    return f"{line[: middle if first < 0 else first + 1]}…{line[end if last < 0 else last :]}"


def name_benchmark(benchmark: EvaluatedBenchmark, limit: int = _LONGEST_NAME) -> str:
    """Benchmark and config, as "nooch/ce_car"; own data whose author gave them a title are called by it.

    Args:
        benchmark: What a report says of its benchmark.
        limit: Maximum number of characters of each name.
    """
    if benchmark.name == OWN and benchmark.title not in (OWN, benchmark.config):
        return name(benchmark.title, limit)
    return "/".join(name(part, limit) for part in (benchmark.name, benchmark.config))


def can_be_typed(text: str) -> bool:
    r"""Whether a name of a report, which may be anyone's, can stand in a command: one clean line that is no option.

    >>> can_be_typed("my pictures"), can_be_typed("--out=elsewhere"), can_be_typed("a\nb")
    (True, False, False)
    """
    return not text.startswith("-") and text == name(text, 200)


def words(text: str) -> str:
    """A class or context name in print: cleaned, underscores as spaces, at most 40 characters.

    For a class of ImageNet-1K, whose name is a list of words for one thing, it is the first word, if no
    other class begins with that.

    >>> words("dining_table"), words("tench, Tinca tinca"), words("maillot, tank suit"), words("maillot")
    ('dining table', 'tench', 'maillot, tank suit', 'maillot')
    """
    return name(_list_first_words().get(text, text), _LONGEST_WORDS).replace("_", " ")


@cache
def _list_first_words() -> dict[str, str]:
    """The word before the first comma of each class of ImageNet-1K, if that tells it from all others."""
    first = {name: name.partition(",")[0] for name in IMAGENET_1K_NAMES}
    count = Counter(word.casefold() for word in first.values())
    return {name: word for name, word in first.items() if count[word.casefold()] == 1}


def join_names(items: Sequence[str], last: str = "and") -> str:
    """Items as a phrase.

    >>> join_names(["a", "b", "c"]), join_names(["a", "b"], "or")
    ('a, b and c', 'a or b')
    """
    return f" {last} ".join(([", ".join(items[:-1])] if items[:-1] else []) + list(items[-1:]))


def put_in_sentence(title: str) -> str:
    """A title inside a sentence: its first letter small, unless the word is an abbreviation or a name.

    >>> put_in_sentence("Accuracy"), put_in_sentence("AUC on hard"), put_in_sentence("Pearson correlation")
    ('accuracy', 'AUC on hard', 'Pearson correlation')
    """
    is_kept = not title[1:2].islower() or title.startswith(_PEOPLE)
    return title if is_kept else title[:1].lower() + title[1:]


def group_words(benchmark: EvaluatedBenchmark, row: GroupRow) -> str:
    """A group in words: "car without road" where the benchmark has an object, else "labrador on desert"."""
    if benchmark.object is not None and benchmark.contexts and row.role is not None:
        return name_pairing(benchmark.object, benchmark.contexts, present=row.label == benchmark.object, role=row.role)
    if not row.context:
        return words(row.group)
    return pair_words(benchmark, row.label, row.context)


def pair_words(benchmark: EvaluatedBenchmark, label: str, context: str) -> str:
    """A class and its context in words: "labrador on desert"; without a word for it "cow, grass", "cow, herd: yes"."""
    return f"{words(label)}{' ' if benchmark.words.place else ', '}{say_context(benchmark, context)}"


def say_context(benchmark: EvaluatedBenchmark, context: str) -> str:
    """A context behind a class: "on desert", "grass"; of a column that is called so, "herd: yes"."""
    column = f"{words(benchmark.words.context)}:" if benchmark.words.context else ""
    return " ".join(filter(None, (benchmark.words.place or column, words(context))))


def name_pairing(thing: str, contexts: Sequence[str], *, present: bool, role: Side) -> str:
    """One of the four pairings of an object with its contexts, in words.

    Args:
        thing: The object.
        contexts: Its usual contexts.
        present: Whether the object is in the image.
        role: "in" where object and context agree, "out" where one stands without the other.

    >>> name_pairing("cup", ["dining_table", "person"], present=False, role="out")
    'dining table or person without cup'
    """
    context = join_names([words(context) for context in contexts], "or")
    if role == "in":
        return f"{words(thing)} with {context}" if present else f"neither {words(thing)} nor {context}"
    return f"{words(thing)} without {context}" if present else f"{context} without {words(thing)}"


def slice_words(benchmark: EvaluatedBenchmark, part: Slice | ComparedRows) -> str:
    """A slice in words: "In context", "All examples of test", "car without road (hard positives)", else its title."""
    if part.role == "all":
        return f"All examples{name_split(benchmark, part.split)}"
    if part.role in ("in", "out"):
        return capitalize_sentence(title_side(benchmark, part.role))
    if part.role in ("hard_positive", "hard_negative") and benchmark.object is not None and benchmark.contexts:
        pair = name_pairing(benchmark.object, benchmark.contexts, present=part.role == "hard_positive", role="out")
        return f"{pair} ({part.role.replace('_', ' ')}s)"
    return name(part.title)


def name_split(benchmark: EvaluatedBenchmark, split: str) -> str:
    """What follows "rows" or "examples": " of test"; "" where no split is known by name.

    A single file of own data has the split "train" of `datasets` for want of another, whatever its rows are.
    """
    return "" if not split or (benchmark.name == OWN and split == "train") else f" of {name(split, 30)}"


def title_side(benchmark: EvaluatedBenchmark, side: Side) -> str:
    """What the benchmark calls a side in tables, charts and at the end of a sentence: "in context"."""
    return name(benchmark.words.inside_title if side == "in" else benchmark.words.outside_title, _LONGEST_WORDS)


def name_side(benchmark: EvaluatedBenchmark, side: Side, noun: str) -> str:
    """A noun and the side that it is of: "out-of-context examples", "examples in the worst group"."""
    title, usual = title_side(benchmark, side), Vocabulary()
    if title in (usual.inside_title, usual.outside_title):
        return f"{title.replace(' ', '-')} {noun}"
    return f"{noun} {title}"


def title_metric(metric: str, described: MetricDescription) -> str:
    """Title, unit and direction of a metric, over a column of its numbers: "AUC × 100 ↑"."""
    unit, arrow = format_numbers.unit_of(metric, described.unit), format_numbers.arrow(described.direction)
    return " ".join(filter(None, (name(described.title, 40), unit, arrow)))


def name_model(model: EvaluatedModel) -> str:
    """The name that the model goes by: its id, else its objective.

    >>> name_model(EvaluatedModel(objective="erm"))
    'erm'
    """
    return name(model.id or model.objective or "a model")


def describe_training(report: "ReportRecord") -> str:
    """What the model was trained on and who says so, else "not stated"; "" for answers whose model was not opened."""
    model, training = report.model, report.provenance.training
    data = (training.data if training else None) or {}
    own = "/".join(str(data[key]) for key in ("benchmark", "config") if data.get(key))
    parts = [f"{name(own)}, according to the model's recipe"] if own else []
    if model.trained_on:
        parts.append(f"{name(join_names(model.trained_on), 400)}, according to the model's card")
    return "; ".join(parts) if parts or model.mode in (None, "given") else "not stated"


def list_caveats(report: "ReportRecord") -> list[str]:
    """The caveats of the data, with their counts set as counts."""
    return [format_numbers.counts_in_text(name(caveat, 400)) for caveat in report.caveats]


def capitalize_sentence(text: str) -> str:
    """The text with its first letter large.

    >>> capitalize_sentence("out of context")
    'Out of context'
    """
    return text[:1].upper() + text[1:]
