"""How much each word did for what a model says: the gradient, integrated gradients, or leaving the word out.

All against the same text in which every word's embedding is [MASK]'s: positions, segments and special tokens stay.
What changes is what the model's word embeddings put out, so that any family can be asked. Many texts, and many points
between a text and its masked form, are rows of one batch within a budget of tokens; nothing grows with the corpus but
a number for each word.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import torch
from torch import Tensor

from bertscope.core.attributions import Attributions, Targets, Wanted
from bertscope.core.config import check_known
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.freed_memory import give_back_memory
from bertscope.core.output import Output
from bertscope.core.progress import progress
from bertscope.models.batches import WINDOW
from bertscope.models.embedding_path import EmbeddingPath, embedding_path
from bertscope.models.evaluating import frozen
from bertscope.models.explained_window import SLOT, ExplainedWindow, joined
from bertscope.models.finite_pass import measuring, not_finite
from bertscope.models.observe import default_budget
from bertscope.models.outputs.base import ModelOutput, RowBatch, group_sized
from bertscope.models.outputs.kinds import model_output
from bertscope.models.sending import sent

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder

Method = Literal["integrated", "gradient", "leave_out"]
METHODS: tuple[Method, ...] = get_args(Method)
NODES, MOST_NODES = 16, 512
"""Points at which a gradient is taken first, and at most."""
_SHARE, _OF_SPREAD = 0.01, 1e-3
"""How much may be missing of the difference that attributions add up to; or of the spread of what is explained."""


def attribute(
    encoder: Encoder,
    output: Output | ModelOutput | None,
    examples: Examples,
    targets: Targets | None = None,
    *,
    wanted: Wanted | None = None,
    method: Method = "integrated",
    nodes: int = NODES,
    most_nodes: int = MOST_NODES,
    tokens: int | None = None,
) -> Attributions:
    """How much each word of the examples did for what the encoder says of them.

    output      what it is asked for: a task's, or the encoder's own where there is no task
    targets     what is explained, as `Targets` of another call; by default what is predicted, or `wanted`
    method      integrated: the gradient averaged between the masked text and the text, times (word - [MASK]), which
                adds up to how far the text is above its masked form; gradient: that of the text alone; leave_out: how
                much is lost if one word is masked
    nodes       of integrated gradients: Gauss and Legendre's points; doubled up to `most_nodes` for those that don't
                add up
    tokens      the budget of a batch, padding included: it decides about time and memory, not about the answer
    """
    asked = output if isinstance(output, ModelOutput) else model_output(encoder, output)
    check_known("method", method, METHODS)
    if not len(examples):
        raise UserError("there is nothing to explain: no texts; give some")
    # The way back needs what the way forth left: half of the usual budget spares a GPU's memory and a CPU's cache.
    budget = tokens or (default_budget(encoder) if method == "leave_out" else default_budget(encoder) // 2)
    with ExitStack() as block:
        block.enter_context(measuring([encoder]))
        block.enter_context(frozen(encoder))
        block.enter_context(asked.sparing())
        path = block.enter_context(embedding_path(encoder))
        work = _Work(asked, examples, path, budget)
        found = work.said(targets, wanted or Wanted(), gradients=method == "gradient")
        if method == "integrated":
            found = work.integrated(found, nodes, most_nodes)
        elif method == "leave_out":
            found = work.left_out(found)
    if not np.isfinite(found.values).all():
        raise not_finite(encoder.name, "on the way back, in its gradients")
    return replace(found, method=method)


def allowed_gap(whole: np.ndarray, baseline: np.ndarray) -> np.ndarray:
    """[t]: by how much the sum of a target's attributions may miss whole - baseline: 1% of that, or a thousandth of
    the standard deviation of what is explained over all targets, whichever is more."""
    return np.maximum(_SHARE * np.abs(whole - baseline), _OF_SPREAD * whole.std() if len(whole) else 0.0)


def gauss_legendre(nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Points between 0 and 1, and their weights, which add up to 1."""
    place, weight = np.polynomial.legendre.leggauss(nodes)
    return (1 + place) / 2, weight / 2


