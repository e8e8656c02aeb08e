"""Where models and data come from, on chains that were planned by hand."""

from __future__ import annotations

from dataclasses import replace

from bertscope.core.lineage import ancestors, base, data_read, descent, models_read, reads_results, roots
from bertscope.core.registry import find
from bertscope.core.step import Root, Step

POCKET = Root("model", "pocket", "aa")
SENTIMENT, PAIRS = Root("task", "demo/sentiment", "bb"), Root("task", "demo/paraphrase", "cc")
TREES, HANS = Root("examples", "demo/corpus", "dd"), Root("examples", "hans.jsonl", "ee")


def step(name: str, **inputs: Step | Root) -> Step:
    return find(name).step({key.replace("__", "."): value for key, value in inputs.items()})


TUNED = step("finetune", base=POCKET, task=SENTIMENT)
AGAIN = step("finetune", base=TUNED, task=PAIRS)
PRUNED = step("prune", model=AGAIN, task=PAIRS)
TICKET = step("ticket", base=TUNED, task=PAIRS, model=AGAIN, pruned__0=PRUNED, hans=HANS)


def test_ancestors_are_met_once_from_the_nearest():
    assert ancestors(TICKET) == [TUNED, AGAIN, PRUNED]
    assert ancestors(PRUNED) == [AGAIN, TUNED]
    assert ancestors(TUNED) == []


def test_roots_by_kind_in_the_order_of_the_inputs():
    assert roots(TICKET) == [POCKET, SENTIMENT, PAIRS, HANS]
    assert roots(TICKET, "model") == [POCKET]
    assert roots(TICKET, "examples", "task") == [SENTIMENT, PAIRS, HANS]
    copied = replace(POCKET, source="/elsewhere/pocket")
    assert copied.id == POCKET.id and roots(step("change", before=POCKET, after=copied, examples=TREES), "model") == [
        POCKET, copied,
    ]  # fmt: skip


def test_many_that_rest_on_the_same_are_walked_once():
    """Each of 40 steps reads the one before it twice: 2**40 ways down."""
    last: Step | Root = POCKET
    for seed in range(40):
        last = Step("change", 1, {"seed": seed}, {"before": last, "after": last, "examples": TREES})
    assert isinstance(last, Step) and len(ancestors(last)) == 39 and roots(last) == [POCKET, TREES]


def test_models_are_those_read_or_whose_states_are():
    kept = [step("states", model=one, examples=TREES) for one in (POCKET, AGAIN)]
    compared = step("similarity", states__0=kept[0], states__1=kept[1], examples=TREES)
    assert models_read(compared) == [POCKET, AGAIN] and models_read(kept[1]) == [AGAIN]
    assert models_read(step("change", before=POCKET, after=TUNED, examples=TREES)) == [POCKET, TUNED]
    assert models_read(TICKET) == [TUNED, AGAIN], "not those whose results are read"
    assert reads_results(TICKET) and not reads_results(compared)


def test_data_is_what_is_read_or_else_what_is_below():
    assert data_read(TICKET) == [PAIRS, HANS] and data_read(TICKET, but=("hans",)) == [PAIRS]
    assert data_read(step("claims", results__0=PRUNED, results__1=TUNED)) == [PAIRS, SENTIMENT]


def test_a_model_descends_from_its_base():
    assert list(descent(AGAIN)) == [AGAIN, TUNED, POCKET] and list(descent(POCKET)) == [POCKET]
    assert list(descent(TICKET)) == [TICKET, TUNED, POCKET], "from the base, not from what was pruned"
    assert base(TICKET) == base(POCKET) == POCKET
    assert base(step("claims", results__0=TUNED)) is None
