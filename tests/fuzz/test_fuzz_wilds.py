"""The raw folders of WILDS with one thing wrong: file and row are named, or the rows are the same."""

import csv
import gzip
import hashlib
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from datasets import load_dataset
from fuzz_case import CHANGED, REFUSED, SAFE, SAME, Case, Format, Used
from mutations import bytes_cases, json_cases, json_text_cases, place_cases, text_cases

import oochub
from oochub.records.build_record import BuildRecord

_ROW = 3  # that is changed, the first is 0
_WHOLE = ("", " ", "nan", "-1", "1.5", "x", "١", "9" * 400, "1e0", "0x1", "1_0", "+1", "null")
_SHARE = ("", " ", "nan", "inf", "-0.1", "1.1", "x", "١", "9" * 400, "0_1", "0,5")
_NUMBER = ("", " ", "nan", "inf", "-inf", "x", "١", "1e999", "1_0", "0,5")
_STARS = ("", "0", "6", "-1", "1.5", "nan", "x", "١", "5_0")
_YEAR = ("", "1200", "9999", "2012.5", "nan", "x", "٢٠١٢", "201_2")
_SPLIT = ("", "-2", "9", "0.5", "nan", "x", "train")
_TEXT = ("", "x", "Train", "TRAIN", " train", "0.0", "nan")
_PATHS = ("", ".", "..", "/", "../metadata.csv", "/etc/passwd", "no_such.png", "a/" * 200 + "b.png", "x" * 300 + ".png")
_TIMES = ("", "2013-02-30 00:00:00.000", "2013-02-03", "x", "nan", "1e9", "2013-02-03 25:00:00.000", "0000-00-00")
_ISO_TIMES = tuple(text for text in _TIMES if text != "2013-02-03")
_BOXES = ("", "x", "1 2 3", "1 2 3 4 5", "3 2 1 4", "-1 0 3 4", "1 2 3 4;", "nan 1 2 3", "1.5 2 3 4", "1,2,3,4")
_BOXES += (
    "1 2 1 4",
    "1 2 3 2",
    "96 2 98 4",
    "2 96 4 98",
    "500 500 600 600",
    "1 2 999999 4",
)  # of an image of 96 x 96
_CATEGORIES = ("", " ", " Books", "Books ", "BOOKS")
_CELLS = (*_TEXT, "hepg2", "HEPG2 ", "HEPG-2", "RPE", "HEK")
_REGIONS = ("x", "asia", "EUROPE", " Asia", "Asia ", "Other ", "nan", "Antarctica", "America")


@dataclass(frozen=True, kw_only=True)
class _Table:
    """A table with a line of names.

    Attributes:
        wrong: Of columns that are read the texts that none of their fields may be.
        may_change: The changes that no reader can tell from another table, by the end of their names: of texts that
            may be any, of the last number.
        may_stay: The changes that may be of a column that is not read.
        separator: Between fields.
    """

    wrong: dict[str, tuple[str, ...]]
    may_change: tuple[str, ...] = ()
    may_stay: tuple[str, ...] = ()
    separator: str = ","


@dataclass(frozen=True, kw_only=True)
class _Folder:
    """A data set: its config, how large its toy is, its tables, and what else lies there."""

    config: str
    size: str | int
    tables: dict[str, _Table] = field(default_factory=dict)
    optional: tuple[str, ...] = ()
    more: Callable[[], Iterator[Case]] = lambda: iter(())


_LAST = "without its last byte"
_LINE_ENDS = "with line ends of Windows"  # of texts with lines
_LATIN, _ZERO = "Latin-1", "with a zero byte"
_LESS, _TWICE = "a row less", "a row twice"

