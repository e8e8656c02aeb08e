"""The demo tasks: each label found again from the texts, by a small reader that knows nothing of the generator."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

from demo_rows import labelled, made, splits

TIME = re.compile(r"\b(yesterday|last night|last week|in the morning)\b", re.IGNORECASE)
SAME = """
    doctor/physician boy/lad soldier/warrior woman/lady writer/author guest/visitor child/kid friend/companion
    street/road inn/hotel shop/store beach/shore sea/ocean forest/wood cottage/hut path/track
    clever/intelligent sad/unhappy small/little strange/odd tired/weary brave/bold
    watched/observed followed/pursued found/discovered saw/seen/noticed remembered/recalled struck/hit
    abandoned/deserted wounded/hurt chose/chosen/selected frightened/alarmed persuaded/convinced
    gave/given showed/shown
"""
CONCEPT = {word: group.split("/")[0] for group in SAME.split() for word in group.split("/")}


def concept(words: str) -> str:
    """The words without articles, each as the first of its synonyms."""
    kept = [word for word in words.lower().split() if word not in {"the", "a", "an"}]
    return " ".join(CONCEPT.get(word, word) for word in kept)


def without_time(text: str) -> tuple[str, str]:
    times = TIME.findall(text)
    return re.sub(r"^, |[ .]+$", "", TIME.sub("", text)).strip(), times[0].lower() if times else ""


NP = r"((?:[Tt]he |[Aa]n? )?(?:\w+ )?\w+)"
GIVING = [
    (re.compile(rf"^{NP} was (given|sent|shown) to {NP} by {NP}$"), (3, 1, 0, 2)),
    (re.compile(rf"^{NP} was (given|sent|shown) (an? \w+) by {NP}$"), (3, 1, 2, 0)),
    (re.compile(rf"^{NP} (gave|sent|showed) (an? \w+) to {NP}$"), (0, 1, 2, 3)),
    (re.compile(rf"^{NP} (gave|sent|showed) (\w+) (an? \w+)$"), (0, 1, 3, 2)),
]
ACTING = [
    (re.compile(rf"^{NP} was (\w+) by {NP}$"), (2, 1, 0)),
    (re.compile(rf"^{NP} (\w+) (the .*)$"), (0, 1, 2)),
]


def read_paraphrase(text: str) -> tuple[str, ...]:
    """Who did what to whom (gave what to whom), and when."""
    body, time = without_time(text)
    for pattern, order in GIVING + ACTING:
        if match := pattern.match(body):
            return (*(concept(match.groups()[place]) for place in order), time)
    raise AssertionError(text)


def test_paraphrases_say_the_same_and_others_dont():
    for text, pair, label in labelled("demo/paraphrase", 300):
        assert (read_paraphrase(text) == read_paraphrase(pair)) == label, (text, pair)


def test_the_readers_know_the_language_by_hand():
    giving = ("anna", "gave", "book", "peter", "yesterday")
    for text in ("Anna gave a book to Peter yesterday.", "Yesterday, Peter was given a book by Anna.",
                 "Anna gave Peter a book yesterday.", "A book was given to Peter by Anna yesterday."):  # fmt: skip
        assert read_paraphrase(text) == giving
    assert read_paraphrase("Last week, the sad lady was hit by the kid.") == (
        "child",
        "struck",
        "sad woman",
        "last week",
    )
    assert read_parts("The little warrior was recalled by the lad in the hut.") == read_parts(
        "The boy remembered the small soldier in the cottage."
    )
    assert inference("Anna once saw a dog.", "Anna never noticed an animal.") == "contradiction"
    assert inference("Anna never saw a dog.", "Anna never saw an animal.") == "neutral"
    assert inference("Peter was once seen by Anna in the park.", "Anna once noticed Peter.") == "entailment"
    assert inference("Anna once saw Peter.", "Peter once saw Anna.") == "neutral"
    assert inference("Not every tall poet read the note yesterday.", "Not every poet read the note yesterday.") == (
        "entailment"
    )
    assert inference("Every poet read the note last week.", "Last week, not every old poet read the note.") == (
        "contradiction"
    )
    assert inference("No child lost the book last week.", "A boy lost the book last week.") == "contradiction"
    assert inference("No poet read the note in the park yesterday.", "No poet read the note yesterday.") == "neutral"


PLACED = re.compile(r" (?:in|on|at|near) the (\w+)\.$")


def read_parts(text: str) -> tuple[str, ...]:
    """Agent, action, the other one's quality, the other one, place."""
    body, place = text[: PLACED.search(text).start()], PLACED.search(text).group(1)
    agent, action, patient = next(
        [match.groups()[at] for at in order] for pattern, order in ACTING if (match := pattern.match(body))
    )
    quality, who = concept(patient).split()
    return concept(agent), concept(action), quality, who, concept(place)


