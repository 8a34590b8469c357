"""Which species of CUB-200-2011 are water birds: seabirds and waterfowl, as the paper says and as it was released."""

from typing import Literal

Species = Literal["released", "paper"]

_SEABIRDS = """Black_footed_Albatross Laysan_Albatross Sooty_Albatross Crested_Auklet Least_Auklet Parakeet_Auklet
Rhinoceros_Auklet Brandt_Cormorant Red_faced_Cormorant Pelagic_Cormorant Frigatebird Northern_Fulmar California_Gull
Glaucous_winged_Gull Heermann_Gull Herring_Gull Ivory_Gull Ring_billed_Gull Slaty_backed_Gull Western_Gull
Long_tailed_Jaeger Pomarine_Jaeger Red_legged_Kittiwake Brown_Pelican White_Pelican Horned_Puffin Artic_Tern Black_Tern
Caspian_Tern Common_Tern Elegant_Tern Forsters_Tern Least_Tern Pigeon_Guillemot""".split()
_WATERFOWL = """Gadwall Eared_Grebe Horned_Grebe Pied_billed_Grebe Western_Grebe Mallard Hooded_Merganser
Red_breasted_Merganser Pacific_Loon""".split()
_TERN_IN_THEIR_NAMES = ("Eastern_Towhee", "Western_Meadowlark", "Western_Wood_Pewee")


def water_species(form: Species = "released") -> frozenset[str]:
    """Names of the species, as CUB's folders have them after their number.

    Args:
        form: "released": the 46 that the released data set labels so. Its code looks for words such as "tern" anywhere
            in a name, and so takes three land birds: Eastern Towhee, Western Meadowlark, Western Wood Pewee. "paper":
            the 43 seabirds and waterfowl.

    Source: Sagawa et al. 2020, Appendix C.1; kohpangwei/group_DRO, `dataset_scripts/generate_waterbirds.py`.

    >>> len(water_species()), len(water_species("paper"))
    (46, 43)
    >>> sorted(water_species() - water_species("paper"))
    ['Eastern_Towhee', 'Western_Meadowlark', 'Western_Wood_Pewee']
    """
    return frozenset((*_SEABIRDS, *_WATERFOWL, *(_TERN_IN_THEIR_NAMES if form == "released" else ())))