_FOLDERS = (
    _Folder(
        config="amazon",
        size=4,
        tables={
            "reviews.csv": _Table(
                wrong={"overall": _STARS, "reviewYear": _YEAR, "category": _CATEGORIES},
                may_change=(_LINE_ENDS, _ZERO, "a quote"),
            ),
            "splits/user.csv": _Table(wrong={"split": _SPLIT}, may_stay=(_LATIN, _ZERO)),
        },
    ),
    _Folder(
        config="camelyon17",
        size=20,
        tables={
            "metadata.csv": _Table(
                wrong={
                    **dict.fromkeys(("tumor", "slide", "center", "split"), (*_WHOLE, "50")),
                    **dict.fromkeys(("patient", "node", "x_coord", "y_coord"), _PATHS),
                }
            )
        },
        more=lambda: _picture("patches/patient_000_node_0/patch_patient_000_node_0_x_0_y_0.png"),
    ),
    _Folder(
        config="civilcomments",
        size=20,
        tables={
            "all_data_with_identities.csv": _Table(
                wrong={**dict.fromkeys(("toxicity", "male", "threat", "identity_any"), _SHARE), "split": _TEXT},
                may_change=(_LINE_ENDS,),
            )
        },
    ),
    _Folder(
        config="fmow",
        size=24,
        tables={
            "rgb_metadata.csv": _Table(wrong={"split": _TEXT, "category": (*_TEXT, "zoos"), "timestamp": _ISO_TIMES}),
            "country_code_mapping.csv": _Table(
                wrong={"alpha-3": ("USA", "ken", " KEN"), "region": _REGIONS}, may_change=(_LESS,)
            ),
        },
    ),
    _Folder(
        config="globalwheat",
        size=3,
        tables={
            "official_train.csv": _Table(
                wrong={"image_name": _PATHS, "BoxesString": _BOXES, "domain": _WHOLE},
                may_change=(_LAST,),
            ),
            "metadata_domain.csv": _Table(
                wrong={"name": _TEXT, "country": _TEXT, "location": _TEXT, "development_stage": _TEXT}, separator=";"
            ),
        },
        more=lambda: _picture("images/0-train-00000.png"),
    ),
    _Folder(
        config="iwildcam",
        size=6,
        tables={
            "metadata.csv": _Table(
                wrong={
                    **dict.fromkeys(("y", "location_remapped", "sequence_remapped"), _WHOLE),
                    "split": _TEXT,
                    "datetime": _TIMES,
                    "filename": _PATHS,
                }
            ),
            "categories.csv": _Table(wrong={"y": (*_WHOLE, "2"), "name": ("corgi",)}),
        },
        optional=("categories.csv",),
        more=lambda: _picture("train/0-00000-0.jpg"),
    ),
    _Folder(config="ogb_molpcba", size=8, more=lambda: _molecules()),
    _Folder(
        config="poverty_fold_a",
        size=2,
        tables={"dhs_metadata.csv": _Table(wrong={"country": _TEXT, "urban": _TEXT, "wealthpooled": _NUMBER})},
        more=lambda: _array("images/landsat_poverty_img_3.npz"),
    ),
    _Folder(
        config="py150",
        size=4,
        tables={"metadata/repo_file_names/repo_ids.csv": _Table(wrong={"id": (*_WHOLE, "2")})},
        more=lambda: _tokens(),
    ),
    _Folder(
        config="rxrx1",
        size="small",
        tables={
            "metadata.csv": _Table(
                wrong={
                    **dict.fromkeys(("site", "sirna_id"), (*_WHOLE, "1139")),
                    "cell_type": _CELLS,
                    **dict.fromkeys(("experiment", "plate", "well"), _PATHS),
                    "dataset": _TEXT,
                }
            )
        },
    ),
)


def _make(config: str, size: str | int) -> Callable[[Path], object]:
    return lambda folder: oochub.get("benchmark", "wilds").of(config).render_toy_world(folder, size=size)


def _use(config: str) -> Callable[[Path, Path], Used]:
    def use(folder: Path, out: Path) -> Used:
        data = load_dataset("wilds", config, data_dir=str(folder), streaming=True)
        features = data["train"].features
        parts = {split: part.with_format("numpy") for split, part in data.items()}
        if "image" in features:  # the bytes, which are stored as they are
            parts = {split: part.decode(False) for split, part in parts.items()}
        numbers = {split: [_without_content(row) for row in part] for split, part in parts.items()}
        return Used(
            numbers={**numbers, "features": str(features)}, notes=tuple(BuildRecord.of(data["train"].info).notes)
        )

    return use


def _without_content(row: dict[str, Any]) -> dict[str, Any]:
    """The row without the bytes of its image, its array as a digest."""
    array = {"array": hashlib.sha256(row["array"].tobytes()).hexdigest()} if "array" in row else {}
    return {**{name: value for name, value in row.items() if name != "image"}, **array}


def _cases(folder: _Folder) -> Iterator[Case]:
    for file, table in folder.tables.items():
        missing = frozenset({REFUSED, *([CHANGED] if file in folder.optional else [])})
        for case in _of_table(file, table):
            more = {CHANGED} if case.name.endswith(table.may_change or "\0") else set()
            more |= {SAME} if case.name.endswith(table.may_stay or "\0") else set()
            yield replace(case, expect=case.expect | more)
        for case in place_cases(file):
            yield replace(case, expect=missing) if case.name == f"{file} missing" else case
    yield from folder.more()