def test_similarity_counts_the_parts_in_common():
    for text, pair, score in labelled("demo/similarity", 300):
        parts = zip(read_parts(text), read_parts(pair), strict=True)
        assert sum(one == other for one, other in parts) == score, (text, pair)


def test_some_similar_pairs_have_the_same_words_in_other_roles():
    swapped = [
        score for text, pair, score in labelled("demo/similarity", 2000)
        if (one := read_parts(text))[0] == (other := read_parts(pair))[3] and one[3] == other[0]
    ]  # fmt: skip
    assert len(swapped) > 100 and max(swapped) <= 3


WIDER = {narrow: wide for wide, words in {
    "animal": "dog cat horse pig cow", "weapon": "sword gun knife", "flower": "rose lily", "boat": "ship canoe",
    "book": "novel bible", "person": "soldier student lawyer farmer sailor poet", "child": "boy girl",
}.items() for narrow in words.split()}  # fmt: skip
EVENT = [
    (re.compile(r"^(\w+) was (once|never) (\w+) by (\w+)(?: in the (\w+))?$"), (3, 1, 2, 0, 4)),
    (re.compile(r"^(\w+) (once|never) (\w+) (?:an? )?(\w+)(?: in the (\w+))?$"), (0, 1, 2, 3, 4)),
]
QUANTIFIED = re.compile(
    r"^(Not every|Every|No|An?) (?:(\w+) )?(\w+) (\w+) the (\w+)(?: in the (\w+))?$", re.IGNORECASE
)


def inference(text: str, pair: str) -> str:
    """By monotonicity: what is narrower implies what is wider, unless it is denied, or said of every one."""
    (claim, yes), (other, also) = read_claim(text), read_claim(pair)
    if yes == also:
        return "entailment" if (implies(claim, other) if yes else implies(other, claim)) else "neutral"
    return "contradiction" if (implies(claim, other) if yes else implies(other, claim)) else "neutral"


def read_claim(text: str) -> tuple[tuple[str, ...], bool]:
    body, time = without_time(text)
    for pattern, order in EVENT:
        if match := pattern.match(body):
            agent, said, action, patient, place = (match.groups()[at] or "" for at in order)
            return ("event", agent, concept(action), patient, place), said == "once"
    quantifier, adjective, noun, action, thing, place = (part or "" for part in QUANTIFIED.match(body).groups())
    kind = "every" if "every" in quantifier.lower() else "some"
    return (kind, adjective, noun, concept(action), thing, place, time), quantifier.lower() in {"every", "a", "an"}


def implies(claim: tuple[str, ...], other: tuple[str, ...]) -> bool:
    def within(one: str, two: str) -> bool:
        return one == two or WIDER.get(one) == two

    if claim[0] != other[0]:
        return False
    if claim[0] == "event":
        (_, *who, what, where), (_, *whom, which, there) = claim, other
        return who == whom and within(what, which) and there in {"", where}
    (_, adjective, noun, *rest), (_, quality, name, *others) = claim, other
    if claim[0] == "some":
        return rest == others and within(noun, name) and quality in {"", adjective}
    return rest == others and within(name, noun) and adjective in {"", quality}


def test_entailment_follows_from_what_is_said():
    labels = made("demo/entailment").labels
    for text, pair, label in labelled("demo/entailment", 300):
        assert inference(text, pair) == labels[label], (text, pair)


