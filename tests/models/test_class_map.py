"""Which outputs of a model answer for the classes of a data set, against ImageNet's well-known order and WordNet."""

import json
import string

import pytest

from oochub.class_names.imagenet_classes import IMAGENET_1K_NAMES, IMAGENET_1K_WNIDS
from oochub.class_names.wordnet import load_wordnet_facts
from oochub.errors import OochubError, word_for_shell
from oochub.models.class_map import ImagenetOutputs, match_classes, read_label_map
from oochub.settings.model_settings import ModelSettings
from oochub.settings.option import list_options

HUB = ["crane" if name == "crane2" else name for name in IMAGENET_1K_NAMES]  # as models of the Hub call the machine
WRITINGS = {
    "the Hub's names": HUB,
    "names that differ": IMAGENET_1K_NAMES,
    "wnids": IMAGENET_1K_WNIDS,
    "first words": [name.split(",")[0] for name in HUB],
    "Keras": [f"{w}_{n.split(',')[0].replace(' ', '_')}" for w, n in zip(IMAGENET_1K_WNIDS, HUB, strict=True)],
    "with a background": ["background", *HUB],
}
DOGS = range(151, 269)
BIRDS = (*range(7, 25), *range(80, 101), *range(127, 147))
"""The places of dogs and birds among ImageNet's 1,000 classes, as everybody who has seen the list knows them."""


@pytest.mark.parametrize("writing", WRITINGS)
def test_imagenet_s_classes_in_every_usual_writing(writing):
    """Planted faults: `ancestors` without the class itself; a background that does not move the numbers."""
    names = WRITINGS[writing]
    found = match_classes(names, ["bird", "Domestic_Dog", "tabby", "n02123394"])
    before = len(names) - 1000
    assert [[k - before for k in outputs] for outputs in found.outputs] == [[*BIRDS], [*DOGS], [281], [283]]
    used = len(BIRDS) + len(DOGS) + 2
    assert used < len(names) and found.notes[0].endswith(f"not the model's {len(names):,}")


def test_every_concept_above_imagenet_s_classes(real_data):
    """Each of the 1,860 wnids against a walk through hypernyms that were made elsewhere, not by our reader."""
    above = json.loads((real_data / "imagenet" / "wordnet30_hypernyms_subset.json").read_text())

    def reached(wnid):
        return {wnid}.union(*(reached(parent) for parent in above[wnid]))

    expected = {}
    for number, wnid in enumerate(IMAGENET_1K_WNIDS):
        for concept in reached(wnid):
            expected.setdefault(concept, []).append(number)
    outputs = ImagenetOutputs(HUB)
    assert len(expected) == 1860
    assert {wnid: [*outputs.senses(wnid)[wnid]] for wnid in expected} == expected


def test_a_word_of_several_things_is_never_decided():
    """Each pair is far apart in WordNet; the cat and the big cat are both felines, and the cat is called so."""
    for word, senses in {
        "crane": {"n02012849": (134,), "n03126707": (517,)},
        "plane": {"n02691156": (404,), "n03954731": (726,)},
        "panda": {"n02509815": (387,), "n02510455": (388,)},
    }.items():
        assert ImagenetOutputs(HUB).senses(word) == senses
        with pytest.raises(OochubError, match=f"{word} may be {min(senses)} .* or {max(senses)}"):
            match_classes(HUB, [word, "beagle"])
    with pytest.raises(OochubError, match=r"crane may be n02012849 \(crane, a kind of wading bird\) or n03126707"):
        match_classes(HUB, ["crane", "beagle", "tabby"], restrict=True)
    cat = match_classes(HUB, ["cat", "beagle"]).outputs[0]
    assert [HUB[k].split(",")[0] for k in cat] == [
        *("tabby", "tiger cat", "Persian cat", "Siamese cat", "Egyptian cat", "cougar", "lynx")
    ]


