"""Clusters of planted features, and of the features of a real network."""

import io

import numpy as np
import pyarrow as pa
import pytest
import torch
import transformers as hf
from PIL import Image
from scipy.spatial.distance import pdist
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score, silhouette_score

import oochub
from oochub.context_finder import OpenedPicture
from oochub.context_finding.finders.clusters import Clusters, _project_within_classes
from oochub.errors import OochubError


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A tiny ResNet with its processor."""
    folder = tmp_path_factory.mktemp("model")
    torch.manual_seed(0)
    config = hf.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], num_labels=2)
    hf.ResNetForImageClassification(config).eval().save_pretrained(folder)
    hf.ConvNextImageProcessor(size={"shortest_edge": 32}, crop_pct=1.0).save_pretrained(folder)
    return folder


def planted(n=300, seed=0):
    """Features of 3 classes far apart, in each of which two contexts are told apart by a smaller step."""
    rng = np.random.default_rng(seed)
    label, context = rng.integers(0, 3, n), (rng.random(n) < 0.35).astype(int)
    values = rng.normal(size=(n, 8))
    values[:, 0] += 40 * label
    values[:, 3] += 9 * context
    return label, context, values.astype(np.float32)


def table(values):
    return pa.table({"feature": pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), values.shape[1])})


def named(model, label, values, chosen_on, **settings):
    way = Clusters(model=model, **settings)
    return way.name(table(values), label=label, classes=["a", "b", "c"], chosen_on=chosen_on)


def test_what_is_beyond_the_class_is_found(model):
    label, context, values = planted()
    chosen_on = np.arange(300) % 2 == 0
    found = named(model, label, values, chosen_on)
    assert found.settings["k"] == 2 and found.settings["silhouette"] > 0.4
    assert found.has[:, 0].tolist() == (context == 0).tolist()  # the larger one is the first
    assert (found.has.sum(1) == 1).all() and found.names == ("cluster 1", "cluster 2")
    for k in (4, 7):
        sizes = named(model, label, values, chosen_on, k=k).has[chosen_on].sum(0)
        assert len(sizes) == k and sizes.tolist() == sorted(sizes, reverse=True)


def test_no_more_clusters_than_half_of_the_rows(model):
    """By the silhouette one more would be chosen, of single rows. Planted fault: one more is tried."""
    values = np.array([(-1, 0), (0, 0), (0, 0.01), (1, 0)], np.float32)
    every = {k: KMeans(k, n_init=10, random_state=0).fit_predict(values) for k in (2, 3)}
    scores = {k: silhouette_score(values, labels) for k, labels in every.items()}
    assert max(scores, key=scores.get) == 3
    assert Clusters(model=model)._cluster(values, np.ones(4, bool))[1] == 2


def test_nothing_of_the_other_rows_is_used(model):
    """Their features and labels may be anything: what the rows to choose on become stays."""
    label, _, values = planted()
    chosen_on = np.arange(300) < 150
    before = named(model, label, values, chosen_on)
    other = np.where(chosen_on[:, None], values, 1000 * np.random.default_rng(5).normal(size=values.shape))
    labels = np.where(chosen_on, label, 2 - label)
    after = named(model, labels, other.astype(np.float32), chosen_on)
    assert (after.has[chosen_on] == before.has[chosen_on]).all() and after.settings == before.settings


def in_usual_contexts(n=900, seed=0, usual=0.75):
    """Features of 3 classes, each mostly in a context of its own; both look along directions of their own."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 3, n)
    context = np.where(rng.random(n) < usual, label, rng.integers(0, 3, n))
    values = rng.normal(size=(n, 30))
    values[:, :3] += 12 * np.eye(3)[label]
    values[:, 10:13] += 9 * np.eye(3)[context]
    return label, context, values.astype(np.float32)


@pytest.mark.parametrize("seed", range(3))
def test_a_context_that_most_of_a_class_has_is_one_in_all_classes(model, seed):
    label, context, values = in_usual_contexts(seed=seed)
    chosen_on = np.random.default_rng(seed).random(len(label)) < 0.5
    found = named(model, label, values, chosen_on)
    assert found.settings["k"] == 3 and found.settings["directions"] < 10 and found.notes == ()
    assert adjusted_rand_score(context[~chosen_on], found.has.argmax(1)[~chosen_on]) > 0.99


