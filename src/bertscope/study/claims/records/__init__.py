"""What the source works say: a file of claims for each, and the numbers that they publish.

`claim` is the record, with the one rule that gives a verdict; `evidence` and `estimates` are what records read off
results.
"""

from __future__ import annotations

from bertscope.study.claims.records import course, dark_secrets, embeddings, geometry, lottery, switched_off
from bertscope.study.claims.records.claim import Claim

CLAIMS: tuple[Claim, ...] = (
    *dark_secrets.CLAIMS,
    *switched_off.CLAIMS,
    *lottery.CLAIMS,
    *embeddings.CLAIMS,
    *geometry.CLAIMS,
    *course.CLAIMS,
)
