"""Every other file that is read, changed by a seed: an error that names it, or numbers; and named cases."""

import csv
import json
import math
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from drawn_changes import bytes_of, cells_of, field_of, lines_of, one_of, place_of
from drawn_columns import cell, columns_of, metadata_of, retyped, rows
from formats_answers import GIVEN_ANSWERS
from formats_benchmark_file import BENCHMARK_FILE
from formats_boxes_and_tokens import ANSWERS, CHECKED, GRAPHS, PADDING
from formats_bridges import CLEANLAB, EVAL, FIFTYONE, INSPECT, LMMS
from formats_captions import CAPTIONS
from formats_chat_models import CHAT
from formats_check_rules import CHECK_RULES
from formats_class_files import CSV_MAP, JSON_MAP, OUTPUTS, PROMPTS, TEMPLATES
from formats_coco import COCO
from formats_decisions import DECISIONS
from formats_detections import LABELS, RESULTS
from formats_detectors import DETECTORS, HEADS
from formats_entries import CHANGED_ENTRY, ENTRIES, TRUTH
from formats_exif import EXIF
from formats_hierarchy import HIERARCHY
from formats_ids import IDS, SPLIT
from formats_lists import DEVKIT, LABELLED, LISTS, PAIRS, SOLUTION
from formats_lists import MODELS as MODEL_LISTS
from formats_masks import MASKS, OUTLINES, UNION
from formats_metadata import CUB, FACES, FACTORS
from formats_metadata import METADATA as TABLE
from formats_models import MODELS, PICTURES
from formats_object_areas import BOXES, PNG
from formats_objectnet import OBJECTNET
from formats_onnx import EXTERNAL, METADATA, NETS
from formats_own_data import OWN_CSV, OWN_FOLDER, OWN_PARQUET, REPOSITORY, WEBDATASET
from formats_predictions import FILE, FOLDER, PARTS, PREDICTIONS, resealed_field
from formats_recipes import RECIPES
from formats_repairs import REPAIRS
from formats_reports import REPORTS
from formats_row_files import ROW_FILES
from formats_shards import SHARDS
from formats_spawrious import SPAWRIOUS
from formats_submissions import LINES, SUBMITTED
from formats_tars import TARS
from formats_wilds import WILDS, wilds_changes
from fresh_cases import Change, Reader, every_day, fresh
from fuzz_case import CHANGED, SAME, Case, Format


def _changes(*files: str) -> dict[str, Change]:
    """What can be done to files of these names: damaged, in another place, and what their form allows."""
    changes = {"bytes": bytes_of(*files), "place": place_of(*files)}
    if tables := [file for file in files if file.endswith(".csv")]:
        changes["cells"] = cells_of(tables[0])
    if texts := [file for file in files if file.endswith((".txt", ".toml", ".jsonl", ".csv", ".jinja"))]:
        changes["lines"] = lines_of(texts[0], values=("[", "a = 1", "#"))
    if fields := [file for file in files if file.endswith(".json")]:
        changes |= {"JSON field": field_of(*fields), "another field": field_of(*fields)}
    return changes


_ODD = (
    *([[0.0, 0.0, 1e9, 1e9]], [[5.0, 5.0, 1.0, 1.0]], [[math.nan] * 4], [[1.0, 2.0, 3.0]], [], [0.5], None, "abc"),
    *([math.inf], [1], [-100], [10**9, 1, 1, -100], [-5, 1, 1, -100], [2**40, 1, 1], [[]]),
)
"""What a box or a token is not."""
_BOXES, _TOKENS = ("detected_boxes", "scores"), ("predicted_tokens",)
_ROWS = ("label", "logits", "split", "challenge", "group", "example_id")


def _columns(file: str, *names: str, values: tuple[Any, ...] = (), sealed: bool | None = None) -> dict[str, Change]:
    """Changes of the columns of a Parquet file, of their cells, types and rows; see `columns_of`."""
    draws = {"values": cell(*names, values=values), "types": retyped(*names), "rows": rows}
    return {word: columns_of(file, draw, sealed=sealed) for word, draw in draws.items()}


