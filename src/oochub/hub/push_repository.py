"""Pushes a benchmark, or a repository that was built before, to a data set repository of the Hub.

Beside the data lies `eval.yaml`, by which the Hub knows the tasks of a benchmark's repository (`_format_eval_yaml`),
and questions as the loader of Inspect takes them: images as text in a configuration of their own. What differs between
the rows of two versions is said in words, and the card keeps it; columns of images are not read for that, since it
would fetch the whole of the earlier version.
"""

import base64
import json
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from datasets import ClassLabel, Features, Image

from oochub import catalog
from oochub.benchmark import Benchmark, find_data_folder
from oochub.data.build_file import RECORDS, BuildFile, ConfigFiles, RepositoryFiles
from oochub.data.load import get_builder_class, is_benchmark, make_benchmark_builder, split_name
from oochub.data.shards import INDEX
from oochub.errors import OochubError, OochubWarning, choose_wording
from oochub.hub.push_results import name_task
from oochub.hub.upload import Pushed, open_client, upload
from oochub.loading_scripts.build_repository import build_parquet
from oochub.metric import MetricFacts, read_facts
from oochub.records.build_record import BUILD_COLUMN
from oochub.records.question_options import OPTIONS, QUESTION, ask_each_row
from oochub.remote.hub_errors import Refusal, explain_refusals
from oochub.remote.remote_repository import RemoteRepository
from oochub.repository.croissant import CROISSANT, format_croissant
from oochub.repository.join_images import remove_images
from oochub.repository.repository_card import EXAMPLES, LICENSES, RepositoryCard
from oochub.storage.cache import begin_cache, cache_folder, make_key
from oochub.storage.files import make_scratch_folder
from oochub.storage.parquet_file import seal
from oochub.storage.picture_file import open_picture
from oochub.storage.reading import read_text

_CARD = "README.md"
_TASKS = "eval.yaml"
_BESIDE = (LICENSES, _TASKS, EXAMPLES)  # what else of the top folder is pushed
_TAG = re.compile(r"(?!main$|refs/)[A-Za-z0-9][\w.+-]*")
_UNREAD = "the earlier rows could not be read"
_NO_VERSION = "0.0.0"  # of data whose author says none
_INSPECT, _INSPECT_CONFIG = "inspect-ai", "inspect"  # what the Hub calls it, and the configuration that it reads
_IMAGE, _LABEL, _ID = "image", "label", "example_id"
_QUESTIONS = 64  # held at once
_Row = dict[str, str]


