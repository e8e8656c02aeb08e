"""The ledger's rows of one claim, judged as `claims` judges them."""

from __future__ import annotations

from typing import Any

from bertscope.core.result import Result
from bertscope.study.claims.measure import judged
from bertscope.study.claims.records import CLAIMS

BY_ID = {claim.id: claim for claim in CLAIMS}
SKILL = 0.4
"""What the whole model has above chance in every planted result."""


def rows(claim_id: str, results: list[Result]) -> list[dict[str, Any]]:
    table, unread = judged(results, [BY_ID[claim_id]])
    assert not unread
    return table.to_dict("records")


def one_row(claim_id: str, results: list[Result]) -> dict[str, Any]:
    """The first: of a base and what became of it, the base's."""
    return rows(claim_id, results)[0]


def bound(claim_id: str) -> float:
    """Where a claim's bound lies, of the planted results: a share of their skill, or what they make of it."""
    asks = BY_ID[claim_id].asks
    return {"last-two-layers-more": 0.2}.get(claim_id, asks.at * SKILL if asks.of_skill else asks.at)
