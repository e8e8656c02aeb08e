"""A FrameNet of one frame and two sentences, in its files."""

from __future__ import annotations

HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
SPACE = 'xmlns="http://framenet.icsi.berkeley.edu" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
EVERY = {"max_words": None, "max_targets": None, "max_element_words": None, "gap": None, "min_core": None}


def label(name: str, text: str, part: str, at: int = 0) -> str:
    start = text.index(part, at)
    return f'<label end="{start + len(part) - 1}" start="{start}" name="{name}"/>'


def layer(name: str, *labels: str) -> str:
    return f'<layer rank="1" name="{name}">{"".join(labels)}</layer>'


def sentence(text: str, *sets: str) -> str:
    return f'<sentence ID="1"><text>{text}</text>{"".join(sets)}</sentence>'


def annotated(number: int, *layers: str, frame: str = "") -> str:
    named = f' frameName="{frame}"' if frame else ""
    return f'<annotationSet ID="{number}"{named}>{"".join(layers)}</annotationSet>'


FRAME = f"""{HEAD}<frame name="Giving" ID="139" {SPACE}>
    <definition>&lt;def-root&gt;</definition>
    <FE coreType="Core" name="Donor"/><FE coreType="Core-Unexpressed" name="Theme"/>
    <FE coreType="Peripheral" name="Time"/></frame>"""
TEXT = "Yesterday Anna's aunt did n't give it all away ."
# The layer has no full stop, and takes `Anna's` as one word.
PENN = layer(
    "PENN",
    *(label("nn", TEXT, word) for word in ["Yesterday", "Anna's", "aunt", "did", "n't", "give", "it", "all", "away"]),
)
SETS = (
    annotated(10, PENN),
    annotated(11, layer("Target", label("Target", TEXT, "give"), label("Target", TEXT, "away")),
              layer("FE", label("Donor", TEXT, "Anna's aunt"), label("Time", TEXT, "Yesterday"),
                    '<label name="Recipient" itype="INI"/>', label("Theme", TEXT, "t all", 27)), frame="Giving"),
    annotated(12, layer("Target", label("Target", TEXT, "aunt")), layer("FE"), frame="Kinship"),
    annotated(13, layer("Target", label("Target", TEXT, "aunt")), layer("FE", label("Ego", TEXT, "Anna")),
              frame="Kinship"),
    annotated(14, layer("CEE", label("CEE", TEXT, "aunt"))),
)  # fmt: skip
FULL = f"{HEAD}<fullTextAnnotation {SPACE}><header/>{sentence(TEXT, *SETS)}</fullTextAnnotation>"
PLAIN = "Oh , it ended ( well ) ."
ENDED = annotated(20, layer("Target", label("Target", PLAIN, "ended")), layer("FE", label("Donor", PLAIN, "Oh")))
UNIT = f"""{HEAD}<lexUnit name="give.v" frame="Giving" {SPACE}>
    <header><frame><FE type="Core" name="Donor"/></frame></header>
    <subCorpus name="x">{sentence(TEXT, SETS[1])}</subCorpus>
    <subCorpus name="y">{sentence(PLAIN, ENDED)}</subCorpus></lexUnit>"""
FILES: dict[str, str | bytes] = {
    "fndata-1.7/frame/Giving.xml": FRAME,
    "fndata-1.7/frame/frame.xsl": "<not read",
    "fndata-1.7/fulltext/a__b.xml": FULL,
    "fndata-1.7/lu/lu1.xml": UNIT,
    "fndata-1.7/luIndex.xml": "<not read",
}
