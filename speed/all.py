"""Measures again and writes the tables of docs/speed.md and docs/scale.md: `python speed/all.py [NAME ...]`.

Without a name every script of this folder runs, one after the other; with names (`startup evaluation`) these alone, and
the other tables stay. docs/speed.json keeps what each script printed last, with the commit, day and load it ran at.
`--stale` runs nothing: it names the tables that are older than the code that their script measures.
"""

import argparse
import datetime
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
SPEED, STORED, PAGE = ROOT / "speed", ROOT / "docs" / "speed.json", ROOT / "docs" / "speed.md"
SCALE, SLOPES = ROOT / "docs" / "make" / "scale_page.py", ROOT / "docs" / "scale" / "slopes.json"
START, END = "<!-- tables: python speed/all.py -->\n", "<!-- end of tables -->\n"
_CODE = re.compile(r"^Measured code: (.+)\.$", re.MULTILINE)


class Script(NamedTuple):
    """A script of this folder that prints tables."""

    name: str
    title: str
    rooms: tuple[str, ...]

    @property
    def code(self) -> list[str]:
        """The paths whose changes make its figures old: its rooms of the core, their plug-ins, and the script."""
        folders = [f"{parent}{room}" for room in self.rooms for parent in ("src/oochub/", "")]
        return [f"speed/{self.name}.py", *(folder for folder in folders if (ROOT / folder).exists())]


def scripts() -> dict[str, Script]:
    """Every script by its name; a file whose docstring names no measured code is a part of others."""
    texts = {path.stem: path.read_text("utf-8").split('"""')[1] for path in sorted(SPEED.glob("*.py"))}
    return {
        name: Script(name, re.split(r"\.\n|: `", text)[0].replace("\n", " "), tuple(match[1].split(", ")))
        for name, text in texts.items()
        if (match := _CODE.search(text))
    }


def git(*words: str) -> str:
    """What git answers, without the line's end; empty where it knows nothing."""
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


def measured(script: Script) -> dict[str, str]:
    """Runs a script and gives what it printed, with where and when.

    Raises:
        subprocess.CalledProcessError: The script failed; its own message stands above.
    """
    load = os.getloadavg()[0]
    command = [sys.executable, str(SPEED / f"{script.name}.py"), *(["--out", str(SLOPES)] * (script.name == "scale"))]
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests" / "helpers")])
    # What a user has installed is compiled once, not in each process.
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": ""}
    printed = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
    changed = git("status", "--porcelain", "--", *script.code)
    commit = git("rev-parse", "--short=9", "HEAD") + " with changes" * bool(changed)
    day, cores = datetime.date.today().isoformat(), f"{os.cpu_count()} cores, {platform.machine()}"
    return {"commit": commit, "day": day, "machine": f"{cores}, load {load:.1f}", "tables": printed.strip()}


def page(stored: dict[str, dict[str, str]]) -> str:
    """docs/speed.md with the stored tables between its two marks."""
    parts = [START]
    for name, script in scripts().items():
        if result := stored.get(name):
            source = f"`python speed/{name}.py`, commit {result['commit']}, {result['day']}: {result['machine']}."
            parts.append(f"\n## {script.title}\n\n{result['tables']}\n\n{source}\n")
    before, _, rest = PAGE.read_text("utf-8").partition(START)
    return before + "".join(parts) + "\n" + END + rest.partition(END)[2]


def stale(stored: dict[str, dict[str, str]]) -> Iterator[str]:
    """A line for each table that was never made, or whose code has changed since."""
    for name, script in scripts().items():
        if name not in stored:
            yield f"speed/{name}.py: never measured"
            continue
        first = stored[name]["commit"].split()[0]
        if not git("cat-file", "-t", first):
            yield f"speed/{name}.py: commit {first} is not in this clone"
        elif count := len(git("log", "--oneline", f"{first}..HEAD", "--", *script.code).splitlines()):
            yield f"speed/{name}.py: measured {stored[name]['day']} at {first}, {count} commits to its code since"


def main() -> int:
    """Runs what is asked for; a script that fails keeps its old table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--stale", action="store_true", help="name the tables that are older than their code")
    arguments = parser.parse_args()
    if unknown := sorted(set(arguments.names) - set(scripts())):
        parser.error(f"no script {', '.join(unknown)}; there are {', '.join(scripts())}")
    stored = json.loads(STORED.read_text("utf-8"))
    if arguments.stale:
        print("\n".join(stale(stored)) or "no table is older than the code that it measures")
        return 0
    failed, names = [], arguments.names or list(scripts())
    for number, name in enumerate(names, 1):
        print(f"{name} ({number} of {len(names)})", flush=True)
        try:
            stored[name] = measured(scripts()[name])
        except subprocess.CalledProcessError as error:
            failed.append(f"{name} (exit {error.returncode})")
            continue
        STORED.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", "utf-8")
        PAGE.write_text(page(stored), "utf-8")
    if "scale" in names and "scale (" not in " ".join(failed):
        subprocess.run([sys.executable, str(SCALE)], cwd=ROOT, check=True)
    if failed:
        print(f"these failed and keep their old tables: {', '.join(failed)}", file=sys.stderr)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