def _given(kind: str, file: str, *names: str) -> Reader:
    """Answers or predictions of boxes or tokens."""
    own = _columns(file, *names, "group", "example_id", values=_ODD, sealed=False)
    known = ANSWERS if file == "answers.parquet" else CHECKED
    return Reader(kind=known[kind], changes={**own, **_changes(file)}, share=0.5)


_PNG = "spawrious224/[01]/*/*/*_[123].png"
_ANNOTATIONS = "annotations/instances_train2017.json"
READERS = (
    Reader(kind=COCO, changes=_changes("annotations/instances_*.json", "annotations/stuff_*.json")),
    Reader(kind=CAPTIONS, changes=_changes("annotations/captions_*.json"), share=0.5),
    Reader(kind=replace(SPAWRIOUS, names=("desert", "spawrious")), changes=_changes(_PNG), share=0.5),
    Reader(kind=TABLE, changes=_changes("metadata.csv")),
    Reader(kind=FACES, changes=_changes("list_*.txt")),
    Reader(kind=FACTORS, changes=_changes("imagenet_x/annotations/imagenet_x_val_top_factor.jsonl"), share=0.5),
    Reader(kind=CUB, changes=_changes("*.txt"), share=0.5),
    Reader(kind=LISTS, changes=_changes("list.txt"), share=0.5),
    Reader(kind=SOLUTION, changes=_changes("imagenet/*.csv"), share=0.5),
    Reader(kind=DEVKIT, changes=_changes("imagenet/*/data/*.txt"), share=0.5),
    Reader(kind=TARS, changes=_changes("pictures/*.tar")),
    Reader(kind=IDS, changes=_changes("*.npy"), share=0.5),
    Reader(kind=replace(SPLIT, names=("split",)), changes=_changes("*.npz"), share=0.5),
    Reader(kind=BENCHMARK_FILE, changes=_changes("benchmark.toml")),
    _given("boxes", "answers.parquet", *_BOXES),
    _given("tokens", "answers.parquet", *_TOKENS),
    _given("boxes", "predictions.parquet", *_BOXES, "boxes"),
    _given("tokens", "predictions.parquet", *_TOKENS, "tokens", "kinds"),
    *(Reader(kind=kind, changes=_changes(file)) for file, kind in GIVEN_ANSWERS.items()),
    Reader(
        kind=PREDICTIONS, changes={**_columns(FILE, *_ROWS), "metadata": metadata_of(FILE, b"oochub"), **_changes(FILE)}
    ),
    Reader(
        kind=PARTS,
        changes={
            **_columns(f"{FOLDER}/part-*.parquet", *_ROWS),
            "resealed field": resealed_field,
            **_changes(f"{FOLDER}/part-*.parquet", f"{FOLDER}/_manifest.json"),
        },
    ),
    Reader(
        kind=ENTRIES,
        changes={
            "predictions": one_of(*_columns(f"{CHANGED_ENTRY}/preds.parquet", *_ROWS[:-1]).values()),
            "JSON field": field_of(f"{CHANGED_ENTRY}/*.json"),
            "bytes": bytes_of(f"{CHANGED_ENTRY}/*"),
            "place": place_of(f"{CHANGED_ENTRY}/*"),
        },
        expect=frozenset({SAME, CHANGED}),  # no entry is worth a refusal of all
    ),
    Reader(kind=TRUTH, changes=_changes("results/truth/*/*.parquet", "results/truth/*/truth.json")),
    Reader(kind=OWN_FOLDER, changes={**_changes("*/*.jpg"), **_changes("*/metadata.csv")}),
    Reader(kind=OWN_CSV, changes=_changes("own/rows.csv")),
    Reader(
        kind=OWN_PARQUET,
        changes={
            **_columns("own/*.parquet", "label", "context", "challenge", sealed=False),
            **_changes("own/*.parquet"),
        },
    ),
    Reader(
        kind=REPOSITORY,
        changes={
            **_columns("made/data/*.parquet", "label", "context", "challenge"),
            **_changes("made/data/*.parquet", "made/README.md"),
            "JSON field": field_of("made/build.json"),
        },
    ),
    Reader(
        kind=WEBDATASET,
        changes={
            **_changes("made/data/*.tar", "made/README.md"),
            "JSON field": field_of("made/build.json", "made/data/index.json"),
        },
    ),
    *(Reader(kind=kind, changes=wilds_changes(config), share=0.5) for config, kind in WILDS.items()),
    Reader(kind=REPORTS, changes=_changes("report.json")),
    Reader(kind=RECIPES, changes=_changes("own.toml")),
    Reader(kind=DECISIONS, changes=_changes("decisions.csv"), share=0.5),
    *(Reader(kind=kind, changes=_changes(LINES[name][0]), share=0.4) for name, kind in SUBMITTED.items()),
    Reader(kind=JSON_MAP, changes=_changes("map.json"), share=0.5),
    Reader(kind=CSV_MAP, changes=_changes("map.csv"), share=0.5),
    Reader(kind=PROMPTS, changes=_changes("prompts.json"), share=0.4),
    Reader(kind=TEMPLATES, changes=_changes("templates.txt"), share=0.4),
    *(
        Reader(kind=kind, changes=_changes("detector.json", "state.safetensors"), share=0.3)
        for kind in DETECTORS.values()
    ),
    Reader(kind=HEADS, changes=_changes("in.head.safetensors"), share=0.3),
    Reader(kind=EXIF, changes={"bytes": bytes_of("exif.bin")}, share=0.4),
    Reader(kind=PNG, changes=_changes("*.png"), share=0.5),
    Reader(kind=BOXES, changes={"JSON field": field_of("boxes.json")}, share=0.5),
    Reader(kind=PADDING, changes=_changes("tokens.json"), share=0.5),
    Reader(kind=GRAPHS, changes={"JSON field": field_of("graphs.json")}, share=0.5),
    Reader(kind=FIFTYONE, changes=_changes("fo/samples.json", "fo/metadata.json")),
    Reader(kind=INSPECT, changes=_changes("log.json")),
    Reader(kind=EVAL, changes=_changes("log.eval"), share=0.5),
    Reader(kind=LMMS, changes=_changes("samples.jsonl")),
    Reader(kind=CLEANLAB, changes=_changes("issues.csv")),
    Reader(kind=CHECK_RULES, changes=_changes("rules.toml")),
    Reader(kind=OUTPUTS, changes=_changes("names.txt"), share=0.5),
    Reader(kind=RESULTS, changes=_changes("results.json")),
    Reader(kind=LABELS, changes=_changes("labels/id3.txt")),
    Reader(kind=LABELLED, changes=_changes("list.txt")),
    Reader(kind=MODEL_LISTS, changes=_changes("models.txt")),
    Reader(kind=PAIRS, changes=_changes("pairs.jsonl")),
    *(Reader(kind=kind, changes=_changes(_ANNOTATIONS), share=0.5) for kind in (MASKS, UNION, OUTLINES)),
    Reader(kind=OBJECTNET, changes=_changes("objectnet-1.0/mappings/*.json")),
    Reader(kind=HIERARCHY, changes=_changes("class_hierarchy.txt") | _changes("dataset_class_info.json")),
    Reader(kind=REPAIRS, changes=_changes("repair.json")),
    Reader(kind=ROW_FILES, changes=_changes("ids.txt")),
    Reader(kind=SHARDS, changes=_changes("**/*.tar", "**/*.json")),
)
SLOW_READERS = (
    Reader(kind=MODELS, changes=_changes("*.json", "model.safetensors")),
    Reader(kind=PICTURES, changes={"bytes": bytes_of("picture.png")}),
    Reader(kind=NETS, changes=_changes("net.onnx", "config.json", "preprocessor_config.json")),
    Reader(kind=METADATA, changes=_changes("net.onnx"), share=0.5),
    Reader(kind=EXTERNAL, changes=_changes("net.onnx", "net.data"), share=0.5),
    Reader(kind=CHAT, share=0.5, changes=_changes("*.json", "chat_template.jinja")),
)
"""What opens a model; every day only the cases below are tried of it."""


