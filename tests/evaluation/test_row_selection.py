"""Chosen rows: their numbers, that every form says so, what refuses them, and the rule of their choice on others."""

import hashlib
import io
import re
from dataclasses import replace

import numpy as np
import pytest
from chosen_reports import PLACES, chosen_report, snowy_predictions, wrong_dogs
from rich.console import Console
from scipy import stats

import oochub
from oochub.data.declaration import find_declaration
from oochub.evaluation.row_selection import find_half
from oochub.section import sections
from oochub.stats.stratified_gap import stratified_gap


@pytest.fixture(scope="module")
def rows():
    return snowy_predictions()


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """The report on all rows, on the chosen ones, and on the rule of the choice."""
    folder = tmp_path_factory.mktemp("chosen")
    some, tested = (chosen_report(folder, unseen=unseen) for unseen in (False, True))
    return oochub.evaluate(snowy_predictions(), resamples=100), some, tested


def _write(tmp_path, *lines):
    file = tmp_path / "ids.txt"
    file.write_text("\n".join(lines) + "\n")
    return str(file)


def _score(rows, file, **more):
    return oochub.evaluate(rows, rows=file, resamples=100, **more)


def test_the_numbers_are_of_the_named_rows_alone(rows, tmp_path):
    """Against numpy; ids alone and with their split, comments, blank lines and line ends of Windows."""
    numbers = np.array([5, 700, 11, 300, 42])
    ids = rows.column("example_id")
    lines = [f"test\t{ids[n]}" if n % 2 else str(ids[n]) for n in numbers]
    file = tmp_path / "ids.txt"
    file.write_bytes("\r\n".join(["# picked by hand", lines[0], "", "# more", *lines[1:]]).encode())
    report = _score(rows, file)
    right = rows.prediction[numbers] == rows.label[numbers]
    assert report["accuracy"].value == right.mean() and report["accuracy"].n == len(numbers)
    digest = hashlib.sha256("\n".join(sorted(f"test\t{ids[n]}" for n in numbers)).encode()).hexdigest()[:16]
    chosen = report.chosen_rows
    assert (chosen.n, chosen.among, chosen.digest, chosen.rule) == (5, len(rows), digest, "picked by hand")
    assert report.provenance.predictions.rows == 5
    assert report.provenance.predictions.fingerprint != rows.metadata.fingerprint
    assert report.provenance.command.endswith("predictions)")


def test_the_command_is_told_again(rows, tmp_path):
    rows.save(tmp_path / "p.parquet")
    file = wrong_dogs(rows, tmp_path)
    made = _score(tmp_path / "p.parquet", file, unseen=True).provenance.command
    assert made == "oochub evaluate p.parquet --out report.json --rows ids.txt --unseen"


def test_every_form_says_that_the_rows_were_chosen(reports, tmp_path):
    """Fault planted and seen: a report without the note, or with the verdict on all rows."""
    whole, some, _ = reports
    n = some.chosen_rows.n

    def forms(report):
        stream = io.StringIO()
        Console(file=stream, width=1000).print(report.to_terminal())
        texts = [stream.getvalue(), report.to_markdown(), report.to_latex(), report.to_latex("full"), repr(report)]
        return [*texts, report._repr_html_(), report.to_html()]

    for text in forms(some):
        assert re.search("(selected|chosen) after looking at the predictions", text), text[:500]
    for text in forms(some)[:4] + forms(some)[5:]:
        assert re.search(rf"{n} of 900 rows", text) and some.chosen_rows.digest in text
    assert not any("chosen after" in text for text in forms(whole))
    again = oochub.Report.load(some.save(tmp_path / "r.json"))
    assert again.chosen_rows == some.chosen_rows and again.notes == some.notes


def test_the_verdict_judges_no_model_by_chosen_rows(reports):
    from oochub.report.verdict import verdict

    whole, some, tested = (verdict(each) for each in reports)
    assert "chosen" not in whole.sentence
    assert some.sentence == (
        "These rows were selected after looking at the predictions. Their numbers do not generalize to other rows."
    )
    assert tested.headline == "The model is right less often where the rule holds."
    assert not some.is_shown and not tested.is_shown


