"""Minimal pairs as data: what is read, how it is told apart, and what is refused."""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bertscope
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.data.minimal import MinimalPairs, pairs_root, read_pairs

ROWS = [
    {"sentence_good": "the dog runs.", "sentence_bad": "the dog run.", "linguistics_term": "agreement", "UID": "a1"},
    {"sentence_good": "dogs run.", "sentence_bad": "dogs runs.", "linguistics_term": "agreement", "UID": "a2"},
    {"sentence_good": "who ran?", "sentence_bad": "ran who?", "linguistics_term": "order", "UID": "o1"},
]


def test_blimp_form_in_a_file_a_folder_and_a_zip(tmp_path):
    lines = [json.dumps(row) for row in ROWS]
    file = tmp_path / "a1.jsonl"
    file.write_text("\n".join(lines), encoding="utf-8")
    folder = tmp_path / "data"
    folder.mkdir()
    for row, line in zip(ROWS, lines, strict=True):
        (folder / f"{row['UID']}.jsonl").write_text(line, encoding="utf-8")
    zipped = tmp_path / "BLiMP.zip"
    with zipfile.ZipFile(zipped, "w") as packed:
        for row, line in zip(ROWS, lines, strict=True):
            packed.writestr(f"data/{row['UID']}.jsonl", line)
        packed.writestr("__MACOSX/data/._a1.jsonl", b"\xb0\x00")
    for source in (file, folder, zipped):
        pairs = read_pairs(source)
        assert pairs.clean.text == tuple(row["sentence_good"] for row in ROWS)
        assert pairs.corrupted.text == tuple(row["sentence_bad"] for row in ROWS)
        assert pairs.phenomenon == ("agreement", "agreement", "order")
        assert "phenomenon='linguistics_term'" in pairs.notes[-1]
        assert read_pairs(source, phenomenon="UID").phenomenon == ("a1", "a2", "o1")
    assert read_pairs(folder).clean.ids == ("a1:1", "a2:1", "o1:1")


def test_blimps_own_pairs_that_are_the_same_are_left_out_and_counted(tmp_path):
    file = tmp_path / "blimp.jsonl"
    same = {**ROWS[0], "sentence_bad": ROWS[0]["sentence_good"]}
    file.write_text("\n".join(json.dumps(row) for row in (*ROWS, same)), encoding="utf-8")
    pairs = read_pairs(file)
    assert len(pairs) == 3 and pairs.notes[0] == "1 row left out (both texts the same: 1)"


def test_named_columns_and_second_texts(tmp_path):
    file = tmp_path / "mine.csv"
    file.write_text("yes,no,more,kind\nit is,it are,so,verb\nhe is,he are,thus,verb\n", encoding="utf-8")
    pairs = read_pairs(file, clean="yes", corrupted="no", clean_pair="more", phenomenon="kind")
    assert pairs.clean.pair == pairs.corrupted.pair == ("so", "thus") and pairs.phenomenon == ("verb", "verb")
    assert read_pairs(file, clean="yes", corrupted="no").phenomenon == ("mine", "mine")
    file.write_text("good,bad,good_pair,bad_pair\na,a,c,d\n", encoding="utf-8")
    guessed = read_pairs(file)
    assert guessed.clean.pair == ("c",) and guessed.corrupted.pair == ("d",)


def test_files_of_a_folder_may_be_called_alike_but_have_second_texts_all_or_none(tmp_path):
    (tmp_path / "more").mkdir()
    line = '{"good": "a b", "bad": "a c"}\n'
    for path in (tmp_path / "x.jsonl", tmp_path / "more" / "x.jsonl"):
        path.write_text(line)
    assert read_pairs(tmp_path).clean.ids == ("x:1", "x:1 (2)")
    for name in ("a.jsonl", "z.jsonl"):  # before the others, and behind them
        (tmp_path / name).write_text(line.replace("}", ', "good_pair": "d", "bad_pair": "e"}'))
        with pytest.raises(UserError, match=f"{name} has second texts, and other files beside it have none"):
            read_pairs(tmp_path)
        (tmp_path / name).unlink()


