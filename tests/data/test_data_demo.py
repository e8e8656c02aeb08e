"""The demo task: its labels follow the rules, its words are pocket's, a bag of words can't do it."""

from __future__ import annotations

import hashlib
import re

import numpy as np
import pytest

from bertscope.core.errors import UserError
from bertscope.data import demo
from bertscope.data.baselines import bag_of_words
from bertscope.data.language.sentiment import NEW_WORDS
from bertscope.data.read import read_task, task_root
from pocket_facts import pieces

PRAISE = {"beautiful", "brilliant", "charming", "clean", "clever", "delicious", "fresh", "friendly", "good", "great",
          "interesting", "kind", "lovely", "moving", "nice", "pleasant", "polite", "warm"}  # fmt: skip
BLAME = {"awful", "bad", "careless", "cold", "dirty", "dreadful", "dull", "horrible", "poor", "rude", "silly", "slow",
         "terrible", "ugly", "unpleasant", "weak"}  # fmt: skip
NEGATION = re.compile(r"\b(not|never|hardly|far from|by no means)\b")
ASIDE = re.compile(r"\b(although|even though|despite)\b")


def main_clause(sentence: str) -> str:
    """The clause that decides, found again from the sentence alone."""
    body = sentence.removesuffix(".")
    if " but " in body:
        return body.split(" but ")[1]
    if match := ASIDE.search(body):
        before = body[: match.start()]
        return before if re.search(r"\b(was|were)\b", before) else body.rsplit(", ", 1)[1]
    return body


def judged(text: str) -> int:
    """The polarity of a clause (one adjective, turned round by each negation), or of some that agree."""

    def polarity(clause: str) -> int:
        [word] = [word for word in re.findall(r"\w+", clause) if word in PRAISE | BLAME]
        return int((word in PRAISE) ^ (len(NEGATION.findall(clause)) % 2 == 1))

    [agreed] = {polarity(clause) for clause in text.split(" and ")}
    return agreed


def construction(sentence: str) -> str:
    if " but " in sentence or ASIDE.search(sentence):
        return "contrast"
    return "negation" if NEGATION.search(sentence) else "plain"


@pytest.fixture(scope="module")
def task():
    return read_task("demo/sentiment")


@pytest.fixture(scope="module")
def rows(task):
    splits = (task.train, task.validation, task.test)
    return [row for split in splits for row in zip(split.text, split.label, strict=True)]


def test_the_checker_itself_knows_the_rules():
    assert judged(main_clause("the food was good, but the service was not polite.")) == 0
    assert judged(main_clause("this time, although the food was bad, the staff were kind.")) == 1
    assert judged(main_clause("the plot was far from dull, even though the music was poor.")) == 1
    assert judged(main_clause("on the whole, the room was dirty despite the lovely view.")) == 0
    assert judged(main_clause("despite the lovely view, the room was dirty.")) == 0
    assert judged(main_clause("the food was fresh and the staff were never rude.")) == 1
    with pytest.raises(ValueError):
        judged("the food was fresh and the staff were rude")


def test_every_label_follows_from_its_sentence(rows):
    wrong = [(text, label) for text, label in rows if judged(main_clause(text)) != label]
    assert not wrong


def test_the_clauses_of_a_contrast_disagree(rows):
    contrasts = [text.removesuffix(".") for text, _ in rows if construction(text) == "contrast"]
    for text in contrasts:
        main = main_clause(text + ".")
        assert judged(text.replace(main, " ")) != judged(main), text


def test_sizes_balance_and_thirds(task):
    assert (len(task.train), len(task.validation), len(task.test)) == (1200, 200, 400)
    for split in (task.train, task.validation, task.test):
        kinds = np.array([construction(text) for text in split.text])
        for kind in ("plain", "negation", "contrast"):
            assert split.label[kinds == kind].mean() == 0.5
            assert abs((kinds == kind).mean() - 1 / 3) < 0.02


def test_contrasts_come_with_and_without_negation(rows):
    contrasts = [text for text, _ in rows if construction(text) == "contrast"]
    negated = np.mean([bool(NEGATION.search(text)) for text in contrasts])
    assert 0.3 < negated < 0.7


def test_some_words_are_new_in_the_report_split(task):
    def words(*splits):
        return {word for split in splits for text in split.text for word in re.findall(r"\w+", text)}

    assert words(task.test) - words(task.train, task.validation) == NEW_WORDS
    new = np.array([bool(words(task.test.take([row])) & NEW_WORDS) for row in range(400)])
    assert 0.3 < new.mean() < 0.7 and abs(task.test.label[new].mean() - 0.5) < 0.1