@pytest.mark.campaign
@pytest.mark.parametrize("kind, case", fresh((*READERS, *SLOW_READERS)))
def test_formats(campaign, kind, case):
    campaign.run(kind, case)


@pytest.mark.parametrize("kind, case", every_day(READERS, number=1))
def test_formats_every_day(campaign, kind, case):
    campaign.run(kind, case)


def _writes(file: str, text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / file).write_text(text, "utf-8")


def _net(change: Callable[[Any], object]) -> Callable[[Path], object]:
    def mutate(folder: Path) -> None:
        import onnx

        proto = onnx.load(str(folder / "net.onnx"), load_external_data=False)
        change(proto)
        (folder / "net.onnx").write_bytes(proto.SerializeToString())

    return mutate


def _elsewhere(proto: Any) -> None:
    del proto.graph.initializer[0].external_data[:]
    proto.graph.initializer[0].external_data.add(key="location", value="../net.data")


def _nested(proto: Any) -> None:
    next(each for each in proto.metadata_props if each.key == "names").value = "[" * 100_000


def _line(file: str, text: str, at: int = 2) -> Callable[[Path], object]:
    def mutate(folder: Path) -> None:
        lines = (folder / file).read_text().splitlines()
        (folder / file).write_text("".join(f"{each}\n" for each in (*lines[:at], text, *lines[at + 1 :])))

    return mutate


