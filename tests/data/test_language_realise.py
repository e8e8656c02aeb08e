"""Sentences of the demo language, annotated by hand."""

from __future__ import annotations

from bertscope.data.language.lexicon import NAMES, NOUNS, named
from bertscope.data.language.realise import ask, realise
from bertscope.data.language.senses import DATIVE, TRANSITIVE
from bertscope.data.language.syntax import Adjunct, Clause, NounPhrase, Relative, State


def table(sentence) -> list[tuple[str, str, int, str]]:
    """Heads counted from 1, as treebanks do; 0 is the root."""
    heads = [head + 1 for head in sentence.governors]
    return list(zip(sentence.words, sentence.pos, heads, sentence.relations, strict=True))


def noun(word: str):
    return next(each for nouns in NOUNS.values() for each in nouns if each.singular == word)


def sense(verb: str, senses=TRANSITIVE):
    return next(each for each in senses if each.verb.base == verb)


def test_agreement_at_a_distance_by_hand():
    house = NounPhrase(noun("house"), adjectives=("old",))
    keys = NounPhrase(noun("key"), plural=True, modifier=Adjunct("to", house))
    sentence = realise(State(keys, "lost", tense="present", negation="not"))
    assert sentence.text == "The keys to the old house are not lost."
    assert table(sentence) == [
        ("The", "DET", 2, "det"), ("keys", "NOUN", 9, "nsubj"), ("to", "ADP", 6, "case"), ("the", "DET", 6, "det"),
        ("old", "ADJ", 6, "amod"), ("house", "NOUN", 2, "nmod"), ("are", "AUX", 9, "cop"),
        ("not", "PART", 9, "advmod"), ("lost", "ADJ", 0, "root"), (".", "PUNCT", 9, "punct"),
    ]  # fmt: skip
    [link] = sentence.links
    assert (link.frame, link.name, link.source, link.target) == (
        "Locating",
        "Sought_entity",
        (0, 1, 2, 3, 4, 5),
        (8,),
    )


def test_relative_and_dative_by_hand():
    helped, gave = sense("help"), sense("give", DATIVE)
    boy = NounPhrase(noun("boy"))
    teacher = NounPhrase(noun("teacher"), determiner="a")
    clause = Clause(helped, {"Helper": teacher, "Benefited_party": boy})
    boy = NounPhrase(noun("boy"), relative=Relative(clause, "Benefited_party", "whom"))
    [anna] = [NounPhrase(name, determiner="") for name in NAMES if name.singular == "Anna"]
    [apple] = [NounPhrase(each, determiner="a", adjectives=()) for each in named("apple", "food")]
    fillers = {"Donor": boy, "Theme": apple, "Recipient": anna}
    sentence = realise(Clause(gave, fillers, shifted=True, time=("last", "night")))
    assert sentence.text == "The boy whom a teacher helped gave Anna an apple last night."
    assert table(sentence) == [
        ("The", "DET", 2, "det"), ("boy", "NOUN", 7, "nsubj"), ("whom", "PRON", 6, "obj"), ("a", "DET", 5, "det"),
        ("teacher", "NOUN", 6, "nsubj"), ("helped", "VERB", 2, "acl:relcl"), ("gave", "VERB", 0, "root"),
        ("Anna", "PROPN", 7, "iobj"), ("an", "DET", 10, "det"), ("apple", "NOUN", 7, "obj"),
        ("last", "ADJ", 12, "amod"), ("night", "NOUN", 7, "obl:tmod"), (".", "PUNCT", 7, "punct"),
    ]  # fmt: skip
    said = {(link.frame, link.name): (link.source, link.target, link.core) for link in sentence.links}
    assert said == {
        ("Assistance", "Helper"): ((3, 4), (5,), True),
        ("Assistance", "Benefited_party"): ((2,), (5,), True),
        ("Giving", "Donor"): ((0, 1, 2, 3, 4, 5), (6,), True),
        ("Giving", "Recipient"): ((7,), (6,), True),
        ("Giving", "Theme"): ((8, 9), (6,), True),
        ("Giving", "Time"): ((10, 11), (6,), False),
    }
    assert sentence.entities[7] == "PER" and sentence.genders[7] == "feminine" and sentence.genders[1] == "masculine"


def test_the_other_ways_to_give_by_hand():
    gave = sense("give", DATIVE)
    people = [NounPhrase(name, determiner="") for name in NAMES if name.singular in {"Anna", "Peter"}]
    fillers = {"Donor": people[0], "Theme": NounPhrase(noun("book"), plural=True), "Recipient": people[1]}

    def text(**how):
        return realise(Clause(gave, fillers, **how)).text

    assert text() == "Anna gave the books to Peter."
    assert text(passive=True, tense="present") == "The books are given to Peter by Anna."
    assert text(passive=True, shifted=True, negation="never") == "Peter was never given the books by Anna."
    assert text(negation="not", tense="future", adverb="quickly") == "Anna will not quickly give the books to Peter."
    assert text(negation="never", tense="perfect") == "Anna has never given the books to Peter."
    assert text(tense="progressive", time=("yesterday",), time_first=True) == (
        "Yesterday, Anna was giving the books to Peter."
    )


def test_questions_by_hand():
    gave = sense("give", DATIVE)
    people = [NounPhrase(name, determiner="") for name in NAMES if name.singular in {"Anna", "Peter"}]
    fillers = {"Donor": people[0], "Theme": NounPhrase(noun("book")), "Recipient": people[1]}
    told = Clause(gave, fillers, time=("yesterday",))
    asked = {role: ask(told, role) for role in (*fillers, "Time")}
    assert [each.text for each in asked.values()] == [
        "Who gave the book to Peter yesterday?", "What did Anna give to Peter yesterday?",
        "Who did Anna give the book to yesterday?", "When did Anna give the book to Peter?",
    ]  # fmt: skip
    assert table(asked["Recipient"]) == [
        ("Who", "PRON", 4, "obl"), ("did", "AUX", 4, "aux"), ("Anna", "PROPN", 4, "nsubj"),
        ("give", "VERB", 0, "root"),
        ("the", "DET", 6, "det"), ("book", "NOUN", 4, "obj"), ("to", "ADP", 1, "case"),
        ("yesterday", "NOUN", 4, "obl:tmod"), ("?", "PUNCT", 4, "punct"),
    ]  # fmt: skip