def test_a_rule_is_tested_on_the_half_that_was_kept_back(rows, reports):
    """Against a mask in numpy, Wilson's intervals and hypergeometric chances of scipy."""
    tested = reports[2].chosen_rows.tested
    ids = rows.column("example_id")
    shown = np.array([hashlib.sha256(f"looked_at/{each}".encode()).digest()[0] < 128 for each in ids])
    has = (rows.label == 1) & (rows.column("context") == PLACES[2])
    right = rows.prediction == rows.label
    inside, outside = right[~shown & has], right[~shown & ~has]
    assert (tested.n_rule, tested.n_others) == (len(inside), len(outside))
    assert tested.accuracy_rule.value == inside.mean() and tested.accuracy_others.value == outside.mean()
    assert tested.difference.value == pytest.approx(inside.mean() - outside.mean(), abs=1e-12)
    ends = [stats.binomtest(int(each.sum()), len(each)).proportion_ci(0.95, "wilson") for each in (inside, outside)]
    low = (inside.mean() - ends[0].low) ** 2 + (ends[1].high - outside.mean()) ** 2
    high = (ends[0].high - inside.mean()) ** 2 + (outside.mean() - ends[1].low) ** 2
    assert tested.difference.low == pytest.approx(tested.difference.value - np.sqrt(low), abs=1e-9)
    assert tested.difference.high == pytest.approx(tested.difference.value + np.sqrt(high), abs=1e-9)
    law = stats.hypergeom(len(inside) + len(outside), int(inside.sum() + outside.sum()), len(inside))
    counts = np.arange(len(inside) + 1)
    far = np.abs(counts - law.mean()) - abs(inside.sum() - law.mean())
    mid = law.pmf(counts)[far > 1e-9].sum() + law.pmf(counts)[np.abs(far) <= 1e-9].sum() / 2
    assert tested.p_value == pytest.approx(mid, rel=1e-6)
    assert tested.is_clear and tested.left_out == ("outcome is wrong",) and tested.by == "example_id"
    assert reports[2]["accuracy"].value == inside.mean() and reports[2]["accuracy"].n == len(inside)
    assert reports[2].chosen_rows.among == len(inside) + len(outside)


def test_a_half_keeps_what_rows_share(tmp_path):
    """Rows of one patient are all shown or all kept back, and the p-value counts patients."""
    patients = np.repeat(np.arange(150), 6)
    rows = snowy_predictions(900, patient=[f"p{each}" for each in patients])
    facts = replace(rows.metadata.facts, cluster="patient")
    rows = replace(rows, metadata=replace(rows.metadata, facts=facts))
    half = find_half(rows, find_declaration(rows))
    assert all(len(set(half[patients == each])) == 1 for each in range(150)) and 0.3 < half.mean() < 0.7
    report = _score(rows, wrong_dogs(rows, tmp_path), unseen=True)
    tested = report.chosen_rows.tested
    assert tested.by == "patient" and tested.n_rule + tested.n_others == int((~half).sum())
    left, has = ~half, (rows.label == 1) & (rows.column("context") == PLACES[2])
    right = rows.prediction == rows.label
    counted = [stratified_gap(right[left], has[left], half[left], cluster=each) for each in (patients[left], None)]
    assert tested.difference == counted[0].estimate and tested.p_value == pytest.approx(counted[0].p_value, rel=1e-9)
    assert counted[1].p_value != pytest.approx(counted[0].p_value, rel=0.1)


def test_a_rule_is_tested_on_other_data(rows, tmp_path):
    """All rows were looked at: the rule goes to other rows, all of them."""
    file = wrong_dogs(rows, tmp_path, shown="all")
    other = snowy_predictions(600, seed=1)
    tested = _score(other, file, unseen=True).chosen_rows.tested
    has = (other.label == 1) & (other.column("context") == PLACES[2])
    assert (tested.n_rule, tested.n_others) == (int(has.sum()), int((~has).sum())) and tested.unseen == "others"
    with pytest.raises(oochub.OochubError, match=r"All rows of ids\.txt are in these predictions, which were looked"):
        _score(rows, file, unseen=True)


def test_an_answer_beside_a_class_is_the_outcome(rows, tmp_path):
    """Dogs that are answered cat are all wrong: a rule of both would be clear in any world."""
    shown = find_half(rows, find_declaration(rows))
    example = rows.column("example_id")[shown][0]
    for rule, left in (("label=dog&answered=cat", ("answered is cat",)), ("answered=cat", ())):
        file = _write(tmp_path, f"# {rule}", "# looked at: half", example)
        tested = _score(rows, file, unseen=True).chosen_rows.tested
        column = rows.label == 1 if left else rows.prediction == 0
        assert tested.left_out == left and tested.n_rule == int((column & ~shown).sum())
    with pytest.raises(oochub.OochubError, match="A rule cannot name a place of a map"):
        _score(rows, _write(tmp_path, "# mistakes=1", "# looked at: half", example), unseen=True)


