"""The command `oochub show`."""

from oochub.commands._options import out_console


def show(kind: str, name: str) -> None:
    """Shows one thing: of a benchmark its files and where to get them, of the others their documentation."""
    from oochub.report.showing import describe

    out_console.print(describe(kind, name), markup=False)