def _of_table(file: str, table: _Table) -> Iterator[Case]:
    yield from text_cases(file, blank=frozenset({REFUSED}), bom=frozenset({SAME}))
    for column, texts in table.wrong.items():
        for text in texts:
            yield Case(
                name=f"{file} {column} {text[:20]!r}",
                mutate=_rows(file, table, lambda rows, column=column, text=text: _set(rows, column, text)),
                says=rf"(lines?|rows?)\b.*\b({_ROW + 2}|{_ROW})\b|sessions: |row for|split\b",
            )
    for column in table.wrong:
        for word, name in {"renamed": "other", "with a space": f" {column}", "in capitals": column.upper() * 2}.items():
            yield Case(
                name=f"{file} the column {column} {word}",
                mutate=_rows(file, table, lambda rows, column=column, name=name: _rename(rows, column, name)),
            )
        yield Case(
            name=f"{file} the column {column} twice",
            mutate=_rows(
                file, table, lambda rows, column=column: [row.append(row[rows[0].index(column)]) for row in rows[::-1]]
            ),
        )
    changes: dict[str, tuple[Callable[[list[list[str]]], object], frozenset[str]]] = {
        "no first line": (lambda rows: rows.pop(0), frozenset({REFUSED})),
        _LESS: (lambda rows: rows.pop(_ROW + 1), SAFE),
        _TWICE: (lambda rows: rows.append(rows[_ROW + 1]), SAFE),
        "a field more": (lambda rows: rows[_ROW + 1].append("1"), frozenset({REFUSED})),
        "a field less": (lambda rows: rows[_ROW + 1].pop(), frozenset({REFUSED})),
        "no row": (lambda rows: rows.__delitem__(slice(1, None)), frozenset({REFUSED})),
    }
    for word, (change, expect) in changes.items():
        yield Case(name=f"{file} {word}", mutate=_rows(file, table, change), expect=expect)
    for word, line, expect in (
        ("an empty line", "\n", SAFE),
        ("a quote", '"x\n', frozenset({REFUSED})),
        ("another separator", "a|b|c\n", frozenset({REFUSED})),
    ):
        yield Case(name=f"{file} {word}", mutate=_line(file, line), expect=expect)


def _rows(file: str, table: _Table, change: Callable[[list[list[str]]], object]) -> Callable[[Path], None]:
    """A mutation of the fields of a table, its first line among them."""

    def mutate(folder: Path) -> None:
        with (folder / file).open(encoding="utf-8", newline="") as content:
            rows = list(csv.reader(content, delimiter=table.separator))
        change(rows)
        text = io.StringIO()
        csv.writer(text, delimiter=table.separator, lineterminator="\n").writerows(rows)
        (folder / file).write_text(text.getvalue(), "utf-8", newline="")

    return mutate


def _set(rows: list[list[str]], column: str, text: str) -> None:
    rows[_ROW + 1][rows[0].index(column)] = text


def _rename(rows: list[list[str]], column: str, name: str) -> None:
    rows[0][rows[0].index(column)] = name


def _line(file: str, line: str) -> Callable[[Path], None]:
    """A mutation that puts one more line where the fourth row begins."""

    def mutate(folder: Path) -> None:
        lines = (folder / file).read_bytes().splitlines(keepends=True)
        (folder / file).write_bytes(b"".join([*lines[: _ROW + 1], line.encode(), *lines[_ROW + 1 :]]))

    return mutate


def _picture(file: str) -> Iterator[Case]:
    """An image: what is no image is refused; one that is damaged within is stored as it is."""
    yield from place_cases(file)
    yield from bytes_cases(file, expect=SAFE, flips=0)


def _array(file: str) -> Iterator[Case]:
    yield from place_cases(file)
    yield from bytes_cases(file, expect=frozenset({REFUSED, SAME}))


def _tokens() -> Iterator[Case]:
    for name in ("train_input", "OODtest_input_tok_type"):
        file = f"processed/{name}.json"
        yield from place_cases(file)
        yield from json_text_cases(file)
        for case in json_cases(file, [[4, 4]], lambda place, word: frozenset({REFUSED})):
            yield replace(case, says=r"row 0\b") if case.name.startswith(f"{file} [0][0]") else case
    file = "metadata/repo_file_names/OODtest.txt"
    yield from place_cases(file)
    for case in text_cases(file, blank=frozenset({REFUSED}), bom=frozenset({SAME})):
        yield replace(case, expect=frozenset({CHANGED})) if case.name.endswith(_LAST) else case
    for line in ("nobody/nothing/a.py", "a.py", "", "/", "habit//a.py", "../../a.py"):
        yield Case(name=f"{file} {line!r}", mutate=_line(file, f"{line}\n"), says=rf"line {_ROW + 2}\b|rows")


