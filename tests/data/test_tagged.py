"""Words with tags: the same sentences from every form there is, and one line for each mistake."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from random import Random

import datasets
import pandas as pd
import pytest

from bertscope import read_examples, read_task
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.data import demo, held
from bertscope.data.corpus import examples_root
from bertscope.data.options import TaskOptions
from bertscope.data.tagged import entities_of_marks, is_tagged, read_tagged, tags_of
from shared_data import DATA, needs_data

WORDS = [("Anna", "Smith", "left", "New", "York", "."), ("Rain", ".")]
TAGS = [("B-PER", "I-PER", "O", "B-LOC", "I-LOC", "O"), ("O", "O")]
FORMS = {
    "conll2003.txt": "-DOCSTART- -X- -X- O\n\n"
    "Anna NNP B-NP B-PER\nSmith NNP I-NP I-PER\nleft VBD B-VP O\nNew NNP B-NP B-LOC\nYork NNP I-NP I-LOC\n. . O O\n\n"
    "Rain NN B-NP O\n. . O O\n",
    "iob1.conll": "Anna I-PER\nSmith I-PER\nleft O\nNew I-LOC\nYork I-LOC\n. O\n\n\nRain O\n. O\n",
    "bioes.conll": "Anna\tB-PER\nSmith\tE-PER\nleft\tO\nNew\tB-LOC\nYork\tE-LOC\n.\tO\n\nRain\tO\n.\tO\n",
    "bilou.bilou": "Anna\tB-PER\r\nSmith\tL-PER\r\nleft\tO\r\nNew\tB-LOC\r\nYork\tL-LOC\r\n.\tO\r\n\r\n"
    "Rain\tO\r\n.\tO\r\n",
    "uner.iob2": "# sent_id = one\n# text = Anna Smith left New York.\n"
    "1\tAnna\tB-PER\t-\tann\n2\tSmith\tI-PER\t-\tann\n3\tleft\tO\t-\tann\n4\tNew\tB-LOC\t-\tann\n"
    "5\tYork\tI-LOC\t-\tann\n6\t.\tO\t-\tann\n\n"
    "# sent_id = two\n# text = Rain.\n1\tRain\tO\t-\tann\n2\t.\tO\t-\tann\n",
    "lines.jsonl": "".join(
        json.dumps({"tokens": words, "ner_tags": tags}) + "\n" for words, tags in zip(WORDS, TAGS, strict=True)
    ),
    "array.json": json.dumps(
        [{"words": words, "tag": tags} for words, tags in zip(WORDS, TAGS, strict=True)], indent=1
    ),
}  # fmt: skip


def saved(folder: Path, name: str, content: str) -> Path:
    path = folder / name
    path.write_bytes(content.encode())
    return path


@pytest.mark.parametrize("name", FORMS)
def test_every_form_gives_the_same_words_and_tags(tmp_path: Path, name: str) -> None:
    path = saved(tmp_path, name, FORMS[name])
    assert is_tagged(path, TaskOptions())
    found = read_tagged(path)
    assert found.words == tuple(WORDS)
    assert found.marks["tag"] == tuple(TAGS)
    assert tags_of(found) == ("O", "B-LOC", "I-LOC", "B-PER", "I-PER")
    if name.startswith("uner"):
        assert found.ids == ("one", "two") and found.text[0] == "Anna Smith left New York."
    else:
        assert found.text == ("Anna Smith left New York .", "Rain .")
    converted = {"iob1.conll": "IOB1", "bioes.conll": "BIOES", "bilou.bilou": "BILOU"}.get(name)
    assert [note for note in found.notes if "IOB2" in note] == (
        [f"tags were {converted}, and are converted to IOB2"] if converted else []
    )
    packed = tmp_path / f"{name}.gz"
    packed.write_bytes(gzip.compress(FORMS[name].encode()))
    assert is_tagged(packed, TaskOptions()) and read_tagged(packed).marks == found.marks


def test_a_file_of_words_is_no_file_of_texts(tmp_path: Path) -> None:
    """CoNLL-2003 as .txt was once read as texts of four words."""
    whole = FORMS["conll2003.txt"] + "\n" + "".join(f"Word{i} NN B-NP B-PER\n. . O O\n\n" for i in range(20))
    path = saved(tmp_path, "eng.txt", whole)
    found = read_examples(path, split="train")
    assert found.words is not None and {len(words) for words in found.words} <= {2, 6}
    assert sum(len(read_examples(path, split=split)) for split in ("train", "validation", "test")) == 22
    assert (read_task(path).kind, read_task(path).metric) == ("tokens", "entity_f1")
    prose = saved(tmp_path, "prose.txt", "It was late .\n\nShe left him O\n\nIt was B-PER O\n")
    assert read_examples(prose).words is None
    table = saved(tmp_path, "t.tsv", "text\tlabel\n" + "a b\tO\n" * 8 + "c\tB-PER\n" * 8)
    assert read_task(table).labels == ("B-PER", "O")


def test_a_hash_is_a_word_where_its_line_has_a_tag(tmp_path: Path) -> None:
    path = saved(tmp_path, "a.conll", "# global.columns = form tag\nCost O\n# O\n5 O\n\n# text = Hi\nHi O\n")
    assert read_tagged(path).words == (("Cost", "#", "5"), ("Hi",))
    for number, head in enumerate(("", "# sent_id = one\n", "-DOCSTART- O\n\n", "# a tweet\n\n")):
        path = saved(tmp_path, f"{number}.conll", f"{head}#rome O\n\n# O\nAnna B-PER\n")
        assert read_tagged(path).words == (("#rome",), ("#", "Anna"))


def test_spans_of_conll_u_numbers_are_no_words(tmp_path: Path) -> None:
    content = "1-2\tdon't\t_\tO\n1\tdo\tx\tO\n2\tn't\tx\tO\n2.1\tgo\tx\tO\n3\tAnna\tx\tB-PER\n\n1\tHi\tx\tO\n"
    assert read_tagged(saved(tmp_path, "a.iob2", content)).words == (("do", "n't", "Anna"), ("Hi",))


def test_a_word_that_is_a_number_isnt_counted_away(tmp_path: Path) -> None:
    assert read_tagged(saved(tmp_path, "a.conll", "1 CD O\n2 CD O\n\nAnna NN B-PER\n")).words == (
        ("1", "2"),
        ("Anna",),
    )


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.conll", "Anna B-PER\nSmith I-PER\n\nTom B-PER\nleft O\n\nin O\nRome I-LOC\n", r"line 8 \('Rome'\)"),
        ("a.conll", "Anna B-PER\nSmith I-PER\n\nTom NOUN\n", r"line 4 \('Tom'\): tag 'NOUN' is none of IOB2"),
        ("a.conll", "Anna S-PER\nTom U-PER\n", "tag 'U-PER' is none of BIOES"),
        ("a.conll", "Anna B-PER\nTom B-PER x\n", "line 2: 3 columns, but the first word's line has 2"),
        ("a.conll", "Anna\nTom\n", "line 1: a word without a tag"),
        ("a.conll", "Anna\tO\n\tB-PER\n", "line 2: the word is blank"),
        ("a.conll", "\n\n", "no sentences"),
        ("a.conll", "Anna _\nTom _\n", "every word has the tag '_'"),
        ("a.conll", "Anna O\nleft O\n\n" * 12, "every word has the tag 'O'; are these the tags"),
        ("a.jsonl", '{"tokens": ["a", "b"], "tags": ["O", null]}\n', "line 1: a word or a tag is blank"),
        ("a.jsonl", '{"tokens": ["a"], "tags": ["O", "O"]}\n', "line 1: 1 words, but 2 tags"),
        ("a.jsonl", '{"tokens": ["a"], "ner_tags": [3]}\n', "line 1: tags are numbers, and nothing says"),
        ("a.jsonl", '{"tokens": ["a", " "], "tags": ["O", "O"]}\n', "line 1: a word or a tag is blank"),
        ("a.jsonl", '{"tokens": ["a"], "tags": ["O"]}\n{"tokens": "a", "tags": ["O"]}\n', "line 2: 'tokens' holds"),
        ("a.jsonl", '{"tokens": ["\\ud800"], "tags": ["O"]}\n', "line 1: a word is not valid Unicode"),
        ("a.iob2", "", "no sentences"),
        ("none.iob2", None, "no file"),
    ],
)  # fmt: skip
def test_mistakes_are_told_with_their_line(tmp_path: Path, name: str, content: str | None, said: str) -> None:
    path = tmp_path / name if content is None else saved(tmp_path, name, content)
    with pytest.raises(UserError, match=said):
        read_examples(path)


def test_bad_sentences_are_left_out_and_counted(tmp_path: Path) -> None:
    good = "Anna B-PER\nSmith I-PER\n\n" * 10
    path = saved(tmp_path, "a.conll", good + "in O\nRome I-LOC\n\nTom B-PER O\n\n")
    found = read_tagged(path, TaskOptions(skip_bad=True))
    assert len(found) == 10
    assert found.notes == ("2 rows left out (wrong number of fields: 1, ill-formed tags: 1)",)
    whole = read_examples(path, skip_bad=True)
    assert len(whole) == 2 and whole.notes[:1] == found.notes
    assert len(read_examples(path, skip_bad=True, split="train", limit=3)) == 3


def test_plain_tags_where_the_kind_is_said(tmp_path: Path) -> None:
    """Two words on a line are no tags by themselves; `kind` says that they are."""
    path = saved(tmp_path, "pos.txt", "Dogs NOUN\nbark VERB\n\nCats NOUN\nsleep VERB\n\n" * 6)
    assert read_examples(path).words is None
    found = read_examples(path, kind="tokens")
    assert found.marks["tag"][0] == ("NOUN", "VERB")
    assert found.notes[0] == "tags are plain: each of the 2 is a class of words"


@pytest.mark.parametrize("tags", [("PER", "O"), ("b-per", "o"), ("B_PER", "O")])
def test_tags_that_may_mean_entities_get_a_note(tmp_path: Path, tags: tuple[str, str]) -> None:
    path = saved(tmp_path, "a.conll", "".join(f"Anna {tags[0]}\nleft {tags[1]}\n\n" for _ in range(12)))
    found = read_tagged(path, TaskOptions(kind="tokens"))
    assert found.notes[0].endswith("if they are of entities, write B-PER, I-PER and O")
    plain = saved(tmp_path, "b.conll", "Anna NOUN\nleft VERB\n\n" * 12)
    assert "entities" not in read_tagged(plain, TaskOptions(kind="tokens")).notes[0]


def test_objects_in_memory_and_names_of_the_hub() -> None:
    rows = [{"tokens": list(words), "tags": list(tags)} for words, tags in zip(WORDS, TAGS, strict=True)] * 6
    frame, found = pd.DataFrame(rows), read_tagged(rows)
    assert found.marks["tag"][:2] == tuple(TAGS)
    names = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
    numbered = [{"tokens": row["tokens"], "ner_tags": [names.index(tag) for tag in row["tags"]]} for row in rows]
    features = datasets.Features(
        {
            "tokens": datasets.List(datasets.Value("string")),
            "ner_tags": datasets.List(datasets.ClassLabel(names=names)),
        }
    )
    hub = datasets.Dataset.from_list(numbered, features=features)
    for given in (frame, hub):
        assert read_tagged(given).marks == found.marks
    assert "columns guessed: words='tokens', tags='ner_tags'" in read_tagged(hub).notes[0]
    splits = datasets.DatasetDict(train=hub, validation=hub, test=hub)
    test = read_examples(splits, limit=5)
    assert len(test) == 5 and test.words is not None
    assert len(read_examples(datasets.DatasetDict(train=hub, validation=hub))) == 12
    assert examples_root(hub).digest == examples_root(hub).digest != examples_root(splits).digest
    for given in (rows, frame, hub, splits):
        task = read_task(given)
        assert (task.kind, task.metric, set(task.labels)) == (
            "tokens",
            "entity_f1",
            {tag for row in TAGS for tag in row},
        )


def test_columns_may_be_named(tmp_path: Path) -> None:
    row = {"w": ["Anna", "left"], "ner": ["B-PER", "O"], "upos": ["PROPN", "VERB"]}
    path = saved(tmp_path, "a.jsonl", (json.dumps(row) + "\n") * 10)
    assert read_examples(path, text="w", label="ner").marks["tag"][0] == ("B-PER", "O")
    assert read_examples(path, text="w", label="upos").marks["tag"][0] == ("PROPN", "VERB")
    with pytest.raises(UserError, match=r"no column of tokens, only w, ner, upos; name one with --text"):
        read_examples(path, kind="tokens")
    own = saved(tmp_path, "own.jsonl", '{"words": ["Anna", "left"], "pos": ["PROPN", "VERB"]}\n' * 10)
    assert "tag" not in read_examples(own).marks, "own annotation stays annotation"
    assert read_examples(own, kind="tokens").marks["tag"][0] == ("PROPN", "VERB")


def test_folders_and_their_splits(tmp_path: Path) -> None:
    """train, valid and test as CoNLL-2003 has them; UNER's dev and test without a train file."""
    many = "Anna B-PER\nleft O\n\n" * 20
    for role in ("train", "valid", "test"):
        saved(tmp_path, f"{role}.txt", many + f"{role} O\n")
    assert [read_examples(tmp_path, split=split).words[-1] for split in ("train", "validation", "test")] == [
        ("train",), ("valid",), ("test",),
    ]  # fmt: skip
    assert read_examples(tmp_path).notes[0] == "validation is valid.txt, test is test.txt"
    (tmp_path / "train.txt").unlink()
    assert len(read_examples(tmp_path)) == 21 and len(read_examples(tmp_path, split="validation")) == 2
    assert read_examples(tmp_path).notes[0] == "test is test.txt, and valid.txt gives train and validation"


