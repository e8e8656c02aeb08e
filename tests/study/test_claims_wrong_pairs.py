"""Real results of tiny models that aren't what a claim speaks of: random weights, a stranger, exchanged corpora."""

from __future__ import annotations

import copy
from dataclasses import asdict, replace

import numpy as np
import pytest
import torch

import bertscope
from bertscope.analyses.change.question import ChangeConfig
from bertscope.analyses.similarity.question import SimilarityConfig
from bertscope.core.examples import Examples
from bertscope.core.model_record import DataRecord, Origin
from bertscope.core.result import Result
from bertscope.data.corpus import read_examples
from bertscope.models.encoder import Encoder
from bertscope.models.own_task_head import with_random_weights
from bertscope.study.claims.measure import judged
from bertscope.study.claims.records import CLAIMS
from bertscope.study.claims.records.preconditions import TunedFromFirst
from judging import one_row
from toy import task

QUICK = SimilarityConfig(words=100, grid=False)


def moved(encoder: Encoder, origin: Origin | None = None) -> Encoder:
    """The same with its weights moved a little, and this noted of how it was made."""
    after = replace(copy.deepcopy(encoder), name="after")
    torch.manual_seed(0)
    with torch.no_grad():
        for weight in after.model.parameters():
            weight += 0.02 * torch.randn_like(weight)
    if origin:
        after.model.config.bertscope = {"origin": asdict(origin)}
    return after


def compared(before: Encoder, after: Encoder, corpus: Examples) -> list[Result]:
    return [
        bertscope.similarity([before, after], corpus, QUICK, against=corpus.take(np.arange(20))),
        bertscope.change(before, after, corpus, ChangeConfig(repeats=100)),
    ]


@pytest.fixture(scope="module")
def corpus() -> Examples:
    return read_examples("demo/corpus", limit=60)


def test_pocket_against_random_weights_or_a_stranger_says_nothing_of_fine_tuning(_tiny, corpus):
    of_tuning = [claim for claim in CLAIMS if TunedFromFirst() in claim.needs]
    tuned = moved(_tiny, Origin("finetune", _tiny.record, DataRecord("toy", "toy", "classification"), seed=0))
    table, _ = judged(compared(_tiny, tuned, corpus), of_tuning)
    assert table["verdict"].str.startswith(("holds", "fails")).sum() >= 3, "of what was fine-tuned it does"
    for other in (with_random_weights(_tiny), moved(_tiny)):
        table, _ = judged(compared(_tiny, other, corpus), of_tuning)
        assert not table["verdict"].str.startswith(("holds", "fails")).any()


def test_which_corpus_is_the_tasks_is_known_by_content_whichever_comes_first(_tiny, corpus):
    learned = task()
    origin = Origin("finetune", _tiny.record, DataRecord(learned.fingerprint, "renamed", "classification"), seed=0)
    pair, mine = [_tiny, moved(_tiny, origin)], Examples.of(learned)
    here, there = (
        bertscope.similarity(pair, one, QUICK, against=other) for one, other in ((mine, corpus), (corpus, mine))
    )
    assert set(here.tables["corpora"]["own"]) == {"here"} and set(there.tables["corpora"]["own"]) == {"there"}
    rows = [one_row("elsewhere-moves-less", [result]) for result in (here, there)]
    assert rows[0]["verdict"] == rows[1]["verdict"] != "not_tested" and not np.isnan(rows[0]["low"])
    assert [rows[0][key] for key in ("effect", "low", "high")] == pytest.approx(
        [rows[1][key] for key in ("effect", "low", "high")]
    )
    unknown = bertscope.similarity(pair, corpus, QUICK, against=corpus.take(np.arange(20)))
    assert one_row("elsewhere-moves-less", [unknown])["why"].endswith("isn't recorded")