def test_entailment_has_every_family_in_every_label():
    found = Counter((read_claim(text)[0][0], label) for text, _, label in labelled("demo/entailment", 3000))
    assert len(found) == 9 and min(found.values()) > 150


PLURAL_NOUN = re.compile(r"^(men|women|children|gentlemen|\w+(?<!s)s)$")


NOMINAL = {"ADJ", "NOUN", "PROPN"}


def is_acceptable(words, tags, relations) -> bool:
    """The order of what must stand together, and the number of the subject against that of its verb."""
    lower = [word.lower() for word in words]
    timely = {
        at
        for at in range(len(words))
        if lower[at : at + 2] in (["last", "week"], ["last", "night"], ["next", "week"])
    }
    kept = [at for at in range(len(words)) if not {at, at - 1} & timely and lower[at] != "yesterday"]
    for at, following in pairwise(kept):
        tag, after = tags[at], tags[following]
        if tag == "DET" and after not in NOMINAL:
            return False
        if tag == "ADJ" and relations[at] == "amod" and after not in {"NOUN", "ADJ"}:
            return False
        if tag == "ADP" and relations[at] == "case" and after not in NOMINAL | {"DET", "PRON", "NUM"}:
            return False
        if tag == "AUX" and relations[at] != "cop":
            rest = [other for other in tags[at + 1 :] if other not in {"ADV", "PART"}]
            if rest[0] not in {"AUX", "VERB"}:
                return False
    if tags[:2] == ("DET", "NOUN") and "cop" in relations and "SCONJ" not in tags:
        verb = max(at for at, word in enumerate(words) if word in {"is", "are", "was", "were", "has", "have"})
        return (words[verb] in {"are", "were", "have"}) == bool(PLURAL_NOUN.match(words[1]))
    return True


def test_acceptability_by_order_and_agreement():
    wrong = Counter()
    for split in splits("demo/acceptability"):
        columns = zip(split.words, split.marks["pos"], split.marks["relation"], split.label, strict=True)
        for words, tags, relations, label in list(columns)[:400]:
            if is_acceptable(words, tags, relations) != label:
                wrong[" ".join(words)] += 1
    assert not wrong


def test_acceptability_has_attractors_of_both_numbers():
    found = Counter()
    for split in splits("demo/acceptability"):
        for words, tags, relations, label in zip(
            split.words, split.marks["pos"], split.marks["relation"], split.label, strict=True
        ):
            if "cop" in relations and tags[:3] == ("DET", "NOUN", "ADP"):
                near = words[relations.index("nmod")]
                found[bool(PLURAL_NOUN.match(words[1])), bool(PLURAL_NOUN.match(near)), int(label)] += 1
    assert len(found) == 8 and min(found.values()) > 40, found


def test_answers_are_what_the_question_leaves_open():
    for split in splits("demo/qa"):
        marks, kinds = split.marks["pos"], Counter()
        for row in range(300):
            [(start, end)] = split.answers[row]
            question, passage = split.text[row], split.pair[row]
            answer = passage[start:end]
            n = split.first_words[row]
            words, tags = split.words[row][n:], marks[row][n:]
            asked = Counter(re.findall(r"\w+", question.lower()))
            told, sentences = [], []
            for word, tag in zip(words, tags, strict=True):
                if word == ".":
                    sentences.append(Counter(told))
                    told = []
                elif tag not in {"VERB", "AUX", "PUNCT", "DET"} and word.lower() not in {"by", "to"}:
                    told.append(word.lower())
            about = max(sentences, key=lambda told: (told & asked).total())
            said = Counter(word for word in re.findall(r"\w+", answer.lower()) if word != "the")
            assert said == about - asked, (question, passage, answer)
            wh = question.split()[0]
            kinds[wh] += 1
            if wh == "Where":
                assert answer.split()[0] in {"in", "on", "at", "near", "by"}
            elif wh == "When":
                assert TIME.fullmatch(answer)
            else:
                assert not TIME.fullmatch(answer) and answer.split()[0] not in {"in", "on", "at", "by", "to"}
        assert set(kinds) == {"Who", "What", "When", "Where"} and min(kinds.values()) > 20
