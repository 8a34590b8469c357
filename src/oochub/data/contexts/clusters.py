"""Groups of pictures that look alike beyond their class: k-means on what a model sees, less the mean of each class.

A class's own look is the largest part of what a classifier sees, and no context: the mean of the class is taken out
first. What is left is reduced to its principal components, and the number of clusters is that of the best silhouette;
all of it on the rows to choose on. The other rows go to the nearest center.

Limitations: Clusters have no names; look at their pictures. A cluster may split what people call one context, or hold
several.

Source: silhouette: Rousseeuw 1987 (J. Comput. Appl. Math. 20:53-65). Clusters within classes to find groups that
nobody labelled: Sohoni et al. 2020, GEORGE, Section 4.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oochub.context_way import ContextWay, NamedContexts, OpenedPicture
from oochub.data.one_chunk import one_chunk
from oochub.data.picture_rows import picture_rows
from oochub.errors import OochubError

if TYPE_CHECKING:
    import torch

    from oochub.input import Input
    from oochub.models.encoder import Encoder

_MOST = 10  # clusters that are tried
_PARTS = 50  # principal components
_SAMPLE = 2_000  # rows of a silhouette, which compares each with each


class Clusters(ContextWay):
    """Clusters of the features of an encoder, or of the model under audit.

    Measures: `feature`, float32 (d,), see `oochub.models.encoder.Encoder`.

    Args:
        model: Folder or Hub id of a model, or the model itself with `image_processor`.
        k: How many clusters, 2 or more; None chooses 2 to 10 by the silhouette.
        pooling: Of the features, see `oochub.models.encoder.Encoder.opened`.
        image_processor: Of another model, where this one has none.
        device: "auto", "cpu", "cuda", ...
        seed: Of k-means.

    Raises:
        OochubError: Fewer than two clusters.
    """

    batch_size = 64

    def __init__(
        self,
        *,
        model: Any,
        k: int | None = None,
        pooling: str = "auto",
        image_processor: Any = None,
        device: str = "auto",
        seed: int = 0,
    ) -> None:
        from oochub.models.model_source import ModelSource

        if k is not None and k < 2:
            raise OochubError(f"k is 2 or more clusters, got {k}.")
        self._source, self._k, self._pooling, self._seed = ModelSource(model), k, pooling, seed
        self._processor, self._device_name = image_processor, device
        self._opened: tuple[Input, Encoder, torch.device] | None = None

    @property
    def model(self) -> str | None:
        """See `ContextWay.model`."""
        return self._source.about("clusters").id

    def settings(self) -> dict[str, Any]:
        """See `ContextWay.settings`."""
        return {"model": self._source.revision, "pooling": self._pooling, **self._inputs.settings()}

    def measures(self, pictures: Sequence[OpenedPicture]) -> pa.Table:
        """See `ContextWay.measures`."""
        import torch

        inputs, encoder, device = self._ready
        # a processor that keeps the shape of pictures pads those of a batch to the largest
        batch_size = self.batch_size if inputs.provenance()["preprocessing"] == "fused" else 1
        features = []
        with torch.inference_mode():
            for batch in inputs.batches(picture_rows(pictures), batch_size=batch_size, device=device):
                features.append(encoder(**batch.inputs).cpu().numpy())
        values = np.concatenate(features)
        if not np.isfinite(values).all():
            raise OochubError(f"The model {self.model} gives features that are not finite. Its weights are damaged.")
        return pa.table({"feature": pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), values.shape[1])})

    def name(
        self, measures: pa.Table, *, label: NDArray[np.int64], classes: Sequence[str], chosen_on: NDArray[np.bool_]
    ) -> NamedContexts:
        """See `ContextWay.name`."""
        most = min(_MOST, int(chosen_on.sum()) // 2) if self._k is None else self._k
        if chosen_on.sum() < 4 or most > chosen_on.sum() // 2:
            raise OochubError(
                f"{most} clusters cannot be chosen on {int(chosen_on.sum())} pictures, two each are the fewest. Give "
                "more pictures, or fewer clusters."
            )
        column = one_chunk(measures.column("feature"))
        values = column.flatten().to_numpy().reshape(len(column), -1)
        place, k, score = self._clustered(_beyond_class(values, label, chosen_on), chosen_on)
        sizes = np.bincount(place[chosen_on], minlength=k)
        order = np.argsort(-sizes, kind="stable")
        return NamedContexts(
            names=tuple(f"cluster {number + 1}" for number in range(k)),
            words=tuple(f"cluster {number + 1} of {k} by what the model sees" for number in range(k)),
            has=place[:, None] == order[None],
            settings={"k": k, "silhouette": score, "seed": self._seed},
        )

    def _clustered(
        self, values: NDArray[np.float32], chosen_on: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int64], int, float]:
        """The cluster of each row, how many there are, and their silhouette on the rows to choose on."""
        from sklearn.cluster import KMeans
        from sklearn.decomposition import PCA
        from sklearn.metrics import silhouette_score

        chosen = values[chosen_on]
        if np.ptp(chosen, axis=0).max() == 0:
            raise OochubError("What the model sees does not differ beyond the class: there are no clusters.")
        parts = PCA(n_components=min(_PARTS, *chosen.shape), random_state=self._seed).fit(chosen)
        small, every = parts.transform(chosen), parts.transform(values)
        most = min(_MOST, len(chosen) // 2)
        best: tuple[float, int, Any] = (-2.0, 0, None)
        for k in range(2, most + 1) if self._k is None else [self._k]:
            means = KMeans(n_clusters=k, n_init=10, random_state=self._seed).fit(small)
            if len(set(means.labels_)) < 2:
                continue
            sample = min(_SAMPLE, len(small))
            score = float(silhouette_score(small, means.labels_, sample_size=sample, random_state=self._seed))
            best = max(best, (score, -k, means), key=lambda each: each[:2])
        score, k, means = best
        return means.predict(every).astype(np.int64), -k, score

    @property
    def _inputs(self) -> "Input":
        return self._source.inputs(picture_rows([]), processor=self._processor, preprocessing="auto")

    @property
    def _ready(self) -> "tuple[Input, Encoder, torch.device]":
        """The encoder on its device, opened with the first pictures."""
        if self._opened is None:
            from oochub.models.chosen_device import chosen_device
            from oochub.models.encoder import Encoder

            device, inputs = chosen_device(self._device_name), self._inputs
            encoder = Encoder.opened(self._source, inputs, pooling=self._pooling).to(device).eval()
            self._opened = inputs, cast("Encoder", encoder), device
        return self._opened


def _beyond_class(
    values: NDArray[np.float32], label: NDArray[np.int64], chosen_on: NDArray[np.bool_]
) -> NDArray[np.float32]:
    """The features less the mean of their class, of all rows for a class without a row to choose on."""
    beyond: NDArray[np.float32] = values - values[chosen_on].mean(0)
    for number in np.unique(label[chosen_on]):
        if number >= 0:
            rows = label == number
            beyond[rows] = values[rows] - values[rows & chosen_on].mean(0)
    return beyond
