"""`states`: one pass of the encoder over the corpus, every layer's vectors kept."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from bertscope.analyses.occurrences import Windows, left_out_notes
from bertscope.analyses.side_by_side import subject
from bertscope.analyses.states.question import StatesConfig, states
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.folders import refuse_foreign
from bertscope.core.model_record import records
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.models.encoder import Encoder
from bertscope.models.new_task_head import with_random_weights
from bertscope.models.states import hidden_states
from bertscope.models.states_store import KIND, StatesStore, join, open_store


@dataclass(frozen=True)
class States:
    store: StatesStore
    result: Result


def measure(
    model: Encoder, examples: Examples, config: StatesConfig, *, out: str | Path | None = None, resume: bool = True
) -> States:
    """With `out`, the vectors are kept there; what was left unfinished is taken up, or with `resume=False` begun
    anew."""
    store = _kept(model, examples, config, out, resume)
    return States(store, _result(store, examples, config))


def shard(model: Encoder, examples: Examples, config: StatesConfig, *, out: Path, resume: bool = True) -> StatesStore:
    """The states of some of the texts, kept in a folder of their own."""
    return _kept(model, examples, config, out, resume, part=True)


def of_shards(
    shards: Sequence[Sequence[StatesStore]], about: Examples, windows: Windows, config: StatesConfig, *, out: Path,
    resume: bool = True,
) -> States:  # fmt: skip
    """What the shards keep, as one: `out` says where they lie."""
    (mine,) = shards
    if not any(map(len, mine)):
        raise UserError(f"no text of {about.name} has a word to read, or all are longer than the model reads")
    store = join([one.folder for one in mine], out)
    return States(store, _result(store, about, config))


def _kept(
    model: Encoder, examples: Examples, config: StatesConfig, out: str | Path | None, resume: bool, part: bool = False
) -> StatesStore:
    model = with_random_weights(model, config.seed) if config.init == "random" else model
    if out is not None and not resume:
        refuse_foreign(Path(out), KIND)
        shutil.rmtree(out, ignore_errors=True)
    return hidden_states(model, examples, pool=config.pool, store=out, may_be_empty=part)


def _result(store: StatesStore, about: Examples, config: StatesConfig) -> Result:
    kept = pd.DataFrame({"layer": store.layers, "vectors": len(store), "dimensions": store.dim})
    return states.result(
        tables={"kept": kept},
        headline=[
            Number("vectors", len(store), n=len(store.ids)),
            Number("layers", len(store.layers)),
            Number("megabytes", store.array.nbytes / 1e6),
        ],
        models=records([store]),
        subject=subject(about) | {"pool": config.pool},
        notes=[*about.notes, *left_out_notes({store.record.id: store})],
    )


def kept(folder: Path, result: Result) -> States:
    return States(open_store(folder), result)
