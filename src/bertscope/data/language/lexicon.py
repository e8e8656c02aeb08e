"""The words of the demo language: nouns by what they name, adjectives by what they can be said of.

Nearly all of them, and every plural that is used, are single pieces in pocket's vocabulary: a noun whose plural
isn't has none here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Gender = Literal["feminine", "masculine", ""]
Entity = Literal["PER", "LOC", "ORG", ""]
_GENDERS: dict[str, Gender] = {"f": "feminine", "m": "masculine", "": ""}


@dataclass(frozen=True, eq=False)
class Noun:
    """A common noun, a name or a pronoun; two are the same only if they are the same object."""

    kind: str
    """What it names: `person`, `animal`, `food` ...; what verbs and adjectives choose by."""
    singular: str
    plural: str = ""
    """Empty where there is none, or pocket would have to cut it up."""
    gender: Gender = ""
    entity: Entity = ""
    mass: bool = False
    """Takes no "a": "bread", "water"."""
    title: str = ""
    """"Mr", "Captain": a part of the name, before it."""
    tail: tuple[str, ...] = ()
    """The rest of a name of several words: "of England"."""
    objective: str = ""
    """A pronoun's other case."""


def _nouns(kind: str, entries: str, *, entity: Entity = "", mass: bool = False) -> tuple[Noun, ...]:
    """`boy/boys:m` is a noun with its plural and gender, both of which can be left out."""
    found = []
    for entry in entries.split():
        forms, _, gender = entry.partition(":")
        singular, _, plural = forms.partition("/")
        found.append(Noun(kind, singular, plural, _GENDERS[gender], entity, mass))
    return tuple(found)


def _titled(entries: str) -> tuple[Noun, ...]:
    """`Mr_Smith:m`."""
    found = []
    for entry in entries.split():
        name, _, gender = entry.partition(":")
        title, surname = name.split("_")
        found.append(Noun("name", surname, "", _GENDERS[gender], "PER", title=title))
    return tuple(found)


PERSONS = _nouns("person", """
    man/men:m woman/women:f boy/boys:m girl/girls:f lady/ladies:f gentleman/gentlemen:m doctor lawyer
    soldier/soldiers teacher sailor/sailors farmer priest/priests nurse captain officer/officers poet writer artist
    stranger/strangers student/students guide servant/servants judge guest/guests visitor/visitors professor
    merchant clerk driver hunter engineer worker/workers king:m queen:f prince:m princess:f child/children
""")  # fmt: skip
KIN = _nouns("kin", """
    mother:f father:m sister/sisters:f brother/brothers:m daughter/daughters:f son/sons:m wife:f husband:m uncle:m
    aunt:f cousin friend/friends
""")  # fmt: skip
NAMES = _nouns("name", """
    Anna:f Mary:f Jane:f Emily:f Alice:f Margaret:f Lucy:f Elizabeth:f Anne:f Helen:f Emma:f Kate:f Susan:f Laura:f
    Clara:f Polly:f John:m Peter:m Paul:m George:m Henry:m James:m Charles:m William:m Robert:m Richard:m Jack:m
    Tom:m Martin:m Arthur:m Stephen:m Nicholas:m David:m Thomas:m Edward:m Andrew:m Philip:m Harry:m
""", entity="PER")  # fmt: skip
TITLED = _titled("Mr_Smith:m Mrs_Smith:f Mr_Jones:m Mrs_Jones:f Mr_Brown:m Mrs_Brown:f Captain_Smith Doctor_Martin")
LANDS = _nouns("land", """
    Paris London Rome England France Egypt Russia America Italy Germany India China Africa Moscow
""", entity="LOC")  # fmt: skip
ORGANISATIONS = tuple(
    Noun("organisation", name, "", "", "ORG", tail=tuple(tail.split()))
    for name, tail in (
        ("Bank", "of England"), ("Church", "of England"), ("University", "of London"), ("University", "of Paris"),
        ("Church", "of Rome"), ("Bank", "of France"), ("College", "of London"),
    )
)  # fmt: skip
ANIMALS = _nouns("animal", "dog/dogs cat horse/horses cow pig wolf lion bear fox bird/birds sheep")
BEASTS = _nouns("wild", "wolf lion bear fox")
PETS = _nouns("pet", "dog/dogs cat")
STOCK = _nouns("stock", "dog/dogs cat horse/horses cow pig sheep")
FOODS = _nouns("food", "apple egg/eggs fish meal") + _nouns("food", "bread meat fruit", mass=True)
DRINKS = _nouns("drink", "tea coffee wine milk water", mass=True)
TEXTS = _nouns("text", "book/books letter/letters newspaper story/stories report/reports note/notes novel "
               "message/messages article/articles")  # fmt: skip