def test_two_classes_of_one_name_keep_apart_by_their_numbers():
    """Planted fault: `own.index(name)`, which takes the first."""
    assert match_classes(HUB, HUB).is_identity and match_classes(HUB, IMAGENET_1K_NAMES).is_identity
    assert match_classes(HUB, IMAGENET_1K_WNIDS).is_identity
    own = ["crane", "hen", "crane"]
    assert match_classes(own, own).is_identity
    with pytest.raises(OochubError, match=r"crane may be 0 \(crane\) or 2 \(crane\)"):
        match_classes(own, ["hen", "crane", "drake"], restrict=True)
    with pytest.raises(OochubError, match=r"'crane', which may be 0 \(crane\) or 2 \(crane\)\. Pass the number of an"):
        match_classes(own, ["hen", "crane"], given={"crane": ["crane"]})
    assert match_classes(own, ["hen", "crane"], given={"crane": ["2"]}).outputs == ((1,), (2,))


def test_names_and_synonyms_without_case_spaces_and_hyphens():
    """Letters alone: the outputs of names that a rule made, in another order."""
    own = [f"{a}-one {b}, the {a}" for a in string.ascii_lowercase for b in "xy"]
    wanted = [f"{a.upper()}_ONE{b}" for a in reversed(string.ascii_lowercase) for b in "yx"]
    with pytest.raises(OochubError, match="does not know 1 of these: zebra"):
        match_classes(own, [*wanted[:-1], "zebra"])
    found = match_classes([name.split(",")[0] for name in own], wanted)
    assert found.outputs == tuple((k,) for k in reversed(range(52)))
    with pytest.raises(OochubError, match=r"the a may be 0 \(a-one x\) or 1 \(a-one y\)"):
        match_classes(own, ["the a", "B-one x"])


def test_a_data_set_that_names_a_part_of_the_model_s_classes_as_the_model_does():
    """Equal lists of names win over WordNet: "plane" is the tool among these classes."""
    found = match_classes(WRITINGS["first words"], ["plane", "beagle"])
    assert found.outputs == ((726,), (162,)) and not found.details


def test_two_classes_are_enough_to_tell_apart_and_one_is_not():
    """Planted fault seen: three are wanted."""
    own = ["red", "green", "blue", "black"]
    assert match_classes(own, ["green", "yeti", "red"], restrict=True).outputs == ((1,), (0,))
    with pytest.raises(OochubError, match="does not know 2 of these"):
        match_classes(own, ["green", "yeti", "unicorn"], restrict=True)


@pytest.mark.slow
def test_all_that_does_not_fit_is_in_one_message():
    with pytest.raises(OochubError) as caught:
        match_classes(HUB, ["bulldog", "corgi", "dachshund", "labrador", "crane"])
    words = str(caught.value)
    for part in (
        "has 1,000 classes (tench, goldfish,",
        "does not know 2 of these: dachshund; labrador (near: Labrador retriever)",
        "crane may be",
        "restrict=True",
        "label_map=",
    ):
        assert part in words
    with word_for_shell(), pytest.raises(OochubError, match=r"--label-map FILE.*skip its rows: --restrict"):
        match_classes(HUB, ["bulldog", "corgi", "labrador"])
    with pytest.raises(OochubError) as caught:
        match_classes(HUB, ["no_jeep", "jeep"])
    assert "no_jeep means that the object is absent" in str(caught.value) and "restrict" not in str(caught.value)
    for wanted in (["yeti", "unicorn"], ["yeti", "unicorn", "beagle"]):  # nothing to tell apart would be left
        with pytest.raises(OochubError, match="does not know 2 of these") as caught:
            match_classes(HUB, wanted, restrict=True)
        assert "restrict" not in str(caught.value)
    assert match_classes(HUB, ["yeti", "tabby", "beagle"], restrict=True).left_out == ("yeti",)
    with pytest.raises(OochubError, match="crane may be") as caught:  # the cause alone: yetis are left out already
        match_classes(HUB, ["yeti", "crane", "tabby", "beagle"], restrict=True)
    assert "restrict" not in str(caught.value) and "yeti:" not in str(caught.value)
    assert "does not know" not in str(caught.value)


