"""The numbers of a report as entries of `.eval_results`."""

from huggingface_hub import eval_result_entries_to_yaml, parse_eval_result_entries
from reports import nooch_report, read, spawrious_report

from oochub.hub.push_results import _make_result_entries

_OF = {"dataset": "user/nooch", "revision": "a" * 40, "source": "https://huggingface.co/datasets/user/nooch"}


def test_the_entries_hold_the_numbers_of_the_report() -> None:
    """Read back by the Hub's own client and compared with the JSON of the report, by the task ids written by hand."""
    content = nooch_report()
    found = _make_result_entries(read(content), **_OF)
    entries = {entry.task_id: entry for entry in parse_eval_result_entries(eval_result_entries_to_yaml(found.entries))}
    slices = {part["role"]: part["metrics"] for part in content["slices"]}
    expected = {
        "ce_car_auc": slices["all"]["auc"],
        "ce_car_auc_hard": slices["all"]["auc_hard"],
        "ce_car_accuracy": slices["all"]["accuracy"],
        "ce_car_auc_in_context": slices["in"]["auc"],
        "ce_car_auc_out_of_context": slices["out"]["auc"],
    }
    assert set(entries) == set(expected)
    for task, number in expected.items():
        entry = entries[task]
        assert entry.value == number["value"]
        assert f"n={number['n']}, 95% interval [{number['low']:.6g}, {number['high']:.6g}]" in entry.notes
        assert (entry.dataset_id, entry.dataset_revision) == ("user/nooch", "a" * 40)
        assert entry.date == content["provenance"]["when"]["created"] and entry.verify_token is None
        assert (entry.source_url, entry.source_name) == (_OF["source"], "oochub")
        for said in (*content["notes"], "nooch 1.0.0", "predictions sha256 9f9f9f9f9f9f", "oochub 0.1.0"):
            assert said in entry.notes


def test_what_no_leaderboard_can_rank_is_left_out_and_said() -> None:
    """Lower-is-better numbers, and what is undefined. Planted fault seen: nan written as a value."""
    content = nooch_report()
    hard = content["slices"][0]["metrics"]
    hard["auc_hard"] = hard["auc_hard"] | {"value": None, "low": None, "high": None, "reason": "no row is hard"}
    found = _make_result_entries(read(content), **_OF)
    assert found.left_out == {
        "ce_car_auc_hard": "undefined: no row is hard",
        "ce_car_error_rate": "lower is better, but the Hub ranks by higher",
        "ce_car_nll": "lower is better, but the Hub ranks by higher",
        "ce_car_ece": "lower is better, but the Hub ranks by higher",
    }
    assert not {entry.task_id for entry in found.entries} & set(found.left_out)


def test_a_number_without_interval_says_n_alone() -> None:
    content = spawrious_report()
    content["slices"][1]["metrics"]["accuracy"] |= {"low": None, "high": None}
    notes = {entry.task_id: entry.notes for entry in _make_result_entries(read(content), **_OF).entries}
    assert notes["o2o_hard_accuracy_out_of_context"].startswith("n=800; spawrious 1.0.0")
    assert "n=960, 95% interval [" in notes["o2o_hard_accuracy_in_context"]
