"""The share of images that people judge right: by rater, over all images, and how far raters agree."""

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from scipy import special

from oochub.errors import OochubError
from oochub.reviewing.decisions import Decisions, merge_decisions
from oochub.stats.estimate import Estimate
from oochub.stats.proportion import wilson


@dataclass(frozen=True, kw_only=True)
class RaterScore:
    """What one rater answered.

    Attributes:
        name: Name of the rater: that of the file.
        right: Number of images that are right.
        answered: Number of images with an answer.
        asked: Number of images on the page.
    """

    name: str
    right: int
    answered: int
    asked: int


@dataclass(frozen=True, kw_only=True)
class RaterScores:
    """What all raters answered.

    Attributes:
        raters: One score each, in the order of the files.
        mean: The mean of the raters' shares, with a t interval over raters; nan for raters without an answer.
        images: The share of images that are right by more than half of their answers, with Wilson's interval.
        asked: Number of images on the pages.
        wrong: The ids of the images that were judged and are not right.
        same: Among the pairs of raters that answered on the same image, how many agree.
        pairs: Number of such pairs.
    """

    raters: tuple[RaterScore, ...]
    mean: Estimate
    images: Estimate
    asked: int
    wrong: tuple[str, ...]
    same: int
    pairs: int

    @property
    def unanswered(self) -> int:
        """How many images nobody answered on; they count nowhere else."""
        return self.asked - self.images.n


def score_raters(
    files: Mapping[str, Decisions], pages: Sequence[Collection[str]], *, right: str = "right"
) -> RaterScores:
    """Scores the saved answers of several raters.

    A file is a rater. Files that share a mark (the same image at the same time) are of one rater, who saved twice.

    Args:
        files: The answers by the name of their file.
        pages: The ids of the images on each page; an image may be on several.
        right: The answer that counts; any other but "open" is wrong.

    Raises:
        OochubError: No file; answers on images of no page, or of several pages at once.

    Source: Lynch et al., Spawrious, Appendix F (the mean of ten raters; no interval, and no image is shared).

    >>> from oochub.reviewing.decisions import Decision
    >>> answers = {("image", k): Decision("image", k, "right", "2026-01-31T12:00:00.000Z") for k in "abc"}
    >>> score_raters({"ann": answers}, [["a", "b", "c", "d"]]).images
    1.000 [0.439, 1.000] n=3
    """
    if not files:
        raise OochubError("There are no answers. Pass the files that the pages saved.")
    raters, shares, by_image = [], [], defaultdict(list)
    for name, decisions in _merge_by_rater(files).items():
        answers = {decision.id: decision.decision for decision in decisions.values() if decision.decision != "open"}
        page = next((page for page in pages if answers.keys() <= set(page)), None)
        if page is None:
            _refuse(name, answers, pages)
        count = sum(answer == right for answer in answers.values())
        raters.append(RaterScore(name=name, right=count, answered=len(answers), asked=len(page or ())))
        shares += [count / len(answers)] if answers else []
        for image, answer in answers.items():
            by_image[image].append(answer == right)
    good = {image: sum(given) * 2 > len(given) for image, given in by_image.items()}
    pairs = [one == other for given in by_image.values() for one, other in combinations(given, 2)]
    return RaterScores(
        raters=tuple(raters),
        mean=_mean(shares, sum(rater.answered for rater in raters)),
        images=wilson(sum(good.values()), len(good)),
        asked=len({image for page in pages for image in page}),
        wrong=tuple(sorted(image for image, is_good in good.items() if not is_good)),
        same=sum(pairs),
        pairs=len(pairs),
    )


def _merge_by_rater(files: Mapping[str, Decisions]) -> dict[str, Decisions]:
    """The files with those of the same rater merged, under the first name."""
    raters: dict[str, Decisions] = {}
    for name, decisions in files.items():
        marks = {(mark.id, mark.at) for mark in decisions.values()}
        same = [rater for rater, own in raters.items() if marks & {(mark.id, mark.at) for mark in own.values()}]
        raters[same[0] if same else name] = merge_decisions([*(raters.pop(rater) for rater in same), decisions])
    return raters


def _refuse(name: str, answers: Collection[str], pages: Sequence[Collection[str]]) -> None:
    unknown = [image for image in answers if not any(image in page for page in pages)]
    if unknown:
        raise OochubError(
            f"{name} has answers for {len(unknown):,} images that are on no page, first {unknown[0]}. Pass the "
            "folder whose pages saved it."
        )
    raise OochubError(f"{name} has answers for images of several pages. Give each page's file separately.")


def _mean(shares: Sequence[float], n: int) -> Estimate:
    """The mean of independent numbers, with Student's interval."""
    count = len(shares)
    mean = sum(shares) / count if count else math.nan
    if count < 2:
        reason = "one rater: nothing is known about differences between raters" if count else "no answers"
        return Estimate(mean, n=n, method="t over raters", reason=reason)
    spread = math.sqrt(sum((share - mean) ** 2 for share in shares) / (count - 1))
    half = float(special.stdtrit(count - 1, 0.975)) * spread / math.sqrt(count)
    return Estimate(mean, low=max(0.0, mean - half), high=min(1.0, mean + half), n=n, method="t over raters")