class _Work:
    """One call: passes over the examples, a window of them at a time."""

    def __init__(self, asked: ModelOutput, examples: Examples, path: EmbeddingPath, budget: int) -> None:
        self._asked, self._examples, self._path, self._budget = asked, examples, path, budget
        self._device, self._name = asked.encoder.device, asked.encoder.name

    def said(self, targets: Targets | None, wanted: Wanted, *, gradients: bool) -> Attributions:
        """What is explained, of the texts as they are and of their masked forms, and the words: with their gradients,
        if these are asked for, which need no further pass; otherwise all 0."""
        windows = self._windows("reading", np.arange(len(self._examples)))
        return joined([self._said(window, targets, wanted, gradients=gradients) for window in windows])

    def _said(
        self, window: ExplainedWindow, given: Targets | None, wanted: Wanted, *, gradients: bool
    ) -> Attributions:
        asked, path, words = self._asked, self._path, window.words.counts
        found, values = list[Targets](), list[np.ndarray]()
        # Of each target whole, masked, how probable: they stay where they are until all texts are read.
        numbers = [torch.zeros(3, 0, dtype=torch.float64, device=self._device)]
        for group in group_sized(window.longest, window.counts, self._budget):
            batch = window.batch(np.sort(group))
            path.read(differentiable=gradients)
            with torch.set_grad_enabled(gradients):
                raw = asked.run(batch)
                targets = asked.targets(raw, batch, wanted) if given is None else window.own(given, batch)
                targets = targets.take(np.flatnonzero(words[batch.examples[targets.example]] > 0))
                quantity = asked.quantity(raw, batch, targets)
            values += self._gradients(quantity, batch, targets, words[batch.examples], gradients=gradients)
            path.read(torch.where(batch.marks[SLOT] > 0, 0.0, 1.0)[..., None])
            with torch.no_grad():
                masked = asked.quantity(asked.run(batch), batch, targets)
                probability = asked.probability(raw, batch, targets)
            found.append(targets.moved(batch.examples[targets.example]))
            likely = torch.full_like(masked, torch.nan) if probability is None else probability.detach()
            numbers.append(torch.stack([one.double() for one in (quantity.detach(), masked, likely)]))
        each = torch.cat(numbers, 1).cpu().numpy()
        return window.attributions(Targets.joined(found), each[0], each[1], each[2], values)

    def _gradients(
        self, quantity: Tensor, batch: RowBatch, targets: Targets, words: np.ndarray, *, gradients: bool
    ) -> list[np.ndarray]:
        """The values of each target's words, of which the batch's examples have so many. One way back serves the
        first targets of all examples, the next their second ones, and so on."""
        if not gradients:
            return [np.zeros(words[example]) for example in targets.example]
        found = [np.zeros(0)] * len(targets)
        turn = np.arange(len(targets)) - np.searchsorted(targets.example, targets.example)
        begin = np.cumsum(words) - words
        for now in range(turns := int(turn.max(initial=-1)) + 1):
            at = np.flatnonzero(turn == now)
            gradient = self._path.gradient_of(quantity[sent(at, self._device)], retain=now + 1 < turns)
            values = self._no_values(int(words.sum()))
            self._add(gradient, batch, begin, values)
            each = np.split(values[:-1].cpu().numpy(), begin[1:])
            for target in at:
                found[target] = each[targets.example[target]]
        return found

    def integrated(self, found: Attributions, nodes: int, most: int) -> Attributions:
        """With as many nodes as each target needs, from `nodes` on."""
        allowed, difference = allowed_gap(found.whole, found.baseline), found.whole - found.baseline
        values, used = found.values, np.zeros(len(found), dtype=np.int64)
        left, gap = np.arange(len(found)), np.zeros(len(found))
        while len(left):
            again = np.isin(found.owner, left)
            values = np.where(again, self._integrated(found, left, nodes), values)
            gap[left] = np.abs(np.bincount(found.owner, values, len(found)) - difference)[left]
            used[left] = nodes
            left = left[gap[left] > allowed[left]]
            if nodes >= most:
                break
            nodes = min(2 * nodes, most)
        return replace(found, values=values, nodes=used, gap=gap, missed=gap > allowed)

    def _integrated(self, found: Attributions, targets: np.ndarray, nodes: int) -> np.ndarray:
        """[word]: the attributions of these targets with so many nodes, 0 of others."""
        asked, path = self._asked, self._path
        place, weight = (sent(each, self._device) for each in gauss_legendre(nodes))
        values = self._no_values(len(found.values))
        example = found.targets.example[targets]
        for window in self._windows(f"integrating over {nodes} points", example):
            unit = np.repeat(targets[window.holds(example)], nodes)
            node = np.arange(len(unit)) % nodes
            own = found.targets.example[unit] - window.first
            for group in group_sized(window.longest[own], window.counts[own], self._budget):
                batch = window.batch(own[group])
                at = sent(node[group], self._device)[batch.owner][:, None]
                path.read(torch.where(batch.marks[SLOT] > 0, place[at], 1.0)[..., None], differentiable=True)
                some = found.targets.take(unit[group]).moved(np.arange(len(group)))
                with torch.enable_grad():
                    gradient = path.gradient_of(asked.quantity(asked.run(batch), batch, some))
                self._add(weight[at] * gradient, batch, found.starts[unit[group]], values)
        return values[:-1].cpu().numpy()

    def left_out(self, found: Attributions) -> Attributions:
        """What is lost without each word; a text with one word masked serves all that is explained of it."""
        asked, path = self._asked, self._path
        values, explained = found.values.copy(), np.unique(found.targets.example)
        for window in self._windows("leaving words out", explained):
            mine = explained[window.holds(explained)] - window.first
            own, slot = _counted(mine, window.words.counts[mine])
            for group in group_sized(window.longest[own], window.counts[own], self._budget):
                batch = window.batch(own[group])
                left = sent(slot[group], self._device)[batch.owner][:, None]
                path.read((batch.marks[SLOT] - 1 != left)[..., None])
                first, last = (
                    np.searchsorted(found.targets.example, own[group] + window.first, side=side)
                    for side in ("left", "right")
                )
                copy, place = _counted(np.arange(len(group)), last - first)
                target = first[copy] + place
                with torch.no_grad():
                    without = asked.quantity(asked.run(batch), batch, found.targets.take(target).moved(copy))
                at = found.starts[target] + slot[group][copy]
                values[at] = found.whole[target] - without.double().cpu().numpy()
        return replace(found, values=values)

    def _windows(self, label: str, examples: np.ndarray) -> Iterator[ExplainedWindow]:
        """Those in which there are such examples."""
        firsts = np.unique(examples // WINDOW) * WINDOW
        with progress(f"{label}: {self._name}", len(firsts)) as bar:
            for first in firsts.tolist():
                give_back_memory()
                yield ExplainedWindow.of(self._asked, self._examples, first, min(first + WINDOW, len(self._examples)))
                bar.advance(1)

    def _no_values(self, count: int) -> Tensor:
        """Zeros for as many words, and one more place for tokens that are of none."""
        return torch.zeros(count + 1, dtype=torch.float64, device=self._device)

    def _add(self, tokens: Tensor, batch: RowBatch, begin: np.ndarray, values: Tensor) -> None:
        """Add what tokens have [row, token] to `values` [word], in which the words of each of the batch's examples
        begin there. To pick the tokens that are of a word would take a GPU's answer how many they are."""
        slot = batch.marks[SLOT] - 1
        at = sent(begin, self._device)[batch.owner][:, None] + slot
        inside = slot >= 0
        values.index_add_(0, torch.where(inside, at, len(values) - 1).flatten(), tokens.flatten())


def _counted(things: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each thing as often as it counts, and which time it is, from 0."""
    before = np.cumsum(counts) - counts
    return np.repeat(things, counts), np.arange(counts.sum()) - np.repeat(before, counts)
