"""From what a sentence says to its words: order, agreement and annotation in one place.

Trees follow Universal Dependencies 2 for English. A frame's element is the whole phrase that fills it; in a relative
clause it is the relative pronoun, or the noun itself where there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bertscope.data.language.lexicon import POSSESSIVE_GENDER, STATE_FRAMES
from bertscope.data.language.sentence import Element, Phrase, Sentence, Word, finish
from bertscope.data.language.syntax import (
    COORDINATORS,
    Adjunct,
    Clause,
    Joined,
    NounPhrase,
    Relative,
    State,
)
from bertscope.data.language.verb_group import copula, verb_group

_CONSONANT_FIRST = ("uni", "use", "eur", "one")
_POSSESSIVES = frozenset({"his", "her", "their", "my", "our"})
_DETERMINERS = {"two": ("NUM", "nummod"), "three": ("NUM", "nummod"), "many": ("ADJ", "amod")}
_TIME_WORDS = {"in": ("ADP", "case"), "on": ("ADP", "case"), "the": ("DET", "det"), "this": ("DET", "det"),
               "every": ("DET", "det"), "last": ("ADJ", "amod"), "next": ("ADJ", "amod")}  # fmt: skip
_BEFORE_VERB = frozenset({"once", "often", "always", "finally", "suddenly"})


def realise(content: Joined | Clause | State) -> Sentence:
    """The sentence that says it."""
    builder = Builder()
    phrase = builder.sentence(content if isinstance(content, Joined) else Joined(content))
    return finish(phrase, builder.elements)


def ask(clause: Clause, role: str) -> Sentence:
    """The question whose answer fills that element, or says where (`Place`) or when (`Time`)."""
    builder = Builder()
    if role in {"Place", "Time"}:
        word = Word("where" if role == "Place" else "when", "ADV")
        known = replace(clause, place=None) if role == "Place" else replace(clause, time=())
    else:
        word, known = (
            Word("who" if clause.fillers[role].noun.kind in {"person", "name", "kin"} else "what", "PRON"),
            clause,
        )
    event = _Event(builder, known, (role, word, word), inverted=role != clause.sense.subject.role)
    if word.pos == "ADV":
        word.under(event.verb, "advmod")
    return finish(event.phrase(), builder.elements, mark="?")


def article(after: str) -> str:
    """ "an" before a vowel as it is spoken, else "a"."""
    vowel = after[0] in "aeiou" and not after.startswith(_CONSONANT_FIRST)
    return "an" if vowel or after.startswith(("honest", "hour")) else "a"


class Builder:
    """Builds phrases, and collects the frames' elements on the way."""

    def __init__(self) -> None:
        self.elements: list[Element] = []
        self.subject: list[Word] = []

    def sentence(self, joined: Joined) -> Phrase:
        main = self.clause(joined.first)
        if joined.second is None:
            return main
        second = self.clause(joined.second, subject_left_out=joined.shared_subject)
        if joined.link in COORDINATORS:
            comma = [] if joined.shared_subject else [Word(",", "PUNCT").under(second.root, "punct")]
            coordinator = Word(joined.link, "CCONJ").under(second.root, "cc")
            return Phrase(main.root, [*main.words, *comma, coordinator, *second.under(main.root, "conj")])
        marker = Word(joined.link, "SCONJ").under(second.root, "mark")
        aside = [marker, *second.under(main.root, "advcl")]
        if joined.second_first:
            return Phrase(main.root, [*aside, Word(",", "PUNCT").under(main.root, "punct"), *main.words])
        return Phrase(main.root, [*main.words, *aside])

    def clause(self, clause: Clause | State, *, subject_left_out: bool = False) -> Phrase:
        """A clause of its own; a subject that is left out is that of the clause before."""
        if isinstance(clause, State):
            return self._state(clause)
        return _Event(self, clause, subject_left_out=subject_left_out).phrase()

    def noun_phrase(self, phrase: NounPhrase, *, objective: bool = False) -> Phrase:
        noun = phrase.noun
        form = noun.plural if phrase.plural else noun.singular
        if noun.kind == "pronoun":
            word = Word(noun.objective if objective else form, "PRON", "", "", noun.gender)
            return Phrase(word, [word])
        if noun.title:
            word = Word(noun.title, "PROPN", "", noun.entity, noun.gender)
            words = [word, Word(form, "PROPN", "", noun.entity, noun.gender).under(word, "flat")]
        else:
            word = Word(form, "PROPN" if noun.entity else "NOUN", "", noun.entity, noun.gender)
            words = [Word(each, "ADJ").under(word, "amod") for each in phrase.adjectives]
            words.append(word)
            if phrase.determiner:
                words = [*self._determiner(phrase.determiner, word, words[0].form), *words]
        if noun.tail:
            last = Word(noun.tail[1], "PROPN", "", noun.entity).under(word, "nmod")
            words += [Word(noun.tail[0], "ADP", "", noun.entity).under(last, "case"), last]
        if phrase.modifier is not None:
            words += self.adjunct(phrase.modifier).under(word, "nmod")
        if phrase.relative is not None:
            words += self._relative(phrase.relative, word)
        if phrase.conjunct is not None:
            other = self.noun_phrase(phrase.conjunct, objective=objective)
            words += [Word("and", "CCONJ").under(other.root, "cc"), *other.under(word, "conj")]
        return Phrase(word, words)

    def adjunct(self, adjunct: Adjunct) -> Phrase:
        phrase = self.noun_phrase(adjunct.phrase, objective=True)
        return Phrase(phrase.root, [Word(adjunct.preposition, "ADP").under(phrase.root, "case"), *phrase.words])

    def add(self, name: str, words: Sequence[Word], target: Word, frame: str, *, core: bool = True) -> None:
        """Note an element of a frame."""
        self.elements.append(Element(name, words, target, frame, core))

    @staticmethod
    def _determiner(form: str, noun: Word, after: str) -> list[Word]:
        if form in _POSSESSIVES:
            return [Word(form, "PRON", "nmod:poss", "", POSSESSIVE_GENDER.get(form, "")).under(noun)]
        if form == "not every":
            every = Word("every", "DET").under(noun, "det")
            return [Word("not", "PART").under(every, "advmod"), every]
        pos, relation = _DETERMINERS.get(form, ("DET", "det"))
        return [Word(article(after) if form == "a" else form, pos, relation, noun.entity).under(noun)]

    def _relative(self, relative: Relative, noun: Word) -> list[Word]:
        pronoun = Word(relative.pronoun, "PRON") if relative.pronoun else None
        return _Event(self, relative.clause, (relative.gap, pronoun, noun)).phrase().under(noun, "acl:relcl")

    def _state(self, state: State) -> Phrase:
        subject = self.noun_phrase(state.subject)
        if state.place is None:
            root = Word(state.adjective, "ADJ")
            predicate = [root]
        else:
            place = self.adjunct(state.place)
            root, predicate = place.root, place.words
        group = copula(state.tense, state.negation, state.subject.is_plural, root)
        if state.place is None:
            frame, element = STATE_FRAMES[state.adjective]
            self.add(element, subject.words, root, frame)
        else:
            be = next(word for word in group if word.relation == "cop")
            self.add("Theme", subject.words, be, "Being_located")
            self.add("Location", predicate, be, "Being_located")
        return Phrase(root, [*subject.under(root, "nsubj"), *group, *predicate])


