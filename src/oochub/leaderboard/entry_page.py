"""The page of one entry: its report, below what its sender says and whether its numbers are verified."""

from oochub.leaderboard.board import Board, BoardRow
from oochub.leaderboard.leaderboard_entry import RULES, SUPERVISIONS
from oochub.leaderboard.page_stem import page_stem
from oochub.report import wording
from oochub.report.page import render_page


def entry_page(row: BoardRow, board: Board, *, link: str | None = None) -> str:
    """Renders an entry as one HTML file: of a verified one with its recomputed numbers, else as it was sent.

    Pictures are shown of verified entries alone.

    Args:
        row: Of the board.
        board: That it stands on.
        link: Where its files lie on the Hub; None for a folder here.

    Raises:
        OochubError: A report that would exceed the limits of its page, or with a picture that is not a JPEG.
    """
    report, entry = row.report, row.entry
    facts = [
        ("Model", wording.name(entry.model, 400)),
        ("Track", entry.track),
        ("Chosen on", RULES[entry.selection]),
        ("Supervision", SUPERVISIONS[entry.supervision]),
        ("External data", wording.name(entry.external_data, 400)),
        ("Sent by", wording.name(entry.who)),
        ("Sent", entry.date),
        ("Rank", _rank(row)),
        ("Entries of the model", str(row.entries)),
        ("Files", link or ""),
    ]
    return render_page(
        report,
        images=not row.reason,
        template="entry.html.jinja",
        advice="Evaluate fewer splits at once.",
        entry={
            "reason": row.reason.rstrip("."),
            "verdict": row.verdict,
            "shown": _shown(row),
            "check": row.check,
            "facts": [(title, text) for title, text in facts if text],
            "board": page_stem(board.benchmark.name, board.benchmark.config),
            "place": wording.name(f"{board.benchmark.name}/{board.benchmark.config}"),
        },
    )


def _shown(row: BoardRow) -> str:
    """What the page of an entry that is not verified shows, and what not."""
    if not row.is_comparable:
        which = "The numbers below follow from its predictions"
    elif row.is_sent:
        which = "The numbers below are those that were sent: none of them was computed again"
    else:
        which = "The numbers below are those that its predictions give, not those that were sent"
    return f"{which}. It has no rank, counts for no line, and its pictures are not shown."


def _rank(row: BoardRow) -> str:
    if row.rank is None:
        why = row.verdict.lower() if row.reason else "chosen on test groups, or without an interval"
        return f"none: {why}"
    first, last = row.rank
    return (
        f"{first} of the {row.entry.track} track"
        if first == last
        else f"{first} to {last} of the {row.entry.track} track"
    )
