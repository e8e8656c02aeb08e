"""A verb with its auxiliaries and its negation, in agreement with its subject."""

from __future__ import annotations

from bertscope.data.language.senses import Verb
from bertscope.data.language.sentence import Word
from bertscope.data.language.syntax import Negation, Tense


def verb_group(
    verb: Verb, tense: Tense, negation: Negation, passive: bool, plural: bool, *, inverted: bool = False
) -> list[Word]:
    """The words of the group; the verb, which the others depend on, is the last. A question needs an auxiliary."""
    if passive:
        before, form = _be(tense, plural, "aux:pass"), verb.participle
    else:
        before, form = _active(verb, tense, inverted or negation == "not", plural)
    return _group(before, negation, Word(form, "VERB"))


def copula(tense: Tense, negation: Negation, plural: bool, predicate: Word) -> list[Word]:
    """The forms of "be" that stand before a predicate, and the negation."""
    return _group(_be(tense, plural, "cop"), negation, predicate)[:-1]


def _group(before: list[Word], negation: Negation, predicate: Word) -> list[Word]:
    if negation:
        particle = Word(negation, "PART" if negation == "not" else "ADV", "advmod")
        before = [*before[:1], particle, *before[1:]]
    return [*(word.under(predicate) for word in before), predicate]


def _be(tense: Tense, plural: bool, relation: str) -> list[Word]:
    if tense == "future":
        return [Word("will", "AUX", "aux"), Word("be", "AUX", relation)]
    if tense == "perfect":
        return [Word("have" if plural else "has", "AUX", "aux"), Word("been", "AUX", relation)]
    forms = ("is", "are") if tense == "present" else ("was", "were")
    return [Word(forms[plural], "AUX", relation)]


def _active(verb: Verb, tense: Tense, supported: bool, plural: bool) -> tuple[list[Word], str]:
    """The auxiliaries and the verb's form; `supported` where it takes "do", as with "not"."""
    if tense == "future":
        return [Word("will", "AUX", "aux")], verb.base
    if tense == "perfect":
        return [Word("have" if plural else "has", "AUX", "aux")], verb.participle
    if tense == "progressive":
        return [Word("were" if plural else "was", "AUX", "aux")], verb.gerund
    if supported:
        form = "did" if tense == "past" else "do" if plural else "does"
        return [Word(form, "AUX", "aux")], verb.base
    return [], verb.past if tense == "past" else verb.base if plural else verb.third
