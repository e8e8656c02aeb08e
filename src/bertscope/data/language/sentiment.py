"""`demo/sentiment`: short reviews whose label follows from how the words are put together.

A clause says that something was good or bad; negation turns that round; two clauses agree, or the one that the
contrast makes the main one decides. Each construction has as many positive as negative sentences, negation meets
praise as often as blame, and in a contrast the clauses disagree: word order decides, and a bag of words stays near
chance. It isn't quite at chance: in plain sentences, and where a plain clause stands beside a negated one, words
lean towards their label, which is what let the first pocket find the task at all: without that lean it stayed at
chance. Some adjectives occur in the test set alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from bertscope.data.language.sentence import Element, Phrase, Row, Sentence, Word, finish

CONSTRUCTIONS = ("plain", "negation", "contrast")

# Repeated entries are drawn more often.
_INTENSIFIERS = ("", "", "", "really", "truly", "so")
_NEGATIONS = ("not", "not", "not really", "never", "never really", "far from", "hardly", "by no means")
_OPINIONS = ("we thought", "i thought", "we felt that", "i must say that")
_TAGS = {
    "not": ("PART", "advmod"), "from": ("ADP", "case"), "by": ("ADP", "case"), "in": ("ADP", "case"),
    "on": ("ADP", "case"), "to": ("ADP", "case"), "no": ("DET", "det"), "the": ("DET", "det"), "this": ("DET", "det"),
    "my": ("PRON", "nmod:poss"), "our": ("PRON", "nmod:poss"), "last": ("ADJ", "amod"), "first": ("ADJ", "amod"),
}  # fmt: skip


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

_VISIT = ("this time", "last night", "in my opinion", "on our first visit", "on the whole")
_TIMELESS = ("in my opinion", "on the whole")
"""Openers that go with always and never too."""
_FILM = ("this time", "to me", "in my opinion", "in the end", "on the whole")
_SCENES = (
    _Scene(_VISIT, _MEALS + _DRINKS + _SERVICE + _OWNER + _STAFF),
    _Scene(_VISIT, _MEALS + _SERVICE + _OWNER + _STAFF + _ROOMS + _OUTSIDE),
    _Scene(_FILM, _STORY + _STAGE + _SONGS + _CHARACTERS),
)

# Adjectives that only the test set may use: whoever reads them right knew them before the training.
NEW_WORDS = frozenset(
    ["lovely", "polite", "charming", "brilliant", "dreadful", "careless", "horrible", "ugly", "weak"]
)


def _without_new_words(aspect: _Aspect) -> _Aspect:
    good, bad = (tuple(word for word in words if word not in NEW_WORDS) for words in (aspect.good, aspect.bad))
    return replace(aspect, good=good, bad=bad)


_SCENES_FOR_TRAINING = tuple(
    replace(scene, aspects=tuple(map(_without_new_words, scene.aspects))) for scene in _SCENES
)


def rows(split: str, n: int, random: Random, seen: set[str]) -> list[Row]:
    """`n` sentences that aren't in `seen`, added to it: as many of each label in every construction, the
    constructions in turn. `n` is even."""
    scenes = _SCENES if split == "test" else _SCENES_FOR_TRAINING
    found = []
    for pair in range(n // 2):
        construction = CONSTRUCTIONS[pair % len(CONSTRUCTIONS)]
        for label in (0, 1):
            sentence = _sentence(random.choice(scenes), construction, bool(label), random)
            while sentence.text in seen:
                sentence = _sentence(random.choice(scenes), construction, bool(label), random)
            seen.add(sentence.text)
            found.append(Row(sentence, label=label))
    return found


def one_clause(
    split: str, positive: bool, negated: bool, random: Random, degree: str | None = None
) -> tuple[Sentence, int, tuple[str, ...]]:
    """A review of a single clause, where its adjective stands, and the adjectives that would turn it round. `degree`
    is the word before the adjective, if it isn't to be drawn."""
    aspect = random.choice(random.choice(_SCENES if split == "test" else _SCENES_FOR_TRAINING).aspects)
    review = _Review(random)
    clause = body = review.clause(aspect, positive, negated, degree)
    if random.random() < 0.6:
        body = review.opened(random.choice(_TIMELESS + _OPINIONS), clause)
    sentence = finish(body, review.elements, capital=False)
    return sentence, clause.root.at, aspect.bad if clause.root.form in aspect.good else aspect.good


def _sentence(scene: _Scene, construction: str, positive: bool, random: Random) -> Sentence:
    review = _Review(random)
    if construction == "contrast":
        body, openers = review.contrast(scene, positive), scene.openers
    else:
        body = review.agreeing(scene, positive, construction == "negation")
        openers = scene.openers + _OPINIONS
    if random.random() < 0.6:
        body = review.opened(random.choice(openers), body)
    return finish(body, review.elements, capital=False)


