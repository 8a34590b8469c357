"""The categories and licenses of COCO and COCO-Stuff: facts of the formats, with their real ids and names.

Source: `categories` and `licenses` of the COCO 2017 instances and stuff annotation files (CC BY 4.0).
"""

from typing import Any

_THINGS = """
person: 1 person
vehicle: 2 bicycle, 3 car, 4 motorcycle, 5 airplane, 6 bus, 7 train, 8 truck, 9 boat
outdoor: 10 traffic light, 11 fire hydrant, 13 stop sign, 14 parking meter, 15 bench
animal: 16 bird, 17 cat, 18 dog, 19 horse, 20 sheep, 21 cow, 22 elephant, 23 bear, 24 zebra, 25 giraffe
accessory: 27 backpack, 28 umbrella, 31 handbag, 32 tie, 33 suitcase
sports: 34 frisbee, 35 skis, 36 snowboard, 37 sports ball, 38 kite, 39 baseball bat, 40 baseball glove, 41
    skateboard, 42 surfboard, 43 tennis racket
kitchen: 44 bottle, 46 wine glass, 47 cup, 48 fork, 49 knife, 50 spoon, 51 bowl
food: 52 banana, 53 apple, 54 sandwich, 55 orange, 56 broccoli, 57 carrot, 58 hot dog, 59 pizza, 60 donut,
    61 cake
furniture: 62 chair, 63 couch, 64 potted plant, 65 bed, 67 dining table, 70 toilet
electronic: 72 tv, 73 laptop, 74 mouse, 75 remote, 76 keyboard, 77 cell phone
appliance: 78 microwave, 79 oven, 80 toaster, 81 sink, 82 refrigerator
indoor: 84 book, 85 clock, 86 vase, 87 scissors, 88 teddy bear, 89 hair drier, 90 toothbrush
"""
_STUFF = """
textile: 92 banner, 93 blanket, 104 cloth, 105 clothes, 109 curtain, 131 mat, 137 napkin, 141 pillow, 152
    rug, 167 textile-other, 168 towel
plant: 94 branch, 97 bush, 119 flower, 124 grass, 129 leaves, 134 moss, 142 plant-other, 163 straw, 169
    tree
building: 95 bridge, 96 building-other, 128 house, 151 roof, 158 skyscraper, 166 tent
furniture-stuff: 98 cabinet, 107 counter, 108 cupboard, 110 desk-stuff, 112 door-stuff, 123
    furniture-other, 130 light, 133 mirror-stuff, 156 shelf, 161 stairs, 165 table
structural: 99 cage, 113 fence, 138 net, 146 railing, 164 structural-other
raw-material: 100 cardboard, 132 metal, 139 paper, 143 plastic
floor: 101 carpet, 114 floor-marble, 115 floor-other, 116 floor-stone, 117 floor-tile, 118 floor-wood
ceiling: 102 ceiling-other, 103 ceiling-tile
sky: 106 clouds, 157 sky-other
ground: 111 dirt, 125 gravel, 126 ground-other, 136 mud, 140 pavement, 144 platform, 145 playingfield, 147
    railroad, 149 road, 154 sand, 159 snow
water: 120 fog, 148 river, 155 sea, 178 water-other, 179 waterdrops
food-stuff: 121 food-other, 122 fruit, 153 salad, 170 vegetable
solid: 127 hill, 135 mountain, 150 rock, 160 solid-other, 162 stone, 182 wood
wall: 171 wall-brick, 172 wall-concrete, 173 wall-other, 174 wall-panel, 175 wall-stone, 176 wall-tile,
    177 wall-wood
window: 180 window-blind, 181 window-other
other: 183 other
"""
_LICENSES = """
http://creativecommons.org/licenses/by-nc-sa/2.0/ Attribution-NonCommercial-ShareAlike License
http://creativecommons.org/licenses/by-nc/2.0/ Attribution-NonCommercial License
http://creativecommons.org/licenses/by-nc-nd/2.0/ Attribution-NonCommercial-NoDerivs License
http://creativecommons.org/licenses/by/2.0/ Attribution License
http://creativecommons.org/licenses/by-sa/2.0/ Attribution-ShareAlike License
http://creativecommons.org/licenses/by-nd/2.0/ Attribution-NoDerivs License
http://flickr.com/commons/usage/ No known copyright restrictions
http://www.usa.gov/copyright.shtml United States Government Work
"""


def _parse(text: str) -> list[dict[str, Any]]:
    """Category dictionaries in the order of their ids, from lines of `supercategory: id name, id name`."""
    rows = []
    for line in text.replace("\n    ", " ").strip().splitlines():
        supercategory, members = line.split(": ")
        for member in members.split(", "):
            number, name = member.split(" ", 1)
            rows.append({"supercategory": supercategory, "id": int(number), "name": name})
    return sorted(rows, key=lambda row: row["id"])


THINGS: list[dict[str, Any]] = _parse(_THINGS)
STUFF: list[dict[str, Any]] = _parse(_STUFF)
LICENSES: list[dict[str, Any]] = [
    {"url": line.split(" ", 1)[0], "id": number, "name": line.split(" ", 1)[1]}
    for number, line in enumerate(_LICENSES.strip().splitlines(), 1)
]
IDS: dict[str, int] = {row["name"]: row["id"] for row in THINGS + STUFF}

CATEGORY_IDS: dict[str, int] = {
    row["name"].replace(" ", "_"): row["id"] for row in THINGS + STUFF if row["name"] != "other"
}
"""The 80 thing and 91 stuff classes of NOOCH, "_" for spaces, name to COCO category id, in order of the id."""
