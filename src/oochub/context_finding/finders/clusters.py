"""Clusters of images that look alike regardless of class: k-means on model features that vary within classes.

What makes a class is much of what a model sees, and no context. It is the same in all images of the class, and a
context is not: clusters are looked for along the directions in which images of one class differ, the principal
components of the features less the mean of their class. Along them the features keep their class mean: where most of a
class stands in one context, that mean holds the context too, and one context would become another in each class. Only
of whole images seen by a classifier of these very classes the mean is taken out: along it lies what the model
answers. Such clusters are groups to train on, but no gap is tested on them (`find_context_effects`): "against the usual
cluster" may mean "wrong", or the rare rows of one class may become a cluster, usual for it alone. On the rim the model
sees little of the thing, and its clusters are contexts like those of any encoder. The number of clusters is that of the
best silhouette; all of it is chosen on the rows to choose on, and the other rows go to the nearest center.

Limitations: Clusters have no names; look at their images. A cluster may split what people call one context, hold
    several, or be the look of a class; a note says where clusters and classes are nearly the same. If the mean of the
    class is taken out, a context that most of the class has goes with it. A thing that reaches the rim is seen there.

Source: directions of variation within what is to be told apart: Solomonoff et al. 2005 (ICASSP), nuisance attribute
projection. Number of directions: Kaiser 1960, variance above the mean. Silhouette: Rousseeuw 1987 (J. Comput. Appl.
Math. 20:53-65). Clusters to find groups that nobody labelled: Sohoni et al. 2020, GEORGE, Section 4.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from PIL import Image

from oochub.context_finder import NamedContexts, OpenedPicture
from oochub.context_finding.image_model import ImageModel, ModelWay, find_middle, mask_region
from oochub.errors import OochubError, choose_wording

if TYPE_CHECKING:
    import torch

    from oochub.input import Input

_RIM = 1 / 6  # of the height at top and bottom, of the width left and right; from less, an encoder sees little
_MOST = 10  # clusters that are tried
_MOST_PARTS = 50  # directions
_SPARE, _PASSES = 10, 5  # of the iteration that finds them
_ROWS = 1_024  # of a part of the features that is copied
_SAMPLE = 2_000  # rows of a silhouette, which compares each with each
_ALIKE = 0.8  # adjusted Rand index from which a note says that clusters are nearly the classes


class Clusters(ModelWay):
    """Clusters of the features of an encoder, or of the model under audit.

    Measures: `feature`, float32 (d,), see `oochub.models.encoder.Encoder`.

    Args:
        model: Folder or Hub id of a model, or the model itself with `image_processor`.
        k: Number of clusters, 2 or more; None chooses 2 to 10 by the silhouette.
        region: Part of the image that the model sees: `"rim"`, a sixth of the height at top and bottom and of the width
            left and right; or `"picture"`, all of it.
        pooling: Where the features are taken from, see `oochub.models.encoder.Encoder.open`.
        image_processor: Image processor of another model, if this one has none.
        device: "auto", "cpu", "cuda", ...
        seed: Random seed for k-means.

    Raises:
        OochubError: Fewer than two clusters, or another region.
    """

    batch_size = 64
    looks_with_audited_model = True

    def __init__(
        self,
        *,
        model: Any,
        k: int | None = None,
        region: str = "rim",
        pooling: str = "auto",
        image_processor: Any = None,
        device: str = "auto",
        seed: int = 0,
    ) -> None:
        if k is not None and k < 2:
            raise OochubError(f"k must be 2 or more clusters, got {k}.")
        mask_region(1, 1, region=region, depth=_RIM)
        super().__init__(model, image_processor=image_processor, device=device)
        self._region, self._k, self._pooling, self._seed = region, k, pooling, seed

    def settings(self) -> dict[str, Any]:
        """See `ContextWay.settings`."""
        return self._describe_model(pooling=self._pooling) | {"region": self._region, "rim": _RIM}

    def prepare(self, picture: OpenedPicture) -> object:
        """See `ContextWay.prepare`: the inputs of the model, of the rim or of all of the image."""
        return self._ready.prepare(_keep_rim(picture.image) if self._region == "rim" else picture.image)

    def measures(self, prepared: Sequence[object]) -> pa.Table:
        """See `ContextWay.measures`."""
        return self._measure_vectors(prepared, "feature")

    def name(
        self, measures: pa.Table, *, label: NDArray[np.int64], classes: Sequence[str], chosen_on: NDArray[np.bool_]
    ) -> NamedContexts:
        """See `ContextWay.name`."""
        most = min(_MOST, int(chosen_on.sum()) // 2) if self._k is None else self._k
        if chosen_on.sum() < 4 or most > chosen_on.sum() // 2:
            raise OochubError(
                f"{most} clusters need at least two images each to choose on, got {int(chosen_on.sum())}. Use more "
                "images, or fewer clusters."
            )
        is_own = bool(classes) and set(classes) <= set(getattr(self._source.config, "id2label", {}).values())
        column = measures.column("feature")
        without_means = is_own and self._region == "picture"
        small = _project_within_classes(column, label, chosen_on, without_means=without_means, seed=self._seed)
        place, k, score = self._cluster(small, chosen_on)
        sizes = np.bincount(place[chosen_on], minlength=k)
        order = np.argsort(-sizes, kind="stable")
        return NamedContexts(
            names=tuple(f"cluster {number + 1}" for number in range(k)),
            words=tuple(f"cluster {number + 1} of {k} of the model's features" for number in range(k)),
            has=place[:, None] == order[None],
            settings={
                "k": k,
                "silhouette": score,
                "directions": small.shape[1],
                "seed": self._seed,
                "knows_classes": is_own,
            },
            notes=self._write_notes(place[chosen_on], label[chosen_on], is_own=is_own),
        )

    def _write_notes(self, place: NDArray[np.int64], label: NDArray[np.int64], *, is_own: bool) -> tuple[str, ...]:
        from sklearn.metrics import adjusted_rand_score

        if is_own and self._region == "picture":
            return (
                f"{self.model} tells these classes apart itself, so its features of whole images are largely its "
                "predictions: the mean of each class is subtracted from the features, and no direction of a gap is "
                "claimed. Use the rim, or an encoder that was not trained for these classes.",
            )
        if is_own:
            return (
                f"{self.model} tells these classes apart itself: if a thing reaches the rim, clusters may be its "
                "predictions. Look at their images, or use an encoder that was not trained for these classes.",
            )
        alike = adjusted_rand_score(label, place)
        if alike < _ALIKE:
            return ()
        half = choose_wording('choose_on="half"')
        return (
            f"The clusters are nearly the classes (adjusted Rand index {alike:.2f} on the rows chosen on): either "
            "each class has its own context there, or the features show the class itself. Look at their images; "
            f"{half} chooses on rows outside train.",
        )

    def _cluster(
        self, values: NDArray[np.float32], chosen_on: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int64], int, float]:
        """The cluster of each row, how many there are, and their silhouette on the rows to choose on."""
        from sklearn.cluster import KMeans
        from sklearn.metrics import silhouette_score

        chosen = values[chosen_on]
        most = min(_MOST, len(chosen) // 2)
        best: tuple[float, int, Any] = (-2.0, 0, None)
        for k in range(2, most + 1) if self._k is None else [self._k]:
            means = KMeans(n_clusters=k, n_init=10, random_state=self._seed).fit(chosen)
            if len(set(means.labels_)) < 2:
                continue
            sample = min(_SAMPLE, len(chosen))
            score = float(silhouette_score(chosen, means.labels_, sample_size=sample, random_state=self._seed))
            best = max(best, (score, -k, means), key=lambda each: each[:2])
        score, k, means = best
        return means.predict(values).astype(np.int64), -k, score

    def _open(self, inputs: "Input", device: "torch.device") -> "ImageModel[torch.Tensor]":
        from oochub.models.encoder import Encoder

        encoder = Encoder.open(self._source, inputs, pooling=self._pooling).to(device).eval()

        def embed(batch: "Mapping[str, torch.Tensor]") -> "torch.Tensor":
            features: torch.Tensor = encoder(**batch)
            return features

        return ImageModel(inputs, encoder, embed, device, most=self.batch_size, numbers=embed)


def _keep_rim(image: Image.Image) -> Image.Image:
    """The image, its middle filled with the mean color of its rim."""
    middle = find_middle(image.height, image.width, depth=_RIM)
    counts = np.reshape(image.histogram(), (3, 256)) - np.reshape(image.crop(middle).histogram(), (3, 256))
    red, green, blue = np.rint(counts @ np.arange(256) / counts[0].sum()).astype(int).tolist()
    seen = image.copy()
    seen.paste((red, green, blue), middle)
    return seen


def _project_within_classes(
    column: pa.ChunkedArray, label: NDArray[np.int64], chosen_on: NDArray[np.bool_], *, without_means: bool, seed: int
) -> NDArray[np.float32]:
    """The features (n, m) along the m directions in which the chosen rows of a class differ, a part at a time.

    Directions have more than the mean variance of all, and are `_MOST_PARTS` at most; by subspace iteration with their
    last step in the subspace (Halko et al. 2011, Algorithms 4.4 and 5.3), so that no copy of the features is made. With
    `without_means` less the mean of the class, of all chosen rows for a class that has none.
    """
    codes = np.unique(label[chosen_on])
    group = np.searchsorted(codes, label).clip(max=len(codes) - 1)
    size = column.type.list_size
    sums = np.zeros((len(codes), size))
    for rows, values in _iterate_parts(column):
        for number in np.unique(group[rows][chosen_on[rows]]):
            sums[number] += values[chosen_on[rows] & (group[rows] == number)].sum(0, dtype=np.float64)
    means = (sums / np.bincount(group[chosen_on])[:, None]).astype(np.float32)
    middle = (sums.sum(0) / chosen_on.sum()).astype(np.float32)

    def beyond() -> Iterator[NDArray[np.float32]]:
        for rows, values in _iterate_parts(column):
            yield values[chosen_on[rows]] - means[group[rows][chosen_on[rows]]]

    basis = np.random.default_rng(seed).normal(size=(size, min(_MOST_PARTS + _SPARE, size))).astype(np.float32)
    for _ in range(_PASSES):
        basis = np.linalg.qr(sum((part.T @ (part @ basis) for part in beyond()), np.zeros_like(basis)))[0]
    scatter = sum(((part @ basis).T @ (part @ basis) for part in beyond()), np.zeros((basis.shape[1],) * 2, np.float32))
    whole = sum(float(np.square(part, dtype=np.float64).sum()) for part in beyond())
    if whole == 0:
        raise OochubError(
            "The model's features do not differ beyond the class, so there are no clusters. Use another model, or "
            "another method."
        )
    variance, turn = np.linalg.eigh(scatter.astype(np.float64))
    mean_variance = whole / min(size, max(1, int(chosen_on.sum()) - len(codes)))
    count = min(_MOST_PARTS, max(1, int((variance > mean_variance).sum())))
    directions = (basis @ turn[:, ::-1][:, :count]).astype(np.float32)
    own = means if without_means else np.broadcast_to(middle, means.shape)
    small = [
        (values - np.where((codes[group[rows]] == label[rows])[:, None], own[group[rows]], middle)) @ directions
        for rows, values in _iterate_parts(column)
    ]
    return np.concatenate(small)


def _iterate_parts(column: pa.ChunkedArray) -> Iterator[tuple[slice, NDArray[np.float32]]]:
    """The rows of a part, and their features."""
    for start in range(0, len(column), _ROWS):
        part = column.slice(start, _ROWS).combine_chunks()
        yield slice(start, start + len(part)), part.flatten().to_numpy().reshape(len(part), -1)
