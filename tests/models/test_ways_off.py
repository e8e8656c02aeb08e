"""What parts that are off leave behind: by position, of another text, the best constant; in every family alike."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

from bertscope.core.examples import Examples
from bertscope.core.units import Unit
from bertscope.data.task import Task
from bertscope.models import optimal_descent
from bertscope.models.donors import DRAWS
from bertscope.models.judge import judge_without, predict_without
from bertscope.models.load import load
from bertscope.models.means import FEWEST
from bertscope.models.optimal import optimal_constants
from bertscope.models.references import reference_for
from bertscope.models.trimming import part_rows
from device import DEVICE
from families import tiny_model

FAMILIES = ("bert", "distilbert", "modernbert", "deberta-v2", "albert")
MODES = ("position", "resample", "optimal")
LAYER = 1  # the one that is looked at: neither the first nor the last


@pytest.fixture(scope="module", params=FAMILIES)
def encoder(request, _pocket):
    return load(tiny_model(request.param).to(DEVICE), tokenizer=_pocket.tokenizer)


@pytest.fixture(scope="module")
def own(encoder, many) -> Task:
    """The model is always right in it; validation and test have no text in common."""
    return task_for(encoder, many)


def task_for(encoder, examples: Examples) -> Task:
    said = encoder.predict(examples).logits.argmax(-1)
    labels = tuple(encoder.labels)
    gold = Examples(examples.ids, examples.text, examples.pair, label=said)
    validation, test = gold.take(range(40)), gold.take(range(40, 60))
    return Task("own", "classification", labels, validation, validation, test, "accuracy")


class Parts:
    """What layer `LAYER`'s heads and MLP put out, by plain hooks; and what to put in their place."""

    def __init__(self, encoder) -> None:
        _, projection, _, mlp_out = encoder.parts(encoder.layers[LAYER])
        self.encoder, self.calls = encoder, 0
        self.shared = encoder.shares_blocks
        self.context = self.mlp = self.new_context = self.new_mlp = None
        self.hooks = [projection.register_forward_pre_hook(self.at_heads), mlp_out.register_forward_hook(self.at_mlp)]

    def at_heads(self, module, args):
        self.calls += 1
        if self.shared and self.calls != LAYER + 1:
            return None
        self.context = args[0].clone()
        return None if self.new_context is None else (self.new_context, *args[1:])

    def at_mlp(self, module, args, output):
        if self.shared and self.calls != LAYER + 1:
            return None
        self.mlp = output.clone()
        return self.new_mlp

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for hook in self.hooks:
            hook.remove()

    def read(self, text: str):
        """One text alone: its ids, the heads' outputs [token, head x d] and the MLP's, and the logits."""
        self.calls = 0
        inputs = self.encoder.tokenizer(text, return_tensors="pt").to(self.encoder.device)
        with torch.no_grad():
            logits = self.encoder.model(**inputs).logits[0]
        return inputs["input_ids"][0].tolist(), self.context[0], self.mlp[0], logits


def head(encoder, context: torch.Tensor, number: int) -> torch.Tensor:
    return context[..., number * encoder.head_size : (number + 1) * encoder.head_size]


