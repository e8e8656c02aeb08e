"""`demo/corpus`: annotated sentences of every construction, without labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from bertscope.core.examples import Examples
from bertscope.data.language.grammar import PEOPLE, Speaker, pronoun
from bertscope.data.language.realise import realise
from bertscope.data.language.senses import BETWEEN_PEOPLE, DATIVE, SENSES, TELLING, TRANSITIVE, Slot
from bertscope.data.language.sentence import Row, Sentence, examples
from bertscope.data.language.syntax import Clause, Joined, NounPhrase, State

_INTRANSITIVE = tuple(sense for sense in SENSES if not sense.object)
_PEOPLE_DO = tuple(sense for sense in SENSES if {*sense.subject.kinds} >= PEOPLE)
_ACTS = tuple(sense for sense in _PEOPLE_DO if sense.ongoing and sense.located and sense.frame != "Sleep")
_TURNED = tuple(sense for sense in TRANSITIVE if sense.frame not in {"Departing", "Losing", "Emotion"})
_SHORTEST, _LONGEST = 5, 40


def corpus(seed: int, n: int) -> Examples:
    """`n` different sentences; a seed always gives the same ones, and more of them begin with the same."""
    return examples("corpus", rows("", n, Random(f"demo/corpus {seed}"), set()))


def rows(split: str, n: int, random: Random, seen: set[str]) -> list[Row]:
    """`n` sentences that aren't in `seen`, added to it."""
    del split
    return [Row(drawn(random, seen)) for _ in range(n)]


def drawn(random: Random, seen: set[str]) -> Sentence:
    """A sentence that isn't in `seen`, added to it."""
    while True:
        sentence = realise(_CONSTRUCTIONS[random.choice(_WEIGHTED)](Speaker(random)))
        if _SHORTEST <= len(sentence.words) <= _LONGEST and sentence.text not in seen:
            seen.add(sentence.text)
            return sentence


def _plain(speaker: Speaker) -> Clause:
    return speaker.clause(SENSES)


def _moving(speaker: Speaker) -> Clause:
    return speaker.clause(_INTRANSITIVE)


def _passive(speaker: Speaker) -> Clause:
    return speaker.passive(speaker.clause(_TURNED))


def _dative(speaker: Speaker) -> Clause:
    """Giving, with the recipient after "to" or before the object, sometimes in the passive."""
    clause = replace(speaker.clause(DATIVE), shifted=speaker.random.random() < 0.5)
    return speaker.passive(clause) if speaker.random.random() < 0.2 else clause


def _saying(speaker: Speaker) -> Clause:
    """What somebody says, knows or thinks, sometimes about what was done to himself."""
    sense = speaker.random.choice(TELLING)
    who = speaker.participant(sense.subject)
    draw = speaker.random.random()
    if draw < 0.3:
        inner: Clause | State = speaker.state()
    elif draw < 0.5 and (same := pronoun(who)) is not None:
        inner = speaker.clause(BETWEEN_PEOPLE, rich=False)
        assert inner.sense.object is not None
        inner = replace(inner, fillers={**inner.fillers, inner.sense.object.role: same})
    else:
        inner = speaker.clause(SENSES, rich=False)
    inner = replace(inner, tense="progressive" if inner.tense == "progressive" else "past")
    return Clause(sense, {sense.subject.role: who}, content=inner)


def _state(speaker: Speaker) -> State:
    return speaker.state()


def _subject_relative(speaker: Speaker) -> Clause:
    """A relative clause after the subject."""
    clause = speaker.clause(SENSES, rich=False)
    return _with_relative(speaker, clause, clause.sense.subject.role)


def _object_relative(speaker: Speaker) -> Clause:
    """A relative clause after the object."""
    clause = speaker.clause(TRANSITIVE, rich=False)
    assert clause.sense.object is not None
    return _with_relative(speaker, clause, clause.sense.object.role)


def _with_relative(speaker: Speaker, clause: Clause, role: str) -> Clause:
    return replace(clause, fillers={**clause.fillers, role: speaker.with_relative(clause.fillers[role])})


def _two_subjects(speaker: Speaker) -> Clause:
    return speaker.clause(_PEOPLE_DO, subject=_pair(speaker))


def _pair(speaker: Speaker) -> NounPhrase:
    """Two people of one kind, as a subject."""
    kind = speaker.random.choice(("person", "name", "kin"))
    one, other = (replace(speaker.participant(Slot("", (kind,)), rich=False), plural=False) for _ in range(2))
    if kind != "name":
        one, other = (replace(each, determiner="the" if kind == "person" else "my") for each in (one, other))
    return replace(one, conjunct=other)


def _two_clauses(speaker: Speaker) -> Joined:
    one, other = (speaker.clause(_ACTS, rich=False) for _ in range(2))
    tense = "past" if one.tense != other.tense else one.tense
    link = "but" if bool(one.negation) != bool(other.negation) else "and"
    return Joined(replace(one, tense=tense), link, replace(other, tense=tense))


def _two_verbs(speaker: Speaker) -> Joined:
    """One subject that does two things."""
    one = replace(speaker.clause(_ACTS, rich=False), negation="", tense="past")
    subject = one.fillers[one.sense.subject.role]
    other = speaker.clause(_ACTS, rich=False, subject=subject)
    return Joined(one, "and", replace(other, negation="", tense="past"), shared_subject=True)


def _when(speaker: Speaker) -> Joined:
    """Something that happened while, before or after something else; the same person can do both."""
    random = speaker.random
    subject = _pair(speaker) if random.random() < 0.2 else None
    main = replace(speaker.clause(_ACTS, rich=False, subject=subject), tense="past")
    same = pronoun(main.fillers[main.sense.subject.role]) if random.random() < 0.5 else None
    link = random.choice(("while", "before", "after") if same else ("while", "before", "after", "when"))
    other = speaker.clause(_ACTS, rich=False, subject=same)
    other = replace(other, negation="", tense="progressive" if link == "while" else "past")
    return Joined(replace(main, negation=""), link, other, second_first=same is None and random.random() < 0.4)


def _long(speaker: Speaker) -> Joined:
    """Somebody says at length what others did, and when."""
    saying = _saying(speaker)
    content = _dative(speaker)
    role = content.sense.oblique.role if content.sense.oblique else ""
    content = replace(_with_relative(speaker, content, role), tense="past", time=(), time_first=False)
    saying = _with_relative(speaker, replace(saying, content=content), saying.sense.subject.role)
    aside = replace(speaker.clause(_ACTS), negation="", tense="past", time=(), time_first=False)
    return Joined(saying, speaker.random.choice(("before", "after", "when")), aside, second_first=True)


_CONSTRUCTIONS: dict[str, Callable[[Speaker], Clause | State | Joined]] = {
    "plain": _plain, "moving": _moving, "passive": _passive, "dative": _dative, "saying": _saying, "state": _state,
    "subject relative": _subject_relative, "object relative": _object_relative, "two subjects": _two_subjects,
    "two clauses": _two_clauses, "two verbs": _two_verbs, "when": _when, "long": _long,
}  # fmt: skip
_WEIGHTED = (*_CONSTRUCTIONS, "plain", "passive", "dative", "state", "subject relative", "object relative", "when")