def push_repository(
    source: str,
    to: str,
    *,
    configs: Sequence[str] = (),
    data_dir: str | None = None,
    options: Mapping[str, Any] | None = None,
    num_proc: int | None = None,
    out: str | Path | None = None,
    without_images: bool = False,
    private: bool = False,
    revision: str | None = None,
    overwrite: bool = False,
    dry_run: bool = False,
    evaluation_framework: str | None = None,
) -> Pushed:
    """Builds a benchmark, or takes a built repository, and makes the Hub hold it, in one commit.

    Files of a pushed config that are no longer part of it go in the same commit; other configs and other files of the
    repository stay.

    Args:
        source: "nooch", "nooch/ce_car", or the folder of `oochub build` or `oochub challenge`.
        to: user/name.
        configs: Some of a benchmark's; all where none is named, but those that its raw folder cannot give without an
            option, which are said.
        data_dir: The raw folder; None takes `$OOCHUB_DATA/<benchmark>`.
        options: Options of the builder.
        num_proc: Processes to build with.
        out: Build into this folder, which is kept; None builds in the cache, where the next push finds it.
        without_images: Leave the images out, see `oochub.join_images`.
        private: Make the repository one that others do not see.
        revision: A branch; None is main.
        overwrite: Replace what somebody else put there.
        dry_run: Only say what would change.
        evaluation_framework: The name of a framework in `eval.yaml`; None leaves the key out.

    Raises:
        OochubError: An unknown name, missing raw data, a folder that is no repository; what `upload` raises.
    """
    client = open_client(to, dry_run=dry_run)
    benchmark = is_benchmark(source)
    names = _check_configs(source, configs) if benchmark else []
    if benchmark:
        get_builder_class(split_name(source)[0]).checked_options(options or {})
    else:
        _check_repository(Path(source).expanduser())
    RemoteRepository.read(client, to, repo_type="dataset", revision=revision)  # a wrong token is said before a build
    is_whole = benchmark and not configs and not split_name(source)[1]
    left_out = _find_left_out(source, names, data_dir, options or {}) if is_whole else {}
    names = [name for name in names if name not in left_out]
    folders = [Path(source).expanduser()]
    if benchmark:
        build = partial(
            _build_config, split_name(source)[0], data_dir=data_dir, options=options or {}, num_proc=num_proc, out=out
        )
        folders = list(dict.fromkeys(build(name) for name in names))
    framework = None if without_images else evaluation_framework
    with _stage_files(folders, names, without_images, framework) as (staged, cards, records):
        only = {name for card in cards for name in card.files}
        merged = _Merged(staged, cards, records, left_out, evaluation_framework)
        pushed = upload(
            staged,
            to,
            repo_type="dataset",
            message=f"Push {source if benchmark else ', '.join(sorted(only))} with oochub",
            private=private,
            revision=revision,
            delete=sorted({pattern for card in cards for folder in card.folders.values() for pattern in folder}),
            dry_run=dry_run,
            fitted=merged.fit,
            known_by=RECORDS,
            overwrite=overwrite,
            tag=_choose_tag(records) if revision in (None, "main") else None,
        )
        return replace(pushed, changes=tuple(merged.changes))


def _choose_tag(records: Mapping[str, Any]) -> str | None:
    """The version of the pushed rows, by which they are loaded again; None where they have none, or several."""
    versions = {str(record.get("version", _NO_VERSION)) for record in records.values()} - {_NO_VERSION}
    if len(versions) != 1:
        return None
    version = versions.pop()
    if not _TAG.fullmatch(version):
        warnings.warn(
            f"The version {version!r} cannot be a tag of the Hub, so the commit gets none. Use digits, dots and "
            "letters, as 1.0.0.",
            OochubWarning,
            stacklevel=3,
        )
        return None
    return version


def _check_configs(source: str, configs: Sequence[str]) -> list[str]:
    benchmark, named = split_name(source)
    if named and configs and [named] != list(configs):
        raise OochubError(
            f"{source} names the config {named}, but {', '.join(configs)} is asked for. Pass one of them."
        )
    kind = get_builder_class(benchmark)
    allowed = list(kind.builder_configs) or [kind.checked_config(None)]
    return [kind.checked_config(config) for config in dict.fromkeys(configs or ([named] if named else allowed))]


def _find_left_out(
    benchmark: str, names: Sequence[str], data_dir: str | None, options: Mapping[str, Any]
) -> dict[str, str]:
    """The configs that a benchmark's raw folder cannot give, each with the reason, which is said."""
    declared = catalog.get("benchmark", benchmark)
    if declared.not_buildable is None:
        return {}
    reasons = declared.not_buildable(find_data_folder(declared, data_dir), options)
    left_out = {name: reasons[name] for name in names if name in reasons}
    if left_out:
        name, reason = next(iter(left_out.items()))
        more = f" and {len(left_out) - 1:,} more" if len(left_out) > 1 else ""
        warnings.warn(f"Left out of the push: {name}{more}. {reason}", OochubWarning, stacklevel=4)
    return left_out


def _check_repository(folder: Path) -> None:
    if not (folder / _CARD).is_file() or not (folder / RECORDS).is_file():
        built = choose_wording("`oochub build`", "oochub build SOURCE --out FOLDER")
        raise OochubError(f"{folder} is not a repository: it has no {_CARD} with {RECORDS}. {built} makes one.")