def test_words_are_exchanged_in_ordinary_texts(tmp_path):
    words = tmp_path / "words.txt"
    words.write_text("# gender\nshe/he\n\nwas/is\n", encoding="utf-8")
    texts = ["she ran", "they ran", "It was so"]
    pairs = read_pairs(texts, swap=[str(words)])
    assert pairs.clean.text == ("she ran", "It was so") and pairs.corrupted.text == ("he ran", "It is so")
    assert pairs.clean.ids == ("1", "3") and "2 of 3 texts" in pairs.notes[-1]
    assert read_pairs(texts, swap=["she/he", "was/is"]).fingerprint == pairs.fingerprint
    assert read_pairs(texts, swap=["gender"]).corrupted.text == ("he ran",)
    # The words are the identity, not the file they were read from.
    root = pairs_root("demo/corpus", swap=[str(words)], limit=20)
    assert root.options["swap"] == ["she/he", "was/is"] and "limit" in root.options
    again = pairs_root(root.given, **root.options)
    assert again.id == root.id == pairs_root("demo/corpus", swap=["she/he", "was/is"], limit=20).id
    assert len(read_pairs(root.given, **root.options)) == 20


def test_what_python_users_hold():
    tuples = [("a dog", "an dog"), ("a cat", "an cat")]
    pairs = read_pairs(tuples)
    assert pairs.clean.text == ("a dog", "a cat") and pairs.phenomena == ("pairs",)
    twice = read_pairs([(("a", "b"), ("a", "c"))])
    assert twice.clean.pair == ("b",) and twice.corrupted.pair == ("c",)
    frame = pd.DataFrame({"good": ["a dog", "a cat"], "bad": ["an dog", "an cat"], "phenomenon": ["x", "y"]})
    for given in (frame, frame.to_dict("records")):
        found = read_pairs(given)
        assert found.clean.text == pairs.clean.text and found.phenomenon == ("x", "y")
    assert read_pairs(pairs) is pairs
    root = pairs_root(tuples)
    assert root.held is not None and root.digest == pairs.fingerprint == pairs_root(pairs).digest
    assert read_pairs(root.given, **root.options).fingerprint == pairs.fingerprint


def test_limit_and_only_keep_shares_and_order():
    whole = read_pairs("demo/minimal")
    few = read_pairs("demo/minimal", limit=60)
    assert Counter(few.phenomenon) == dict.fromkeys(whole.phenomena, 20)
    places = [whole.clean.ids.index(one) for one in few.clean.ids]
    assert places == sorted(places) and few.clean.ids == few.corrupted.ids
    assert read_pairs("demo/minimal", only=["agreement"]).phenomena == ("agreement",)
    assert read_pairs("demo/minimal", limit=60, seed=1).clean.text != few.clean.text
    assert repr(whole) == "<MinimalPairs demo/minimal: 600 pairs of agreement, sentiment, always_never>"


def test_the_identity_is_the_content(tmp_path):
    one, other = tmp_path / "pairs.csv", tmp_path / "moved" / "pairs.csv"
    other.parent.mkdir()
    for file in (one, other):
        file.write_text("good,bad\na dog,an dog\n", encoding="utf-8")
    assert pairs_root(one).id == pairs_root(other).id
    other.write_text("good,bad\na cat,an cat\n", encoding="utf-8")
    assert pairs_root(one).id != pairs_root(other).id
    assert pairs_root(one).id != pairs_root(one, limit=1).id
    pairs = read_pairs(one)
    assert pairs.fingerprint != replace(pairs, phenomenon=("other",)).fingerprint
    assert pairs.fingerprint == replace(pairs, name="other").fingerprint


