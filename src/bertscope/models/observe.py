"""One streaming pass: every encoder on every batch, every observer on what they show, nothing kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
import torch
from torch import Tensor

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.memory_mapped import memory_mapped
from bertscope.core.progress import progress
from bertscope.models.batches import WINDOW, Batch, batches, tokenise
from bertscope.models.families import refuse_rotated
from bertscope.models.finite_pass import measuring
from bertscope.models.one_place import refuse_apart
from bertscope.models.taps import Tap, allowed_keys, tapped

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder

INSIDE = frozenset({"maps", "allowed", "norms", "contexts", "mlps"})
"""What layers show."""
NEEDS = INSIDE | {"hidden_states", "logits"}
_CELLS = {True: 2**16, False: 2**19}  # of a head's maps of a batch, on a CPU and elsewhere: they grow with the square


@dataclass
class Seen:
    """What one encoder showed on one batch; only what some observer needs is there. Lists run over layers."""

    maps: list[Tensor] = field(default_factory=list)
    """Attention [batch, head, query, key]; padded queries are there too, padded keys get 0."""
    allowed: list[Tensor] = field(default_factory=list)
    """[batch, 1, query, key]: 1 where a query may look at a key, 0 at padding and outside a local layer's window. The
    batch and the query are 1 long where all are alike. Layers that were given the same mask have the same tensor."""
    norms: list[Tensor] = field(default_factory=list)
    """How long the vector is that a key's value adds to the layer's output for each unit of attention, |W_o v|
    [batch, head, key] (Kobayashi et al. 2020)."""
    contexts: list[Tensor] = field(default_factory=list)
    """Heads' outputs before the projection [batch, query, head, d]."""
    mlps: list[Tensor] = field(default_factory=list)
    """MLPs' outputs before residual and LayerNorm [batch, token, hidden]."""
    hidden_states: tuple[Tensor, ...] = ()
    """transformers' tuple: embeddings, then each layer's output."""
    logits: Tensor | None = None

    def lowest_layer(self) -> Seen:
        """What the lowest layer showed, which then isn't here any more."""
        inside = (self.maps, self.allowed, self.norms, self.contexts, self.mlps)
        maps, allowed, norms, contexts, mlps = ([shown.pop(0)] if shown else [] for shown in inside)
        return Seen(maps, allowed, norms, contexts, mlps)


class Observer(Protocol):
    """Reduces what is seen of each batch at once; what it keeps must not grow with the length of the texts."""

    needs: frozenset[str]

    def update(self, batch: Batch, seen: Sequence[Seen]) -> None:
        """`seen` holds one entry per encoder."""


class LayerObserver(Protocol):
    """Reduces what is seen of each layer at once."""

    needs: frozenset[str]

    def update(self, batch: Batch, layer: int, seen: Sequence[Seen]) -> None:
        """`seen` holds one entry per encoder, each with this layer (0-based) alone."""


@dataclass(frozen=True)
class Passed:
    """What a pass went through."""

    examples: int
    truncated: int
    """Texts longer than the model reads, which were truncated."""
    left_out: int = 0
    """Texts longer than the model reads, which were left out."""


def observe(
    encoders: Sequence[Encoder],
    examples: Examples,
    observers: Sequence[Observer],
    *,
    tokens: int | None = None,
    window: int = WINDOW,
    long: Literal["truncated", "left_out"] = "truncated",
    label: str = "reading",
) -> Passed:
    """Run every encoder over the examples once and show each batch to every observer.

    tokens   the budget of a batch, padding included; by default what suits the device
    window   how many texts are tokenised and sorted by length at a time: memory depends on it, results don't
    long     what becomes of texts longer than the model reads
    """
    needs = frozenset().union(*(observer.needs for observer in observers))
    _check(encoders, examples, needs, NEEDS)

    def read(batch: Batch) -> None:
        seen = [look(encoder, batch, needs) for encoder in encoders]
        for observer in observers:
            observer.update(batch, seen)

    return _stream(encoders, examples, read, needs, tokens, window, long, label)


