"""FMoW-WILDS: what a building or place is used for, from space, in years and regions that training has less of."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import datasets
import numpy as np
from numpy.typing import NDArray

from oochub.builders.sources.raw_table import RawColumn, RawTable
from oochub.builders.wilds._data_set import BASE, WildsDataSet, WildsRows, raw_files
from oochub.records.sides import Rows, Vocabulary, WorstOfGroups

_SPLITS = ("train", "id_val", "id_test", "val", "test")
_MIXED = "fmow_mixed-to-test"
_LISTED = ("train", "val", "test", "seq")  # seq: sequestered, of no split
_REGIONS = ("Africa", "Americas", "Asia", "Europe", "Oceania")
_OTHER = "Other"  # of codes that the mapping lacks, or has without a region, as Antarctica's; never the worst
_REGION_CODES = {**{region: region for region in (*_REGIONS, _OTHER)}, "": _OTHER}
_SHOWN = 6  # countries of a note
_YEARS = range(2002, 2018)
_TEST_YEAR = 2016
_TIMES = {f"fmow_time_after_{year}": year for year in range(2007, 2018) if year != _TEST_YEAR}  # training from 2002 on
_VAL_YEARS = 3  # before the test
_SEED = 111 + 541_433  # the mixed split draws with this + 2 and + 3

_CATEGORIES = (
    *("airport", "airport_hangar", "airport_terminal", "amusement_park", "aquaculture", "archaeological_site", "barn"),
    *("border_checkpoint", "burial_site", "car_dealership", "construction_site", "crop_field", "dam"),
    *("debris_or_rubble", "educational_institution", "electric_substation", "factory_or_powerplant", "fire_station"),
    *("flooded_road", "fountain", "gas_station", "golf_course", "ground_transportation_station", "helipad"),
    *("hospital", "impoverished_settlement", "interchange", "lake_or_pond", "lighthouse", "military_facility"),
    *("multi-unit_residential", "nuclear_powerplant", "office_building", "oil_or_gas_facility", "park"),
    *("parking_lot_or_garage", "place_of_worship", "police_station", "port", "prison", "race_track", "railway_bridge"),
    *("recreational_facility", "road_bridge", "runway", "shipyard", "shopping_mall", "single-unit_residential"),
    *("smokestack", "solar_farm", "space_facility", "stadium", "storage_tank", "surface_mine", "swimming_pool"),
    *("toll_booth", "tower", "tunnel_opening", "waste_disposal", "water_treatment_facility", "wind_farm", "zoo"),
)


def _read(folder: Path, config: str) -> WildsRows:
    table = RawTable.of_csv(
        folder / "rgb_metadata.csv",
        {
            "split": RawColumn(codes=_LISTED),
            "category": RawColumn(codes=_CATEGORIES),
            "country_code": RawColumn(),
            "timestamp": RawColumn(),
        },
    )
    listed = np.array(table["split"])
    year = table.parse_times("timestamp", "ISO8601").year.to_numpy().astype(np.int64)
    table.require(
        (year >= _YEARS.start) & (year < _YEARS.stop),
        lambda row: f"timestamp must be from {_YEARS.start} to {_YEARS.stop - 1}, got {table['timestamp'][row]!r}",
    )
    split = _split(listed, year, _TIMES.get(config, _TEST_YEAR))
    split = _mix_years(split, listed, year) if config == _MIXED else split
    files = [f"images/rgb_img_{row}.png" for row in range(len(year))]
    kept = table.where(split != "")
    kept.add("image", [files[row] for row in np.flatnonzero(split != "")], RawColumn(folder=folder))
    mapping = folder / "country_code_mapping.csv"
    regions = RawTable.of_csv(mapping, {"alpha-3": RawColumn(is_unique=True), "region": RawColumn(codes=_REGION_CODES)})
    region_of = dict(zip(regions["alpha-3"], regions["region"], strict=True))
    region = [region_of.get(country, _OTHER) for country in table["country_code"]]
    columns = {
        "image": (datasets.Image(), None),
        "label": (_CATEGORIES, table["category"]),
        "environment": ([str(year_of) for year_of in _YEARS], year.astype(str)),
        "group": ([*_REGIONS, _OTHER], region),
        "region": ([*_REGIONS, _OTHER], region),
        "year": ("int32", year),
        "country_code": ("string", table["country_code"]),
    }
    notes = _note_unmapped_countries(kept, region_of, mapping)
    return WildsRows.of(columns, split.tolist(), _SPLITS, files, notes=notes)


def _split(listed: NDArray[np.str_], year: NDArray[np.int64], test_year: int) -> NDArray[np.str_]:
    """The split of each row (n,), "" for none: the test from a year on, validation the three before, then training."""
    is_before, is_test_year = year < test_year - _VAL_YEARS, year >= test_year
    cases = {
        "train": is_before & (listed == "train"),
        "id_val": is_before & (listed == "val"),
        "id_test": is_before & (listed == "test"),
        "val": ~is_before & ~is_test_year & (listed == "val"),
        "test": is_test_year & (listed == "test"),
    }
    return np.select(list(cases.values()), list(cases), default="")


def _mix_years(split: NDArray[np.str_], listed: NDArray[np.str_], year: NDArray[np.int64]) -> NDArray[np.str_]:
    """The splits with half of training drawn from the years that it does not have, of rows that are not tested on."""
    trained = np.flatnonzero(split == "train")
    later = np.flatnonzero((year >= _TEST_YEAR - _VAL_YEARS) & (listed != "test"))
    drawn = [
        _shuffle_rows(rows, seed)[: len(trained) // 2] for rows, seed in ((later, _SEED + 2), (trained, _SEED + 3))
    ]
    split = np.where(split == "train", "", split)
    rows = np.concatenate(drawn)
    split[rows[(split[rows] != "val") & (listed[rows] != "seq")]] = "train"  # those of `val` stay there
    return split


def _shuffle_rows(rows: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    shuffled = rows.copy()
    np.random.default_rng(seed).shuffle(shuffled)
    return shuffled


def _note_unmapped_countries(table: RawTable, region_of: dict[str, str], mapping: Path) -> tuple[str, ...]:
    """A note on the countries that the mapping lacks, which count as `Other`; one that is misspelt is refused."""
    spelt = {country.strip().casefold(): country for country in region_of}
    unknown = Counter(country for country in table["country_code"] if country not in region_of)
    meant = {country: spelt.get(country.strip().casefold()) for country in unknown}
    table.require(
        [meant.get(country) is None for country in table["country_code"]],
        lambda row: (
            f"country_code is {(country := table['country_code'][row])[:80]!r}, but {mapping.name} has "
            f"{meant[country]!r}"
        ),
    )
    if not unknown:
        return ()
    shown = ", ".join(f"{country[:8] or 'none'} {count:,}" for country, count in unknown.most_common(_SHOWN))
    more = f" and {len(unknown) - _SHOWN} more" if len(unknown) > _SHOWN else ""
    return (f"rows of countries that {mapping.name} lacks, counted as {_OTHER}: {unknown.total():,} ({shown}{more})",)


_OFFICIAL = replace(
    BASE,
    sources=("fmow",),
    title="FMoW-WILDS",
    summary="What places are used for, seen from space, in years after training, and in the worst region.",
    version="1.1.0",
    homepage="https://github.com/fMoW/dataset",
    raw_files=raw_files(
        "fmow_v1.1",
        {
            "rgb_metadata.csv": "one row per image",
            "country_code_mapping.csv": "the region of each country",
            "images/": "rgb_img_<row>.png",
        },
        size="53.9 GB",
        license="FMoW Challenge Public License",
    ),
    in_context=Rows(name="all rows", split="test"),
    out_of_context=WorstOfGroups(name="worst region", split="test", where={"region": _REGIONS}),
    metrics=("accuracy", "error_rate", "nll", "ece", "worst_group"),
    chance=1 / len(_CATEGORIES),
    words=Vocabulary.of("over all regions", "in the worst region", example="image", place="in"),
    context_column="region",
    closed={"region": (*_REGIONS, _OTHER), "group": (*_REGIONS, _OTHER)},
    templates=("a satellite image of a {}.",),
    images_license="FMoW Challenge Public License",
    annotations_license="FMoW Challenge Public License",
    toy_world="toy_wilds_fmow",
)

fmow = WildsDataSet(
    name="fmow",
    version="1.1",
    configs={
        "fmow": _OFFICIAL,
        _MIXED: replace(
            _OFFICIAL,
            title="FMoW-WILDS, mixed-to-test",
            summary="FMoW-WILDS with half of training from the later years: a comparison at a fixed test set.",
        ),
        **{
            config: replace(
                _OFFICIAL,
                title=f"FMoW-WILDS, test from {year} on",
                summary=f"FMoW-WILDS tested on {year} and later, with the three years before for validation.",
            )
            for config, year in _TIMES.items()
        },
    },
    read=_read,
    rows={"fmow": {"train": 76_863, "id_val": 11_483, "id_test": 11_327, "val": 19_915, "test": 22_108}},
    source_splits=("train", "id_val", "id_test"),
)
