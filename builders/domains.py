"""Domains: PACS, VLCS, Office-Home, Terra Incognita, DomainNet, NICO++, or your own folder; one domain is left out."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import datasets
import numpy as np
import pyarrow as pa

from oochub.benchmark import Benchmark, RawFile
from oochub.builder import BenchmarkBuilder, BenchmarkConfig, make_features
from oochub.builders.sources.class_folders import (
    Folders,
    check_names,
    check_no_copies,
    check_same_classes,
    iterate_folders,
    list_class_folders,
)
from oochub.builders.sources.raw_table import RawColumn
from oochub.errors import OochubError, choose_wording, unknown_name
from oochub.records.build_record import BuildFacts
from oochub.records.sides import Rows, Vocabulary

_HOME = "https://github.com/facebookresearch/DomainBed"
_FETCHED = {"public_dg_0416/train": "https://github.com/YyzHarry/SubpopBench (subpopbench/scripts/download.py)"}
_NOT_STATED = "not stated by DomainBed; see the page of the data set"
_SPLITS = ("train", "validation", "test", "oracle_validation")
_LAYOUT = "domain/class/image"
_DOMAINBED = """@inproceedings{gulrajani2021search,
  title = {In Search of Lost Domain Generalization},
  author = {Gulrajani, Ishaan and Lopez-Paz, David},
  booktitle = {International Conference on Learning Representations},
  year = {2021}
}"""


class _DataSet(NamedTuple):
    """A published data set: its folder, its domains, its numbers of classes and images, the names of its classes.

    No names of classes, and no number of images, if no source for them was found.
    """

    title: str
    folder: str
    domains: tuple[str, ...]
    class_count: int
    images: int | None
    home: str
    citation: str
    classes: tuple[str, ...] = ()


_DATA_SETS = {
    "pacs": _DataSet(
        title="PACS",
        folder="PACS",
        domains=("art_painting", "cartoon", "photo", "sketch"),
        class_count=7,
        images=9_991,
        home="https://domaingeneralization.github.io",
        citation="""@inproceedings{li2017deeper,
  title = {Deeper, Broader and Artier Domain Generalization},
  author = {Li, Da and Yang, Yongxin and Song, Yi-Zhe and Hospedales, Timothy M.},
  booktitle = {International Conference on Computer Vision},
  year = {2017}
}""",
        classes=("dog", "elephant", "giraffe", "guitar", "horse", "house", "person"),
    ),
    "vlcs": _DataSet(
        title="VLCS",
        folder="VLCS",
        domains=("Caltech101", "LabelMe", "SUN09", "VOC2007"),
        class_count=5,
        images=10_729,
        home="https://openaccess.thecvf.com/content_iccv_2013/papers/Fang_Unbiased_Metric_Learning_2013_ICCV_paper.pdf",
        citation="""@inproceedings{fang2013unbiased,
  title = {Unbiased Metric Learning: On the Utilization of Multiple Datasets and Web Images for Softening Bias},
  author = {Fang, Chen and Xu, Ye and Rockmore, Daniel N.},
  booktitle = {International Conference on Computer Vision},
  year = {2013}
}""",
        classes=("bird", "car", "chair", "dog", "person"),
    ),
    "office_home": _DataSet(
        title="Office-Home",
        folder="office_home",
        domains=("Art", "Clipart", "Product", "Real World"),
        class_count=65,
        images=15_588,
        home="http://hemanthdv.org/OfficeHome-Dataset/",
        citation="""@inproceedings{venkateswara2017deep,
  title = {Deep Hashing Network for Unsupervised Domain Adaptation},
  author = {Venkateswara, Hemanth and Eusebio, Jose and Chakraborty, Shayok and Panchanathan, Sethuraman},
  booktitle = {Conference on Computer Vision and Pattern Recognition},
  year = {2017}
}""",
    ),
    "terra_incognita": _DataSet(
        title="Terra Incognita",
        folder="terra_incognita",
        domains=("location_100", "location_38", "location_43", "location_46"),
        class_count=10,
        images=24_788,
        home="https://beerys.github.io/CaltechCameraTraps/",
        citation="""@inproceedings{beery2018recognition,
  title = {Recognition in Terra Incognita},
  author = {Beery, Sara and Van Horn, Grant and Perona, Pietro},
  booktitle = {European Conference on Computer Vision},
  year = {2018}
}""",
        classes=(
            *("bird", "bobcat", "cat", "coyote", "dog", "empty", "opossum", "rabbit"),
            *("raccoon", "squirrel"),
        ),
    ),
    "domain_net": _DataSet(
        title="DomainNet",
        folder="domain_net",
        domains=("clipart", "infograph", "painting", "quickdraw", "real", "sketch"),
        class_count=345,
        images=586_575,
        home="http://ai.bu.edu/M3SDA/",
        citation="""@inproceedings{peng2019moment,
  title = {Moment Matching for Multi-Source Domain Adaptation},
  author = {Peng, Xingchao and Bai, Qinxun and Xia, Xide and Huang, Zijun and Saenko, Kate and Wang, Bo},
  booktitle = {International Conference on Computer Vision},
  year = {2019}
}""",
    ),
    "nico_plus_plus": _DataSet(
        title="NICO++",
        folder="public_dg_0416/train",
        domains=("autumn", "dim", "grass", "outdoor", "rock", "water"),
        class_count=60,
        images=None,
        home="https://arxiv.org/abs/2204.08040",
        citation="""@inproceedings{zhang2023nico,
  title = {{NICO}++: Towards Better Benchmarking for Domain Generalization},
  author = {Zhang, Xingxuan and He, Yue and Xu, Renzhe and Yu, Han and Shen, Zheyan and Cui, Peng},
  booktitle = {Conference on Computer Vision and Pattern Recognition},
  year = {2023}
}""",
    ),
}


def _explain_not_buildable(folder: Path, options: Mapping[str, Any]) -> dict[str, str]:
    """The configs of data sets that the folder does not hold."""
    lacking = {
        config: f"There is no folder {challenge.data_set.folder}."
        for config, challenge in _CHALLENGES.items()
        if not (folder / challenge.data_set.folder).is_dir()
    }
    return lacking if len(lacking) < len(_CHALLENGES) else {}


_domains = Benchmark(
    name="domains",
    title="Domains",
    summary="The same classes in several domains, such as photographs and sketches; one is left out of training.",
    version="1.0.0",
    homepage=_HOME,
    sources=("domainbed",),
    citation=_DOMAINBED,
    raw_files=(
        RawFile(
            path="*/*/",
            url=_HOME,
            size="yours",
            license="yours",
            note=f"a folder for each domain, in it one for each class: {_LAYOUT}",
        ),
    ),
    in_context=Rows(name="domains of training", split="validation"),
    out_of_context=Rows(name="the domain left out", split="test"),
    primary_metric="accuracy",
    metrics=("accuracy", "error_rate", "nll", "ece", "worst_group"),
    chance=float("nan"),
    words=Vocabulary(
        example="image",
        inside="on the domains of training",
        outside="on the domain left out",
        inside_title="in known domains",
        outside_title="in a new domain",
        place="in",
    ),
    context_column="domain",
    images_license="yours",
    annotations_license="yours",
    toy_world="toy_domains",
    tried_configs=("pacs",),
    not_buildable=_explain_not_buildable,
)


def _declare_config(data_set: _DataSet) -> Benchmark:
    groups = tuple(f"{label}/{domain}" for label in data_set.classes for domain in data_set.domains)
    return replace(
        _domains,
        title=data_set.title,
        summary=f"{data_set.class_count} classes in {len(data_set.domains)} domains, of which one is "
        "left out of training.",
        homepage=data_set.home,
        citation=f"{data_set.citation}\n\n{_DOMAINBED}",
        sources=tuple(dict.fromkeys((data_set.title.lower(), data_set.folder.partition("/")[0].lower()))),
        raw_files=(
            RawFile(
                path=f"{data_set.folder}/",
                url=_FETCHED.get(data_set.folder, f"{_HOME} (domainbed/scripts/download.py)"),
                size=f"{data_set.images:,} images" if data_set.images else "not stated",
                license=_NOT_STATED,
                note=f"{{{','.join(data_set.domains)}}}/<class>/<image>",
            ),
        ),
        chance=1 / data_set.class_count,
        closed={"domain": data_set.domains} | ({"group": groups} if groups else {}),
        images_license=_NOT_STATED,
        annotations_license=_NOT_STATED,
    )


class _Challenge(NamedTuple):
    """What a config reads: a data set, and the domain that its name leaves out; None if an option does."""

    data_set: _DataSet
    test_domain: str | None = None


_CHALLENGES = {
    **{config: _Challenge(data_set) for config, data_set in _DATA_SETS.items()},
    **{
        f"{config}_{domain.lower().replace(' ', '_')}": _Challenge(data_set, domain)
        for config, data_set in _DATA_SETS.items()
        for domain in data_set.domains
    },
}


def _declare_challenge(challenge: _Challenge) -> Benchmark:
    declared, domain = _declare_config(challenge.data_set), challenge.test_domain
    if domain is None:
        return declared
    others = tuple(name for name in challenge.data_set.domains if name != domain)
    return replace(
        declared,
        summary=f"{challenge.data_set.class_count} classes in {len(others) + 1} domains; {domain} is not in training.",
        training_environments=others,
    )


_configs = {config: _declare_challenge(challenge) for config, challenge in _CHALLENGES.items()}
domains = replace(
    _domains,
    raw_files=tuple(replace(raw, required=False) for name in _DATA_SETS for raw in _configs[name].raw_files),
    images_license="each data set has its own",
    annotations_license="each data set has its own",
    configs=_configs | {"folder": replace(_domains, toy_world="toy_domain_folder")},
)


@dataclass
class DomainsConfig(BenchmarkConfig):
    """Options of `load_dataset("domains", "pacs", ...)`.

    Attributes:
        test_domain: The domain left out of training, by the name of its folder; the first by name, as DomainBed's
            `--test_envs 0`, if it is not given.
        trial_seed: DomainBed's `--trial_seed`, by which each domain is divided into 80% and 20%.
        strict: Refuse data with other numbers of images or classes than were published, instead of noting it.
        follow_links: Read images that links lead to outside the raw folder, as in a snapshot of the Hub.
    """

    test_domain: str | None = None
    trial_seed: int = 0
    strict: bool = False


def _make_config(name: str, description: str, test_domain: str | None = None) -> DomainsConfig:
    version = datasets.Version(domains.version)
    return DomainsConfig(name=name, version=version, description=description, test_domain=test_domain)


def _describe_challenge(challenge: _Challenge) -> str:
    data_set, domain = challenge
    return f"{data_set.title} without {domain}." if domain else f"{data_set.title}: {', '.join(data_set.domains)}."


class Domains(BenchmarkBuilder):
    """Folders domain/class/image as DomainBed has them: one domain is tested, the others are trained on.

    Each domain is divided as DomainBed's `train.py` does it (`holdout_fraction` 0.2): its images in the order of their
    names are shuffled by a seed that `trial_seed` and the domain's number give, and the first fifth is held out.
    The splits are

    - `train` and `validation`: 80% and 20% of each domain of training. Select on `validation` for what DomainBed calls
      training-domain validation;
    - `test`: 80% of the domain left out, which its published accuracies are of;
    - `oracle_validation`: its other 20%, for oracle selection (`validation_split` of a training).

    A config that ends in the name of a domain leaves out that one: `pacs_sketch` is `pacs` with `test_domain="sketch"`.
    Each of them is a task of its own in a sweep and a column of its table, as in the recipe `domainbed`.

    `environment`, `domain` and the context are the same; a group is class/domain. Data folders hold `PACS/`, `VLCS/`,
    `office_home/`, `terra_incognita/` or `domain_net/`, as DomainBed's `download.py` leaves them, or NICO++'s
    `public_dg_0416/`, whose domains are six contexts; the config `folder` takes any folder of domain/class/image.

    Source: Gulrajani and Lopez-Paz 2021; DomainBed b93c22a, `datasets.py`, `scripts/train.py`, `lib/misc.py`,
    `scripts/download.py` (folders, the classes of Terra Incognita). Numbers of images: Zhou et al., Domain
    Generalization: A Survey, Table 2. Today's download of Terra Incognita is known to give 24,330 images of the
    24,788 (khanrc/miro, issue 9), so its rows are noted as partial. The classes of Office-Home and DomainNet are those
    that are found; only their number is checked, as for NICO++, whose folders, contexts and number of classes are those
    of SubpopBench 4d3dbbe (`generate_metadata_nicopp`); how many images it has is not checked. SubpopBench divides it
    in another way, by groups.

    >>> [name for name in Domains.builder_configs if "pacs" in name]
    ['pacs', 'pacs_art_painting', 'pacs_cartoon', 'pacs_photo', 'pacs_sketch']
    """

    BENCHMARK: ClassVar[Benchmark] = domains
    BUILDER_CONFIG_CLASS = DomainsConfig
    BUILDER_CONFIGS: ClassVar[list[DomainsConfig]] = [
        *(
            _make_config(name, _describe_challenge(challenge), challenge.test_domain)
            for name, challenge in _CHALLENGES.items()
        ),
        _make_config("folder", f"Any folder of {_LAYOUT}."),
    ]

    @property
    def _challenge(self) -> _Challenge | None:
        return _CHALLENGES.get(self.config_name)

    def _place(self, folder: Path) -> Path:
        challenge = self._challenge
        return folder / challenge.data_set.folder if challenge else folder

    def _watched(self, folder: Path) -> Iterable[Path]:
        return iterate_folders(self._place(folder))

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        config, challenge = self.config, self._challenge
        data_set = challenge.data_set if challenge else None
        if challenge and challenge.test_domain not in (None, config.test_domain):
            raise OochubError(
                f"domains/{config.name} leaves out {challenge.test_domain}, got test_domain={config.test_domain!r}. "
                "Leave the option out, or take the config of that domain."
            )
        place = self._place(self._folder())
        folders = list_class_folders(place, within=self._within)
        if data_set:
            check_names(place, "domain", folders, RawColumn(codes=data_set.domains))
            _check_all_domains(folders, data_set, place)
        classes = check_same_classes(folders, place, outer="domain", inner="class", order=_LAYOUT)
        if data_set and data_set.classes:
            check_names(place, "class", classes, RawColumn(codes=data_set.classes))
        check_no_copies(folders, place)
        test_domain = _choose_test_domain(config.test_domain, list(folders), place)
        parts = _divide(folders, test_domain, config.trial_seed)
        gaps = _list_gaps(folders, classes, data_set)
        self._check_whole(f"{place} is not the release", gaps)
        names = list(data_set.classes) if data_set and data_set.classes else classes
        groups = [f"{label}/{domain}" for label in names for domain in folders]
        self.info.features = make_features(
            image=datasets.Image(), label=names, environment=[*folders], group=groups, domain=[*folders]
        )
        facts = BuildFacts(trial_seed=config.trial_seed, other={"test_domain": test_domain})
        facts = facts.with_groups(parts["train"]["group"].to_pylist())
        return self._splits(place, parts, facts, [*gaps, f"the domain left out is {test_domain}"])


def _check_all_domains(folders: Folders, known: _DataSet, place: Path) -> None:
    if missing := [domain for domain in known.domains if domain not in folders]:
        raise OochubError(
            f"{place} lacks the domain {missing[0]} of {known.title}, whose domains are {', '.join(known.domains)}. "
            "Get it, or take the config folder, which reads any domains."
        )


def _choose_test_domain(name: str | None, found: list[str], place: Path) -> str:
    if len(found) < 2:
        raise OochubError(
            f"{place} has {len(found)} domain, but one is left out and another is needed to train on. The folder must "
            f"be {_LAYOUT}."
        )
    if name is not None and name not in found:
        give = choose_wording('test_domain="NAME"', "--option test_domain=NAME")
        raise unknown_name(f"domain in {place}", name, found, f"Give {give}.")
    return found[0] if name is None else name


def _divide(folders: Folders, test_domain: str, trial_seed: int) -> dict[str, pa.Table]:
    """The rows of each split, in the order of their files."""
    rows: dict[str, list[dict[str, str]]] = {split: [] for split in _SPLITS}
    for number, (domain, classes) in enumerate(folders.items()):
        files = [(label, image) for label, images in classes.items() for image in images]
        held_out = _hold_out(len(files), trial_seed, number)
        inside, outside = ("test", "oracle_validation") if domain == test_domain else ("train", "validation")
        for place, (label, image) in enumerate(files):
            file = f"{domain}/{label}/{image}"
            row = {"example_id": file, "file": file, "label": label, "environment": domain}
            row |= {"group": f"{label}/{domain}", "domain": domain}
            rows[outside if place in held_out else inside].append(row)
    return {split: pa.Table.from_pylist(part, schema=_SCHEMA) for split, part in rows.items()}


_SCHEMA = pa.schema({name: pa.string() for name in ("example_id", "file", "label", "environment", "group", "domain")})


def _hold_out(count: int, trial_seed: int, number: int) -> set[int]:
    """The images of a domain that are held out: DomainBed's `split_dataset` by its `seed_hash`."""
    seed = int(hashlib.md5(str((trial_seed, number)).encode(), usedforsecurity=False).hexdigest(), 16) % 2**31
    keys = list(range(count))
    np.random.RandomState(seed).shuffle(keys)
    return set(keys[: int(count * 0.2)])


def _list_gaps(folders: Folders, classes: list[str], known: _DataSet | None) -> list[str]:
    if known is None:
        return []
    images = sum(len(files) for own in folders.values() for files in own.values())
    counts = ((images, known.images, "images"), (len(classes), known.class_count, "classes"))
    gaps = [f"{count:,} of {of:,} {what}" for count, of, what in counts if of is not None and count != of]
    return [f"partial: {', '.join(gaps)}"] if gaps else []
