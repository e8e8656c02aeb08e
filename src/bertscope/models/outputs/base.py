"""A model's half of an output: how examples become rows, what the model says of them, and what its loss is.

The other half (`core/output.py`) knows what predictions and right answers are, and how they are scored. Here an
example may be read as several rows: windows of a long text, the candidates of a choice, the two texts that are
compared. All rows of an example are in one batch, so that whatever is computed of a batch is whole.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from bertscope.core.errors import UserError
from bertscope.core.examples import NOTHING, Examples
from bertscope.core.freed_memory import give_back_memory
from bertscope.core.model_record import Origin
from bertscope.core.output import Output
from bertscope.models.batches import WINDOW, Batch, Shape, Tokens, pad, tokenise
from bertscope.models.observe import default_budget
from bertscope.models.outputs.contrasted import Contrasted
from bertscope.models.outputs.deployed import Deployed
from bertscope.models.outputs.explained import Explained
from bertscope.models.sending import sent

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder, TaskHead


@dataclass(frozen=True)
class Rows:
    """Some examples as a model reads them."""

    tokens: Tokens
    """A row each, or several."""
    example: np.ndarray
    """[row]: which of the examples it is of; those of one example follow each other."""
    truncated: np.ndarray
    """[example]: whether something of it isn't read."""
    gold: np.ndarray | None = None
    """[row, ...]: what is right; None where nobody asked for it, or where it is one of the `marks`."""
    marks: Mapping[str, np.ndarray] = field(default_factory=dict)
    """[token], end to end as the tokens are: what the kind needs to know of tokens, and the model isn't shown."""

    @classmethod
    def plain(cls, tokens: Tokens, gold: np.ndarray | None = None, **marks: np.ndarray) -> Rows:
        """A row for each example."""
        return cls(tokens, np.arange(len(tokens)), tokens.truncated, gold, marks)


@dataclass(frozen=True)
class RowBatch(Batch):
    """Rows of some examples, all that each has. `rows` are their places among the tokens."""

    examples: np.ndarray
    """The examples' positions in the corpus."""
    owner: Tensor
    """[row]: the place of its example among `examples`."""
    gold: Any = None
    """[row, ...]: what is right; None where nobody asked for it."""
    marks: Mapping[str, Tensor] = field(default_factory=dict)
    """[row, token]: the rows' `marks`, 0 behind a row's end."""
    cut: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))
    """[example]: whether something of it isn't read."""

    @property
    def right(self) -> Any:
        """[example, ...]: what is right, where an example's rows all say the same."""
        if len(self.examples) == len(self.owner):
            return self.gold
        if self.filled is not None:
            return self.gold.unflatten(0, (len(self.examples), -1))[:, 0]
        each = torch.arange(len(self.examples), device=self.owner.device)
        return self.gold[torch.searchsorted(self.owner, each)]

    def per_example(self, values: Tensor) -> Tensor:
        """Values of rows [row, ...], added up for each example [example, ...]."""
        if len(self.examples) == len(self.owner):
            return values
        if self.filled is not None:
            own = self.filled.rows.view(-1, *[1] * (values.ndim - 1))
            return values.where(own, 0.0).unflatten(0, (len(self.examples), -1)).sum(1)
        return values.new_zeros(len(self.examples), *values.shape[1:]).index_add(0, self.owner, values)


