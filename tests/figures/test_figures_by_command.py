"""`oochub report --plot`: figures of reports, of predictions and of a data set, and every wrong turn."""

import json
import re

import matplotlib as mpl
import numpy as np
import pyarrow as pa
import pytest
import reports
from datasets import load_dataset
from PIL import Image
from tiny_encoder import tiny_encoder

import oochub
from oochub import OochubError
from oochub.commands._drawing import Plot, Sources
from oochub.prediction.predictions import Predictions
from oochub.records.build_record import BuildRecord

mpl.use("Agg")


@pytest.fixture(scope="module")
def files(tmp_path_factory, coco):
    """Two reports, and predictions of nooch/all with random logits."""
    folder = tmp_path_factory.mktemp("files")
    for objective in ("erm", "group_dro"):
        report = reports.nooch_report()
        report["model"]["objective"] = objective
        reports.read(report).save(folder / f"{objective}.json")
    encoder = tiny_encoder(tmp_path_factory.mktemp("encoder"))
    data = load_dataset("nooch", "all", data_dir=coco, encoder=encoder, split="test")
    record, names = BuildRecord.of(data.info), data.features["labels"].feature.names
    logits = np.random.default_rng(0).normal(size=(len(data), len(names))).astype(np.float32)
    columns = data.select_columns(["example_id", "labels", "areas", "gist_similarity"]).to_dict()
    columns |= {"split": ["test"] * len(data), "label": [-1] * len(data), "logits": list(logits)}
    metadata = {"benchmark": "nooch", "config": "all", "version": record.version, "facts": record.facts}
    metadata |= {"model": {"id": "random"}, "class_names": names, "rows": {"test": len(data)}}
    Predictions(pa.table(columns), metadata).save(folder / "all.parquet")
    return folder


@pytest.mark.slow
def test_figures_of_reports(run, files, tmp_path):
    out = tmp_path / "new" / "bars.png"
    words = ("--plot", f"hard_easy_bars={out}", "--plot", f"hard_easy_bars:metric=nll={tmp_path}/lr=0.1.svg")
    code, shown, err = run("report", files / "erm.json", files / "group_dro.json", *words)
    assert code == 0 and shown.split() == [str(out), f"{tmp_path}/lr=0.1.svg"], err
    assert Image.open(out).size[0] == 7 * 150
    drawn = (tmp_path / "lr=0.1.svg").read_text()
    assert drawn.startswith("<?xml") and "<svg" in drawn
    page, gap = tmp_path / "r.html", tmp_path / "gap.pdf"
    code, shown, err = run("report", files / "erm.json", "--html", page, "--plot", f"gap={gap}", "--json")
    assert code == 0 and json.loads(shown) == {"html": str(page), "plots": [str(gap)]}, err
    assert page.stat().st_size > 10_000 and gap.read_bytes().startswith(b"%PDF")


def test_tables_of_several_reports(run, files):
    code, shown, err = run("report", files / "erm.json", files / "group_dro.json")
    assert code == 0 and shown.count("Out of context") >= 2, err


@pytest.mark.slow
def test_every_figure_of_predictions(run, files, tmp_path):
    kinds = ["contexts_over_alpha", "tau_curves", "tau_loss", "alpha_beta_share:side=negative:betas=0.1,0.2"]
    kinds += ["alpha_beta_loss", "hard_against_all:criterion=gist", "tau_loss:fewest=3"]
    paths = [tmp_path / f"{k}.png" for k in range(len(kinds))]
    words = [word for kind, path in zip(kinds, paths, strict=True) for word in ("--plot", f"{kind}={path}")]
    code, shown, err = run("report", files / "all.parquet", *words)
    assert code == 0 and shown.split() == [str(path) for path in paths], err
    assert all(Image.open(path).size[0] > 400 for path in paths)
    assert not mpl.pyplot.get_fignums()


def test_figures_of_a_data_set(run, coco, tmp_path):
    out = tmp_path / "contexts.png"
    code, shown, err = run("report", "nooch/all", "--data-dir", coco, "--plot", f"contexts_over_alpha={out}")
    assert code == 0 and shown.split() == [str(out)] and out.is_file(), err


@pytest.mark.slow
def test_options_reach_the_figure():
    """Planted fault seen: the options are checked and dropped."""
    from test_figures import losses, scenes

    sources = Sources(names=["all.parquet"])
    ax = Plot.parse("alpha_beta_share:side=negative:betas=0.1,0.2:alphas=0=x.png", sources).draw(scenes())
    assert ax.get_title(loc="left").startswith("hard negatives") and len(ax.texts) == 2
    ax = Plot.parse("hard_against_all:criterion=gist=x.png", sources).draw(losses())
    assert "hard by gist" in ax.get_ylabel()
    assert np.isfinite(Plot.parse("tau_loss:fewest=1=x.png", sources).draw(scenes()).lines[0].get_ydata()).sum() > (
        np.isfinite(Plot.parse("tau_loss=x.png", sources).draw(scenes()).lines[0].get_ydata()).sum()
    )
    mpl.pyplot.close("all")


