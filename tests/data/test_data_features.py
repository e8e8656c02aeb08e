"""Features of words, and their annotation by spaCy, which a stand-in plays here."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from types import ModuleType

import numpy as np
import pytest

from bertscope.core.errors import UserError
from bertscope.core.examples import ROOT, Examples
from bertscope.data.annotate import annotate, annotated
from bertscope.data.features import FEATURES, RELATIONS, UPOS, feature_words
from bertscope.data.treebank import read_treebank
from corpora import EWT, with_shared

WORDS = ("Nor", "did", "Anna", "n't", "see", "north", "nothing", "don’t", "it", "knot", "NEVER", "nonexistent")
POS = ("CCONJ", "AUX", "PROPN", "PART", "VERB", "NOUN", "PRON", "AUX", "PRON", "NOUN", "ADV", "ADJ")
RELATION = (
    "cc", "aux", "nsubj", "advmod", "root", "obj", "iobj", "aux:pass", "nsubj:pass", "csubj:outer", "nsubjx", "amod",
)  # fmt: skip


@pytest.fixture
def sentence():
    return Examples(
        ids=("0",), text=(" ".join(WORDS),), words=(WORDS,), marks={"pos": (POS,), "relation": (RELATION,)}
    )


@pytest.mark.parametrize(
    ("feature", "having"),
    [
        ("noun", "Anna north knot"),
        ("verb", "see"),
        ("adjective", "nonexistent"),
        ("pronoun", "nothing it"),
        ("subject", "Anna it knot"),
        ("object", "north nothing"),
        ("negation", "Nor n't nothing don’t NEVER"),
        ("pos:AUX", "did don’t"),
        ("pos:X", ""),
        ("relation:aux", "did don’t"),
        ("relation:aux:pass", "don’t"),
        ("relation:nsubj", "Anna it"),
        ("relation:obl", ""),
    ],
)
def test_features_by_hand(sentence, feature, having):
    (found,) = feature_words(sentence, feature)
    assert found.dtype == bool
    assert [word for word, has in zip(WORDS, found, strict=True) if has] == having.split()


@pytest.mark.parametrize(
    ("feature", "said"),
    [
        ("nouns", "there is no feature 'nouns'; did you mean 'noun'?"),
        ("pos:ADPP", "did you mean 'pos:ADP'?"),
        ("relation:nsuj", "did you mean 'relation:nsubj'?"),
        ("xyz", "there is no feature 'xyz'; known: adjective, negation, noun, object, pos, pronoun, relation"),
        ("pos", "there is no feature 'pos'; did you mean 'pos:"),
        ("", "there is no feature ''; known: "),
        ("a\nb", "there is no feature 'a\\nb'"),
    ],
)
def test_unknown_features(sentence, feature, said):
    with pytest.raises(UserError) as caught:
        feature_words(sentence, feature)
    assert said in str(caught.value) and str(caught.value).isprintable()


def test_texts_that_dont_say(sentence):
    plain = Examples(ids=("0",), text=("a",))
    with pytest.raises(UserError, match="these texts have no words marked; use annotate first"):
        feature_words(plain, "negation")
    words = Examples(ids=("0",), text=("not a",), words=(("not", "a"),))
    assert feature_words(words, "negation")[0].tolist() == [True, False]
    for feature, kind in (("noun", "pos"), ("subject", "relation"), ("relation:amod", "relation")):
        with pytest.raises(UserError, match=f"the feature '{feature}' needs each word's {kind}"):
            feature_words(words, feature)


@with_shared
def test_ewt_has_every_feature_and_knows_every_name():
    read = read_treebank(EWT / "en_ewt-ud-dev.conllu")
    assert {tag for row in read.marks["pos"] for tag in row} == set(UPOS)
    assert {name.partition(":")[0] for row in read.marks["relation"] for name in row} <= set(RELATIONS)
    for feature in FEATURES:
        found = feature_words(read, feature)
        assert [len(row) for row in found] == [len(row) for row in read.words]
        assert 0.005 < np.concatenate(found).mean() < 0.35
    # Each word has one part of speech and one relation: theirs share the words out.
    for kind, names in (("pos", UPOS), ("relation", RELATIONS)):
        shares = sum(np.concatenate(feature_words(read, f"{kind}:{name}")).astype(int) for name in names)
        assert (shares == 1).all()


@dataclass
class Token:
    """What spaCy's tokens are asked for."""

    i: int
    text: str
    pos_: str
    dep_: str
    head: Token = field(init=False)
    tag_: str = "T"

    @property
    def is_space(self):
        return self.text.isspace()

    @property
    def lemma_(self):
        return self.text.lower()


def document(text):
    """Each word hangs on the one before it, and spaces count as tokens, as they do in spaCy."""
    parts = [part for part in text.replace("  ", " \t ").split(" ") if part]
    tokens = [Token(i, part, "NOUN", "dobj" if i else "ROOT") for i, part in enumerate(parts)]
    words = [token for token in tokens if not token.is_space]
    for token in tokens:
        before = [word for word in words if word.i < token.i]
        token.head = before[-1] if before else token
    return tokens


@pytest.fixture
def spacy(monkeypatch):
    fake = ModuleType("spacy")
    fake.asked = []

    class Analyser:
        def pipe(self, texts):
            return map(document, texts)

    def load(name, exclude):
        fake.asked.append(name)
        return Analyser()

    fake.load = load
    monkeypatch.setitem(sys.modules, "spacy", fake)
    return fake


def test_annotated_texts(spacy):
    texts = Examples(ids=("0", "1"), text=("She saw  him", ""), label=np.array([1, 0]))
    told = annotate(texts)
    assert spacy.asked == ["en_core_web_sm"]
    assert told.words == (("She", "saw", "him"), ()) and told.governors == ((ROOT, 0, 1), ())
    assert told.marks["relation"] == (("root", "obj", "obj"), ()) and told.marks["xpos"][0] == ("T", "T", "T")
    assert told.marks["lemma"][0] == ("she", "saw", "him")
    assert told.text == texts.text and told.label.tolist() == [1, 0] and told.first_words is None
    assert [row.tolist() for row in feature_words(told, "object")] == [[False, True, True], []]


def test_annotated_pairs_count_on(spacy):
    told = annotate(Examples(ids=("0",), text=("one two",), pair=("three four",)))
    assert told.words == (("one", "two", "three", "four"),) and told.first_words == (2,)
    assert told.governors == ((ROOT, 0, ROOT, 2),)
    assert all(len(row) == 4 for column in told.marks.values() for row in column)


def test_words_are_not_annotated_again(spacy, sentence):
    with pytest.raises(UserError, match="have their words marked already"):
        annotate(sentence)
    assert annotated(sentence) is sentence and not spacy.asked


def test_plain_texts_are_annotated(spacy):
    told = annotated(Examples(ids=("0",), text=("She saw him",)))
    assert told.words == (("She", "saw", "him"),) and told.governors == ((ROOT, 0, 1),)


def test_what_to_install_is_said(spacy, monkeypatch):
    texts = Examples(ids=("0",), text=("a",))
    cure = "pip install spacy, then python -m spacy download en_core_web_sm"

    def missing(name, exclude):
        raise OSError("[E050] Can't find model")

    spacy.load = missing
    with pytest.raises(UserError, match=f"spaCy's model en_core_web_sm isn't installed; {cure}"):
        annotate(texts)
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(UserError, match=f"needs spaCy, which isn't installed; {cure}"):
        annotate(texts)
    with pytest.raises(UserError, match=cure):
        annotated(texts)
