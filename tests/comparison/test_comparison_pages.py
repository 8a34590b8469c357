"""The pages of two predictions and of many reports: their policy, structure, words and what hostile names do."""

import base64
import hashlib
import html
import io
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from parsed_page import ParsedPage
from PIL import Image
from rich.console import Console
from test_model_line import made, models

import oochub
from oochub.comparison.compare import _compare_predictions as paired_comparison
from oochub.comparison.comparison import comparison
from oochub.report import wording

ATTACK = "</style><script>alert(1)</script><img src=https://evil.example/x onerror=alert(2)>\"' onload='x' {{ 7*7 }}"


def jpeg():
    stream = io.BytesIO()
    Image.new("RGB", (32, 24), (200, 30, 60)).save(stream, "JPEG")
    return stream.getvalue()


def pair(classes=2, n=240, name="m", names=None, challenge=True, **columns):
    rng = np.random.default_rng(classes)
    label = rng.integers(classes, size=n)
    more = {"challenge": np.where(np.arange(n) % 3, "easy", "hard_positive")} if challenge else {}
    parts = []
    for k in range(2):
        logits = rng.normal(size=(n, classes))
        logits[np.arange(n), label] += 1.0 + k
        part = oochub.Predictions.from_arrays(
            logits=logits, label=label, model=f"{name}{k}", class_names=names, **more, **columns
        )
        parts.append(part)
    return paired_comparison(*parts)


@pytest.fixture(
    scope="module",
    params=["pair", "pair with images", "1,000 classes", "no sides", "groups", "hostile", "1 model", "30 models"],
)
def page(request):
    if request.param.endswith("models") or request.param == "1 model":
        count = int(request.param.split()[0])
        given = [made(f"model {k}", 0.9 + 0.09 * np.sin(k), 0.6 + 0.3 * np.sin(k + 1)) for k in range(count)]
        return comparison(given).to_html()
    more = {
        "pair with images": {"thumbnail": [jpeg()] * 240},
        "1,000 classes": {"classes": 1000},
        "no sides": {"challenge": False},
        "groups": {
            "challenge": False,
            "group": [f"a rather long name of a group, number {k % 30}" for k in range(240)],
        },
        "hostile": {"name": ATTACK, "names": [ATTACK, "b" * 300], "group": [ATTACK] * 240},
    }
    return pair(**more.get(request.param, {})).to_html()


def test_the_page_is_whole_and_loads_nothing(page):
    """Planted faults: a style attribute on a mark; `| safe` behind a group's title; a table without caption."""
    parsed = ParsedPage(page)
    assert not parsed.unbalanced and not parsed.open
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.S)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    assert policy in page.replace("&#39;", "'") and len(style) <= 14_000
    names = {name for _, attrs in parsed.tags for name in attrs}
    assert "style" not in names and not [name for name in names if name.startswith("on")]
    assert not {tag for tag, _ in parsed.tags} & {
        "script",
        "link",
        "iframe",
        "object",
        "embed",
        "base",
        "form",
        "a",
    } - {"a"}
    assert all(source.startswith("data:image/jpeg;base64,") for source in parsed.attributes("src"))
    ids, links = parsed.attributes("id"), parsed.attributes("href")
    assert len(ids) == len(set(ids)) and all(link[1:] in ids for link in links if link.startswith("#"))
    assert parsed.headings.count(1) == 1
    assert all(after - before <= 1 for before, after in zip(parsed.headings, parsed.headings[1:], strict=False))
    tags = [tag for tag, _ in parsed.tags]
    assert tags.count("table") == tags.count("caption") > 0
    assert all("scope" in attrs for tag, attrs in parsed.tags if tag == "th")
    assert all("alt" in attrs for tag, attrs in parsed.tags if tag == "img")
    assert not re.search(r"\b(nan|inf|None)\b", parsed.words) and len(page) < 300_000


def test_numbers_of_a_pair_stand_on_its_page():
    report = pair()
    words = ParsedPage(report.to_html()).words
    for part in report.slices:
        for metric, number in part.numbers.items():
            scale, form = (1, "{:.3f}") if metric == "nll" else (100, "{:.1f}")
            for estimate in (number.first, number.second):
                if not np.isnan(estimate):
                    assert " to ".join(form.format(scale * end) for end in (estimate.low, estimate.high)) in words
    assert report.to_html() == report.to_html()  # the same bytes


def test_flips_are_pictures_where_there_are_some():
    """Planted fault: the images of the flips in the other gallery."""
    shown = pair(thumbnail=[jpeg()] * 240)
    assert len(shown.flips) == 12 and shown.to_html().count("<img") == 12
    html = shown.to_html(images=False)
    assert "<img" not in html and "Images are left out" in html
    assert all(flip.mistake.example_id in html for flip in shown.flips)
    words = ParsedPage(shown.to_html()).words
    first, second = (words.index(f"Only {letter} is right") for letter in "BA")
    for flip in shown.flips:
        part = words[first:second] if flip.right == "second" else words[second:]
        assert f"{100 * flip.probability:.1f}%" in part


def test_without_rows_out_of_context_the_page_says_so():
    report = pair(challenge=False)
    words = ParsedPage(report.to_html()).words
    assert "The gaps cannot be compared: no context is named" in words and "on all of test" in words