@pytest.mark.slow
def test_the_same_input_gives_the_same_bytes(run, files, tmp_path):
    """Planted faults seen: a date in the PDF; the ids of an SVG without their salt."""
    for suffix in ("png", "pdf", "svg"):
        for k in (1, 2):
            assert run("report", files / "erm.json", "--plot", f"gap={tmp_path}/{k}.{suffix}")[0] == 0
        first = (tmp_path / f"1.{suffix}").read_bytes()
        assert first == (tmp_path / f"2.{suffix}").read_bytes()
        assert b"CreationDate" not in first and b"<dc:date>" not in first


def test_every_figure_says_what_it_is_made_of():
    """A figure that --plot cannot draw has a command of its own."""
    drawn = 0
    for name in oochub.names("figure"):
        for source in ("report.json", "all.parquet", "nooch/all", "numbers.csv"):
            try:
                Plot.parse(f"{name}=x.png", Sources(names=[source], detectors=["msp", "energy"]))
                drawn += 1
                break
            except OochubError as error:
                message = str(error)
        else:
            words = next(each for each in oochub.names("command") if each.split()[-1] == name)
            assert f"`oochub {words}`" in message, message
    assert drawn >= 7


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("ERM", "--plot", "gapp=OUT.png"), "No figure named 'gapp'. Did you mean 'gap'"),
        (("ERM", "--plot", "OUT.png"), "--plot must have the form KIND=FILE.png"),
        (("ERM", "--plot", "gap=OUT.jpg"), "its name must end in .png or .pdf or .svg"),
        (("ERM", "--plot", "gap=ERM/x.png"), "is a file, not a folder"),
        (("ERM", "--plot", "gap:side=positive=OUT.png"), "gap has no options, got 'side'"),
        (("ALL", "--plot", "alpha_beta_share:sid=negative=OUT.png"), "No option of alpha_beta_share named 'sid'"),
        (("ALL", "--plot", "alpha_beta_share:ax=1=OUT.png"), "named 'ax'"),
        (("/no/all.parquet", "--plot", "alpha_beta_share:side=negativ=OUT.png"), "Did you mean 'negative'"),
        (("/no/all.parquet", "--plot", "tau_loss:fewest=many=OUT.png"), "a whole number, got 'many'"),
        (("/no/report.json", "--plot", "tau_curves=OUT.png"), "tau_curves needs predictions"),
        (("nooch/all", "--plot", "tau_loss=OUT.png"), "tau_loss needs predictions (.parquet"),
        (("nooch/ce_car", "--data-dir", "/no", "--plot", "tau_curves=OUT.png"), "Only nooch/all holds what"),
        (("ALL", "--plot", "saliency=OUT.png"), "`oochub saliency`"),
        (("ERM", "--plot", "gap=OUT.csv"), "out.csv: gap has no table"),
        (("ERM", "DRO", "--plot", "gap=OUT.png"), "gap shows exactly one report, got 2"),
        (("ERM", "DRO", "--html", "OUT.html"), "--html takes exactly one report, got 2"),
        (("ERM", "DRO", "--latex", "OUT.tex", "--plot", "hard_easy_bars=OUT.png"), "--latex takes exactly one"),
        (("ERM", "ALL", "--plot", "gap=OUT.png"), "one or more reports, or one other source"),
        (("ALL",), "run `oochub evaluate"),
        (("/no/report.json", "--plot", "gap=OUT.png"), "Report not found: /no/report.json"),
        (("/no/all.parquet", "--plot", "tau_curves=OUT.png"), "Prediction file not found"),
        (("nooch/all", "--data-dir", "/no", "--plot", "contexts_over_alpha=OUT.png"), "is not a folder"),
        (("ERM", "--option", "contexts", "--plot", "gap=OUT.png"), "key=value"),
    ],
)
def test_wrong_turns(run, files, tmp_path, words, message):
    """Where two things are wrong, what was typed is said before what was not found: nothing slow has begun."""
    places = {"ERM": files / "erm.json", "DRO": files / "group_dro.json", "ALL": files / "all.parquet"}
    places["OUT"] = tmp_path / "out"
    filled = [re.sub("ERM|DRO|ALL|OUT", lambda m: str(places[m[0]]), word) for word in words]
    code, shown, err = run("report", *filled)
    assert code == 2 and message in err and "Traceback" not in err and not shown, (code, err)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("accuracy_on_the_line", ["a.json", "b.json"]),
        ("benchmark_matrix", ["a.json", "b.json"]),
        ("distance_regression", ["a.parquet", "b.parquet"]),
    ],
)
def test_a_figure_comes_with_its_table(kind, names, tmp_path):
    """Fault seen: `_table` under another name, and the table was left out without a word."""
    sources = Sources(names=names, detectors=["msp"])
    assert Plot.parse(f"{kind}={tmp_path}/a.png", sources).numbers is not None