def test_the_words_of_a_tested_rule_are_true(reports):
    """What is said of it against the record; one rule of chance is not called clear."""
    tested = reports[2].chosen_rows.tested
    said = reports[2].to_markdown()
    assert f"{100 * tested.accuracy_rule:.1f}% of {tested.n_rule} answers are right" in said
    assert f"elsewhere {100 * tested.accuracy_others:.1f}% of {tested.n_others}" in said
    assert "does not choose rows: outcome is wrong." in said
    assert reports[2]["chosen_rows/difference"] == tested.difference


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], "names no rows"),
        (["# label=dog"], "names no rows"),
        (["test\tnope", "test\t0-1"], r"1 of the 2 rows of ids\.txt is not in these predictions: it is test/nope"),
        (["test\tx", "test\ty"], r"None of the 2 rows of ids\.txt is in these predictions \(custom/snowy, 900 rows\)"),
        (["train\t0-1"], "have the split test"),
        (["test\t0-1", "0-2", "test\t0-1"], r"names test/0-1 \(line 3\) twice, first in line 1"),
        (["test\t0-1", "0-1"], r"names 0-1 \(line 2\) twice, first in line 1"),
        (["# label=dog", "# data: waterbirds/default", "0-1"], r"names rows of waterbirds/default, but these"),
        (["# label=dog", "# looked at: some", "0-1"], "Allowed: all, half"),
    ],
)
def test_a_file_of_rows_that_is_wrong_is_refused(rows, tmp_path, lines, said):
    with pytest.raises(oochub.OochubError, match=said):
        _score(rows, _write(tmp_path, *lines))


def test_an_id_of_two_splits_needs_its_split(tmp_path):
    rows = snowy_predictions(40, example_id=[*map(str, range(20))] * 2, split=["validation"] * 20 + ["test"] * 20)
    with pytest.raises(oochub.OochubError, match=r"of 7 \(line 1\), which validation and test have. Write validation"):
        _score(rows, _write(tmp_path, "7"))
    assert _score(rows, _write(tmp_path, "test\t7", "validation\t7")).chosen_rows.n == 2


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("", "says no rule"),
        ("outcome=wrong", "made of the outcome alone"),
        ("looks odd", "written as column=value"),
        ("labell=dog", "No column for a rule named 'labell'. Did you mean 'label'"),
        ("label=dgo", "No value of label named 'dgo'. Did you mean 'dog'"),
        ("age=old", "takes age as a number or a range"),
        ("age=90..", "holds for none of the"),
        ("age=0..", "holds for every row"),
    ],
)
def test_a_rule_that_cannot_be_tested_is_refused(rows, tmp_path, rule, said):
    shown = find_half(rows, find_declaration(rows))
    example = rows.column("example_id")[shown][0]
    with pytest.raises(oochub.OochubError, match=said):
        _score(rows, _write(tmp_path, f"# {rule}" if rule else "", "# looked at: half", example), unseen=True)


def test_rows_that_were_kept_back_cannot_have_been_chosen(rows, tmp_path):
    kept = rows.column("example_id")[~find_half(rows, find_declaration(rows))][0]
    with pytest.raises(oochub.OochubError, match="1 of its 1 rows are in the other half"):
        _score(rows, _write(tmp_path, "# label=dog", "# looked at: half", kept), unseen=True)


def test_options_that_do_not_go_together_are_refused(rows, tmp_path):
    file = _write(tmp_path, "0-1")
    with pytest.raises(oochub.OochubError, match="Pass the file with rows="):
        oochub.evaluate(rows, unseen=True)
    with pytest.raises(oochub.OochubError, match="Detectors compare whole sets"):
        oochub.evaluate(rows, detectors=["msp"], rows=file)
    numbers = oochub.Predictions.from_arrays(value=[0.1, 0.2], label=[0.0, 1.0], example_id=["0-1", "b"])
    with pytest.raises(oochub.OochubError, match="tested by right and wrong answers"):
        oochub.evaluate(numbers, rows=_write(tmp_path, "# label=0..", "0-1"), unseen=True)
    assert oochub.evaluate(numbers, rows=file, resamples=100).chosen_rows.n == 1


