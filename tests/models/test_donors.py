"""Other texts in a text's place: who gives what to whom is random, and follows from the text alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.hashing import mixed as mixed_numbers
from bertscope.core.predictions import Judged
from bertscope.core.units import Unit
from bertscope.models import donors as donors_module
from bertscope.models.donors import DONORS, DRAWS, mixed, row_keys
from bertscope.models.judge import judge_without
from toy import task_of


def inputs_of(encoder, texts, pairs=None):
    return encoder.tokenizer(list(texts), pairs and list(pairs), padding=True, return_tensors="pt").to(encoder.device)


def whose(donors) -> np.ndarray:
    """[entry]: which donor it is of."""
    rows = donors.rows
    starts = torch.where(rows.opens >= 0, rows.opens, rows.first).cpu().numpy()
    order = np.argsort(starts)
    return order[np.searchsorted(starts[order], np.arange(donors.mlps.shape[1]), side="right") - 1]


def test_hashes_are_those_of_the_core():
    numbers = np.array([0, 1, 2**63, 2**64 - 1, 12345], dtype=np.uint64)
    for number in (0, 7, 2**40):
        wanted = mixed_numbers(numbers, np.uint64(number))
        found = mixed(torch.from_numpy(numbers.view(np.int64)), number)
        np.testing.assert_array_equal(found.numpy().view(np.uint64), wanted)


def test_a_row_is_known_by_its_tokens_and_the_seed():
    ids = torch.tensor([[2, 5, 6, 3, 0], [2, 6, 5, 3, 0], [2, 5, 6, 3, 9], [2, 5, 6, 3, 9]])
    real = torch.tensor([[1, 1, 1, 1, 0], [1, 1, 1, 1, 0], [1, 1, 1, 1, 0], [1, 1, 1, 1, 1]])
    keys = row_keys(ids, real, 0).tolist()
    assert keys[0] == keys[2] and len(set(keys)) == 3
    left = row_keys(ids[:1].roll(1, 1), real[:1].roll(1, 1), 0)
    assert left.tolist() == keys[:1] and row_keys(ids, real, 1).tolist()[0] != keys[0]


def test_a_text_is_never_its_own_donor_and_all_others_are_as_often(tiny, many):
    donors = tiny.donors(many)
    assert len(donors) == len(set(many.text)) <= DONORS
    batch = inputs_of(tiny, many.text)
    of, keys = whose(donors), row_keys(batch["input_ids"], batch["attention_mask"], 0)
    own = {key: at for at, key in enumerate(donors.rows.keys.tolist())}
    counts = np.zeros((len(donors), len(donors)))
    for draw in range(200):
        given = of[donors.entries(batch, draw)[:, 0].cpu()]
        for row, donor in enumerate(given):
            counts[own[int(keys[row])], donor] += 1
    assert not counts.diagonal().any()
    np.testing.assert_array_equal(
        counts.sum(1), 200 * np.array([(keys == key).sum().item() for key in donors.rows.keys])
    )
    several = counts[counts.sum(1) == 200]
    others = np.sort(several, 1)[:, 1:]
    assert others.min() >= 200 // len(donors) and others.max() <= 200 // len(donors) + 1, "turn by turn"
    first = np.bincount(of[donors.entries(batch, 0)[:, 0].cpu()], minlength=len(donors))
    assert first.max() <= 6 and (first > 0).sum() > 25, "texts don't all begin with the same"


def test_other_tokens_are_drawn_from_all_of_the_donor_and_special_ones_from_their_like(tiny):
    """Pairs: the first [SEP] gets the first, the second the second."""
    one = Examples(("a", "b"), ("good old house", "never"), ("by a long road", "it was bad and old"))
    donors = tiny.donors(one)
    rows = donors.rows
    seen = {}
    for draw in range(300):
        for row, at in enumerate(donors.entries(inputs_of(tiny, one.text, one.pair), draw).tolist()):
            seen.setdefault(row, []).append(at)
    batch = inputs_of(tiny, one.text, one.pair)
    keys = row_keys(batch["input_ids"], batch["attention_mask"], 0)
    for row in range(2):
        donor = int((rows.keys != keys[row]).nonzero()[0, 0])
        found, length = np.array(seen[row]), int(batch["attention_mask"][row].sum())
        seps = (batch["input_ids"][row] == tiny.tokenizer.sep_token_id).nonzero()[:, 0].tolist()
        assert set(found[:, 0]) == {int(rows.opens[donor])} and len(seps) == 2
        assert [set(found[:, at]) for at in seps] == [{int(rows.closes[donor])}, {int(rows.closes[donor]) + 1}]
        rest = [at for at in range(1, length) if at not in seps]
        first, count = int(rows.first[donor]), int(rows.count[donor])
        for at in rest:
            share = np.bincount(found[:, at] - first, minlength=count) / 300
            assert len(share) == count and abs(share - 1 / count).max() < 5 * (1 / count / 300) ** 0.5
        assert abs(np.corrcoef(found[:, rest[0]], found[:, rest[1]])[0, 1]) < 0.2, "each token draws for itself"


def test_entries_hold_what_the_parts_put_out_there(tiny, texts, monkeypatch):
    """Also of donors that are longer than what is kept of them: those tokens are some of their own."""
    whole = tiny.donors(texts)
    monkeypatch.setattr(donors_module, "TOKENS", 6)
    short = tiny.donors(texts)
    assert short.mlps.shape[1] < whole.mlps.shape[1] and short.mlps.shape[1] <= 6 * len(texts)
    for donor in range(len(whole)):
        for name in ("opens", "closes"):
            at, where = int(getattr(short.rows, name)[donor]), int(getattr(whole.rows, name)[donor])
            assert torch.equal(short.mlps[:, at], whole.mlps[:, where])
            assert torch.equal(short.heads[:, at], whole.heads[:, where])
        first, count = int(whole.rows.first[donor]), int(whole.rows.count[donor])
        own = whole.mlps[1, first : first + count]
        at, few = int(short.rows.first[donor]), int(short.rows.count[donor])
        assert few == min(count, 4)
        near = torch.cdist(short.mlps[1, at : at + few], own).argmin(1)
        assert len(set(near.tolist())) == few


def test_what_is_judged_is_the_mean_over_draws_and_flips_a_share(tiny, many):
    task = task_of(many, tiny)
    donors = tiny.donors(many, task.output, seed=1)
    mlps = [Unit("mlp", layer) for layer in (1, 2, 3)]
    every = judge_without(tiny, task.output, task.test, [[one] for one in mlps], mode="resample", reference=donors)
    unit = mlps[int(((every.flips > 0) & (every.flips < 1)).sum(1).argmax())]  # which one matters, chance has decided
    judged = judge_without(tiny, task.output, task.test, [[], [unit]], mode="resample", reference=donors)
    plain, logits = tiny.predict(many).logits, []
    with tiny.gates([unit], mode="resample", reference=donors) as gates:
        for gates.draw in range(DRAWS):
            logits.append(tiny.predict(many).logits)
    assert len(np.unique(logits, axis=0)) == DRAWS
    np.testing.assert_allclose(judged.losses[1], np.mean([task.losses(one) for one in logits], 0), atol=1e-5)
    flips = np.mean([one.argmax(1) != plain.argmax(1) for one in logits], 0)
    np.testing.assert_allclose(judged.flips[1], flips, atol=1e-9)
    np.testing.assert_allclose(judged.moments[1, :, 0], 1 - flips, atol=1e-9)
    assert ((flips > 0) & (flips < 1)).sum() > 0 and not judged.flips[0].any()


def test_the_mean_over_draws_by_hand():
    values = np.array([[1.0], [2.0], [4.0], [5.0]])
    found = Judged(values[..., None], values, values, values, values, 3).mean_of([1, 2, 1])
    assert found.losses.tolist() == [[1.0], [3.0], [5.0]] == found.moments[..., 0].tolist()
    assert found.predicted.tolist() == [[1.0], [2.0], [5.0]] and found.truncated == 3


def test_mistakes(tiny, texts):
    with pytest.raises(UserError, match="takes a part's output on another text: give two different ones at least"):
        tiny.donors(Examples(("a", "b"), ("the same", "the same")))
    with pytest.raises(UserError, match="there are no examples to read"):
        tiny.donors(Examples((), ()))
    with pytest.raises(UserError, match="there are no examples to read"):
        tiny.means_by_place(Examples((), ()))
    donors = tiny.donors(texts)
    vectors = tiny.model.get_input_embeddings()(torch.tensor([[2, 3]], device=tiny.device))
    with (
        pytest.raises(UserError, match="call the model with input_ids"),
        tiny.gates(["mlp:1"], mode="resample", reference=donors),
    ):
        tiny.model(inputs_embeds=vectors)
