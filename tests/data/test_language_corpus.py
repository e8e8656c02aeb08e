"""The demo language: its trees are trees, its verbs agree, its frames point at the right words."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

import bertscope
from bertscope.core.errors import UserError
from bertscope.core.examples import ROOT
from bertscope.data import demo
from bertscope.data.language.corpus import corpus
from pocket_facts import pieces

RELATIONS = {
    "nsubj", "nsubj:pass", "obj", "iobj", "obl", "obl:agent", "obl:tmod", "det", "amod", "advmod", "aux", "aux:pass",
    "case", "nmod", "nmod:poss", "nummod", "acl:relcl", "conj", "cc", "cop", "mark", "advcl", "ccomp", "punct",
    "flat", "root",
}  # fmt: skip
TAGS = {
    "ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT", "SCONJ", "VERB",
}  # fmt: skip
# Which words a relation's dependent and head can be.
DEPENDENTS = {"det": {"DET"}, "case": {"ADP"}, "aux": {"AUX"}, "aux:pass": {"AUX"}, "cop": {"AUX"}, "amod": {"ADJ"},
              "punct": {"PUNCT"}, "cc": {"CCONJ"}, "mark": {"SCONJ"}, "nmod:poss": {"PRON"}, "nummod": {"NUM"},
              "advmod": {"ADV", "PART"}, "flat": {"PROPN"}, "acl:relcl": {"VERB"}}  # fmt: skip
HEADS = {"det": {"NOUN", "PROPN"}, "amod": {"NOUN"}, "nmod": {"NOUN", "PROPN"}, "obj": {"VERB"}, "iobj": {"VERB"},
         "aux": {"VERB", "ADJ", "NOUN"}, "aux:pass": {"VERB"}, "cop": {"ADJ", "NOUN"}, "nsubj:pass": {"VERB"},
         "acl:relcl": {"NOUN"}, "ccomp": {"VERB"}}  # fmt: skip


@pytest.fixture(scope="module")
def sentences():
    return corpus(0, 3000)


def rows(examples):
    """Each sentence as a list of (word, tag, head, relation)."""
    marks = examples.marks
    for columns in zip(examples.words, marks["pos"], examples.governors, marks["relation"], strict=True):
        yield list(zip(*columns, strict=True))


def test_every_tree_is_a_projective_tree_of_known_relations(sentences):
    for tree in rows(sentences):
        heads = [head for _, _, head, _ in tree]
        assert heads.count(ROOT) == 1 and all(head == ROOT or 0 <= head < len(tree) for head in heads)
        for at, (_, tag, head, relation) in enumerate(tree):
            assert tag in TAGS and relation in RELATIONS and (relation == "root") == (head == ROOT)
            steps, upwards = 0, at
            while upwards != ROOT:
                upwards, steps = heads[upwards], steps + 1
                assert steps <= len(tree), "a cycle"
            assert tag in DEPENDENTS.get(relation, {tag})
            if head != ROOT:
                assert tree[head][1] in HEADS.get(relation, {tree[head][1]}), (tree, at)
        arcs = [sorted((at, head)) for at, head in enumerate(heads) if head != ROOT]
        assert not any(a < c < b < d for a, b in arcs for c, d in arcs)


def test_words_make_the_text(sentences):
    for text, words in zip(sentences.text, sentences.words, strict=True):
        assert re.findall(r"\w+|[^\w\s]", text) == list(words)
        assert 5 <= len(words) <= 40 and text[0].isupper() and text.endswith(".") and "  " not in text


# Words that end in -s and are singular, and plurals that don't.
SINGULAR_S = {"Mrs", "dress", "princess", "James", "Charles", "Jones", "Thomas", "Nicholas", "Paris"}
PLURAL = {"men", "women", "children", "gentlemen", "they"}
THIRD = {"is": False, "are": True, "was": False, "were": True, "has": False, "have": True, "does": False, "do": True}


def is_plural(tree, at: int) -> bool:
    """The number of a noun or pronoun, from its form and from what is joined to it."""
    word = tree[at][0]
    joined = any(head == at and relation == "conj" for _, _, head, relation in tree)
    regular = word.lower().endswith("s") and word not in SINGULAR_S and word != "his"
    return joined or word.lower() in PLURAL or regular


def test_verbs_agree_with_their_subjects(sentences):
    """Found through the tree; a relative pronoun has the number of the noun before it."""
    checked = Counter()
    for tree in rows(sentences):
        for at, (_, tag, head, relation) in enumerate(tree):
            if relation not in {"nsubj", "nsubj:pass"}:
                continue
            number = is_plural(tree, at)
            if tag == "PRON" and tree[at][0].lower() in {"who", "that", "which"}:
                number = is_plural(tree, tree[head][2])
                checked["relative"] += 1
            finite = [form for form, tag, up, _ in tree if tag == "AUX" and up == head]
            if finite and finite[0] in THIRD:
                assert THIRD[finite[0]] == number, tree
                checked["auxiliary"] += 1
                between = [word for word in range(at + 1, head) if tree[word][1] == "NOUN"]
                checked["at a distance"] += any(is_plural(tree, word) != number for word in between)
            elif not finite and tree[head][1] == "VERB" and tree[head][0] in PRESENT:
                assert PRESENT[tree[head][0]] == number, tree
                checked["present"] += 1
    assert min(checked.values()) > 50 and len(checked) == 4, checked


BASES = "eat drink read visit help walk run sleep laugh love hate remember work live"
PRESENT = {base: True for base in BASES.split() if base != "read"} | {f"{base}s": False for base in BASES.split()}


def test_articles_suit_what_follows(sentences):
    for words in sentences.words:
        for word, after in pairwise(words):
            if word.lower() in {"a", "an"}:
                vowel = (after[0].lower() in "aeiou" and after != "university") or after == "honest"
                assert word.lower() == ("an" if vowel else "a"), words


# The relations that an element's head word can have when the verb is active, and when it is passive.
SUBJECTS = {"nsubj"}, {"obl:agent"}
OBJECTS = {"obj"}, {"nsubj:pass", "obj"}
RECIPIENTS = {"obl", "iobj"}, {"obl", "nsubj:pass"}
ELEMENTS = {
    ("Giving", "Donor"): SUBJECTS, ("Giving", "Theme"): OBJECTS, ("Giving", "Recipient"): RECIPIENTS,
    ("Ingestion", "Ingestor"): SUBJECTS, ("Ingestion", "Ingestibles"): OBJECTS,
    ("Theft", "Perpetrator"): SUBJECTS, ("Theft", "Goods"): OBJECTS, ("Reading_activity", "Text"): OBJECTS,
    ("Perception_active", "Perceiver_agentive"): SUBJECTS, ("Perception_active", "Phenomenon"): OBJECTS,
    ("Self_motion", "Goal"): ({"obl"}, set()), ("Self_motion", "Path"): ({"obl"}, set()),
    ("Self_motion", "Self_mover"): SUBJECTS, ("Statement", "Speaker"): SUBJECTS,
    ("Statement", "Message"): ({"ccomp"}, set()),
}  # fmt: skip


def test_frame_elements_are_phrases_of_their_verb(sentences):
    seen = Counter()
    for tree, links in zip(rows(sentences), sentences.links, strict=True):
        assert links
        for link in links:
            [target] = link.target
            assert tree[target][1] in {"VERB", "ADJ", "AUX"}
            assert list(link.source) == [*range(link.source[0], link.source[-1] + 1)] and target not in link.source
            [top] = [at for at in link.source if tree[at][2] not in link.source]
            # What it depends on is the verb, or the verb joined to it by "and", or it is a relative clause's noun.
            assert target == tree[top][2] or tree[target][2] in {top, tree[top][2]} or tree[target][1] == "AUX"
            if (link.frame, link.name) in ELEMENTS and target == tree[top][2]:
                passive = any(up == target and relation == "aux:pass" for _, _, up, relation in tree)
                assert tree[top][3] in ELEMENTS[link.frame, link.name][passive], (tree, link)
                seen[link.frame, link.name] += 1
            assert link.core or link.name in {"Time", "Place", "Manner"}
    assert set(seen) == set(ELEMENTS)


def test_entities_and_gender_are_on_the_words_that_have_them(sentences):
    entities, genders = {}, {}
    for words, entity, gender in zip(
        sentences.words, sentences.marks["entity"], sentences.marks["gender"], strict=True
    ):
        for word, one, other in zip(words, entity, gender, strict=True):
            entities.setdefault(word, set()).add(one)
            genders.setdefault(word.lower(), set()).add(other)
    assert entities["Anna"] == entities["Mrs"] == {"PER"} and entities["Egypt"] == {"LOC"}
    assert entities["Bank"] == entities["Church"] == {"ORG"} and entities["church"] == {""}
    assert entities["England"] == {"LOC", "ORG"}  # on its own, and in the Bank of England
    for word in ("she", "woman", "mother", "anna", "mrs", "queen", "girls", "aunt"):
        assert genders[word] == {"feminine"}, word
    for word in ("he", "man", "father", "peter", "mr", "king", "boys", "uncle", "his"):
        assert genders[word] == {"masculine"}, word
    assert genders["doctor"] == genders["friend"] == genders["table"] == genders["they"] == {""}


def test_every_construction_occurs_often(sentences):
    found = Counter()
    for tree in rows(sentences):
        relations = {relation for *_, relation in tree}
        found.update(relations)
        found["not"] += any(word in {"not", "never"} for word, *_ in tree)
        clauses = [at for at, (*_, relation) in enumerate(tree) if relation == "acl:relcl"]
        for clause in clauses:
            noun = tree[clause][2]
            [subject] = [at for at, (_, _, up, to) in enumerate(tree) if up == clause and to == "nsubj"]
            found[
                "subject relative" if subject == noun + 1 and tree[subject][1] == "PRON" else "object relative"
            ] += 1
            found["zero relative"] += tree[noun + 1][0].lower() not in {"who", "whom", "that", "which"}
    assert set(found) >= RELATIONS
    rare = {name: count for name, count in found.items() if count < 20}
    assert not rare


def test_words_are_pockets(sentences):
    known = pieces()
    words = Counter(word.lower() for row in sentences.words for word in row)
    whole = sum(count for word, count in words.items() if word in known)
    assert whole / words.total() > 0.98


PRINT_DIGEST = """
import hashlib
from bertscope.data.language.corpus import corpus
drawn = corpus(5, 300)
marks = sorted((kind, column) for kind, column in drawn.marks.items())
print(hashlib.sha256(repr((drawn.text, drawn.governors, drawn.links, marks)).encode()).hexdigest())
"""


def test_the_same_seed_gives_the_same_bytes_in_any_process():
    def digest(hash_seed: str) -> str:
        environment = {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(Path(bertscope.__file__).parents[1])}
        done = subprocess.run(
            [sys.executable, "-c", PRINT_DIGEST], capture_output=True, text=True, check=True, env=environment
        )
        return done.stdout

    assert digest("1") == digest("2")


def test_seeds_differ_and_more_sentences_begin_with_the_same(sentences):
    assert sentences.text[:50] == corpus(0, 50).text
    other = set(corpus(1, 1000).text)
    assert len(other) == 1000 and len(other & set(sentences.text)) < 20
    assert len(set(sentences.text)) == len(sentences)


def test_the_corpus_is_offered_by_name():
    assert demo.examples("demo/corpus", "test", seed=3).label is None
    with pytest.raises(UserError, match="demo/corpus has no labels"):
        demo.make("demo/corpus", 0)
