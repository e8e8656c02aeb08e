"""The best constants: where they are known in closed form, and against another minimiser."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from torch import nn

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.units import Unit
from bertscope.data.task import Task
from bertscope.models.judge import judge_without
from bertscope.models.load import load
from bertscope.models.means import Means
from bertscope.models.optimal import optimal_constants
from bertscope.models.references import alone
from device import DEVICE
from families import tiny_model
from toy import task_of

HEADS = [Unit("head", 3, 2)], [Unit("head", 3, 4)], [Unit("head", 3, 2), Unit("head", 3, 4)]


@pytest.fixture
def linear(_pocket, many):
    """A model whose score is linear in what the last layer's heads say at [CLS]: no norms, MLP and tanh there."""
    model = tiny_model("bert", num_labels=1, problem_type="regression")
    last = model.bert.encoder.layer[-1]
    last.attention.output.LayerNorm = last.output.LayerNorm = nn.Identity()
    model.bert.pooler.activation = nn.Identity()
    with torch.no_grad():
        last.output.dense.weight.zero_()
        last.attention.self.value.bias += 1  # so that nothing is far from what heads say
    encoder = load(model.to(DEVICE), tokenizer=_pocket.tokenizer)
    split = Examples(many.ids, many.text, label=np.zeros(len(many)))
    return encoder, Task("linear", "regression", (), split, split, split, "pearson")


def contributions(encoder, texts) -> np.ndarray:
    """[head, text]: what each head of the last layer adds to the score, from the weights alone."""
    model, heard = encoder.model, []
    last = model.bert.encoder.layer[-1]
    hook = last.attention.output.dense.register_forward_pre_hook(lambda module, args: heard.append(args[0][0, 0]))
    with torch.no_grad():
        for text in texts:
            model(**encoder.tokenizer(text, return_tensors="pt").to(encoder.device))
        reads = model.classifier.weight @ model.bert.pooler.dense.weight @ last.attention.output.dense.weight
    hook.remove()
    each = (torch.stack(heard) * reads).unflatten(-1, (4, -1)).sum(-1)
    return each.T.double().cpu().numpy()


def test_of_a_linear_part_what_is_left_is_its_variance(linear):
    """The squared change of the score is least with the mean of what a head adds, and is then its variance: of two
    heads that of their sum."""
    encoder, task = linear
    adds = contributions(encoder, task.test.text)
    least = np.array([adds[1].var(), adds[3].var(), (adds[1] + adds[3]).var()])
    means = encoder.means(task.validation)
    start = Means(means.heads - 0.5, means.mlps)
    found = optimal_constants(encoder, task.output, task.validation, HEADS, start=start, steps=80)

    def apart(mode, reference):
        sets = [[], *HEADS]
        return (
            judge_without(encoder, task.output, task.test, sets, mode=mode, reference=reference)
            .divergence[1:]
            .mean(1)
        )

    np.testing.assert_allclose(apart("optimal", [found[0], *found]), least, rtol=0.02)
    assert (apart("mean", start) > 1.1 * least).all() and (apart("zero", None) > 1.1 * least).all()
    both = [Means(means.heads, means.mlps), *found[:2]]
    single = alone(both, [[], *HEADS[:2]])
    assert torch.equal(single.heads[2, 1], found[0].heads[2, 1]) and torch.equal(
        single.heads[2, 3], found[1].heads[2, 3]
    )
    assert torch.equal(single.heads[:2], means.heads[:2]) and torch.equal(single.mlps, means.mlps)


def test_against_another_minimiser_of_what_the_whole_model_says(tiny, many):
    """A head of the first layer, six numbers: scipy's simplex on the same texts finds nothing that is much nearer."""
    task = task_of(many.take(range(24)), tiny)
    unit, size = Unit("head", 1, 3), tiny.head_size
    means = tiny.means(task.validation)

    def apart(constant: np.ndarray) -> float:
        heads = means.heads.clone()
        heads[0, 2] = torch.from_numpy(constant).to(heads)
        told = Means(heads, means.mlps)
        found = judge_without(tiny, task.output, task.validation, [[], [unit]], mode="optimal", reference=told)
        return float(found.divergence[1].mean())

    (found,) = optimal_constants(tiny, task.output, task.validation, [[unit]], steps=80)
    ours, began = apart(found.heads[0, 2].cpu().numpy()), apart(means.heads[0, 2].cpu().numpy())
    other = minimize(apart, found.heads[0, 2].cpu().numpy(), method="Nelder-Mead", options={"maxfev": 80})
    assert other.x.shape == (size,) and ours - other.fun < 0.03 * (began - other.fun)
    assert torch.equal(found.heads[1:], means.heads[1:]) and torch.equal(found.mlps, means.mlps), (
        "the rest is as it was"
    )


def test_it_repeats_and_begins_where_it_is_told(tiny, many):
    task = task_of(many, tiny)
    sets = [[Unit("mlp", 2)], [], [Unit("layer", 1)]]
    one, other = (optimal_constants(tiny, task.output, task.validation, sets, steps=3, rows=20) for _ in range(2))
    assert all(torch.equal(a.mlps, b.mlps) for a, b in zip(one, other, strict=True))
    start = Means(torch.zeros_like(one[0].heads), torch.full_like(one[0].mlps, 0.25))
    began = optimal_constants(tiny, task.output, task.validation, sets, start=[start, *one[1:]], steps=0)
    assert began[0].mlps[1].unique().tolist() in ([0.0], [0.25]) and began[1] is one[1] and began[2] is one[2]
    assert began[0].mlps[0].unique().tolist() == [0.25], "0 only where the part is off"


def test_mistakes(tiny, many):
    task = task_of(many, tiny)
    means = tiny.means(many)
    with pytest.raises(UserError, match="there are 2 starts for 1 sets of parts; give one, or one for each"):
        optimal_constants(tiny, task.output, many, [[Unit("mlp", 1)]], start=[means, means])
    with pytest.raises(UserError, match="mlp:9: the model has layers 1 to 3"):
        optimal_constants(tiny, task.output, many, [[Unit("mlp", 9)]])
    with pytest.raises(UserError, match="there are 1 references for 2 sets of parts; give one, or one for each"):
        judge_without(tiny, task.output, many, [[], [Unit("mlp", 1)]], mode="optimal", reference=[means])