class _Event:
    """One clause about an event while it is being built.

    gap       the element that a relative clause's noun fills, or that a question asks for; its pronoun, if any; the
              noun
    inverted  the subject follows the auxiliary, as it does in a question for anything else
    """

    def __init__(
        self,
        builder: Builder,
        clause: Clause,
        gap: tuple[str, Word | None, Word] | None = None,
        *,
        subject_left_out: bool = False,
        inverted: bool = False,
    ) -> None:
        self.builder, self.clause, self.gap = builder, clause, gap
        self.subject_left_out, self.inverted = subject_left_out, inverted
        sense = clause.sense
        subject = (sense.oblique if clause.shifted else sense.object) if clause.passive else sense.subject
        assert subject is not None
        self.subject = subject
        plural = clause.fillers[subject.role].is_plural
        self.group = verb_group(sense.verb, clause.tense, clause.negation, clause.passive, plural, inverted=inverted)
        self.verb = self.group[-1]

    def phrase(self) -> Phrase:
        clause, verb = self.clause, self.verb
        words = [*self._beginning(), *self._complements()]
        if clause.adverb and not self._adverb_first:
            words.append(self._manner())
        if clause.place is not None:
            place = self.builder.adjunct(clause.place).under(verb, "obl")
            self._note("Place", place)
            words += place
        if clause.content is not None:
            content = self.builder.clause(clause.content)
            message = [Word("that", "SCONJ").under(content.root, "mark"), *content.under(verb, "ccomp")]
            self._note(clause.sense.content, message, core=True)
            words += message
        if clause.time:
            time = self._time()
            words = [*time, Word(",", "PUNCT").under(verb, "punct"), *words] if clause.time_first else [*words, *time]
        return Phrase(verb, words)

    @property
    def _adverb_first(self) -> bool:
        """Whether the adverb stands before the verb."""
        clause = self.clause
        return bool(clause.adverb) and (clause.adverb in _BEFORE_VERB or clause.sense.object is not None)

    def _beginning(self) -> list[Word]:
        """All up to the verb: what a relative clause or a question begins with, the subject, the auxiliaries."""
        front: list[Word] = []
        if self.gap is not None and self.gap[0] != self.subject.role and self.gap[1] is not None:
            front = [self.gap[1]]
        if self.subject_left_out:
            subject: list[Word] = []
            self._note(self.subject.role, self.builder.subject, core=True)
        else:
            subject = self._filled(self.subject.role, "nsubj:pass" if self.clause.passive else "nsubj", first=True)
            if self.gap is None:
                self.builder.subject = subject
        *group, verb = self.group
        if self._adverb_first:
            group = [*group, self._manner()]
        if self.inverted:
            return [*front, group[0], *subject, *group[1:], verb]
        return [*front, *subject, *group, verb]

    def _complements(self) -> list[Word]:
        """What follows the verb: object, recipient or place, and a passive's agent."""
        clause, sense = self.clause, self.clause.sense
        words: list[Word] = []
        direct, oblique = sense.object, sense.oblique
        if oblique is not None and clause.shifted and not clause.passive:
            words += self._filled(oblique.role, "iobj")
        if direct is not None and direct is not self.subject:
            words += self._filled(direct.role, "obj")
        if oblique is not None and not clause.shifted:
            words += self._filled(oblique.role, "obl", oblique.preposition)
        if clause.passive:
            words += self._filled(sense.subject.role, "obl:agent", "by")
        return words

    def _filled(self, role: str, relation: str, preposition: str = "", *, first: bool = False) -> list[Word]:
        """The words of an element where it stands: none for one that is left out, or that stands in front."""
        if self.gap is not None and self.gap[0] == role:
            _, pronoun, noun = self.gap
            if pronoun is not None:
                pronoun.under(self.verb, relation)
            self._note(role, [pronoun or noun], core=True)
            if preposition:
                return [Word(preposition, "ADP").under(pronoun or noun, "case")]
            return [pronoun] if first and pronoun is not None else []
        filler = self.clause.fillers.get(role)
        if filler is None:
            return []
        phrase = self.builder.noun_phrase(filler, objective=not first)
        words = phrase.under(self.verb, relation)
        if preposition:
            words = [Word(preposition, "ADP").under(phrase.root, "case"), *words]
        self._note(role, words, core=True)
        return words

    def _manner(self) -> Word:
        adverb = Word(self.clause.adverb, "ADV").under(self.verb, "advmod")
        self._note("Manner" if adverb.form.endswith("ly") and adverb.form != "finally" else "Time", [adverb])
        return adverb

    def _time(self) -> list[Word]:
        *before, last = self.clause.time
        adverb = last in {"soon", "once"}
        root = Word(last, "ADV" if adverb else "PROPN" if last == "Sunday" else "NOUN")
        words = [*(Word(each, *_TIME_WORDS[each]).under(root) for each in before), root]
        bare = not any(word.pos == "ADP" for word in words)
        root.under(self.verb, "advmod" if adverb else "obl:tmod" if bare else "obl")
        self._note("Time", words)
        return words

    def _note(self, role: str, words: Sequence[Word], *, core: bool = False) -> None:
        self.builder.add(role, words, self.verb, self.clause.sense.frame, core=core)
