"""`states`: one pass of the encoder over the corpus, every layer's vectors kept."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from bertscope.analyses.side_by_side import subject
from bertscope.analyses.states.question import StatesConfig, states
from bertscope.core.examples import Examples
from bertscope.core.folders import refuse_foreign
from bertscope.core.model_record import records
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.models.encoder import Encoder
from bertscope.models.own_task_head import with_random_weights
from bertscope.models.states import hidden_states
from bertscope.models.states_store import KIND, StatesStore, open_store


@dataclass(frozen=True)
class States:
    store: StatesStore
    result: Result


def measure(
    model: Encoder, examples: Examples, config: StatesConfig, *, out: str | Path | None = None, resume: bool = True
) -> States:
    """With `out`, the vectors are kept there; what was left unfinished is taken up, or with `resume=False` begun
    anew."""
    model = with_random_weights(model, config.seed) if config.init == "random" else model
    if out is not None and not resume:
        refuse_foreign(Path(out), KIND)
        shutil.rmtree(out, ignore_errors=True)
    store = hidden_states(model, examples, pool=config.pool, store=out)
    kept = pd.DataFrame({"layer": store.layers, "vectors": len(store), "dimensions": store.dim})
    left_out = [f"{len(store.left_out)} texts are longer than {model.max_length} tokens and were left out"]
    result = states.result(
        tables={"kept": kept},
        headline=[
            Number("vectors", len(store), n=len(examples)),
            Number("layers", len(store.layers)),
            Number("megabytes", store.array.nbytes / 1e6),
        ],
        models=records([store]),
        subject=subject(examples) | {"pool": config.pool},
        notes=[*examples.notes, *(left_out if store.left_out else [])],
    )
    return States(store, result)


def kept(folder: Path, result: Result) -> States:
    return States(open_store(folder), result)
