"""`oochub report --plot` of several predictions of one model: detectors, images, tables of lines, and wrong turns."""

import json
import re

import matplotlib as mpl
import numpy as np
import pyarrow as pa
import pytest
import reports
from datasets import load_dataset
from matplotlib import pyplot
from PIL import Image
from safetensors.numpy import save_file
from scipy import stats
from test_figures_of_detection import numbers

from oochub.commands._drawing import Plot, Sources, draw
from oochub.detection.detector_scores import score_sets
from oochub.detection.image_sets import find_nearest_inside
from oochub.figures.distance_regression import _fit_distances as fit_distances
from oochub.prediction.predictions import Predictions

mpl.use("Agg")
SETS = ("imagenet_1k", "imagenet_r", "imagenet_ood")


def predicted(data, config, seed, model="net", width=6):
    """Predictions of a data set by a random network: features (n, 6), logits of 1,000 classes."""
    rng, n = np.random.default_rng(seed), len(data)
    weight = np.random.default_rng(9).normal(size=(1000, width)).astype(np.float32)
    features = rng.normal(0.5, 1, (n, width)).astype(np.float32)
    columns = data.select_columns(["example_id", "label", "is_ood", "class_name"]).to_dict()
    columns["shift"] = data.features["shift"].int2str(data["shift"])
    known = np.arange(1000) == np.array(columns["label"])[:, None]
    logits = features @ weight.T + known * rng.uniform(0, 20, (n, 1)).astype(np.float32)  # some are right
    columns |= {"split": [str(data.split)] * n, "features": list(features), "logits": list(logits.astype(np.float32))}
    metadata = {"benchmark": "imagenet_ood", "config": config, "version": "1.0.0", "model": {"id": model}}
    metadata |= {"class_names": data.features["label"].names, "rows": {str(data.split): n}}
    return Predictions(pa.table(columns), metadata), {"weight": weight, "bias": np.zeros(1000, np.float32)}


@pytest.fixture(scope="module")
def files(tmp_path_factory, imagenet):
    """Predictions of three sets, of the training split with the head, by another model, without features; a report."""
    folder = tmp_path_factory.mktemp("files")
    for seed, config in enumerate(SETS):
        data = load_dataset("imagenet_ood", config, data_dir=str(imagenet), split="test")
        predictions, _ = predicted(data, config, seed)
        predictions.save(folder / f"{config}.parquet")
        predicted(data, config, 20 + seed, model="embedding", width=3)[0].save(folder / f"near_{config}.parquet")
        bare = Predictions(predictions.table.drop_columns(["features"]), predictions.metadata)
        bare.save(folder / f"bare_{config}.parquet")
    train, head = predicted(load_dataset("imagenet_ood", SETS[0], data_dir=str(imagenet), split="train"), SETS[0], 7)
    train.save(folder / "train.parquet")
    save_file(head, folder / "train.head.safetensors")
    reports.read(reports.nooch_report()).save(folder / "erm.json")
    numbers().to_csv(folder / "numbers.csv", index=False)
    return folder


@pytest.mark.slow
def test_every_figure_of_detectors(run, files, imagenet, tmp_path):
    kinds = ["score_distributions", "score_distributions:detector=msp:by=answer:sets=imagenet_r,imagenet_ood"]
    kinds += ["detector_ranks:rows=ood", "distance_regression:detector=vim:subsets=8"]
    kinds += ["percentile_pictures:percentiles=20,80:detectors=energy", "disagreement_pictures:columns=3"]
    paths = [tmp_path / f"{k}.png" for k in range(len(kinds))]
    words = [word for kind, path in zip(kinds, paths, strict=True) for word in ("--plot", f"{kind}={path}")]
    words += ["--detector", "vim:dim=2", "--reference", files / "train.parquet", "--data-dir", imagenet]
    code, shown, err = run("report", *(files / f"{name}.parquet" for name in SETS), *words)
    assert code == 0 and shown.split()[-len(paths) :] == [str(path) for path in paths], err
    assert all(min(Image.open(path).size) > 300 for path in paths) and not pyplot.get_fignums()
    lines = [line.split() for line in shown.splitlines() if " β " in line or " α " in line]
    assert [line[:4] for line in lines] == [["vim:dim=2", name, n, c] for name, n in
                                           (("imagenet_r", "60"), ("imagenet_ood", "48")) for c in "βα"]  # fmt: skip


@pytest.mark.slow
def test_the_table_of_lines_is_that_of_scipy(run, files, tmp_path):
    """Planted fault seen: --embedding read and not used."""
    words = ["--plot", f"distance_regression:detector=msp:subsets=6={tmp_path}/a.png", "--json"]
    plain, near = ([files / f"{prefix}{name}.parquet" for name in SETS] for prefix in ("", "near_"))
    sets = score_sets([Predictions.load(path) for path in plain], ["msp"])
    for given in (None, near):
        more = [word for path in given or () for word in ("--embedding", path)]
        code, shown, err = run("report", *plain, *words, *more)
        assert code == 0, err
        rows = json.loads(shown)["numbers"][f"{tmp_path}/a.png"]
        embedding = [Predictions.load(path) for path in given] if given else None
        fits = fit_distances(sets, subsets=6, nearest=find_nearest_inside(sets, embedding=embedding))
        for fit, pair in zip(fits, (rows[:2], rows[2:]), strict=True):
            line = stats.linregress(fit.distance, fit.value)
            assert [row["value"] for row in pair] == pytest.approx([line.slope, line.intercept])
            assert [row["se"] for row in pair] == pytest.approx([line.stderr, line.intercept_stderr])
            assert {row["set"] for row in pair} == {fit.name}
    bare = [files / f"bare_{name}.parquet" for name in SETS]
    assert run("report", *bare, *words, *more)[0] == 0  # another model's features will do


