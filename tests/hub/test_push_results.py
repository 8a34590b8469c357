"""Numbers of reports in a model's repository, over the tests' Hub with the real clients."""

import hashlib
import json
import warnings

import pytest
import yaml
from huggingface_hub import HfApi, parse_eval_result_entries
from reports import nooch_report, spawrious_report

from oochub.errors import OochubError, OochubWarning
from oochub.hub.push_results import push_results

MODEL, FILE = "user/net", ".eval_results/nooch.yaml"
RECORD = ".eval_results/nooch-ce_car.json"
RANKED = {"ce_car_auc", "ce_car_auc_hard", "ce_car_accuracy", "ce_car_auc_in_context", "ce_car_auc_out_of_context"}


@pytest.fixture
def report(tmp_path):
    file = tmp_path / "report.json"
    file.write_text(json.dumps(nooch_report()))
    return file


@pytest.fixture
def model(hub):
    api = HfApi()
    api.create_repo(MODEL)
    api.upload_file(path_or_fileobj=b"# Net", path_in_repo="README.md", repo_id=MODEL)
    hub.requests.clear()
    return MODEL


def push(report, to=MODEL, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OochubWarning)
        return push_results(report, to, **{"dataset": "user/nooch", **options})


def there(hub, file=FILE, revision="main"):
    return yaml.safe_load(hub.content(MODEL, file, revision))


def test_what_is_pushed_reads_back_as_the_numbers_of_the_report(hub, model, report):
    """By the Hub's own reader and by the client's `evalResults`. Planted fault: an entry for each slice and metric."""
    pushed = push(report)
    assert set(pushed.added) == {FILE, RECORD} and pushed.texts[FILE].encode() == hub.content(MODEL, FILE)
    entries = {entry.task_id: entry for entry in parse_eval_result_entries(there(hub))}
    assert set(entries) == RANKED
    numbers = json.loads(report.read_text())["slices"][0]["metrics"]
    assert entries["ce_car_auc_hard"].value == numbers["auc_hard"]["value"]
    assert entries["ce_car_auc"].source_url == f"{hub.endpoint}/{MODEL}/blob/main/{RECORD}"
    record = {
        each["evaluation_result_id"]: each for each in json.loads(hub.content(MODEL, RECORD))["evaluation_results"]
    }
    assert record["all/auc"]["score_details"]["score"] == entries["ce_car_auc"].value
    assert b"base64" not in hub.content(MODEL, RECORD) and len(hub.content(MODEL, RECORD)) < 10**5
    assert not any(entry.verify_token for entry in entries.values())
    read = HfApi().model_info(MODEL, expand=["evalResults"]).eval_results
    assert {entry.task_id: entry.value for entry in read} == {task: entry.value for task, entry in entries.items()}
    assert hub.content(MODEL, "README.md") == b"# Net"


def test_the_same_report_again_makes_no_commit(hub, model, report):
    """Planted fault: the date of the push in the entries."""
    first = push(report)
    again = push(report)
    assert not again.is_change and again.commit == first.commit
    assert hub.repository(MODEL).at("main").files == hub.repository(MODEL).at(first.commit).files
    assert len([seen for seen in hub.requests if "/commit/" in seen.path]) == 1


