"""Names that are markup, scripts, styles, addresses or signs: in a real browser each page shows them as text.

Nothing runs, nothing is asked for, and no element comes of them. Planted fault seen: a page that does not escape names.
"""

import base64
from dataclasses import replace

import every_page
import numpy as np
import pytest
from hostile_names import NAMES

import oochub
from oochub.comparison.compare import _compare_predictions as paired_comparison
from oochub.comparison.comparison import comparison
from oochub.comparison.rank_models import rank_models
from oochub.leaderboard.site import Site
from oochub.prediction.predictions import Predictions
from oochub.records.build_record import BuildFacts
from oochub.reviewing.review_page import RIGHT_OR_WRONG, Card, Question, Shown, make_review_page

_LONG = "<b>" + "y" * 1_990
N = 240


def _columns():
    label = np.arange(N) % len(NAMES)
    hard = np.arange(N) % 3 == 0
    context = np.array(NAMES)[(label + np.where(hard, 1, 0)) % len(NAMES)]
    return {
        "label": label,
        "class_names": list(NAMES),
        "challenge": np.where(hard, "hard", "easy"),
        "context": context,
        "group": [f"{NAMES[k]}/{place}" for k, place in zip(label, context, strict=True)],
        "example_id": [f"{NAMES[k % len(NAMES)]}{k}" for k in range(N)],
    }


def _predictions(model, skill=2.0, **more):
    columns = _columns()
    logits = np.random.default_rng(int(skill * 10)).normal(size=(N, len(NAMES)))
    logits[np.arange(N), columns["label"]] += skill
    made = Predictions.from_arrays(
        logits=logits, model=model, thumbnail=[every_page._picture(k) for k in range(N)], **columns | more
    )
    usual = {name: (name,) for name in columns["class_names"]}
    return Predictions(made.table, replace(made.metadata, facts=BuildFacts(usual_contexts=usual)))


def _own(model=NAMES[0]):
    return oochub.evaluate(_predictions(model), match="label", resamples=100).to_html()


def _long():
    names = [_LONG, *NAMES[1:]]
    return oochub.evaluate(_predictions("m", class_names=names), match="label", resamples=100).to_html()


def _text():
    label = np.arange(N) % 2
    made = Predictions.from_arrays(
        logits=np.random.default_rng(0).normal(size=(N, 2)),
        label=label,
        class_names=NAMES[:2],
        text=[NAMES[k % len(NAMES)] for k in range(N)],
        challenge=_columns()["challenge"],
    )
    return oochub.evaluate(made, resamples=100).to_html()


def _comparison():
    reports = [oochub.evaluate(_predictions(NAMES[k], 1.0 + k / 3), resamples=100) for k in range(4)]
    return comparison(reports).to_html()


def _paired():
    return paired_comparison(_predictions(NAMES[1], 1.0), _predictions(NAMES[3], 2.0)).to_html()


def _ranking():
    return rank_models([_predictions(NAMES[k], 1.0 + k / 3) for k in range(4)]).to_html()


def _review():
    question = Question(heading=NAMES[0], lead=NAMES[1], then=NAMES[3], choices=RIGHT_OR_WRONG, file=NAMES[5])
    uri = f"data:image/jpeg;base64,{base64.b64encode(every_page._picture(0)).decode()}"
    cards = [Card(id=name, pictures=(Shown(name, uri, name, name),), note=name) for name in NAMES]
    return make_review_page(cards, question, title=NAMES[4], about=NAMES[2], store=NAMES[5])


MADE = {
    "own": _own,
    "long": _long,
    "text": _text,
    "comparison": _comparison,
    "paired": _paired,
    "ranking": _ranking,
    "review": _review,
}


def _look(browser, path):
    browser.events.clear()
    browser.show(path, width=1280)
    browser.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    seen = browser.evaluate("""({
        ran: String(window.ran),
        text: document.documentElement.textContent,
        shown: document.body.innerText.length,
        made: document.querySelectorAll(
            'iframe, object, embed, base, meta[http-equiv=refresh], img[src=x]').length,
        handlers: [...document.querySelectorAll('*')].filter(
            one => [...one.attributes].some(a => a.name.startsWith('on'))).length,
        links: [...document.querySelectorAll('[href], [src], [action]')].map(
            one => one.getAttribute('href') || one.getAttribute('src') || one.getAttribute('action')),
    })""")
    assert seen["ran"] == "undefined" and not seen["made"] and not seen["handlers"]
    bad = [link for link in seen["links"] if link.lower().startswith(("javascript:", "data:text"))]
    assert not bad and not [link for link in seen["links"] if "evil.example" in link]
    assert browser.requests() <= {"file", "data"}, browser.requests()
    assert seen["shown"] > 200, "a style of a name hides the page"
    return seen["text"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", [name if name == "own" else pytest.param(name, marks=pytest.mark.slow) for name in MADE]
)
def test_hostile_names_are_text_in_a_browser(browser, tmp_path, kind):
    """On each kind of page, with the names wherever a user or a sender can put them."""
    path = tmp_path / "page.html"
    path.write_text(MADE[kind](), encoding="utf-8")
    if kind == "long":
        assert path.stat().st_size < 20_000_000
    text = _look(browser, path)
    assert "window.ran" in text or kind == "long"


@pytest.mark.slow
def test_hostile_names_stay_in_the_frame_of_a_notebook(browser, tmp_path):
    """A report, a comparison and predictions in one notebook: one frame, its page as text, nothing that runs."""
    first, second = _predictions(NAMES[1], 1.0), _predictions(NAMES[3], 2.0)
    report = oochub.evaluate(first, match="label", resamples=100)
    shown = [each._repr_html_() for each in (report, paired_comparison(first, second), first)]
    path = tmp_path / "page.html"
    path.write_text(f"<!doctype html><meta charset=utf-8><body>{''.join(shown)}", encoding="utf-8")
    browser.events.clear()
    browser.show(path, width=1280)
    seen = browser.evaluate("""(() => {
        const page = document.querySelector('iframe').contentDocument
        const every = [...document.querySelectorAll('*'), ...page.querySelectorAll('*')]
        return {
            ran: String(window.ran) + String(document.querySelector('iframe').contentWindow.ran),
            made: every.filter(one => /^(iframe|script|object|embed|base|form)$/i.test(one.tagName)).length,
            handlers: every.filter(one => [...one.attributes].some(a => a.name.startsWith('on'))).length,
            text: page.body.textContent.includes('window.ran') && document.body.textContent.includes('window.ran'),
        }
    })()""")
    assert seen == {"ran": "undefinedundefined", "made": 1, "handlers": 1, "text": True}  # ours: that of the height
    assert browser.requests() <= {"file", "data", "about"}, browser.requests()


@pytest.mark.slow
def test_what_is_sent_to_a_leaderboard_is_text_in_a_browser(browser, tmp_path):
    """Model, sender and all that an entry says, on the index, the board and each entry."""
    from leaderboard_entries import made_predictions, sent_entry

    for number, name in enumerate(NAMES[:6]):
        made = made_predictions(1.0 + number / 4, model=name)
        sent_entry(tmp_path / "results", predictions=made, model=name, who=name, external_data=name)
    site = Site.write(tmp_path / "results", tmp_path / "site").folder
    pages = sorted(site.rglob("*.html"))
    assert len(pages) >= 8
    assert "window.ran" in "".join([_look(browser, page) for page in pages])
