"""The command line as its user types it: the whole chain, and every wrong turn with its exit code and words."""

import json
import re

import pytest

import oochub
from oochub.records.schema import to_json


def test_from_raw_folder_to_page(run, spawrious, tmp_path):
    """The four commands of the README, then the page; each ends with the path that it wrote."""
    data, out = ("--data-dir", spawrious), tmp_path / "runs" / "x"
    benchmark = "spawrious/o2o_hard"
    words = ("--objective", "group_dro", "--environments", "group", "--num-train-epochs", 1, "--out", out)
    code, output, err = run("train", benchmark, *words, *data)
    assert code == 0 and output.strip().endswith(str(out)), err
    code, output, _ = run("train", benchmark, *words, *data, "--json")  # finished: it says what the run gave
    content = json.loads(output)
    assert code == 0 and content["run"] == str(out) and content["best_epoch"] == 1 and content["global_step"] > 0
    code, output, err = run("predict", out, benchmark, *data, "--out", tmp_path / "preds.parquet")
    assert code == 0 and output.strip().endswith("preds.parquet"), err
    before = sorted(each.name for each in tmp_path.iterdir())
    code, printed, err = run("evaluate", tmp_path / "preds.parquet")
    assert code == 0 and sorted(each.name for each in tmp_path.iterdir()) == before, err
    code, whole, err = run("evaluate", tmp_path / "preds.parquet", "--json")
    code, output, err = run("evaluate", tmp_path / "preds.parquet", "--out", tmp_path / "report.json")
    assert output == printed + f"{tmp_path / 'report.json'}\n"  # planted fault seen: nothing printed without --out
    report = json.loads((tmp_path / "report.json").read_text())
    assert {name: json.loads(whole)[name] for name in ("metrics", "gap")} == {n: report[n] for n in ("metrics", "gap")}
    assert code == 0 and output.strip().endswith("report.json") and "Out of context" in output, err
    page = tmp_path / "report.html"
    code, output, err = run("report", tmp_path / "report.json", "--html", page, "--latex", tmp_path / "t.tex")
    assert code == 0 and page.stat().st_size > 10_000 and "\\toprule" in (tmp_path / "t.tex").read_text(), err
    report = oochub.Report.load(tmp_path / "report.json")
    assert to_json(report)["model"]["objective"] == "group_dro"
    assert to_json(report)["provenance"]["training"]["environments"] == "group"
    chosen_by = "the rows of split validation chose the epoch whose weights were kept"
    assert [note for note in report.notes if note.startswith(chosen_by)], report.notes
    assert chosen_by in page.read_text()
    assert "All examples of test" not in page.read_text()  # all of them are out of context, which stands there once
    assert "partial" in page.read_text() and str(tmp_path) not in page.read_text()
    code, output, _ = run(
        "predict", out, benchmark, *data, "--split", "test", "--out", tmp_path / "p.parquet", "--json"
    )
    assert json.loads(output) == {"predictions": str(tmp_path / "p.parquet"), "rows": 160, "cached": False}
    notes = oochub.evaluate(tmp_path / "p.parquet").notes  # of the test split alone
    assert not [note for note in notes if note.startswith(chosen_by)]


def test_lists_and_shows(run):
    code, output, _ = run("list", "--json")
    listed = json.loads(output)
    assert code == 0 and list(listed) == oochub.catalog.kinds() and "list" in listed["command"]
    assert {"auc", "auc_hard", "nll", "error_rate", "accuracy", "ece", "worst_group"} <= set(listed["metric"])
    assert {"erm", "group_dro"} <= set(listed["objective"])
    code, output, _ = run("show", "benchmark", "nooch")
    assert code == 0 and "official_ids: Folder of the published id files" in output
    code, output, _ = run("show", "metric", "ece")
    assert code == 0 and "lower is better" in output and "15" in output
    code, output, _ = run("show", "objective", "group_dro")
    assert code == 0 and "Sagawa" in output
    code, output, _ = run("--version")
    assert code == 0 and output == f"oochub {oochub.__version__}\n"


def test_a_thing_is_shown_by_its_name_alone(run):
    """Planted faults seen: the first of two kinds; a config that is no name."""
    for kind, name in (
        ("benchmark", "nooch"),
        ("metric", "ece"),
        ("objective", "group_dro"),
        ("benchmark", "nooch/all"),
    ):
        assert run("show", name) == run("show", kind, name)
    _, _, errors = run("show", "saliency")
    assert "2 items are named saliency" in errors
    assert "oochub show figure saliency, oochub show command saliency" in errors
    _, _, errors = run("show", "noch")
    assert "Did you mean 'nooch'" in errors


def test_list_of_a_benchmark_has_every_config(run):
    """Planted fault seen: cut at twelve."""
    code, output, _ = run("list", "nooch")
    lines = output.split()
    assert code == 0 and len(lines) == len(set(lines)) > 171 and {"nooch/ce_car", "nooch/gist_zebra"} <= set(lines)
    assert json.loads(run("list", "nooch", "--json")[1]) == {"nooch": [line.removeprefix("nooch/") for line in lines]}
    assert "(`oochub list nooch` has all" in run("show", "nooch")[1]


def test_short_help(run):
    """-h is --help, of the program and of each command."""
    for words in ([], ["evaluate"], ["list"]):
        assert run(*words, "-h") == run(*words, "--help")