def test_entries_of_others_stay_as_they_are(hub, model, report):
    """By hand: other tasks, other data, a verified number of ours, two that differ in notes alone, unknown fields."""
    source = {"url": f"{hub.endpoint}/datasets/user/nooch", "name": "oochub"}
    of_task = {"dataset": {"id": "user/nooch", "task_id": "ce_car_auc"}, "value": 0.1}
    others = [
        {"dataset": {"id": "cais/hle", "task_id": "ce_car_auc"}, "value": 3, "notes": "tools"},
        {"dataset": {"id": "cais/hle", "task_id": "ce_car_auc"}, "value": 4, "notes": "no tools"},
        {**of_task, "evaluation_framework": "hle", "source": source},
        {**of_task, "verifyToken": "ey.signed", "source": source},
        {**of_task, "source": {"url": "https://example.org/theirs"}},
    ]
    ours = {"dataset": {"id": "user/nooch", "task_id": "ce_car_auc", "revision": "b" * 40}, "value": 0.2}
    text = yaml.safe_dump([*others[:3], {**ours, "source": source, "notes": "old"}, *others[3:]])
    files = {FILE: text.encode(), ".eval_results/hle.yaml": b"- value: 1 # theirs\n"}
    for path, content in files.items():
        HfApi().upload_file(path_or_fileobj=content, path_in_repo=path, repo_id=MODEL)
    push(report)
    entries = there(hub)
    assert [entries[k] for k in (0, 1, 2, 4, 5)] == others
    assert entries[3]["value"] == nooch_report()["slices"][0]["metrics"]["auc"]["value"]
    assert "revision" not in entries[3]["dataset"]
    assert {entry["dataset"]["task_id"] for entry in entries[6:]} == RANKED - {"ce_car_auc"}
    assert hub.content(MODEL, ".eval_results/hle.yaml") == files[".eval_results/hle.yaml"]
    assert not push(report).is_change


def test_an_old_number_of_ours_that_stands_twice_goes(hub, model, report):
    """The first alone was replaced: two numbers of one task and source stood there, one of them stale."""
    source = {"url": f"{hub.endpoint}/datasets/user/nooch", "name": "oochub"}
    old = {"dataset": {"id": "user/nooch", "task_id": "ce_car_auc"}, "value": 0.2, "source": source}
    text = yaml.safe_dump([old, {"value": "0.9", 5: [], "dataset": 7}, {**old, "value": "0.3"}])
    HfApi().upload_file(path_or_fileobj=text.encode(), path_in_repo=FILE, repo_id=MODEL)
    push(report)
    entries = there(hub)
    assert entries[1] == {"value": "0.9", 5: [], "dataset": 7}  # somebody else's, whatever it is
    mine = [one["value"] for one in entries if one["dataset"] != 7 and one["dataset"]["task_id"] == "ce_car_auc"]
    assert mine == [nooch_report()["slices"][0]["metrics"]["auc"]["value"]]
    assert not push(report).is_change


@pytest.mark.parametrize(
    "text",
    [
        b"- &a [*a]",
        b"- &a {a: *a}",
        b"- {value: &a [*a], dataset: {id: 5}}",
        b"- {value: .nan, date: 2025-01-01}",
        b"- !!python/object/apply:os.system [ls]",
        b"---\n- {a: 1}\n---\n- {b: 1}",
        b"- {value: 1" + b"0" * 5000 + b"}",
        b"- {a: '\\u202e', b: \"\\x1b\"}",
        b"\n".join(
            [b"- a0: &a0 {x: y}"] + [b"- a: &a%d [%s]" % (k, b",".join([b"*a%d" % (k - 1)] * 9)) for k in range(1, 9)]
        ),
    ],
)
def test_whatever_stands_there_is_kept_or_refused_in_words(hub, model, report, text):
    """Numbers as text, references to themselves, names that are none, ten million references in one line."""
    HfApi().upload_file(path_or_fileobj=text, path_in_repo=FILE, repo_id=MODEL)
    try:
        push(report)
    except OochubError as error:
        assert "nooch.yaml of user/net" in str(error) and hub.content(MODEL, FILE) == text
    else:
        entries, before = there(hub), yaml.safe_load(text)
        assert yaml.safe_dump(entries[: len(before)]) == yaml.safe_dump(before)  # references stay references
        assert len(parse_eval_result_entries(entries[len(before) :])) == len(RANKED)
        assert not push(report).is_change