def test_a_treebank_is_its_parts_of_speech(tmp_path: Path) -> None:
    line = "1\tDogs\tdog\tNOUN\t_\t_\t2\tnsubj\t_\t_\n2\tbark\tbark\tVERB\t_\t_\t0\troot\t_\t_\n\n"
    path = saved(tmp_path, "a.conllu", line * 10)
    found = read_examples(path, kind="tokens")
    assert found.marks["tag"][0] == ("NOUN", "VERB")
    assert found.notes[0] == "the tags are the treebank's parts of speech (UPOS)"
    bare = saved(tmp_path, "b.conllu", line * 10 + line.replace("VERB", "_"))
    with pytest.raises(UserError, match="a word has no UPOS"):
        read_examples(bare, kind="tokens")
    assert len(read_tagged(bare, TaskOptions(skip_bad=True))) == 10


def test_the_demo_language_has_both() -> None:
    entities, pos = (read_examples(name, split="train") for name in ("demo/entities", "demo/pos"))
    assert len(entities) == len(pos) == 2000
    assert tags_of(entities) == ("O", "B-LOC", "B-ORG", "I-ORG", "B-PER", "I-PER")
    assert pos.marks["tag"] == pos.marks["pos"]
    assert entities.words is not None and entities.governors is not None
    titles = 0
    for words, tags, marks in zip(entities.words, entities.marks["tag"], entities.marks["entity"], strict=True):
        assert tuple(tag.partition("-")[2] for tag in tags) == marks
        for at in range(1, len(words)):
            titles += words[at - 1] in ("Mr", "Mrs") and tags[at] == "I-PER"
            assert not (words[at - 1] in ("Mr", "Mrs") and tags[at] != "I-PER")
    assert titles > 20
    assert demo.examples("demo/entities", "test").fingerprint == demo.examples("demo/entities", "test").fingerprint


