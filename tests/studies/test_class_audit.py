"""How ImageNet-OOD's classes are chosen: every filter and the whole audit against a plain walk through WordNet."""

import functools
import json
import re
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest

from oochub.builders.sources.imagenet_ood_classes import OOD_CLASSES
from oochub.class_names.imagenet_classes import IMAGENET_1K_WNIDS
from oochub.class_names.wordnet import WordNet, list_imagenet_21k_p, load_wordnet_facts, read_wordnet
from oochub.errors import OochubError
from oochub.studies.imagenet_ood.class_audit import class_audit
from oochub.studies.imagenet_ood.class_filters import FILTERS, ORDERS, ClassPool

DEBIAN = Path("/usr/share/wordnet")
NEEDS_WORDNET = pytest.mark.skipif(
    not (DEBIAN / "data.noun").exists(), reason=f"no WordNet at {DEBIAN}: apt-get install wordnet-base"
)
KNOWN = set(IMAGENET_1K_WNIDS)
SOURCES = [pytest.param(None, id="facts"), pytest.param(DEBIAN, id="wordnet-base", marks=NEEDS_WORDNET)]
IN_POOL = "id_classes,hypernyms,hyponyms,organism,sister_classes_in_pool,covariate_shift"


@functools.cache
def _edges(place):
    """Every wnid to its parents, read anew: a pattern over the pointers, not the fields by their counts."""
    if place is None:
        rows = [line.split("\t") for line in _facts_file().read_text().splitlines() if not line.startswith("#")]
        return {"n" + row[0]: ["n" + item for item in row[2].split()] for row in rows}
    result = {}
    for line in (place / "data.noun").read_text("latin-1").splitlines():
        if not line.startswith("  "):
            body = line.partition(" | ")[0]
            result["n" + body[:8]] = ["n" + item for item in re.findall(r" @i? (\d{8}) n 0000", body)]
    return result


def _facts_file():
    return Path(sys.modules[load_wordnet_facts.__module__].__file__).with_name("wordnet_facts.tsv")


def _all_above(edges):
    """The plainest walk there is."""

    @functools.cache
    def above(wnid):
        return frozenset().union(*({item} | above(item) for item in edges[wnid]))

    return above


def _plain_audit(edges, candidates):
    """The filters of Section 3.2 as sentences on sets; wnid to the first that removes it."""
    above = _all_above(edges)
    covers = Counter(wnid for item in KNOWN for wnid in {item} | above(item))
    alone = {wnid for wnid, count in covers.items() if count == 1}
    verdicts = {}
    for wnid in candidates:
        answers = {
            "id_classes": wnid in KNOWN,
            "hypernyms": covers[wnid] > (wnid in KNOWN),
            "hyponyms": bool(above(wnid) & KNOWN),
            "organism": "n00004475" in above(wnid),
            "covariate_shift": bool(({wnid} | above(wnid)) & alone),
        }
        verdicts[wnid] = next((name for name, removes in answers.items() if removes), None)
    return verdicts


@pytest.fixture(scope="module", params=SOURCES)
def audited(request):
    """The audit by Section 3.2, and the edges that it must agree with."""
    return class_audit(wordnet=request.param), _edges(request.param)


def _left(result, published=False):
    rows = result[result["published"]] if published else result
    return (len(rows) - rows["removed_by"].value_counts(sort=False).cumsum()).to_dict()


@pytest.mark.slow
def test_every_class_as_by_a_plain_walk(audited):
    """Planted faults seen: instance hypernyms left out of a hand-made tree; `widened` without its topmost rule."""
    result, edges = audited
    expected = _plain_audit(edges, list_imagenet_21k_p())
    content = {
        wnid: None if pd.isna(name) else name for wnid, name in zip(result["wnid"], result["removed_by"], strict=True)
    }
    assert content == expected
    assert (result["kept"] == result["removed_by"].isna()).all() and (result["kept"] == (result["why"] == "")).all()