def _build_config(
    benchmark: str,
    config: str,
    *,
    data_dir: str | None,
    options: Mapping[str, Any],
    num_proc: int | None,
    out: str | Path | None,
) -> Path:
    """The folder that holds a config, built now, or by an earlier push of the same raw data, options and oochub."""
    name = f"{benchmark}/{config}"
    if out is not None:
        return build_parquet(name, out, data_dir=data_dir, options=options, num_proc=num_proc)
    builder = make_benchmark_builder(benchmark, config, data_dir=data_dir, options=options)
    key = make_key(version("oochub"), builder.hash, {option: str(value) for option, value in options.items()})
    folder = cache_folder("pushes") / f"{benchmark}-{key[:16]}"
    if not _is_whole(folder, config):
        build_parquet(name, begin_cache(folder), data_dir=data_dir, options=options, num_proc=num_proc)
    return folder


def _is_whole(folder: Path, config: str) -> bool:
    if not (folder / _CARD).is_file() or not (folder / RECORDS).is_file():
        return False
    splits = _read_card(folder).files.get(config, {})
    paths = [folder / path for split in splits.values() for path in split]
    return bool(paths) and all(path.is_file() for path in paths)


@contextmanager
def _stage_files(
    folders: Sequence[Path], names: Sequence[str], without_images: bool, framework: str | None
) -> Iterator[tuple[Path, list[RepositoryCard], dict[str, Any]]]:
    """A folder of links to the files that are pushed; the cards and the records of the pushed configs."""
    cards: list[RepositoryCard] = []
    records: dict[str, Any] = {}
    with make_scratch_folder() as scratch:
        staged = scratch / "staged"
        staged.mkdir()
        for number, source_folder in enumerate(folders):
            folder, card = source_folder, _read_card(source_folder).of(names)
            paths = _list_paths(folder, card)
            for config in card.files:
                if (built_files := RepositoryFiles.find(folder, config)) is not None:
                    built_files.check(whole=True)
            if without_images:
                folder = remove_images(source_folder, scratch / f"bare-{number}", configs=names)
                card = _read_card(folder)
                paths = _list_paths(folder, card)
            own = scratch / f"inspect-{number}"
            for splits in card.files.values() if framework == _INSPECT else ():
                if written := write_inspect_files(folder, splits, own):
                    size = sum((own / path).stat().st_size for files in written.values() for path in files)
                    card = card.with_files(
                        _INSPECT_CONFIG, written, note=f"the images as text, for Inspect: {size / 1e6:,.1f} MB"
                    )
                    _link(staged, own, [path for files in written.values() for path in files])
            cards.append(card)
            records |= {name: content for name, content in BuildFile.read(folder).content.items() if name in card.files}
            _link(staged, folder, paths)
        yield staged, cards, records


def _link(staged: Path, folder: Path, paths: Sequence[str]) -> None:
    for path in paths:
        link = staged / path
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to((folder / path).resolve())


def _read_card(folder: Path) -> RepositoryCard:
    return RepositoryCard.read(read_text(folder / _CARD), place=str(folder / _CARD))


def _list_paths(folder: Path, card: RepositoryCard) -> list[str]:
    """What of a repository is pushed: the files that its card names, with the index of shards, and what stands beside.

    A card may be somebody else's: nothing outside the folder is pushed, and nothing that is not named.
    """
    data = [path for splits in card.files.values() for paths in splits.values() for path in paths]
    for path in data:
        if not (folder / path).is_file():
            raise OochubError(f"{folder} lacks {path}, which its card names. Build it again.")
    indices = sorted({f"{Path(path).parent}/{INDEX}" for path in data})
    paths = [path for path in (*_BESIDE, *indices) if (folder / path).is_file()] + data
    for path in paths:
        if not (folder / path).resolve().is_relative_to(folder.resolve()):
            raise OochubError(f"{path} leads out of {folder}, so it is not pushed. Copy the file into the folder.")
    return paths


