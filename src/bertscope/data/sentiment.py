"""The demo language: short reviews whose label follows from how the words are put together.

A clause says that something was good or bad; negation turns that round; two clauses agree, or the one that the
contrast makes the main one decides. Each construction has as many positive as negative sentences, negation meets
praise as often as blame, and in a contrast the clauses disagree: word order decides, and a bag of words stays near
chance. It isn't quite at chance: in plain sentences, and where a plain clause stands beside a negated one, words
lean towards their label, which is what lets the pocket model find the task at all: without that lean it stayed at
chance. Some adjectives occur in the report split alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

CONSTRUCTIONS = ("plain", "negation", "contrast")

# Repeated entries are drawn more often.
_INTENSIFIERS = ("", "", "", "really ", "truly ", "so ")
_NEGATIONS = ("not ", "not ", "not really ", "never ", "never really ", "far from ", "hardly ", "by no means ")
_FRAMES = ("we thought ", "i thought ", "we felt that ", "i must say that ")


@dataclass(frozen=True)
class _Aspect:
    """What a clause can be about; both lists of adjectives are equally long, so that each polarity is as varied."""

    noun: str
    good: tuple[str, ...]
    bad: tuple[str, ...]
    verb: str = "was"


@dataclass(frozen=True)
class _Scene:
    """Aspects that one review can set against each other, and how such reviews begin."""

    openers: tuple[str, ...]
    aspects: tuple[_Aspect, ...]


def _aspects(nouns: str, good: str, bad: str, verb: str = "was") -> tuple[_Aspect, ...]:
    return tuple(_Aspect(noun, tuple(good.split()), tuple(bad.split()), verb) for noun in nouns.split())


_MEALS = _aspects("food breakfast", "good great fresh delicious lovely nice",
                  "bad awful terrible poor dreadful cold")  # fmt: skip
_DRINKS = _aspects("coffee tea wine", "good great lovely nice", "bad awful terrible dreadful")
_SERVICE = _aspects("service", "friendly polite warm good great", "rude slow careless bad terrible")
_OWNER = _aspects("owner", "friendly polite kind charming", "rude careless unpleasant dreadful")
_STAFF = _aspects("staff", "friendly polite kind warm great", "rude slow careless cold terrible", "were")
_ROOMS = _aspects("room kitchen pool", "clean pleasant lovely nice warm", "dirty unpleasant awful horrible cold")
_OUTSIDE = _aspects("garden view", "beautiful lovely pleasant charming", "ugly dull dreadful unpleasant")
_STORY = _aspects("story ending script dialogue", "clever brilliant charming good interesting great",
                  "silly weak dull bad dreadful terrible")  # fmt: skip
_STAGE = _aspects("music acting performance", "good great brilliant lovely moving", "bad weak terrible dull dreadful")
_SONGS = _aspects("songs", "good great brilliant charming", "bad weak dull dreadful", "were")
_CHARACTERS = _aspects("characters", "good interesting charming clever", "bad dull silly weak", "were")

_VISIT = ("this time, ", "last night, ", "in my opinion, ", "on our first visit, ", "on the whole, ")
_FILM = ("this time, ", "to me, ", "in my opinion, ", "in the end, ", "on the whole, ")
_SCENES = (
    _Scene(_VISIT, _MEALS + _DRINKS + _SERVICE + _OWNER + _STAFF),
    _Scene(_VISIT, _MEALS + _SERVICE + _OWNER + _STAFF + _ROOMS + _OUTSIDE),
    _Scene(_FILM, _STORY + _STAGE + _SONGS + _CHARACTERS),
)

# Adjectives that only the report split may use: whoever reads them right knew them before the training.
NEW_WORDS = frozenset(
    ["lovely", "polite", "charming", "brilliant", "dreadful", "careless", "horrible", "ugly", "weak"]
)


def _without_new_words(aspect: _Aspect) -> _Aspect:
    good, bad = (tuple(word for word in words if word not in NEW_WORDS) for words in (aspect.good, aspect.bad))
    return replace(aspect, good=good, bad=bad)


_SCENES_FOR_TRAINING = tuple(
    replace(scene, aspects=tuple(map(_without_new_words, scene.aspects))) for scene in _SCENES
)


def sentences(rows: int, random: Random, seen: set[str], *, new_words: bool) -> Iterator[tuple[str, int]]:
    """`rows` sentences that aren't in `seen`, with their labels (0 negative, 1 positive), added to it: as many of
    each label in every construction, the constructions in turn. `rows` is even."""
    scenes = _SCENES if new_words else _SCENES_FOR_TRAINING
    for pair in range(rows // 2):
        construction = CONSTRUCTIONS[pair % len(CONSTRUCTIONS)]
        for label in (0, 1):
            sentence = _sentence(random.choice(scenes), construction, bool(label), random)
            while sentence in seen:
                sentence = _sentence(random.choice(scenes), construction, bool(label), random)
            seen.add(sentence)
            yield sentence, label


def _sentence(scene: _Scene, construction: str, positive: bool, random: Random) -> str:
    if construction == "contrast":
        body, openers = _contrast(scene, positive, random), scene.openers
    else:
        body = _agreeing(scene, positive, construction == "negation", random)
        openers = scene.openers + _FRAMES
    return f"{random.choice(openers) if random.random() < 0.6 else ''}{body}."


def _agreeing(scene: _Scene, positive: bool, negated: bool, random: Random) -> str:
    """One clause, or two that agree, of which at most one is negated."""
    one, other = random.sample(scene.aspects, 2)
    clauses = [_clause(one, positive, negated, random)]
    if random.random() < 0.5:
        clauses.append(_clause(other, positive, False, random))
        random.shuffle(clauses)
    return " and ".join(clauses)


def _contrast(scene: _Scene, positive: bool, random: Random) -> str:
    """Two clauses of opposite polarity; the main one has the sentence's."""
    one, other = random.sample(scene.aspects, 2)
    form = random.choice(("but", "although", "even though", "despite"))
    main_first = random.random() < 0.5
    if form == "despite":
        # A noun phrase has no room for a negation. One in the main clause only would give both adjectives the
        # polarity that the label hasn't, and so give the label away.
        main = _clause(one, positive, False, random)
        aside = f"despite the {random.choice(other.bad if positive else other.good)} {other.noun}"
        return f"{main} {aside}" if main_first else f"{aside}, {main}"
    main = _clause(one, positive, random.random() < 0.4, random)
    aside = _clause(other, not positive, random.random() < 0.4, random)
    if form == "but":
        return f"{aside}, but {main}"
    return f"{main}, {form} {aside}" if main_first else f"{form} {aside}, {main}"


def _clause(aspect: _Aspect, positive: bool, negated: bool, random: Random) -> str:
    adjective = random.choice(aspect.good if positive != negated else aspect.bad)
    degree = random.choice(_NEGATIONS if negated else _INTENSIFIERS)
    return f"the {aspect.noun} {aspect.verb} {degree}{adjective}"
