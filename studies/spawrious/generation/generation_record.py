"""The record beside generated images: what was asked for, which models made them, and how many were fit."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from oochub.errors import OochubError
from oochub.records.schema import check_version, from_json, to_json
from oochub.records.typed_values import Count
from oochub.remote.check_source import split_revision
from oochub.stats.estimate import Estimate
from oochub.stats.proportion import wilson
from oochub.storage.files import write_whole
from oochub.storage.reading import read_json
from oochub.studies.spawrious.generation.dog_prompts import BACKGROUNDS, BREEDS
from oochub.studies.spawrious.generation.generation_plan import GenerationPlan
from oochub.studies.spawrious.generation.tried_image import FLAGGED, TriedImage

NAME = "generation.json"
_VERSION = 1
_SAME = ("model", "captioner", "form", "seed", "steps", "prompts", "dtype")  # of a plan, for the same images
_LICENSES = {  # of the model cards of the defaults
    "CompVis/stable-diffusion-v1-4": "creativeml-openrail-m",
    "nlpconnect/vit-gpt2-image-captioning": "apache-2.0",
}


@dataclass(frozen=True, kw_only=True)
class UsedModel:
    """A model that took part.

    Attributes:
        name: Its Hub id, or the name of its folder.
        revision: The commit of the Hub, or a digest of its weights; None where it is not known.
        license: License that its model card names; None if it names none.
    """

    name: str
    revision: str | None
    license: str | None


@dataclass(frozen=True, kw_only=True)
class AcceptedShare:
    """How many of the images that were made are fit.

    Attributes:
        breed: Name of a breed; "" for all.
        background: Name of a background; "" for all.
        tried: Images that were made.
        accepted: Images among these that are fit.
        flagged: Images among these that the safety checker flagged.
        estimate: The share of fit ones, with Wilson's interval.
    """

    breed: str
    background: str
    tried: Count
    accepted: Count
    flagged: Count
    estimate: Estimate


@dataclass(frozen=True, kw_only=True)
class GenerationRecord:
    """What stands in generation.json.

    Attributes:
        plan: What was asked for last; a model in a folder by the folder's name.
        model: The text-to-image pipeline.
        captioner: What judged its images.
        safety_checker: Whether the pipeline has one.
        shares: One each for all images, each breed, each background, and each breed on each background; empty before
            the end.
        provenance: Versions, when and where.
        schema_version: Version of the record's schema.
    """

    plan: GenerationPlan
    model: UsedModel
    captioner: UsedModel
    safety_checker: bool
    shares: tuple[AcceptedShare, ...]
    provenance: Mapping[str, Any]
    schema_version: int = _VERSION

    def save(self, folder: Path) -> None:
        """Writes it into the folder of the images, whole or as before."""
        with write_whole(folder / NAME) as draft:
            draft.write_text(json.dumps(to_json(self), indent=1) + "\n", "utf-8")


def read_record(folder: Path) -> GenerationRecord | None:
    """The record of a folder of generated images; None where there is none yet.

    Raises:
        OochubError: A damaged record, or one of a newer version.
    """
    file = folder / NAME
    if not file.is_file():
        return None
    content = read_json(file)
    check_version(content, _VERSION, what=str(file))
    return from_json(GenerationRecord, content, what=str(file))


def stated(plan: GenerationPlan) -> GenerationPlan:
    """The plan as a record has it: an absolute path by its last part."""
    return replace(plan, model=_name(plan.model), captioner=_name(plan.captioner))


def used_model(source: str, revision: str | None, readme: Path) -> UsedModel:
    """What the record says of a model.

    Args:
        source: A folder or Hub id.
        revision: Revision of its weights.
        readme: Its model card, which need not be there.
    """
    license_text = _read_license(readme) if readme.is_file() else None
    source, _ = split_revision(source)
    return UsedModel(name=_name(source), revision=revision, license=license_text or _LICENSES.get(source))


def check_same(before: GenerationRecord, plan: GenerationPlan, folder: Path) -> None:
    """Checks that a plan makes images that belong to those of a folder; it may ask for more of them.

    Raises:
        OochubError: A setting differs.
    """
    now = stated(plan)
    for name in _SAME:
        old, new = getattr(before.plan, name), getattr(now, name)
        if old != new:
            raise OochubError(
                f"{folder} has images of {name.replace('_', ' ')} {old!r}, but {new!r} is requested now. Choose "
                "another output folder, or the same settings, which continue that run."
            )


def accepted_shares(tried: Iterable[TriedImage]) -> tuple[AcceptedShare, ...]:
    """The share of fit images: of all, of each breed, each background, and each breed on each background."""
    rows = list(tried)
    cells = [(breed, background) for breed in ("", *BREEDS) for background in ("", *BACKGROUNDS)]
    shares = []
    for breed, background in cells:
        here = [row for row in rows if breed in ("", row.breed) and background in ("", row.background)]
        accepted = sum(row.accepted for row in here)
        if here:
            shares.append(
                AcceptedShare(
                    breed=breed,
                    background=background,
                    tried=len(here),
                    accepted=accepted,
                    flagged=sum(row.reason == FLAGGED for row in here),
                    estimate=wilson(accepted, len(here)),
                )
            )
    return tuple(shares)


def _read_license(readme: Path) -> str | None:
    import yaml
    from huggingface_hub import ModelCard

    try:
        license_name = ModelCard.load(readme).data.license
    except (ValueError, yaml.YAMLError):  # metadata that cannot be read
        return None
    return license_name if isinstance(license_name, str) else None


def _name(source: str) -> str:
    return Path(source).name if Path(source).expanduser().is_absolute() else source
