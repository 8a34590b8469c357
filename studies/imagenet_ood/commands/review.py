"""The command `oochub imagenet_ood review`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oochub.commands._options import MORE, AsJson, out_console, print_result, shown, writes
from oochub.errors import OochubError
from oochub.settings.data_settings import DataSettings
from oochub.storage.artifacts import CSV, LIST, PAGE

if TYPE_CHECKING:
    from oochub.prediction.predictions import Predictions


def review(
    raw: Annotated[DataSettings, shown(only=("data_dir", "options"), options="Option of the OOD data.")],
    ood: Annotated[
        Path,
        typer.Argument(
            metavar="OOD.parquet", help="Predictions for the OOD images; for the nearest ones with features."
        ),
    ],
    reference: Annotated[
        Path | None,
        typer.Argument(metavar="ID.parquet", help="Predictions for the ID validation images, by the same model."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(callback=writes(PAGE), help="Write the page of pairs to this HTML file.")
    ] = None,
    decisions: Annotated[
        Path | None,
        typer.Option(
            callback=writes(CSV), help="CSV file of all decisions: the page starts with them, and --apply adds to them."
        ),
    ] = None,
    apply: Annotated[
        list[Path] | None,
        typer.Option(help="A decisions.csv saved by the page. Can be repeated; the latest decision wins."),
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option(
            callback=writes(LIST),
            help="Write the list of kept images to this file, one per line: a file_list of imagenet_ood.",
        ),
    ] = None,
    top: Annotated[int, typer.Option(help="Number of nearest OOD images, or of pairs of classes.", min=1)] = 1000,
    class_images: Annotated[
        int | None,
        typer.Option(
            rich_help_panel=MORE,
            help="Review pairs of classes that share a parent in WordNet, by this number of images each; ImageNet-OOD "
            "took 50.",
            min=1,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Review the OOD images nearest to ID images by hand, then apply the decisions."""
    from oochub.prediction.predictions import Predictions
    from oochub.reviewing.decisions import check_known, merge_decisions, read_decisions, write_decisions
    from oochub.storage.files import write_whole
    from oochub.studies.imagenet_ood.keep_list import WHERE, keep_list, known_ids
    from oochub.studies.imagenet_ood.review import QUESTION

    if out is not None and reference is None:
        raise OochubError("The page needs both: oochub imagenet_ood review OOD.parquet ID.parquet --out review.html.")
    if out is None and keep is None and not (apply and decisions):
        raise OochubError(
            "Nothing to write: pass --out PAGE.html to review, or --apply decisions.csv with --keep LIST.txt or "
            "--decisions FILE.csv to apply what was decided."
        )
    before = [decisions] if decisions is not None and decisions.expanduser().exists() else []
    decided = merge_decisions(read_decisions(path, allowed=QUESTION.allowed) for path in [*before, *(apply or [])])
    predictions = Predictions.load(ood)
    check_known(decided, known_ids(predictions), WHERE)
    written = {}
    if out is not None and reference is not None:
        page = _write_page(predictions, Predictions.load(reference), decided, top, class_images, raw)
        with write_whole(out, kind=PAGE) as draft:
            draft.write_text(page, "utf-8")
        written["page"] = str(out)
    if apply and decisions is not None:
        write_decisions(decisions, decided)
        written["decisions"] = str(decisions)
    if keep is not None:
        names = keep_list(predictions, decided)
        with write_whole(keep, kind=LIST) as draft:
            draft.write_text("".join(f"{name}\n" for name in names), "utf-8")
        written["keep"] = str(keep)
        if not as_json:
            out_console.print(f"{len(names):,} of {len(predictions):,} images stay.")
    print_result(written, as_json)


def _write_page(
    ood: "Predictions", reference: "Predictions", decided: Any, top: int, class_images: int | None, raw: DataSettings
) -> str:
    from oochub.data.load import load
    from oochub.studies.imagenet_ood.review import class_pairs_page, list_class_pairs, pairs_page, review_queue

    queue = list_class_pairs(ood, reference)[:top] if class_images else review_queue(ood, reference, top=top)
    sources = []
    for predictions, options in ((ood, raw.options or {}), (reference, {})):
        name = f"{predictions.metadata.benchmark}/{predictions.metadata.config}"
        data = load(name, data_dir=raw.data_dir, options=options)
        sources.append((predictions, {split: data[split] for split in predictions.metadata.rows}))
    if class_images:
        return class_pairs_page(queue, *sources, images=class_images, decisions=decided)
    return pairs_page(queue, *sources, decisions=decided)