def test_no_one_takes_chosen_rows_for_the_whole(reports, tmp_path, monkeypatch):
    """Rules, a comparison and the Hub refuse the report; the faults that each would let through were planted."""
    whole, some, _ = reports
    paths = [report.save(tmp_path / f"{name}.json") for name, report in (("whole", whole), ("some", some))]
    rules = {"rule": [{"metric": "accuracy", "at_least": 0.5}]}
    with pytest.raises(oochub.OochubError, match=r"some\.json is of \d+ of 900 rows, which ids\.txt chose. Rules hold"):
        oochub.check(paths[1], rules)
    worse = {"rule": [{"metric": "accuracy", "at_most_worse": 0.5}]}
    with pytest.raises(oochub.OochubError, match="Rules hold a model to bounds on all rows"):
        oochub.check(paths[0], worse, baseline=paths[1])
    other = replace(some, model=replace(some.model, id="other"))
    with pytest.raises(oochub.OochubError, match="is of others: evaluate the predictions without rows="):
        oochub.compare(whole, other)
    table = oochub.compare(some, other).to_markdown()
    assert "chosen after looking at the predictions" in table
    from oochub.hub import push_results

    monkeypatch.setattr(push_results, "open_client", lambda *_, **__: None)
    with pytest.raises(oochub.OochubError, match=r"some\.json is of .*Numbers on the Hub are of a whole split"):
        push_results.push_results(paths[1], "me/model", dataset="me/data", dry_run=True)


def test_nothing_follows_from_chosen_rows_but_a_test_of_their_rule(reports):
    """No training, rules or repair is proposed for them; a rule that was tested asks for nothing more."""
    section = next(each for each in sections() if each.name == "what_next")
    commands = [[step.command for each in section.passages(of) for step in each.steps] for of in reports]
    assert len(commands[0]) == 3 and not any("--unseen" in command for command in commands[0])
    assert commands[1:] == [["oochub evaluate UNSEEN --rows ids.txt --unseen"], []]


def test_a_board_refuses_chosen_rows(rows, reports, tmp_path):
    from oochub.leaderboard.check_entry import recompute_report

    file = rows.save(tmp_path / "p.parquet")
    assert "A board has numbers of a whole split" in recompute_report(reports[1], [file]).outcome.reason


@pytest.mark.campaign
def test_a_rule_of_chance_is_found_where_it_was_looked_for_and_not_elsewhere():
    """300 worlds without a bad place, the worst of nine groups chosen by looking: in 5% it is clear on other rows.

    On the rows that were looked at the same test rejects in far more: that is what the halves are for.
    """
    from oochub.evaluation.row_selection import RowsFile, _Line, select_by_rule
    from oochub.evaluation.selection_rule import RowRule
    from oochub.stats.estimate import Sampling

    looked = unseen = 0
    for seed in range(300):
        rows = snowy_predictions(1800, seed=seed, bad=0.9)
        declared = find_declaration(rows)
        half, right, group = find_half(rows, declared), rows.prediction == rows.label, rows.column("group")
        worst = min(np.unique(group), key=lambda each: right[half & (group == each)].mean())
        has = (group == worst)[half]
        looked += stratified_gap(right[half], has, np.zeros(len(has))).p_value <= 0.05
        line = _Line(1, "test", rows.column("example_id")[half & (group == worst)][0])
        file = RowsFile("ids.txt", (line,), str(RowRule({"group": (str(worst),)})), is_of_half=True)
        unseen += select_by_rule(rows, file, declared, Sampling()).chosen.tested.is_clear
    assert unseen <= 25 and looked >= 45, (unseen, looked)


def test_an_id_that_begins_with_a_hash_is_an_id(tmp_path):
    """Before, its line was a comment: two of three rows were scored. Planted fault seen: every such line a comment."""
    ids = ["#1", "2", "#note"]
    rows = oochub.Predictions.from_arrays(logits=[[1.0, 0.0]] * 3, label=[0, 1, 0], example_id=ids)
    made = oochub.evaluate(rows, rows=_write(tmp_path, "# rule: label=0", "#1", "2"), resamples=100)
    assert (made["accuracy"].n, made["accuracy"].value, made.chosen_rows.rule) == (2, 0.5, "label is 0")
    assert oochub.evaluate(rows, rows=_write(tmp_path, "#1"), resamples=100)["accuracy"].n == 1
    with pytest.raises(oochub.OochubError, match="names no rows"):
        oochub.evaluate(rows, rows=_write(tmp_path, "#2", "# note"), resamples=100)
