"""Croissant 1.1 beside a repository's card: its files, the columns of its rows, and what its makers and readers owe.

The responsible-AI part says what a build knows: on which rows context misleads, how many training rows each group has,
what is partial, how the rows were made. What it does not know, such as who annotated or who is shown, is left out.
"""

import json
import re
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from unicodedata import normalize

import datasets

from oochub import catalog
from oochub.benchmark import Benchmark
from oochub.data.build_file import BuildFile, ConfigFiles
from oochub.records.build_record import BUILD_COLUMN, BuildRecord
from oochub.storage.files import write_whole

CROISSANT = "croissant.json"
"""The name of the file."""

_Document = dict[str, object]  # of JSON-LD
_VERSION = "http://mlcommons.org/croissant/1.1"
_RESPONSIBLE = "http://mlcommons.org/croissant/RAI/1.0"
_FORMATS = {".parquet": "application/x-parquet", ".tar": "application/x-tar", ".json": "application/json"}
_ACCENTS = {"`": "\u0300", "'": "\u0301", "^": "\u0302", '"': "\u0308", "~": "\u0303"}  # of TeX, as Unicode combines
_SHOWN = 40  # groups that are counted in words
_CONTEXT: _Document = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "arrayShape": "cr:arrayShape",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "containedIn": "cr:containedIn",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "description": {"@container": "@language"},
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isArray": "cr:isArray",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "name": {"@container": "@language"},
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}


def write_croissant(folder: Path) -> None:
    """Writes `croissant.json` of every configuration that `build.json` of a repository lists.

    Args:
        folder: The repository, or a draft of it.

    Raises:
        OochubError: `build.json` is broken, or the file cannot be written.
    """
    text = format_croissant(BuildFile.read(folder))
    if text is not None:
        with write_whole(folder / CROISSANT) as draft:
            draft.write_text(text, "utf-8")


def format_croissant(builds: BuildFile) -> str | None:
    """The text of `croissant.json`; None if no configuration has digests of its files.

    Args:
        builds: What `build.json` says.

    Raises:
        OochubError: A field that is missing or of another type.
    """
    described = {config: (builds.record(config), builds.files(config)) for config in builds.configs}
    return json.dumps(_describe(described), indent=1, ensure_ascii=False) + "\n" if described else None


def _describe(described: Mapping[str, tuple[BuildRecord, ConfigFiles]]) -> _Document:
    first = next(iter(described.values()))[0]
    files = [file for _, written in described.values() for file in written.files]
    is_own = first.benchmark not in catalog.names("benchmark")
    about = _describe_own(first) if is_own else _describe_benchmark(catalog.get("benchmark", first.benchmark))
    objects: list[_Document] = [
        {
            "@type": "cr:FileObject",
            "@id": file.path,
            "name": file.path,
            "contentUrl": file.path,
            "contentSize": f"{file.size} B",
            "encodingFormat": _FORMATS[Path(file.path).suffix],
            "sha256": file.sha256,
        }
        for file in files
    ]
    sets, rows = [], []
    for config, (record, written) in described.items():
        for split in written.splits:
            source = _find_source(config, split, written)
            if "fileSet" in source:
                sets.append(_describe_set(config, split, written))
            if source:
                rows.append(_describe_rows(config, split, record, written.features, source))
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": [_VERSION, _RESPONSIBLE],
        **about,
        "version": first.version,
        "keywords": ["out-of-context", "robustness", "distribution shift"],
        "distribution": [*objects, *sets],
        "recordSet": rows,
        **_describe_responsibility(described),
    }


def _describe_benchmark(benchmark: Benchmark) -> _Document:
    return {
        "name": benchmark.name,
        "alternateName": benchmark.title,
        "description": benchmark.summary,
        "url": benchmark.homepage,
        "license": list(dict.fromkeys([benchmark.images_license, benchmark.annotations_license])),
        **_read_citation(benchmark.citation),
    }