def test_position_is_the_mean_at_each_place_by_a_plain_loop(encoder, own):
    by_place, tokens = {}, []
    with Parts(encoder) as parts:
        for text in own.validation.text:
            _, context, mlp, _ = parts.read(text)
            for place, both in enumerate(zip(context, mlp, strict=True)):
                by_place.setdefault(place, []).append(both)
                tokens.append(both)
        found = encoder.means_by_place(own.validation, own.output)
        overall = [torch.stack(each).mean(0) for each in zip(*tokens, strict=True)]
        counts = {place: len(each) for place, each in by_place.items()}
        assert min(counts.values()) < FEWEST <= counts[3], "some places have few texts"
        for place, each in by_place.items():
            mean = [torch.stack(one).mean(0) for one in zip(*each, strict=True)] if len(each) >= FEWEST else overall
            torch.testing.assert_close(found.heads[LAYER, place].flatten(), mean[0], atol=1e-5, rtol=1e-4)
            torch.testing.assert_close(found.mlps[LAYER, place], mean[1], atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(found.mlps[LAYER, -1], overall[1], atol=1e-5, rtol=1e-4)
        # And what the model says with them, one text after the other.
        off = [Unit.at("head", LAYER, 2)], [Unit.at("mlp", LAYER)]
        said = predict_without(encoder, own.test, off, mode="position", reference=found, tokens=90).logits
        size = encoder.head_size
        for row, text in enumerate(own.test.text[:8]):
            parts.new_context = parts.new_mlp = None
            _, context, _, _ = parts.read(text)
            at = torch.arange(len(context)).clamp_max(found.mlps.shape[1] - 1)
            parts.new_context = context.clone()
            parts.new_context[:, 2 * size : 3 * size] = found.heads[LAYER, at, 2]
            parts.new_context = parts.new_context[None]
            np.testing.assert_allclose(said[0, row], parts.read(text)[3].cpu(), atol=1e-5)
            parts.new_context, parts.new_mlp = None, found.mlps[LAYER, at][None]
            np.testing.assert_allclose(said[1, row], parts.read(text)[3].cpu(), atol=1e-5)


def test_padding_on_the_left_has_the_same_places(encoder, own):
    """Only what gates leave is looked at: not every family reads texts that are padded on the left alike."""
    places, donors = encoder.means_by_place(own.validation), encoder.donors(own.validation)
    ids = [encoder.tokenizer(text)["input_ids"] for text in own.test.text[:3]]
    width = max(map(len, ids))
    for found in (places, donors):
        entries = []
        for left in (True, False):
            rows = [[0] * (width - len(row)) + row if left else row + [0] * (width - len(row)) for row in ids]
            real = [[int(one != 0) for one in row] for row in rows]
            inputs = {"input_ids": torch.tensor(rows), "attention_mask": torch.tensor(real)}
            inputs = {name: each.to(encoder.device) for name, each in inputs.items()}
            found_at = found.entries(inputs, 1)
            entries.append(
                [each[mask.bool()].tolist() for each, mask in zip(found_at, inputs["attention_mask"], strict=True)]
            )
        assert entries[0] == entries[1]


def test_resample_is_one_other_text_by_a_plain_loop(encoder, own):
    """Whatever is drawn: [CLS] has what it has in one validation text, [SEP] too, others what others have there."""
    donors = encoder.donors(own.validation, own.output, seed=3)
    unit, mlp = Unit.at("head", LAYER, 1), Unit.at("mlp", LAYER)
    with Parts(encoder) as parts:
        texts = {text: parts.read(text) for text in own.validation.text}
        chosen = {}
        for text in own.test.text[:6]:
            ids, context, _, _ = parts.read(text)
            for draw in range(DRAWS):
                with encoder.gates([unit, mlp], mode="resample", reference=donors) as gates, Parts(encoder) as after:
                    gates.draw = draw
                    _, left, _, logits = after.read(text)
                left = head(encoder, left, 1)
                fits = [
                    other
                    for other, (_, there, _, _) in texts.items()
                    if torch.allclose(head(encoder, there, 1)[0], left[0], atol=1e-5)
                ]
                assert len(fits) == 1 and fits[0] != text
                other_ids, there, there_mlp, _ = texts[fits[0]]
                there = head(encoder, there, 1)
                apart = torch.cdist(left, there)
                torch.testing.assert_close(left[-1], there[-1], atol=1e-5, rtol=1e-4)
                at = apart[1:-1, 1:-1].argmin(1) + 1
                assert apart[torch.arange(1, len(ids) - 1), at].max() < 1e-4
                chosen[text, draw] = (fits[0], tuple(at.tolist()))
                # The same by hand: heads' outputs and the MLP's put there.
                if draw == 0:
                    places = torch.tensor([0, *at.tolist(), len(other_ids) - 1])
                    size = encoder.head_size
                    parts.new_context = context[None].clone()
                    parts.new_context[0, :, size : 2 * size] = there[places]
                    parts.new_mlp = there_mlp[places][None]
                    torch.testing.assert_close(parts.read(text)[3], logits, atol=1e-5, rtol=1e-4)
                    parts.new_context = parts.new_mlp = None
        for text in own.test.text[:6]:
            assert len({chosen[text, draw][0] for draw in range(DRAWS)}) == DRAWS, "another text in each draw"


SETS = [
    [], *([Unit.at("head", layer, 1)] for layer in range(3)), [Unit.at("mlp", 2)], [Unit.at("mlp", 0)],
    [Unit.at("heads", 1)], [Unit.at("layer", 1)], [Unit.at("head", 0, 3), Unit.at("mlp", 1), Unit.at("neuron", 2, 5)],
]  # fmt: skip


def told(mode, encoder, task, sets, steps=4):
    """What the mode leaves, with a short descent."""
    if mode == "optimal":
        return optimal_constants(encoder, task.output, task.validation, sets, steps=steps)
    return reference_for(mode, encoder, task.output, task.validation, sets)


@pytest.mark.parametrize("mode", MODES)
def test_replay_and_batches_don_t_show(encoder, own, mode):
    found = told(mode, encoder, own, SETS)
    fast = judge_without(encoder, own.output, own.test, SETS, mode=mode, reference=found, tokens=100)
    slow = judge_without(encoder, own.output, own.test, SETS, mode=mode, reference=found, tokens=900, replay=False)
    for name in ("moments", "losses", "divergence", "flips"):
        np.testing.assert_allclose(getattr(fast, name), getattr(slow, name), atol=1e-5)
    assert (fast.divergence[1:].mean(1) > 1e-6).all() and fast.losses.shape == (len(SETS), len(own.test))


def test_parts_that_always_say_the_same_are_missed_by_nobody(encoder, own):
    """A head that says its values' bias, and an MLP that is its bias: what they leave is what they say."""
    model = copy.deepcopy(encoder)
    block = model.layers[LAYER]
    with torch.no_grad():
        for linear in model.family.maps(block, model.family.head_weights).values():
            linear.weight[part_rows(linear, model.head_counts[LAYER], model.head_size, [2])] = 0
        model.parts(block)[3].weight.zero_()
    sets = [
        [],
        [Unit.at("head", LAYER, 2)],
        [Unit.at("mlp", LAYER)],
        [Unit.at("head", LAYER, 2), Unit.at("mlp", LAYER)],
    ]
    for mode in MODES:
        found = told(mode, model, own, sets)
        said = predict_without(model, own.test, sets, mode=mode, reference=found).logits
        np.testing.assert_allclose(said, np.broadcast_to(said[0], said.shape), atol=1e-5)
    zero = predict_without(model, own.test, sets).logits
    if model.parts(block)[3].bias is not None:
        assert np.abs(zero[1:] - zero[0]).max((1, 2)).min() > 1e-4, "they do say something"


@pytest.mark.slow
def test_optimal_is_no_further_than_mean_and_zero_whatever_the_descent_does(encoder, own, monkeypatch):
    def apart(mode, reference):
        return judge_without(
            encoder, own.output, own.validation, SETS, mode=mode, reference=reference
        ).divergence.mean(1)

    mean, zero = apart("mean", encoder.means(own.validation)), apart("zero", None)
    best = np.minimum(mean, zero)
    fitted = apart("optimal", told("optimal", encoder, own, SETS, steps=15))
    constant = [1, 2, 3, 4, 5, 6, 8]
    assert (fitted <= best).all() and (fitted[constant] < best[constant]).all()
    assert (fitted[constant] < 0.98 * best[constant]).sum() >= 5
    assert fitted[7] == zero[7], "a layer leaves no constant"
    monkeypatch.setattr(optimal_descent, "_RATE", 100.0)
    wild = apart("optimal", told("optimal", encoder, own, SETS, steps=3))
    assert (wild <= best).all() and (wild == best).sum() > 3


def test_sets_side_by_side_in_a_batch_are_fitted_as_alone(encoder, own, monkeypatch):
    alone_found = told("optimal", encoder, own, SETS[1:6])
    monkeypatch.setattr(optimal_descent, "default_budget", lambda encoder: 6 * 1024)
    together = told("optimal", encoder, own, SETS[1:6])
    for one, other in zip(alone_found, together, strict=True):
        torch.testing.assert_close(one.heads, other.heads, atol=2e-4, rtol=1e-3)
        torch.testing.assert_close(one.mlps, other.mlps, atol=2e-4, rtol=1e-3)
