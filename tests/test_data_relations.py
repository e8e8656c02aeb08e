"""Own relations in JSONL: what is read, and what is refused with its line."""

from __future__ import annotations

import json

import pytest

from bertscope.core.errors import UserError
from bertscope.core.examples import Link
from bertscope.data.relations import read_relations
from corpora import EWT, NLTK, conllu, laid_out, packed, with_shared

WORDS = {"words": ["Anna", "gave", "it", "away"], "links": [{"name": "Donor", "source": [0], "target": [3, 1]}]}
TEXT = {
    "id": "mine",
    "text": "Anna gave, it away",
    "links": [{"name": "Theme", "source": [10, 13], "target": [6, 8], "frame": "Giving", "core": False}],
}


@pytest.fixture
def write(tmp_path):
    def file(*lines, name="r.jsonl"):
        path = tmp_path / name
        path.write_bytes(b"\n".join(line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines))
        return path

    return file


def test_words_and_characters(write):
    read = read_relations(write(WORDS, b"", TEXT, {"words": ["no", "links"]}))
    assert read.ids == ("r.jsonl:1", "mine", "r.jsonl:4")
    assert read.text == ("Anna gave it away", "Anna gave, it away", "no links")
    assert read.words == (("Anna", "gave", "it", "away"), ("Anna", "gave", ",", "it", "away"), ("no", "links"))
    assert read.links == (
        (Link("Donor", (0,), (1, 3)),),
        (Link("Theme", (3,), (1,), "Giving", core=False),),
        (),
    )


def link(**change):
    return {"words": ["a", "b"], "links": [{"name": "L", "source": [0], "target": [1]} | change]}


def characters(*source):
    return {"text": "a b", "links": [{"name": "L", "source": list(source), "target": [2, 3]}]}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"{", "not JSON; write one object a line"),
        (b"[" * 200_000, "not JSON"),
        (b'{"words": ' + b"1" * 5000 + b"}", "not JSON"),
        ([], "the line must be an object with id, text, words, links"),
        ({"word": ["a"]}, "the line has an unknown key 'word'; did you mean 'words'?"),
        ({}, "it has neither words (a list of strings) nor text"),
        ({"text": "  "}, "it has neither words"),
        ({"words": []}, "it has neither words"),
        ({"words": "a b"}, "it has neither words (a list of strings)"),
        ({"words": ["a", 1]}, "words must be text, not '1'"),
        ({"words": ["a", " "]}, "a word is blank"),
        ({"text": 3}, "text must be text, not '3'"),
        ({"words": ["a"], "id": None}, "id must be text, not 'null'"),
        (b'{"words": ["\\ud800"]}', "half of a surrogate pair"),
        ({"words": ["a"], "links": {}}, "links must be a list"),
        ({"words": ["a"], "links": [3]}, "a link must be an object with name, source"),
        (link(name=""), "a link has no name"),
        (link(core=1), "core of the link 'L' must be true or false"),
        (link(frme="x"), "a link has an unknown key 'frme'; did you mean 'frame'?"),
        (link(source=0), "the source of the link 'L' must be a list of numbers"),
        (link(source=[]), "the source of the link 'L' must be a list of numbers"),
        (link(source=[True]), "the source of the link 'L' must be a list of numbers"),
        (link(target=[2]), "the target of the link 'L' has word '2', but the words are 0 to 1"),
        (link(target=[-1]), "has word '-1', but the words are 0 to 1"),
        (link(target=[10**4000]), "but the words are 0 to 1"),
        (characters(0), "the source of the link 'L' must be [start, end], characters from 0 to 3"),
        (characters(0, 9), "must be [start, end], characters from 0 to 3"),
        (characters(1, 1), "must be [start, end], characters from 0 to 3"),
        (characters(1, 2), "the source of the link 'L' has no word in its characters"),
        (b'{"text": "\xff"}', "not valid UTF-8"),
    ],
)  # fmt: skip
def test_mistakes_are_refused_with_their_line(write, line, said):
    path = write(WORDS, b"", line)
    with pytest.raises(UserError, match=r"r\.jsonl, line 3: ") as caught:
        read_relations(path)
    assert said in str(caught.value) and str(caught.value).isprintable() and len(str(caught.value)) < 400
    notes: list[str] = []
    assert len(read_relations(path, skip_bad=True, notes=notes)) == 1
    assert said in notes[0]


def test_treebanks_are_told_by_the_path(write, tmp_path):
    sentence = conllu("a X 0 root")
    assert read_relations(write(sentence.encode(), name="t.conllu")).heads == ((-1,),)
    assert read_relations(packed(tmp_path / "t.zip", {"t.conllu": sentence})).heads == ((-1,),)
    assert read_relations(laid_out(tmp_path / "t", {"t.conllu": sentence})).links is None
    with pytest.raises(UserError, match="no file"):
        read_relations(tmp_path / "gone.jsonl")
    with pytest.raises(UserError, match="has no sentences"):
        read_relations(write(b"\n"))


@with_shared
def test_every_treebank_at_hand():
    assert len(read_relations(EWT / "en_ewt-ud-dev.conllu", limit=7)) == 7
    assert len(read_relations(NLTK / "dependency_treebank.zip", limit=7)) == 7