@dataclass
class _Merged:
    """The card, the records, the tasks and Croissant, with those of other configs that are there already.

    Attributes:
        staged: Folder of the files that are pushed.
        cards: Cards of the repositories that they are of.
        records: Entries of build.json, by config.
        left_out: Configs that are not pushed, with the reasons.
        framework: Value of `evaluation_framework` in the tasks.
        changes: What differs from the rows that are there; filled by `fit`.
    """

    staged: Path
    cards: Sequence[RepositoryCard]
    records: Mapping[str, Any]
    left_out: Mapping[str, str]
    framework: str | None
    changes: list[str] = field(default_factory=list)

    def fit(self, remote: RemoteRepository) -> dict[str, bytes]:
        """The files whose content follows from what is there, by path."""
        there = remote.text(RECORDS)
        text = remote.text(_CARD) if there is not None else None
        card = self.cards[0]
        if text is not None:
            card = card.over(RepositoryCard.read(text, place=f"{_CARD} of {remote.name}"))
        for other in self.cards[1:]:
            card = other.over(card)
        card = card.without(self.left_out)
        try:
            kept = json.loads(there or "{}")
            merged = dict(sorted({**kept, **self.records}.items()))
        except (ValueError, TypeError):
            raise OochubError(f"{RECORDS} of {remote.name} was not written by oochub. Correct or remove it.") from None
        self.changes = list(self._list_changes(remote, kept))
        card = card.with_changes(self.changes).at(remote.name)
        texts = {_CARD: str(card), RECORDS: json.dumps(merged, indent=1, ensure_ascii=False) + "\n"}
        texts[CROISSANT] = format_croissant(BuildFile(Path(RECORDS), merged)) or ""
        benchmarks = {str(record.get("benchmark")) for record in merged.values() if isinstance(record, dict)}
        if len(benchmarks) == 1 and (name := benchmarks.pop()) in catalog.names("benchmark"):
            declared = catalog.get("benchmark", name)
            configs = sorted({*card.files} - {_INSPECT_CONFIG})
            has_config = _INSPECT_CONFIG in card.files and self.framework == _INSPECT
            texts[_TASKS] = _format_eval_yaml(declared, configs, framework=self.framework, is_asked=has_config) or ""
        return {path: text.encode() for path, text in texts.items() if text}

    def _list_changes(self, remote: RemoteRepository, kept: Mapping[str, Any]) -> Iterator[str]:
        """A line for each pushed config whose files there are others."""
        before, after = BuildFile(Path(RECORDS), kept), BuildFile(Path(RECORDS), self.records)
        for config in after.configs:
            if config not in before.configs:
                continue
            new, version = after.files(config), after.record(config).version
            try:
                old, earlier = before.files(config), before.record(config).version
                old.check(what=f"the digests of {config} in {remote.name}")
                if old.digest == new.digest:
                    continue
                with explain_refusals(remote.name, token=None):
                    changes = describe_row_changes(
                        old, new, open_before=remote.open, open_after=lambda path: (self.staged / path).open("rb")
                    )
            except Refusal as error:
                if error.is_passing:
                    raise
                earlier, changes = version, _UNREAD
            except OochubError:  # what somebody wrote there; it is replaced
                earlier, changes = version, _UNREAD
            place = f"from {earlier}" if earlier != version else "without a new version"
            yield f"- `{config}` {version}, {place}: {changes}"


