"""The command: a composition checked, built and loaded; what a search leaves is composed; wrong words and files."""

import json

import datasets
import pandas as pd
import pytest
from typed_commands import in_one_line

from oochub.builders.sources.spawrious_compositions import BREEDS, TABLE_2, read_composition
from oochub.storage.ownership import MANIFEST


@pytest.fixture
def run(run, monkeypatch, tmp_path):
    """Runs a command of words in an empty folder; its exit code, output and errors on one line."""
    monkeypatch.chdir(tmp_path)
    return lambda *words: in_one_line(*run(*words))


@pytest.fixture
def file(tmp_path):
    """A composition of two breeds, one-to-one."""
    path = tmp_path / "dogs.toml"
    path.write_text("""
about = "Two breeds."
[env_1]
split = "train"
repeats = [0]
bulldog = { desert = 0.9, beach = 0.1 }
corgi = { snow = 0.9, beach = 0.1 }
[test]
split = "test"
repeats = [1]
bulldog = { snow = 1.0 }
corgi = { desert = 1.0 }
""")
    return path


def test_a_composition_is_checked(run, file, tmp_path):
    """By hand: 90 of 100 images of two equal breeds on backgrounds of their own, phi = 0.9 / sqrt(0.45 * 0.55 * 4)."""
    code, output, _ = run("spawrious", "compose", file)
    assert code == 0 and "One-to-one (Eq. 1): bulldog with desert, corgi with snow." in output
    assert "+0.90" in output and "bulldog is on beach in env_1, a background of corgi" in output
    assert list(tmp_path.iterdir()) == [file]
    medium = tmp_path / "medium.toml"
    medium.write_text(TABLE_2["o2o_medium"].toml)
    _, output, _ = run("spawrious", "compose", medium, "--json")
    assert json.loads(output)["kind"] == "neither"
    assert json.loads(output)["not_one_to_one"] == [
        "bulldog and mountain have no correlation in test: no image is on mountain"
    ]


@pytest.mark.slow
def test_a_composition_is_built(run, file, spawrious):
    """Plain `datasets` loads it; the correlations beside it are those of its rows. Fault planted: n of the release."""
    code, output, _ = run("spawrious", "compose", file, "--out", "repo", "--data-dir", spawrious)
    assert code == 0 and output.split()[-2:] == ["repo/correlations.csv", "repo"]
    built = datasets.load_dataset("repo", "composed")
    written = pd.read_csv("repo/correlations.csv").set_index(["split", "environment", "label", "background"])
    for split, rows in built.items():
        frame = rows.select_columns(["label", "background"]).to_pandas()
        for (_, _, label, background), cell in written.loc[[split]].iterrows():
            of_label = frame["label"] == rows.features["label"].str2int(label)
            on_background = frame["background"] == rows.features["background"].str2int(background)
            assert (cell["images"], cell["n"]) == ((of_label & on_background).sum(), len(frame))
            expected = of_label.corr(on_background)
            assert cell["correlation"] == pytest.approx(expected, nan_ok=True), (split, label, background)
    again = run("spawrious", "compose", file, "--out", "repo", "--data-dir", spawrious)
    assert again == (code, output, again[2])


@pytest.mark.slow
def test_a_search_leaves_files_that_compose(run, spawrious, tmp_path, monkeypatch):
    """Features are extracted once; the proposals are compositions of the form."""
    monkeypatch.setattr("oochub.studies.spawrious.composition.composition_search._LEAST_STEPS", 20)
    words = ("spawrious", "compose", "--search", 3, "--form", "m2m", "--model", "resnet-tiny", "--out", "found")
    words += ("--data-dir", spawrious)
    code, output, error = run(*words)
    assert code == 0, error
    levels = {f"m2m_{level}.toml" for level in ("easy", "medium", "hard")}
    assert {path.name for path in (tmp_path / "found").iterdir()} == {*levels, "m2m.csv", "features", MANIFEST}
    ranking = pd.read_csv("found/m2m.csv")
    assert ranking["accuracy"].is_monotonic_decreasing and ranking["proposed"].tolist() == ["easy", "medium", "hard"]
    monkeypatch.setattr("oochub.sweep.feature_measurement.predict", None)  # it is not called again
    assert run(*words)[:2] == (code, output)
    composition = read_composition("found/m2m_hard.toml")
    assert ranking["about"].iloc[-1] in composition.about and len(composition.environments["env_1"].shares) == len(
        BREEDS
    )
    assert "Many-to-many (Eq. 2): bulldog" in run("spawrious", "compose", "found/m2m_hard.toml")[1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "Pass one of two"),
        (("dogs.toml", "--model", "resnet-tiny"), "for the search"),
        (("--search", 2), "pass --model"),
        (("--search", 2, "--model", "resnet-tiny", "--out", "found", "--num-proc", 2), "remove it"),
        (("--search", 271, "--model", "resnet-tiny", "--out", "found"), "There are 270 compositions m2m"),
        (("--search", 2, "--model", "no/model", "--out", "found"), "no/model"),
        (("nowhere.toml",), "nowhere.toml: there is no such file"),
        (("dogs.toml", "--out", "repo", "--data-dir", "nowhere"), "nowhere"),
    ],
)
def test_wrong_words(run, file, tmp_path, words, message):
    """No file is left behind, and nothing slow is done."""
    code, _, error = run("spawrious", "compose", *words)
    assert code == 2 and message in error
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [file]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("snow = 0.9", "snowy = 0.9", "'snowy'"),
        ("desert = 0.9", "desert = 1.9", "[env_1]: bulldog.desert must be a share in [0, 1], got 1.9"),
        ("[test]", "[test", "is not TOML"),
    ],
)
def test_a_wrong_file_is_said(run, file, old, new, message):
    """The table, the key and what was given."""
    file.write_text(file.read_text().replace(old, new))
    code, _, error = run("spawrious", "compose", file)
    assert code == 2 and "dogs.toml" in error and message in error


@pytest.mark.slow
@pytest.mark.parametrize("typed", ["m2m_hard", "spawrious/m2m_hard"])
def test_a_challenge_of_the_paper_has_a_name(run, tmp_path, typed):
    """As its file is read. Planted fault: the name taken for a path; `--out` that builds something else."""
    file = tmp_path / "m2m.toml"
    file.write_text(TABLE_2["m2m_hard"].toml)
    code, output, _ = run("spawrious", "compose", typed)
    assert code == 0 and output == run("spawrious", "compose", file)[1] and "Many-to-many (Eq. 2): bulldog" in output
    code, _, error = run("spawrious", "compose", typed, "--out", "repo")
    assert code == 2 and "`oochub build spawrious/m2m_hard --out repo` builds it" in error
    code, _, error = run("spawrious", "compose", typed.replace("hard", "hrad"))
    assert code == 2 and "Did you mean 'm2m_hard'" in error