def test_names_side_by_side_are_two() -> None:
    marks = {"entity": (("", "PER", "PER", "PER", "ORG", "ORG", "ORG"),)}
    governors = ((-1, 0, 0, 2, 0, 6, 4),)  # showed Anna | Mr Smith | Bank of England
    words = (("Showed", "Anna", "Mr", "Smith", "Bank", "of", "England"),)
    made = entities_of_marks(Examples(("1",), (" ".join(words[0]),), words=words, marks=marks, governors=governors))
    assert made == (("O", "B-PER", "B-PER", "I-PER", "B-ORG", "I-ORG", "I-ORG"),)


def test_parquet_and_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.DataFrame({"tokens": [["Anna", "left"]] * 20, "ner_tags": [["B-PER", "O"]] * 20})
    frame.to_parquet(tmp_path / "a.parquet")
    assert read_examples(tmp_path / "a.parquet").marks["tag"][0] == ("B-PER", "O")
    splits = datasets.DatasetDict(train=datasets.Dataset.from_pandas(frame))
    monkeypatch.setattr(held, "revision_of", lambda id: "abc")
    monkeypatch.setattr(held, "loaded", lambda id, config: splits)
    found = read_examples("hub:some/names")
    assert found.name == "some/names" and found.marks["tag"][0] == ("B-PER", "O") and len(found) == 4


