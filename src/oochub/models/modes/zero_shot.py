"""Zero-shot: an image-text model scores each class by the similarity between the image and texts about the class."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import torch

from oochub import catalog
from oochub.errors import OochubError, choose_wording
from oochub.input import Input
from oochub.models.dual_encoder import (
    TEMPLATE_SETS,
    DualEncoder,
    Given,
    Templates,
    read_prompts,
    read_templates,
    write_prompts,
)
from oochub.models.encoder import Encoder, ProbedEncoder
from oochub.models.mode import Mode, PredictedData, find_declared
from oochub.models.model_source import ModelSource
from oochub.models.supported_models import choose_auto_model
from oochub.output import Output, check_fixed_classes, find_output_of_features, get_output
from oochub.records.build_record import BuildFacts, BuildRecord, presence_class

_NEGATIVES = ("a photo.", "a photo of a scene.", "a photo of something else.")
_LISTED = 5
_SHOWN = 100  # texts that predictions keep; of more, their digest


class ZeroShotMode(Mode):
    """Scaled cosines of image and text embeddings, as CLIP, SigLIP and their like answer.

    The texts of a class are a template each; their unit embeddings are averaged and made unit again (Radford et al.
    2021, arXiv 2103.00020, section 3.1.4). The logits are a linear layer on the unit embedding of the image, whose
    weights are the text embeddings times the model's scale, so that embeddings are the features and every detector
    runs. Equal to the model's own `logits_per_image` for one text per class.

    A class that says that a thing is absent ("no_car") has texts that do not name it, `negatives`. Text encoders read
    "without a car" much as "a car", so the default names nothing. What such texts are like moves the threshold between
    the two classes: read the ranking (AUC), not the accuracy. If a row has several labels, the logit of each is the
    difference between its texts and these.

    Args:
        source: The model, one of `AutoModelForZeroShotImageClassification`.
        inputs: How the images are read.
        data: Classes, or several labels per row.
        templates: A name ("photo", "imagenet_7") or texts with {} for the class; None takes the benchmark's own.
        prompts: Texts of each class, which win: a mapping, or a JSON file of one.
        negatives: Texts of an absent thing, {} stands for its name.
        tokenizer: Tokenizer to use instead of the one beside the model or in `processor`; a model object has none
            beside it.

    Raises:
        OochubError: A model of another kind, a data set without names of classes, texts that do not fit.
    """

    auto_models: ClassVar[tuple[str, ...]] = (DualEncoder.auto_model,)
    rank: ClassVar[int] = 1

    def __init__(
        self,
        source: ModelSource,
        inputs: Input,
        data: PredictedData,
        *,
        templates: Templates | None = None,
        prompts: Given | str | Path | None = None,
        negatives: Sequence[str] | str = _NEGATIVES,
        tokenizer: Any = None,
    ) -> None:
        choose_auto_model(source, self.auto_models, mode="zero_shot")
        record = BuildRecord.of(data.part.info)
        declared = find_declared(record)
        usual = None if declared is None else declared.templates
        used = (usual or TEMPLATE_SETS["photo"]) if templates is None else read_templates(templates, what="templates")
        absent = read_templates(negatives, what="negatives")
        given = None if prompts is None else read_prompts(prompts)
        self.kind, self.class_names = _find_classes(data.part, given)
        thing = presence_class(self.class_names, record.facts if record else BuildFacts())
        if given is not None or thing is None:
            texts = write_prompts(self.class_names, used, given=given)
        else:
            texts = [write_prompts([thing.name], template)[0] for template in (absent, used)]
            texts = texts if thing.present else texts[::-1]
        is_published = record is not None and record.benchmark in catalog.names("benchmark") and given is None
        alike = _describe_alike(self.class_names, texts)
        if alike and not is_published:
            raise OochubError(
                f"{alike}. Give these classes texts of their own: "
                f"{choose_wording('prompts={name: [text, ...]}', '--mode-option prompts=FILE')}."
            )
        against = write_prompts(self.class_names, absent) if self.kind.name == "labels" else []
        reader = DualEncoder.text_encoder(source, inputs, data.part, tokenizer=tokenizer)
        reader.tokens(texts[0])  # one that is too long is said before weights are read
        encoder = DualEncoder.open(source, inputs, reader, device=data.device)
        weight, bias = reader.ensembles(encoder.model, texts), encoder.bias
        if against:
            weight, bias = weight - reader.ensembles(encoder.model, against), torch.zeros_like(bias)
        reads = Encoder(encoder.model, DualEncoder.embed_pictures, "image embeddings", way="embedding")
        self.network = ProbedEncoder(reads, encoder.scale * weight, bias.expand(len(weight)).clone()).eval()
        unexpected = encoder.unexpected
        self.about, self.training = source.about("zero_shot"), source.training
        self.details = _summarize_texts(texts, against) | (
            {"unexpected_weights": list(unexpected)} if unexpected else {}
        )
        self.notes = (alike,) if alike else ()
        if (thing is not None and given is None) or against:
            self.notes += (
                f"absence of a thing is judged by texts that do not name it ({'; '.join(absent)}), which set the "
                "threshold, so read the ranking (AUC) rather than the accuracy",
            )


def _find_classes(part: Any, given: Given | None) -> tuple[Output, tuple[str, ...]]:
    """The kind of output and the names of the classes or labels."""
    features = part.features or {}
    kind = get_output(find_output_of_features(features) or "classes")
    check_fixed_classes(kind)
    if kind.problem_type == "regression":
        raise OochubError("Texts stand for classes, but the label of this dataset is a number. Use a regression model.")
    names = kind.class_names(part) if kind.label_column in features else list(given or ())
    if not names:
        named = choose_wording(
            "Cast its label to datasets.ClassLabel(names=...), or give texts: prompts=.",
            "Name a column of text by --label-column, or give texts: --mode-option prompts=FILE.",
        )
        raise OochubError(f"The dataset has no class names to build prompts from. {named}")
    return kind, tuple(names)


def _describe_alike(names: Sequence[str], texts: Sequence[Sequence[str]]) -> str:
    """Which classes have the same texts, in words; "" if none have."""
    by_texts: dict[tuple[str, ...], list[str]] = {}
    for name, own in zip(names, texts, strict=True):
        by_texts.setdefault(tuple(sorted(own)), []).append(name)
    alike = [" and ".join(map(repr, same)) for same in by_texts.values() if len(same) > 1]
    if not alike:
        return ""
    shown = "; ".join(alike[:_LISTED]) + (f" and {len(alike) - _LISTED} more" if len(alike) > _LISTED else "")
    return f"Classes with the same texts have the same logits, so only the first of them is ever answered: {shown}"


def _summarize_texts(texts: Sequence[Sequence[str]], against: Sequence[Sequence[str]]) -> dict[str, Any]:
    """The texts, or their digest where there are many."""
    every = [list(own) for own in (*texts, *against)]
    if sum(map(len, every)) <= _SHOWN:
        return {"prompts": every}
    digest = hashlib.sha256(json.dumps(every).encode()).hexdigest()
    return {"prompts": every[:1], "prompts_sha256": digest}
