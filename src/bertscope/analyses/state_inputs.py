"""Hidden states as questions are given them: stores, encoders that have them, or models' names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.model_record import by_key
from bertscope.models.encoder import Encoder
from bertscope.models.load import load
from bertscope.models.states import hidden_states
from bertscope.models.states_store import Pool, StatesStore

Given = StatesStore | Encoder | str
"""What hidden states come from: a store of them, or a model that has them."""


def open_in_turn(states: Given | Sequence[Given]) -> Iterator[StatesStore | Encoder]:
    """What hidden states come from, one after the other; models that are named are loaded as their turn comes."""
    for one in [states] if isinstance(states, Given) else states:
        yield load(one) if isinstance(one, str) else one


def open_states(states: Given | Sequence[Given], examples: Examples, pool: Pool = "word") -> dict[str, StatesStore]:
    """Hidden states by what tables call them: their encoders' ids.

    What is a store already is only checked: it must hold these examples, pooled like that.
    """
    stores = []
    for given in open_in_turn(states):
        store = given if isinstance(given, StatesStore) else hidden_states(given, examples, pool=pool)
        if store.pool != pool or list(store.ids) != list(examples.ids):
            raise UserError(
                f"{store.folder} holds {store.pool} vectors of {len(store.ids):,} texts, not {pool} vectors of these "
                f"{len(examples):,}; make them with hidden_states(encoder, examples, pool={pool!r})"
            )
        stores.append(store)
    return by_key(stores)
