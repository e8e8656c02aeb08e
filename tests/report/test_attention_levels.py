"""How the page of one text's attention is packed: rounded by no more than it says, and small."""

from __future__ import annotations

import zlib
from base64 import b64decode

import numpy as np
import pytest

pytest.importorskip("altair")  # not on the bare GPU machine

import bertscope
from bertscope.core.attention_maps import AttentionMaps
from bertscope.core.model_record import ModelRecord
from bertscope.report.attention import page
from bertscope.report.attention_levels import LONGEST, STEPS, packed


def made(*of_models: list[np.ndarray], in_text: list[int] | None = None) -> AttentionMaps:
    n = of_models[0][0].shape[-1]
    records = {str(place): ModelRecord(str(place), f"model {place}") for place in range(len(of_models))}
    texts = in_text or [-1, *[0] * (n - 2), -1]
    pair = "second" if 1 in texts else None
    return AttentionMaps(
        "a text", pair, [f"w{at}" for at in range(n)], texts, records, dict(zip(records, of_models, strict=True))
    )


def drawn(layers: int, heads: int, n: int, spread: float = 2.0, seed: int = 0) -> list[np.ndarray]:
    generator = np.random.default_rng(seed)
    scores = np.exp(generator.normal(0, spread, (layers, heads, n, n)))
    return list((scores / scores.sum(-1, keepdims=True)).astype(np.float32))


def unpacked(text: str, wide: bool, size: int) -> np.ndarray:
    """[head, query, key] as the browser reads it."""
    body = np.frombuffer(zlib.decompress(b64decode(text), -15), np.uint8).astype(int)
    levels = body[: len(body) // 2] * 256 + body[len(body) // 2 :] if wide else body
    return levels.reshape(-1, size, size).swapaxes(1, 2)


@pytest.mark.parametrize("n", [2, 20, 60, 128])
def test_weights_are_within_half_a_step(n):
    one, other = drawn(2, 3, n), [*drawn(1, 2, n, seed=1), np.zeros((0, n, n), np.float32)]
    found = packed(made(one, other))
    assert found.step in STEPS and found.block == 1 and found.step <= 0.52 / n
    for maps, text in zip((one, other), found.levels, strict=True):
        back = unpacked(text, found.wide, n) * found.step
        np.testing.assert_allclose(back, np.concatenate(maps), atol=found.step / 2 + 1e-6)


def test_short_texts_are_finer():
    assert packed(made(drawn(12, 12, 24))).step == 0.0001
    assert packed(made(drawn(1, 12, 128))).step == 0.0001
    for n in (64, 90, 110):
        found = packed(made(drawn(12, 12, n, spread=3)))
        assert found.step < 0.52 / n and 500_000 < len(found.levels[0]) < 900_000


def test_an_even_map_is_seen_at_any_length():
    for n in (8, 128, 256, 512):
        found = packed(made([np.full((1, n, n), 1 / n, np.float32)]))
        assert unpacked(found.levels[0], found.wide, len(found.tokens)).min() >= 1


def test_neighbours_of_long_texts_are_taken_together():
    """From a block the mean over its tokens, to a block the sum; none crosses from one text to the other."""
    n = 2 * LONGEST - 5
    (maps,) = drawn(1, 1, n)
    in_text = [-1, *[0] * 101, -1, *[1] * (n - 104), -1]
    found = packed(made([maps], in_text=in_text))
    assert found.block == 2 and len(found.tokens) == 3 + 51 + (n - 104 + 1) // 2 == len(found.in_text)
    assert found.tokens[:3] == ["w0", "w1 … w2", "w3 … w4"] and found.tokens[51] == "w101"
    assert found.in_text == [-1, *[0] * 51, -1, *[1] * ((n - 104 + 1) // 2), -1]
    back = unpacked(found.levels[0], found.wide, len(found.tokens))[0] * found.step
    by_hand = maps[0, 3:5, 1:3].sum(1).mean()
    assert abs(back[2, 1] - by_hand) <= found.step / 2 + 1e-6
    assert abs(back[0, 51] - maps[0, 0, 101]) <= found.step / 2 + 1e-6
    whole = page(made([maps], in_text=in_text))
    assert "507 tokens, of which up to 2 neighbours are taken together here" in whole


def test_a_page_of_pocket_with_128_tokens_is_under_a_megabyte(_pocket):
    """12 x 12 x 128: BertViz's has 105 MB (measured elsewhere)."""
    words = " ".join(bertscope.read_examples("demo/corpus", limit=60).text).split()
    whole = [word for word in words if len(_pocket.tokenizer.tokenize(word)) == 1]
    shown = bertscope.attention(_pocket, " ".join(whole[:126]))
    assert len(shown.tokens) == 128
    assert len(page(shown).encode()) < 1_000_000


def test_the_worst_case_is_bounded():
    """At a step of 0.004 a row of 128 weights has 250 steps to give away: no maps take more than these."""
    n, generator = 128, np.random.default_rng(0)
    steps = generator.geometric(1 / (1 + 250 / n), (12, 12, n, n)) - 1.0
    worst = list((steps / 250).astype(np.float32))
    assert 1_000_000 < len(page(made(worst)).encode()) < 1_150_000
