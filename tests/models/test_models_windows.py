"""Questions and long texts: windows, where answers are in them, and the best span."""

from __future__ import annotations

from itertools import chain, pairwise
from random import Random

import numpy as np
import pytest
import tokenizers
import torch
from transformers.modeling_outputs import QuestionAnsweringModelOutput

import tokenizer_kinds
from bertscope.core.examples import Examples
from bertscope.models.span_head import best_spans, with_span_head
from bertscope.models.windows import targets, text_windows, windowed
from plain_windows import plain_windows
from tokenizer_kinds import HARD, KINDS

LONG = " ".join(["the old house by the river was cold ."] * 12 + ["Anna closed the door ."] + ["it rained ."] * 10)


def questions(*pairs) -> Examples:
    questions, texts = zip(*pairs, strict=True)
    return Examples(tuple(map(str, range(len(pairs)))), questions, texts)


def answer(windows, texts, row, first, last) -> str:
    """The text between two tokens of a window."""
    at = windows.tokens.starts[row]
    return texts.pair[windows.example[row]][windows.spans[at + first, 0] : windows.spans[at + last, 1]]


def test_a_short_text_is_one_window(tiny):
    texts = questions(("who closed the door ?", "Anna, closed the door."), ("what ?", "it rained ."))
    windows = windowed(tiny.tokenizer, texts, 64)
    assert windows.example.tolist() == [0, 1] and windows.truncated == 0
    found = targets(windows, np.array([(0, 4), (3, 9)]))
    assert [answer(windows, texts, row, *found[row]) for row in (0, 1)] == ["Anna", "rained"]


def test_windows_share_a_quarter_and_cover_all_of_the_text(tiny):
    texts = questions(("who closed the door ?", LONG))
    windows = windowed(tiny.tokenizer, texts, 64)
    assert len(windows) > 2 and windows.tokens.lengths.max() <= 64
    kept = [windows.spans[(windows.row == row) & windows.inside] for row in range(len(windows))]
    assert kept[0][0, 0] == 0 and kept[-1][-1, 1] == len(LONG)
    for before, after in pairwise(kept):
        assert np.isin(before[:, 0], after[:, 0]).sum() == 16


def test_only_windows_with_the_whole_answer_are_pointed_at(tiny):
    texts = questions(("who closed the door ?", LONG))
    windows = windowed(tiny.tokenizer, texts, 64)
    for text in ("Anna", "Anna closed the door", "rained"):
        begin = LONG.index(text)
        found = targets(windows, np.array([(begin, begin + len(text))]))
        has = np.array([
            ((windows.spans[:, 0] == begin) & (windows.row == row) & windows.inside).any()
            and ((windows.spans[:, 1] == begin + len(text)) & (windows.row == row) & windows.inside).any()
            for row in range(len(windows))
        ])  # fmt: skip
        assert has.any() and not has.all()
        assert (found[~has] == 0).all()
        assert {answer(windows, texts, row, *found[row]) for row in np.flatnonzero(has)} == {text}


def test_spaces_around_an_answer_and_answers_without_tokens(tiny):
    texts = questions(("who ?", "so  Anna  went ."), ("who ?", "so   they went ."))
    windows = windowed(tiny.tokenizer, texts, 64)
    found = targets(windows, np.array([(2, 10), (3, 4)]))  # spaces at both ends; nothing but a space
    assert answer(windows, texts, 0, *found[0]) == "Anna" and found[1].tolist() == [0, 0]


def test_a_question_without_end_is_cut_and_counted(tiny):
    windows = windowed(tiny.tokenizer, questions(("why " * 100, "it was cold"), ("why ?", "it was cold")), 64)
    assert windows.truncated == 1 and len(windows) == 2 and windows.tokens.lengths[0] == 16 + 3 + 3


def test_words_that_the_source_marks_dont_change_the_answer(tiny):
    plain = questions(("who ?", "Anna's door ."))
    marked = Examples(
        plain.ids, plain.text, plain.pair, words=(("who", "?", "Anna's", "door", "."),), first_words=(2,)
    )
    one, other = (windowed(tiny.tokenizer, each, 64) for each in (plain, marked))
    assert (one.spans == other.spans).all() and (
        one.tokens.fields["input_ids"] == other.tokens.fields["input_ids"]
    ).all()


def random_texts(seed: int, n: int = 12) -> list[str]:
    """From a few words to many, of every script, with doubled spaces, and special tokens that are typed."""
    random, words = Random(seed), [*chain.from_iterable(HARD), "[SEP]", "</s>", "", "rain", "the"]
    return [" ".join(random.choices(words, k=random.choice((1, 5, 40, 200)))) for _ in range(n)]


@pytest.fixture(scope="module", params=KINDS)
def tokenizer(request, _tiny):
    if request.param == "bert":
        return _tiny.tokenizer
    return getattr(tokenizer_kinds, request.param)()