SONGS = _nouns("song", "song/songs")
CLOTHES = _nouns("clothes", "hat coat dress shirt ring watch gown")
OPENABLE = _nouns("openable", "door/doors window/windows box/boxes gate/gates bottle trunk")
LOCKABLE = _nouns("lockable", "door/doors box/boxes gate/gates trunk")
BUILDINGS = _nouns("building", "house/houses church tower hotel castle palace cottage cabin school/schools hospital")
BUILT = _nouns("built", "bridge wall/walls boat/boats ship/ships")
THINGS = _nouns("thing", """
    key/keys lamp picture/pictures cup knife mirror clock candle rope sword gun ball basket stone/stones
    flower/flowers coin pen plate stick card map bag
""")  # fmt: skip
PLACES = _nouns("place", """
    garden kitchen library park market village school/schools church station hospital hotel street/streets forest farm
    hill/hills beach island/islands field/fields town/towns city/cities valley office theatre university prison camp
    bedroom hall bridge river sea lake road/roads
""")  # fmt: skip
HOMES = _nouns("home", "village town city castle cottage cabin forest valley")
ABSTRACT = _nouns("abstract", "love death war music freedom", mass=True)

UNIQUE = frozenset({"king", "queen"})
"""Nouns that take no "a": a country has one."""
WHERE = dict.fromkeys(("market", "station", "hotel", "theatre", "university"), "at") | {
    "hill": "on", "beach": "on", "island": "on", "farm": "on", "bridge": "on", "road": "on",
    "river": "near", "sea": "near", "lake": "near",
}  # fmt: skip
"""How a place takes what happens there; "in" unless it is here."""
ENCLOSED = ("garden", "kitchen", "library", "church", "hotel", "office", "bedroom", "hall")
CROSSED = {"through": "garden park village forest city town market", "across": "field bridge park",
           "along": "street river beach road"}  # fmt: skip
"""Where one can go, by the preposition."""

SURFACES = _nouns("surface", "table chair bed desk floor plate")
FURNITURE = _nouns("furniture", "table/tables chair/chairs bed desk trunk")
CONTAINERS = _nouns("container", "box basket bag bottle trunk")

PRONOUNS = {
    ("feminine", False): Noun("pronoun", "she", "", "feminine", objective="her"),
    ("masculine", False): Noun("pronoun", "he", "", "masculine", objective="him"),
    ("", True): Noun("pronoun", "they", "they", "", objective="them"),
}
POSSESSIVES = {("feminine", False): "her", ("masculine", False): "his", ("", True): "their"}
SPOUSES: dict[str, Gender] = {"wife": "masculine", "husband": "feminine"}
"""Whose these can be."""
POSSESSIVE_GENDER: dict[str, Gender] = {"her": "feminine", "his": "masculine"}

NOUNS: dict[str, tuple[Noun, ...]] = {
    nouns[0].kind: nouns
    for nouns in (
        PERSONS, KIN, NAMES + TITLED, LANDS, ORGANISATIONS, ANIMALS, BEASTS, PETS, STOCK, FOODS, DRINKS, TEXTS, SONGS,
        CLOTHES, OPENABLE, LOCKABLE, BUILDINGS, BUILT, THINGS, PLACES, HOMES, ABSTRACT, SURFACES, FURNITURE,
        CONTAINERS,
    )
}  # fmt: skip
"""All nouns but the pronouns, by kind."""