@pytest.mark.slow
def test_the_counts_of_the_reference(audited):
    """Figures found elsewhere, with timm's lists and Debian's WordNet; the paper says 5,074 where this says 4,922."""
    result, _ = audited
    assert len(result) == 10_450 and result["published"].sum() == 637
    assert list(_left(result).values()) == [9459, 8853, 8187, 4922, 3411]
    assert list(_left(result, published=True).values()) == [637, 635, 634, 600, 585]
    lost = result[result["published"] & ~result["kept"]]
    assert len(lost) == 52
    assert lost["removed_by"].value_counts().to_dict() == {
        "organism": 34, "covariate_shift": 15, "hypernyms": 2, "hyponyms": 1, "id_classes": 0,
    }  # fmt: skip
    names = lost.groupby("removed_by", observed=True)["name"].agg(set)
    assert names["hypernyms"] == {"blower", "textile machine"} and names["hyponyms"] == {"shaving cream"}
    assert names["covariate_shift"] == {
        "scouring pad", "silencer", "megaphone", "sonogram", "Venn diagram", "finger-painting", "map", "spray gun",
        "toothbrush", "case knife", "clothes dryer", "cake mix", "fishbowl", "Frisbee", "vitamin pill",
    }  # fmt: skip
    people = {wnid for wnid in lost["wnid"] if wnid.startswith(("n09", "n10"))}
    assert len(people) == 9 and "n09818022" in people


@pytest.mark.slow
def test_the_52_are_those_of_the_class_facts(audited, real_data):
    """`imagenet_ood_637.json` has four flags a class, made elsewhere."""
    result, _ = audited
    flags = {"hypernym_of_1k": "hypernyms", "hyponym_of_1k": "hyponyms", "organism": "organism"}
    flags["sem_cov_R1"] = "covariate_shift"
    facts = json.loads((real_data / "imagenet" / "imagenet_ood_637.json").read_text())
    expected = {item["wnid"]: next((name for flag, name in flags.items() if item[flag]), None) for item in facts}
    rows = result[result["published"]]
    content = dict(
        zip(rows["wnid"], rows["removed_by"].astype(object).where(rows["removed_by"].notna(), None), strict=True)
    )
    assert len(expected) == 637 and content == expected


@pytest.mark.slow
def test_every_reason_is_a_way_through_wordnet(audited):
    result, edges = audited
    removed = result[~result["kept"] & (result["removed_by"] != "id_classes")]
    for row in removed.to_dict("records"):
        way = re.findall(r"(n\d{8}) ", re.split(", which|, and", row["why"])[0])
        assert all(upper in edges[lower] for lower, upper in pairwise(way)), row
        if row["removed_by"] == "hypernyms":
            assert way[-1] == row["wnid"] and way[0] in KNOWN
        else:
            assert way[0] == row["wnid"] and row["name"] in row["why"]
        assert row["removed_by"] != "hyponyms" or way[-1] in KNOWN
        assert row["removed_by"] != "organism" or row["why"].endswith("n00004475 organism")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("order", "left", "published"),
    [("H", [1783, 1230], [428, 422]), (IN_POOL, [2421, 1666], [560, 547])],
    ids=["H", "sisters in the pool"],
)
def test_sister_classes(order, left, published):
    """The counts found elsewhere of sisters in WordNet, and in the tree of the candidates."""
    result = class_audit(order=order)
    assert list(_left(result).values())[-2:] == left
    assert list(_left(result, published=True).values())[-2:] == published


def test_sisters_of_a_microwave():
    """The five that Appendix H names share the parent `kitchen appliance`; a dagger has no sister."""
    tree = load_wordnet_facts()
    wnids = {tree.name(wnid): wnid for wnid in tree.hyponyms["n03620052"]}
    five = [wnids[name] for name in ("food processor", "ice maker", "hot plate", "coffee maker", "oven")]
    assert wnids["microwave"] in KNOWN
    result = class_audit(order="sister_classes", candidates=[*five, "n03158885"])
    assert result["kept"].tolist() == [True] * 5 + [False]
    assert result["why"].iloc[-1].startswith("n03158885 dagger < n03624134 knife: no sister")


def test_fall11_leaves_the_same_classes_after_organism():
    assert list(_left(class_audit(candidates="fall11")).values()) == [10_230, 9621, 8946, 4922, 3411]


