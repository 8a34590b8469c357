"""The processes that a process has started, and those that they have."""

from pathlib import Path


def list_descendants(process: int) -> dict[int, str]:
    """The process and those below it by number, with the words that they were started with."""
    children: dict[int, list[int]] = {}
    for each in Path("/proc").glob("[0-9]*"):
        try:
            words = (each / "stat").read_text().rpartition(")")[2].split()
            children.setdefault(int(words[1]), []).append(int(each.name))
        except OSError:
            continue
    found, names = [process], {}
    for one in found:
        found += children.get(one, [])
        try:
            names[one] = Path(f"/proc/{one}/cmdline").read_text()
        except OSError:
            continue
    return names
