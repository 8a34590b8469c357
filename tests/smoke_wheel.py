"""Run by .ci/run with the installed wheel, away from the checkout: the main job on a toy world, then a metric."""

import sys
import tempfile
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path


def main() -> None:
    """Raises when something is missing from the wheel."""
    import oochub

    package = Path(oochub.__file__).parent
    assert "site-packages" in str(package), package
    for folder in (
        "attention",
        "builders",
        "eval_modules",
        "trainers",
        "loading_scripts",
        "dataset_cards",
        "figures",
        "browsing",
        "probing",
        "reviewing",
        "studies",
        "report/templates",
    ):
        assert any((package / folder).iterdir()), folder
    data = (
        "dataset_cards/nooch.md",
        "report/templates/report.html.jinja",
        "report/templates/page.css",
        "reviewing/templates/review.js",
        "browsing/templates/map.js",
        "comparison/templates/paired.html.jinja",
        "studies/reported/nooch.json",
        "class_names/wordnet_facts.tsv",
        "sweep/recipes/nooch_suite.toml",
        "py.typed",
    )
    for name in data:
        assert files("oochub").joinpath(name).is_file(), name
    for kind in oochub.catalog.kinds():
        assert oochub.names(kind), kind
    from oochub.builders.toy_worlds.toy_spawrious import toy_spawrious
    from oochub.data.load import load
    from oochub.training import train

    with tempfile.TemporaryDirectory() as folder:
        raw = str(toy_spawrious(Path(folder) / "raw", size="small"))
        train("spawrious/o2o_hard", Path(folder) / "run", arguments={"num_train_epochs": 1}, data_dir=raw)
        data = load("spawrious/o2o_hard", data_dir=raw)
        oochub.predict(Path(folder) / "run", data, out=Path(folder) / "p.parquet")
        report = oochub.evaluate(Path(folder) / "p.parquet")
        assert report["accuracy"].n == 160 and len(report.to_html()) > 10_000
    assert find_spec("evaluate") is None and "evaluate" not in sys.modules  # an extra: only the modules need it
    sys.stdout.write("wheel: installed, loaded, trained, predicted, evaluated, reported, without `evaluate`\n")


def load_metric() -> None:
    """Raises unless `evaluate`, installed meanwhile, loads a metric of the wheel."""
    import evaluate

    metric = evaluate.load(str(files("oochub") / "eval_modules" / "metrics" / "auc_hard"))
    assert metric.compute(label=[1, 0], score=[0.9, 0.1], challenge=["hard_positive", "hard_negative"])
    sys.stdout.write("wheel: a metric was loaded by `evaluate`\n")


if __name__ == "__main__":
    load_metric() if sys.argv[1:] == ["metric"] else main()