def test_a_folder_of_reports_of_tasks_and_benchmarks(hub, model, tmp_path):
    """One commit, a file for each benchmark. Planted fault: the last report of a benchmark alone."""
    boat = nooch_report()
    boat["benchmark"]["config"] = "gist_boat"
    folder = tmp_path / "reports"
    folder.mkdir()
    for name, content in {"ce_car": nooch_report(), "gist_boat": boat, "sp": spawrious_report()}.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    pushed = push(folder, evidence="https://example.org/predictions")
    assert set(pushed.added) == {FILE, ".eval_results/spawrious.yaml"}
    tasks = [entry["dataset"]["task_id"] for entry in there(hub)]
    assert sorted(tasks) == sorted(RANKED | {task.replace("ce_car", "gist_boat") for task in RANKED})
    assert {entry["source"]["url"] for entry in there(hub)} == {"https://example.org/predictions"}


def test_a_model_of_somebody_else_gets_a_pull_request(hub, model, report, monkeypatch):
    """Planted fault: `pull_request` not handed on."""
    monkeypatch.setenv("HF_TOKEN", hub.stranger_token)
    with pytest.raises(OochubError, match="403"):
        push(report)
    pushed = push(report, pull_request=True)
    assert pushed.pull_request and FILE not in hub.files(MODEL)
    assert {entry["dataset"]["task_id"] for entry in there(hub, revision="refs/pr/1")} == RANKED


def test_a_rehearsal_needs_no_token_and_says_the_yaml(hub, model, report, monkeypatch):
    """Planted fault: the YAML said only of what is written."""
    monkeypatch.delenv("HF_TOKEN")
    planned = push(report, dry_run=True)
    assert planned.commit is None and FILE not in hub.files(MODEL)
    assert {entry["dataset"]["task_id"] for entry in yaml.safe_load(planned.texts[FILE])} == RANKED
    assert all(seen.method == "GET" for seen in hub.requests)


def test_what_is_left_out_is_said(hub, model, report):
    with pytest.warns(OochubWarning, match=r"ce_car_error_rate, ce_car_nll, ce_car_ece \(lower is better") as said:
        push_results(report, MODEL, dataset="user/nooch")
    assert said[0].filename == __file__


def test_no_token_is_said_before_anything_is_read(hub, tmp_path, monkeypatch):
    """Planted fault: the report loaded first, which would speak of a missing file."""
    monkeypatch.delenv("HF_TOKEN")
    with pytest.raises(OochubError, match="Not logged in"):
        push(tmp_path / "nope.json")
    assert not hub.requests


def test_a_wrong_token_is_refused_in_one_line(hub, model, report, monkeypatch, capfd):
    monkeypatch.setenv("HF_TOKEN", "hf_wrongofloopback")
    with pytest.raises(OochubError, match="refused the token") as error:
        push(report)
    assert "\n" not in str(error.value) and "hf_wrong" not in str(error.value) + "".join(capfd.readouterr())


def _of_nothing(content):
    for part in content["slices"]:
        part["metrics"] = {name: part["metrics"][name] for name in ("nll", "ece")}


