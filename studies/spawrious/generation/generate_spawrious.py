"""Makes Spawrious: images of dogs from a text, of which those are kept in whose caption there is a dog."""

import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from oochub.errors import OochubError, check_installed
from oochub.process.ranks import Ranks
from oochub.records.origin_records import provenance
from oochub.remote.check_source import check_source
from oochub.remote.remote_repository import fetch_model_folder
from oochub.storage.files import check_writable, lock_target, write_whole
from oochub.storage.parquet_file import write_parquet
from oochub.studies.file_kinds import GENERATION
from oochub.studies.spawrious.generation.contact_sheet import contact_sheet
from oochub.studies.spawrious.generation.dog_prompts import BACKGROUNDS, BREEDS
from oochub.studies.spawrious.generation.generation_job import make_images, missing_images
from oochub.studies.spawrious.generation.generation_plan import GenerationPlan, Job
from oochub.studies.spawrious.generation.generation_record import (
    GenerationRecord,
    accepted_shares,
    check_same,
    read_record,
    stated,
    used_model,
)
from oochub.studies.spawrious.generation.tried_image import read_part

if TYPE_CHECKING:
    from oochub.models.captioner import Captioner
    from oochub.studies.spawrious.generation.picture_maker import PictureMaker

_LARGEST = 224 * 224 * 3  # bytes of a PNG
_SHEET, _MANIFEST = "contact_sheet.png", "manifest.parquet"


def generate_spawrious(
    folder: Path | str,
    plan: GenerationPlan,
    *,
    device: str = "auto",
    bar: Callable[[Sequence[Job]], Iterable[Job]] | None = None,
) -> GenerationRecord:
    """Fills the folders that the builder of `spawrious` reads, 224 pixels per side, and keeps what became of each try.

    A run that was stopped goes on where it was; images that are there stay as they are. Under torchrun each process
    makes its share, and all write into one folder. Beside `spawrious224` stand `tries/`, a list for each prompt in each
    folder, and at the end `manifest.parquet` with all of them, `contact_sheet.png`, and the counts in
    `generation.json`.

    Args:
        folder: New, or of an earlier run with the same models, form, seed, steps, dtype and number of prompts.
        plan: The plan of what to make.
        device: See `choose_device`.
        bar: Is given the jobs that are left, to show how many are done.

    Returns:
        The record, with the share of fit images; without it in later processes of torchrun.

    Raises:
        OochubError: What stands in the folder is of something else or of other settings; diffusers or a model is
            missing; the disk has too little room; a prompt has too few fit images.

    Source: Lynch et al., Spawrious, Section 4.1 and Appendix E.
    """
    from oochub.models.acceleration import choose_device

    folder = check_writable(Path(folder), kind=GENERATION)
    before, ranks = read_record(folder), Ranks.here()
    if before is not None:
        check_same(before, plan, folder)
    left = jobs_left(folder, plan)
    if before is not None and before.shares and not left:
        return before
    place = choose_device(device)
    ranks.join(place.type)
    ranks.values(None)  # all have listed what is left
    lock: AbstractContextManager[None] = lock_target(folder, kind=GENERATION) if ranks.is_first else nullcontext()
    with lock:
        record = before
        if left or record is None:
            _check_room(folder, plan, left)
            maker, captioner = _open_models(plan, str(place))
            record = _begin_record(folder, plan, before, maker, captioner)
            if ranks.is_first:
                record.save(folder)
            ranks.values(None)  # the folder says what it is before anything else is in it
            mine = _share(left, ranks)
            for job in bar(mine) if bar is not None and ranks.is_first else mine:
                make_images(folder, plan, job, maker, captioner)
        ranks.values(None)
        return _finish_record(folder, record) if ranks.is_first else record


def jobs_left(folder: Path, plan: GenerationPlan) -> list[Job]:
    """The jobs of a plan that lack images.

    Raises:
        OochubError: A list that is damaged.
    """
    return [job for job in plan.jobs() if missing_images(folder, plan, job)]


def _check_room(folder: Path, plan: GenerationPlan, left: Sequence[Job]) -> None:
    place = next(parent for parent in (folder, *folder.absolute().parents) if parent.is_dir())
    wanted, free = len(left) * plan.images_per_prompt * _LARGEST, shutil.disk_usage(place).free
    if wanted > free:
        raise OochubError(
            f"The images take up to {wanted / 1e6:,.1f} MB, but {place} has {free / 1e6:,.1f} MB left. Free disk "
            "space, choose another output folder, or ask for fewer."
        )


def _open_models(plan: GenerationPlan, device: str) -> "tuple[PictureMaker, Captioner]":
    check_installed("diffusers", "images", "Making images")
    for source in (plan.model, plan.captioner):
        check_source(source, kind="model", hint="Pass a folder, or an id of the Hub.")
    from oochub.models.captioner import Captioner
    from oochub.studies.spawrious.generation.picture_maker import PictureMaker

    captioner = Captioner(plan.captioner, device=device)
    maker = PictureMaker(plan.model, device=device, dtype=plan.dtype, unchecked=plan.unchecked)
    maker.check_takes(plan.negative_prompt)
    return maker, captioner


def _begin_record(
    folder: Path, plan: GenerationPlan, before: GenerationRecord | None, maker: "PictureMaker", captioner: "Captioner"
) -> GenerationRecord:
    """The record of a run that is not finished.

    Raises:
        OochubError: A model has other weights than that of the earlier run.
    """
    record = GenerationRecord(
        plan=stated(plan),
        model=used_model(plan.model, maker.revision, maker.readme),
        captioner=used_model(plan.captioner, captioner.revision, Path(fetch_model_folder(plan.captioner), "README.md")),
        safety_checker=maker.has_checker,
        shares=(),
        provenance=provenance(diffusers=version("diffusers")),
    )
    if before is not None:
        for old, new in ((before.model, record.model), (before.captioner, record.captioner)):
            if old.revision != new.revision:
                raise OochubError(
                    f"{folder} was started with revision {old.revision} of {old.name}, but its revision is now "
                    f"{new.revision}. Choose another output folder, or get the earlier weights."
                )
    return record


def _share(left: list[Job], ranks: Ranks) -> list[Job]:
    if ranks.is_alone:
        return left
    from accelerate import PartialState

    with PartialState().split_between_processes(left) as mine:
        return list(mine)


def _finish_record(folder: Path, record: GenerationRecord) -> GenerationRecord:
    """Writes what is known of all images: the table, the sheet, and last the counts."""
    whole = replace(record.plan, repeats=(0, 1), backgrounds=tuple(BACKGROUNDS), breeds=tuple(BREEDS))
    tried = [image for job in whole.jobs() for image in read_part(folder, job)]
    models = {"model": record.model, "captioner": record.captioner}
    names = {f"{role}_revision": model.revision for role, model in models.items()}
    rows = [asdict(image) | {role: model.name for role, model in models.items()} | names for image in tried]
    write_parquet(pa.Table.from_pylist(rows), folder / _MANIFEST)
    with write_whole(folder / _SHEET) as draft:
        by_attempt = sorted(tried, key=lambda each: (each.attempt, each.prompt_number))  # a sheet shows several prompts
        contact_sheet(folder, by_attempt).save(draft, "PNG")
    finished = replace(record, shares=accepted_shares(tried))
    finished.save(folder)
    return finished