@pytest.mark.parametrize("length", [17, 32, 64])
@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("most", [1, 3, 1000])
def test_windows_of_every_tokenizer_are_those_of_a_plain_loop(tokenizer, length, paired, most):
    text, pair = random_texts(length), random_texts(length + 1) if paired else None
    texts = Examples(tuple(map(str, range(len(text)))), tuple(text), tuple(pair) if pair else None)
    found = text_windows(tokenizer, texts, length, most)
    each = [
        plain_windows(tokenizer, a, b, length, length // 2) for a, b in zip(text, pair or [None] * 12, strict=True)
    ]
    assert max(map(len, each)) > 3
    assert found.example.tolist() == [row for row, windows in enumerate(each) for _ in windows[:most]]
    for name, flat in found.tokens.fields.items():
        assert flat.tolist() == [one for windows in each for window in windows[:most] for one in window[name]]
    cut_first = [paired and len(tokenizer(a, add_special_tokens=False)["input_ids"]) > length // 2 for a in text]
    unread = [len(windows) > most for windows in each]
    assert found.truncated.tolist() == [a or b for a, b in zip(cut_first, unread, strict=True)]


@pytest.mark.skipif(tokenizers.__version__ in ("0.23.1", "0.23.2"), reason="these lose all but two windows")
@pytest.mark.parametrize("paired", [False, True])
def test_windows_are_those_that_the_library_makes_of_what_overflows(tokenizer, paired):
    text = [one[:4] for one in random_texts(5)] if paired else random_texts(6)
    pair = random_texts(6) if paired else None
    coded = tokenizer(
        text, pair, truncation="only_second" if paired else "only_first", max_length=64, stride=16,
        return_overflowing_tokens=True,
    )  # fmt: skip
    texts = Examples(tuple(map(str, range(len(text)))), tuple(text), tuple(pair) if pair else None)
    found = text_windows(tokenizer, texts, 64, 1000)
    assert found.example.tolist() == coded["overflow_to_sample_mapping"] and len(found.example) > 20
    for name, flat in found.tokens.fields.items():
        assert flat.tolist() == [*chain.from_iterable(coded[name])]
    if paired:
        asked = windowed(tokenizer, texts, 64)
        assert asked.example.tolist() == coded["overflow_to_sample_mapping"]
        offsets = [*chain.from_iterable(encoding.offsets for encoding in coded.encodings)]
        assert asked.spans.tolist() == [list(one) for one in offsets]
        assert asked.inside.tolist() == [
            side == 1 for row in range(len(asked)) for side in coded.sequence_ids(row)
        ]  # fmt: skip


def brute_force(starts, ends, inside, longest):
    best = (-np.inf, 0, 0)
    for first in range(len(starts)):
        for last in range(first, min(first + longest, len(starts))):
            if inside[first] and inside[last]:
                best = max(best, (starts[first] + ends[last], first, last), key=lambda one: one[0])
    return best


@pytest.mark.parametrize("longest", [1, 3, 30])
def test_the_best_span_is_the_best_of_all(longest):
    generator = torch.Generator().manual_seed(longest)
    starts, ends = torch.randn(20, 12, generator=generator), torch.randn(20, 12, generator=generator)
    inside = torch.arange(12).ge(3).expand(20, 12) & torch.arange(12).lt(torch.arange(20)[:, None] % 9 + 3)
    score, first, last = best_spans(starts, ends, inside, longest)
    for row in range(20):
        wanted = brute_force(starts[row].numpy(), ends[row].numpy(), inside[row].numpy(), longest)
        assert score[row].item() == pytest.approx(wanted[0])
        if np.isfinite(wanted[0]):
            assert (first[row], last[row]) == wanted[1:]
    assert torch.isinf(score[0]), "no token of the first row is inside"


def test_an_answer_has_thirty_tokens_at_most():
    starts, ends = torch.zeros(2, 40), torch.zeros(2, 40)
    starts[:, 2], ends[0, 31], ends[1, 32] = 5, 5, 5
    score, first, last = best_spans(starts, ends, torch.ones(2, 40, dtype=torch.bool))
    assert (score[0], first[0], last[0]) == (10, 2, 31) and score[1] == 5


def test_a_span_of_scores_that_arent_numbers_lies_within_its_row():
    """On a GPU a place outside of it would break the process, before anybody can say what is wrong with the model."""
    infinite, nothing = torch.full((2, 5), torch.inf), torch.full((2, 5), torch.nan)
    for starts, ends in ((infinite, torch.zeros(2, 5)), (nothing, nothing), (torch.zeros(2, 5), nothing)):
        _, first, last = best_spans(starts, ends, torch.ones(2, 5, dtype=torch.bool))
        assert (first <= last).all() and (last < 5).all()


def test_the_answer_is_that_of_the_best_window(tiny, monkeypatch):
    """A head that likes one word: wherever its window is, that word is the answer."""
    encoder = with_span_head(tiny)
    wanted = encoder.tokenizer.vocab["anna"]

    def located(input_ids, **_):
        scores = (input_ids == wanted).float() + 0.001 * torch.arange(input_ids.shape[1], device=input_ids.device)
        return QuestionAnsweringModelOutput(start_logits=scores, end_logits=scores)

    monkeypatch.setattr(encoder.model, "forward", located)
    texts = questions(("who ?", LONG), ("who ?", "Anna ran ."), ("anna ?", "it rained ."))
    found = encoder.predict(texts, tokens=128, window=2)
    assert [texts.pair[row][start:end] for row, (start, end) in enumerate(found.logits)] == ["Anna", "Anna", "."]
    assert found.truncated == 0
