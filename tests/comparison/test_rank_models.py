"""Three or more models: places against tests of scipy with Holm word by word, and what is refused before anything runs.

The chance that all true places lie in the ranges is measured in tests/stats/test_model_places.py.
"""

import itertools
import json

import numpy as np
import pytest
from parsed_page import ParsedPage
from scipy import stats
from sklearn.metrics import roc_auc_score

import oochub
from oochub.errors import OochubError

SIZES = (0.6, 0.7, 1.4, 1.5, 0.1)


def models(rows=300, sizes=SIZES, **more):
    """Five models of two classes whose mistakes go together; the third and fourth are the best."""
    draws = np.random.default_rng(0)
    label = draws.integers(2, size=rows)
    shared = draws.normal(size=(rows, 2))
    columns = {"challenge": np.where(np.arange(rows) % 3, "easy", "hard_positive")} | more
    return [
        oochub.Predictions.from_arrays(
            logits=2 * size * np.eye(2)[label] + shared + 0.6 * draws.normal(size=(rows, 2)),
            label=label,
            model=f"model {k}",
            **columns,
        )
        for k, size in enumerate(sizes)
    ]


def places(ranking, table=0):
    return {ranking.names[each.model]: (each.best, each.worst) for each in ranking.tables[table].models}


def by_hand(gains, p_values, names):
    """Holm and counting, of pairs (i, j) in the order of p."""
    clear = set()
    for rank, pair in enumerate(sorted(p_values, key=p_values.get)):
        if p_values[pair] * (len(p_values) - rank) > 0.05:
            break
        clear.add(pair)
    return {
        name: (
            1 + sum((gains[pair] > 0) == (pair[0] == k) for pair in clear if k in pair),
            len(names) - sum((gains[pair] > 0) == (pair[1] == k) for pair in clear if k in pair),
        )
        for k, name in enumerate(names)
    }


def test_places_are_those_of_mcnemar_and_holm():
    """On the rows out of context. Planted faults: all rows; a model that no pair has; whole widths for half."""
    given = models()
    ranking = oochub.compare(*given, metric="accuracy")
    out = np.arange(300) % 3 == 0
    right = np.array([(part.logits.argmax(1) == part.label)[out] for part in given])
    gains, p_values = {}, {}
    for i, j in itertools.combinations(range(5), 2):
        only = [(right[j] & ~right[i]).sum(), (right[i] & ~right[j]).sum()]
        gains[i, j] = int(only[0]) - int(only[1])
        p_values[i, j] = stats.binomtest(int(only[0]), int(sum(only))).pvalue if sum(only) else 1.0
    assert ranking.tables[0].n == 100 and places(ranking) == by_hand(gains, p_values, ranking.names)
    assert [pair.p_value for pair in ranking.tables[0].pairs] == pytest.approx(list(p_values.values()))
    assert {place for place in places(ranking).values()} > {(5, 5)}
    widths = [pair.difference.high - pair.difference.low for pair in ranking.tables[0].pairs]
    error = np.median(widths) / (2 * stats.norm.isf(0.025))  # found 8 times in 10 at a tenth of 5%
    assert ranking.tables[0].smallest == pytest.approx(error * (stats.norm.isf(0.025 / 10) + stats.norm.ppf(0.8)))


def test_of_a_metric_where_lower_is_better_the_lowest_is_first():
    """Planted fault: the sign of every difference as it is."""
    up, down = (places(oochub.compare(*models(), metric=name)) for name in ("accuracy", "error_rate"))
    assert up == down


def test_the_auc_is_that_of_scikit_learn_and_the_order_of_those_given_does_not_matter():
    given = models()
    ranking = oochub.compare(*given, metric="auc", slice="all")
    for each in ranking.tables[0].models:
        part = given[each.model]
        expected = roc_auc_score(part.label, part.logits[:, 1] - part.logits[:, 0])
        assert each.number == pytest.approx(expected)
    turned = oochub.compare(*given[::-1], metric="auc", slice="all")
    assert places(turned) == places(ranking) and ranking.tables[0].pairs[0].test == "paired DeLong"


def test_models_that_are_one_model_share_all_places():
    one = models(sizes=(1.0,))[0]
    ranking = oochub.compare(one, one, one)
    assert {(each.best, each.worst) for each in ranking.tables[0].models} == {(1, 3)}
    assert ranking.names == ("model 0 (1)", "model 0 (2)", "model 0 (3)")
    assert "No model of 3 is clearly better than another" in ranking.headline


def test_rows_are_joined_by_example():
    given = models(example_id=[f"r{k}" for k in range(300)])
    order = np.random.default_rng(1).permutation(300)
    mixed = [given[0], *(part.take(order) for part in given[1:])]
    assert places(oochub.compare(*mixed)) == places(oochub.compare(*given))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"slice": "outside"}, "slice of these predictions.*'outside'"),
        ({"rows": "methods"}, "apply to reports, got predictions"),
        ({"metric": "acuracy"}, "Did you mean 'accuracy'"),
    ],
)
def test_what_does_not_go_is_said(change, words):
    with pytest.raises(OochubError, match=words):
        oochub.compare(*models(rows=30), **change)


def test_how_many_there_may_be():
    few = models(rows=30, sizes=(1.0, 1.2))
    with pytest.raises(OochubError, match="A single file of predictions"):
        oochub.compare(few[0])
    with pytest.raises(OochubError, match="At most 50 models"):
        oochub.compare(*few * 26)
    with pytest.raises(OochubError, match="do not cover the same examples"):
        oochub.compare(*few, models(rows=40, sizes=(1.0,))[0])


def test_the_command_has_every_form(tmp_path, run):
    """Names that are shared are told apart by the files. Planted fault: the first file for all."""
    paths = []
    for k, part in enumerate(models(sizes=(0.3, 1.4, 1.5))):
        path = tmp_path / f"run-{k}.parquet"
        oochub.Predictions.from_arrays(
            logits=part.logits, label=part.label, model="same", challenge=part.column("challenge")
        ).save(path)
        paths.append(str(path))
    outputs = {name: str(tmp_path / f"out.{end}") for name, end in (("html", "html"), ("csv", "csv"), ("latex", "tex"))}
    words = ["compare", *paths, "--metric", "accuracy", "--json"]
    words += [word for name, path in outputs.items() for word in (f"--{name}", path)]
    code, said, err = run(*words)
    assert code == 0, err
    content = json.loads(said)["comparison"]
    assert content["names"] == ["run-0", "run-1", "run-2"]
    page = ParsedPage((tmp_path / "out.html").read_text())
    assert "run-0" in page.words and "3 models on custom/default" in page.words and page.headings.count(1) == 1
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 1 + 3
    assert "\\toprule" in (tmp_path / "out.tex").read_text()


def test_a_metric_that_a_side_does_not_have_ranks_nothing_there():
    """The worst group is of the rows out of context. Planted fault seen: it is tested in context too."""
    given = models(rows=60, sizes=(0.5, 1.0, 1.5), group=np.array(["0/a", "1/a", "0/b"])[np.arange(60) % 3])
    with pytest.raises(OochubError, match="worst_group cannot be measured on these rows"):
        oochub.compare(*given, metric="worst_group", slice="in_context")
    tables = {table.metric: table for table in oochub.compare(*given, metric="worst_group").tables}
    assert set(tables) == {"worst_group.accuracy", "worst_group.error_rate", "worst_group.nll"}
    for table in tables.values():  # the lowest error is first, and the highest accuracy
        values = [each.number.value for each in table.models]
        assert values == sorted(values, reverse=table.metric == "worst_group.accuracy")
