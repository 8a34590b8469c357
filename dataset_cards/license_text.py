"""The LICENSE.md of a benchmark's repository: that of the pictures and that of the labels apart."""

from oochub.benchmark import Benchmark


def license_text(benchmark: Benchmark) -> str:
    """Markdown, from the declaration.

    >>> from oochub import get
    >>> print(license_text(get("benchmark", "nooch")).splitlines()[2])
    - Images: Flickr terms of use; each picture has its own licence.
    """
    files = "\n".join(f"| `{raw.path}` | {raw.url} | {raw.license} |" for raw in benchmark.raw_files)
    return f"""# Licenses of {benchmark.title}

- Images: {benchmark.images_license}.
- Labels: {benchmark.annotations_license}.

What it was built from:

| file | from | license |
|---|---|---|
{files}
"""
