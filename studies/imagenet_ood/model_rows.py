"""The numbers of one model: measured from its predictions, or as an earlier run left them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oochub.process.ranks import Ranks
from oochub.storage.files import write_whole
from oochub.storage.ownership import remove
from oochub.storage.parquet_file import read_parquet, write_parquet
from oochub.studies.imagenet_ood.extractor import TRAINING, Extractor, SetFile
from oochub.studies.imagenet_ood.model_list import StudiedModel
from oochub.studies.imagenet_ood.plan import Plan

if TYPE_CHECKING:
    import pandas as pd


def model_rows(
    model: StudiedModel,
    plan: Plan,
    wanted: Sequence[SetFile],
    extractor: Extractor,
    own_reference: Path | None,
    folder: Path,
) -> "pd.DataFrame | None":
    """The rows of a model on the pairs and with the detectors of a plan; None in later processes of torchrun.

    Detectors are fitted and scored again only where `folder`/rows lacks one of them or a pair, or what they were made
    of changed.

    Args:
        model: Itself, or a random copy.
        plan: Names pairs and detectors.
        wanted: The predictions to be had.
        extractor: Makes those that are missing.
        own_reference: Predictions of the training split, instead of those to be made; None for none.
        folder: That of the study.

    Raises:
        OochubError: The model cannot be loaded, or a detector cannot be fitted.
    """
    import pandas as pd
    import pyarrow as pa

    random = model.seed is not None
    to_predict = [item for item in wanted if own_reference is None or item.name != TRAINING]
    files = extractor.extract(model, to_predict)
    keys, pairs = plan.detectors(random=random), plan.pairs(random=random)
    now = _describe_content(model, plan, to_predict, extractor, own_reference)
    rows, note = folder / "rows" / f"{model.name}.parquet", folder / "rows" / f"{model.name}.json"
    if rows.is_file() and note.is_file() and _covers(json.loads(note.read_text("utf-8")), now):
        frame: pd.DataFrame = read_parquet(rows).table.to_pandas()
        places = zip(frame["in"], frame["out"], frame["detector"], strict=True)
        in_plan = [(inside, outside) in pairs and key in keys for inside, outside, key in places]
        return frame[in_plan].reset_index(drop=True)
    from oochub.evaluation.evaluate import evaluate
    from oochub.studies.imagenet_ood.measures import (
        COLUMNS,
        SetScores,
        random_measures,
        scores_of,
        trained_measures,
        unfit_rows,
    )

    reference = (
        own_reference
        if own_reference is not None and any(item.name == TRAINING for item in wanted)
        else files.get(TRAINING)
    )
    scores, unfit = scores_of(files, plan.sets(random=random), keys, reference, plan.classes)
    if not Ranks.here().is_first:
        return None
    if random:
        bare = {name: SetScores(item.is_ood, item.correct, item.scores) for name, item in scores.items()}
        measured = random_measures(bare, [key for key in keys if key not in unfit], pairs)
    else:
        measured = trained_measures(scores, pairs, plan.classes)
        report = evaluate(files[plan.id_set], classes=plan.classes)
        replace(report, detection=measured.detection).save(folder / "reports" / f"{model.name}.json")
    frame = pd.DataFrame.from_records([*measured.rows, *unfit_rows(unfit, pairs)])
    frame["model"], frame["classes"] = model.name.removesuffix(f"-random-{model.seed}"), plan.classes
    frame["seed"] = pd.array([model.seed] * len(frame), dtype="Int64")
    frame = frame[list(COLUMNS)]
    remove(note)
    write_parquet(pa.Table.from_pandas(frame, preserve_index=False), rows)
    with write_whole(note) as draft:
        draft.write_text(json.dumps(now, indent=1, sort_keys=True) + "\n", "utf-8")
    return frame


def _describe_content(
    model: StudiedModel, plan: Plan, predicted: Sequence[SetFile], extractor: Extractor, own_reference: Path | None
) -> dict[str, Any]:
    """What the rows are made of. A perturbation of ODIN is said by the key of its detector."""
    from oochub import __version__

    states = {item.name: {k: v for k, v in extractor.state(model, item).items() if k != "odin"} for item in predicted}
    random = model.seed is not None
    content = {
        "oochub": __version__,
        "predictions": states,
        "given": None if own_reference is None else [own_reference.stat().st_size, own_reference.stat().st_mtime_ns],
        "id_set": plan.id_set,
        "classes": plan.classes,
        "detectors": plan.detectors(random=random),
        "pairs": plan.pairs(random=random),
    }
    plain: dict[str, Any] = json.loads(json.dumps(content))
    return plain


def _covers(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether rows made of `before` hold all that `now` asks for."""
    same = all(before.get(key) == now[key] for key in ("oochub", "given", "id_set", "classes"))
    held = before.get("predictions", {})
    return (
        same
        and all(held.get(name) == state for name, state in now["predictions"].items())
        and all(item in before["detectors"] for item in now["detectors"])
        and all(item in before["pairs"] for item in now["pairs"])
    )