_ADJECTIVES = {
    "person": "young old tall kind clever tired rich poor famous quiet brave honest proud wise foolish busy lonely",
    "kin": "young old kind clever rich poor tired",
    "animal": "small big hungry old brown black white wild young",
    "wild": "big hungry old wild young",
    "food": "fresh good warm cold",
    "drink": "hot cold good warm",
    "text": "long short old famous strange interesting new",
    "song": "sad happy old famous beautiful",
    "clothes": "new old white black red green blue beautiful",
    "openable": "old heavy small large green wooden",
    "building": "old new large small white beautiful",
    "built": "old new long large wooden",
    "thing": "old new small heavy beautiful broken",
    "place": "old small quiet large dark beautiful",
    "stock": "small big hungry old brown black white young",
    "lockable": "old heavy small large green wooden",
    "home": "old small quiet large beautiful",
    "pet": "small big hungry old brown black young",
    "furniture": "old heavy small large wooden",
    "surface": "old large small wooden",
    "container": "old small large empty wooden",
}
ADJECTIVES = {kind: tuple(words.split()) for kind, words in _ADJECTIVES.items()}
ODD = {
    adjective: frozenset(nouns.split())
    for adjective, nouns in {
        "beautiful": "cup",
        "black": "lion fox ring bird",
        "blue": "watch ring",
        "broken": "stone flower coin card map rope bag basket ball",
        "brown": "sheep wolf lion fox",
        "cold": "bread apple fruit egg",
        "dark": "station market university sea beach field island",
        "famous": "note child message boy girl servant clerk guest driver stranger visitor worker man woman",
        "green": "ring watch bottle trunk",
        "heavy": "flower card map pen bottle window candle coin picture",
        "hungry": "sheep",
        "interesting": "note",
        "new": "stone flower",
        "old": "child boy girl flower note article message sea lake field hill island student street",
        "poor": "king queen prince princess",
        "quiet": "market",
        "red": "watch ring",
        "rich": "child king queen prince princess boy girl servant",
        "small": "city sea castle palace university",
        "tall": "child",
        "warm": "apple fruit egg",
        "white": "ring watch wolf lion fox",
        "wild": "dog cow sheep pig cat",
        "wooden": "bottle bag floor plate window",
        "young": "child boy girl student",
    }.items()
}
"""Nouns that an adjective of their kind doesn't suit."""
STATES = {
    "person": "tired busy happy angry asleep afraid ready sad",
    "animal": "hungry asleep tired safe",
    "text": "lost famous interesting ready useful",
    "openable": "open closed broken",
    "building": "empty old beautiful safe",
    "thing": "lost broken old beautiful",
    "clothes": "new lost dirty clean",
    "furniture": "old broken dirty clean",
    "place": "quiet empty beautiful dark",
}
"""What can be said of a kind in a sentence of its own."""
STATE_FRAMES = {
    "tired": ("Biological_urge", "Experiencer"), "hungry": ("Biological_urge", "Experiencer"),
    "busy": ("Being_active", "Agent"), "happy": ("Emotion_directed", "Experiencer"),
    "angry": ("Emotion_directed", "Experiencer"), "sad": ("Emotion_directed", "Experiencer"),
    "asleep": ("Sleep", "Sleeper"), "afraid": ("Fear", "Experiencer"),
    "ready": ("Activity_ready_state", "Protagonist"), "safe": ("Being_at_risk", "Asset"),
    "lost": ("Locating", "Sought_entity"), "famous": ("Fame", "Entity"),
    "interesting": ("Stimulus_focus", "Stimulus"), "useful": ("Usefulness", "Entity"),
    "open": ("Openness", "Useful_location"), "closed": ("Openness", "Useful_location"),
    "broken": ("Being_operational", "Object"), "empty": ("Fullness", "Container"), "old": ("Age", "Entity"),
    "new": ("Age", "Entity"), "beautiful": ("Aesthetics", "Entity"), "dirty": ("Being_clean", "Entity"),
    "clean": ("Being_clean", "Entity"), "quiet": ("Sound_level", "Entity"), "dark": ("Location_of_light", "Ground"),
}  # fmt: skip
"""The frame that a state evokes, and its element that the subject fills."""


def named(words: str, *kinds: str) -> tuple[Noun, ...]:
    """The nouns of these kinds that are called so."""
    wanted = words.split()
    return tuple(noun for kind in kinds for noun in NOUNS[kind] if noun.singular in wanted)


_CARRIED = named("hat coat ring", "clothes") + named("stick bag basket gun sword", "thing")
_HOMES = named("village town city island", "place") + LANDS
_NEAR = named("river sea lake station market church bridge", "place")
MODIFIERS: dict[str, tuple[tuple[str, tuple[Noun, ...]], ...]] = {
    "person": (("with", _CARRIED), ("from", _HOMES)),
    "animal": (("from", named("farm village forest", "place")),),
    "text": (("about", LANDS + ABSTRACT + named("sea island", "place")),),
    "letter": (("from", NAMES + PERSONS),), "note": (("from", NAMES + PERSONS),),
    "message": (("from", NAMES + PERSONS),),
    "song": (("about", ABSTRACT + named("sea", "place")),),
    "building": (("near", _NEAR), ("on", named("hill island", "place"))),
    "key": (("to", BUILDINGS + named("door gate box trunk", "openable")),),
    "picture": (("of", PERSONS + LANDS + named("sea village river", "place")),),
    "door": (("of", BUILDINGS),), "window": (("of", BUILDINGS),), "gate": (("of", BUILDINGS),),
    "cup": (("of", DRINKS),), "bottle": (("of", named("wine milk water", "drink")),),
    "map": (("of", LANDS + named("island city forest", "place")),),
    "table": (("in", named("kitchen garden hall library office", "place")),),
    "lamp": (("on", named("table desk", "surface")),),
    "bridge": (("near", named("village station", "place")),),
}  # fmt: skip
"""What can follow a noun, or a kind, with which preposition."""
