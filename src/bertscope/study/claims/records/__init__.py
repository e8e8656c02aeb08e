"""What the source works say: a file of claims for each, and the numbers that they publish.

`claim` is the record, with the one rule that gives a verdict; `preconditions` are what must be so for a number to be
evidence; `evidence`, `skill` and `estimates` are what records read off results.
"""

from __future__ import annotations

from bertscope.study.claims.records import (
    attended,
    course,
    dark_secrets,
    embeddings,
    geometry,
    grafted,
    lottery,
    probes,
    switched_off,
)
from bertscope.study.claims.records.claim import Claim

CLAIMS: tuple[Claim, ...] = (
    *dark_secrets.CLAIMS,
    *attended.CLAIMS,
    *switched_off.CLAIMS,
    *grafted.LAST_TWO,
    *lottery.CLAIMS,
    *embeddings.CLAIMS,
    *grafted.TOP_LAYERS,
    *probes.KEPT,
    *probes.CLAIMS,
    *geometry.CLAIMS,
    *course.CLAIMS,
)