def _describe_own(record: BuildRecord) -> _Document:
    declared = record.facts.declared
    name = re.sub(r"[^\w-]+", "-", record.config) or "data"
    if declared is None:
        return {"name": name, "description": f"{record.config}, in the form of oochub."}
    licenses = list(dict.fromkeys(filter(None, [declared.license, declared.labels_license])))
    return {
        "name": name,
        "alternateName": declared.title,
        "description": declared.summary or declared.title,
        **({"url": declared.homepage} if declared.homepage else {}),
        **({"license": licenses} if licenses else {}),
        **_read_citation(declared.citation),
        **({"creator": [_name_person(name) for name in declared.authors]} if declared.authors else {}),
    }


def _name_person(name: str) -> _Document:
    return {"@type": "sc:Person", "name": name}


def _read_citation(bibtex: str) -> _Document:
    """The citation, and the authors and the year that it names.

    >>> _read_citation("@inproceedings{a, author = {Lynch, A. and Dovonon, G.}, year = {2023}}")["creator"]
    [{'@type': 'sc:Person', 'name': 'Lynch, A.'}, {'@type': 'sc:Person', 'name': 'Dovonon, G.'}]
    """
    if not bibtex.strip():
        return {}
    citation: _Document = {"citeAs": bibtex.strip()}
    authors = re.search(r'author\s*=\s*[{"](.+?)[}"]\s*,?\s*(?:\n|\w+\s*=|\}\s*$)', bibtex, flags=re.I | re.S)
    if authors:
        names = (_read_tex(name) for name in re.split(r"\s+and\s+", authors[1]))
        citation["creator"] = [_name_person(name) for name in names if name]
    year = re.search(r'year\s*=\s*[{"]?(\d{4})', bibtex, flags=re.I)
    return citation | ({"datePublished": year[1]} if year else {})


def _read_tex(text: str) -> str:
    r"""A name without braces, its accents as letters.

    >>> _read_tex(r"Gb{\`e}tondji, M{\"u}ller")
    'Gbètondji, Müller'
    """
    composed = re.sub(r"\\([`'^\"~])\s*\{?(\w)\}?", lambda found: normalize("NFC", found[2] + _ACCENTS[found[1]]), text)
    return re.sub(r"\s+", " ", re.sub(r"[{}\\]", "", composed)).strip()


def _find_source(config: str, split: str, written: ConfigFiles) -> dict[str, _Document]:
    """The place of the rows of a split: one file, or a set; nothing for shards, which hold members."""
    paths = [file.path for file in written.splits[split]]
    if not all(path.endswith(".parquet") for path in paths):
        return {}
    return {"fileObject": {"@id": paths[0]}} if len(paths) == 1 else {"fileSet": {"@id": f"{config}-{split}-files"}}


def _describe_set(config: str, split: str, written: ConfigFiles) -> _Document:
    return {
        "@type": "cr:FileSet",
        "@id": f"{config}-{split}-files",
        "name": f"{config}-{split}-files",
        "description": f"The files of the split {split} of {config}.",
        "encodingFormat": _FORMATS[".parquet"],
        "includes": [file.path for file in written.splits[split]],
    }


def _describe_rows(
    config: str, split: str, record: BuildRecord, features: datasets.Features, source: Mapping[str, _Document]
) -> _Document:
    rows = (record.facts.rows or {}).get(split)
    return {
        "@type": "cr:RecordSet",
        "@id": f"{config}/{split}",
        "name": f"{config}/{split}",
        "description": f"The rows of the split {split} of {config}{'' if rows is None else f': {rows:,}'}.",
        "field": [
            field
            for name, feature in features.items()
            if name != BUILD_COLUMN
            for field in _describe_field(f"{config}/{split}/{name}", name, feature, source)
        ],
    }


