"""Whatever is asked wrongly is one line that says what to do, and never another exception."""

from __future__ import annotations

import pytest

from bertscope.core.errors import UserError
from bertscope.live.explorer import Explorer
from bertscope.live.messages import AskHead, AskRows, Change, Compare, Explain, LookAt, Patch, Reading
from bertscope.models.load import load
from explored import another
from families import tiny_model
from planted_kinds import PLANTED

TEXT = "the old man by the river"
HERE = Reading(TEXT)


@pytest.fixture(scope="module")
def one(_tiny, toy_task):
    return Explorer.open(_tiny, None, toy_task)


@pytest.fixture(scope="module")
def two(_tiny):
    return Explorer.open(_tiny, another(_tiny))


def off(*parts, mode="zero", graft=()):
    return LookAt(HERE, [Change(list(parts), mode, list(graft))])


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (off("head:9.1"), "layers 1 to 3"),
        (off("head:1.9"), "heads 1 to 4"),
        (off("head:0.1"), "layers 1 to 3"),
        (off("mlp:4"), "layers 1 to 3"),
        (off("hat:1"), "unknown kind of part"),
        (off("head"), "names no part"),
        (off(""), "names no part"),
        (off("layer:" + "9" * 5000), "names no part"),
        (off("head:1." + "9" * 5000), "names no part"),
        (off("head:１.２"), "names no part"),
        (off(graft=["layer:" + "0" * 5000 + "1"]), "names no part"),
        (off("head:1.1", mode="median"), "unknown mode"),
        (off("head:1.1", mode="mean"), "needs a task"),
        (off(graft=["neuron:1.1"]), "can't be taken"),
        (off(graft=["head:1.9"]), "heads 1 to 4"),
        (off(graft=["pooler"]), "names no part"),
        (off(*["head:1.1"] * 2000), "at most 1,000"),
        (LookAt(Reading("")), "text is empty"),
        (LookAt(Reading(" \n\t")), "text is empty"),
        (LookAt(Reading(TEXT, "")), "second text is empty"),
        (LookAt(Reading(TEXT, choices=["a"])), "doesn't choose"),
        (LookAt(Reading("\u0000\u0001")), "no token"),
        (LookAt(Reading("word " * 300)), "at most 64"),
        (LookAt(Reading("w" * 9000)), "8,000"),
        (LookAt(HERE, [Change()] * 3), "3 changes"),
    ],
)
def test_looks(two, asked, told):
    with pytest.raises(UserError, match=told):
        two.look(asked)
    for ask in (two.maps, two.python):
        with pytest.raises(UserError, match=told):
            ask(asked)
    with pytest.raises(UserError, match=told):
        two.explain(Explain(asked.reading, asked.changes))
    with pytest.raises(UserError, match=told):
        two.compare(Compare([asked.reading], asked.changes))


def test_one_checkpoint(one):
    with pytest.raises(UserError, match="one checkpoint only"):
        one.look(off(graft=["layer:1"]))
    with pytest.raises(UserError, match="2 changes are given for one checkpoint"):
        one.look(LookAt(HERE, [Change(), Change()]))
    for ask in (lambda: one.head(AskHead(1, 1, 1)), lambda: one.patch(Patch(HERE, HERE, 1))):
        with pytest.raises(UserError, match="no model 1; there is model 0 only"):
            ask()


@pytest.mark.parametrize("place", [(0, 1), (4, 1), (1, 0), (1, 5), (-1, 1)])
def test_heads_that_arent_there(one, place):
    with pytest.raises(UserError, match=r"(layers|heads) 1 to"):
        one.head(AskHead(*place))


def test_rows(one, two):
    with pytest.raises(UserError, match="no data"):
        two.rows(AskRows())
    for asked in (AskRows(first=-1), AskRows(count=0), AskRows(count=10_000)):
        with pytest.raises(UserError, match="count"):
            one.rows(asked)
    with pytest.raises(UserError, match="unknown order"):
        one.rows(AskRows(order="best"))
    assert one.rows(AskRows(first=10_000)).rows == []


def test_comparisons(two):
    with pytest.raises(UserError, match="nothing to compare"):
        two.compare(Compare([]))
    with pytest.raises(UserError, match="at most 10"):
        two.compare(Compare([HERE] * 11))


