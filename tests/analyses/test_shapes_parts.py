"""Maps divided into columns, band, block and rest: planted ones to 1e-6, of 7 to 128 tokens; one map."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import bertscope
from bertscope.analyses.shapes.decomposition import PARTS, decompose
from bertscope.analyses.shapes.features import features
from bertscope.analyses.shapes.labelled import as_layer
from bertscope.core.errors import UserError

LENGTHS = (7, 12, 33, 64, 128)
MIXED = ((1, 0, 0), (0, 1, 0), (0, 0, 1), (0.5, 0.5, 0), (0.2, 0.3, 0.5), (0.3, 0, 0.7), (0, 0.4, 0.6))


def columns(n: int, at: dict[int, float]) -> np.ndarray:
    found = np.zeros((n, n))
    found[:, list(at)] = list(at.values())
    return found


def band(n: int, offset: int, width: int, *, piled: bool) -> np.ndarray:
    """Diagonals from `offset` on. Beyond the edge: piled up in the last cell, or spread over those inside."""
    found = np.zeros((n, n))
    for row in range(n):
        keys = [row + offset + step for step in range(width)]
        inside = [key for key in keys if 0 <= key < n]
        for key in keys if piled or not inside else inside:
            found[row, min(max(key, 0), n - 1)] += 1
    return found / found.sum(1, keepdims=True)


def block(n: int, second: int) -> np.ndarray:
    side = np.arange(n) >= second
    found = (side[:, None] == side).astype(float)
    return found / found.sum(1, keepdims=True)


def special(n: int, second: int) -> list[int]:
    return [0, n - 1] if second == n else [0, second - 1, n - 1]


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("pair", [False, True])
def test_planted_parts_are_found_exactly(n, pair):
    second = n // 2 if pair else n
    of_band = [(-1, 1), (0, 1), (1, 1)] + [(-2, 1), (-1, 3), (0, 2), (3, 1)] * (n > 7)
    maps, wanted, bands = [], [], []
    for offset, width in of_band:
        for piled in (False, True):
            for of_columns, of_band_, of_block in MIXED:
                two = columns(n, {0: 0.7, n - 1: 0.3})
                parts = (two, band(n, offset, width, piled=piled), block(n, second))
                maps.append(sum(s * p for s, p in zip((of_columns, of_band_, of_block), parts, strict=True)))
                wanted.append((of_columns, of_band_, of_block, 0))
                bands.append((offset + (width - 1) / 2, width) if of_band_ else (np.nan, np.nan))
    found = decompose(as_layer(maps, [special(n, second)] * len(maps)))
    np.testing.assert_allclose(found.shares[:, 0], wanted, atol=1e-6)
    np.testing.assert_allclose(torch.stack([found.offset, found.width], -1)[:, 0], bands, atol=1e-4)


def test_a_uniform_map_is_block_and_the_texts_of_a_pair_may_have_their_own_column():
    own = np.zeros((12, 12))
    own[:6, 2], own[6:, 9] = 1, 1
    found = decompose(as_layer([np.full((12, 12), 1 / 12), own], [[0, 5, 11]] * 2)).shares[:, 0]
    np.testing.assert_allclose(found, [[0, 0, 1, 0], [1, 0, 0, 0]], atol=1e-6)


def test_cells_of_their_own_are_rest():
    """Every query looks at one token: no column has two queries, no diagonal most of its own."""
    order = np.array([4, 0, 6, 1, 7, 3, 8, 5, 2])
    found = decompose(as_layer([np.eye(9)[order]], [[0, 8]])).shares[0, 0]
    np.testing.assert_allclose(found, [0, 0, 0, 1], atol=1e-6)


def test_parts_and_features_do_not_move_with_padding():
    random = np.random.default_rng(0)
    maps = [random.dirichlet(np.full(n, 0.3), size=n) for n in (7, 12, 20, 33)]
    places = [[0, 6], [0, 5, 11], [0, 19], [0, 20, 32]]
    together = as_layer(maps, places)
    for row, (one, at) in enumerate(zip(maps, places, strict=True)):
        alone = as_layer([one], [at])
        torch.testing.assert_close(decompose(together).shares[row], decompose(alone).shares[0], atol=1e-5, rtol=0)
        torch.testing.assert_close(features(together)[row], features(alone)[0], atol=1e-4, rtol=1e-4)
    shares = decompose(together).shares
    torch.testing.assert_close(shares.sum(-1), torch.ones(4, 1))
    assert (shares >= 0).all()


@pytest.mark.parametrize(
    ("made", "name", "part"),
    [(columns(20, {0: 0.8, 19: 0.2}), "vertical", "columns"), (band(20, -1, 1, piled=True), "diagonal", "band"),
     (block(20, 9), "block", "block")],
)  # fmt: skip
def test_one_map_is_divided_and_named(made, name, part):
    for held in (made, torch.from_numpy(made)):
        found = bertscope.classify_map(held, [8, 19])
        assert found.name == name == max(found.probabilities, key=found.probabilities.get)
        assert found.shares[part] == pytest.approx(1, abs=1e-6) and list(found.shares) == list(PARTS)
        assert set(found.by_labels.values()) == {name}
    if part == "band":
        assert (found.offset, found.width) == pytest.approx((-1, 1))
    assert bertscope.classify_map(np.full((9, 9), 1 / 9)).shares["block"] == pytest.approx(1)


@pytest.mark.parametrize(
    ("held", "separators", "told"),
    [(np.ones((3, 4)) / 4, [], "one map"), (np.ones((2, 5, 5)) / 5, [], "shape \\[2, 5, 5\\]"),
     (np.ones((5, 5)), [], "row 0 .* sums to 5"), (np.full((5, 5), np.nan), [], "NaN"),
     (np.full((5, 5), 0.2), [5], "separator 5"), (np.eye(5) * 2 - 0.2, [], "negative")],
)  # fmt: skip
def test_what_is_no_map_is_refused_in_one_line(held, separators, told):
    with pytest.raises(UserError, match=told) as error:
        bertscope.classify_map(held, separators)
    assert "\n" not in str(error.value)
