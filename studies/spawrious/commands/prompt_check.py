"""The command `oochub spawrious prompt_check`."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from oochub.commands._options import AsJson, check_device, out_console, print_result, shown, without_weight_bars, writes
from oochub.errors import OochubError
from oochub.settings.prediction_settings import PredictionSettings
from oochub.studies.file_kinds import PROMPT_CHECK
from oochub.studies.spawrious.generation.generation_settings import GenerationSettings

if TYPE_CHECKING:
    from oochub.studies.spawrious.cleanliness.prompt_verdict import PromptVerdict

_REJECTED = 3  # an exit code of its own: 2 is for what the user can fix


def prompt_check(
    made: GenerationSettings,
    asked: Annotated[PredictionSettings, shown(only=("device", "dtype"))],
    folder: Annotated[
        Path | None, typer.Argument(metavar="FOLDER", help="With ANSWERS: the folder written with --out.")
    ] = None,
    answers: Annotated[Path | None, typer.Argument(metavar="ANSWERS", help="File saved by the page.")] = None,
    out: Annotated[
        Path | None, typer.Option(callback=writes(PROMPT_CHECK), help="Folder for the images and their page.")
    ] = None,
    breed: Annotated[str, typer.Option(help="Breed, one of the four.")] = "labrador",
    background: Annotated[str, typer.Option(help="Background, one of the six.")] = "desert",
    number: Annotated[int, typer.Option(help="Number of the prompt, among the 72.", min=0, max=71)] = 0,
    images: Annotated[int, typer.Option(help="Number of images.", min=1)] = 100,
    as_json: AsJson = False,
) -> None:
    """Generate 100 images of a prompt for a person to judge. Exit code 3 if the prompt is rejected."""
    check_device(asked.device)
    if folder is not None and answers is not None and out is None:
        _judge(folder.expanduser(), answers, as_json)
        return
    if folder is not None or out is None:
        raise OochubError(
            "Pass one of two: --out FOLDER to make the images; or that folder and the file that its page saved."
        )
    from oochub.models.acceleration import choose_device
    from oochub.models.captioner import Captioner
    from oochub.process.follow import follow
    from oochub.studies.spawrious.cleanliness.prompt_check import checked_job
    from oochub.studies.spawrious.cleanliness.prompt_check import prompt_check as check
    from oochub.studies.spawrious.generation.generation_plan import GenerationPlan
    from oochub.studies.spawrious.generation.picture_maker import PictureMaker

    plan = GenerationPlan(
        **made.of_plan,
        dtype=asked.dtype,
        repeats=(0,),
        backgrounds=(background,),
        breeds=(breed,),
    )
    checked_job(plan, number, images)
    without_weight_bars()
    place = choose_device(asked.device)
    maker = PictureMaker(plan.model, device=place, dtype=asked.dtype, unchecked=made.unchecked)
    captioner = Captioner(made.captioner, device=place)
    bar = partial(follow, desc="images", unit="batch", disable=None)
    job = check(out, plan, number, maker, captioner, images=images, bar=bar)
    if not as_json:
        out_console.print(job.prompt, markup=False)
        out_console.print(
            f"Open {out / 'prompt.html'}, then: oochub spawrious prompt_check {out} prompt.csv", markup=False
        )
    print_result({"folder": str(out)}, as_json)


def _judge(folder: Path, answers: Path, as_json: bool) -> None:
    from dataclasses import asdict

    from oochub.reviewing.decisions import read_decisions
    from oochub.studies.spawrious.cleanliness.prompt_check import LIST, QUESTION
    from oochub.studies.spawrious.cleanliness.prompt_verdict import prompt_verdict
    from oochub.studies.spawrious.generation.tried_image import read_tried

    if not (folder / LIST).is_file():
        raise OochubError(
            f"There is no {LIST} in {folder}. Pass the folder that `oochub spawrious prompt_check --out` wrote."
        )
    decisions = read_decisions(answers, allowed=QUESTION.allowed)
    verdict = prompt_verdict(read_tried(folder / LIST), decisions)
    if as_json:
        out_console.print_json(data=asdict(verdict) | {"outcome": verdict.outcome})
    else:
        _show(verdict)
    if verdict.outcome == "rejected":
        raise typer.Exit(_REJECTED)


def _show(verdict: "PromptVerdict") -> None:
    words = {"accepted": "accepted", "rejected": "rejected", "open": "not decided"}
    out_console.print(f"The prompt is {words[verdict.outcome]}.")
    out_console.print(f"{verdict.fit} of {verdict.asked} images fit; {verdict.wanted} must.")
    for files, sentence in (
        (verdict.with_dog, "unfit by more than the absence of a dog"),
        (verdict.missed, "without a dog, and the captioner lets them pass"),
        (verdict.lost, "fit, and the captioner drops them, which the rule allows"),
        (verdict.unanswered, "without an answer"),
    ):
        if files:
            shown = ", ".join(files[:6]) + (" ..." if len(files) > 6 else "")
            out_console.print(f"{len(files)} {sentence}: {shown}", markup=False)
