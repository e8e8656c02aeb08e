"""Own relations in JSONL: what is read, and what is refused with its line."""

from __future__ import annotations

import json

import pytest

from bertscope.core.errors import UserError
from bertscope.core.examples import Link
from bertscope.data.relations import read_relations
from corpora import EWT, NLTK, conllu, laid_out, packed, with_shared
from linked_rows import PAIR, TEXT, WORDS


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


def test_everything_else_that_can_be_said(write):
    read = read_relations(write(PAIR))
    assert (read.text, read.pair, read.first_words) == (("Anna left.",), ("She was tired.",), (3,))
    assert read.governors == ((1, -1, 1, 5, 5, -1, 5),) and read.answers == (((4, 13),),)
    assert read.marks == {"gender": (("f", "", "", "f", "", "", ""),)}
    assert read.label is None and read.links is None
    bare = {key: PAIR[key] for key in ("text_pair", "words", "first_words")}
    assert read_relations(write(bare)).text == ("Anna left .",)


def test_texts_alone_are_plain(write):
    assert read_relations(write({"text": "a b"}, {"text": "c"})).words is None
    assert read_relations(write({"text": "a b", "text_pair": "c"})).first_words is None
    assert read_relations(write({"text": "a b"}, {"text": "c", "links": []})).words == (("a", "b"), ("c",))
    split = read_relations(write({"text": "a b", "text_pair": "c", "links": []}))
    assert split.words == (("a", "b", "c"),) and split.first_words == (2,)


@pytest.mark.parametrize("key", ["text_pair", "heads"])
def test_lines_agree_on_what_they_have(write, key):
    fewer = {"words": ["a"], "text_pair": "b", "first_words": 0, "text": "a", "heads": [-1]}
    bare = {
        name: value for name, value in fewer.items() if name not in (key, *["first_words"] * (key == "text_pair"))
    }
    for lines, said in (((fewer, bare), f"it has no {key}, but line 1 has"), ((bare, fewer), f"it has {key}, but")):
        with pytest.raises(UserError, match=f"line 2: {said}.*give it in every line or in none"):
            read_relations(write(*lines))
        assert len(read_relations(write(*lines), skip_bad=True)) == 1


def link(**change):
    return {"words": ["a", "b"], "links": [{"name": "L", "source": [0], "target": [1]} | change]}


def marked(**change):
    return {"words": ["a", "b"]} | change


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
        ({"words": []}, "words must be a list of at least one word"),
        ({"words": "a b"}, "words must be a list of at least one word"),
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
        (marked(hedas=[0, 1]), "the line has an unknown key 'hedas'; did you mean 'heads'?"),
        (marked(pos=["X"]), "'pos' has 1 marks, but there are 2 words"),
        (marked(pos="X"), "the line has an unknown key 'pos'"),
        (marked(pos=["X", 1]), "the line has an unknown key 'pos'"),
        ({"words": ["a"], " ": ["X"]}, "the line has an unknown key ' '"),
        (b'{"words": ["a"], "\\ud800": ["X"]}', "half of a surrogate pair"),
        ({"text": "a", "pos": ["X"]}, "the line has an unknown key 'pos'"),
        ({"text": "a", "heads": [-1]}, "heads counts words; give words too"),
        (marked(heads=[0]), "heads must be a list of 2 numbers, one for each word"),
        (marked(heads=[True, 0]), "heads must be a list of 2 numbers"),
        (marked(heads=[-1, 2]), "heads must be from 0 to 1, or -1 where a word has none"),
        (marked(heads=[-2, 10**4000]), "heads must be from 0 to 1"),
        (marked(heads=[-1, 1]), "heads go round in a circle"),
        (marked(heads=[1, 0]), "heads go round in a circle"),
        (marked(text_pair="b"), "first_words must say how many of the 2 words are in text"),
        (marked(text_pair="b", first_words=3), "first_words must say how many of the 2 words are in text"),
        (marked(text_pair="b", first_words=0), "text is blank"),
        (marked(text_pair=" ", first_words=1), "text_pair is blank"),
        (marked(first_words=1), "first_words is for two texts; give text_pair too"),
        (marked(answers=[[0, 1]]), "answers are spans of text_pair; give it too"),
        ({"text": "a", "text_pair": "b", "answers": [[0, 2]]}, "answers must be a list of [start, end]"),
        ({"text": "a", "text_pair": "b", "answers": [0, 1]}, "answers must be a list of [start, end]"),
        ({"text": "a", "text_pair": "b", "links": link()["links"]}, "give words and first_words"),
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
    assert read_relations(write(sentence.encode(), name="t.conllu")).governors == ((-1,),)
    assert read_relations(packed(tmp_path / "t.zip", {"t.conllu": sentence})).governors == ((-1,),)
    assert read_relations(laid_out(tmp_path / "t", {"t.conllu": sentence})).links is None
    with pytest.raises(UserError, match="no file"):
        read_relations(tmp_path / "gone.jsonl")
    with pytest.raises(UserError, match="has no sentences"):
        read_relations(write(b"\n"))


@with_shared
def test_every_treebank_at_hand():
    assert len(read_relations(EWT / "en_ewt-ud-dev.conllu", limit=7)) == 7
    assert len(read_relations(NLTK / "dependency_treebank.zip", limit=7)) == 7
