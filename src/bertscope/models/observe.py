"""One streaming pass: every encoder on every batch, every observer on what they show, nothing kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np
import torch
from torch import Tensor

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.progress import progress
from bertscope.models.batches import Batch, batches
from bertscope.models.encoder import Encoder
from bertscope.models.gates import Means
from bertscope.models.rows import first_token_only
from bertscope.models.taps import Tap, tapped

NEEDS = frozenset({"maps", "norms", "contexts", "mlps", "hidden", "logits"})


@dataclass
class Seen:
    """What one encoder showed on one batch; only what some observer needs is there. Lists run over layers."""

    maps: list[Tensor] = field(default_factory=list)
    """Attention [batch, head, query, key]; padded queries are there too, padded keys get 0."""
    norms: list[Tensor] = field(default_factory=list)
    """How long the vector is that a key's value adds to the layer's output for each unit of attention, |W_o v|
    [batch, head, key] (Kobayashi et al. 2020)."""
    contexts: list[Tensor] = field(default_factory=list)
    """Heads' outputs before the projection [batch, query, head, d]."""
    mlps: list[Tensor] = field(default_factory=list)
    """MLPs' outputs before residual and LayerNorm [batch, token, hidden]."""
    hidden: tuple[Tensor, ...] = ()
    """transformers' tuple: embeddings, then each layer's output."""
    logits: Tensor | None = None


class Observer(Protocol):
    """Reduces what is seen of each batch at once; what it keeps must not grow with the length of the texts."""

    needs: frozenset[str]

    def update(self, batch: Batch, seen: Sequence[Seen]) -> None:
        """`seen` holds one entry per encoder."""


@dataclass(frozen=True)
class Passed:
    """What a pass went through."""

    examples: int
    truncated: int
    """Texts longer than the model reads, which were cut."""
    left_out: int = 0
    """Texts longer than the model reads, which were left out."""


@dataclass(frozen=True)
class Predictions:
    ids: tuple[str, ...]
    logits: np.ndarray
    """[example, class], or [example, 1] for a regression; float32."""
    labels: np.ndarray | None
    truncated: int


def observe(
    encoders: Sequence[Encoder],
    examples: Examples,
    observers: Sequence[Observer],
    *,
    tokens: int | None = None,
    window: int = 2048,
    long: Literal["cut", "left out"] = "cut",
    label: str = "reading",
) -> Passed:
    """Run every encoder over the examples once and show each batch to every observer.

    tokens   the budget of a batch, padding included; by default what suits the device
    window   how many texts are tokenised and sorted by length at a time: memory depends on it, results don't
    long     what becomes of texts longer than the model reads
    """
    first = _check(encoders, examples, observers)
    needs = frozenset().union(*(observer.needs for observer in observers))
    tokens = tokens or default_budget(first)
    max_length = min(encoder.max_length for encoder in encoders)
    seen_examples = truncated = 0
    with evaluating(encoders), torch.inference_mode(), progress(label, len(examples)) as bar:
        for batch in batches(
            first.tokenizer, examples, max_length=max_length, tokens=tokens, window=window, device=first.device,
            long=long,
        ):  # fmt: skip
            seen = [_look(encoder, batch, needs) for encoder in encoders]
            for observer in observers:
                observer.update(batch, seen)
            truncated += batch.truncated
            seen_examples += len(batch)
            bar.advance(len(batch))
    if not seen_examples:
        raise UserError(
            f"every text is longer than the {max_length} tokens that {first.name} reads; give shorter ones"
        )
    return Passed(seen_examples, truncated, len(examples) - seen_examples)


def default_budget(encoder: Encoder) -> int:
    """Tokens per batch that keep the device busy: a GPU wants more at a time."""
    return 2048 if encoder.device.type == "cpu" else 16384


def predict(encoder: Encoder, examples: Examples, *, tokens: int | None = None, window: int = 2048) -> Predictions:
    """See `Encoder.predict`."""
    encoder.need_classifier()
    outputs = _Logits(len(examples), encoder.model.config.num_labels)
    with first_token_only(encoder):
        passed = observe([encoder], examples, [outputs], tokens=tokens, window=window, label="predicting")
    return Predictions(examples.ids, outputs.logits, examples.label, passed.truncated)


def means(encoder: Encoder, examples: Examples) -> Means:
    """See `Encoder.means`."""
    sums = _Sums()
    observe([encoder], examples, [sums], label="averaging")
    # Layers of a cut model have different numbers of heads: the rows of those that aren't there stay 0.
    heads = torch.zeros(
        encoder.n_layers, encoder.n_heads, encoder.head_size, dtype=torch.double, device=encoder.device
    )
    for layer, total in enumerate(sums.heads):
        heads[layer, : len(total)] = total / sums.tokens
    return Means(heads, torch.stack(sums.mlps) / sums.tokens)