class _Review:
    """Builds one sentence, and collects the frames' elements on the way."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.elements: list[Element] = []

    def agreeing(self, scene: _Scene, positive: bool, negated: bool) -> Phrase:
        """One clause, or two that agree, of which at most one is negated."""
        random = self.random
        one, other = random.sample(scene.aspects, 2)
        clauses = [self.clause(one, positive, negated)]
        if random.random() < 0.5:
            clauses.append(self.clause(other, positive, False))
            random.shuffle(clauses)
        if len(clauses) == 1:
            return clauses[0]
        first, second = clauses
        both = Word("and", "CCONJ").under(second.root, "cc")
        return Phrase(first.root, [*first.words, both, *second.under(first.root, "conj")])

    def contrast(self, scene: _Scene, positive: bool) -> Phrase:
        """Two clauses of opposite polarity; the main one has the sentence's."""
        random = self.random
        one, other = random.sample(scene.aspects, 2)
        form = random.choice(("but", "although", "even though", "despite"))
        main_first = random.random() < 0.5
        if form == "despite":
            # A noun phrase has no room for a negation. One in the main clause only would give both adjectives the
            # polarity that the label hasn't, and so give the label away.
            main = self.clause(one, positive, False)
            aside = self._despite(other, not positive)
            words = aside.under(main.root, "obl")
            return Phrase(main.root, [*main.words, *words] if main_first else [*words, _comma(main), *main.words])
        main = self.clause(one, positive, random.random() < 0.4)
        aside = self.clause(other, not positive, random.random() < 0.4)
        if form == "but":
            joint = [_comma(main), Word("but", "CCONJ").under(main.root, "cc")]
            return Phrase(aside.root, [*aside.words, *joint, *main.under(aside.root, "conj")])
        *even, mark = form.split()
        marks = [Word(each, "ADV").under(aside.root, "advmod") for each in even]
        words = [*marks, Word(mark, "SCONJ").under(aside.root, "mark"), *aside.under(main.root, "advcl")]
        ordered = [*main.words, _comma(aside), *words] if main_first else [*words, _comma(main), *main.words]
        return Phrase(main.root, ordered)

    def opened(self, opener: str, body: Phrase) -> Phrase:
        """The body after an opener, or as what an opener says."""
        if opener in _OPINIONS:
            return self._opinion(opener.split(), body)
        *before, last = opener.split()
        root = Word(last, "PRON" if last == "me" else "NOUN")
        words = [*(Word(each, *_TAGS[each]).under(root) for each in before), root]
        root.under(body.root, "obl" if words[0].pos == "ADP" else "obl:tmod")
        return Phrase(body.root, [*words, _comma(body), *body.words])

    def _opinion(self, opener: list[str], body: Phrase) -> Phrase:
        content = body.words
        if opener[-1] == "that":
            content = [Word("that", "SCONJ").under(body.root, "mark"), *content]
        who, *modal, stem = [each for each in opener if each != "that"]
        verb = Word(stem, "VERB")
        subject = Word(who, "PRON").under(verb, "nsubj")
        frame, names = (
            ("Statement", ("Speaker", "Message")) if stem == "say" else ("Opinion", ("Cognizer", "Opinion"))
        )
        for name, words in zip(names, ([subject], content), strict=True):
            self.elements.append(Element(name, words, verb, frame))
        body.root.under(verb, "ccomp")
        return Phrase(verb, [subject, *(Word(each, "AUX").under(verb, "aux") for each in modal), verb, *content])

    def clause(self, aspect: _Aspect, positive: bool, negated: bool, degree: str | None = None) -> Phrase:
        """Something was good or bad; `degree` is what stands before the adjective, drawn unless it is given."""
        adjective = Word(self.random.choice(aspect.good if positive != negated else aspect.bad), "ADJ")
        if degree is None:
            degree = self.random.choice(_NEGATIONS if negated else _INTENSIFIERS)
        subject = self._judged(aspect, adjective)
        be = Word(aspect.verb, "AUX").under(adjective, "cop")
        words = [*subject.under(adjective, "nsubj"), be, *_degree(degree.split(), adjective), adjective]
        return Phrase(adjective, words)

    def _despite(self, aspect: _Aspect, positive: bool) -> Phrase:
        adjective = Word(self.random.choice(aspect.good if positive else aspect.bad), "ADJ")
        the, noun = self._judged(aspect, adjective).words
        adjective.under(noun, "amod")
        return Phrase(noun, [Word("despite", "ADP").under(noun, "case"), the, adjective, noun])

    def _judged(self, aspect: _Aspect, adjective: Word) -> Phrase:
        noun = Word(aspect.noun, "NOUN")
        phrase = Phrase(noun, [Word("the", "DET").under(noun, "det"), noun])
        self.elements.append(Element("Evaluee", phrase.words, adjective, "Desirability"))
        return phrase


def _comma(clause: Phrase) -> Word:
    return Word(",", "PUNCT").under(clause.root, "punct")


def _degree(words: list[str], adjective: Word) -> list[Word]:
    """How much, or not at all: each word under the adjective, but those of "by no means" under "means"."""
    if words and words[-1] == "means":
        means = Word("means", "NOUN").under(adjective, "obl")
        return [*(Word(each, *_TAGS[each]).under(means) for each in words[:-1]), means]
    return [Word(each, *_TAGS.get(each, ("ADV", "advmod"))).under(adjective) for each in words]