def test_explanations(two):
    with pytest.raises(UserError, match="no label 'nobody'"):
        two.explain(Explain(HERE, towards="nobody"))
    with pytest.raises(UserError, match="unknown method"):
        two.explain(Explain(HERE, method="guess"))
    with pytest.raises(UserError, match="single words"):
        two.explain(Explain(HERE, word=2))


def test_patches(two):
    with pytest.raises(UserError, match="answered alike"):
        two.patch(Patch(HERE, HERE))
    with pytest.raises(UserError, match="8 and 9 tokens"):
        two.patch(Patch(HERE, Reading(TEXT + " again")))


@pytest.mark.parametrize(
    ("kind", "reading", "told"),
    [
        ("spans", Reading("where"), "give the second one"),
        ("vectors", Reading("where"), "give the second one"),
        ("choices", Reading("where"), "give them as choices"),
        ("choices", Reading("where", "there"), "give them as choices"),
        ("choices", Reading("where", choices=["here", " "]), "candidate is empty"),
        ("choices", Reading("where", choices=["here"] * 30), "at most 26"),
        ("tokens", Reading("where", "there"), "leave out the second one"),
        ("trees", Reading("where", "there"), "leave out the second one"),
        ("trees", Reading("\u0000"), "no token"),
        ("spans", Reading("who was it " * 6, "it was"), "too long|at most"),
    ],
)
def test_what_a_kind_of_model_cant_read(_pocket, kind, reading, told):
    explorer = Explorer.open(PLANTED[kind].model(_pocket.tokenizer), None, PLANTED[kind].task(4))
    with pytest.raises(UserError, match=told):
        explorer.look(LookAt(reading))


def test_trees_and_answers_cant_be_patched(_pocket):
    for kind in ("trees", "spans"):
        explorer = Explorer.open(PLANTED[kind].model(_pocket.tokenizer), None, PLANTED[kind].task(4))
        reading = explorer.about().example
        with pytest.raises(UserError, match="can't be patched"):
            explorer.patch(Patch(reading, reading))


def test_checkpoints_of_other_architectures(_pocket, tiny):
    other = load(tiny_model("distilbert"), tokenizer=_pocket.tokenizer)
    explorer = Explorer.open(tiny, other)
    assert "nothing can be exchanged" in explorer.about().graft
    with pytest.raises(UserError, match="nothing can be exchanged"):
        explorer.look(off(graft=["layer:1"]))
    found = explorer.look(LookAt(HERE))
    assert found.change == []
    assert len(found.seen) == 2 and found.seen[1].after.kind == "classification"


NASTY = (
    "\ud800",
    "a\x00b",
    "[CLS]",
    "[PAD] a [SEP]",
    "[MASK][MASK] a",
    "\u202eabc",
    "\U0001f469\u200d\U0001f469",
    "\u200b",
    "a" * 500,
    "\n\na\r\nb",
    "<script>",
    "'\"\\\\",
    "你好世界",
    "\ufeffa",
    "a\u00a0b",
    "\u2028",
    "[MASK",
    "\x7f\x1b[31m",
    "a\u00ad",
)


@pytest.mark.parametrize("kind", [pytest.param(kind, marks=() if kind in ("tokens", "trees", "masked", "spans") else
                                               pytest.mark.slow) for kind in PLANTED])  # fmt: skip
def test_whatever_is_typed_is_answered_or_refused(_pocket, kind):
    explorer = Explorer.open(PLANTED[kind].model(_pocket.tokenizer))
    answered = 0
    for text in NASTY:
        for reading in (
            Reading(text),
            Reading(text, "a road"),
            Reading("a road", text),
            Reading("a", None, [text, "b"]),
        ):
            for ask in (
                lambda reading: explorer.look(LookAt(reading, [Change(["head:1.2"])])),
                lambda reading: explorer.explain(Explain(reading, method="leave_out")),
                lambda reading: explorer.patch(Patch(reading, Reading("kind", reading.pair, reading.choices))),
                lambda reading: compile(explorer.python(LookAt(reading)), "lines", "exec"),
            ):
                try:
                    ask(reading)
                    answered += 1
                except UserError as error:
                    assert "\n" not in str(error)
    assert answered > 20