class _Logits:
    needs = frozenset({"logits"})

    def __init__(self, n: int, width: int) -> None:
        self.logits = np.zeros((n, width), dtype=np.float32)

    def update(self, batch: Batch, seen: Sequence[Seen]) -> None:
        assert seen[0].logits is not None
        self.logits[batch.rows] = seen[0].logits.float().cpu().numpy()


class _Sums:
    """Sums over real tokens, per layer. Double precision, so that the order of batches doesn't show."""

    needs = frozenset({"contexts", "mlps"})

    def __init__(self) -> None:
        self.tokens = 0
        self.heads: list[Tensor] = []
        self.mlps: list[Tensor] = []

    def update(self, batch: Batch, seen: Sequence[Seen]) -> None:
        real = batch.inputs["attention_mask"].double()
        heads = [torch.einsum("bt,bthd->hd", real, context.double()) for context in seen[0].contexts]
        mlps = [torch.einsum("bt,btd->d", real, output.double()) for output in seen[0].mlps]
        self.heads = [old + new for old, new in zip(self.heads, heads, strict=True)] if self.heads else heads
        self.mlps = [old + new for old, new in zip(self.mlps, mlps, strict=True)] if self.mlps else mlps
        self.tokens += int(real.sum())


class _Recorder(Tap):
    """Keeps what one forward pass shows of itself, if it is needed."""

    def __init__(self, encoder: Encoder, needs: frozenset[str], seen: Seen) -> None:
        self.wants_maps, self._encoder, self._needs, self._seen = "maps" in needs, encoder, needs, seen

    def on_maps(self, layer: int, maps: Tensor) -> None:
        self._seen.maps.append(maps)

    def on_context(self, layer: int, context: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        if "contexts" in self._needs:
            self._seen.contexts.append(context)
        if "norms" in self._needs:
            self._seen.norms.append(self._norms(layer, value))
        return context

    def on_mlp(self, layer: int, output: Tensor) -> Tensor:
        if "mlps" in self._needs:
            self._seen.mlps.append(output)
        return output

    def _norms(self, layer: int, value: Tensor) -> Tensor:
        """|W_o v| of each head and key, as the root of v'(W_o'W_o)v: the product with W_o itself is never needed."""
        projection = self._encoder.parts(self._encoder.layers[layer])[1].weight
        of_head = projection.unflatten(1, (value.shape[1], value.shape[3]))  # [hidden, head, d]
        gram = torch.einsum("ohd,ohe->hde", of_head, of_head)
        return torch.einsum("bhkd,hde,bhke->bhk", value, gram, value).clamp_min(0).sqrt()


def _look(encoder: Encoder, batch: Batch, needs: frozenset[str]) -> Seen:
    seen = Seen()
    inside = needs & {"maps", "norms", "contexts", "mlps"}
    with tapped(encoder, _Recorder(encoder, needs, seen)) if inside else nullcontext():
        # What sits on top is left alone unless somebody wants it: a language model's head is a quarter of a pass.
        model = encoder.model if "logits" in needs else encoder.model.base_model
        output = model(**batch.inputs, output_hidden_states="hidden" in needs)
    if "hidden" in needs:
        seen.hidden = output.hidden_states
    if "logits" in needs:
        seen.logits = output.prediction_logits if "prediction_logits" in output else output.logits
    return seen


@contextmanager
def evaluating(encoders: Sequence[Encoder]) -> Iterator[None]:
    """Dropout off, and on again for models that had it on; full float32 products."""
    training = [encoder.model for encoder in encoders if encoder.model.training]
    for model in training:
        model.eval()
    try:
        with full_precision():
            yield
    finally:
        for model in training:
            model.train()


@contextmanager
def full_precision() -> Iterator[None]:
    """Full float32 products on a GPU too, whatever the caller allows."""
    precision, convolutions = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = False
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(precision)
        torch.backends.cudnn.allow_tf32 = convolutions


def _check(encoders: Sequence[Encoder], examples: Examples, observers: Sequence[Observer]) -> Encoder:
    if not len(examples):
        raise UserError("there are no examples to read")
    for observer in observers:
        if unknown := observer.needs - NEEDS:
            raise ValueError(f"{type(observer).__name__} needs {sorted(unknown)}; there is {sorted(NEEDS)}")
    first, *others = encoders
    for other in others:
        if other.tokenizer.get_vocab() != first.tokenizer.get_vocab():
            raise UserError(
                f"{first.name} and {other.name} have different tokenizers: their tokens can't be compared; "
                "choose two checkpoints of one model"
            )
    return first