@pytest.mark.parametrize(
    ("content", "options", "line"),
    [
        ("", {}, "is empty; its first line should name the columns"),
        ("good,bad\n", {}, "has a header (good, bad) but no rows; add some"),
        ("text,label\na,b\n", {}, "no columns look like pairs (clean and corrupted, or good and bad"),
        ("good,bad\na,b\n", {"clean": "goood", "corrupted": "bad"}, "has no column 'goood', only good, bad; did you"),
        ("good,bad\na,b\n", {"clean": "good"}, "--clean names a column, and --corrupted none; name both"),
        ("good,bad\na,b\n", {"clean": "bad", "corrupted": "bad"}, "'bad' is named for two things; name two columns"),
        ("good,bad\na,b\nc,c\n", {}, "line 3: 'good' and 'bad' are the same ('c'); remove such rows (--skip-bad"),
        ("good,bad\na,\n", {}, "line 2: column 'bad' is blank (1 row is); remove such rows or name another"),
        ("good,bad\na\n", {}, "line 2: 1 field, but the header has 2"),
        ("good,bad,phenomenon\na,b,\n", {}, "line 2: column 'phenomenon' is blank (1 row is)"),
        ("good,bad\na,a\n", {"skip_bad": True}, "has no pair that can be used; mend it or give another"),
        ("good,bad\na,b\n", {"only": ["verbs"]}, "has no phenomenon 'verbs'"),
        ("good,bad\na,b\n", {"split": "train"}, "has no splits; leave out --split"),
        ("good,bad\na,b\n", {"text": "good"}, "is read as pairs, not as texts for --swap; leave out --text"),
        ("good,bad\na,b\n", {"limit": 0}, "limit is 0; give 1 or more pairs"),
        ("good,bad\na,b\n", {"corrupted_pair": "bad"}, "--corrupted-pair names a column, and --clean-pair none"),
    ],
)  # fmt: skip
def test_each_mistake_in_a_file_is_one_line(tmp_path, content, options, line):
    file = tmp_path / "pairs.csv"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(UserError) as said:
        read_pairs(file, **options)
    assert line in str(said.value) and "\n" not in str(said.value)


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ([], "the list of pairs is empty; give some"),
        ([("a", "b"), ("c",)], "pair 2: tuple instead of a tuple (clean, corrupted)"),
        ([("a", "b"), "cd"], "pair 2: str instead of a tuple (clean, corrupted)"),
        ([("a", None)], "pair 1: nothing instead of a text; give texts alone"),
        ([("a", float("nan"))], "pair 1: NaN instead of a text; give texts alone"),
        ([("a", "b"), ("c", "c")], "pair 2: both texts are the same; remove such pairs"),
        ([(("a", "b"), ("c", "d")), ("e", "f")], "some of the pairs have second texts; give them for all"),
        ([(("a", "b"), "c")], "only one side has second texts; give them for both, or for neither"),
        (pd.DataFrame({"good": ["a", np.nan], "bad": ["b", "c"]}), "row 2: column 'good' is blank (1 row is)"),
        (7, "can't read int as data"),
        ("demo/sentiment", "demo/sentiment holds no pairs; name demo/minimal, or make pairs of its texts with"),
        ("demo/minmal", "no demo pairs 'demo/minmal'; did you mean 'demo/minimal'"),
        ("nowhere.csv", "no file nowhere.csv"),
    ],
)  # fmt: skip
def test_each_mistake_in_memory_is_one_line(given, line):
    with pytest.raises(UserError) as said:
        read_pairs(given)
    assert line in str(said.value) and "\n" not in str(said.value)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"swap": ["shehe"]}, "swap has 'shehe'; give pairs of two different words, such as she/he"),
        ({"swap": ["zebra/okapi"]}, "no text of list has a word of --swap (zebra/okapi); give other words"),
        ({"swap": ["a/b"], "clean": "x", "corrupted": "y"}, "list is read with --swap, which makes the pairs; leave"),
    ],
)  # fmt: skip
def test_each_mistake_with_swap_is_one_line(options, line):
    with pytest.raises(UserError) as said:
        read_pairs(["a dog ran"], **options)
    assert line in str(said.value)


def test_an_empty_file_of_words_says_so(tmp_path):
    words = tmp_path / "words.txt"
    words.write_text("# none\n", encoding="utf-8")
    with pytest.raises(UserError, match="has no words to exchange; write a pair such as she/he on each line"):
        read_pairs(["a dog ran"], swap=[str(words)])


def test_unequal_sides_are_refused():
    one, two = Examples(("1",), ("a",)), Examples(("1", "2"), ("b", "c"))
    with pytest.raises(UserError, match="has 1 clean texts, 2 corrupted ones and 1 phenomena; give as many of each"):
        MinimalPairs("mine", one, two, ("x",))
    with pytest.raises(UserError, match="different ids"):
        MinimalPairs("mine", one, Examples(("2",), ("b",)), ("x",))


def test_pairs_are_no_task():
    with pytest.raises(UserError, match="demo/minimal holds minimal pairs, which are no task; ask minimal-pairs"):
        bertscope.read_task("demo/minimal")
    with pytest.raises(UserError, match="demo/minimal holds minimal pairs"):
        bertscope.read_examples("demo/minimal")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/work/shared/data/blimp/BLiMP.zip").exists(), reason="BLiMP isn't here")
def test_blimp_itself():
    pairs = read_pairs("/work/shared/data/blimp/BLiMP.zip", phenomenon="UID")
    assert len(pairs) == 66_993 and len(pairs.phenomena) == 67
    assert pairs.notes[0] == "7 rows left out (both texts the same: 7)"