def test_the_example_of_the_paper():
    """Section 3.2: with dog and vehicle alone, a classifier may be one of animals and vehicles; then cat is no OOD."""
    above = {"thing": (), "animal": ("thing",), "dog": ("animal",), "cat": ("animal",), "tabby": ("cat", "pet")}
    above |= {"vehicle": ("thing",), "car": ("vehicle",), "pet": (), "stone": ("thing",)}
    tree = WordNet({name: (name,) for name in above}, above)
    classes = ClassPool(tree, {"dog": 0, "vehicle": 1}, frozenset(above))
    assert classes.widened == {"animal", "vehicle"}
    removes = {name: {item for item in above if why(item, classes)} for name, why in FILTERS.items()}
    assert removes["id_classes"] == {"dog", "vehicle"}
    assert removes["hypernyms"] == {"thing", "animal"}
    assert removes["hyponyms"] == {"car"}
    assert removes["organism"] == set()
    assert removes["covariate_shift"] == {"animal", "dog", "cat", "tabby", "vehicle", "car"}
    assert removes["sister_classes"] == set(above) - {"dog", "cat", "vehicle", "animal", "stone"}
    fewer = ClassPool(tree, {"dog": 0, "vehicle": 1}, frozenset({"tabby", "pet", "thing", "stone"}))
    assert FILTERS["sister_classes_in_pool"]("tabby", fewer) == ""  # tabby < cat < animal < thing, as vehicle < thing
    assert FILTERS["sister_classes"]("tabby", fewer) == "tabby tabby < cat cat and pet pet: no sister in ImageNet-1K"
    assert FILTERS["covariate_shift"]("tabby", classes) == (
        "tabby tabby < cat cat < animal animal, which covers only dog dog of ImageNet-1K"
    )


@pytest.mark.slow
def test_filters_in_any_order_remove_the_same():
    """Order decides which filter is named, never whether a class is kept."""
    names = ORDERS["3.2"]
    item, other = class_audit(), class_audit(order=names[::-1])
    assert (item["kept"] == other["kept"]).all() and not (
        item["removed_by"].astype(str) == other["removed_by"].astype(str)
    ).all()


@pytest.mark.slow
@NEEDS_WORDNET
def test_shipped_facts_are_wordnet_s(real_data):
    """Made anew from Debian's WordNet and the two lists, the lines below its head are the same to the byte."""
    lists = {
        version: (real_data / "imagenet" / f"imagenet21kp_{version}_wnids.txt").read_text().split()
        for version in ("winter21", "fall11")
    }
    tree, classes = (
        read_wordnet(DEBIAN),
        {*IMAGENET_1K_WNIDS, *(wnid for several in lists.values() for wnid in several)},
    )
    worded = {*IMAGENET_1K_WNIDS}.union(*map(tree.ancestors, IMAGENET_1K_WNIDS))
    expected = []
    for wnid in sorted(classes.union(*map(tree.ancestors, classes))):
        of = "".join(version[0] for version in ("fall11", "winter21") if wnid in lists[version])
        above = " ".join(parent[1:] for parent in tree.hypernyms[wnid])
        words = ";".join(tree.lemmas[wnid][1:]) if wnid in worded else ""
        expected.append(f"{wnid[1:]}\t{of}\t{above}\t{tree.name(wnid)}\t{words}")
    lines = _facts_file().read_bytes().decode().removesuffix("\n").split("\n")
    assert [line for line in lines if not line.startswith("#")] == expected
    assert set(list_imagenet_21k_p("winter21")) == set(lists["winter21"]) and set(OOD_CLASSES) <= set(lists["winter21"])


def test_shipped_facts_are_the_subset_computed_elsewhere(real_data):
    subset = json.loads((real_data / "imagenet" / "wordnet30_hypernyms_subset.json").read_text())
    own = {wnid: sorted(above) for wnid, above in load_wordnet_facts().hypernyms.items()}
    assert own.keys() == subset.keys() and len(own) == 13_043
    differing = [wnid for wnid in own if own[wnid] != sorted(subset[wnid])]
    assert differing == ["n09450163"]  # the sun, an instance of a star: the subset has no instances


@NEEDS_WORDNET
@pytest.mark.slow
def test_reader_on_all_of_wordnet():
    networkx = pytest.importorskip("networkx")
    tree, edges = read_wordnet(DEBIAN), _edges(DEBIAN)
    assert len(tree.hypernyms) == 82_115
    assert {wnid: sorted(above) for wnid, above in tree.hypernyms.items()} == {w: sorted(a) for w, a in edges.items()}
    assert sum(map(len, tree.hypernyms.values())) == 75_850 + 8_577
    graph = networkx.DiGraph([(lower, upper) for lower, above in edges.items() for upper in above])
    for wnid in ("n02084071", "n09450163", "n00001740", "n03873064"):
        assert tree.ancestors(wnid) == networkx.descendants(graph, wnid)
        if wnid != "n00001740":
            assert len(tree.path(wnid, {"n00001740"})) == networkx.shortest_path_length(graph, wnid, "n00001740") + 1
    assert tree.lemmas["n02084071"] == ("dog", "domestic dog", "Canis familiaris")
    assert tree.lemmas["n02666943"] == ("abattoir", "butchery", "shambles", "slaughterhouse")