@pytest.mark.parametrize("name", oochub.names("benchmark"))
def test_show_benchmark_says_where_each_file_is(run, name):
    code, output, _ = run("show", "benchmark", name)
    assert code == 0
    for raw in oochub.get("benchmark", name).raw_files:
        assert raw.path in output and raw.url in output and raw.size in output and raw.license in output
    for each in oochub.get("benchmark", name).data_sets:
        assert each.tree() in output


def test_show_benchmark_has_every_data_set_of_a_collection(run):
    """Each config of WILDS, and of each data set its input, output and headline, not those of the first for all."""
    _, output, _ = run("show", "benchmark", "wilds")
    parts = output.split("\n== ")[1:]
    declared = oochub.get("benchmark", "wilds")
    official = ["amazon", "camelyon17", "civilcomments", "fmow", "globalwheat", "iwildcam", "ogb_molpcba"]
    official += ["poverty_fold_a", "py150", "rxrx1"]
    assert f"datasets       {', '.join(official)}\n" in output and len(parts) == 10
    for part, first in zip(parts, official, strict=True):
        own = declared.of(first)
        assert own.tree() in part and part.startswith(own.title)
        assert f"\ninput           {own.input}\noutput          {own.output}\n" in part
        assert f"; headline {own.primary_metric}\n" in part and f"      from {own.raw_files[0].url}\n" in part
    shown = [config for each in declared.data_sets for config in each.configs]
    assert sorted(shown) == sorted(declared.configs)
    for part, each in zip(parts, declared.data_sets, strict=True):
        assert f"\nconfigs         {', '.join(each.configs)}\n" in part


def test_a_collection_without_a_config_names_its_data_sets(run):
    """`oochub build wilds` names the official configs first; planted: twelve splits of Amazon."""
    _, _, errors = run("build", "wilds", "--out", "OUT")
    assert "Missing config name" in errors and "camelyon17, civilcomments, fmow, globalwheat" in errors


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("list", "metrics"), "Did you mean 'metric'"),
        (("show", "metric", "eec"), "Did you mean 'ece'"),
        (("build", "noch/ce_car", "--out", "OUT"), "Did you mean 'nooch/ce_car'"),
        (("build", "nooch", "--data-dir", "COCO", "--out", "OUT"), "Missing config name"),
        (("build", "nooch/ce_cra", "--data-dir", "COCO", "--out", "OUT"), "Did you mean 'ce_cat' or 'ce_car'"),
        (("build", "nooch/ce_car", "--data-dir", "COCO", "--out", "OUT", "--option", "contxts=x"), "'contexts'"),
        (("build", "nooch/ce_car", "--data-dir", "COCO", "--out", "OUT", "--option", "contexts"), "key=value"),
        (("build", "nooch/ce_car", "--data-dir", "/no", "--out", "OUT"), "is not a folder"),
        (("build", "nooch/ce_car", "--out", "OUT"), "set OOCHUB_DATA"),
        (("build", "nooch/ce_car", "--data-dir", "COCO", "--out", "FILE/x"), "is a file, not a folder"),
        (("train", "nooch/ce_car", "--objective", "gruop_dro", "--out", "OUT"), "Did you mean 'group_dro'"),
        (("train", "nooch/ce_car", "--set", "alpha=1", "--out", "OUT"), "No hyperparameter of erm named 'alpha'"),
        (("train", "nooch/ce_car", "--learning-rate", -1, "--out", "OUT"), "--learning-rate"),
        (("train", "nooch/ce_car", "--data-dir", "COCO", "--environments", "grup", "--out", "OUT"), "'group'"),
        (("train", "nooch/ce_car", "--out", "FILE/x/y"), "is a file, not a folder"),
        (("train", "nooch/ce_car", "--data-dir", "COCO", "--model", "/no/such", "--out", "OUT"), "/no/such"),
        (("predict", "/no/model", "nooch/ce_car", "--data-dir", "COCO", "--out", "OUT.parquet"), "No model at"),
        (("predict", "m", "nooch/ce_car", "--data-dir", "COCO", "--out", "FILE/x.parquet"), "is a file, not a folder"),
        (("evaluate", "/no/preds.parquet", "--out", "OUT.json"), "Prediction file not found"),
        (("evaluate", "FILE", "--out", "OUT.json"), "not a Parquet file"),
        (("evaluate", "FILE", "--out", "FILE/x.json"), "is a file, not a folder"),
        (("report", "/no/report.json"), "Report not found"),
        (("report", "FILE", "--html", "OUT.html"), "is not a report"),
    ],
)
def test_wrong_turns_say_what_to_do_and_exit_2(run, words, message, coco, tmp_path):
    (tmp_path / "file").write_text("text")
    places = {"COCO": coco, "OUT": tmp_path / "out", "FILE": tmp_path / "file"}
    filled = [re.sub("COCO|OUT|FILE", lambda m: str(places[m[0]]), str(word)) for word in words]
    code, output, err = run(*filled)
    assert code == 2 and message in err and "Traceback" not in err and not output, (code, err)
    assert not (tmp_path / "out").exists()


def test_interrupted_by_the_user(run, monkeypatch, tmp_path):
    """Ctrl-C in the middle: exit 130, a sentence, no traceback."""
    import oochub.evaluation.evaluation_inputs

    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(oochub.evaluation.evaluation_inputs, "check_inputs", stopped)
    code, _, err = run("evaluate", "p.parquet", "--out", tmp_path / "r.json")
    assert code == 130 and "No partial files were left behind" in err and "Traceback" not in err
