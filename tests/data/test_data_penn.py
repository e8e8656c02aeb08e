"""NLTK's Penn Treebank sample: dependencies and brackets."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest

from bertscope.core.errors import UserError
from bertscope.core.examples import ROOT
from bertscope.data.penn import UPOS, read_brackets, upos
from bertscope.data.treebank import read_treebank
from corpora import EWT, NLTK, laid_out, packed, with_shared
from treebank_files import DP, MRG


@pytest.fixture(params=["folder", "zip"])
def source(request, tmp_path):
    def make(files):
        return (laid_out if request.param == "folder" else packed)(tmp_path / f"p.{request.param}", files)

    return make


def test_dependencies(source):
    read = read_treebank(source({"dependency_treebank/wsj_0001.dp": DP}))
    assert read.ids == ("wsj_0001:1", "wsj_0001:6")
    assert read.words == (("Mr.", "Vinken", "eats", "("), ("1/2",))
    assert read.text == ("Mr. Vinken eats (", "1/2")
    assert read.governors == ((1, 2, ROOT, 2), (ROOT,))
    assert read.marks["xpos"] == (("NNP", "NNP", "VBZ", "-LRB-"), ("CD",))
    assert read.marks["pos"] == (("PROPN", "PROPN", "VERB", "PUNCT"), ("NUM",))


def test_brackets(source):
    read = read_brackets(source({"treebank/combined/wsj_0001.mrg": MRG, "treebank/README": "no"}))
    assert read.ids == ("wsj_0001:1", "wsj_0001:2") and read.governors is None
    assert read.words == (("Mr.", "Vinken", "is", '"', "old", "."), ("1/2",))
    assert read.marks["xpos"][0] == ("NNP", "NNP", "VBZ", "``", "JJ", ".")
    assert read.marks["pos"][0] == ("PROPN", "PROPN", "AUX", "PUNCT", "ADJ", "PUNCT")
    assert read.marks["phrase"] == (("NP", "NP", "VP", "VP", "ADJP", "S"), ("X",))


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("a\tNN\n", "line 9: 'a NN' isn't a word, a tag and a head"),
        ("a NN 0\n", "isn't a word, a tag and a head"),
        ("a\tNN\tx\n", "isn't a word, a tag and a head"),
        ("a\tNN\t0\nb\tNN\t0\n", "line 9: words 1 and 2 are both roots"),
        ("a\tNN\t7\n", "the head of word 1 is 7"),
    ],
)
def test_malformed_dependencies(source, bad, said):
    path = source({"wsj_0001.dp": DP + "\n\n" + bad})
    with pytest.raises(UserError, match=r"wsj_0001\.dp, sentence at line 9") as caught:
        read_treebank(path)
    assert said in str(caught.value)
    notes: list[str] = []
    assert len(read_treebank(path, skip_bad=True, notes=notes)) == 2
    assert notes[0].startswith("1 of 3 sentences are malformed")


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("( (S (NN a)", "a bracket of sentence 3 never closes"),
        (")", "')' after sentence 2 is outside all brackets"),
        ("word", "'word' after sentence 2 is outside all brackets"),
        ("( (S (NN a b)))", "sentence 3: the word 'b' has no tag of its own"),
        ("( (S (NP (NN a) b)))", "sentence 3: the word 'b' has no tag of its own"),
        ("( (S (-NONE- *)))", "sentence 3: it has no words"),
    ],
)
def test_malformed_brackets(source, bad, said):
    with pytest.raises(UserError, match=r"wsj_0001\.mrg") as caught:
        read_brackets(source({"wsj_0001.mrg": MRG + bad}))
    assert said in str(caught.value)


def test_brackets_of_any_depth(source):
    deep = 100_000
    read = read_brackets(source({"a.mrg": "(S " * deep + "(NN a)" + ")" * deep}))
    assert read.words == (("a",),)


def test_no_brackets(tmp_path):
    with pytest.raises(UserError, match=r"has no \.mrg files"):
        read_brackets(tmp_path)


@with_shared
def test_nltks_sample():
    trees = read_treebank(NLTK / "dependency_treebank.zip")
    brackets = read_brackets(NLTK / "treebank.zip")
    assert len(trees) == len(brackets) == 3914
    assert sum(map(len, trees.words)) == 94084
    assert set(UPOS) >= {tag for row in brackets.marks["xpos"] for tag in row}
    # The dependencies were made from the brackets: where both have a sentence, its words and tags are the same.
    own = dict(zip(brackets.words, brackets.marks["xpos"], strict=True))
    same = [own[words] == tags for words, tags in zip(trees.words, trees.marks["xpos"], strict=True) if words in own]
    assert sum(same) > 0.95 * len(trees)


@with_shared
def test_upos_is_what_most_words_of_a_tag_have_in_ewt():
    read = read_treebank(EWT / "en_ewt-ud-dev.conllu")
    marked = zip(read.words, read.marks["xpos"], read.marks["pos"], strict=True)
    every = [(word.lower(), tag, pos) for row in marked for word, tag, pos in zip(*row, strict=True) if tag in UPOS]
    assert sum(upos(word, tag) == pos for word, tag, pos in every) > 0.93 * len(every)
    seen: dict[str, Counter[str]] = defaultdict(Counter)
    for word, tag, pos in every:
        if upos(word, tag) == UPOS[tag]:
            seen[tag][pos] += 1
    usual = {tag: counts.most_common(1)[0][0] for tag, counts in seen.items() if counts.total() >= 20}
    assert len(usual) > 35 and {tag: UPOS[tag] for tag in usual} == usual
