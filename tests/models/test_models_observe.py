"""The streaming pass: the library's own attention, indifferent to batching, flat in memory."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.models.batches import group_by_budget
from bertscope.models.observe import Passed, observe


class Keep:
    """Cropped maps and hidden states by example: what a test may hold, and an analysis may not."""

    needs = frozenset({"maps", "hidden_states"})

    def __init__(self) -> None:
        self.maps: dict[int, torch.Tensor] = {}
        self.hidden: dict[int, torch.Tensor] = {}

    def update(self, batch, seen):
        maps = torch.stack(seen[0].maps, 1)  # [batch, layer, head, query, key]
        hidden = torch.stack(seen[0].hidden_states, 1)
        for place, row in enumerate(batch.rows):
            n = int(batch.lengths[place])
            assert (maps[place, :, :, :n, n:] == 0).all()
            self.maps[int(row)] = maps[place, :, :, :n, :n].clone()
            self.hidden[int(row)] = hidden[place, :, :n].clone()


@pytest.mark.parametrize("which", ["tiny", "pocket"])
def test_maps_equal_eager_output_attentions(which, texts, request):
    encoder = request.getfixturevalue(which)
    keep = Keep()
    observe([encoder], texts, [keep], tokens=64)
    encoder.model.set_attn_implementation("eager")
    for row, text in enumerate(texts.text):
        inputs = encoder.tokenizer(text, return_tensors="pt").to(encoder.device)
        with torch.no_grad():
            output = encoder.model(**inputs, output_attentions=True, output_hidden_states=True)
        assert torch.allclose(keep.maps[row], torch.cat(output.attentions), atol=1e-6)
        assert torch.allclose(keep.hidden[row], torch.cat(output.hidden_states), atol=1e-5)


def test_results_do_not_depend_on_batching_or_order(tiny, texts):
    def run(examples, **how):
        keep = Keep()
        observe([tiny], examples, [keep], **how)
        return keep, tiny.predict(examples, **how).logits

    whole, logits = run(texts)
    for how in ({"tokens": 1}, {"tokens": 40, "window": 2}, {"window": 3}):
        other, others = run(texts, **how)
        assert np.allclose(logits, others, atol=1e-5)
        assert all(torch.allclose(whole.maps[row], other.maps[row], atol=1e-5) for row in range(len(texts)))
    order = [3, 0, 5, 1, 4, 2]
    shuffled, others = run(texts.take(order), tokens=40)
    assert np.allclose(logits[order], others, atol=1e-5)
    assert all(torch.allclose(whole.hidden[row], shuffled.hidden[at], atol=1e-5) for at, row in enumerate(order))


def test_the_model_keeps_its_training_mode(tiny, texts):
    tiny.model.train()
    tiny.predict(texts)
    assert tiny.model.training


def test_analyses_run_in_full_precision_and_give_the_callers_back(tiny, texts):
    class Precision(Keep):
        def update(self, batch, seen):
            self.seen = torch.get_float32_matmul_precision()

    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")  # TF32, on a GPU that has it
    try:
        precision = Precision()
        observe([tiny], texts, [precision])
        assert precision.seen == "highest" and torch.get_float32_matmul_precision() == "high"
    finally:
        torch.set_float32_matmul_precision(before)


def test_gates_hold_through_a_pass(tiny, texts):
    plain = tiny.predict(texts).logits
    with tiny.gates(off=["head:1.1"]):
        gated = tiny.predict(texts).logits
    assert np.abs(plain - gated).max() > 1e-3
    assert np.array_equal(plain, tiny.predict(texts).logits)


def test_budget_groups_cover_every_row_once_and_keep_within_it():
    lengths = np.random.default_rng(0).integers(2, 60, size=500)
    groups = list(group_by_budget(lengths, 200))
    assert sorted(np.concatenate(groups)) == list(range(500))
    assert all(len(rows) * lengths[rows].max() <= 200 or len(rows) == 1 for rows in groups)
    padding = sum(len(rows) * lengths[rows].max() for rows in groups) / lengths.sum()
    assert padding < 1.1
    groups = list(group_by_budget(lengths, 200, 2000))
    assert sorted(np.concatenate(groups)) == list(range(500))
    assert all(len(rows) * lengths[rows].max() ** 2 <= 2000 or len(rows) == 1 for rows in groups)
    assert all(len(rows) * lengths[rows].max() <= 200 or len(rows) == 1 for rows in groups)


def test_long_texts_are_cut_and_counted(tiny):
    long = Examples(("a", "b"), ("good " * 500, "good"))
    assert tiny.predict(long).truncated == 1


def test_different_tokenizers_are_refused(tiny, texts):
    import copy

    other = copy.deepcopy(tiny)
    other.tokenizer.add_tokens(["bertscope"])
    with pytest.raises(UserError, match="different tokenizers"):
        observe([tiny, other], texts, [Keep()])
    with pytest.raises(UserError, match="no examples"):
        observe([tiny], texts.take([]), [Keep()])


def test_predicting_needs_a_task_head(pocket, texts):
    with pytest.raises(
        UserError, match=r"pocket has no task head that predicts \(it is: masked-lm\); .* bertscope finetune pocket "
    ):
        pocket.predict(texts)


PEAK = """
import resource, sys
import numpy as np
from transformers import BertConfig, BertForSequenceClassification
from bertscope.core.examples import Examples
from bertscope.models.load import load
generator = np.random.default_rng(0)
words = np.array("the a old good bad house road never said food was is not and but she he".split())
tokenizer = load("pocket", device="cpu").tokenizer
shape = dict(hidden_size=48, num_hidden_layers=3, num_attention_heads=4, intermediate_size=96)
config = BertConfig(vocab_size=len(tokenizer), **shape)
encoder = load(BertForSequenceClassification(config), tokenizer=tokenizer)
for n in map(int, sys.argv[1:]):
    texts = [" ".join(generator.choice(words, size=generator.integers(3, 12))) for _ in range(n)]
    encoder.predict(Examples(tuple(map(str, range(n))), tuple(texts)))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.alone
def test_memory_is_flat_in_the_number_of_texts():
    done = subprocess.run([sys.executable, "-c", PEAK, "2000", "20000"], capture_output=True, text=True, check=True)
    few, many = map(int, done.stdout.split())
    assert many < 1.1 * few


def test_long_texts_are_cut_or_left_out_and_counted(tiny):
    long = "the old man saw the dog and " * 20
    examples = Examples(ids=("a", "b", "c"), text=("it rained .", long, "no ."))

    class Rows:
        needs = frozenset({"logits"})

        def __init__(self):
            self.seen = []

        def update(self, batch, seen):
            self.seen += batch.rows.tolist()

    cut, left = Rows(), Rows()
    assert observe([tiny], examples, [cut]) == Passed(3, truncated=1, left_out=0)
    assert observe([tiny], examples, [left], long="left_out") == Passed(2, truncated=0, left_out=1)
    assert sorted(cut.seen) == [0, 1, 2] and sorted(left.seen) == [0, 2]
    with pytest.raises(UserError, match="longer"):
        observe([tiny], examples.take([1]), [Rows()], long="left_out")