def observe_layers(
    encoders: Sequence[Encoder],
    examples: Examples,
    observer: LayerObserver,
    *,
    tokens: int | None = None,
    window: int = WINDOW,
    long: Literal["truncated", "left_out"] = "truncated",
    label: str = "reading",
) -> Passed:
    """The same for what layers show, each shown as soon as the last encoder has passed it, and then let go. Of one
    encoder no more than a layer's maps are there at a time, and they are read while they are in the cache."""
    read = reads_layers(encoders, examples, observer)
    return _stream(encoders, examples, read, observer.needs, tokens, window, long, label)


def reads_layers(
    encoders: Sequence[Encoder], examples: Examples, observer: LayerObserver, places: list[WaitingPlace] | None = None
) -> Callable[[Batch], None]:
    """What runs these encoders on a batch and shows each layer to the observer. `places` are those of others who read
    at another time, and get more if they are too few."""
    _check(encoders, examples, observer.needs, INSIDE)
    *others, last = encoders
    places = [] if places is None else places
    places += [WaitingPlace() for _ in others[len(places) :]]

    def read(batch: Batch) -> None:
        waiting = zip(others, places, strict=False)
        seen = [look(encoder, batch, observer.needs, place.keep) for encoder, place in waiting]

        def show(layer: int, shown: Seen) -> None:
            observer.update(batch, layer, [one.lowest_layer() for one in (*seen, shown)])

        look(last, batch, observer.needs, show)

    return read


class WaitingPlace:
    """Where what an encoder shows waits for the last one: in the same place for every batch.

    Left where it came to be, between all that a pass needs for a moment, it would break up that memory.
    """

    def __init__(self) -> None:
        self._places: dict[tuple[str, int], Tensor] = {}

    def keep(self, _: int, seen: Seen) -> None:
        """Move what the latest layer showed here, where the CPU's memory is concerned."""
        for name in INSIDE:
            shown: list[Tensor] = getattr(seen, name)
            if shown and shown[-1].device.type == "cpu":
                shown[-1] = self._moved((name, len(shown)), shown[-1])

    def _moved(self, what: tuple[str, int], shown: Tensor) -> Tensor:
        if what not in self._places or self._places[what].numel() < shown.numel():
            self._places[what] = torch.from_numpy(memory_mapped([shown.numel()], np.float32, in_memory=True))
        return self._places[what][: shown.numel()].view(shown.shape).copy_(shown)


def _stream(
    encoders: Sequence[Encoder],
    examples: Examples,
    read: Callable[[Batch], None],
    needs: frozenset[str],
    tokens: int | None,
    window: int,
    long: Literal["truncated", "left_out"],
    label: str,
) -> Passed:
    """Hand every batch to `read`; nothing of a batch is left when the next one comes."""
    first = encoders[0]
    max_length = min(encoder.max_length for encoder in encoders)
    seen_examples = truncated = 0
    with measuring(encoders), torch.inference_mode(), progress(label, len(examples)) as bar:
        for batch in batches(
            first.tokenizer, examples, max_length=max_length, window=window, long=long,
            **budget(first, needs) | ({"tokens": tokens} if tokens else {}),
        ):  # fmt: skip
            read(batch)
            truncated += batch.truncated
            seen_examples += len(batch)
            bar.advance(len(batch))
    return passed(first.name, max_length, len(examples), seen_examples, truncated)


def passed(name: str, max_length: int, examples: int, seen: int, truncated: int) -> Passed:
    """What a pass went through; one that saw nothing is refused."""
    if not seen:
        raise UserError(f"every text is longer than the {max_length} tokens that {name} reads; give shorter ones")
    return Passed(seen, truncated, examples - seen)


def budget(encoder: Encoder, needs: frozenset[str]) -> dict[str, Any]:
    """How large batches are, and where they go, for what is looked at."""
    cells = _CELLS[encoder.device.type == "cpu"] if "maps" in needs else None
    return {"tokens": default_budget(encoder), "cells": cells, "device": encoder.device}


