"""Scores the answers of any program as its user does, where no package is installed that only models need.

`python tests/answers_alone.py FOLDER` is run by .ci/run with the wheel before torch is installed, and by a test with
the imports of torch, transformers and Accelerate blocked.
"""

import contextlib
import io
import sys
from importlib.util import find_spec
from pathlib import Path

ABSENT = ("torch", "transformers", "accelerate")
_LARGEST = 700  # MB of an environment with these packages alone


def type_command(*words: str) -> tuple[int, str]:
    """The exit code and the text of a command, typed in this process."""
    from oochub import cli

    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
        before, sys.argv = sys.argv, ["oochub", *words]
        try:
            cli.main()
        except SystemExit as end:
            return int(end.code or 0), text.getvalue()
        finally:
            sys.argv = before
    return 0, text.getvalue()


def score_answers(folder: Path) -> None:
    """Raises unless everything that scores answers works; what needs a model says what to install."""
    import numpy as np

    import oochub
    from oochub.builders.toy_worlds.toy_spawrious import toy_spawrious

    raw = str(toy_spawrious(folder / "raw", size="small"))
    test = oochub.load("spawrious/o2o_hard", data_dir=raw)["test"]
    names, rng = test.features["label"].names, np.random.default_rng(0)
    right, benchmark = {}, ["--benchmark", "spawrious/o2o_hard", "--data-dir", raw]
    for model, share in (("one", 0.9), ("two", 0.6)):
        answers = [names[label if rng.random() < share else rng.integers(len(names))] for label in test["label"]]
        right[model] = np.mean([answer == names[label] for answer, label in zip(answers, test["label"], strict=True)])
        rows = (f"{name},{answer}\n" for name, answer in zip(test["example_id"], answers, strict=True))
        (folder / f"{model}.csv").write_text(f"example_id,prediction\n{''.join(rows)}", "utf-8")
    one, two, report, other, rules = (
        str(folder / name) for name in ("one.csv", "two.csv", "one.json", "two.json", "rules.toml")
    )
    Path(rules).write_text('[[rule]]\nmetric = "accuracy"\nat_least = 0.3\n', "utf-8")
    entry = [word for pair in ("track=open", "selection=none", "supervision=labels") for word in ("--entry", pair)]
    commands = [
        ["list", "benchmark"],
        ["show", "spawrious"],
        ["evaluate", one, *benchmark, "--out", report, "--keep", str(folder / "one.parquet")],
        ["evaluate", two, *benchmark, "--out", other],
        ["compare", report, other],
        ["check", report, "--rules", rules],
        ["report", report, "--html", str(folder / "page.html"), "--latex", str(folder / "table.tex")],
        ["report", report, "--plot", f"groups={folder / 'groups.png'}"],
        ["push", report, "--leaderboard", str(folder / "results"), *entry],
        ["leaderboard", str(folder / "results"), "--out", str(folder / "site")],
        ["example", str(folder / "photographs"), "--photographs"],
        ["build", str(folder / "photographs"), "--out", str(folder / "built")],
    ]
    for words in commands:
        if "--plot" in words and find_spec("matplotlib") is None:
            continue
        code, text = type_command(*words)
        assert code == 0, f"oochub {' '.join(words)} ended with {code}:\n{text}"
    for file, model in ((report, "one"), (other, "two")):
        assert abs(oochub.Report.load(file)["accuracy"].value - right[model]) < 1e-12
    refused = [
        ["train", "spawrious/o2o_hard", "--out", str(folder / "run")],
        ["predict", "a_model", raw, "--out", str(folder / "p.parquet")],
        ["audit", "a_model", raw],
        ["repair", "a_model", raw],
        ["demo"],
    ]
    for words in refused:
        code, text = type_command(*words)
        assert code == 2 and "pip install 'oochub[models]'" in text, f"oochub {' '.join(words)}: {code}\n{text}"
    for name in ("train", "predict", "audit", "repair", "RobustTrainer"):
        try:
            getattr(oochub, name)("spawrious/o2o_hard", folder / "run")
        except oochub.OochubError as error:
            assert "oochub[models]" in str(error), error
        else:
            raise AssertionError(f"oochub.{name} needs torch")
    sys.stdout.write(
        f"answers: {len(commands)} commands without {', '.join(ABSENT)}; {len(refused)} say what to install\n"
    )


def measure_environment() -> float:
    """Megabytes of the files of this environment."""
    return sum(file.lstat().st_size for file in Path(sys.prefix).rglob("*") if not file.is_dir()) / 1e6


def main() -> None:
    """Raises when something that scores answers fails, or where the environment is not a light one."""
    assert not any(map(find_spec, ABSENT)), "an environment without the extra `models` is needed"
    size = measure_environment()
    assert size < _LARGEST, f"{size:.0f} MB"
    sys.stdout.write(f"environment: {size:.0f} MB\n")
    score_answers(Path(sys.argv[1]))


if __name__ == "__main__":
    main()