def _format_eval_yaml(
    benchmark: Benchmark, configs: Sequence[str], *, framework: str | None = None, is_asked: bool = False
) -> str | None:
    """The text of `eval.yaml`: a task for each config, split and number that a leaderboard can rank.

    A leaderboard of the Hub ranks by higher is better, so error rates, NLL, ECE and their like are no tasks; they
    stand in reports. Each config gives its metrics on the evaluation split, and the headline metric on either side of
    the comparison, so that the gap can be read. A config that holds many tasks at once, as `nooch/all`, has none of its
    own. What `oochub push report.json` writes into a model's repository has the same ids (`oochub.hub.push_results`).

    The file alone does not make a repository a leaderboard: the Hub shows one for the benchmarks on its allow-list.

    Args:
        benchmark: The declaration.
        configs: Configs that the repository holds.
        framework: Value of `evaluation_framework`; None leaves the key out. The Hub has a closed list of frameworks
            and marks the file as invalid if the name is not on it.
        is_asked: Whether Inspect asks the questions of the configuration that is written for it; it refuses a file with
            other tasks.

    Returns:
        YAML; None where no config has a task.

    >>> from oochub import get
    >>> print(_format_eval_yaml(get("benchmark", "spawrious"), ["o2o_hard"]).partition("tasks:")[2])
    <BLANKLINE>
    - id: o2o_hard_accuracy
      config: o2o_hard
      split: test
    - id: o2o_hard_worst_group_accuracy
      config: o2o_hard
      split: test
    - id: o2o_hard_accuracy_in_context
      config: o2o_hard
      split: validation
    - id: o2o_hard_accuracy_out_of_context
      config: o2o_hard
      split: test
    <BLANKLINE>
    """
    tasks: list[dict[str, Any]]
    tasks = [task for config in configs for task in _list_tasks(benchmark.of(config), config)]
    if is_asked:
        tasks = [make_inspect_task(benchmark.evaluation_split)]
    if not tasks:
        return None
    content = {
        "name": benchmark.title,
        "description": benchmark.summary,
        **({} if framework is None else {"evaluation_framework": framework}),
        "tasks": tasks,
    }
    return str(yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=120))


def _list_tasks(declared: Benchmark, config: str) -> Iterator[dict[str, str]]:
    if declared.task is not None and declared.output == "labels":
        return
    for name in declared.metrics:
        facts = read_facts(catalog.get("metric", name)) or MetricFacts.of_unknown(name)
        parts = {f"{name}.{key}": part for key, part in facts.keys.items()} or {name: facts}
        for metric, part in parts.items():
            if part.direction == "higher":
                yield {"id": name_task(config, metric), "config": config, "split": declared.evaluation_split}
    headline = read_facts(catalog.get("metric", declared.primary_metric))
    if headline is not None and headline.direction == "higher":
        primary, inside, outside = declared.primary_metric, declared.in_context, declared.out_of_context
        yield {"id": name_task(config, primary, "in"), "config": config, "split": inside.split}
        yield {"id": name_task(config, primary, "out"), "config": config, "split": outside.split}


def write_inspect_files(folder: Path, splits: Mapping[str, Sequence[str]], out: Path) -> dict[str, list[str]]:
    """Writes the questions of a configuration with images as data URIs, which Inspect reads as text.

    Args:
        folder: A repository of Parquet files.
        splits: Paths in it of the files of each split.
        out: Folder that gets them in `inspect/`, by the same names.

    Returns:
        The paths of the new files by split; none for rows that ask no questions on images.
    """
    first = next(path for paths in splits.values() for path in paths)
    if not first.endswith(".parquet"):
        return {}
    features = Features.from_arrow_schema(pq.read_schema(folder / first))
    if not (ask_each_row(features) and isinstance(features.get(_IMAGE), Image) and _LABEL in features):
        return {}
    (out / _INSPECT_CONFIG).mkdir(parents=True, exist_ok=True)
    return {split: [_write_file(folder / path, out) for path in paths] for split, paths in splits.items()}


def _write_file(source: Path, out: Path) -> str:
    target = out / _INSPECT_CONFIG / source.name  # which holds a digest of what it is made of
    columns = [_ID, QUESTION, OPTIONS, _LABEL]
    texts = pa.field(_IMAGE, pa.string())
    with pq.ParquetFile(source) as file:
        schema = pa.schema([*(file.schema_arrow.field(column).remove_metadata() for column in columns), texts])
        with pq.ParquetWriter(target, schema, use_content_defined_chunking=True) as writer:
            for batch in file.iter_batches(_QUESTIONS, columns=[*columns, _IMAGE]):
                images = batch.column(_IMAGE).field("bytes").to_pylist()
                uris = pa.array([_make_uri(content) for content in images], pa.string())
                writer.write_table(pa.table([*(batch.column(column) for column in columns), uris], schema=schema))
    seal(target)
    return str(target.relative_to(out))


