"""The probe as an answer of its own: data with a label and masks alone, its verdict, and what stands in the head."""

import shutil
from dataclasses import replace

import datasets
import numpy as np
import pytest
import reports
from PIL import Image
from planted_pictures import PROCESSOR, SIZE, Onlooker, planted_folder
from probed_report import probe, probed_report

import oochub
from oochub.context_finder import OpenedPicture
from oochub.data.data_source import DataSource
from oochub.errors import OochubError
from oochub.probing.object_area import BoxAreas, MaskColumn, RowOfObject, choose_area
from oochub.records.schema import to_json
from oochub.report.verdict import verdict
from oochub.stats.estimate import Estimate


@pytest.fixture(scope="module")
def squares(tmp_path_factory):
    """Squares on a background, with a mask and a photograph of each, and no column of contexts."""
    folder = tmp_path_factory.mktemp("squares")
    planted_folder(folder / "with_contexts", train=12, share=0.5, test=0)
    shutil.copytree(folder / "with_contexts" / "train", folder / "squares")
    (folder / "squares" / "masks").mkdir()
    mask = np.zeros((SIZE, SIZE), np.uint8)
    mask[4:12, 4:12] = 255
    lines = ["file_name,mask_file_name,tone,photo"]
    for number in range(12):
        for tone in ("light", "dark"):
            Image.fromarray(mask).save(folder / "squares" / "masks" / f"{tone}{number}.png")
            lines.append(f"{tone}{number}.png,masks/{tone}{number}.png,{tone},p{number // 2}")
    (folder / "squares" / "metadata.csv").write_text("\n".join([*lines, ""]), "utf-8")
    return folder / "squares"


@pytest.mark.slow
def test_a_label_and_masks_are_enough(squares):
    """The other column is not taken for the context; what looks at the background alone has no gap where all lend."""
    found = oochub.audit(Onlooker("object"), squares, image_processor=PROCESSOR, label="tone", probe="background")
    probed = found.background
    assert (probed.n, probed.area, probed.is_whole) == (24, "the masks in the column mask", False)
    assert not found.benchmark.out_of_context.is_declared and not found.group_rows
    assert probed.pasted_back.accuracy_change == 0.0 and probed.backgrounds == 8
    said = verdict(found)
    assert "is not shown to matter to this model's answers: 0.0 points" in said.headline and "n = 24" in said.headline
    text = found.to_markdown()
    assert text.index(said.headline) < 300 and "hold all objects of the class is not known" in text
    assert "object pasted back 100.0%" in text
    column = {"masks": "mask", "backgrounds": 2}
    named = oochub.audit(
        Onlooker("object"), squares, image_processor=PROCESSOR, label="tone", probe="background", probe_settings=column
    )
    assert (named.background.area, named.background.backgrounds) == ("the masks in the column mask", 2)
    assert named.background.options == ("--probe", "background", "--masks", "mask", "--backgrounds", "2")
    with pytest.raises(OochubError, match="holds no images"):
        choose_area(oochub.load(squares, label="tone")["train"], masks="photo")
    with pytest.raises(OochubError, match="Mask folder not found: musk, and no such column"):
        choose_area(oochub.load(squares, label="tone")["train"], masks="musk")


def test_masks_of_a_column(tmp_path, monkeypatch):
    """A row without a mask has no area; a folder of the column's name comes first."""
    mask = np.zeros((4, 6), np.uint8)
    mask[1, 2] = 9
    Image.fromarray(mask).save(tmp_path / "m.png")
    content = (tmp_path / "m.png").read_bytes()
    rows = [RowOfObject(str(k), "a", "", {"m": of}) for k, of in enumerate([{"bytes": content, "path": None}, None])]
    area = MaskColumn("m")
    area.begin(rows)
    first, second = area.masks(rows, [OpenedPicture(b"", Image.new("RGB", (6, 4)))] * 2)
    assert np.argwhere(first).tolist() == [[1, 2]] and second is None
    assert area.settings(rows) != area.settings(rows[1:])
    with pytest.raises(OochubError, match="None of 1 rows has a mask in the column m"):
        area.begin(rows[1:])
    part = datasets.Dataset.from_dict(
        {"image": [str(tmp_path / "m.png")], "m": [str(tmp_path / "m.png")]},
        datasets.Features({"image": datasets.Image(), "m": datasets.Image()}),
    )
    monkeypatch.chdir(tmp_path)
    assert choose_area(part, masks="m").words == "the masks in the column m"
    (tmp_path / "m").mkdir()
    assert choose_area(part, masks="m").words == "the masks in m"
    assert not BoxAreas("m").is_whole


