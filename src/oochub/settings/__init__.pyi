"""The signatures of the public functions; `make options` writes them from the records of this folder."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Protocol, TypedDict, Unpack, overload

import torch
from datasets.dataset_dict import DatasetDict

from oochub.checking.check import Check
from oochub.comparison.comparison import Comparison
from oochub.comparison.paired_report import PairedReport
from oochub.comparison.rank_models import Ranking
from oochub.context_finder import ContextWay
from oochub.hub.upload import Pushed
from oochub.prediction.predictions import Predictions
from oochub.repairs.repair import Repair
from oochub.report.report import Report
from oochub.trainers.objective import Objective

class _ModeOptions(TypedDict, total=False):
    prompt: str | None
    words: Mapping[str, str] | Path | str | None
    max_new_tokens: int
    label_map: Mapping[str, Any] | Path | str | None
    restrict: bool
    pooling: str
    threshold: float
    iou: float
    normalize: Literal["none", "tokens", "characters"]
    calibrate: Literal["none", "blank"]
    templates: Sequence[str] | str | None
    prompts: Mapping[str, Sequence[str] | str] | Path | str | None
    negatives: Sequence[str] | str
    tokenizer: Any

class _AuditOptions(_ModeOptions, total=False):
    limit: int | None
    skip_broken: bool
    features: object
    images: bool
    odin: float | None
    odin_temperature: float
    zoom: float | None
    preprocessing: Literal["auto", "fused", "processor", "draft"]
    batch_size: int | None
    device: str | torch.device
    dtype: Literal["auto", "float32", "bfloat16", "float16", "int8"]
    calibrate_on: object
    runtime: Literal["torch", "onnxruntime", "openvino", "auto"]
    num_workers: int | None
    threads: int | None
    compile: bool
    cache: bool
    engine: Literal["local", "ray"]
    ray_address: str | None
    actors: int | None
    revision: str | None
    mode: str
    image_processor: Any
    processor: Any
    class_names: object
    transform: object
    model_id: str | None

class _RepairOptions(_ModeOptions, total=False):
    revision: str | None
    mode: str
    image_processor: Any
    processor: Any
    class_names: object
    transform: object
    model_id: str | None
    splits: Iterable[str] | None
    limit: int | None
    skip_broken: bool
    features: object
    images: bool
    odin: float | None
    odin_temperature: float
    zoom: float | None
    preprocessing: Literal["auto", "fused", "processor", "draft"]
    batch_size: int | None
    device: str | torch.device
    dtype: Literal["auto", "float32", "bfloat16", "float16", "int8"]
    calibrate_on: object
    runtime: Literal["torch", "onnxruntime", "openvino", "auto"]
    num_workers: int | None
    threads: int | None
    compile: bool
    cache: bool
    engine: Literal["local", "ray"]
    ray_address: str | None
    actors: int | None

class _Audit(Protocol):
    def __call__(
        self,
        model: Any,
        source: Any,
        *,
        label: str | None = None,
        context: str | None = None,
        group: str | None = None,
        cluster: str | None = None,
        pair: str | None = None,
        image: str | None = None,
        usual: Mapping[str, str | Sequence[str]] | None = None,
        context_words: Mapping[str, Any] | None = None,
        merge_names: bool = False,
        config: str | None = None,
        data_dir: str | None = None,
        options: Mapping[str, Any] | None = None,
        splits: Iterable[str] | None = None,
        out: str | Path | None = None,
        labels: str | None = None,
        unlabeled: str | None = None,
        proxy: Any = (),
        contexts: str | ContextWay | None = None,
        context_settings: Mapping[str, Any] | None = None,
        choose_on: Literal["auto", "train", "half"] = "auto",
        probe: str | None = None,
        probe_settings: Mapping[str, Any] | None = None,
        correction: Literal["holm", "benjamini_hochberg"] = "holm",
        resamples: int = 1000,
        seed: int = 0,
        **prediction: Unpack[_AuditOptions],
    ) -> Report:
        """Says whether a model relies on context: predicts, evaluates and reports.

        Args:
            model: Folder or Hub id of a model, or the model itself with `image_processor=`; or any function or
                `torch.nn.Module` with `class_names=` and `transform=`, see `oochub.predict`.
            source: A benchmark ("spawrious/o2o_hard"), a folder of images, files, an id on the Hub, or a data set that
                is loaded already, see `oochub.load`.
            label: Custom data: label column (default: label). A field of a WebDataset's JSON is written `json.species`.
            context: Context column for groups and challenges (default: context). For a benchmark: the column to use as its
                context.
            group: Custom data: group column (default: group, or label/context).
            cluster: Custom data: column that identifies related rows, such as a patient, a video or a source image.
                Intervals then treat clusters, not rows, as independent, and a repair never splits a cluster.
            pair: Custom data: column that identifies the object in a row, if the same objects appear in and out of context.
                For example, one foreground on two backgrounds. The interval of the gap is then paired.
            image: Custom data: column of images or image paths (default: image). Without a name, the only column of images
                is taken.
            usual: Usual contexts of a class (default: the contexts that are clearly more frequent with the class than
                without it). Such as {"dog": ["grass", "beach"]}.
            context_words: Custom data: what a report calls sides and contexts, place=on for “cow on grass”. The words of
                [words] in benchmark.toml, by name.
            merge_names: Custom data: treat names of labels, contexts and groups that look alike as one name. Such as snow,
                Snow and 'snow ': they differ by case, spaces or the form of Unicode. A note lists them.
            config: Config, if the source has several.
            data_dir: Raw data folder (default: $OOCHUB_DATA/<benchmark>).
            options: Option of the benchmark. By name, as `load_dataset` takes them.
            splits: Splits to predict (default: all except train).
            out: A folder for `predictions.parquet`, `report.json` and `report.html`; what stands there and is of the same
                model, data and settings is not made again. None writes nothing.
            labels: Table with the labels of a few images of SOURCE: file_name, label, context. A CSV, JSON Lines or Parquet
                file; file_name is relative to the folder. The images with a label must be a random choice. A row may have a
                context and no label. See `oochub.evaluation.unlabeled_rows`.
            unlabeled: With --labels: folder of more images like those of SOURCE, without labels. All images below it.
            proxy: With --labels: predictions of another model on the same images, used in place of the model's own
                confidence. A list of predictions, or their paths; several are averaged.
            contexts: Find contexts in the images first, with a method from `oochub list context`, such as properties. Or
                the method itself. For data without a context column; see `oochub.contexts`. What it measures is cached.
            context_settings: Another option of the method. By name, such as {"model": "my-encoder"}.
            choose_on: Rows used to choose contexts: train, half (of the other splits), or auto (train if present, otherwise
                half). These rows also decide what is usual, see `mark_selection_rows`. Use "half" if each class of train
                has its context and no other.
            probe: background: also predict images with only the object, only the background, and the object on other
                backgrounds. See `oochub show probe background`. The verdict does not depend on it.
            probe_settings: Another option of the probe: rows, seed, label_map. By name, such as {"masks": "segmentations"}.
            correction: Multiple-testing correction over the found contexts. "holm" keeps the chance of any false finding at
                5%; "benjamini_hochberg" keeps the expected share of false ones among those shown at 5%.
            resamples: Number of bootstrap resamples, for bootstrapped intervals.
            seed: Random seed for the bootstrap. In an audit, also for the rows that a probe alters.
            **prediction: Other arguments of `oochub.predict`: mode, batch_size, device, dtype, limit, ...

        Returns:
            The Report; its first line in every form is the verdict.

        Raises:
            OochubError: A model or data that cannot be read or do not fit each other; own data that say nothing of context,
                without a probe; an unknown way, or data that have found contexts already; a probe of data whose objects
                nothing tells.

        >>> import tempfile
        >>> from oochub.studies.demo.example import example
        >>> images, model = example(tempfile.mkdtemp() + "/example", size=16)
        >>> report = audit(model, images, label="breed", context="background")
        >>> report.benchmark.name, report.slice("in_context").n, report.slice("out_of_context").n
        ('custom', 16, 16)
        """

class _Check(Protocol):
    def __call__(
        self,
        report: Report | str | Path | Iterable[Report | str | Path],
        rules: str | Path | Mapping[str, object],
        *,
        baseline: Report | str | Path | None = None,
        undecided: Literal["pass", "fail"] | None = None,
        anytime: bool = False,
        earlier: Any = (),
    ) -> Check:
        """Holds reports to rules, by the 95% interval of each number.

        A rule passes if the interval lies wholly on the good side of its bound, fails if it lies wholly on the bad side,
        and is undecided if the interval includes the bound: there are too few rows to decide. A number without an interval
        is undecided. docs/check.md describes the rules.

        Args:
            report: A Report, the path of one, the folder of an audit, or several of these; each is held to every rule.
            rules: A TOML file, or what such a file holds: {"rule": [{"metric": "accuracy", "at_least": 0.7}]}.
            baseline: Report of the old model, for rules with at_most_worse. A Report, or the path of one. The comparison is
                paired if the predictions of both reports are found beside them.
            undecided: How to count a rule that is undecided because there are too few rows: pass or fail. By default the
                check is then undecided, unless a rule fails.
            anytime: Use intervals that hold at every look, for a set that is checked again as rows are added. They are 1.6
                to 1.8 times as wide; `looks = "any"` in the rules does the same.
            earlier: Earlier report of the model on fewer of these rows: the check says what its promise is then. A list of
                reports, or their paths.

        Returns:
            The Check: an outcome for each report, rule and number; `state` and `exit_code` of them all.

        Raises:
            OochubError: A file that is no report or no rules; an earlier look that breaks the promise; a metric, slice,
                group or key that does not exist, near names given; a bound that every number or none can keep; a report
                on chosen rows; at_most_worse without a baseline, or a baseline of another benchmark, of other
                rows, classes or labels; predictions beside a report that it is not made of, or that give other numbers.

        >>> label = [0, 1] * 100
        >>> answers = [[1.0, 0.0] if truth == 0 else [0.0, 1.0] for truth in label]
        >>> predictions = __import__("oochub").Predictions.from_arrays(logits=answers, label=label)
        >>> report = __import__("oochub").evaluate(predictions)
        >>> found = check(report, {"rule": [{"metric": "accuracy", "at_least": limit} for limit in (0.9, 0.99)]})
        >>> [each.state for each in found.outcomes], found.state, found.exit_code
        (['pass', 'undecided'], 'undecided', 3)
        """

class _Compare(Protocol):
    @overload
    def __call__(
        self,
        first: Predictions,
        second: Predictions,
        /,
        *,
        metric: str | Sequence[str] | None = None,
        task: str | None = None,
        resamples: int = 1000,
        seed: int = 0,
    ) -> PairedReport: ...
    @overload
    def __call__(
        self,
        first: Report,
        /,
        *others: Report,
        metric: str | Sequence[str] | None = None,
        slice: str | Sequence[str] | None = None,
        reported: bool = False,
        table: str | None = None,
        rows: Literal["tasks", "methods"] = "tasks",
    ) -> Comparison: ...
    @overload
    def __call__(
        self,
        first: Predictions | Report | str | Path,
        /,
        *others: Predictions | Report | str | Path,
        metric: str | Sequence[str] | None = None,
        slice: str | Sequence[str] | None = None,
        reported: bool = False,
        table: str | None = None,
        version: str | None = None,
        rows: Literal["tasks", "methods"] = "tasks",
        task: str | None = None,
        resamples: int = 1000,
        seed: int = 0,
    ) -> PairedReport | Ranking | Comparison:
        """Compares two predictions of the same examples by paired tests, ranks more by them, or sets reports side by side.

        Args:
            first: Predictions, or the path of a .parquet of them: model A. Or a report, the path of a report.json, or a
                folder that holds some at any depth.
            *others: For predictions, those of model B: every difference is B minus A. With more models, every pair is
                tested and each model gets the places that the tests allow. For reports, any number.
            metric: Metrics to compare, one table each (default: the primary metric). For predictions also the benchmark's
                other metrics that are means over rows.
            slice: Slices to show for reports, or for 3 or more prediction files, such as hard, easy or all (default: out of
                context).
            reported: Reports only: add the paper's numbers for the model that was trained.
            table: Reports only: add the paper's numbers from this table, such as 3 or ce.
            version: Reports only: version of the paper, if two number their tables differently: appendix or checklist.
            rows: Reports only: use tasks or methods as table rows.
            task: Predictions for nooch/all only: the task, such as ce_car.
            resamples: Predictions only: number of bootstrap resamples, for bootstrapped differences.
            seed: Predictions only: random seed for the bootstrap and for random signs.

        Returns:
            For two predictions a PairedReport, see `oochub.comparison.compare`; for more a Ranking, see
            `oochub.comparison.rank_models`; for reports a Comparison, see `oochub.comparison.comparison`. Each has
            `to_html()`, `to_markdown()`, `to_latex()` and `to_csv()`.

        Raises:
            OochubError: Predictions beside reports; a single one, or some of other examples; an option
                of the other kind; a file that is neither; an unknown metric, slice, table or task.

        >>> import numpy as np
        >>> import oochub
        >>> rng = np.random.default_rng(0)
        >>> label = np.arange(200) % 2
        >>> a, b = (
        ...     oochub.Predictions.from_arrays(logits=np.eye(2)[label] * size + rng.normal(size=(200, 2)), label=label)
        ...     for size in (1, 3)
        ... )
        >>> number = oochub.compare(a, b, metric="accuracy").slices[0].numbers["accuracy"]
        >>> number.difference > 0, number.test, number.is_clear
        (True, 'exact McNemar', True)
        """

class _Contexts(Protocol):
    def __call__(
        self,
        source: Any,
        *,
        by: str | ContextWay,
        out: str | Path | None = None,
        label: str | None = None,
        image: str | None = None,
        revision: str | None = None,
        config: str | None = None,
        data_dir: str | None = None,
        options: Mapping[str, Any] | None = None,
        skip_broken: bool = False,
        cache: bool = True,
        seed: int = 0,
        engine: Literal["local", "ray"] = "local",
        ray_address: str | None = None,
        actors: int | None = None,
        choose_on: Literal["auto", "train", "half"] = "auto",
        **settings: Any,
    ) -> DatasetDict:
        """The data with the contexts that a way finds in their images.

        The last columns are new: `contexts`, the contexts of each row, none or several, null for an image that cannot be
        read; `chosen_on`, whether the row was looked at to choose something, null where it is no row to test on either;
        and what the way measured; a column of a name that the data have gets that of the way before it (`segments_areas`).
        A statement about contexts is tested on the rows on which nothing was chosen.

        Args:
            source: A benchmark ("spawrious/o2o_hard"), a folder of images, files, an id on the Hub, or a data set that
                is loaded already, see `oochub.load`.
            by: The way, a name of `oochub list context`, or the way itself.
            out: A folder for the repository, which `oochub.load` reads: new, empty, or an earlier one with contexts, which
                is replaced. None writes nothing.
            label: Custom data: label column (default: label). A field of a WebDataset's JSON is written `json.species`.
            image: Custom data: column of images or image paths (default: image). Without a name, the only column of images
                is taken.
            revision: Revision of SOURCE on the Hub: a commit, tag, branch or refs/pr/N; SOURCE@REVISION does the same.
            config: Config, if the source has several.
            data_dir: Raw data folder (default: $OOCHUB_DATA/<benchmark>).
            options: Option of the benchmark. By name, as `load_dataset` takes them.
            skip_broken: Skip unreadable images and report how many were skipped. Their rows get no context. Otherwise the
                first one is an error.
            cache: Reuse cached measurements of the same images. New measurements are added to the cache.
            seed: Random seed for the halves and the rows to review.
            engine: Execution engine: local (this process, or torchrun processes except in a repair) or ray (a Ray cluster).
                Each process of torchrun has its own device and its own parts. On a cluster (`pip install 'oochub[ray]'`)
                tasks read and actors hold the model. Rows, ids and numbers stay the same.
            ray_address: Address of a Ray cluster (default: start one on this machine). For example "auto".
            actors: Number of model replicas in the cluster (default: one per GPU, or one per CPU without GPUs).
            choose_on: Rows used to choose contexts: train, half (of the other splits), or auto (train if present, otherwise
                half). These rows also decide what is usual, see `mark_selection_rows`. Use "half" if each class of train
                has its context and no other.
            **settings: Settings of the way: model, names, ...

        Returns:
            The splits; the build record has what was found, `BuildFacts.found_contexts`.

        Raises:
            OochubError: An unknown way or setting, data without images, an image that cannot be read, data that have a
                column `contexts` or `chosen_on`, or both names that a column of the way could have, a folder that
                holds something else.

        >>> import tempfile
        >>> from oochub.studies.demo.example import example
        >>> images, _ = example(tempfile.mkdtemp() + "/example", size=16)
        >>> data = contexts(images, by="properties", label="breed")
        >>> data["train"].features["contexts"].feature.names[:2]
        ['dark', 'bright']
        """

class _Evaluate(Protocol):
    def __call__(
        self,
        predictions: Predictions | str | Path | Sequence[Predictions | str | Path],
        *,
        metrics: Iterable[str | Callable[..., object]] | None = None,
        match: str | None = None,
        classes: Literal["all", "present"] = "all",
        detectors: Iterable[str] | None = None,
        reference: Predictions | str | Path | None = None,
        pairs: Sequence[tuple[str, str]] | None = None,
        probes: Iterable[str] = (),
        rows: str | None = None,
        unseen: bool = False,
        benchmark: Any = None,
        probabilities: bool = False,
        model_name: str | None = None,
        correction: Literal["holm", "benjamini_hochberg"] = "holm",
        resamples: int = 1000,
        seed: int = 0,
        data_dir: str | None = None,
        loading: Mapping[str, Any] | None = None,
    ) -> Report:
        """Scores predictions; the model is not needed.

        Args:
            predictions: Predictions or the path of a Parquet file, or a list of them: the same model on other splits. With
                `benchmark` the path of a CSV, Parquet or NPZ file of answers that another program wrote, see
                `oochub.exchange.answers_file`.
            metrics: Metrics to compute (default: those of the benchmark). Names, or functions of columns such as `label`
                and `probability`. The headline metric is measured on both sides in any case, because the gap is made of it.
            match: Also compute the gap matched on a column: equal values of the column (area), or equal class shares
                (label). A column must be numeric and auxiliary; its values are spread alike on both sides
                (`report["matched_gap"]`, see `oochub.evaluation.matching`). With "label", the verdict goes by the matched
                gap.
            classes: Allowed predictions: all classes, or only the classes present in the set. For example the 200 classes
                of ImageNet-R. This decides what is correct, in the metrics and for detectors; the report says which was
                used.
            detectors: Also score this out-of-distribution detector. Names, or detectors. `predictions` may then come from
                several configs, the in-distribution one first, and `report["msp/imagenet_1k/imagenet_ood/auroc_failure"]`
                is one number.
            reference: Predictions for the training split, to fit detectors. They must have features.
            pairs: Pair of configs to compare (default: every pair). Pairs of names, (in distribution, out of it). Sets are
                never pooled.
            probes: zoom: measure how much detector scores change under a zoom that does not change the prediction. For
                predictions made with `zoom`, see `oochub.detection.zoom_probe`.
            rows: Evaluate only the rows listed in this file. It has one SPLIT<tab>EXAMPLE_ID per line. The report says in
                every form that its rows were chosen, and is not compared with one on other rows. See
                `oochub.evaluation.row_selection`.
            unseen: With --rows: test the rule in that file on rows that nobody has looked at. The rule is the first comment
                of the file. It is tested on the half that the page kept back, or on other data: right answers where it
                holds against right answers elsewhere.
            benchmark: Dataset that a CSV, Parquet or NPZ file of answers belongs to: spawrious/o2o_hard, or your own data.
                A source of `oochub.load`, or the splits that it returned.
            probabilities: With --benchmark: read the numbers in the file as probabilities, whatever the columns are called.
                The columns `logits`, `logit_<class>` and those named by the classes; by default these are logits.
            model_name: With --benchmark: name of the model (default: the file name without its extension).
            correction: Multiple-testing correction over the found contexts. "holm" keeps the chance of any false finding at
                5%; "benjamini_hochberg" keeps the expected share of false ones among those shown at 5%.
            resamples: Number of bootstrap resamples, for bootstrapped intervals.
            seed: Random seed for the bootstrap. In an audit, also for the rows that a probe alters.
            data_dir: Raw data folder (default: $OOCHUB_DATA/<benchmark>).
            loading: Other arguments of `oochub.load`, such as {"label": "breed", "context": "place"} of your own data.

        Returns:
            A Report. `report["auc"]` is the metric on all rows of the benchmark's evaluation split;
            `report["out_of_context/accuracy"]` that of a slice, which also goes by the benchmark's own word for it:
            `report["hard/accuracy"]` in NOOCH.

        Raises:
            OochubError: Predictions that are broken, more splits or groups than a report compares, an unknown metric, probe
                or column to match on, or a metric whose columns the predictions lack.

        >>> evaluate([])
        Traceback (most recent call last):
        oochub.errors.OochubError: There are no predictions. Pass at least one Predictions or the path of one.
        """

class _Load(Protocol):
    def __call__(
        self,
        source: str | PathLike[str],
        *,
        label: str | None = None,
        context: str | None = None,
        group: str | None = None,
        cluster: str | None = None,
        pair: str | None = None,
        image: str | None = None,
        usual: Mapping[str, str | Sequence[str]] | None = None,
        context_words: Mapping[str, Any] | None = None,
        merge_names: bool = False,
        revision: str | None = None,
        config: str | None = None,
        data_dir: str | None = None,
        options: Mapping[str, Any] | None = None,
        split: str | None = None,
        num_proc: int | None = None,
        text_columns: bool | str | Sequence[str] = False,
    ) -> DatasetDict:
        r"""The splits of a benchmark, or of your own data in the form of one.

        Your own data are what `datasets` reads: a folder of images (class folders, or a metadata.csv or .jsonl with
        `file_name`; folders train and test are splits), Parquet, CSV or JSON files or a folder of them, WebDataset shards,
        a folder of `save_to_disk`, an id on the Hub; also what `oochub build` and `oochub challenge` wrote. Their rows get
        `example_id`, `label` (text becomes classes, sorted by name over all splits), and of a label and a context `group`
        (label/context) and `challenge`: easy where the context is usual for the class, by the criterion `mismatch`. See
        `oochub.data.user_data`.

        If nothing says which column holds the label, or the context, and exactly one column can (classes or text, few
        values, no ids; a context crosses the classes), it is taken, with a warning and a note in the build record.

        The usual contexts of a class are those that are clearly more frequent with it than without it in the training
        split, or over all rows where there is no other split, by the interval of the ratio; a note and the facts of the
        build record say which. A row in a context that is neither usual nor unusual for its class has no challenge (-1).

        Args:
            source: "nooch/ce_car", or the benchmark alone where it has one config; a folder or file; an id on the Hub. A
                benchmark comes before a folder of the same name.
            label: Custom data: label column (default: label). A field of a WebDataset's JSON is written `json.species`.
            context: Context column for groups and challenges (default: context). For a benchmark: the column to use as its
                context.
            group: Custom data: group column (default: group, or label/context).
            cluster: Custom data: column that identifies related rows, such as a patient, a video or a source image.
                Intervals then treat clusters, not rows, as independent, and a repair never splits a cluster.
            pair: Custom data: column that identifies the object in a row, if the same objects appear in and out of context.
                For example, one foreground on two backgrounds. The interval of the gap is then paired.
            image: Custom data: column of images or image paths (default: image). Without a name, the only column of images
                is taken.
            usual: Usual contexts of a class (default: the contexts that are clearly more frequent with the class than
                without it). Such as {"dog": ["grass", "beach"]}.
            context_words: Custom data: what a report calls sides and contexts, place=on for “cow on grass”. The words of
                [words] in benchmark.toml, by name.
            merge_names: Custom data: treat names of labels, contexts and groups that look alike as one name. Such as snow,
                Snow and 'snow ': they differ by case, spaces or the form of Unicode. A note lists them.
            revision: Revision of SOURCE on the Hub: a commit, tag, branch or refs/pr/N; SOURCE@REVISION does the same.
            config: Config, if the source has several.
            data_dir: Raw data folder (default: $OOCHUB_DATA/<benchmark>).
            options: Option of the benchmark. By name, as `load_dataset` takes them.
            split: The one split to keep.
            num_proc: Processes to build with.
            text_columns: True gives the columns of class numbers, all but `label`, as the names that the numbers stand
                for, so that `row["challenge"] == "easy"` holds; or the names of such columns. See `use_text_columns`.

        Raises:
            OochubError: Nothing is there; an unknown config, option, column or split; data that are missing or broken; a
                column that does not hold what it should.

        >>> import tempfile, pathlib
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "birds.csv"
        >>> _ = file.write_text("bird,place\n" + "gull,sea\n" * 9 + "wren,land\n" * 9 + "wren,sea\n")
        >>> data = load(file, label="bird", context="place", text_columns=True)
        >>> data["train"]["challenge"][-3:]
        ['easy', 'easy', 'hard_positive']
        """

class _Predict(Protocol):
    def __call__(
        self,
        model: Any,
        dataset: Any,
        *,
        label: str | None = None,
        context: str | None = None,
        group: str | None = None,
        cluster: str | None = None,
        pair: str | None = None,
        image: str | None = None,
        usual: Mapping[str, str | Sequence[str]] | None = None,
        context_words: Mapping[str, Any] | None = None,
        merge_names: bool = False,
        config: str | None = None,
        data_dir: str | None = None,
        options: Mapping[str, Any] | None = None,
        revision: str | None = None,
        mode: str = "auto",
        image_processor: Any = None,
        processor: Any = None,
        class_names: object = None,
        transform: object = None,
        model_id: str | None = None,
        splits: Iterable[str] | None = None,
        limit: int | None = None,
        skip_broken: bool = False,
        features: object = False,
        images: bool = True,
        odin: float | None = None,
        odin_temperature: float = 1000.0,
        zoom: float | None = None,
        preprocessing: Literal["auto", "fused", "processor", "draft"] = "auto",
        batch_size: int | None = None,
        device: str | torch.device = "auto",
        dtype: Literal["auto", "float32", "bfloat16", "float16", "int8"] = "auto",
        calibrate_on: object = None,
        runtime: Literal["torch", "onnxruntime", "openvino", "auto"] = "torch",
        num_workers: int | None = None,
        threads: int | None = None,
        compile: bool = False,
        cache: bool = True,
        engine: Literal["local", "ray"] = "local",
        ray_address: str | None = None,
        actors: int | None = None,
        out: str | Path | None = None,
        **settings: Unpack[_ModeOptions],
    ) -> Predictions:
        """Predicts every example of the splits.

        Args:
            model: Folder or Hub id of a model of transformers for images, texts, arrays or graphs, or the model itself; or
                any function or `torch.nn.Module` from a batch of images float32 (n, c, h, w) to logits (n, k), with
                `class_names` and `transform`. A module is left in the mode and on the device that it had.
            dataset: A benchmark ("spawrious/o2o_hard"), a folder of images, files or an id on the Hub, as `oochub.load`
                opens them; or a Dataset, IterableDataset or DatasetDict with a column `image`, `text` or `array`. `label`,
                `example_id` and any other columns are carried into the predictions, texts too.
            label: Custom data: label column (default: label). A field of a WebDataset's JSON is written `json.species`.
            context: Context column for groups and challenges (default: context). For a benchmark: the column to use as its
                context.
            group: Custom data: group column (default: group, or label/context).
            cluster: Custom data: column that identifies related rows, such as a patient, a video or a source image.
                Intervals then treat clusters, not rows, as independent, and a repair never splits a cluster.
            pair: Custom data: column that identifies the object in a row, if the same objects appear in and out of context.
                For example, one foreground on two backgrounds. The interval of the gap is then paired.
            image: Custom data: column of images or image paths (default: image). Without a name, the only column of images
                is taken.
            usual: Usual contexts of a class (default: the contexts that are clearly more frequent with the class than
                without it). Such as {"dog": ["grass", "beach"]}.
            context_words: Custom data: what a report calls sides and contexts, place=on for “cow on grass”. The words of
                [words] in benchmark.toml, by name.
            merge_names: Custom data: treat names of labels, contexts and groups that look alike as one name. Such as snow,
                Snow and 'snow ': they differ by case, spaces or the form of Unicode. A note lists them.
            config: Config, if the source has several.
            data_dir: Raw data folder (default: $OOCHUB_DATA/<benchmark>).
            options: Option of the benchmark. By name, as `load_dataset` takes them.
            revision: Revision of MODEL on the Hub: a commit, tag, branch or refs/pr/N; MODEL@REVISION does the same.
            mode: How to get predictions: auto (by architecture), or a mode from `oochub list mode`. "head" uses the model's
                own head; "linear_probe" fits logistic regression to the features of the split train; ...
            image_processor: Folder or Hub id to load the image processor from, if the model has no
                preprocessor_config.json. The same as `processor`, for images.
            processor: For a model object, or instead of the one beside the model: an image processor, a tokenizer, an
                `oochub.inputs.arrays.ArrayProcessor`, or the folder or Hub id of one. A model object without a processor
                takes arrays as they are.
            class_names: Class names of the model outputs, in order: a,b,c or a file with one name per line. For models
                without class names. In Python a list. For a function or a module of PyTorch. The labels of the data are
                matched to them by name.
            transform: For such a model: a function from a PIL image to one float tensor (c, h, w), such as the `transforms`
                of torchvision or timm; or give image_processor.
            model_id: For such a model: its name in reports. A module is cached by its weights and code; a plain function
                only by this name, so change it when the function changes.
            splits: Splits to predict (default: all except train).
            limit: Predict at most this many random rows per split, for a quick look. The seed is fixed. For a stream they
                are the first rows. Every report says so.
            skip_broken: Skip unreadable images and report how many were skipped. Also those that are refused for safety.
                Otherwise the first one is an error.
            features: Also save the features before the last layer, and the last layer. They are `features`, and
                `Predictions.head`, in a file `<out>.head.safetensors`. The name of a layer, such as "layer4" of
                `net.named_modules()`, stores its output instead: (n, d), or the mean over the tokens of (n, t, d) or the
                places of (n, d, h, w). A function or module from the batch of images to floats (n, d) stores what it
                returns. Both have no head, so detectors that need one say so.
            images: Save thumbnails of the worst mistakes, for the report. JPEGs of a few of each group, for the report.
            odin: Also store the logits of images perturbed by ODIN with this epsilon, usually 0.0014. Stored as
                `odin_logits`. The step is in scaled pixels, epsilon / std if the processor normalizes; see
                `oochub.models.extraction`.
            odin_temperature: Temperature of ODIN's gradient. The same as that of the detector `odin`, which reads the
                column.
            zoom: Also store the logits of images zoomed by this factor, above 1, for --probe zoom. For example 1.2. Stored
                as `zoom_logits` (with `features` also `zoom_features`, with `odin` also `zoom_odin_logits`); the network
                sees the center of each image, 1 / zoom of each side.
            preprocessing: Image preprocessing: fused (fast), processor (the model's own), or auto (fused if it matches the
                processor). "fused" decodes and resizes in one pass, within one gray level of the processor; "processor" is
                the model's own. "auto" uses "fused" if pixels are within one gray level and logits within 2% of their range
                on a few images and noise, otherwise "processor"; the provenance says which was used, and what was measured.
                "draft" lets the decoder shrink large JPEGs first, which is faster and less exact; the report says by how
                much. For images only.
            batch_size: Number of rows per batch (default: 16, or 128 on a GPU).
            device: Device: auto (a GPU if there is one), cpu, cuda, cuda:1, mps. Or a `torch.device`.
            dtype: Precision of the network; auto is float32. int8 requires --runtime and --calibrate-on. By torch's
                autocast; logits are stored in float32. The provenance says how far the first rows move from float32. "int8"
                is for the runtimes onnxruntime and openvino.
            calibrate_on: Images to calibrate int8 on: a split that is not evaluated, or a folder. Or a `datasets.Dataset`.
                At most 192 of them are drawn at random by a fixed seed; a third of these measure how far the answers move
                from float32, which the page says. An image that is scored is an error.
            runtime: Inference runtime on CPU; auto uses the fastest installed one, measured on the first rows. The network
                is exported once into the cache, and refused if its logits on the first rows are not torch's within 1e-4 of
                their range. The provenance names runtime and version. Extras: `oochub[onnx]`, `oochub[openvino]`.
            num_workers: Number of image-decoding threads (default: one per core; 0: decode in the main thread, between
                batches). They decode ahead of the network, for a dataset or a stream. Rows and numbers stay the same.
            threads: Number of CPU threads for the network (default: chosen by model size and free cores). The logits are
                the same bits with any number. Other programs and the threads that decode need cores too.
            compile: Compile the network first. Worthwhile for many rows; requires a C++ compiler and saves only logits. By
                torch, in half a minute or more (on a GPU by triton); not with features or odin. The provenance says how far
                logits move.
            cache: Reuse cached predictions if nothing has changed. Predictions by a model folder or Hub id are cached, and
                reused if model, data, options and versions are the same: no model runs, and `provenance["when"]["cached"]`
                says when it did. A model object and a stream always run. See docs/cache.md.
            engine: Execution engine: local (this process, or torchrun processes except in a repair) or ray (a Ray cluster).
                Each process of torchrun has its own device and its own parts. On a cluster (`pip install 'oochub[ray]'`)
                tasks read and actors hold the model. Rows, ids and numbers stay the same.
            ray_address: Address of a Ray cluster (default: start one on this machine). For example "auto".
            actors: Number of model replicas in the cluster (default: one per GPU, or one per CPU without GPUs).
            out: Parquet file to write, whole or not at all; for more than 2^28 numbers a folder of Parquet files with a
                manifest. What is complete when a run is killed lies in a hidden folder beside it, and the same call goes
                on from there; a stream and a model object begin anew.
            **settings: Settings of the mode; see its class, `oochub.get("mode", "head")`.

        Returns:
            The Predictions; also written to `out`.

        Raises:
            OochubError: An unknown split, mode or setting, a model whose classes are not those of the data set, an output
                that cannot be written, a row that cannot be read (its split and id are named), an odin or zoom out of range
                or for a model that does not read images, a device that is not here, a dtype whose logits overflow.
        """

class _Push(Protocol):
    def __call__(
        self,
        what: str | PathLike[str],
        to: str | None = None,
        *,
        leaderboard: str | None = None,
        predictions: Sequence[str | Path] = (),
        entry: Mapping[str, Any] | None = None,
        configs: Iterable[str] = (),
        num_proc: int | None = None,
        without_images: bool = False,
        private: bool = False,
        revision: str | None = None,
        overwrite: bool = False,
        dry_run: bool = False,
        evaluation_framework: str | None = None,
        dataset: str | None = None,
        evidence: str | None = None,
        pull_request: bool = False,
        data_dir: str | None = None,
        options: Mapping[str, Any] | None = None,
        out: str | Path | None = None,
    ) -> Pushed:
        """Pushes a benchmark, a built repository, a trained model, results or a metric, in one commit.

        Nothing half-pushed is ever seen.

        A second push of the same changes nothing; one that was interrupted goes on where it was.

        Args:
            what: "nooch", "nooch/ce_car"; the folder of `oochub build` or `oochub challenge`; the folder of a model; a
                report.json or a folder of them, whose numbers go to a model's page; "metric:auc_hard", which becomes a
                Space for `evaluate.load`.
            to: The repository, user/name; it is made where it is not there yet. The folder of `oochub leaderboard` becomes
                a static Space.
            leaderboard: Submit a report.json or a sweep to a leaderboard: a pull request on the Hub, or files in a local
                folder. Instead of `to`: a dataset of results, or a folder of them; see `oochub.hub.leaderboard_repository`.
            predictions: Leaderboard entries only: prediction files of the report (default: those in its folder). By default
                those that the report names.
            entry: Leaderboard entries only: field of the entry: track, selection, supervision, model, who, ... By name;
                also external_data and date.
            configs: Benchmarks only: config to push (default: all). Configs that need more than the raw folder are skipped
                and listed.
            num_proc: Benchmarks only: number of build processes.
            without_images: Push ids, labels, contexts and checksums, but no images. Users put their own images back with
                `oochub.join_images`.
            private: Make the repository private.
            revision: Branch to push to, created if it does not exist (default: main).
            overwrite: Overwrite files in the repository that oochub did not create, and edited files in the folder of
                --out.
            dry_run: Show which files would change without pushing. Needs no token.
            evaluation_framework: Benchmarks only: evaluation framework to set in eval.yaml (default: none). The Hub marks
                eval.yaml as invalid if it does not know the name, and it does not know oochub yet.
            dataset: Results only: dataset on the Hub, if the report does not name one.
            evidence: Results only: URL of the source of the results. By default a record of the report's numbers, which is
                pushed beside the results.
            pull_request: Results only: open a pull request, for a model of another owner.
            data_dir: Raw data folder (default: $OOCHUB_DATA/<benchmark>).
            options: Option of the benchmark. By name, as `load_dataset` takes them.
            out: Benchmarks only: build into this folder, which is kept; None builds in the cache.

        Returns:
            The address, the commit, and the files that were added, changed and deleted.

        Raises:
            OochubError: No token, a name that is none, an unknown source, a setting that is of another kind of source;
                the Hub refuses or cannot be reached.
        """

class _Repair(Protocol):
    def __call__(
        self,
        model: Any,
        source: Any,
        *,
        label: str | None = None,
        context: str | None = None,
        group: str | None = None,
        cluster: str | None = None,
        pair: str | None = None,
        image: str | None = None,
        usual: Mapping[str, str | Sequence[str]] | None = None,
        context_words: Mapping[str, Any] | None = None,
        merge_names: bool = False,
        config: str | None = None,
        data_dir: str | None = None,
        options: Mapping[str, Any] | None = None,
        out: str | Path | None = None,
        contexts: str | ContextWay | None = None,
        context_settings: Mapping[str, Any] | None = None,
        choose_on: Literal["auto", "train", "half"] = "auto",
        at_most_lost: float = 5.0,
        deep: bool = False,
        draws: int = 3,
        collect: bool = False,
        more_rows: int = 100,
        unlabeled: str | None = None,
        seed: int = 0,
        **prediction: Unpack[_RepairOptions],
    ) -> Repair:
        """Retrain a model's last layer so that it relies less on context, and test the result on held-out rows.

        Args:
            model: Folder or Hub id of a classifier, or the model itself with `image_processor=`; with
                `mode="linear_probe"` any image encoder; or a `torch.nn.Module` with `class_names=` and `transform=`, which
                is stored only if it is that of `--model-file`. It is never changed.
            source: A benchmark, a folder of images, files, an id on the Hub, or a data set that is loaded already, see
                `oochub.load`.
            label: Custom data: label column (default: label). A field of a WebDataset's JSON is written `json.species`.
            context: Context column for groups and challenges (default: context). For a benchmark: the column to use as its
                context.
            group: Custom data: group column (default: group, or label/context).
            cluster: Custom data: column that identifies related rows, such as a patient, a video or a source image.
                Intervals then treat clusters, not rows, as independent, and a repair never splits a cluster.
            pair: Custom data: column that identifies the object in a row, if the same objects appear in and out of context.
                For example, one foreground on two backgrounds. The interval of the gap is then paired.
            image: Custom data: column of images or image paths (default: image). Without a name, the only column of images
                is taken.
            usual: Usual contexts of a class (default: the contexts that are clearly more frequent with the class than
                without it). Such as {"dog": ["grass", "beach"]}.
            context_words: Custom data: what a report calls sides and contexts, place=on for “cow on grass”. The words of
                [words] in benchmark.toml, by name.
            merge_names: Custom data: treat names of labels, contexts and groups that look alike as one name. Such as snow,
                Snow and 'snow ': they differ by case, spaces or the form of Unicode. A note lists them.
            config: Config, if the source has several.
            data_dir: Raw data folder (default: $OOCHUB_DATA/<benchmark>).
            options: Option of the benchmark. By name, as `load_dataset` takes them.
            out: A folder for the repaired model, the record, the page, and the predictions before and after. What stands
                there and is of the same model, data and settings is not made again. None writes nothing.
            contexts: Find contexts in the images first, with a method from `oochub list context`, such as properties. Or
                the method itself. For data without a context column; see `oochub.contexts`. What it measures is cached.
            context_settings: Another option of the method. By name, such as {"model": "my-encoder"}.
            choose_on: Rows used to choose contexts: train, half (of the other splits), or auto (train if present, otherwise
                half). These rows also decide what is usual, see `mark_selection_rows`. Use "half" if each class of train
                has its context and no other.
            at_most_lost: Maximum loss of accuracy in usual contexts, in percentage points. It applies to the estimate. A
                new head that loses more is neither selected nor reported as better.
            deep: Also fine-tune the full network, if there are enough rows. By the mean loss on balanced groups and by
                GroupDRO, at two learning rates each, from the chosen last layer on. What is best on the rows that choose is
                proven. Each division of the rows trains four networks.
            draws: Number of random partitions of the rows. The first decides; the others show how much the result depends
                on it.
            collect: Also estimate which rows to collect: the expected gain from more rows of each class in each context. By
                learning curves on the rows that fit and choose, see `oochub.repairs.collection.Collection`.
            more_rows: With --collect: number of additional rows per class and context to predict the gain for, at most as
                many as exist.
            unlabeled: With --collect: folder of unlabeled images to rank in collect.csv by how well they match the rows to
                collect. Or files that hold images; the model sees each once.
            seed: Random seed for dividing the rows and for fitting.
            **prediction: Other arguments of `oochub.predict`: mode, batch_size, device, dtype, limit, ...

        Returns:
            The Repair.

        Raises:
            OochubError: A model or data that cannot be read or do not fit each other; a model without a head that can be
                replaced; data that say nothing of context, or whose rows the model was all trained on.

        >>> import tempfile
        >>> from oochub.studies.demo.example import example
        >>> images, model = example(tempfile.mkdtemp() + "/example", size=40)
        >>> made = repair(model, images, label="breed", context="background", draws=1)
        >>> made.outcome in ("better", "no_worse", "not_shown", "nothing_to_repair"), len(made.parts)
        (True, 5)
        """

class _Train(Protocol):
    def __call__(
        self,
        source: str | Path,
        out: str | Path,
        *,
        objective: str | Objective = "erm",
        hyperparameters: Mapping[str, Any] | None = None,
        model: str | None = None,
        revision: str | None = None,
        pretrained: bool = True,
        image_size: int | None = None,
        environments: str | None = None,
        arguments: Mapping[str, Any] | None = None,
        leave_out: str | None = None,
        hold_out: bool = False,
        overwrite: bool = False,
        label: str | None = None,
        context: str | None = None,
        group: str | None = None,
        cluster: str | None = None,
        pair: str | None = None,
        image: str | None = None,
        usual: Mapping[str, str | Sequence[str]] | None = None,
        context_words: Mapping[str, Any] | None = None,
        merge_names: bool = False,
        config: str | None = None,
        data_dir: str | None = None,
        options: Mapping[str, Any] | None = None,
        callbacks: Sequence[Any] = (),
    ) -> dict[str, Any]:
        """Trains `model` on `benchmark/config`, or on own data, and leaves a Hugging Face model directory in `out`.

        Args:
            source: "spawrious/o2o_hard", or what else `oochub.load` reads: then with splits train and validation, as
                folders of these names have, and a label.
            out: The folder of the run; an interrupted run with the same settings goes on.
            objective: Training objective; see `oochub list objective`. Or an `Objective` of your own, with its
                hyperparameters.
            hyperparameters: Hyperparameter of the objective.
            model: Model folder, Hub id, or an untrained model from `oochub list model` (default: a small one). The default
                fits the rows; for images it is "resnet-tiny".
            revision: Revision of MODEL on the Hub: a commit, tag, branch or refs/pr/N; MODEL@REVISION does the same.
            pretrained: Load the weights of the model, not only its architecture.
            image_size: Resize images to squares with this many pixels per side. By default the model's processor resizes.
            environments: Environment column (default: set by the benchmark). For found contexts: contexts:NAME, contexts
                (one context per row), label/contexts:NAME or label/contexts (groups). For custom data the default is
                `group`, or none if the rows have no groups and the objective needs none. "contexts:NAME" says whether a row
                has the context; see `oochub.trainers.rows.context_environments`.
            arguments: Any other field of RobustTrainingArguments, e.g. optim=sgd. By name; they override
                `oochub.training.DEFAULTS`.
            leave_out: Drop the rows of this environment from training and validation.
            hold_out: If the rows used to select the epoch are also reported, use half of them (by a hash of their ids) for
                selection and report on the other half. This is so in Spawrious, for the validation split. The run says
                which; `evaluate` reads it.
            overwrite: Replace another run in the folder, and files there that were edited or that oochub did not write.
            label: Custom data: label column (default: label). A field of a WebDataset's JSON is written `json.species`.
            context: Context column for groups and challenges (default: context). For a benchmark: the column to use as its
                context.
            group: Custom data: group column (default: group, or label/context).
            cluster: Custom data: column that identifies related rows, such as a patient, a video or a source image.
                Intervals then treat clusters, not rows, as independent, and a repair never splits a cluster.
            pair: Custom data: column that identifies the object in a row, if the same objects appear in and out of context.
                For example, one foreground on two backgrounds. The interval of the gap is then paired.
            image: Custom data: column of images or image paths (default: image). Without a name, the only column of images
                is taken.
            usual: Usual contexts of a class (default: the contexts that are clearly more frequent with the class than
                without it). Such as {"dog": ["grass", "beach"]}.
            context_words: Custom data: what a report calls sides and contexts, place=on for “cow on grass”. The words of
                [words] in benchmark.toml, by name.
            merge_names: Custom data: treat names of labels, contexts and groups that look alike as one name. Such as snow,
                Snow and 'snow ': they differ by case, spaces or the form of Unicode. A note lists them.
            config: Config, if the source has several.
            data_dir: Raw data folder (default: $OOCHUB_DATA/<benchmark>).
            options: Option of the benchmark. By name, as `load_dataset` takes them.
            callbacks: Callbacks of transformers, see `RobustTrainer`.

        Returns:
            run (the folder), best_epoch, best_value (its `metric_for_best_model`) and global_step, JSON types only.

        Raises:
            OochubError: An unknown name, hyperparameter or argument, an output that cannot be written, broken data.
        """

@overload
def with_options(name: Literal["audit"], *, others: Callable[[], Iterable[str]] | None = None, **types: Any) -> Callable[[Callable[..., Any]], _Audit]: ...
@overload
def with_options(name: Literal["check"], *, others: Callable[[], Iterable[str]] | None = None, **types: Any) -> Callable[[Callable[..., Any]], _Check]: ...
@overload
def with_options(name: Literal["compare"], *, others: Callable[[], Iterable[str]] | None = None, **types: Any) -> Callable[[Callable[..., Any]], _Compare]: ...
@overload
def with_options(name: Literal["contexts"], *, others: Callable[[], Iterable[str]] | None = None, **types: Any) -> Callable[[Callable[..., Any]], _Contexts]: ...
@overload
def with_options(name: Literal["evaluate"], *, others: Callable[[], Iterable[str]] | None = None, **types: Any) -> Callable[[Callable[..., Any]], _Evaluate]: ...
@overload
def with_options(name: Literal["load"], *, others: Callable[[], Iterable[str]] | None = None, **types: Any) -> Callable[[Callable[..., Any]], _Load]: ...
@overload
def with_options(name: Literal["predict"], *, others: Callable[[], Iterable[str]] | None = None, **types: Any) -> Callable[[Callable[..., Any]], _Predict]: ...
@overload
def with_options(name: Literal["push"], *, others: Callable[[], Iterable[str]] | None = None, **types: Any) -> Callable[[Callable[..., Any]], _Push]: ...
@overload
def with_options(name: Literal["repair"], *, others: Callable[[], Iterable[str]] | None = None, **types: Any) -> Callable[[Callable[..., Any]], _Repair]: ...
@overload
def with_options(name: Literal["train"], *, others: Callable[[], Iterable[str]] | None = None, **types: Any) -> Callable[[Callable[..., Any]], _Train]: ...
class _Choice: ...

def only(*names: str, **called: str) -> _Choice: ...
def listing(*names: str) -> _Choice: ...
def without(*names: str) -> _Choice: ...