def _make_uri(content: bytes | None) -> str:
    if not content:
        return ""
    kind = str(open_picture(content, name="image").format).lower()
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"


def make_inspect_task(split: str) -> dict[str, Any]:
    """The task of `eval.yaml` that asks the questions: which columns it reads, how it asks and scores.

    Args:
        split: The split that is asked.

    >>> make_inspect_task("test")["field_spec"]["choices"]
    'options'
    """
    return {
        "id": name_task(_INSPECT_CONFIG, "accuracy"),
        "config": _INSPECT_CONFIG,
        "split": split,
        "field_spec": {"input": QUESTION, "target": _LABEL, "choices": OPTIONS, "input_image": _IMAGE},
        "solvers": [{"name": "multiple_choice"}],
        "scorers": [{"name": "choice"}],
    }


def describe_row_changes(
    before: ConfigFiles,
    after: ConfigFiles,
    *,
    open_before: Callable[[str], IO[bytes]],
    open_after: Callable[[str], Any],
) -> str:
    """Says how many rows were added, removed, relabelled or changed in other columns than those of images.

    Rows are known by `example_id`; without such a column, a row that changed counts as removed and as added.

    Args:
        before: Files of the earlier version.
        after: Files of the later one.
        open_before: Function that opens a file of the earlier version by its path in the repository.
        open_after: The same for the later one.
    """
    if not all(file.path.endswith(".parquet") for files in (before, after) for file in _list_data(files)):
        return "the shards differ, whose rows are not compared"
    old, new = _index_rows(before, open_before), _index_rows(after, open_after)
    truths = {catalog.get("output", name).label_column for name in catalog.names("output")}
    relabelled, others, columns = 0, 0, Counter[str]()
    for key in old.keys() & new.keys():
        differing = [name for name in {**old[key], **new[key]} if old[key].get(name) != new[key].get(name)]
        relabelled += bool(truths.intersection(differing))
        others += bool(differing) and not truths.intersection(differing)
        columns.update(name for name in differing if not truths.intersection(differing))
    changes = [
        *_count(len(new.keys() - old.keys()), "added"),
        *_count(len(old.keys() - new.keys()), "removed"),
        *_count(relabelled, "relabelled"),
        *_count(others, f"changed in {', '.join(sorted(columns))}"),
    ]
    return ", ".join(changes) or "no row is added, removed or relabelled; images or notes differ"


def _count(rows: int, what: str) -> Iterator[str]:
    if rows:
        yield f"{rows:,} {'row' if rows == 1 else 'rows'} {what}"


def _list_data(files: ConfigFiles) -> Iterator[Any]:
    return (file for split in files.splits.values() for file in split)


def _index_rows(files: ConfigFiles, open_file: Callable[[str], IO[bytes]]) -> dict[tuple[str, int], _Row]:
    """Each row's columns without images as text, by its id and how often the id came before."""
    features = files.features
    light = [name for name, feature in features.items() if not isinstance(feature, Image) and name != BUILD_COLUMN]
    seen, rows = Counter[str](), {}
    for split, parts in files.splits.items():
        for part in parts:
            with open_file(part.path) as content:
                table = pq.ParquetFile(content).read(columns=light)
            for row in table.to_pylist():
                told = {name: _format(features, name, row[name]) for name in light} | {"split": split}
                key = told.pop(_ID) if _ID in told else json.dumps(told, sort_keys=True)
                rows[key, seen[key]] = told
                seen[key] += 1
    return rows


def _format(features: Features, name: str, value: object) -> str:
    feature: Any = features[name]
    if isinstance(feature, ClassLabel) and isinstance(value, int) and value >= 0:
        return str(feature.names[value])  # numbers change where a class is added
    return value if isinstance(value, str) else json.dumps(value, default=str, sort_keys=isinstance(value, Mapping))
