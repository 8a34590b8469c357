"""The papers' numbers as data: against the printed averages, against each other, and against the papers' own text."""

import json
import math
import re

import pytest

import oochub
from oochub import catalog
from oochub.report.reported import reported_benchmarks, reported_numbers

FILES = {name: json.loads(catalog.reported_files()[name].read_text("utf-8")) for name in reported_benchmarks()}
TABLES = [(name, number, table) for name, content in FILES.items() for number, table in content["tables"].items()]
PAPER_COLUMNS = {
    "ERM": "erm", "CVaR": "cvar", "Focal": "focal", "Reweight": "reweight", "US": "undersample",
    "Reweight (Envs)": "reweight_environments", "US (Envs)": "undersample_environments", "GDRO": "group_dro",
    "IRM": "irm",
}  # fmt: skip


def test_every_cell_is_a_number_with_a_spread_or_null():
    covered = 0
    for name, number, table in TABLES:
        largest = math.inf if table["metric"].endswith("nll") else 1
        assert len(set(table["columns"])) == len(table["columns"])
        for cells in [*table["rows"].values(), *table.get("average", {}).values()]:
            assert len(cells) == len(table["columns"]), (name, number)
            for cell in (cell for cell in cells if cell is not None):
                mean, sd = cell
                assert 0 <= mean <= largest and (sd is None or 0 <= sd < 0.4), (name, number, cell)
                covered += 1
    assert covered > 1500


def test_names_are_those_of_the_hub():
    """Configs that load, metrics of the catalog, slices of a report."""
    slices = {"all", "in_context", "out_of_context", "hard_positive", "hard_negative"}
    slices |= {"imagenet_ood", "openimage_o"}  # of detectors: the set out of distribution
    for name, number, table in TABLES:
        assert table["metric"].partition(".")[0] in oochub.names("metric") and table["slice"] in slices, (name, number)
        if name in oochub.names("benchmark"):
            import importlib

            from oochub import catalog

            module = importlib.import_module(catalog.module_name("benchmark", name))
            (builder,) = [item for item in vars(module).values() if getattr(item, "BUILDER_CONFIGS", None)]
            assert set(table["rows"]) <= {config.name for config in builder.BUILDER_CONFIGS}, number


@pytest.mark.parametrize("criterion", ["ce", "gist"])
def test_averages_of_nooch_from_their_cells(criterion):
    """Printed means are rounded to 0.001, so an average of 12 may differ from the printed one by 0.001."""
    tables, checked = FILES["nooch"]["tables"], 0
    for table in tables.values():
        rows = [cells for config, cells in table["rows"].items() if config.startswith(f"{criterion}_")]
        for k, printed in enumerate(table.get("average", {}).get(criterion, [])):
            column = [row[k] for row in rows]
            if None not in column:
                assert len(column) == 12
                assert sum(cell[0] for cell in column) / 12 == pytest.approx(printed[0], abs=0.00101)
                checked += 1
    assert checked == {"ce": 11, "gist": 9}[criterion]  # Table 3 or 4, and the two whole columns of Table 9


def test_averages_of_spawrious_from_their_cells():
    """All but CausIRL's, whose printed average is 0.5 points below that of its cells: the file says so."""
    table = FILES["spawrious"]["tables"]["3"]
    for k, method in enumerate(table["columns"]):
        mean = sum(cells[k][0] for cells in table["rows"].values()) / 6
        off = mean - table["average"]["all"][k][0]
        assert off == pytest.approx(0.005 if method == "causirl" else 0.0, abs=0.00006), method
    assert any("CausIRL" in note for note in FILES["spawrious"]["notes"])


def test_tables_3_and_4_agree_with_table_9():
    tables = FILES["nooch"]["tables"]
    shared = 0
    for config, cells in tables["9"]["rows"].items():
        other = tables["3" if config.startswith("ce_") else "4"]["rows"][config]
        for with_spread, plain in zip(cells, other, strict=True):
            if with_spread is not None:
                assert with_spread[0] == plain[0]
                shared += 1
    assert shared == 178
    for criterion, number in (("ce", "3"), ("gist", "4")):
        averages = [[cell[0] for cell in tables[item]["average"][criterion]] for item in ("9", number)]
        assert averages[0] == averages[1]


