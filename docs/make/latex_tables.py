"""Makes docs/latex/*.tex, small papers with a table each of report, compare and sweep, and an image of each.

`python docs/make/latex_tables.py` runs it in about a minute. The models of report and compare are those of the figures
of NOOCH, a linear layer on a toy world; the sweep is that of docs/results.md. Images need pdflatex and pdftoppm, in
Debian texlive-latex-recommended and poppler-utils; without them the papers alone are written.
"""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd
from PIL import Image, ImageChops

import figures
import oochub
from oochub.storage.files import write_whole
from oochub.sweep.runs import Run, RunResult
from oochub.sweep.sweep_recipe import read_recipe
from oochub.sweep.sweep_table import SweepSummary, make_run_table

_DOCS = Path(__file__).resolve().parents[1]
_METHODS = ("ERM", "CVaR", "Focal", "JTT", "Mixup", "Undersample")
_TASK = "ce_cup"
_DPI, _EDGE = 220, 24


def paper(tables: Sequence[str], command: str) -> str:
    r"""A paper of two columns with the tables, and a sentence that refers to each by its label.

    >>> print(paper([r"\label{tab:a}"], "oochub report").splitlines()[0])
    \documentclass[twocolumn]{article}
    """
    labels = re.findall(r"\\label\{([^}]*)\}", "".join(tables))
    named = " and ".join(rf"Table~\ref{{{label}}}" for label in labels)
    lines = [r"\documentclass[twocolumn]{article}", r"\usepackage{booktabs}  % all that the tables need"]
    lines += [r"\pagestyle{empty}", r"\begin{document}", "", *tables]
    said = [rf"\noindent {named}, written by", "", rf"\noindent\verb|{command}|"]
    return "\n".join([*lines, *said, "", r"\end{document}", ""])


def make_papers() -> Iterator[tuple[str, str]]:
    """Each paper by its name."""
    predictions = figures.made_of_toy_world()
    reports = [each for each in predictions["reports"] if each.provenance.training]
    one = next(report for report in reports if report.benchmark.config == _TASK)
    yield "report", paper([one.to_latex()], "oochub report erm.json --latex erm.tex")
    tables = [oochub.compare(*reports).to_latex(), oochub.compare(*_pick(predictions["predictions"])).to_latex()]
    yield "compare", paper(tables, "oochub compare reports/ --latex all.tex")
    yield "sweep", paper([_write_sweep()], "oochub sweep dogs.toml --latex dogs.tex")


def _pick(predictions: Mapping[tuple[str, int], oochub.Predictions]) -> list[oochub.Predictions]:
    return [oochub.task(predictions[method, 0], _TASK) for method in ("erm", "reweight")]


def _write_sweep() -> str:
    """The runs of docs/results.md on one task, as the table of their sweep."""
    recipe = read_recipe(str(_DOCS / "results" / "toy_spawrious.toml"))
    runs = pd.read_parquet(_DOCS / "results" / "runs.parquet")
    runs = runs[(runs["task"] == "spawrious/o2o_hard") & runs["method"].isin(_METHODS)]
    results = []
    for row in runs.to_dict("records"):
        names = [f"{side}{end}" for side in ("in_context", "out_of_context") for end in ("", ".low", ".high")]
        numbers = {re.sub("context", f"context/{row['metric']}", name): row[name] for name in names}
        run = Run(
            task=row["task"],
            method=row["method"],
            objective=row["objective"],
            seed=int(row["seed"]),
            setting={},
            fixed={},
            model="",
        )
        results.append((run, RunResult(headline=row["metric"], numbers={"validation/nll": 0.0, **numbers})))
    return SweepSummary(recipe=recipe, runs=make_run_table(recipe, results), track="fine-tuning").to_latex()


def draw(paper_file: Path, target: Path) -> None:
    """Sets a paper with pdflatex, twice for its references, and writes what its pages print, below each other."""
    with tempfile.TemporaryDirectory() as scratch:
        words = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", f"-output-directory={scratch}", paper_file]
        for _ in range(2):
            subprocess.run(words, check=True, capture_output=True)
        pdf = Path(scratch, paper_file.with_suffix(".pdf").name)
        subprocess.run(["pdftoppm", "-r", str(_DPI), "-png", pdf, Path(scratch, "page")], check=True)
        pages = [Image.open(page).convert("RGB") for page in sorted(Path(scratch).glob("page*.png"))]
    parts = []
    for page in pages:
        left, top, right, bottom = ImageChops.invert(page).getbbox() or (0, 0, *page.size)
        parts.append(page.crop((left - _EDGE, top - _EDGE, right + _EDGE, bottom + _EDGE)))
    size = max(part.width for part in parts), sum(part.height for part in parts)
    whole, top = Image.new("RGB", size, "white"), 0
    for part in parts:
        whole.paste(part, (0, top))
        top += part.height
    with write_whole(target) as draft:
        whole.save(draft, format="webp", quality=80, method=6)


def main() -> None:
    """Writes docs/latex/*.tex and docs/figures/latex_*.webp."""
    for name, text in make_papers():
        file = _DOCS / "latex" / f"{name}.tex"
        file.parent.mkdir(exist_ok=True)
        with write_whole(file) as draft:
            draft.write_text(text, "utf-8")
        if shutil.which("pdflatex") and shutil.which("pdftoppm"):
            draw(file, _DOCS / "figures" / f"latex_{name}.webp")


if __name__ == "__main__":
    main()
