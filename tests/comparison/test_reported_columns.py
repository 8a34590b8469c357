"""Which reported numbers stand beside a run: those of the model that was trained, or of the table that is named."""

import csv
import io
from dataclasses import replace

import pytest
import reports
from parsed_page import ParsedPage
from test_comparison import report

import oochub
from oochub.comparison.comparison import comparison
from oochub.comparison.comparison_table import Column
from oochub.records.metadata import Training

RESNET, VIT = "ResNetForImageClassification", "ViTForImageClassification"
ERM = Column("erm", reported=True)


def trained(method="erm", task="o2o_easy", seed=0, **model):
    """A report on Spawrious whose training says `model`; {} is one of before, which does not."""
    given = report(task, method, seed, 0.7, metric="accuracy", factory=reports.spawrious_report)
    return replace(given, provenance=replace(given.provenance, training=Training(**model)))


RUNS = {
    "3": {"architecture": RESNET, "base": "microsoft/resnet-50", "pretrained": True},
    "4": {"architecture": RESNET, "pretrained": False},
    "5": {"architecture": VIT, "base": "google/vit-base-patch16-224-in21k", "pretrained": True},
}
PRINTED = {"3": (0.7749, "ResNet-50 from ImageNet"), "4": (0.4575, "without pretraining"), "5": (0.3628, "ViT-B/16")}


@pytest.mark.parametrize("number", RUNS)
def test_the_numbers_are_of_the_model_that_was_trained(number):
    """Of three numbers of ERM on o2o_easy. Planted faults seen: the architecture alone, the first table always."""
    given = [trained(method, **RUNS[number]) for method in ("erm", "group_dro")]
    (table,) = comparison(given, reported=True).tables
    mean, words = PRINTED[number]
    assert table.cells["o2o_easy", ERM].mean == mean
    assert f"Table {number} of Lynch" in table.reported_from and words in table.reported_from
    assert {column.method for column in table.columns if not column.reported} == {"erm", "group_dro"}


@pytest.mark.parametrize(
    ("number", "words"), [("3", f"{RESNET} from microsoft/resnet-50"), ("4", f"{RESNET} from scratch")]
)
def test_the_page_of_a_report_says_what_was_trained(number, words):
    assert words in ParsedPage(trained(**RUNS[number]).to_html()).words


def test_a_table_that_is_named_is_taken_and_its_misprint_is_said():
    """Also of reports that do not say what was trained, and of another model: it was asked for."""
    for model in ({}, RUNS["3"]):
        result = comparison([trained(**model)], table="5")
        assert result.tables[0].cells["o2o_easy", ERM].mean == 0.3628
        for text in (result.to_markdown(), result.to_latex("full"), result.to_html()):
            assert "ViT-B/16" in text and "32.78 and 30.20 twice" in text


@pytest.mark.parametrize("model", [{}, {"architecture": "ConvNextForImageClassification", "pretrained": True}])
def test_without_a_choice_nothing_is_shown(model):
    """A report of before, and a model that the paper did not train. Planted fault seen: Table 3 where nothing fits."""
    with pytest.raises(oochub.OochubError, match=r"3: ResNet-50; 4: ResNet-50 from scratch; 5: ViT-B/16.*table="):
        comparison([trained(**model)], reported=True)
    assert comparison([trained(**model)]).tables


def test_two_models_are_the_two_halves_of_a_table():
    """Table 5: ERM on a ViT and on a ResNet-50, each method with its model, each with its own reported numbers."""
    given = [trained(method, seed=seed, **RUNS[n]) for n in "53" for method in ("erm", "mmd") for seed in (0, 1)]
    result = comparison(given, reported=True)
    (table,) = result.tables
    assert "erm, ViT-B/16 (reported)" in result.to_html()
    assert [column.method for column in table.columns if not column.reported] == [
        *("erm, vit-base-patch16-224-in21k", "mmd, vit-base-patch16-224-in21k"),
        *("erm, resnet-50", "mmd, resnet-50"),
    ]
    for name, mean in (("erm, ViT-B/16", 0.3628), ("erm, ResNet-50", 0.7749), ("mmd, ViT-B/16", 0.4064)):
        assert table.cells["o2o_easy", Column(name, reported=True)].mean == mean
    assert Column("w2d, ResNet-50", reported=True) in table.columns
    assert "Table 5" in table.reported_from and "Table 3" in table.reported_from
    scratch = comparison([trained(**RUNS["4"]), trained(**RUNS["3"])]).tables[0]
    assert [column.method for column in scratch.columns] == ["erm, ResNet from scratch", "erm, resnet-50"]


CE, GIST = ("ce", "3", "2"), ("gist", "4", "3")  # name, number with the appendix, number with the checklist


@pytest.mark.parametrize(("config", "names", "mean"), [("ce_car", CE, 0.769), ("gist_car", GIST, 0.766)])
@pytest.mark.parametrize("version", [None, "appendix", "checklist"])
def test_a_table_of_a_paper_in_two_versions_is_named_with_its_version(config, names, mean, version):
    """ERM on car as both texts print it. Planted faults seen: the first version's number in the second; no name."""
    name, *numbers = names
    number = numbers[version == "checklist"]
    words = "version with the NeurIPS checklist" if version == "checklist" else "version with the appendix"
    for table in (name, *([number] if version else [])):
        result = comparison([report(config, "erm", 0, 0.7)], table=table, version=version)
        assert result.tables[0].cells[config, ERM].mean == mean
        for text in (result.to_markdown(), result.to_latex("full"), result.to_html()):
            assert f"Table {number} ({name}) of Madras" in text and words in text
        printed = [row for row in csv.DictReader(io.StringIO(result.to_csv())) if row["reported"] == "True"]
        assert {row["table"] for row in printed} == {f"{number} ({name}), {words}"}


def test_a_number_that_two_versions_give_to_two_tables_is_refused():
    """Planted fault seen: the version with the appendix is taken in silence."""
    given = [report("ce_car", "erm", 0, 0.7)]
    for number, words in (
        ("3", "Table 3 is ce in the version with the appendix and gist in the version with the NeurIPS checklist"),
        ("2", "Table 2 is ce in the version with the NeurIPS checklist"),
    ):
        with pytest.raises(
            oochub.OochubError, match=rf"{words}\. Give its name to table=, or add version= \(appendix, "
        ):
            comparison(given, table=number)
    assert "Table 9 of Madras" in comparison(given, table="9").to_markdown()
    for chosen, words in (
        ({"table": "9", "version": "checklist"}, r"No table .* named '9'.*Allowed: 2, 3, ce, gist"),
        ({"table": "ce", "version": "neurips"}, r"No version of the papers of nooch named 'neurips'.*Allowed: app"),
    ):
        with pytest.raises(oochub.OochubError, match=words):
            comparison(given, **chosen)
    with pytest.raises(oochub.OochubError, match=r"No version of the papers of spawrious named 'appendix'.*none"):
        comparison([trained(**RUNS["3"])], version="appendix")
    checklist = comparison(given, version="checklist").tables[0]
    assert "Table 2 (ce)" in checklist.reported_from and checklist.cells["ce_car", ERM].mean == 0.769


def test_a_table_that_no_paper_has_is_refused():
    with pytest.raises(
        oochub.OochubError, match=r"No table with reported numbers of spawrious named '7'\. Allowed: 3, 4, 5"
    ):
        comparison([trained()], table="7")
