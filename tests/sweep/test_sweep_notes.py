"""One set of caveats, names and findings of a sweep, in its page, LaTeX, terminal, comparison and figures."""

import pytest
from drawn_sweep import draw_sweep

import oochub
from oochub.cli import main
from oochub.sweep.sweep_table import SweepSummary

METHODS = {"ERM": 0.5, "StdRisk (ours)": 1.6, "GroupDRO": 0.52}
TOY = "drawn toy world"
RULE = "Settings are selected by validation_loss"


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    return draw_sweep(tmp_path_factory.mktemp("drawn"), METHODS, rows=200)


def plain(text):
    """Names as they are, on one line."""
    return " ".join(text.replace("\\", "").split())


@pytest.mark.slow
def test_every_form_has_the_same_caveats(result):
    compared = oochub.compare(result.table.parent)
    forms = {
        "page": result.page.read_text(),
        "terminal": "\n".join(map(str, _print(result.summary))),
        "latex": result.summary.to_latex(),
        "full latex": result.summary.to_latex("full"),
        "compare": compared.to_markdown(),
        "compare's latex": compared.to_latex(),
    }
    for name, text in forms.items():
        for words in (TOY, RULE, "Track: features"):
            assert words in plain(text), f"{name} lacks {words!r}"
        assert ".." not in plain(text).replace("...", ""), name
        for method in METHODS:
            assert method in plain(text), f"{name} lacks {method}"


@pytest.mark.slow
def test_methods_that_cannot_be_set_side_by_side_are_said_to_be(result, monkeypatch):
    """Seen before it was mended: the tests and the caveats of the data went without a word."""

    def refuse(reports):
        raise oochub.OochubError("Two versions.")

    monkeypatch.setattr("oochub.sweep.sweep_table.comparison", refuse)
    shown = result.summary
    again = SweepSummary.of(shown.recipe, shown.runs, result.table.parent, track=shown.track)
    assert again.compared is None
    for text in ("\n".join(map(str, _print(again))), again.to_latex(), again.to_latex("full")):
        assert "The methods are not tested: Two versions." in plain(text)


def _print(shown):
    from rich.console import Console

    console = Console(width=200)
    with console.capture() as capture:
        console.print(shown.to_terminal(width=200))
    return capture.get().splitlines()


@pytest.mark.slow
def test_a_sweep_begins_with_its_methods(result):
    headline = "StdRisk (ours) is clearly better than each of the 2 other methods out of context."
    page = result.page.read_text()
    assert page.splitlines()[2] == headline and _print(result.summary)[0] == headline
    assert page.index("Methods over seeds") < page.index("Selected settings")
    html = oochub.compare(result.table.parent).to_html()
    assert (
        html.index(headline) < html.index("The gap of each model")
        and "tab:sweep-drawn-auc" in result.summary.to_latex()
    )


@pytest.mark.slow
def test_report_and_its_figures_take_the_folder(result, tmp_path, monkeypatch, capsys):
    folder, out = result.table.parent, tmp_path / "bars.svg"
    for words in (["--plot", f"hard_easy_bars={out}"], ["--latex", str(tmp_path / "r.tex")], []):
        monkeypatch.setattr("sys.argv", ["oochub", "report", str(folder), *words])
        with pytest.raises(SystemExit) as stopped:
            main()
        assert not stopped.value.code
    assert "StdRisk (ours) is clearly better" in capsys.readouterr().out
    assert out.is_file() and "StdRisk (ours)" in plain((tmp_path / "r.tex").read_text())
