"""CoNLL-U: what is read, what is refused, and that what is written is read back."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bertscope.core.errors import UserError
from bertscope.core.examples import ROOT, Examples
from bertscope.data.treebank import read_treebank, write_conllu
from corpora import EWT, conllu, laid_out, packed, with_shared
from random_trees import trees
from treebank_files import HARD, PLAIN


@pytest.fixture
def write(tmp_path):
    def file(content, name="t.conllu"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return file


@pytest.fixture
def refused(write):
    def message(content, **options):
        with pytest.raises(UserError) as caught:
            read_treebank(write(content), **options)
        assert str(caught.value).isprintable()
        return str(caught.value)

    return message


def test_spans_and_empty_nodes_and_comments(write):
    read = read_treebank(write(PLAIN + HARD))
    assert read.ids == ("t.conllu:1", "hard-1")
    assert read.words == (("Dogs", "bark", "."), ("They", "do", "n't", "know", "_"))
    assert read.governors == ((1, ROOT, 1), (3, 3, 3, ROOT, 3))
    assert read.text == ("Dogs bark.", "They don'tknow_")
    assert read.marks == {
        "lemma": (("", "", ""), ("they", "do", "not", "know", "_")),
        "pos": (("NOUN", "VERB", "PUNCT"), ("PRON", "AUX", "PART", "VERB", "PUNCT")),
        "xpos": (("", "", ""), ("PRP", "VBP", "RB", "VB", ":")),
        "feats": (("", "", ""), ("Case=Nom", "Mood=Ind", "", "VerbForm=Inf", "")),
        "relation": (("nsubj", "root", "punct"), ("nsubj", "aux", "advmod", "root", "punct")),
    }


def test_the_text_comment_wins_and_columns_that_say_nothing_are_no_marks(write):
    read = read_treebank(write(conllu("a X 0 root", comments="# text = A = b\n# sent_id = s\n")))
    assert read.text == ("A = b",) and read.ids == ("s",) and set(read.marks) == {"pos", "relation"}


@pytest.mark.parametrize("change", [lambda text: text.replace("\n", "\r\n"), lambda text: "\ufeff" + text,
                                    lambda text: "\n\n \n" + text.rstrip()])  # fmt: skip
def test_line_ends_byte_order_marks_and_blank_lines_dont_matter(write, change):
    read, plain = read_treebank(write(change(PLAIN + HARD))), read_treebank(write(PLAIN + HARD))
    assert (read.words, read.text, read.governors, read.marks) == (
        plain.words,
        plain.text,
        plain.governors,
        plain.marks,
    )


def test_packed_files_folders_and_zips(tmp_path, write):
    one = read_treebank(write(PLAIN))
    assert read_treebank(write(gzip.compress(PLAIN.encode()), "t.conllu.gz")).words == one.words
    files = {"ud/b.conllu": "\ufeff" + HARD, "ud/a.conllu": PLAIN, "ud/notes.txt": "no"}
    for source in (laid_out(tmp_path / "folder", files), packed(tmp_path / "ud.zip", files)):
        read = read_treebank(source)
        assert read.ids == ("a.conllu:1", "hard-1")
        assert read_treebank(source, limit=1).ids == ("a.conllu:1",)


GOOD = "# sent_id = good\n" + PLAIN


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (conllu("a X 2 dep", "b X 1 dep"), "word 1 hangs on a cycle, and no word is the root"),
        (conllu("a X 0 root", "b X 3 dep", "c X 2 dep"), "word 2 hangs on a cycle"),
        (conllu("a X 0 root", "b X 0 root"), "words 1 and 2 are both roots"),
        (conllu("a X 0 root", "b X 9 dep"), "the head of word 2 is 9, but the words are 1 to 2"),
        (conllu("a X 0 root", "b X _ dep"), "the head of word 2 is '_', not a number"),
        (conllu("a X 0 root", "b X -1 dep"), "the head of word 2 is '-1', not a number"),
        (conllu("a X 0 root", f"b X {'9' * 5000} dep"), "the head of word 2 is '999"),
        (conllu("a X 0 root", "3\tb\t_\tX\t_\t_\t1\tdep\t_\t_"), "word number '3' comes where 2 should"),
        (conllu("a X 0 root", "x\tb\t_\tX\t_\t_\t1\tdep\t_\t_"), "word number 'x' comes where 2 should"),
        (conllu("1-3\tab" + "\t_" * 8, "a X 0 root"), "a span reaches word 3, but there are only 1"),
        (conllu("2-3\tab" + "\t_" * 8, "a X 0 root"), "word number '2-3' comes where 1 should"),
        (conllu("1\ta\t_\tX\t_\t_\t0\troot\t_"), "a line has 9 columns, not 10"),
        (conllu("1\ta\t_\tX\t_\t_\t0\troot\t_\t_\t_"), "a line has 11 columns, not 10"),
        (conllu("1\t \t_\tX\t_\t_\t0\troot\t_\t_"), "word 1 is blank"),
        ("hello\n\n", "a line has no tabs between its columns"),
        ("# text = nothing else\n\n", "it has no words"),
        (conllu("a X 0 root").encode().replace(b"a", b"\xe9"), "not valid UTF-8; save the file as UTF-8"),
    ],
)  # fmt: skip
def test_malformed_sentences(refused, write, bad, said):
    named = b"# sent_id = bad one\n" + (bad if isinstance(bad, bytes) else bad.encode())
    message = refused(GOOD.encode() + named)
    assert "t.conllu" in message and "line 6" in message.replace("line 7", "line 6") and said in message
    assert "bad one" in message or "UTF-8" in message or "tabs" in message
    notes: list[str] = []
    read = read_treebank(write(GOOD.encode() + named + PLAIN.encode()), skip_bad=True, notes=notes)
    assert len(read) == 2 and read.ids[0] == "good"
    assert len(notes) == 1 and notes[0].startswith("1 of 3 sentences are malformed and left out; the first: ")
    assert said in notes[0]


def test_nothing_to_read(refused, tmp_path, write):
    assert "t.conllu has no sentences" in refused("")
    assert "t.conllu has no sentences" in refused("\n \n")
    assert "words 1 and 2 are both roots" in refused(conllu("a X 0 root", "b X 0 root"), skip_bad=True)
    for limit in (0, -1):
        assert f"limit is {limit}; give 1 or more" in refused(PLAIN, limit=limit)
    with pytest.raises(UserError, match=r"no file .*gone\.conllu"):
        read_treebank(tmp_path / "gone.conllu")
    with pytest.raises(UserError, match=r"has no \.conllu or \.dp files"):
        read_treebank(laid_out(tmp_path / "else", {"notes.txt": "no"}))
    with pytest.raises(UserError, match=r"cannot read .*x\.zip: the packed data is damaged"):
        read_treebank(write(b"PK no zip", "x.zip"))
    with pytest.raises(UserError, match=r"cannot read .*x\.conllu\.gz: "):
        read_treebank(write(gzip.compress(PLAIN.encode())[:-9], "x.conllu.gz"))


def test_lines_and_sentences_without_end(refused):
    assert "line 2: over 1 MiB long" in refused("1\ta\n" + "a" * (2 << 20))
    assert "the sentence at line 1 goes on for over 1 MiB" in refused("1\ta\n" * (1 << 19))


def test_a_long_unprintable_id_stays_on_one_short_line(refused):
    message = refused(conllu("a X 0 root", "b X 0 root", comments="# sent_id = " + "\x07" * 300))
    assert len(message) < 400


# Anything but what CoNLL-U parts fields with: those are refused, which has its own test.
FORMS = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zs", "Zl", "Zp"), exclude_characters="_"), min_size=1,
                max_size=6)  # fmt: skip
VALUES = st.one_of(st.just(""), FORMS.filter(lambda value: "|" not in value))


@st.composite
def corpora(draw):
    heads = draw(st.lists(trees(largest=6), min_size=1, max_size=4))
    kinds = draw(st.sets(st.sampled_from(["lemma", "pos", "xpos", "feats", "relation", "gender", "entity"])))

    def column(values):
        return tuple(tuple(draw(values) for _ in row) for row in heads)

    words = column(FORMS)
    text = tuple(draw(st.one_of(st.just(" ".join(row)), FORMS)) for row in words)
    ids = tuple(draw(st.lists(FORMS, min_size=len(heads), max_size=len(heads), unique=True)))
    return Examples(ids=ids, text=text, words=words, marks={kind: column(VALUES) for kind in kinds},
                    governors=tuple(map(tuple, heads)))  # fmt: skip


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(corpus=corpora())
def test_what_is_written_is_read_back(tmp_path, corpus):
    path = tmp_path / "out.conllu"
    path.unlink(missing_ok=True)
    write_conllu(corpus, path)
    read = read_treebank(path)
    assert (read.ids, read.text, read.words, read.governors) == (
        corpus.ids,
        corpus.text,
        corpus.words,
        corpus.governors,
    )
    assert read.marks == {kind: said for kind, said in corpus.marks.items() if any(map(any, said))}


@pytest.mark.parametrize(
    "change",
    [
        {"words": (("a\tb", "c"),)},
        {"words": (("a", " "),)},
        {"words": (("a", "c  d"),)},
        {"words": (("\ud800", "b"),)},
        {"governors": ((ROOT, ROOT),)},
        {"governors": ((ROOT,),)},
        {"text": ("a\nb",)},
        {"ids": (" s",)},
        {"marks": {"pos": (("X\n", "Y"),)}},
        {"marks": {"pos": (("X",),)}},
        {"marks": {"own": (("x|y", ""),)}},
    ],
)
def test_what_wouldnt_be_read_back_is_not_written(tmp_path, change):
    fields = {"ids": ("s",), "text": ("a b",), "words": (("a", "b"),), "governors": ((ROOT, 0),)}
    with pytest.raises(UserError, match="cannot write sentence"):
        write_conllu(Examples(**fields | change), tmp_path / "out.conllu")
    assert not (tmp_path / "out.conllu").exists()


def test_only_trees_are_written(tmp_path):
    with pytest.raises(UserError, match="words and governors are marked"):
        write_conllu(Examples(ids=("s",), text=("a",)), tmp_path / "out.conllu")


@with_shared
@pytest.mark.parametrize(
    ("split", "rows", "words"), [("train", 12544, 204577), ("dev", 2001, 25147), ("test", 2077, 25094)]
)
def test_ewt(split, rows, words):
    read = read_treebank(EWT / f"en_ewt-ud-{split}.conllu")
    assert len(read) == len(set(read.ids)) == rows
    assert sum(map(len, read.words)) == words
    assert set(read.marks) == {"lemma", "pos", "xpos", "feats", "relation"}
    root = [mark[row.index(ROOT)] for mark, row in zip(read.marks["relation"], read.governors, strict=True)]
    assert set(root) == {"root"}


@with_shared
def test_ewt_survives_writing(tmp_path):
    read = read_treebank(EWT / "en_ewt-ud-dev.conllu", limit=300)
    write_conllu(read, tmp_path / "dev.conllu")
    again = read_treebank(tmp_path / "dev.conllu")
    assert (again.ids, again.text, again.words) == (read.ids, read.text, read.words)
    assert (again.governors, again.marks) == (read.governors, read.marks)


@with_shared
def test_joined_words_are_ewts_own_texts(tmp_path):
    source = EWT / "en_ewt-ud-dev.conllu"
    bare = "".join(line for line in source.open(encoding="utf-8") if not line.startswith("# text ="))
    (tmp_path / "bare.conllu").write_text(bare, encoding="utf-8")
    told, joined = read_treebank(source).text, read_treebank(tmp_path / "bare.conllu").text
    assert sum(one == other for one, other in zip(told, joined, strict=True)) > 0.99 * len(told)


@with_shared
def test_the_library_of_the_field_reads_the_same(tmp_path):
    library = pytest.importorskip("conllu")
    source = EWT / "en_ewt-ud-dev.conllu"
    read = read_treebank(source)
    theirs = library.parse(source.read_text(encoding="utf-8"))
    assert read.ids == tuple(sentence.metadata["sent_id"] for sentence in theirs)
    for row, sentence in enumerate(theirs):
        words = [token for token in sentence if isinstance(token["id"], int)]
        assert read.words[row] == tuple(token["form"] for token in words)
        assert read.governors[row] == tuple(token["head"] - 1 for token in words)
        assert read.marks["relation"][row] == tuple(token["deprel"] for token in words)
        assert read.marks["pos"][row] == tuple(token["upos"] for token in words)
