"""Contexts from your list of names, by a model of images and texts such as CLIP.

Each image gets the name whose texts it is most like: a list such as grass, beach, road is read as the places that there
are. If an image may show several or none of the names, a threshold gives each name by itself: it is there if the image
is more like its texts than like those that name nothing ("a photo."). One name alone says nothing without such an
alternative, and is held against it too.

Limitations: The model answers for the list that it is given: for an image of a kitchen it says grass, beach or road,
unless texts that name nothing are given. Names that people would both say of one image take it from each other.

Source: Radford et al. 2021 (arXiv 2103.00020), section 3.1.
"""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import datasets
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oochub.context_finder import NamedContexts
from oochub.context_finding.image_model import ImageModel, ModelWay, join_chunks, make_image_rows
from oochub.errors import OochubError, choose_wording
from oochub.models.class_map import list_class_words

if TYPE_CHECKING:
    import torch

    from oochub.input import Input

_NEUTRAL = "a photo."


class ZeroShot(ModelWay):
    """Which of your names an image is most like.

    Measures: `embedding`, float32 (d,), the unit embedding of the image. They do not depend on the names: another
    list is looked up in what was measured before.

    Columns: `context_similarity`, float32 (k,), the cosine of the image and the texts of each of the k names.

    Args:
        model: Folder or Hub id of a dual encoder, every model that the mode zero_shot takes, or the model itself with
            `image_processor` and `tokenizer`.
        names: Names of the contexts, such as ["grass", "beach", "road"].
        templates: Texts with {} for the name, the name of a set ("photo", "imagenet_7") or a file, see
            `oochub.models.dual_encoder`.
        threshold: None gives each image one name, the most similar. A number in (0, 1) gives it every name that is
            this probable beside the neutral texts: 0.5 is as like the name as like nothing.
        neutral: Texts that name nothing. With them an image may have no name; None takes "a photo." where there is a
            threshold or a single name, and else none.
        image_processor: Image processor of another model, if this one has none; for images alone, or for images and
            texts.
        tokenizer: Tokenizer, for a model object.
        device: "auto", "cpu", "cuda", ...

    Raises:
        OochubError: No names, an empty one or one twice, templates that are none, a model that is no dual encoder.
    """

    batch_size = 64

    def __init__(
        self,
        *,
        model: Any,
        names: Sequence[str] | str,
        templates: Sequence[str] | str = "photo",
        threshold: float | None = None,
        neutral: Sequence[str] | str | None = None,
        image_processor: Any = None,
        tokenizer: Any = None,
        device: str = "auto",
    ) -> None:
        from oochub.models.dual_encoder import DualEncoder, read_templates, write_prompts
        from oochub.models.supported_models import choose_auto_model

        self._names = _check_names(names)
        if threshold is not None and not (isinstance(threshold, int | float) and 0 < threshold < 1):
            raise OochubError(f"threshold must be a probability between 0 and 1, got {threshold!r}. Start with 0.5.")
        used = read_templates(templates, what="templates")
        if neutral is None and (threshold is not None or len(self._names) == 1):
            neutral = _NEUTRAL
        beside = () if neutral is None else read_templates(neutral, what="neutral")
        if named := [text for text in beside if "{}" in text]:
            raise OochubError(
                f"Neutral texts must not name a thing, got {named[0]!r}. Pass one without {{}}: {_NEUTRAL!r}."
            )
        self._threshold = threshold
        self._texts = [*write_prompts(self._names, used), *([beside] if beside else [])]
        super().__init__(model, image_processor=image_processor, device=device)
        try:
            choose_auto_model(self._source, (DualEncoder.auto_model,), mode="zero_shot")
        except OochubError as error:
            raise OochubError(
                f"zero_shot needs a model of images and texts, but {self._source.about('zero_shot').id} is a "
                f"{self._source.architecture or 'model that does not say what it is'}. Use a CLIP, SigLIP, ALIGN, "
                "AltCLIP, BLIP or Chinese-CLIP model."
            ) from error
        self._reader = DualEncoder.text_encoder(self._source, self._inputs, make_image_rows([]), tokenizer=tokenizer)
        self._reader.tokens([text for own in self._texts for text in own])
        self._encoder: DualEncoder | None = None

    def measures(self, prepared: Sequence[object]) -> pa.Table:
        """See `ContextWay.measures`."""
        return self._measure_vectors(prepared, "embedding")

    def name(
        self, measures: pa.Table, *, label: NDArray[np.int64], classes: Sequence[str], chosen_on: NDArray[np.bool_]
    ) -> NamedContexts:
        """See `ContextWay.name`; nothing is chosen on rows."""
        _ = self._ready  # nothing has opened the encoder if all measures were in the cache
        encoder = self._encoder
        assert encoder is not None  # noqa: S101
        column = join_chunks(measures.column("embedding"))
        embedding = column.flatten().to_numpy().reshape(len(column), -1)
        similarity = embedding @ self._reader.ensembles(encoder.model, self._texts).cpu().numpy().T
        k = len(self._names)
        own = similarity[:, :k]
        if self._threshold is None:
            has = similarity.argmax(1)[:, None] == np.arange(k)
            words = [f"{name}, the most similar of the names" for name in self._names]
        else:
            # sigmoid(scale * difference) > threshold
            least = np.log(self._threshold / (1 - self._threshold)) / encoder.scale.item()
            has = own - similarity[:, k:] > least
            words = [f"{name}, above {self._threshold:g} against a text that names nothing" for name in self._names]
        return NamedContexts(
            names=self._names,
            words=tuple(words),
            has=has,
            settings={"texts": [list(own) for own in self._texts], "threshold": self._threshold},
            columns={
                "context_similarity": (
                    datasets.List(datasets.Value("float32"), length=k),
                    pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(own).ravel()), k),
                )
            },
        )

    def _open(self, inputs: "Input", device: "torch.device") -> "ImageModel[torch.Tensor]":
        from oochub.models.dual_encoder import DualEncoder

        self._encoder = DualEncoder.open(self._source, inputs, self._reader, device=device)
        answer = partial(self._encoder.embed_pictures, self._encoder.model)
        return ImageModel(inputs, self._encoder.model, answer, device, most=self.batch_size, numbers=answer)


def _check_names(names: Sequence[str] | str) -> tuple[str, ...]:
    """The names; a text has commas between them."""
    given = [name.strip() for name in (names.split(",") if isinstance(names, str) else names)]
    if not given or "" in given:
        how = choose_wording('names=["grass", "beach", "road"]', "--names grass,beach,road")
        raise OochubError(
            f"zero_shot needs at least one name, and none may be empty, got {names!r}. For example {how}."
        )
    for number, name in enumerate(given):
        if twice := [other for other in given[:number] if list_class_words(other) & list_class_words(name)]:
            raise OochubError(
                f"The names of contexts contain {twice[0]!r} and {name!r}, which are the same. Remove one."
            )
    return tuple(given)