def test_what_cannot_be_read_is_null():
    """Rows of the appendix that lack cells keep their gaps: car in Table 9 has four numbers of nine."""
    row = FILES["nooch"]["tables"]["9"]["rows"]["ce_car"]
    columns = FILES["nooch"]["tables"]["9"]["columns"]
    assert [name for name, cell in zip(columns, row, strict=True) if cell] == [
        "cvar", "undersample_environments", "group_dro", "irm",
    ]  # fmt: skip
    assert {"10", "17"}.isdisjoint(FILES["nooch"]["tables"])


def test_lookup_prefers_a_spread_and_fills_with_what_has_none():
    result = reported_numbers("nooch", "auc", "out_of_context").values
    assert result["ce_car", "irm"][:2] == (0.868, 0.004) and result["ce_car", "irm"].table == "9"
    assert result["ce_car", "erm"].mean == 0.769 and math.isnan(result["ce_car", "erm"].sd)
    assert result["ce_car", "erm"].table == "3" and result["gist_car", "erm"].table == "4"
    assert len(result) == 24 * 9
    assert reported_numbers("nooch", "error_rate", "hard_positive").values["gist_kite", "irm"][:2] == (0.164, 0.03)
    assert reported_numbers("spawrious", "accuracy", "out_of_context").values["o2o_hard", "erm"].mean == 0.7132
    assert reported_numbers("waterbirds", "worst_group.nll", "all").values["default", "group_dro"].mean == 0.306
    nothing = reported_numbers("nooch", "auc", "in_context")
    assert not nothing.values and str(nothing).endswith("report no such numbers.")
    with pytest.raises(oochub.OochubError, match="No benchmark with reported numbers named 'custom'"):
        reported_numbers("custom", "auc", "all")


def test_the_words_name_the_tables_of_the_rows_that_are_shown():
    result = reported_numbers("nooch", "auc", "out_of_context")
    assert "Tables 3 and 9 of Madras" in str(result.among(["ce_car"]))
    assert "Table 9 of Madras" in str(result.among(["ce_bowl"]))
    assert "Tables 3, 4 and 9 of Madras" in str(result) and "Reported, not measured" in str(result)


def test_against_the_text_of_the_paper(real_data):
    """Every cell of Tables 3, 4, 9 and 11 to 18 again from the appendix: its lines keep the tabs of empty cells."""
    text = real_data.parent / "papers" / "nooch_with_appendix.txt"
    if not text.is_file():
        pytest.skip(f"the paper's text is not at {text}")
    lines, compared = text.read_text("utf-8").splitlines(), 0
    for number, table in FILES["nooch"]["tables"].items():
        caption = next(i for i, line in enumerate(lines) if line.startswith(f"Table {number}: "))
        assert lines[caption].startswith(f"Table {number}: {table['caption'].rstrip('.')}")
        halves = 1 if number in ("3", "4") else 2
        printed = [line.split("\t") for line in lines[caption - 15 : caption] if line.count("\t") == 10 * halves - 1]
        head, *body = printed
        for names in (head[1:10], head[11:20])[:halves]:
            complete = [PAPER_COLUMNS.get(name) for name in names]
            assert all(item in (None, column) for item, column in zip(complete, table["columns"], strict=True))
        for fields in body:
            task = fields[0].lower().replace("-", "_")
            for half, criterion in enumerate(("ce", "gist") if halves == 2 else ({"3": "ce", "4": "gist"}[number],)):
                own = table["average"][criterion] if task == "average" else table["rows"][f"{criterion}_{task}"]
                other = [re.findall(r"\d\.\d+", field) for field in fields[10 * half + 1 : 10 * half + 10]]
                assert [[] if c is None else [f"{v:.3f}" for v in c if v is not None] for c in own] == other
                compared += 9
    assert compared == 2 * 13 * 9 + (13 + 7 * 12) * 2 * 9
