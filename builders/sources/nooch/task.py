"""The columns of one NOOCH task, "is there a car?", from what is annotated in each image of a split."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import datasets
import numpy as np
from numpy.typing import NDArray

from oochub.builders.criteria.co_occurrence import co_occurrence
from oochub.builders.criteria.gist import gist
from oochub.builders.sources.coco_categories import CATEGORY_IDS
from oochub.errors import OochubError, unknown_name
from oochub.records.build_record import BuildFacts

CHALLENGES = ("easy", "hard_positive", "hard_negative", "hard")
Tau = float | tuple[float, float] | None


@dataclass(frozen=True, kw_only=True)
class NoochTask:
    """One binary task and what is out of context in it.

    Attributes:
        name: The object, "car".
        criterion: "ce" (co-occurrence) or "gist": which of the two `challenge` holds. "boxes" is co-occurrence, for
            rows whose truth is the boxes of the object.
        contexts: Names of the contexts, the one that makes the environments first.
        beta: The fraction of the image above which a context counts as present.
        tau: The threshold of the gist similarity, one for both sides or one for positives and one for negatives; None
            takes as many hard examples of each side as co-occurrence has.
    """

    name: str
    criterion: str
    contexts: Sequence[str]
    beta: float = 0.1
    tau: Tau = None

    @classmethod
    def parse(cls, config: str) -> tuple[str, str]:
        """Criterion and object of a config's name.

        >>> NoochTask.parse("gist_fire_hydrant")
        ('gist', 'fire_hydrant')
        """
        criterion, _, name = config.partition("_")
        return criterion, name

    def features(self, *, gist: bool) -> datasets.Features:
        """The task's own columns: with `gist` those of the gist criterion too; boxes stand in place of a label."""
        sides, contexts = [f"no_{self.name}", self.name], ["no_context", "context"]
        challenge = datasets.ClassLabel(names=list(CHALLENGES))
        number = datasets.Value("float32")
        columns = {
            "label": datasets.ClassLabel(names=sides),
            "environment": datasets.ClassLabel(names=[f"{s}/{c}_pixels" for s in sides for c in contexts]),
            "group": datasets.ClassLabel(names=[f"{s}/{c}" for s in sides for c in contexts]),
            "challenge": challenge,
            "area": number,
            "context": datasets.Value("string"),
            "context_area": datasets.List(number),
        }
        if self.criterion == "boxes":
            del columns["label"]
            columns = {
                "boxes": datasets.List(datasets.List(datasets.Value("float64"), length=4)),
                **columns,
                "categories": datasets.List(datasets.ClassLabel(names=[self.name])),
                "crowd": datasets.List(datasets.Value("int8")),
                "object_areas": datasets.List(datasets.Value("float64")),
                "width": datasets.Value("int32"),
                "height": datasets.Value("int32"),
            }
        if gist:
            columns |= {"challenge_ce": challenge, "challenge_gist": challenge, "gist_similarity": number}
        return datasets.Features(columns)

    def columns(
        self,
        *,
        present: NDArray[np.bool_],
        area: NDArray[Any],
        context_area: NDArray[Any],
        similarity: NDArray[Any] | None = None,
        published: Mapping[str, NDArray[Any] | None] | None = None,
    ) -> dict[str, Any]:
        """The values of `features`, row for row, of one split.

        Args:
            present: (n,) is the object annotated?
            area: (n,) fraction of the image that it takes.
            context_area: (n, k) those of the contexts, in the order of `contexts`.
            similarity: (n,) cosine of the image's captions to those of the training positives.
            published: Challenges by criterion that replace the computed ones, (n,) each; None where nobody knows.

        Returns:
            Column name to n values: int arrays for label, environment and group, names for the challenges. Those of
            the gist criterion are there when it is the task's or `similarity` is given.

        Raises:
            OochubError: The gist criterion with neither similarity nor published challenges.
        """
        own = {"boxes": "ce"}.get(self.criterion, self.criterion)
        challenges: dict[str, NDArray[Any]] = {"ce": co_occurrence(present, context_area, self.beta)}
        for name, given in (published or {}).items():
            challenges[name] = np.full(len(present), None, dtype=object) if given is None else given
        if "gist" not in challenges and similarity is not None:
            ce = challenges["ce"]
            counts = {f"{side}s": int((ce == side).sum()) for side in ("hard_positive", "hard_negative")}
            wanted: dict[str, Any] = {"tau": self.tau} if self.tau is not None else counts
            challenges["gist"] = gist(present, similarity, **wanted)
        if own not in challenges:
            raise OochubError(
                f"gist_{self.name} needs embeddings of the captions: load it with encoder=NAME, a model of "
                "sentence-transformers, or use the published sets with official_ids=FOLDER."
            )
        challenge = challenges[own]
        # "Context" in a group's name is what the criterion sees: where the object is easy, or its absence hard.
        in_context = np.where(present, challenge != "hard_positive", challenge == "hard_negative")
        large = context_area > self.beta
        columns: dict[str, Any] = {
            "label": present.astype(np.int64),
            "environment": 2 * present + (context_area[:, 0] > 0),
            "group": np.where(challenge == None, None, 2 * present + in_context),  # noqa: E711 (elementwise)
            "challenge": challenge,
            "area": area.astype(np.float32),
            "context": ["+".join(c for c, is_large in zip(self.contexts, row, strict=True) if is_large) or "none"
                        for row in large],
            "context_area": list(context_area.astype(np.float32)),
        }  # fmt: skip
        if "gist" in challenges:
            unknown = np.full(len(present), np.nan, np.float32)
            columns |= {
                "challenge_ce": challenges["ce"],
                "challenge_gist": challenges["gist"],
                "gist_similarity": unknown if similarity is None else similarity.astype(np.float32),
            }
        return columns

    def find_tau(self, columns: Mapping[str, Any]) -> tuple[float, float] | None:
        """The gist thresholds of one split: `tau`, else the similarity of the first easy positive and easy negative.

        Args:
            columns: The values of `columns`, with `gist_similarity`.

        Returns:
            The similarity below which a positive is hard, and above which a negative is; None if a side has no easy
            row.
        """
        if self.tau is not None:
            taus = np.ravel(self.tau)
            return float(taus[0]), float(taus[-1])
        is_easy, present = columns["challenge_gist"] == "easy", columns["label"] == 1
        positives, negatives = (columns["gist_similarity"][is_easy & side] for side in (present, ~present))
        return (float(positives.min()), float(negatives.max())) if len(positives) and len(negatives) else None