HEAD = "  14 WordNet 3.0 Copyright 2006 by Princeton University.  All rights reserved.  \n"
ENTITY = "00001740 03 n 01 entity 0 000 | that which is  \n"
MANY = "00001930 03 n 0a " + " ".join(f"word_{k} 0" for k in range(10)) + " 003 @i 00001740 n 0000 ~ 09 n 0000"


def test_reader_on_a_line_worked_by_hand(tmp_path):
    """Ten words are 0a in the file; a hypernym comes before that of an instance, wherever they stand."""
    file = tmp_path / "data.noun"
    thing = "00002000 03 n 01 thing 0 000 | \n"
    file.write_text(HEAD + ENTITY + thing + MANY + " @ 00002000 n 0000 | a gloss | with @ 00009999 n 0000 in it  \n")
    tree = read_wordnet(file)
    assert tree.lemmas["n00001930"] == tuple(f"word {k}" for k in range(10))
    assert tree.hypernyms["n00001930"] == ("n00002000", "n00001740")
    assert tree.hyponyms["n00001740"] == ("n00001930",) and "n00001930" in tree and "n00009999" not in tree


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD.replace("3.0", "3.1") + ENTITY, "is WordNet 3.1. ImageNet's wnids are positions in WordNet 3.0"),
        (ENTITY, "is not the nouns of WordNet"),
        (HEAD + ENTITY + "what is this\n", "line 3: not a synset"),
        (HEAD + MANY.replace("003", "001").split(" ~")[0] + "\n", "n00001740 is named but missing"),
        (None, "apt-get install wordnet-base"),
    ],
)
def test_reader_says_what_is_wrong(tmp_path, text, message):
    if text is not None:
        (tmp_path / "data.noun").write_text(text)
    with pytest.raises(OochubError, match=re.escape(message)):
        read_wordnet(tmp_path)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"order": "3.3"}, "Allowed: 3.2, H, covariate_shift"),
        ({"order": "organism,organism"}, "occurs twice"),
        ({"candidates": "winter22"}, "winter21 or fall11, or a file"),
        ({"candidates": ["02925009"]}, "n and 8 digits"),
        ({"candidates": []}, "got none"),
        ({"candidates": ["n02925009"] * 2}, "twice"),
        ({"candidates": ["n00000001"]}, "not in the facts that come with oochub, first n00000001. Pass wordnet="),
        ({"wordnet": "nowhere"}, "There is no data.noun at nowhere"),
    ],
)
def test_audit_says_what_is_wrong(wrong, message):
    with pytest.raises(OochubError, match=re.escape(message)):
        class_audit(**wrong)


@pytest.mark.slow
def test_by_the_command_line(monkeypatch, run, tmp_path):
    monkeypatch.delenv("OOCHUB_DATA", raising=False)

    file = tmp_path / "audit.csv"
    code, output, _ = run("build", "imagenet_ood", "--audit", file)
    assert code == 0 and output.strip().endswith(str(file))
    assert re.search(r"organism +3,265 +4,922 +34 +600", output) and "3,411 of 10,450" in output
    frame = pd.read_csv(file)
    assert frame.columns.tolist() == ["wnid", "name", "kept", "removed_by", "why", "published"]
    assert len(frame) == 10_450 and (frame["published"] & ~frame["kept"]).sum() == 52
    (tmp_path / "some.txt").write_text("n02855089\nn03158885\n")
    code, output, _ = run(
        "build", "imagenet_ood", "--audit", file, "--order", "H", "--candidates", tmp_path / "some.txt", "--json"
    )
    assert code == 0 and json.loads(output)["candidates"] == 2 and json.loads(output)["left"]["sister_classes"] == 0
    for words, message in (
        (("imagenet_ood",), "--out FOLDER"),
        (("imagenet_ood", "--out", tmp_path / "x", "--order", "H"), "add --audit"),
        (("spawrious", "--audit", file), "no choice of classes to audit; imagenet_ood has"),
        (("imagenet_ood", "--audit", file, "--order", "h"), "No filter or order of filters named 'h'"),
    ):
        code, _, err = run("build", *words)
        assert code == 2 and message in err, err