@pytest.mark.parametrize("name", FORMS)
def test_any_bytes_give_sentences_or_one_clear_line(tmp_path: Path, name: str) -> None:
    random, path, read = Random(name), tmp_path / name, 0
    for _ in range(150):
        content = bytearray(FORMS[name].encode())
        for _ in range(random.randint(1, 4)):
            at = random.randrange(len(content))
            content[at : at + random.randint(0, 3)] = random.choice(
                [b"", b"\t", b"\n", b"\n\n", b" ", b"B-", b"\xff", b"#"]
            )
        path.write_bytes(bytes(content))
        try:
            found = read_tagged(path, TaskOptions(skip_bad=random.random() < 0.5))
        except UserError as error:
            assert "\n" not in str(error) and name in str(error)
            continue
        read += 1
        assert found.words is not None and list(map(len, found.words)) == list(map(len, found.marks["tag"]))
        assert all(map(all, found.words)) and all(map(all, found.marks["tag"]))
    assert read > 10


@needs_data
def test_uner_over_ewt() -> None:
    dev, test = (read_tagged(DATA / "ner" / f"{split}.iob2") for split in ("dev", "test"))
    assert (len(dev), len(test)) == (2001, 2077)
    assert sum(map(len, dev.words or ())) == 25149 and sum(map(len, test.words or ())) == 25097
    assert tags_of(dev) == ("O", "B-LOC", "I-LOC", "B-ORG", "I-ORG", "B-PER", "I-PER")
    assert sum(tag == "B-LOC" for row in dev.marks["tag"] for tag in row) == 399
    treebank = read_examples(DATA / "UD_English-EWT" / "en_ewt-ud-dev.conllu")
    known = dict(zip(treebank.ids, treebank.words or (), strict=True))
    differ = [id for id, words in zip(dev.ids, dev.words or (), strict=True) if known[id] != words]
    assert len(known) == 2001 and len(differ) == 3  # EWT has mended its words since