def published_challenge(
    ids: Mapping[str, NDArray[np.int64]], image_id: NDArray[np.int64], present: NDArray[np.bool_], *, task: str
) -> tuple[NDArray[np.str_], int]:
    """The challenge of each image by the published ids, and how many of these are not among the images.

    Args:
        ids: "hard_positive" and "hard_negative" to image ids.
        image_id: (n,) images of the split.
        present: (n,) is the object annotated?
        task: What errors call the task and the split.

    Raises:
        OochubError: A hard positive without the object, or a hard negative with it; the ids are named.
    """
    challenge = np.full(len(image_id), "easy", dtype="<U13")
    missing = 0
    for side, positive in (("hard_positive", True), ("hard_negative", False)):
        rows = np.isin(image_id, ids[side])
        wrong = image_id[rows & (present != positive)]
        if len(wrong):
            raise OochubError(
                f"{task}: {len(wrong)} published {side} ids disagree with the annotations, which "
                f"{'lack' if positive else 'show'} the object: "
                f"{', '.join(map(str, wrong[:5]))}{', ...' if len(wrong) > 5 else ''}. The id files and the "
                "annotations are not from the same release (2017)."
            )
        challenge[rows] = side
        missing += len(ids[side]) - int(rows.sum())
    return challenge, missing


def nooch_task_of_all(
    columns: Mapping[str, Any], facts: BuildFacts, config: str
) -> tuple[NoochTask, dict[str, Any], BuildFacts]:
    """A task of the rows of `nooch/all`: the task, its columns, and the facts of its build record.

    Args:
        columns: "labels", "areas" and, for gist tasks, "gist_similarity" of one split, as numpy arrays of rows; the
            areas also as one array of rows and classes.
        facts: Facts of the build record of `all`.
        config: "ce_car", "gist_bowl".

    Raises:
        OochubError: A name that is no task, a class without context, or gist without embeddings.
    """
    criterion, name = NoochTask.parse(config)
    if facts.context_surplus is None or facts.alpha is None or facts.beta is None:
        raise OochubError(
            "The build record lacks the contexts of every class. Load the data with load_dataset('nooch', 'all')."
        )
    surplus = facts.context_surplus
    names = list(CATEGORY_IDS)
    if criterion not in ("ce", "gist") or name not in names:
        raise unknown_name("task of nooch", config, [f"{c}_{n}" for c in ("ce", "gist") for n in names])
    contexts = (facts.published_contexts or {}).get(name) or tuple(
        other for other, value in surplus.get(name, {}).items() if value > facts.alpha
    )
    if not contexts:
        with_context = sum(any(value > facts.alpha for value in others.values()) for others in surplus.values())
        raise OochubError(
            f"{name} has no context at alpha = {facts.alpha:g}, so none of its images is out of context. "
            f"{with_context} of the 171 classes have one."
        )
    task = NoochTask(name=name, criterion=criterion, contexts=contexts, beta=facts.beta)
    column = names.index(name)
    areas = columns["areas"] if columns["areas"].ndim == 2 else np.stack(columns["areas"])
    similarity = None
    if facts.encoder:
        similarity = np.stack(columns["gist_similarity"])[:, column].astype(np.float64)
    task_columns = task.columns(
        present=np.array([column in labels for labels in columns["labels"]], dtype=bool),
        area=areas[:, column],
        context_area=areas[:, [names.index(context) for context in contexts]],
        similarity=similarity,
    )
    task_facts = BuildFacts(
        rows=facts.rows,
        object=name,
        contexts=contexts,
        alpha=None if name in (facts.published_contexts or {}) else facts.alpha,
        beta=task.beta,
        encoder=facts.encoder,
        encoder_sha256=facts.encoder_sha256,
        other={"contexts_from": "computed"},
    )
    return task, task_columns, task_facts