def _cell(file: str, column: str, text: str) -> Callable[[Path], object]:
    """Another text in the fourth row of a table."""

    def mutate(folder: Path) -> None:
        with (folder / file).open(encoding="utf-8", newline="") as content:
            lines = list(csv.reader(content))
        lines[4][lines[0].index(column)] = text
        with (folder / file).open("w", encoding="utf-8", newline="") as content:
            csv.writer(content, lineterminator="\n").writerows(lines)

    return mutate


def _number(file: str) -> Callable[[Path], object]:
    def mutate(folder: Path) -> None:
        content = json.loads((folder / file).read_text())
        content[0][0] = 3.5
        (folder / file).write_text(json.dumps(content))

    return mutate


_ASKS = "{{ messages[0]['content'][-1]['text'] }}<image>"
_ALIKE = json.dumps({"cat": "cat", "brown_dog": "dog", "x": "dog"})
REFUSED: dict[str, tuple[Format, Callable[[Path], object], str]] = {
    "a template of 10 MB": (CHAT, _writes("chat_template.jinja", "x" * 10**7 + _ASKS), ""),
    "a template without an image": (CHAT, _writes("chat_template.jinja", _ASKS.replace("<image>", "")), ""),
    "words that are alike": (CHAT, _writes("words.json", _ALIKE), ""),
    "a network with weights elsewhere": (EXTERNAL, _net(_elsewhere), ""),
    "a network cut in half": (NETS, lambda folder: _cut(folder / "net.onnx"), ""),
    "a network with names nested deeply": (METADATA, _net(_nested), ""),
    **{
        f"{kind} {text}": (SUBMITTED[kind], _line(LINES[kind][0], text), r"line 3\b")
        for kind, text in (
            *(("labels", "1,2,3_0"), ("tokens", "1,2,3_0"), ("tokens", "1,-1,3"), ("number", "nan")),
            *(("classes", "nan"), ("boxes", "null")),
        )
    },
    "a category twice": (WILDS["iwildcam"], _cell("categories.csv", "y", "2"), r"(line|row)s?\b"),
    "a share in Arabic": (WILDS["civilcomments"], _cell("all_data_with_identities.csv", "toxicity", "١"), r"line|row"),
    "a token that is a fraction": (WILDS["py150"], _number("processed/train_input.json"), r"row 0\b"),
}


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


@pytest.mark.parametrize("name", REFUSED)
def test_a_case_that_is_refused(campaign, name):
    kind, mutate, says = REFUSED[name]
    campaign.run(kind, Case(name=name, mutate=lambda folder: mutate(folder) and None, says=says))


@pytest.mark.parametrize(
    "config, file",
    [("civilcomments", "all_data_with_identities.csv"), ("ogb_molpcba", "raw/edge.csv.gz"),
     ("iwildcam", "categories.csv"), ("ogb_molpcba", "mapping/mol.csv.gz")],
)  # fmt: skip
def test_a_fifo_in_the_place_of_a_table_is_refused(campaign, config, file):
    """It would be waited for without end."""

    def mutate(folder: Path) -> None:
        (folder / file).unlink()
        os.mkfifo(folder / file)

    campaign.run(WILDS[config], Case(name=f"{file} a fifo", mutate=mutate))