def test_an_output_answers_for_one_class():
    """Planted fault: the check left out, so that the dogs count twice."""
    with pytest.raises(OochubError, match="dog and animal share 118 of them"):
        match_classes(HUB, ["dog", "animal"])
    with pytest.raises(OochubError, match=r"a and b share 1 \(y\)"):
        match_classes(["x", "y"], ["a", "b"], given={"a": ["y"], "b": ["y"]})


def test_a_file_wins_over_names():
    given = {"crane": ["n03126707"], "animal": ["n02084071", "tabby"], "pet": ["Persian_cat", "hen"]}
    found = match_classes(HUB, ["animal", "bird", "crane", "jeep", "pet"], given={**given, "bird": [9, "10"]})
    assert found.outputs == ((*DOGS, 281), (9, 10), (517,), (609,), (8, 283))
    assert found.details["bird"] == {"rule": "file", "outputs": {"9": HUB[9], "10": HUB[10]}}
    assert match_classes(HUB, ["beast"], given={"beast": ["domestic dog"]}).outputs == ((*DOGS,),)
    with pytest.raises(OochubError, match=r"'plane', which may be n02691156 .* or n03954731 .* Pass a wnid, or the"):
        match_classes(HUB, ["plane"], given={"plane": ["plane"]})
    for wrong, words in {"animl": "No class of the dataset named 'animl'. Did you mean 'animal'"}.items():
        with pytest.raises(OochubError, match=words):
            match_classes(HUB, ["animal"], given={wrong: ["tabby"]})
    for wrong in ("tabbi", 1000, "1000", -1, "n00000000"):
        with pytest.raises(OochubError, match=f"No class of the model named '{wrong}'"):
            match_classes(HUB, ["animal"], given={"animal": [wrong]})


def test_a_file_may_serve_several_data_sets():
    """Classes that the data lack are noted; planted fault seen: they are an error, or are passed over in silence."""
    found = match_classes(HUB, ["animal"], given={"animal": ["tabby"], "tree": ["oak"]})
    assert found.outputs == ((281,),) and found.unused == ("tree",)
    assert "the label map also names classes that the data lack: tree" in found.notes


def test_forms_of_a_label_map(tmp_path):
    """The same map written in each form."""
    expected = {"big cat": ["lion, king of beasts", "tiger"], "dog": ["162"]}
    forms = {
        "a.json": json.dumps({"big cat": ["lion, king of beasts", "tiger"], "dog": "162"}),
        "a.csv": '\ufeffbig cat,"lion, king of beasts",tiger\r\n\r\ndog, 162\r\n',
        "b.CSV": 'big cat,"lion, king of beasts"\ndog,162\nbig cat,tiger\n',
    }
    for name, text in forms.items():
        (tmp_path / name).write_text(text, "utf-8")
        assert read_label_map(tmp_path / name) == expected, name
    broken = {
        "c.csv": ("dog\n", r"c\.csv, line 1: a data class and a model class"),
        "d.csv": ("dog,beagle\n,pug\n", "line 2"),
        "e.csv": ('dog,"beagle\n', "line 1"),
        "f.csv": ("", "is empty"),
        "g.json": ("[1]", "not a label map"),
        "h.json": ('{"dog": []}', "'dog' must map to one or more classes"),
        "i.json": ('{"dog": [true]}', "'dog' must map to one or more classes"),
        "j.json": ('{"dog": {"a": 1}}', "'dog' must map to one or more classes"),
        "k.txt": ("dog,beagle", r"\.csv or \.json file, got k\.txt"),
    }
    for name, (text, words) in broken.items():
        (tmp_path / name).write_text(text)
        with pytest.raises(OochubError, match=words):
            read_label_map(tmp_path / name)
    with pytest.raises(OochubError, match="no such file"):
        read_label_map(tmp_path / "no.csv")
    with pytest.raises(OochubError, match="got int"):
        read_label_map(3)


