"""Own data say what rows share: intervals count that in place of rows, and odd columns are refused."""

import datasets
import numpy as np
import pytest
import torch
from PIL import Image

import oochub
from oochub.builders.toy_worlds.toy_waterbirds import toy_waterbirds
from oochub.errors import OochubError
from oochub.stats.estimation import estimate

VIDEOS, FRAMES = 12, 10


def write_frames(folder):
    """Videos of one gray each, whose frames are all right or all wrong by a threshold; a third of them is wrong."""
    rows = []
    for video in range(VIDEOS):
        bright = video % 2 == 1
        wrong = video % 3 == 0
        for frame in range(FRAMES):
            name = f"v{video:02}_{frame}.png"
            (folder / "test").mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (8, 8), (200 if bright != wrong else 50,) * 3).save(folder / "test" / name)
            rows.append(f"{name},{'day' if bright else 'night'},{'road' if video % 4 < 2 else 'sea'},v{video:02}")
    (folder / "test" / "metadata.csv").write_text("file_name,time,place,video\n" + "\n".join(rows) + "\n")
    return folder


def see(batch):
    """Day, the first class by name, where an image is bright."""
    bright = batch.mean((1, 2, 3)) - 0.5
    return torch.stack([bright, -bright], 1)


def transform(image):
    return torch.from_numpy(np.asarray(image, np.float32).transpose(2, 0, 1) / 255)


def predict(data):
    return oochub.predict(see, data, class_names=["day", "night"], transform=transform, image_processor=None)


def test_intervals_count_clusters(tmp_path):
    """Of ten equal frames one says it all, so the interval is that of the clusters, three times as wide.

    By hand: the shares of n and of 10 n rows differ by the square root of ten, but that ends of few
    clusters are wider (Clopper and Pearson) and those of 120 rows are whole rows.
    """
    folder = write_frames(tmp_path / "frames")
    plain, clustered = (
        oochub.evaluate(predict(oochub.load(folder, label="time", context="place", cluster=name)))
        for name in (None, "video")
    )
    assert plain["accuracy"] == clustered["accuracy"] == pytest.approx(2 / 3)
    widths = [float(report["accuracy"].high - report["accuracy"].low) for report in (plain, clustered)]
    assert 2.5 < widths[1] / widths[0] < 3.9
    predictions = predict(oochub.load(folder, label="time", context="place", cluster="video"))
    metric = oochub.get("metric", "accuracy")
    columns = {"label": predictions.label, "prediction": predictions.prediction}
    wanted = estimate(metric, columns, cluster=predictions.column("video"))
    assert (clustered["accuracy"].low, clustered["accuracy"].high) == (wanted.low, wanted.high)


@pytest.mark.parametrize(
    ("cluster", "words"),
    [("vidoe", "Did you mean 'video'"), ("time", "holds the label"), ("place", "holds the context")],
)
def test_odd_columns_are_refused(cluster, words, tmp_path):
    with pytest.raises(OochubError, match=words):
        oochub.load(write_frames(tmp_path / "frames"), label="time", context="place", cluster=cluster)


@pytest.mark.parametrize(
    ("source", "pair", "words"),
    [
        ("frames", "vidoe", "Did you mean 'video'"),
        (
            "frames",
            "time",
            "pair= names the column 'time', which holds the label. Name a column of what rows share, such",
        ),
        ("waterbirds", "place", "Remove pair=; it only applies to custom data"),
    ],
)
def test_odd_columns_of_pairs_are_refused(source, pair, words, tmp_path):
    """Planted fault seen: the cluster's name in the message."""
    if source == "frames":
        given = {"source": write_frames(tmp_path / "frames"), "label": "time", "context": "place"}
    else:
        given = {"source": source, "data_dir": toy_waterbirds(tmp_path / "raw" / "waterbirds")}
    with pytest.raises(OochubError, match=words):
        oochub.load(pair=pair, **given)


def test_a_missing_value_is_refused():
    rows = {"label": ["a", "b"], "context": ["x", "y"], "video": ["one", None]}
    with pytest.raises(OochubError, match="cluster column 'video'"):
        from oochub.data.data_source import DataSource
        from oochub.data.user_data import make_user_data
        from oochub.settings.data_settings import DataSettings

        data = datasets.DatasetDict(test=datasets.Dataset.from_dict(rows))
        make_user_data(DataSource(given=data, rows=data), DataSettings(cluster="video"))
