"""The command `oochub spawrious cleanliness`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oochub.commands._options import AsJson, check_device, out_console, print_result, shown, writes
from oochub.errors import OochubError
from oochub.settings.data_settings import DataSettings
from oochub.settings.prediction_settings import PredictionSettings
from oochub.studies.file_kinds import CLEANLINESS

if TYPE_CHECKING:
    from oochub.reviewing.rater_scores import RaterScores
    from oochub.studies.spawrious.cleanliness.description_match import DescriptionMatch


def cleanliness(
    raw: Annotated[DataSettings, shown(only=("data_dir", "options"))],
    asked: Annotated[PredictionSettings, shown(only=("limit", "device"))],
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE|FOLDER",
            help="Spawrious data, such as spawrious/o2o_hard; with ANSWERS, the folder written with --out.",
        ),
    ],
    answers: Annotated[
        list[Path] | None, typer.Argument(metavar="ANSWERS...", help="Files saved by the pages, one per rater.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(callback=writes(CLEANLINESS), help="Output folder for the pages, one per rater.")
    ] = None,
    raters: Annotated[int, typer.Option(help="Number of raters.", min=1)] = 10,
    images: Annotated[int, typer.Option(help="Number of images that each rater sees.", min=1)] = 48,
    shared: Annotated[int, typer.Option(help="Number of images that all raters see, to compare raters.", min=0)] = 0,
    seed: Annotated[int, typer.Option(help="Random seed for the sample.", min=0)] = 0,
    model: Annotated[
        str | None,
        typer.Option(
            help=(
                "Let a CLIP-like model (a folder or Hub id) judge instead of people whether the "
                "intended description fits best."
            )
        ),
    ] = None,
    template: Annotated[
        list[str] | None,
        typer.Option(help="With --model: prompt template with {} for the description. Can be repeated."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check whether Spawrious images show the intended breed and background, with human raters or CLIP."""
    check_device(asked.device)
    if bool(answers) + (out is not None) + (model is not None) != 1:
        raise OochubError(
            "Pass one of three: --out FOLDER to write the pages; that folder and the files that its pages saved; "
            "--model CLIP to score by a model."
        )
    if model is None and (template or asked.limit is not None):
        raise OochubError("--template and --limit are for --model. Remove them, or name a CLIP-like model.")
    if answers:
        _score(Path(source).expanduser(), answers, as_json)
    if model is not None:
        _match(source, model, template, asked, raw, as_json)
    if out is not None:
        size = {"raters": raters, "images": images, "shared": shared, "seed": seed}
        _write(source, out, size, raw, as_json)


def _write(source: str, out: Path, size: dict[str, int], raw: DataSettings, as_json: bool) -> None:
    from oochub.data.load import load
    from oochub.studies.spawrious.cleanliness.cleanliness_pages import cleanliness_pages
    from oochub.studies.spawrious.cleanliness.cleanliness_sample import cleanliness_sample

    data = load(source, data_dir=raw.data_dir, options=raw.options or {})
    sample = cleanliness_sample(data, **size)
    cleanliness_pages(out, sample, data)
    if not as_json:
        different = len({image.example_id for image in sample})
        out_console.print(f"{different:,} images on {size['raters']:,} pages. Send each rater one, then: ", end="")
        out_console.print(f"oochub spawrious cleanliness {out} rater_*.csv")
    print_result({"pages": str(out)}, as_json)


def _score(folder: Path, answers: list[Path], as_json: bool) -> None:
    from oochub.reviewing.decisions import read_decisions
    from oochub.reviewing.rater_scores import score_raters
    from oochub.studies.spawrious.cleanliness.cleanliness_pages import ALLOWED
    from oochub.studies.spawrious.cleanliness.cleanliness_sample import read_sample

    sample = read_sample(folder)
    files = {_name(path, answers): read_decisions(path, allowed=ALLOWED) for path in answers}
    pages = [
        [image.example_id for image in sample if image.page == page] for page in {member.page for member in sample}
    ]
    scores = score_raters(files, pages)
    if as_json:
        out_console.print_json(data=_list_fields(scores))
        return
    _show(scores, {image.example_id: image.description for image in sample})