def test_the_facts_have_the_words_of_imagenet_s_own_list():
    """Two lists of one thing: the words of WordNet's synsets and the names of the 1,000 classes."""
    tree = load_wordnet_facts()
    for wnid, name in zip(IMAGENET_1K_WNIDS, HUB, strict=True):
        assert name == ", ".join(tree.lemmas[wnid]), wnid


def test_a_small_model_and_the_thousand_classes_of_imagenet_match_by_name():
    """The model has no class of ImageNet to WordNet. Planted fault seen: wnids that no class of the model bears."""
    found = match_classes(["goldfish", "jellyfish", "snow leopard"], IMAGENET_1K_NAMES, restrict=True)
    matched = {each.name.partition(",")[0]: each.outputs for each in found.answering}
    assert matched == {"goldfish": (0,), "jellyfish": (1,), "snow leopard": (2,)} and len(found.left_out) == 997
    with pytest.raises(OochubError, match=r"does not know 1,000 of these: .* and 980 more\.") as refused:
        match_classes(["one", "two"], IMAGENET_1K_NAMES)
    assert len(str(refused.value)) < 3_000


def test_what_a_benchmark_declares_of_imagenet_s_classes():
    """It is for models of ImageNet, in any order, that do not have the classes themselves; a user's file wins."""
    declared = {"dog": (151, 153), "cat": (281, 282, 285)}
    found = match_classes(IMAGENET_1K_NAMES, ["cat", "dog"], declared=declared)
    assert found.outputs == ((281, 282, 285), (151, 153))
    assert [each.rule for each in found.answering] == ["benchmark"] * 2
    some = [f"{IMAGENET_1K_WNIDS[k]}_x" for k in (285, 151, 152, 281)]
    assert match_classes(some, ["cat", "dog"], declared=declared).outputs == ((0, 3), (1,))
    own = match_classes(["dog", "cat", "cow"], ["cat", "dog"], declared=declared)
    assert own.outputs == ((1,), (0,))
    assert match_classes(["a", "b"], ["a", "b"], declared={"a": (1,), "b": (0,)}).outputs == ((0,), (1,))
    given = match_classes(IMAGENET_1K_NAMES, ["cat", "dog"], given={"cat": [283]}, declared=declared)
    assert given.outputs == ((283,), (151, 153))


def test_numbers_are_matched_as_numbers():
    """By hand: twelve folders sorted by name (0, 1, 10, 11, 2, ...) and a model without names."""
    twelve = sorted(map(str, range(12)))
    assert twelve[2] == "10"
    found = match_classes([f"LABEL_{k}" for k in range(12)], twelve)
    assert {each.name: each.outputs for each in found.answering} == {str(k): (k,) for k in range(12)}
    assert found.notes == ()
    padded = match_classes(["LABEL_1", "LABEL_0"], ["00", "01"])
    assert padded.outputs == ((1,), (0,))
    from_one = match_classes([f"LABEL_{k}" for k in range(12)], sorted(map(str, range(1, 13))))
    assert {each.name: each.outputs for each in from_one.answering} == {str(k + 1): (k,) for k in range(12)}
    assert "0 for 1" in from_one.notes[0]


def test_outputs_without_names_take_the_sorted_order_and_say_so():
    found = match_classes(["LABEL_0", "LABEL_1"], ["cat", "dog"])
    assert found.outputs == ((0,), (1,))
    order = "the outputs of the model have no names, and answer for the classes in their order: 0 for cat, 1 for dog"
    assert found.notes == (order,)
    assert match_classes(["LABEL_0", "LABEL_1"], ["LABEL_0", "LABEL_1"]).notes == ()


@pytest.mark.parametrize("typed", ["cat,dog", ",".join(f"class {k}" for k in range(2_000)), "c" * 10_000])
def test_names_are_typed_or_read_from_a_file(typed):
    """Planted fault: a list that is too long for the name of a file."""
    parse = list_options(ModelSettings)["class_names"].parse
    assert parse is not None and parse(typed, "--class-names") == tuple(typed.split(","))