WRONG = {
    "no report": (lambda content: None, {"report": "nope.json"}, "Report not found"),
    "no dataset": (lambda content: None, {"dataset": None}, r"does not name its dataset.* Pass dataset= user/name"),
    "a name that is none": (lambda content: None, {"dataset": "nooch"}, "named user/name, got 'nooch'"),
    "no model": (lambda content: None, {"to": "user/none"}, "no model user/none that you may read"),
    "nothing that ranks": (_of_nothing, {}, r"Nothing in .* can be shown on the Hub: ce_car_nll, ce_car_ece \(lower"),
    "an empty folder": (lambda content: None, {"report": "."}, "contains no report"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_pushed_is_said_in_words(case, hub, model, report, tmp_path):
    change, options, words = WRONG[case]
    content = nooch_report()
    change(content)
    report.write_text(json.dumps(content))
    (tmp_path / "empty").mkdir()
    source = {"nope.json": tmp_path / "nope.json", ".": tmp_path / "empty"}.get(options.get("report"), report)
    with pytest.raises(OochubError, match=words):
        push(source, **{name: value for name, value in options.items() if name != "report"})
    assert not [seen for seen in hub.requests if seen.method == "POST"]


@pytest.mark.slow
@pytest.mark.parametrize("text", [b"- [", b"a: 1", b"- 1", b"\xff", b"- date: 2025-13-45", b"[" * 9999])
def test_a_file_that_is_no_list_of_results_is_not_replaced(hub, model, report, text):
    """Planted fault: what cannot be read taken for nothing."""
    HfApi().upload_file(path_or_fileobj=text, path_in_repo=FILE, repo_id=MODEL)
    with pytest.raises(OochubError, match=r"nooch.yaml of user/net.*(Fix|remove) it"):
        push(report)
    assert hub.content(MODEL, FILE) == text


def test_numbers_of_other_weights_are_refused(hub, model, report):
    """Its weights are the digest that the report names, or it bears the model's name; else it is of another model."""
    weights = b"w" * 100
    HfApi().upload_file(path_or_fileobj=weights, path_in_repo="model.safetensors", repo_id=MODEL)
    content = nooch_report()

    def push_of(name, revision):
        content["model"] |= {"id": name, "revision": revision}
        report.write_text(json.dumps(content))
        return push(report, dry_run=True)

    with pytest.raises(OochubError, match=r"for the model runs/x with weights 0000.*, but user/net contains others"):
        push_of("runs/x", "0" * 40)
    for name, revision in [("runs/x", hashlib.sha256(weights).hexdigest()[:40]), (MODEL, "0" * 40), ("runs/x", None)]:
        assert push_of(name, revision).added


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::oochub.errors.OochubWarning")
def test_the_command_pushes_results_and_metrics(hub, model, report, run):
    """As a user types it. Planted faults: an option that is not handed on; a report taken for a repository."""
    words = [report, "--to", MODEL, "--dataset", "user/nooch"]
    code, out, _ = run("push", *words, "--dry-run")
    assert code == 0 and "task_id: ce_car_auc_hard" in out and "Would add 2" in out and FILE not in hub.files(MODEL)
    code, out, _ = run("push", *words, "--pull-request", "--evidence", "https://example.org", "--json")
    assert code == 0 and "/discussions/1" in json.loads(out)["url"] and FILE not in hub.files(MODEL)
    assert there(hub, revision="refs/pr/1")[0]["source"]["url"] == "https://example.org"
    code, out, _ = run("push", report.parent, *words[1:])
    assert code == 0 and "Added 2 " in out and FILE in hub.files(MODEL)
    code, out, _ = run("push", "metric:auc", "--to", "user/auc", "--private")
    assert code == 0 and "auc.py" in hub.files("spaces/user/auc") and hub.repository("spaces/user/auc").private
    for given, said in [
        ([report, "--to", MODEL], "Pass --dataset user/name"),
        ([*words, "--private"], "is a report: remove --private"),
        ([*words, "--config", "ce_car"], "is not a benchmark: remove --config"),
        (["metric:auc", "--to", "user/auc", "--dataset", "user/nooch"], "is not a report: remove --dataset"),
        (["metric:auk", "--to", "user/auk"], "Did you mean 'auc'"),
    ]:
        code, _, err = run("push", *given)
        assert code == 2 and said in " ".join(err.split()), err


@pytest.mark.parametrize("tags", [["out-of-context"], ["benchmark:official"]])
def test_a_data_set_that_is_no_benchmark_of_the_hub_is_said(hub, model, report, tags):
    """Planted fault seen: the tag not looked for."""
    HfApi().create_repo("user/nooch", repo_type="dataset")
    card = f"---\n{yaml.safe_dump({'tags': tags})}---\n".encode()
    HfApi().upload_file(path_or_fileobj=card, path_in_repo="README.md", repo_id="user/nooch", repo_type="dataset")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        push_results(report, MODEL, dataset="user/nooch")
    said = [str(each.message) for each in caught if "not on the Hub's list of benchmarks" in str(each.message)]
    assert bool(said) == (tags == ["out-of-context"])