def _match(
    source: str,
    model: str,
    templates: list[str] | None,
    asked: PredictionSettings,
    raw: DataSettings,
    as_json: bool,
) -> None:
    from oochub.commands._options import without_weight_bars
    from oochub.data.load import load
    from oochub.studies.spawrious.cleanliness.description_match import description_match

    without_weight_bars()
    data = load(source, data_dir=raw.data_dir, options=raw.options or {})
    options = {"templates": templates} if templates else {}
    match = description_match(model, data, limit=asked.limit, device=asked.device, **options)
    shares = {"both": match.both, "breed": match.breed, "background": match.background}
    if as_json:
        fields = {name: share.to_dict() for name, share in shares.items()}
        groups = {name: share.to_dict() for name, share in match.groups.items()}
        out_console.print_json(data=fields | {"groups": groups, "texts": match.texts})
        return
    for name, share in shares.items():
        out_console.print(f"{_SHARES[name]}: {_format_percent(share, 'images')}")
    _show_groups(match)


def _show_groups(match: "DescriptionMatch") -> None:
    from rich.table import Table

    breeds, backgrounds = (list(dict.fromkeys(name.split("/")[part] for name in match.groups)) for part in (0, 1))
    table = Table("best for", *backgrounds)
    for breed in breeds:
        shares = [match.groups[f"{breed}/{background}"] for background in backgrounds]
        table.add_row(breed, *("–" if share.n == 0 else f"{100 * share:.1f}% of {share.n:,}" for share in shares))
    out_console.print(table)


_SHARES = {
    "both": "The intended description is the best of all",
    "breed": "The best one names the breed",
    "background": "The best one names the background",
}


def _name(path: Path, paths: list[Path]) -> str:
    """The stem of a file, or all of its path where two have the same."""
    return path.stem if sum(other.stem == path.stem for other in paths) == 1 else str(path)


def _list_fields(scores: "RaterScores") -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "raters": [asdict(rater) for rater in scores.raters],
        "mean": scores.mean.to_dict(),
        "images": scores.images.to_dict(),
        "asked": scores.asked,
        "unanswered": scores.unanswered,
        "wrong": list(scores.wrong),
        "same": scores.same,
        "pairs": scores.pairs,
    }


def _show(scores: "RaterScores", descriptions: dict[str, str]) -> None:
    from rich.table import Table

    from oochub.report import format_numbers, wording

    table = Table("rater", "right", "answered", "of", "share")
    for rater in scores.raters:
        share = f"{100 * rater.right / rater.answered:.1f}%" if rater.answered else "–"
        table.add_row(wording.name(rater.name), *map(str, (rater.right, rater.answered, rater.asked)), share)
    out_console.print(table)
    out_console.print(f"Mean of the raters: {_format_percent(scores.mean, 'answers')}")
    out_console.print(f"All images: {_format_percent(scores.images, 'images')}")
    if scores.unanswered:
        out_console.print(
            f"{format_numbers.count(scores.unanswered)} of {format_numbers.count(scores.asked)} images have no answer."
        )
    if scores.pairs:
        out_console.print(
            f"Where two raters saw the same image, they agree {scores.same:,} of {scores.pairs:,} times "
            f"({100 * scores.same / scores.pairs:.1f}%)."
        )
    for image in scores.wrong:
        out_console.print(f"not {descriptions[image]}: {wording.name(image)}")


def _format_percent(estimate: Any, unit: str) -> str:
    if estimate != estimate:
        return f"none, {estimate.reason}"
    middle = f"{100 * estimate:.2f}%"
    if estimate.low != estimate.low:
        return f"{middle} ({estimate.reason})"
    return (
        f"{middle} [{100 * estimate.low:.2f} to {100 * estimate.high:.2f}], {estimate.method}, {estimate.n:,} answers"
    )
