"""What is typed: tokens and words stand where they were typed, whatever the tokenizer makes of it."""

from __future__ import annotations

import pytest
import torch
from transformers import AutoModelForMaskedLM

import tokenizer_kinds
from bertscope.live.explorer import Explorer
from bertscope.live.messages import Explain, LookAt, Reading
from bertscope.models.load import load
from families import tiny_model
from planted_kinds import PLANTED


def masked(tokenizer, family="roberta"):
    model = tiny_model(family, AutoModelForMaskedLM, vocab_size=len(tokenizer), pad_token_id=tokenizer.pad_token_id)
    return load(model, tokenizer=tokenizer)


def letters(reading, token):
    return [reading.text, *([reading.pair] if reading.pair else reading.choices)][token.side][token.start : token.end]


def test_tokens_stand_where_they_were_typed(_pocket):
    reading = Reading("The  old house, unbelievably!", "A [MASK] by it.")
    tokens = Explorer.open(_pocket).look(LookAt(reading)).seen[0].tokens
    for token in tokens:
        if token.side == -1:
            assert (token.start, token.end) == (0, 0) and token.text in ("[CLS]", "[SEP]")
        else:
            assert letters(reading, token).lower() == token.text.removeprefix("##").lower()
    assert [token.side for token in tokens].count(-1) == 3


@pytest.mark.parametrize("kind", ["roberta", "modernbert", "eurobert"])
def test_a_mask_is_typed_alike_in_every_family(kind):
    tokenizer = getattr(tokenizer_kinds, kind)()
    encoder = masked(tokenizer)
    reading = Reading("I know that [MASK] mother pays [MASK] dollars")
    seen = Explorer.open(encoder).look(LookAt(reading)).seen[0]
    at = [place for place, token in enumerate(seen.tokens) if letters(reading, token).strip() == "[MASK]"]
    assert [each.token for each in seen.after.guesses] == at and len(at) == 2
    coded = tokenizer(reading.text.replace("[MASK]", tokenizer.mask_token), return_tensors="pt")
    with torch.no_grad():
        shares = encoder.model(**coded).logits[0, at].softmax(-1)
    for each, wanted in zip(seen.after.guesses, shares, strict=True):
        assert each.words[0].p == pytest.approx(float(wanted.max()), abs=1e-5)


def test_a_mask_of_another_length_moves_nothing():
    tokenizer = tokenizer_kinds.modernbert()
    tokenizer.add_special_tokens({"mask_token": "<|a long mask|>"})
    reading = Reading("I know [MASK] mother and [MASK] dollars")
    explorer = Explorer.open(masked(tokenizer))
    seen = explorer.look(LookAt(reading)).seen[0]
    words = [letters(reading, token).strip() for token in seen.tokens if token.side == 0]
    assert "".join(words) == reading.text.replace(" ", "")
    explained = explorer.explain(Explain(reading, method="leave_out")).seen[0].words
    assert [reading.text[word.start : word.end].strip() for word in explained] == [
        "I",
        "know",
        "mother",
        "and",
        "dollars",
    ]


def test_words_of_the_datas_own_rows_are_as_it_marks_them(_pocket):
    planted = PLANTED["tokens"]
    model = planted.model(_pocket.tokenizer)
    task = planted.task(6)
    explorer = Explorer.open(model, None, task)
    for text, words in zip(task.test.text, task.test.words, strict=True):
        marks = explorer.look(LookAt(Reading(text))).seen[0].after.marks
        assert [text[mark.start : mark.end] for mark in marks] == list(words)
    typed = "good old house, by water"
    marks = explorer.look(LookAt(Reading(typed))).seen[0].after.marks
    assert [typed[mark.start : mark.end] for mark in marks] == ["good", "old", "house", ",", "by", "water"]


def test_a_parser_reads_typed_words(_pocket):
    model = PLANTED["trees"].model(_pocket.tokenizer)
    typed = "good  old house, by water"
    found = Explorer.open(model).look(LookAt(Reading(typed))).seen[0]
    words = ["good", "old", "house", ",", "by", "water"]
    assert [typed[mark.start : mark.end] for mark in found.after.marks] == words
    assert [typed[one.start : one.end] for one in found.tokens if one.side == 0] == words
    assert found.after.marks[0].label == "good of root" and found.after.marks[1].label == "good of good"


def test_candidates_are_sides_of_their_own(_pocket):
    model = PLANTED["choices"].model(_pocket.tokenizer)
    reading = Reading("the road", choices=["bad old house", "good water", "poor road"])
    found = Explorer.open(model).look(LookAt(reading)).seen[0]
    assert found.after.said == found.after.shares[0].label == "good water"
    for side, text in enumerate([reading.text, *reading.choices]):
        here = [letters(reading, token) for token in found.tokens if token.side == side]
        assert here == text.split() * (3 if side == 0 else 1)