def _found(gap, n=129, low=None, high=None, **more):
    return probe(gap=Estimate(gap, low=low, high=high, n=n, method="t"), **more)


@pytest.mark.parametrize(
    ("ends", "case", "words"),
    [
        ((0.092, 0.042, 0.146), "relies", "less often when the background comes from another class: by 9.2"),
        ((0.012, 0.002, 0.022), "slight", "less often when the background comes from another class: by 1.2"),
        ((0.03, -0.04, 0.10), "unclear", "is not shown to matter"),
        ((0.00, -0.01, 0.01), "no_effect", "is not shown to matter"),
        ((-0.09, -0.15, -0.04), "reversed", "less often when the background comes from its own class: by 9.0"),
        ((0.05, float("nan"), float("nan")), "too_few", "could not be measured"),
    ],
)
def test_the_verdict_goes_by_the_interval(ends, case, words):
    """Planted fault: a case by the gap alone."""
    gap, low, high = ends
    report = reports.read(probed_report())
    report = _undeclared(replace(report, contexts=None, background=_found(gap, low=low, high=high)))
    said = verdict(report)
    assert said.case == case and words in said.headline
    assert report.to_markdown().count(said.headline) >= 1 and said.headline.replace("'", "&#39;") in report.to_html()


def test_what_the_verdict_is_of_heads_the_page():
    """Both backgrounds in the chart, its section before the next steps. Planted faults: all rows; the usual order."""
    report = reports.read(probed_report())
    report = _undeclared(replace(report, contexts=None, background=_found(0.092, low=0.042, high=0.146)))
    page = report.to_html()
    assert 0 < page.index('<section id="background">') < page.index('<section id="next">')
    head = page.partition("</figure>")[0].partition("<figure")[2]
    assert "by background" in head and "own class" in head and "another class" in head and "+9.2" in head
    same, other = (report.background.variant(name).accuracy for name in ("mixed_same", "mixed_rand"))
    assert all(f"<b>{100 * share:.1f}</b>" in head for share in (same, other))
    named = reports.read(probed_report()).to_html()
    assert named.index('<section id="background">') > named.index('<section id="next">')


def _undeclared(report):
    """The report as of data that name no context."""
    none = report.benchmark.out_of_context
    return replace(report, benchmark=replace(report.benchmark, out_of_context=replace(none, where={"challenge": ()})))


def test_a_named_context_keeps_its_verdict_and_the_probe_is_second():
    report = reports.read(probed_report())
    plain = replace(report, background=None)
    assert verdict(report) == verdict(plain)
    page = report.to_html()
    head = page.partition("</dl>")[0]
    assert "the background comes from another class" in head or "class of the background" in head
    assert "class of the background" not in plain.to_html()


def test_few_rows_are_said_as_how_many():
    """Twelve rows: no percent in the lead; what filling costs is said where its interval lies below 0."""
    report = _undeclared(replace(reports.read(probed_report()), contexts=None, background=probe(n=12)))
    lead = verdict(report).lead
    assert "of 12" in lead and "%" not in lead
    cost = Estimate(-0.08, low=-0.13, high=-0.03, n=60, method="t")
    found = probe()
    variants = tuple(
        replace(each, accuracy_change=cost) if each.name == "pasted_back" else each for each in found.variants
    )
    text = replace(report, background=replace(found, variants=variants)).to_markdown()
    assert "filling and pasting alone cost this much" in text
    assert "are not shown to cost anything" in report.to_markdown()


def test_an_older_report_is_read():
    """Without the fields of today and the objects pasted back; nothing is said of them."""
    content = to_json(probe(is_whole=None))
    for field in ("backgrounds", "draw_deviation", "is_whole"):
        content.pop(field, None)
    content["variants"] = [each for each in content["variants"] if each["name"] != "pasted_back"]
    report = reports.read({**probed_report(), "background": content})
    assert report.background.backgrounds == 1 and report.background.pasted_back is None
    text = report.to_markdown()
    assert "counts once" not in text and "asted back" not in text and "is not known: where" not in text


def test_the_error_names_both_ways_out():
    rows = datasets.Dataset.from_dict({"label": [0, 1], "shade": ["a", "b"]})
    source = DataSource(given=rows, rows=rows)
    with pytest.raises(OochubError) as error:
        source.check_context()
    assert "contexts='properties'" in str(error.value) and "probe='background'" in str(error.value)
    source.check_context(needed=False)
