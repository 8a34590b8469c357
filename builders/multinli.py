"""MultiNLI by negation: whether a sentence contradicts another, which mostly goes with words such as "never"."""

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import datasets
import pyarrow as pa

from oochub.benchmark import Benchmark, RawFile
from oochub.builder import BenchmarkBuilder, BenchmarkConfig, make_features
from oochub.builders.sources.raw_table import RawColumn, RawTable, of_splits
from oochub.records.build_record import BuildFacts
from oochub.records.sides import Rows, Vocabulary, WorstOfGroups

_LABELS = {"0": "contradiction", "1": "entailment", "2": "neutral"}
_NEGATION = {"0": "no_negation", "1": "negation"}
_SPLITS = {"0": "train", "1": "validation", "2": "test"}
_GROUPS = tuple(f"{label}/{negation}" for label in _LABELS.values() for negation in _NEGATION.values())
_WORDS = {"nobody", "no", "never", "nothing"}
_PARTS = tuple(f"multinli_1.0/multinli_1.0_{part}.jsonl" for part in ("train", "dev_matched", "dev_mismatched"))
_TABLE = "metadata_random.csv"
_LABELLED = 392_702 + 9_815 + 9_832
_LICENSE = "OANC's license, CC BY 3.0 and CC BY-SA 3.0, by genre"
_HOME = "https://cims.nyu.edu/~sbowman/multinli/"

multinli = Benchmark(
    name="multinli",
    title="MultiNLI by negation",
    summary="Pairs of sentences; the second mostly contradicts the first where it has a word of negation.",
    version="1.0.0",
    homepage=_HOME,
    sources=("multinli", "multi nli", "mnli", "glue"),
    citation="""@inproceedings{williams2018broad,
  title = {A Broad-Coverage Challenge Corpus for Sentence Understanding through Inference},
  author = {Williams, Adina and Nangia, Nikita and Bowman, Samuel},
  booktitle = {Proceedings of NAACL-HLT},
  year = {2018}
}

@inproceedings{sagawa2020distributionally,
  title = {Distributionally Robust Neural Networks for Group Shifts},
  author = {Sagawa, Shiori and Koh, Pang Wei and Hashimoto, Tatsunori B. and Liang, Percy},
  booktitle = {International Conference on Learning Representations},
  year = {2020}
}""",
    raw_files=(
        *(
            RawFile(path=path, url=_HOME, size="not stated", license=_LICENSE, note="a pair of sentences in each line")
            for path in _PARTS
        ),
        RawFile(
            path=_TABLE,
            also=f"data/{_TABLE}",
            url="https://github.com/kohpangwei/group_DRO (dataset_metadata/multinli/metadata_random.csv)",
            size="not stated",
            license="MIT",
            note="label, negation and split of each pair",
        ),
    ),
    in_context=Rows(name="all pairs", split="test"),
    out_of_context=WorstOfGroups(split="test"),
    primary_metric="accuracy",
    metrics=("accuracy", "error_rate", "nll", "ece", "worst_group"),
    chance=1 / 3,
    words=Vocabulary.of(
        "over all pairs", "in the worst group", example="pair", pair="one contradiction and one other pair"
    ),
    input="texts",
    context_column="negation",
    closed={"group": _GROUPS},
    task_category="text-classification",
    images_license=_LICENSE,
    annotations_license=_LICENSE,
    toy_world="toy_multinli",
)


@dataclass
class MultinliConfig(BenchmarkConfig):
    """Options of `load_dataset("multinli", ...)`.

    Attributes:
        separator: What stands between both sentences in `text`. " [SEP] " is a token of BERT's; give that of your
            model's tokenizer, such as " </s></s> ".
        strict: Refuse a table that has not as many rows as there are labelled pairs, 412,349, instead of noting it.
        follow_links: Read files that links lead to outside the raw folder, as in a snapshot of the Hub.
    """

    separator: str = " [SEP] "
    strict: bool = False