_NUMBERS = ("", "nan", "-1", "x", "1.5", "9" * 400, "1e0", "300", "70000", "1;2", '"')


def _molecules() -> Iterator[Case]:
    """OGB's tables of numbers, unpacked, changed and packed again."""
    for name in ("edge", "edge-feat", "node-feat", "num-node-list", "num-edge-list", "graph-label"):
        yield from _numbers(f"raw/{name}.csv")
    for name in ("train", "valid", "test"):
        yield from _numbers(f"split/scaffold/{name}.csv")
    for file in ("raw/edge.csv.gz", "mapping/mol.csv.gz"):
        yield from bytes_cases(file, expect=SAFE)
        missing = frozenset({REFUSED, CHANGED}) if "mol" in file else frozenset({REFUSED})
        for case in place_cases(file):
            yield replace(case, expect=missing) if case.name == f"{file} missing" else case
    file = "raw/scaffold_group.npy"
    yield from place_cases(file)
    yield from bytes_cases(file, expect=SAFE | {CHANGED})  # a bit of a number is another scaffold


def _numbers(file: str) -> Iterator[Case]:
    for case in text_cases(file, blank=frozenset({REFUSED}), bom=frozenset({SAME})):
        is_end = case.name.endswith(_LAST)  # of the last number
        yield _packed(file, replace(case, expect=case.expect | {CHANGED}) if is_end else case)
    for text in _NUMBERS:
        may_be = text in ("", "nan", "1e0") and "label" in file  # unknown, or 1
        yield _packed(
            file,
            Case(
                name=f"{file} {text[:20]!r}",
                mutate=_first_number(file, text),
                expect=frozenset({CHANGED}) if may_be else frozenset({REFUSED}) if text != "1e0" else SAFE,
                says=rf"(?i)(line|row) ?#?{_ROW + 1}\b|lines|sum",
            ),
        )
    for word, line in {"an empty line": "\n", "a line more": "0\n", "a field more": "0,0,0,0,0\n"}.items():
        yield _packed(file, Case(name=f"{file} {word}", mutate=_line(file, line)))


def _first_number(file: str, text: str) -> Callable[[Path], None]:
    def mutate(folder: Path) -> None:
        lines = (folder / file).read_text().splitlines()
        lines[_ROW] = ",".join([text, *lines[_ROW].split(",")[1:]])
        (folder / file).write_text("\n".join(lines) + "\n")

    return mutate


def _packed(file: str, case: Case) -> Case:
    def mutate(folder: Path) -> None:
        plain, packed = folder / file, folder / f"{file}.gz"
        plain.write_bytes(gzip.decompress(packed.read_bytes()))
        case.mutate(folder)
        packed.write_bytes(gzip.compress(plain.read_bytes(), mtime=0))
        plain.unlink()

    return replace(case, mutate=mutate)


CASES = [
    (Format(name=f"wilds {folder.config}", make=_make(folder.config, folder.size), use=_use(folder.config)), case)
    for folder in _FOLDERS
    for case in _cases(folder)
]
_EVERY_DAY = (
    *("all_data_with_identities.csv a fifo", "raw/edge.csv.gz a fifo", "raw/scaffold_group.npy a folder"),
    *("categories.csv a fifo", "mapping/mol.csv.gz a fifo", "categories.csv y '2'"),
    *("processed/train_input.json [0][0] a fraction", "all_data_with_identities.csv toxicity '١'"),
)


@pytest.mark.campaign
@pytest.mark.parametrize("kind, case", CASES, ids=lambda each: each.name)
def test_wilds(campaign, kind, case):
    campaign.run(kind, case)


@pytest.mark.parametrize(
    "kind, case", [each for each in CASES if each[1].name in _EVERY_DAY], ids=lambda each: each.name
)
def test_wilds_every_day(campaign, kind, case):
    campaign.run(kind, case)


def test_every_data_set_is_changed():
    assert {folder.config for folder in _FOLDERS} == set(oochub.get("benchmark", "wilds").tried_configs)
    assert {case.name for _, case in CASES} >= set(_EVERY_DAY)