def test_directions_are_those_of_principal_components_within_classes(model):
    """Against PCA of scikit-learn on the features less their class mean: same number, same distances of rows."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, 3, 1400)
    scales = np.concatenate([np.linspace(6, 2, 12), np.ones(88)])
    values = (50 + rng.normal(size=(1400, 100)) * scales + 5 * rng.normal(size=(3, 100))[label]).astype(np.float32)
    chosen_on = rng.random(1400) < 0.6
    column = pa.chunked_array([table(part).column(0).chunk(0) for part in np.split(values, [7, 1150])])
    beyond = np.concatenate(
        [values[chosen_on & (label == c)] - values[chosen_on & (label == c)].mean(0) for c in range(3)]
    )
    parts = PCA().fit(beyond)
    count = int((parts.explained_variance_ > parts.explained_variance_.sum() / 100).sum())
    small = _project_within_classes(column, label, chosen_on, without_means=False, seed=0)
    expected = (values - values[chosen_on].mean(0)) @ parts.components_[:count].T
    assert small.shape == (1400, count) and 5 < count < 20
    np.testing.assert_allclose(pdist(small), pdist(expected), rtol=0.01)
    without = _project_within_classes(column, label, chosen_on, without_means=True, seed=0)
    for number in range(3):
        assert without[chosen_on & (label == number)].mean(0) == pytest.approx(0, abs=1e-3)


def test_a_classifier_of_these_very_classes_is_clustered_without_class_means_of_whole_pictures(tmp_path):
    torch.manual_seed(0)
    config = hf.ResNetConfig(
        embedding_size=8,
        hidden_sizes=[8],
        depths=[1],
        id2label={0: "c", 1: "b", 2: "a"},
        label2id={"c": 0, "b": 1, "a": 2},
    )
    hf.ResNetForImageClassification(config).save_pretrained(tmp_path)
    rng = np.random.default_rng(0)
    label = rng.integers(0, 3, 300)
    values = rng.normal(size=(300, 8)).astype(np.float32)
    values[:, 0] += 6 * label + 4 * rng.choice((-1, 1), 300)
    chosen_on = np.arange(300) < 200
    found = named(tmp_path, label, values, chosen_on, region="picture")
    assert abs(adjusted_rand_score(label, found.has.argmax(1))) < 0.05
    assert len(found.notes) == 1 and "tells these classes apart itself" in found.notes[0]
    assert "no direction of a gap is claimed" in found.notes[0] and found.settings["knows_classes"]
    rim = named(tmp_path, label, values, chosen_on)
    assert adjusted_rand_score(label, rim.has.argmax(1)) > 0.2  # means are kept: there it sees little of the thing
    assert "if a thing reaches the rim" in rim.notes[0] and rim.settings["knows_classes"]


def test_a_note_says_where_clusters_are_the_classes(model):
    label, _, values = in_usual_contexts(usual=0.97)
    found = named(model, label, values, np.arange(len(label)) % 2 == 0)
    assert len(found.notes) == 1 and "nearly the classes (adjusted Rand index 0.9" in found.notes[0]
    assert 'choose_on="half" chooses on rows outside train' in found.notes[0]


def test_a_class_that_was_not_chosen_on_and_rows_without_one(model):
    label, _, values = planted()
    chosen_on = (np.arange(300) % 2 == 0) & (label != 2)
    assert named(model, label, values, chosen_on).has.shape[0] == 300
    assert named(model, np.full(300, -1), values, chosen_on).has.any(1).all()


def test_what_cannot_be(model):
    label, _, values = planted()
    with pytest.raises(OochubError, match="k must be 2 or more clusters, got 1"):
        Clusters(model=model, k=1)
    with pytest.raises(OochubError, match="Allowed: picture, rim"):
        Clusters(model=model, region="middle")
    with pytest.raises(OochubError, match="10 clusters need at least two images each to choose on, got 12"):
        named(model, label, values, np.arange(300) < 12, k=10)
    with pytest.raises(OochubError, match="do not differ beyond the class"):
        named(model, label, np.zeros_like(values), np.arange(300) < 150)
    with pytest.raises(OochubError, match="needs model="):
        oochub.contexts("absent", by="clusters")


@pytest.mark.slow
@pytest.mark.parametrize("region", ["rim", "picture"])
def test_features_are_those_of_the_encoder_whatever_the_batch(model, region):
    """Against the network itself, image by image; of the rim with its mean color in the middle, by a loop."""
    rng = np.random.default_rng(0)
    pictures = []
    for _ in range(5):
        image, file = Image.fromarray(rng.integers(0, 256, (32, 32, 3), np.uint8)), io.BytesIO()
        image.save(file, "PNG")
        pictures.append(OpenedPicture(file.getvalue(), image))
    way = Clusters(model=model, region=region)
    ready = [*map(way.prepare, pictures)]
    together = np.stack(way.measures(ready).column("feature").to_numpy())
    alone = np.concatenate([np.stack(way.measures([each]).column("feature").to_numpy()) for each in ready])
    assert together == pytest.approx(alone, abs=1e-5)
    network = hf.ResNetForImageClassification.from_pretrained(model).eval()
    processor = hf.ConvNextImageProcessor.from_pretrained(model)
    with torch.inference_mode():
        seen = [each.image if region == "picture" else without_middle(each.image) for each in pictures]
        pixels = processor(seen, return_tensors="pt")["pixel_values"]
        expected = network.resnet(pixels).pooler_output.flatten(1).numpy()
    assert together == pytest.approx(expected, abs=1e-4)
    assert way.settings()["model"] and way.model == model.name
    assert way.settings() != Clusters(model=model, region={"rim": "picture", "picture": "rim"}[region]).settings()


def without_middle(image):
    image, (width, height) = image.copy(), image.size
    inside = [(x, y) for x in range(5, width - 5) for y in range(5, height - 5)]  # 32 / 6 = 5.3
    rim = [image.getpixel((x, y)) for x in range(width) for y in range(height) if (x, y) not in set(inside)]
    for place in inside:
        image.putpixel(place, tuple(round(float(channel)) for channel in np.mean(rim, 0)))
    return image