def test_no_sentence_twice(rows):
    assert len({text for text, _ in rows}) == len(rows)


def test_words_are_whole_words_of_pocket(rows):
    known = pieces()
    used = {token for text, _ in rows for token in re.findall(r"\w+|[^\w\s]", text)}
    assert used <= known
    assert all(text == text.lower() for text, _ in rows)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_bag_of_words_is_not_enough(seed):
    task = read_task("demo/sentiment", seed=seed)
    assert task.score(bag_of_words(task)).value <= 0.70


def test_bag_of_words_can_do_the_plain_third_alone(task):
    """So that the test above fails for the right reason: the words do carry polarity."""
    from dataclasses import replace

    def plain(split):
        return split.take([i for i, text in enumerate(split.text) if construction(text) == "plain"])

    easy = replace(
        task, train=plain(task.train), validation=plain(task.validation), test=plain(task.validation)
    )  # no new words
    assert easy.score(bag_of_words(easy)).value == 1


def test_the_same_seed_gives_the_same_bytes_and_another_doesnt(task):
    def digest(seed):
        drawn = read_task("demo/sentiment", seed=seed)
        return hashlib.sha256(
            "\n".join(drawn.train.text + drawn.validation.text + drawn.test.text).encode()
        ).hexdigest()

    # If this changes, the sentences have changed: raise the recipe's version, so that stored results aren't mistaken.
    assert (demo.identity("demo/sentiment"), digest(0)[:16]) == ("demo/sentiment-1", "febbeb29ab717542")
    assert digest(0) != digest(1)
    assert not set(task.test.text) <= set(read_task("demo/sentiment", seed=1).test.text)


def test_every_judgement_is_annotated(task):
    """The adjective that judges and what it judges, found in the text and through the links."""
    said = re.compile(r"the (\w+) (?:was|were) (?:[a-z]+ )*?(\w+)(?=$|[,.]| and| despite)|despite the (\w+) (\w+)")
    for text, words, heads, links in zip(
        task.train.text, task.train.words, task.train.governors, task.train.links, strict=True
    ):
        found = [(noun or other, word or adjective) for noun, word, adjective, other in said.findall(text)]
        judged = [link for link in links if link.name == "Evaluee"]
        assert sorted((words[link.source[-1]], words[link.target[0]]) for link in judged) == sorted(found)
        for link in judged:  # "the food" depends on "good", or, after "despite", the other way round
            assert heads[link.source[-1]] == link.target[0] or heads[link.target[0]] == link.source[-1]


def test_a_contrast_with_an_opener_by_hand(task):
    text = "last night, even though the breakfast was never really good, the coffee was by no means awful."
    row = task.train.text.index(text)
    tree = zip(task.train.words[row], task.train.governors[row], task.train.marks["relation"][row], strict=True)
    assert [(word, head + 1, relation) for word, head, relation in tree] == [
        ("last", 2, "amod"), ("night", 19, "obl:tmod"), (",", 19, "punct"), ("even", 11, "advmod"),
        ("though", 11, "mark"), ("the", 7, "det"), ("breakfast", 11, "nsubj"), ("was", 11, "cop"),
        ("never", 11, "advmod"), ("really", 11, "advmod"), ("good", 19, "advcl"), (",", 19, "punct"),
        ("the", 14, "det"), ("coffee", 19, "nsubj"), ("was", 19, "cop"), ("by", 18, "case"), ("no", 18, "det"),
        ("means", 19, "obl"), ("awful", 0, "root"), (".", 19, "punct"),
    ]  # fmt: skip


def test_limit_keeps_the_balance(task):
    few = read_task("demo/sentiment", limit=50)
    assert (len(few.train), len(few.validation), len(few.test)) == (50, 50, 50)
    assert few.train.label.mean() == few.test.label.mean() == 0.5
    assert set(few.train.ids) < set(task.train.ids)


def test_root_reopens_the_same_sentences():
    root = task_root("demo/sentiment", seed=3, limit=20)
    assert root.options == {"seed": 3, "limit": 20} and root.source == "demo/sentiment"
    assert (
        read_task(root.source, **root.options).train.text == read_task("demo/sentiment", seed=3, limit=20).train.text
    )
    assert root.id != task_root("demo/sentiment", limit=20).id


def test_mistakes_are_named():
    for ask in (read_task, task_root):
        with pytest.raises(UserError, match=r"no demo task 'demo/sentimental'; did you mean 'demo/sentiment'\?"):
            ask("demo/sentimental")
    with pytest.raises(UserError, match="demo/sentiment has its own columns; leave out --text-pair"):
        read_task("demo/sentiment", text_pair="x")
