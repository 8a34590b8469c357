"""Checks that rows of a report would choose the epoch: else a training has nothing to hold out."""

from collections.abc import Iterable

from oochub.benchmark import Benchmark
from oochub.errors import OochubError, either


def check_hold_out(declared: Benchmark | None, splits: Iterable[str] | None, *, source: str) -> None:
    """Refuse to hold out rows where the report is of a split that chooses nothing.

    Args:
        declared: What holds for a benchmark; None for own data.
        splits: The splits of own data, of which a report is of "test", else of the last; None where they do not matter.
        source: What it is called in a message.

    Raises:
        OochubError: The rows of the report are of a split that chooses nothing.
    """
    if declared is not None:
        reported, chooses = {declared.in_context.split, declared.evaluation_split}, declared.validation_split
    else:
        names = list(splits or ())
        reported, chooses = {"test" if "test" in names else names[-1] if names else "test"}, "validation"
    option = either("hold_out", "--hold-out")
    if chooses not in reported:
        raise OochubError(
            f"{option} is for data whose report is of rows that choose the epoch, those of split {chooses}. The "
            f"report of {source} is of {' and '.join(sorted(reported))}, which chooses nothing: leave {option} out."
        )
