"""Claims of the course project (CS4650 slides): top layers, biased data, contrastive training; and of freezing."""

from __future__ import annotations

from bertscope.study.claims.claim import Claim

CLAIMS: tuple[Claim, ...] = ()
