"""The declaration of a benchmark, and of each of its configs: raw files, the two sides, the headline, the words."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from oochub.errors import OochubError, choose_wording
from oochub.records.build_record import BuildFacts
from oochub.records.sides import Rows, Spectrum, Vocabulary


@dataclass(frozen=True, kw_only=True)
class RawFile:
    """One file or folder that a builder reads, and where a user gets it.

    Attributes:
        path: Where it must lie below the data folder, e.g. "annotations/instances_val2017.json".
        url: The download that contains it.
        size: The size of that download in words, e.g. "18 GB".
        license: The license of its content.
        required: False when the builder works without it.
        note: What it is for, when the name does not say so.
        also: Another place where it may lie; for a path with *, the first by name that is there.
    """

    path: str
    url: str
    size: str
    license: str
    required: bool = True
    note: str = ""
    also: str = ""

    def find(self, folder: Path) -> Path | None:
        """The place of the file in `folder`; None if it is not there."""
        for path in filter(None, (self.path, self.also)):
            place = next(iter(sorted(folder.glob(path))), folder / path) if "*" in path else folder / path
            if place.is_dir() if path.endswith("/") else place.exists():
                return place
        return None


@dataclass(frozen=True, kw_only=True)
class Archive:
    """An archive of a release, as somebody published its size and digest.

    Attributes:
        name: Name of its file.
        size: Its bytes.
        digest: "sha256:" or "md5:" and the digest in hexadecimal digits.
        source: Where size and digest were read.
    """

    name: str
    size: int
    digest: str
    source: str


@dataclass(frozen=True, kw_only=True)
class Mirror:
    """A repository on the Hub that its own page says to hold data of a benchmark.

    Attributes:
        name: Its id, user/name.
        holds: What it holds, and in what form.
    """

    name: str
    holds: str


def find_context_of_group(row: Mapping[str, Any], facts: BuildFacts) -> str:
    """The context that a group's name ends with: "desert" of "labrador/desert".

    >>> find_context_of_group({"group": "labrador/desert"}, BuildFacts())
    'desert'
    """
    return str(row.get("group") or "").partition("/")[2]


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """What a benchmark is; its builder, its card, its report and the command line all read it.

    `of(config)` is what holds for one config. If configs differ, as the data sets of WILDS do, `configs` holds a
    declaration for each one that differs, made with `dataclasses.replace` from the benchmark's own.

    Attributes:
        name: The name that `load_dataset` takes.
        title: Its name in print.
        summary: One sentence on what is out of context in it.
        version: Version of the rows that the builder makes; a change of any row is a new version.
        homepage: Where the authors publish it.
        citation: BibTeX.
        expected_rows: Rows of each split of a complete build, by split; empty if its configs differ in them.
        counts: What else its card says of how many there are, a sentence.
        raw_files: What lies in the data folder.
        in_context: The rows on which context helps.
        out_of_context: The rows on which it misleads, the worst of the groups, or a percentile of them.
        primary_metric: Name of the metric whose gap between the two is the headline; higher is better.
        metrics: Metrics computed by default.
        chance: The primary metric of guessing; nan where there is no such number.
        archives: The archives that its raw files are unpacked from, those whose digest was published.
        mirrors: Repositories on the Hub with its data; nothing vouches for them but `--verify`.
        sources: The data sets that its rows are of or overlap with, by words that model cards use for them: a model
            whose card names one may have seen tested rows.
        practical_gap: A gap smaller than this does not matter in practice.
        input: The kind of input: `pictures`, `texts`, `arrays`, `graphs`, `token_ids`; see `oochub list input`.
        output: The kind of output: "classes" (one class per row), "labels" (several, each there or not), "number".
        words: What report, page and terminal call all this.
        task_category: What the Hub calls the task: "image-classification", "text-classification", ...
        images_license: License of the images.
        annotations_license: License of the labels.
        environments: Column with the training environments by default.
        training_environments: The environments that the training split has, if the declaration knows them; a recipe can
            then leave out each of them in turn without naming them.
        group_column: Column of the groups: `group`, one per row, or `groups`, a list per row, which may overlap.
        context_column: Column that holds the context.
        cluster: Column of the clusters by which intervals are resampled, None for independent rows.
        pair: Column that names the thing of each row, where both sides show the same things elsewhere, such as a
            foreground on another background. The gap is then one of pairs. What is paired is also a cluster, unless
            `cluster` names a larger one.
        closed: Columns of which all words are known, with these: another word in predictions is an error.
        validation_split: The split by which training chooses its epoch and a sweep its settings.
        templates: Texts with {} for the name of a class, by which a model of images and texts answers.
        imagenet_classes: Class to the numbers of ImageNet-1K's classes that are of it, by which a model of ImageNet
            answers without a label map; None leaves it to their names and WordNet.
        box_classes: For boxes: every class that detectors of such data draw, with its number in COCO's files; those of
            the rows are some of them. Empty for data whose classes are numbered from 0.
        configs: The declarations of those configs that differ from this one.
        toy_world: The function f(folder, *, size, seed) that draws a small raw folder: its name where it is a file of
            `builders/toy_worlds`, else "package.module:function"; "" has none, or its configs have their own.
        tried_configs: The configs that the contract tests build from their toy worlds; empty takes the first.
        task: For a config that holds many binary tasks at once. Makes (task, its columns, its facts) of that config's
            columns, the facts of its build record and the task's config name; see `oochub.task`.
        not_buildable: Names the configs that a raw folder cannot give, each with the reason, of (folder, options), so
            that a sweep and a push of all configs leave them out; None where it gives every one.
        spectrum: Which configs have known classes, shifted known classes and new ones, near and far, for detectors;
            None where the configs are not set against each other so.
        describe_context: Names the context of a row (of which only `group` is sure to be there) for a reader, given
            the facts of the build record.
    """

    name: str
    title: str
    summary: str
    version: str
    homepage: str
    citation: str
    raw_files: tuple[RawFile, ...]
    in_context: Rows
    out_of_context: Rows
    primary_metric: str
    metrics: tuple[str, ...]
    chance: float
    images_license: str
    annotations_license: str
    archives: tuple[Archive, ...] = ()
    mirrors: tuple[Mirror, ...] = ()
    sources: tuple[str, ...] = ()
    expected_rows: Mapping[str, int] = field(default_factory=dict)
    counts: str = ""
    practical_gap: float = 0.02
    input: str = "pictures"
    output: str = "classes"
    words: Vocabulary = field(default_factory=Vocabulary)
    task_category: str = "image-classification"
    environments: str = "environment"
    training_environments: tuple[str, ...] = ()
    group_column: str = "group"
    context_column: str = "context"
    cluster: str | None = None
    pair: str | None = None
    closed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    validation_split: str = "validation"
    templates: tuple[str, ...] = ("a photo of a {}.",)
    imagenet_classes: Mapping[str, tuple[int, ...]] | None = None
    box_classes: Mapping[str, int] = field(default_factory=dict)
    configs: Mapping[str, "Benchmark"] = field(default_factory=dict)
    toy_world: str = ""
    tried_configs: tuple[str, ...] = ()
    task: Callable[[Mapping[str, Any], BuildFacts, str], tuple[Any, dict[str, Any], BuildFacts]] | None = None
    not_buildable: Callable[[Path, Mapping[str, Any]], Mapping[str, str]] | None = None
    spectrum: Spectrum | None = None
    describe_context: Callable[[Mapping[str, Any], BuildFacts], str] = find_context_of_group

    def __post_init__(self) -> None:
        if self.pair is not None and self.cluster is None:
            object.__setattr__(self, "cluster", self.pair)

    def of(self, config: str) -> "Benchmark":
        """The declaration of one config: its own where it has one, else the benchmark's.

        >>> from oochub import get
        >>> nooch = get("benchmark", "nooch")
        >>> nooch.of("all").output, nooch.of("ce_car").output
        ('labels', 'classes')
        """
        return self.configs.get(config, self)

    @property
    def data_sets(self) -> list["Benchmark"]:
        """What it is a collection of, as WILDS is, each by its first config and with all of them; else itself alone.

        Configs whose raw files lie in one folder are of one data set.

        >>> from oochub import get
        >>> len(get("benchmark", "wilds").data_sets), len(get("benchmark", "nooch").data_sets)
        (10, 1)
        """
        folders: dict[str, dict[str, Benchmark]] = {}
        for config, own in self.configs.items():
            folders.setdefault(own.raw_files[0].path.partition("/")[0], {})[config] = own
        if len(folders) < 2:
            return [self]
        return [replace(next(iter(configs.values())), configs=configs) for configs in folders.values()]

    @property
    def spectra(self) -> list[Spectrum]:
        """How configs are set against each other for detectors: the benchmark's own way, and those of its configs.

        >>> from oochub import get
        >>> [spectrum.known for spectrum in get("benchmark", "imagenet_ood").spectra]
        ['imagenet_1k']
        """
        found = {own.spectrum.known: own.spectrum for own in (self, *self.configs.values()) if own.spectrum}
        return list(found.values())

    @property
    def differences(self) -> dict[str, list[str]]:
        """What differs from this declaration in kind of output, headline or sides, in words: the configs of each.

        >>> from oochub import get
        >>> {words: len(configs) for words, configs in get("benchmark", "nooch").differences.items()}
        {'output labels': 1, 'output boxes; headline box_average_precision': 80}
        """
        differences: dict[str, list[str]] = {}
        for config, own in self.configs.items():
            parts = {
                f"output {own.output}": own.output == self.output,
                f"headline {own.primary_metric}": own.primary_metric == self.primary_metric,
                f"in context {own.in_context.description}": own.in_context == self.in_context,
                f"out of context {own.out_of_context.description}": own.out_of_context == self.out_of_context,
            }
            if not all(parts.values()):
                words = "; ".join(text for text, same in parts.items() if not same)
                differences.setdefault(words, []).append(config)
        return differences

    def render_toy_world(self, folder: str | Path, *, size: str | int = "small", seed: int = 0) -> Path:
        """Draws the toy world, a small raw folder in the real format, and returns it.

        Raises:
            OochubError: A declaration without toy world, or a folder that holds something else.
        """
        if not self.toy_world:
            own = [config for config, declared in self.configs.items() if declared.toy_world]
            if own:
                raise OochubError(
                    f'Each dataset of {self.name} has a toy world of its own: get("benchmark", '
                    f'"{self.name}").of("{own[0]}").render_toy_world(...).'
                )
            raise OochubError(f"{self.name} has no toy world. Choose one in its declaration: toy_world=.")
        place, _, function = self.toy_world.rpartition(":")
        module = import_module(place or f"oochub.builders.toy_worlds.{function}")
        return Path(getattr(module, function)(folder, size=size, seed=seed))

    @property
    def downloads(self) -> dict[tuple[str, str, str], list[str]]:
        """The raw files that each download holds, by where it is from, its size and its license.

        >>> from oochub import get
        >>> list(get("benchmark", "spawrious").downloads.values())
        [['spawrious224/'], ['spawrious224__entire_dataset.tar']]
        """
        paths: dict[tuple[str, str, str], list[str]] = {}
        for raw in self.raw_files:
            paths.setdefault((raw.url, raw.size, raw.license), []).append(raw.path)
        return paths

    @property
    def evaluation_split(self) -> str:
        """The split on which the headline numbers stand."""
        return self.out_of_context.split

    def tree(self, found: Path | None = None) -> str:
        """The folder that the builder expects, drawn as a tree; with `found`, each file marked present or missing.

        Args:
            found: A folder to compare with; None draws the tree alone.
        """
        width = max(len(raw.path) for raw in self.raw_files)
        lines = [f"{found if found is not None else 'DATA_DIR'}/"]
        for raw in self.raw_files:
            optional = "" if raw.required else "  (optional)"
            mark = "" if found is None else f"{'found' if raw.find(found) else 'missing':<9}"
            lines.append(f"  {mark}{raw.path:<{width}}  {raw.note}{optional}".rstrip())
        return "\n".join(lines)

    def missing(self, folder: Path) -> list[str]:
        """Paths of the required raw files that `folder` lacks."""
        return [raw.path for raw in self.raw_files if raw.required and raw.find(folder) is None]


def find_data_folder(benchmark: Benchmark, data_dir: str | None) -> Path:
    """The raw folder: `data_dir`, else `$OOCHUB_DATA/<benchmark>`; checked to hold every required file.

    Raises:
        OochubError: No folder is given, it does not exist, or it lacks files; the expected tree is printed with
            what was found.
    """
    root = os.environ.get("OOCHUB_DATA")
    if data_dir is None and root is None:
        raise OochubError(
            f"{benchmark.title} requires its raw files. Pass {choose_wording('data_dir=FOLDER')}, or set OOCHUB_DATA "
            f"to a folder that contains {benchmark.name}/. Expected folder structure:\n"
            f"{benchmark.tree()}\n"
            f"`oochub show benchmark {benchmark.name}` lists where to download each file."
        )
    folder = Path(data_dir).expanduser() if data_dir is not None else Path(str(root)) / benchmark.name
    if not folder.is_dir():
        source = "data_dir" if data_dir is not None else f"$OOCHUB_DATA/{benchmark.name}"
        raise OochubError(
            f"{source} is not a folder: {folder}.{_suggest_folder(benchmark, folder)} It must look like this:\n"
            f"{benchmark.tree()}\n"
            f"`oochub show benchmark {benchmark.name}` lists where to download each file."
        )
    missing = benchmark.missing(folder)
    if missing:
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        raise OochubError(
            f"{folder} is not a {benchmark.title} folder: it lacks "
            f"{', '.join(missing[:3])}{more}.{_suggest_folder(benchmark, folder)} Expected, with what was found:\n"
            f"{benchmark.tree(folder)}\n"
            f"`oochub show benchmark {benchmark.name}` lists where to download each file."
        )
    return folder


def _suggest_folder(benchmark: Benchmark, folder: Path) -> str:
    """Names the raw folder where `folder` is one level too high, or one or two too low."""
    try:
        below = sorted(place for place in folder.iterdir() if place.is_dir()) if folder.is_dir() else []
        whole = [place for place in (*folder.absolute().parents[:2], *below) if not benchmark.missing(place)]
    except OSError:  # no permission to look around is no reason to say less
        return ""
    return f" Did you mean {whole[0]}? There is a {benchmark.title} folder: pass data_dir={whole[0]}." if whole else ""