class ModelOutput(Explained, Contrasted):
    """One kind of output of one encoder; losses are made in the order of the labels of the task's `output`."""

    kind: ClassVar[str]
    """As `Output.kind`."""
    task_head: ClassVar[TaskHead]
    """What sits on an encoder that gives such outputs."""
    by_itself: ClassVar[bool] = True
    """Whether it is what the task head gives where no task says what is wanted of it."""
    rows_stand_alone: ClassVar[bool] = True
    """Whether an example's rows can be trained on apart, in different batches."""
    padding: ClassVar[float] = NOTHING
    """What stands in outputs where an example is shorter than the longest."""
    gives: ClassVar[tuple[str, ...]] = ("logits",)
    """What of the library's outputs `run` reads, by name: what an ONNX file gives, too."""
    axes: ClassVar[tuple[str, ...]] = ("batch", "length")
    """Of what the model is called with."""

    def __init__(self, encoder: Encoder, output: Output | None = None) -> None:
        self.encoder, self.output = encoder, output
        if output is not None:
            self.refuse_other(encoder, output)

    @classmethod
    @abstractmethod
    def build(cls, base: Encoder, output: Output, **how: Any) -> Encoder:
        """A copy of the encoder with the new task head that such outputs come from; `how` as for
        `with_new_task_head`."""

    def with_random_weights(self, seed: int) -> Encoder:
        """The encoder as it would be before any training, its task head included: all weights drawn anew."""
        assert self.output is not None
        base = self.encoder
        drawn = Origin("random", base.record, seed=seed, init="random")
        how = {"init": "random", "seed": seed, "name": f"{base.name} (random init)", "origin": drawn}
        return self.build(base, self.output, **how, **self.own_form())

    def own_form(self) -> dict[str, Any]:
        """What else `build` has to know to make a task head like the encoder's own."""
        return {}

    @classmethod
    def refuse_other(cls, encoder: Encoder, output: Output) -> None:
        """Refuse, with what to do, an encoder that doesn't give such outputs."""
        if encoder.task_head != cls.task_head:
            raise UserError(
                f"{encoder.name} has no {cls.task_head} on top (it is: {encoder.task_head}); fine-tune it first: "
                f"bertscope finetune {encoder.name} --on TASK --out FOLDER"
            )

    @abstractmethod
    def width(self, examples: Examples) -> tuple[int, ...]:
        """The axes of outputs behind the one of examples, as long as these examples need them."""

    def rows(self, examples: Examples, *, gold: bool = False) -> Rows:
        """How the examples are read, and what is right where `gold` asks for it."""
        right = self.output.gold(examples) if gold and self.output else None
        return Rows.plain(tokenise(self.encoder.tokenizer, examples, self.encoder.max_length), right)

    def called_with(self, batch: RowBatch) -> dict[str, Tensor]:
        """What the model is called with for a batch, as whoever deploys it would."""
        return batch.inputs

    @property
    def reads(self) -> list[str]:
        """What that is called."""
        return list(self.encoder.tokenizer.model_input_names)

    def deployed(self, model: nn.Module) -> nn.Module:
        """The encoder's model, or a copy of it, as it is run outside of here and written as ONNX: takes what is
        called `reads` and gives what is called `gives`, each in that order."""
        return Deployed(model, self.reads, self.gives)

    @abstractmethod
    def run(self, batch: RowBatch) -> Any:
        """What the model says of a batch, with the graph that leads to it."""

    def read_tokens(self, batch: RowBatch) -> Tensor:
        """[row, token]: the tokens whose last states the task head looks at."""
        return batch.inputs["attention_mask"].bool()

    def log_ranks(self, raw: Any) -> tuple[Tensor, Tensor] | None:
        """Of kinds that guess one of very many: the rank of what is right among all that could be said, by its
        logarithm to base 2, and the row it is of, [guess] each. None of other kinds."""
        return None

    @abstractmethod
    def outputs(self, raw: Any, batch: RowBatch) -> Tensor:
        """What is kept of that, [example, ...], under the model's own names: `Output` takes it from there."""

    @abstractmethod
    def losses(self, raw: Any, batch: RowBatch) -> tuple[Tensor, Tensor]:
        """The loss of each example, added up over what it is made of (words, windows), and how many of these there
        are: [example] twice. An example's loss is the one divided by the other."""

    def size(self, batch: RowBatch) -> float:
        """How much there is in a batch that its mean loss is the mean of, in proportion to the counts of `losses`: so
        much it counts for where several batches make one step."""
        return float(len(batch.examples))

    @abstractmethod
    def divergence(self, whole: Any, raw: Any, batch: RowBatch) -> Tensor:
        """How far a changed model says something else of each example [example] than the whole one did, whatever is
        right."""

    def balance(self, train: Examples) -> None:
        """Let labels that are rare in a training set count for more in the loss."""
        raise UserError(f"class weights are for one label a text or a word, which {self.kind} hasn't; leave them out")

    def taught(self, raw: Any, teacher: Tensor, temperature: float, weight: Tensor | None = None) -> Tensor:
        """How far what is said is from what a teacher said of the same examples, averaged over them, by their weight
        [example] where they have one; only of kinds of which all that was said is kept (`can_be_taught`)."""
        raise NotImplementedError(f"{self.kind} can't be learnt from a teacher")

    @property
    def can_be_taught(self) -> bool:
        return type(self).taught is not ModelOutput.taught

    def notes_on(self, rows: Rows) -> tuple[str, ...]:
        """What a reader must know of how a training set was read."""
        truncated = int(rows.truncated.sum())
        of_all = f"{truncated:,} of {len(rows.truncated):,} training texts"
        long = f"longer than {self.encoder.max_length} tokens, and cut there: {of_all}"
        return (long,) if truncated else ()

    def notes_on_scored(self, examples: Examples) -> tuple[str, ...]:
        """What a reader must know of how examples are read that are scored, beside how many are truncated."""
        return ()

    def nothing_predicted(self, examples: Examples, dtype: Any) -> np.ndarray:
        """Predictions of these examples [example, ...] before the model, whose outputs have that type, has said
        anything."""
        assert self.output is not None
        one = self.output.predictions(np.full((1, *self.width(examples)), self.padding, dtype=dtype))
        return np.repeat(one, len(examples), 0)

    def double(self, raw: Any) -> Any:
        """The same in double precision, in which losses of thousands of examples are compared."""
        return raw.double()

    def sparing(self) -> AbstractContextManager[None]:
        """A block in which work is left out that these outputs don't need."""
        return nullcontext()

    def batches(
        self, examples: Examples, *, tokens: int | None = None, window: int = WINDOW, gold: bool = False
    ) -> Iterator[RowBatch]:
        """All examples once, tokenised a window at a time, in batches of at most `tokens` tokens with padding."""
        budget = tokens or default_budget(self.encoder)
        for first in range(0, len(examples), window):
            give_back_memory()
            rows = self.rows(examples.take(range(first, min(first + window, len(examples)))), gold=gold)
            rows = replace(rows, tokens=replace(rows.tokens, encodings=()))  # thousands of small things
            starts = np.searchsorted(rows.example, np.arange(len(rows.truncated) + 1))
            for group in group_examples(rows.tokens.lengths, starts, budget):
                yield self.batch(rows, starts, group, first)

    def batch(
        self, rows: Rows, starts: np.ndarray, group: np.ndarray, first: int = 0, shape: Shape | None = None
    ) -> RowBatch:
        """The batch of a group of examples, whose rows begin at `starts`; `first` is where the examples begin in the
        corpus. Filled up to a `shape`, an example's first row takes the place of those that it lacks."""
        encoder, counts = self.encoder, np.diff(starts)[group]
        device, length = (encoder.device, None) if shape is None else (shape.device, shape.length)
        at = np.concatenate([np.arange(starts[one], starts[one + 1]) for one in group])
        if shape is not None:
            place = np.arange(shape.rows)
            at = (starts[group][:, None] + np.where(place < counts[:, None], place, 0)).ravel()
            counts = np.full(len(group), shape.rows)
        shown = replace(rows.tokens, fields=rows.tokens.fields | dict(rows.marks))
        padded = pad(shown, at, pad_id=encoder.tokenizer.pad_token_id or 0, device=device, length=length)
        marks = {name: padded.inputs.pop(name) for name in rows.marks}
        owner = sent(np.repeat(np.arange(len(group)), counts), device)
        known = {each.name: getattr(padded, each.name) for each in fields(padded)}
        cut = np.asarray(rows.truncated[group], dtype=bool)
        known["truncated"] = int(cut.sum())
        right = None if rows.gold is None else sent(rows.gold[at], device)
        return RowBatch(**known, examples=group + first, owner=owner, gold=right, marks=marks, cut=cut)


def group_examples(lengths: np.ndarray, starts: np.ndarray, tokens: int) -> Iterator[np.ndarray]:
    """Examples sorted by their longest row, longest first, in groups whose rows x longest row are within the budget;
    an example's rows [starts[i], starts[i + 1]) stay together."""
    return group_sized(np.maximum.reduceat(lengths, starts[:-1]), np.diff(starts), tokens)


def group_sized(longest: np.ndarray, counts: np.ndarray, tokens: int) -> Iterator[np.ndarray]:
    """The same of things whose rows, and the longest of them, are known."""
    order = np.argsort(-longest, kind="stable")
    before = np.concatenate([[0], np.cumsum(counts[order])])
    start = 0
    while start < len(order):
        room = tokens // int(longest[order[start]])
        end = max(start + 1, int(np.searchsorted(before, before[start] + room, side="right")) - 1)
        yield order[start:end]
        start = end


def put(target: np.ndarray, at: np.ndarray, found: np.ndarray) -> None:
    """Write what was found of some examples [example, a, b] where they stand in `target` [example, A, B]: a batch may
    have shorter axes than all examples together."""
    place: Any = (at, *(slice(0, size) for size in found.shape[1:]))
    target[place] = found