@pytest.mark.slow
def test_untrained_models_from_the_numbers_of_a_study(run, files, tmp_path):
    out = tmp_path / "random.svg"
    code, shown, err = run("report", files / "numbers.csv", "--plot", f"random_models:goal=failure:detector=knn={out}")
    assert code == 0 and shown.split() == [str(out)] and "<svg" in out.read_text(), err


def test_named_detectors_are_scored_once():
    sources = Sources(names=["a.parquet", "b.parquet"], detectors=["odin:temperature=10"])
    plots = [
        Plot.parse(f"{kind}=x.png", sources)
        for kind in ("score_distributions:detector=odin", "detector_ranks:detector=energy", "disagreement_pictures")
    ]
    seen = []

    class Asked(Exception):
        pass

    def scored_sets(self):
        seen.extend(self.detectors)
        raise Asked

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Sources, "scored_sets", property(scored_sets))
        patch.setattr(Sources, "check", lambda self, beside: None)
        with pytest.raises(Asked):
            draw(plots, sources)
    assert seen == ["odin:temperature=10", "energy", "msp"]


@pytest.mark.slow
def test_options_reach_the_figure(files):
    """Planted fault seen: the options are checked and dropped."""
    names = [str(files / f"{name}.parquet") for name in SETS]
    sources = Sources(names=names, detectors=["energy", "msp"])
    scored = sources.scored_sets
    ax = Plot.parse("detector_ranks:detector=msp:against=energy:inside=imagenet_r:bins=4=x.png", sources).draw(scored)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["msp", "energy"]
    assert ax.get_title(loc="left").startswith("imagenet_r") and "each of 4 bins" in ax.get_ylabel()
    ax = Plot.parse("distance_regression:value=score:subsets=4=x.png", sources).draw(scored, nearest=sources.nearest)
    assert "mean score" in ax.get_ylabel() and ax.get_title(loc="left") == "energy, 4 subsets a set"
    assert list(sources.datasets) == list(SETS)
    pyplot.close("all")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("NO.parquet", "--plot", "score_distributions=OUT"), "shows a detector, but none is named"),
        (("NO.parquet", "--plot", "detector_ranks=OUT"), "shows two detectors, but only msp is named"),
        (("NO.parquet", "--plot", "detector_ranks:against=vum=OUT"), "No detector named 'vum'. Did you mean 'vim'"),
        (("NO.parquet", "--plot", "detector_ranks:row=ood=OUT"), "Did you mean 'rows'"),
        (("NO.parquet", "--plot", "score_distributions:detector=vim=OUT"), "vim must be fitted to the training split"),
        (("NO.parquet", "--detector", "knn:k=many", "--plot", "detector_ranks=OUT"), "k must be a whole number"),
        (("NO.parquet", "--detector", "knn:neighbors=5", "--plot", "score_distributions=OUT"), "Allowed: index, k."),
        (("NO.parquet", "--detector", "msp", "--plot", "random_models=OUT"), "random_models needs numbers"),
        (("ERM.json", "--detector", "msp", "--plot", "score_distributions=OUT"), "one file per set, got reports"),
        (("NO.csv", "--plot", "random_models=OUT"), "There is no table of numbers at"),
        (("1K", "R", "--plot", "tau_loss=OUT"), "only figures of detectors and a gallery take several"),
        (("ERM.json", "--detector", "msp", "--plot", "gap=OUT"), "apply to figures of detectors only"),
        (("1K", "--detector", "msp", "--embedding", "NEAR", "--plot", "score_distributions=OUT"), "applies to the fig"),
        (("1K", "--embedding", "NO.parquet", "--plot", "distance_regression:detector=msp=OUT"), "file not found"),
        (("1K", "NEAR", "--detector", "msp", "--plot", "score_distributions=OUT"), "model (net and embedding)"),
        (("1K", "1K", "--detector", "msp", "--plot", "score_distributions=OUT"), "imagenet_1k is given twice"),
        (("1K", "OOD", "--detector", "odin:epsilon=0.1", "--plot", "score_distributions=OUT"), "odin_logits"),
        (("BARE", "OOD", "--detector", "msp", "--plot", "distance_regression=OUT"), "imagenet_1k.parquet has no feat"),
        (("1K", "--detector", "msp", "--plot", "distance_regression=OUT"), "imagenet_1k is the only set"),
        (("1K", "OOD", "--detector", "msp", "--plot", "distance_regression=OUT"), "subsets must be 2 to 48"),
        (("1K", "--detector", "msp", "--plot", "detector_ranks:detector=energy=OUT"), "no out-of-distribution rows"),
        (("1K", "OOD", "--plot", "disagreement_pictures:detector=energy=OUT", "--data-dir", "/no"), "is not a folder"),
    ],
)  # fmt: skip
def test_wrong_turns(run, files, tmp_path, words, message):
    """Where two things are wrong, what was typed is said before what was not found: nothing slow has begun."""
    places = {"1K": "imagenet_1k", "R": "imagenet_r", "OOD": "imagenet_ood", "NEAR": "near_imagenet_r"}
    places |= {"BARE": "bare_imagenet_1k", "TRAIN": "train"}
    paths = {name: f"{files}/{file}.parquet" for name, file in places.items()}
    paths |= {"ERM.json": f"{files}/erm.json", "NO.parquet": "/no/a.parquet", "NO.csv": "/no/a.csv"}
    filled = [paths.get(word, re.sub("OUT$", f"{tmp_path}/out.png", word)) for word in words]
    code, shown, err = run("report", *filled)
    assert code == 2 and message in err and "Traceback" not in err and not shown, (code, err)
    assert not list(tmp_path.iterdir())
