"""`states`: the hidden states that questions about representations read, kept once and shared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bertscope.core.catalogue import question
from bertscope.core.config import check_choices, check_least
from bertscope.core.errors import UserError
from bertscope.core.registry import find
from bertscope.core.result import Number, Result
from bertscope.core.step import Root, Step
from bertscope.models.states_store import Pool

if TYPE_CHECKING:
    from bertscope.core.examples import Examples
    from bertscope.models.encoder import Encoder
    from bertscope.models.states_store import StatesStore

    Given = StatesStore | Encoder | str
    """What hidden states come from: a store of them, or a model that has them."""


@dataclass(frozen=True)
class StatesConfig:
    """What is kept of an encoder's hidden states."""

    pool: Pool = "word"
    """word: the mean of a word's pieces; token: each token that isn't special; cls: the first token; mean: the mean
    of an example's tokens, special ones excepted."""
    init: Literal["pretrained", "random"] = "pretrained"
    """random: draw all weights anew first, as a control for what pre-training gave."""
    seed: int = 0
    """Of the random weights; nothing else is random."""

    def __post_init__(self) -> None:
        check_choices(self)
        check_least(self, seed=0)


@dataclass(frozen=True)
class States:
    store: StatesStore
    result: Result


@question(
    "states",
    inputs=("model", "examples"),
    version=2,
    main="vectors",
    cite="Devlin et al. 2019, BERT: Pre-training of Deep Bidirectional Transformers",
    keeps="states",
)
def states(
    model: Encoder | str,
    examples: Examples | str,
    config: StatesConfig = StatesConfig(),  # noqa: B008 (frozen)
    *,
    out: str | Path | None = None,
) -> States:
    """Keep the hidden states of a corpus.

    One pass of the encoder; every layer's vectors go to a memory-mapped array that `similarity`, `structure`,
    `probe`, `project` and `geometry` read, so that none of them runs the encoder again.
    """
    import pandas as pd

    from bertscope.data.corpus import open_examples
    from bertscope.models.load import load
    from bertscope.models.new_task_head import with_random_weights
    from bertscope.models.states import hidden_states

    model = load(model) if isinstance(model, str) else model
    model = with_random_weights(model, config.seed) if config.init == "random" else model
    examples = open_examples(examples)
    store = hidden_states(model, examples, pool=config.pool, store=out)
    kept = pd.DataFrame({"layer": store.layers, "vectors": len(store), "dimensions": store.dim})
    left_out = [f"{len(store.left_out)} texts are longer than {model.max_length} tokens and were left out"]
    result = Result(
        "states",
        2,
        tables={"kept": kept},
        headline=[
            Number("vectors", len(store), n=len(examples)),
            Number("layers", len(store.layers)),
            Number("megabytes", store.array.nbytes / 1e6),
        ],
        subject={"model": model.name} | ({"task": examples.name} if examples.name else {}) | {"pool": config.pool},
        notes=[*examples.notes, *(left_out if store.left_out else [])],
    )
    return States(store, result)


def planned(name: str) -> Callable[..., Step]:
    """The plan of a question with the inputs `states` and `examples`: each model's states are a step of their own."""

    def plan(*arguments: Any) -> Step:
        *models, examples, config = arguments
        return find(name).step(state_steps(models, examples) | {"examples": examples}, config)

    return plan


def state_steps(models: Sequence[Step | Root], examples: Root, *, name: str = "states") -> dict[str, Step]:
    """The steps that keep these models' states over these examples, as a question's inputs `NAME.0`, `NAME.1` ..."""
    return {
        f"{name}.{place}": find("states").step({"model": model, "examples": examples}, StatesConfig())
        for place, model in enumerate(models)
    }


def opened(states: Given | Sequence[Given]) -> Iterator[StatesStore | Encoder]:
    """What hidden states come from, one after the other; models that are named are loaded as their turn comes."""
    from bertscope.models.encoder import Encoder
    from bertscope.models.load import load
    from bertscope.models.states_store import StatesStore

    for one in [states] if isinstance(states, (StatesStore, Encoder, str)) else states:
        yield load(one) if isinstance(one, str) else one


def open_states(states: Given | Sequence[Given], examples: Examples, pool: Pool = "word") -> dict[str, StatesStore]:
    """Hidden states by the names that tables call them: their encoders', numbered where two have the same.

    What is a store already is only checked: it must hold these examples, pooled like that.
    """
    from bertscope.analyses.side_by_side import distinct_names
    from bertscope.models.states import hidden_states
    from bertscope.models.states_store import StatesStore

    stores = []
    for given in opened(states):
        store = given if isinstance(given, StatesStore) else hidden_states(given, examples, pool=pool)
        if store.pool != pool or list(store.ids) != list(examples.ids):
            raise UserError(
                f"{store.folder} holds {store.pool} vectors of {len(store.ids):,} texts, not {pool} vectors of these "
                f"{len(examples):,}; make them with hidden_states(encoder, examples, pool={pool!r})"
            )
        stores.append(store)
    return dict(zip(distinct_names(store.name for store in stores), stores, strict=True))