def test_a_model_against_itself_has_a_page():
    predictions = oochub.Predictions.from_arrays(logits=np.eye(2)[np.arange(60) % 2], label=np.arange(60) // 2 % 2)
    report = paired_comparison(predictions, predictions)
    assert "There is no clear difference between A and B" in ParsedPage(report.to_html()).words and not report.flips
    assert "no example flips" in report.to_markdown()


def test_many_models_are_on_the_page_of_their_reports():
    given = [*models(), made("model 1", 0.8, 0.9, config="ce_cow")]
    words = ParsedPage(comparison(given).to_html()).words
    assert "6 models on 2 datasets" in words and "The line is fitted to 6 models." in words
    assert "−14.0−17.0 to −11.0n 800" in words and "–" in words


def test_one_table_holds_the_data_sets_of_several_benchmarks():
    """Before the tables of each; not for one benchmark, and not for means over seeds. Planted faults: for either."""
    here = made("m", 0.99, 0.85)
    other = made("m", 0.8, 0.9, config="default")
    other = replace(other, benchmark=replace(other.benchmark, name="waterbirds"))
    text = comparison([here, other]).to_markdown()
    assert text.startswith("**The gap of m**") and text.count("The gap of") == 1
    assert "| waterbirds/default, AUC | 80.0 (78.0 to 81.0) | 90.0 (88.0 to 91.0) | +10.0 (+7.0 to +13.0) |" in text
    assert "The gap of" not in comparison([here, made("m", 0.8, 0.9, config="ce_cow")]).to_markdown()
    seeds = [made("m", 0.99, 0.85, seeds=[seed]) for seed in range(2)]
    assert "The gap of" not in comparison([*seeds, other]).to_markdown()
    words = ParsedPage(comparison([here, other]).to_html()).words
    assert "1 model on 2 datasets" in words and "−14.0−17.0 to −11.0n 800" in words


def test_reports_without_sides_are_a_page_without_charts():
    """And so are those of a metric that picks its own rows. Planted fault: charts of whatever was asked for."""
    bare = [replace(each, slices=tuple(p for p in each.slices if p.role == "all")) for each in models()]
    for given, metric in ((bare, None), (models(), "auc_hard")):
        html = comparison(given, slice="all", metric=metric).to_html()
        assert 'id="line"' not in html and 'id="gaps"' in html
    assert "ECE" in comparison(models(), metric=["ece", "auc"]).to_html().partition('id="line"')[2]


@pytest.mark.parametrize("more", [{"group": ["sea", "land"] * 120, "challenge": False}, {}])
def test_each_form_shows_each_finding_or_names_it(more):
    """Planted fault: groups that are not among the findings of the terminal."""
    report = pair(**more)
    assert report.flips and len(report.metrics) > 1 and bool(report.groups) == bool(more)
    console = Console(width=300, file=io.StringIO())
    console.print(report.to_terminal())
    forms = {"terminal": console.file.getvalue(), "notebook": report._repr_html_()}
    forms |= {"markdown": report.to_markdown(), "latex": report.to_latex("full")}
    for name, text in forms.items():
        left_out = next((line for line in text.splitlines() if "Not shown here:" in line), "")
        assert (
            ("Examples on which the models disagree" in text)
            if name == "notebook"
            else "examples on which the models disagree" in left_out
        ), name
        for metric, about in report.metrics.items():
            assert about.title in text or f"{wording.put_in_sentence(about.title)} on each slice" in left_out, (
                name,
                metric,
            )
        assert ("on each group" in text) == bool(more), name
    assert "each slice" not in next(line for line in forms["markdown"].splitlines() if "Not shown here:" in line)
    assert report.to_pandas().attrs["left_out"] == ["the examples on which the models disagree"]
    nothing = replace(report, flips=())
    assert "Not shown here" not in nothing.to_markdown() + nothing.to_latex("full")


def test_a_comparison_is_a_few_lines_at_the_prompt_and_small_tables_in_a_notebook():
    """Planted fault: names put in unescaped."""
    report = pair(name=ATTACK, group=["sea", "land"] * 120)
    lines = repr(report).split("\n")
    assert lines[0].startswith("<PairedReport of A (") and len(lines) <= 6 and all(len(line) < 400 for line in lines)
    html = report._repr_html_()
    assert "<script" not in html and "<img" not in html and html.count("<table") == 4
    words = ParsedPage(html).words
    assert lines[1] in words and "right only in" in words and "sea" in words


HOSTILE = {
    "quotes": """it's "new".parquet""",
    "commands": "$(echo ran) `echo ran`; echo ran | echo $HOME & x.parquet",
    "markup": "<b>&amp;[bold]*_```x.parquet",
    "a newline": "a\nb.parquet",
    "an option": "--out=x.parquet",
    "a short option": "-h.parquet",
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_name_of_a_file_is_one_word_of_the_printed_command(what, tmp_path):
    """A shell reads the command of the page as `compare` and the two files, and the command line reads them as files.

    Planted faults, each seen: words joined without quotes; a name that is an option, as it is.
    """
    from oochub.app import command_line

    predictions = oochub.Predictions.from_arrays(
        logits=np.eye(2)[[0, 1] * 30], label=[0, 1] * 30, class_names=["cow", "camel"], challenge=["easy", "hard"] * 30
    )
    files = [tmp_path / HOSTILE[what], tmp_path / "b.parquet"]
    for file in files:
        predictions.save(file)
    page = oochub.compare(*files, resamples=100).to_html()
    (line,) = re.findall(r'aria-label="Commands that reproduce this page"><code>(.*?)</code>', page, re.S)
    typed = ["sh", "-c", f"printf '%s\\0' {html.unescape(line)}"]
    words = subprocess.run(typed, capture_output=True, text=True, check=True).stdout.rstrip("\0").split("\0")
    assert words[:2] == ["oochub", "compare"] and [Path(word) for word in words[2:]] == [
        Path(each.name) for each in files
    ]
    command = command_line().get_command(None, "compare")
    assert command.make_parser(command.context_class(command)).parse_args(words[2:])[0]["sources"] == tuple(words[2:])