class Multinli(BenchmarkBuilder):
    """The pairs of MultiNLI's training and development sets, divided anew and by negation, as in Sagawa et al.

    A row of `metadata_random.csv` gives the number of its pair among the lines of the three files, its label, whether
    the second sentence has "nobody", "no", "never" or "nothing", and its split. Label and negation are found again in
    the pair, so a table of other files is refused. `text` has both sentences with `separator` between them. Groups and
    environments are the six of label and negation; the sides are all test pairs against the worst group.

    Source: Sagawa et al. 2020, group_DRO, `dataset_scripts/generate_multinli.py` and README (split 50/20/30);
    SubpopBench 4d3dbbe, `generate_metadata_multinli`. How many labelled pairs there are, 392,702, 9,815 and 9,832, is
    that of GLUE's MNLI. How many pairs each group has was not found published, so it is not checked.

    >>> Multinli.BENCHMARK.out_of_context.description
    'the worst of the groups by group, split test'
    """

    BENCHMARK: ClassVar[Benchmark] = multinli
    BUILDER_CONFIG_CLASS = MultinliConfig

    def _features(self) -> datasets.Features:
        names = {"label": _LABELS.values(), "environment": _GROUPS, "group": _GROUPS, "negation": _NEGATION.values()}
        texts = dict.fromkeys(("text", "premise", "hypothesis", "genre", "pair_id"), "string")
        return make_features(**names, **texts)

    def _split_generators(self, dl_manager: object) -> list[datasets.SplitGenerator]:
        folder = self._folder()
        pairs = [RawTable.of_json_lines(folder / path, dict.fromkeys(_FIELDS, RawColumn())) for path in _PARTS]
        every = {field: [text for part in pairs for text in part[field]] for field in _FIELDS}
        table = RawTable.of_csv(
            multinli.raw_files[-1].find(folder) or folder / _TABLE,
            {
                "": RawColumn(
                    kind="count",
                    highest=len(every["pairID"]) - 1,
                    form="the lines of the three files",
                    is_unique=True,
                ),
                "gold_label": RawColumn(codes=_LABELS),
                "sentence2_has_negation": RawColumn(codes=_NEGATION),
                "split": RawColumn(codes=_SPLITS),
            },
        )
        numbers, labels, negations = table[""].tolist(), table["gold_label"], table["sentence2_has_negation"]
        chosen = {field: [texts[number] for number in numbers] for field, texts in every.items()}
        groups = [f"{label}/{negation}" for label, negation in zip(labels, negations, strict=True)]
        _check_pairs(table, chosen, groups)
        premise, hypothesis = chosen["sentence1"], chosen["sentence2"]
        rows = pa.table(
            {
                "example_id": [str(number) for number in numbers],
                "label": labels,
                "environment": groups,
                "group": groups,
                "negation": negations,
                "text": [
                    f"{one}{self.config.separator}{other}" for one, other in zip(premise, hypothesis, strict=True)
                ],
                "premise": premise,
                "hypothesis": hypothesis,
                "genre": chosen["genre"],
                "pair_id": chosen["pairID"],
            }
        )
        parts = of_splits(rows, table["split"], _SPLITS.values())
        notes = [] if len(rows) == _LABELLED else [f"partial: {len(rows):,} of {_LABELLED:,} labelled pairs"]
        self._check_whole(f"{table.file} is not the release", notes)
        facts = BuildFacts().with_groups(parts["train"]["group"].to_pylist(), _GROUPS)
        return self._splits(folder, parts, facts, notes)


_FIELDS = ("pairID", "gold_label", "sentence1", "sentence2", "genre")


def _check_pairs(table: RawTable, pairs: Mapping[str, Sequence[str]], groups: Sequence[str]) -> None:
    """Refuses a table whose label or negation is not that of its pair: it belongs to other files."""
    negated = ["negation" if _WORDS & _split_words(text) else "no_negation" for text in pairs["sentence2"]]
    right = [f"{label}/{negation}" for label, negation in zip(pairs["gold_label"], negated, strict=True)]
    table.require(
        [group == of_pair for group, of_pair in zip(groups, right, strict=True)],
        lambda row: (
            f"it says {groups[row]}, but the pair of that number is {right[row]}. The table and the three "
            "files do not belong together"
        ),
    )


_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)


def _split_words(text: str) -> set[str]:
    """The words as group_DRO's script takes them: without punctuation, in lower case, between single spaces."""
    return set(text.translate(_WITHOUT_PUNCTUATION).lower().split(" "))