def _describe_field(place: str, name: str, feature: object, source: Mapping[str, _Document]) -> Iterator[_Document]:
    """The field of a column; none for a column that Croissant has no type for."""
    dimensions = []
    while isinstance(feature, datasets.List | datasets.LargeList):
        dimensions.append(feature.length if isinstance(feature, datasets.List) else -1)
        feature = feature.feature
    kind, words = _find_type(feature)
    if kind is None:
        return
    extract: _Document = {"column": name}
    transform: _Document = {"transform": {"jsonPath": "bytes"}} if kind == "sc:ImageObject" else {}
    array: _Document = {"isArray": True, "arrayShape": ",".join(map(str, dimensions))} if dimensions else {}
    yield {
        "@type": "cr:Field",
        "@id": place,
        "name": name,
        "description": words,
        "dataType": kind,
        **array,
        "source": {**source, "extract": extract, **transform},
    }


def _find_type(feature: object) -> tuple[str | None, str]:
    """The type of Croissant for a feature of `datasets`, and the feature in words."""
    if isinstance(feature, datasets.ClassLabel):
        names = ", ".join(f"{number} {name}" for number, name in enumerate(feature.names))
        return "sc:Integer", f"The number of a class, -1 for none: {names}."
    if isinstance(feature, datasets.Image):
        return "sc:ImageObject", "An image, its bytes untouched."
    if not isinstance(feature, datasets.Value):
        return None, ""
    kinds = {"string": "sc:Text", "large_string": "sc:Text", "bool": "sc:Boolean", "float": "sc:Float"}
    plain = re.sub(r"\d+$", "", feature.dtype)
    kind = kinds.get(plain, "sc:Integer" if plain in ("int", "uint") else None)
    return kind, f"A column of the type {feature.dtype}."


def _describe_responsibility(described: Mapping[str, tuple[BuildRecord, ConfigFiles]]) -> _Document:
    """What a build knows of the questions that the responsible-AI vocabulary asks."""
    biases, limits, uses, collected = [], [], [], []
    for config, (record, _) in described.items():
        declared = _find_sides(record)
        if declared is not None:
            inside, outside = declared
            biases.append(f"{config}: context helps in {inside}; it misleads in {outside}.")
        counts = record.facts.group_counts
        if counts:
            shown = ", ".join(f"{name} {count:,}" for name, count in list(counts.items())[:_SHOWN])
            biases.append(f"{config}: training rows of each group: {shown}{', ...' if len(counts) > _SHOWN else ''}.")
        limits += [f"{config}: {note}" for note in record.notes]
        uses.append(f"{config}: measuring how much a model relies on context, by rows in and out of context.")
    first = next(iter(described.values()))[0]
    if first.benchmark in catalog.names("benchmark"):
        benchmark = catalog.get("benchmark", first.benchmark)
        collected = [f"{url} ({license})" for url, _, license in benchmark.downloads]
    return {
        **({"rai:dataBiases": biases} if biases else {}),
        **({"rai:dataLimitations": limits} if limits else {}),
        "rai:dataUseCases": uses,
        **({"rai:dataCollectionRawData": "; ".join(dict.fromkeys(collected))} if collected else {}),
        "rai:dataPreprocessingProtocol": [
            f"Rows made by oochub {version('oochub')} from the raw files, whose images keep their bytes; groups, sides "
            "and other derived columns are computed when the rows are built, and build.json holds what was found."
        ],
        "rai:dataReleaseMaintenancePlan": "A change of any row is a new version; build.json holds the SHA-256 of each "
        "file.",
    }


def _find_sides(record: BuildRecord) -> tuple[str, str] | None:
    """The rows in and out of context, in words; None where nothing declares them."""
    if record.benchmark in catalog.names("benchmark"):
        own = catalog.get("benchmark", record.benchmark).of(record.config)
        return own.in_context.description, own.out_of_context.description
    declared = record.facts.declared
    if declared is None or declared.in_context is None or declared.out_of_context is None:
        return None
    return declared.in_context.make_rows().description, declared.out_of_context.make_rows().description
