"""A leaderboard over the loopback Hub: an entry is a pull request, merged it is on the site, the site is a Space."""

import numpy as np
import pytest
from leaderboard_entries import made_predictions

import oochub
from oochub.errors import OochubError
from oochub.hub.leaderboard_repository import fetch_results, push_entry, push_site
from oochub.leaderboard.leaderboard_entry import LeaderboardEntry
from oochub.leaderboard.site import Site

SAID = {"track": "open", "selection": "none", "supervision": "labels", "date": "2026-11-22", "model": "mine"}
HERE = "datasets/user/results"


@pytest.fixture
def report(tmp_path):
    """A report beside its predictions."""
    (tmp_path / "made").mkdir()
    made_predictions(1.5).save(tmp_path / "made" / "preds.parquet")
    return oochub.evaluate(tmp_path / "made" / "preds.parquet", resamples=100).save(tmp_path / "made" / "report.json")


@pytest.fixture
def results(hub):
    """The data set of results, made by its owner."""
    from huggingface_hub import HfApi

    HfApi().create_repo("user/results", repo_type="dataset")
    return "user/results"


def _merge():
    """What the owner of the results does with the one pull request."""
    from huggingface_hub import HfApi

    HfApi().merge_pull_request("user/results", 1, repo_type="dataset")


def test_an_entry_is_a_pull_request(hub, results, report):
    """The branch stays as it is, and the entry is all there. Planted fault seen: `pull_request` left out."""
    pushed = push_entry(report, results, **SAID)
    assert pushed.pull_request is not None and pushed.pull_request.startswith(hub.endpoint)
    (name,) = {path.partition("/")[0] for path in pushed.added}
    assert {path.partition("/")[2] for path in pushed.added} == {"entry.json", "report.json", "preds.parquet"}
    assert not any(name in path for path in hub.repository(HERE).at("main").files)


def test_without_a_token_nothing_is_read(hub, monkeypatch, tmp_path):
    monkeypatch.delenv("HF_TOKEN", raising=False)
    with pytest.raises(OochubError, match="Not logged in to the Hub"):
        push_entry(tmp_path / "absent.json", "user/results", **SAID)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"track": None}, "An entry must state its track"),
        ({"track": "closed"}, "one of standard, open"),
        ({"stars": 5}, "No field of an entry named 'stars'"),
        ({"date": "today"}, "a day such as"),
    ],
)
def test_a_wrong_field_is_said(report, tmp_path, said, words):
    given = {name: value for name, value in (SAID | said).items() if value is not None}
    with pytest.raises(OochubError, match=words):
        push_entry(report, str(tmp_path / "results"), **given)
    assert not list((tmp_path / "results").glob("*"))


def test_an_entry_that_would_not_be_verified_is_not_sent(hub, report):
    """The predictions of another model beside the report. Planted fault seen: no check before."""
    made_predictions(0.5, seed=9).save(report.parent / "preds.parquet")
    with pytest.raises(OochubError, match="would not be verified: its report says sha256"):
        push_entry(report, "user/results", **SAID)
    assert not any("commit" in seen.path for seen in hub.requests)


def test_the_same_entry_twice_is_one_folder(report, tmp_path):
    first = push_entry(report, str(tmp_path / "results"), **SAID)
    assert push_entry(report, str(tmp_path / "results"), **SAID | {"date": "2026-11-23"}).url == first.url
    assert push_entry(report, str(tmp_path / "results"), **SAID | {"selection": "hard"}).url != first.url


def test_predictions_of_several_files_are_sent_in_order(tmp_path):
    """Two splits, each a file; the second entry's file has a name of its own."""
    made = made_predictions(1.5)
    names = np.where(np.arange(len(made)) % 2, "test", "validation")
    for split in ("validation", "test"):
        (tmp_path / split).mkdir()
        columns = {"split": "test", "example_id": [f"{split}{k}" for k in range(len(made))]}
        rows = made_predictions(1.5, **columns).select(names == split)
        rows.save(tmp_path / split / "preds.parquet")
    files = [tmp_path / split / "preds.parquet" for split in ("validation", "test")]
    oochub.evaluate(files, resamples=100).save(tmp_path / "report.json")
    push_entry(tmp_path / "report.json", str(tmp_path / "results"), predictions=files, **SAID)
    site = Site.write(tmp_path / "results", tmp_path / "site")
    assert [row.reason for board in site.boards for row in board.rows] == [""]


def test_from_a_pull_request_to_a_space(hub, results, report, tmp_path, run):
    """As its users type it: the site of `user/results`, with links to the files of each entry on the Hub."""
    push_entry(report, results, **SAID)
    _merge()
    code, out, _ = run("leaderboard", "user/results", "--out", tmp_path / "site")
    assert code == 0 and "1 entry on 1 board, 1 verified." in out
    commit = fetch_results("user/results").folder.name
    page = next((tmp_path / "site" / "entries").iterdir()).read_text("utf-8")
    assert f"{hub.endpoint}/datasets/user/results/tree/{commit}/board_toy-one-mine-" in page
    pushed = push_site(tmp_path / "site", "user/board")
    assert {"index.html", "README.md", "boards/board_toy-one.html"} <= set(pushed.added)
    card = hub.content("spaces/user/board", "README.md").decode()
    assert card.startswith("---\n") and "sdk: static" in card
    assert not push_site(tmp_path / "site", "user/board").is_change
    (tmp_path / "site" / "entries" / next(iter((tmp_path / "site" / "entries").iterdir())).name).unlink()
    assert len(push_site(tmp_path / "site", "user/board").deleted) == 1


def test_it_is_typed(report, tmp_path, monkeypatch, run):
    """A text with commas and one that looks like a number stay what they are; a folder without a slash is here."""
    monkeypatch.chdir(tmp_path)
    fields = ["track=open", "selection=none", "supervision=labels", "who=a, b", "model=1e3", "date=2026-11-22"]
    words = [word for field in fields for word in ("--entry", field)]
    code, _, err = run("push", report, "--leaderboard", "results", *words)
    assert code == 0, err
    (folder,) = (tmp_path / "results").iterdir()
    assert LeaderboardEntry.load(folder).who == "a, b" and LeaderboardEntry.load(folder).model == "1e3"
    for wrong, said in (
        (["--entry", "track"], "--entry is written key=text"),
        ([], "An entry must state its track, selection, supervision, but none is given. Pass --entry track="),
        (["--to", "user/x"], "remove --to"),
    ):
        code, _, err = run("push", report, "--leaderboard", "results", *wrong)
        assert code == 2 and said in " ".join(err.split())


def test_a_site_is_pushed_by_its_folder(hub, report, tmp_path):
    oochub.push(report, leaderboard=str(tmp_path / "results"), entry=SAID)
    Site.write(tmp_path / "results", tmp_path / "site")
    pushed = oochub.push(tmp_path / "site", "user/board")
    assert pushed.url == f"{hub.endpoint}/spaces/user/board" and "index.html" in pushed.added
    with pytest.raises(OochubError, match="No target repository"):
        oochub.push(tmp_path / "site")


def test_a_folder_of_something_else_is_no_site(hub, tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "me.jpg").write_bytes(b"\xff\xd8")
    with pytest.raises(OochubError, match="contains no leaderboard site"):
        push_site(tmp_path / "photos", "user/board")
    assert hub.requests == []


def test_results_that_are_nowhere_are_said(hub, tmp_path, run):
    code, _, err = run("leaderboard", "user/nope", "--out", tmp_path / "site")
    assert code == 2 and "there is no dataset user/nope on the Hub" in err