def default_budget(encoder: Encoder) -> int:
    """Tokens per batch that keep the device busy: a GPU wants more at a time."""
    return 2048 if encoder.device.type == "cpu" else 16384


Show = Callable[[int, Seen], None]


class _Recorder(Tap):
    """Keeps what one forward pass shows of itself, if it is needed."""

    def __init__(self, encoder: Encoder, needs: frozenset[str], seen: Seen, show: Show | None) -> None:
        self.wants_maps, self._encoder, self._needs, self._seen = "maps" in needs, encoder, needs, seen
        self._show = show
        self._allowed: tuple[Tensor | None, Tensor] | None = None  # the latest layer's mask, and what it allows

    def on_maps(self, layer: int, maps: Tensor) -> None:
        self._seen.maps.append(maps)

    def on_context(self, layer: int, context: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        if "contexts" in self._needs:
            self._seen.contexts.append(context)
        if "allowed" in self._needs:
            if self._allowed is None or self._allowed[0] is not mask:
                self._allowed = mask, allowed_keys(value, mask)
            self._seen.allowed.append(self._allowed[1])
        if "norms" in self._needs:
            self._seen.norms.append(self._norms(layer, value))
        return context

    def on_mlp(self, layer: int, output: Tensor) -> Tensor:
        if "mlps" in self._needs:
            self._seen.mlps.append(output)
        return output

    def on_layer(self, layer: int, before: Tensor, after: Tensor) -> Tensor:
        if self._show is not None:
            self._show(layer, self._seen)
        return after

    def _norms(self, layer: int, value: Tensor) -> Tensor:
        """|W_o v| of each head and key, as the root of v'(W_o'W_o)v: the product with W_o itself is never needed."""
        projection = self._encoder.parts(self._encoder.layers[layer])[1].weight
        of_head = projection.unflatten(1, (value.shape[1], value.shape[3]))  # [hidden, head, d]
        gram = torch.einsum("ohd,ohe->hde", of_head, of_head)
        return torch.einsum("bhkd,hde,bhke->bhk", value, gram, value).clamp_min(0).sqrt()


def look(encoder: Encoder, batch: Batch, needs: frozenset[str], show: Show | None = None) -> Seen:
    """One forward pass; `show` is called after each of its layers."""
    seen = Seen()
    with tapped(encoder, _Recorder(encoder, needs, seen, show)) if needs & INSIDE else nullcontext():
        # The task head is left alone unless somebody wants it: a language model's is a quarter of a pass.
        model = encoder.model if "logits" in needs else encoder.model.base_model
        output = model(**batch.inputs, output_hidden_states="hidden_states" in needs)
    if "hidden_states" in needs:
        seen.hidden_states = output.hidden_states
    if "logits" in needs:
        seen.logits = output.prediction_logits if "prediction_logits" in output else output.logits
    return seen


def _check(encoders: Sequence[Encoder], examples: Examples, needs: frozenset[str], known: frozenset[str]) -> None:
    if not len(examples):
        raise UserError("there are no examples to read")
    if unknown := needs - known:
        raise ValueError(f"an observer needs {sorted(unknown)}; there is {sorted(known)}")
    refuse_apart(encoders)
    for one in encoders if "norms" in needs else ():
        refuse_rotated(one.model.config, one.name, "how long they are can't be told; leave out --weighted")
    first, *others = encoders
    for other in others:
        if other.tokenizer.get_vocab() != first.tokenizer.get_vocab() or not _split_alike(first, other, examples):
            raise UserError(
                f"{first.name} and {other.name} have different tokenizers: their tokens can't be compared; "
                "choose two checkpoints of one model"
            )


def _split_alike(first: Encoder, other: Encoder, examples: Examples) -> bool:
    """Whether two tokenizers of one vocabulary split these texts alike: one may lower them and the other not."""
    if first.tokenizer_digest == other.tokenizer_digest:
        return True
    some, longest = examples.take(range(min(len(examples), WINDOW))), min(first.max_length, other.max_length)
    one, two = (tokenise(each.tokenizer, some, longest).fields["input_ids"] for each in (first, other))
    return np.array_equal(one, two)
