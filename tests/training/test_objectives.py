"""What is learnt, against loops: the losses of spans and of trees, the loop's steps, its clock and its modes."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import tokenizers
import torch
from torch import nn
from transformers import get_linear_schedule_with_warmup

from bertscope.core.examples import ROOT, Examples
from bertscope.data.task import Task
from bertscope.models.batches import pad, tokenise
from bertscope.models.new_task_head import with_classifier
from bertscope.models.parser import Biaffine
from bertscope.training import loop
from bertscope.training.finetune.question import FinetuneConfig, finetune
from bertscope.training.objective import Labelled
from bertscope.training.task_kinds import with_task_head
from device import one_by_one
from short_training import make_task

PLAIN = FinetuneConfig(epochs=2, learning_rate=2e-3, batch_size=8, warmup=0.0)


def log_softmax(scores: list[float]) -> np.ndarray:
    scores = np.array(scores, dtype=np.float64)
    return scores - np.log(np.exp(scores - scores.max()).sum()) - scores.max()


@pytest.mark.skipif(tokenizers.__version__ == "0.23.2", reason="it makes too few windows of a long text")
def test_the_loss_of_spans_is_that_of_each_window_by_itself(tiny):
    """Two short texts, and one in several windows: of those that haven't the answer, the first token is right."""
    long = " ".join(["the old house by the river was cold ."] * 12 + ["Anna closed the door ."])
    rows = [("who ran ?", "Anna ran home .", "Anna"), ("where ?", "it rained by the old river .", "old river"),
            ("who ?", long, "Anna closed")]  # fmt: skip
    questions, texts, _ = zip(*rows, strict=True)
    spans = tuple(((text.index(said), text.index(said) + len(said)),) for _, text, said in rows)
    examples = Examples(("a", "b", "c"), questions, texts, answers=spans)
    encoder = with_task_head(tiny, Task("toy", "spans", (), examples, examples, examples, "token_f1"))
    made = Labelled(encoder, Task("toy", "spans", (), examples, examples, examples, "token_f1"))
    n = len(made.tokens)
    assert n > 4
    batch = made.batch(np.arange(n))
    loss = made.loss(batch).item()

    coded = encoder.tokenizer(
        list(questions), list(texts), truncation="only_second", max_length=64, stride=16,
        return_overflowing_tokens=True, return_offsets_mapping=True,
    )  # fmt: skip
    losses = []
    for row, ids in enumerate(coded["input_ids"]):
        with torch.no_grad():
            both = (torch.tensor([each], device=encoder.device) for each in (ids, coded["token_type_ids"][row]))
            said = encoder.model(next(both), token_type_ids=next(both))
        inside = [at for at, text in enumerate(coded.sequence_ids(row)) if text == 1]
        begin, end = spans[coded["overflow_to_sample_mapping"][row]][0]
        offsets = coded["offset_mapping"][row]
        first = [at for at in inside if offsets[at][0] == begin]
        last = [at for at in inside if offsets[at][1] == end]
        right = (first[0], last[0]) if first and last else (0, 0)
        for scores, gold in zip((said.start_logits[0], said.end_logits[0]), right, strict=True):
            possible = [0, *inside]
            losses.append(-log_softmax([scores[at].item() for at in possible])[possible.index(gold)])
    assert loss == pytest.approx(np.mean(losses), rel=1e-4)


def test_answers_that_the_model_cant_read_are_counted(tiny):
    examples = Examples(
        ("a", "b"), ("who ?", "who ?"), ("so   they went .", "Anna ran ."), answers=(((3, 4),), ((0, 4),))
    )
    task = Task("toy", "spans", (), examples, examples, examples, "token_f1")
    assert Labelled(with_task_head(tiny, task), task).notes == (
        "1 training answer has no token that the model reads",
    )


def test_the_loss_of_trees_is_that_of_each_word_by_itself(tiny):
    """The mean over words of what its head costs among the sentence's other words and the root, and of what its
    relation costs under the right head. Words that aren't read, or whose head isn't, are left out."""
    words = (("Dogs", "uninterestedly", "bark", "."), ("No",), ("no",) * 80, ("uninterestedly",) * 40)
    heads = ((2, 2, ROOT, 2), (ROOT,), (70, *[0] * 78, ROOT), (ROOT, *[0] * 39))
    relations = (
        ("nsubj", "dep", "root", "dep"), ("root",), ("nsubj", *["dep"] * 78, "root"), ("root", *["dep"] * 39)
    )  # fmt: skip
    examples = Examples(tuple("abcd"), tuple(map(" ".join, words)), words=words, governors=heads,
                        marks={"relation": relations})  # fmt: skip
    labels = ("dep", "nsubj", "root")
    task = Task("toy", "trees", labels, examples, examples, examples, "las")
    encoder = with_task_head(tiny, task, seed=4)
    made, parser = Labelled(encoder, task), encoder.model.parser
    batch = made.batch(np.arange(4))
    loss = made.loss(batch).item()
    long = -(-62 // len(encoder.tokenizer.tokenize("uninterestedly")))  # the last may have lost its end

    of_arcs, of_relations = [], []
    for row, read in enumerate((4, 1, 62, long)):
        tokens = tokenise(encoder.tokenizer, examples.take([row]), encoder.max_length)
        alone = pad(tokens, np.arange(1), pad_id=0, device=encoder.device)
        with torch.no_grad():
            states = encoder.model(**alone.inputs).last_hidden_state[0]
            vectors = [states[0], *(states[alone.words[0] == word].mean(0) for word in range(read))]
            arcs = parser.arcs(torch.stack(vectors)[None])[0]
        for word in range(read):
            head = heads[row][word] + 1  # the root is 0
            if head > read:
                continue
            others = [at for at in range(read + 1) if at != word + 1]
            of_arcs.append(-log_softmax([arcs[word, at].item() for at in others])[others.index(head)])
            under = torch.full((1, read), head, device=encoder.device)
            with torch.no_grad():
                kinds = parser.relations(torch.stack(vectors)[None], under)[0, word].tolist()
            of_relations.append(-log_softmax(kinds)[labels.index(relations[row][word])])
    assert len(of_arcs) == 4 + 1 + 61 + long and long < 30
    assert loss == pytest.approx(np.mean(of_arcs) + np.mean(of_relations), rel=1e-4)


def test_a_parser_has_the_sizes_that_methods_tells():
    parser = Biaffine(hidden=24, relations=3)
    assert parser.arc_weight.shape == (128, 129) and parser.relation_weight.shape == (3, 65, 65)
    assert {module.p for module in parser.modules() if isinstance(module, nn.Dropout)} == {0.1}


def without_dropout(encoder):
    for module in encoder.model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    return encoder


@one_by_one
@pytest.mark.parametrize("times", [1.0, 5.0])
def test_a_training_is_a_plain_loop_of_adamw(tiny, monkeypatch, times):
    """Clipped gradients, linear decay, weight decay of matrices alone, a rate of their own for pooler and classifier:
    the weights of a loop written out. In double precision: in single, Adam makes steps of full size of the rounding
    of gradients that are 0."""
    task, config = make_task(), replace(PLAIN, weight_decay=0.1, clip=0.05, seed=3, head_rate=times)
    one, other = (without_dropout(with_classifier(tiny, task.labels, seed=0)) for _ in range(2))
    for each in (one, other):
        each.model.double()
    order, plain = [], Labelled.loss
    monkeypatch.setattr(
        Labelled, "loss", lambda self, batch: order.append(torch.from_numpy(batch.rows)) or plain(self, batch)
    )
    loop.train(one, Labelled(one, task), config, out=None, resume=False)
    epochs = [torch.cat(order[:8]).tolist(), torch.cat(order[8:]).tolist()]
    assert all(sorted(rows) == list(range(60)) for rows in epochs) and epochs[0] != epochs[1]

    model = other.model.train()
    on_top = {name for name, _ in model.named_parameters() if "pooler" in name or "classifier" in name}
    assert len(on_top) == 4
    groups = [
        {"params": [parameter], "weight_decay": 0.1 * (parameter.ndim > 1), "lr": 2e-3 * times ** (name in on_top)}
        for name, parameter in model.named_parameters()
    ]
    optimizer = torch.optim.AdamW(groups)
    schedule = get_linear_schedule_with_warmup(optimizer, 0, 2 * 8)
    norms = []
    for rows in order:
        texts = [task.train.text[row] for row in rows]
        coded = other.tokenizer(texts, padding=True, return_tensors="pt").to(other.device)
        labels = torch.from_numpy(task.train.label[rows.numpy()]).to(other.device)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(**coded).logits.float(), labels).backward()
        norms.append(nn.utils.clip_grad_norm_(model.parameters(), 0.05).item())
        optimizer.step()
        schedule.step()
    assert min(norms) > 0.05 and len(norms) == 16
    for (name, mine), wanted in zip(one.model.named_parameters(), model.parameters(), strict=True):
        if not name.endswith("key.bias"):  # the loss is in single precision, and their gradient is all rounding
            assert torch.allclose(mine, wanted, rtol=0, atol=1e-6), name


def test_scores_are_standardised_by_the_fit_split_and_come_back_in_their_units(tiny):
    """Nothing is learnt at a rate of 0: what the new regressor says, in the training set's units; and its loss."""
    task, config = make_task(regression=True), replace(PLAIN, epochs=1, learning_rate=0.0, batch_size=60)
    start, train = without_dropout(with_classifier(tiny, (), seed=0)), task.train.label
    said = [start.predict(split).logits[:, 0] for split in (task.train, task.test)]
    history = loop.train(start, Labelled(start, task), config, out=None, resume=False)
    assert np.allclose(start.predict(task.test).logits[:, 0], said[1] * train.std() + train.mean(), atol=1e-3)
    wanted = np.mean((said[0] - (train - train.mean()) / train.std()) ** 2)
    assert history.epochs[1]["loss"] == pytest.approx(wanted, rel=1e-4)
    dropping = finetune(tiny, task, config).result.tables["epochs"]["loss"].iloc[1]
    assert dropping != pytest.approx(wanted, rel=1e-3)


@one_by_one
@pytest.mark.parametrize(("held", "dropout", "modes"), [
    ("2", False, [True, False, True]), ("2", True, [True, True, True]), ("embeddings,1", True, [True, True, True]),
    ("embeddings,1-2", False, [False, False, True]), ("", False, [True, True, True]),
])  # fmt: skip
def test_which_layers_drop_out_in_training(tiny, monkeypatch, held, dropout, modes):
    """And whether the first is computed in a step: not if it is frozen over what is frozen, without dropout."""
    task, plain, seen, computed = make_task(), Labelled.loss, set(), []

    def loss(self, batch):
        computed.clear()
        found = plain(self, batch)
        modes = [block.attention.self.dropout.training for block in self.encoder.layers]
        seen.add((*modes, bool(computed)))
        return found

    monkeypatch.setattr(Labelled, "loss", loss)
    made = with_classifier(tiny, task.labels)
    made.layers[0].attention.self.query.register_forward_hook(lambda *_: computed.append(None))
    config = replace(PLAIN, frozen=held, frozen_dropout=dropout)
    loop.train(made, Labelled(made, task), config, out=None, resume=False)
    assert seen == {(*modes, held != "embeddings,1-2")}


def test_the_clock_runs_in_steps_and_in_the_one_pass_of_frozen_layers(tiny, monkeypatch):
    """10 seconds an epoch, 100 for the pass; 1000 for each scoring, which doesn't count."""
    task, now = make_task(), [0.0]

    def taking(seconds, plain):
        def taken(*args, **kwargs):
            now[0] += seconds
            return plain(*args, **kwargs)

        return taken

    monkeypatch.setattr(loop, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    monkeypatch.setattr(loop.Training, "epoch", taking(10, loop.Training.epoch))
    monkeypatch.setattr(Labelled, "score", taking(1000, Labelled.score))
    monkeypatch.setattr(loop.Prefix, "of", taking(100, loop.Prefix.of))
    result = finetune(tiny, task, replace(PLAIN, epochs=3, frozen="embeddings,1-2")).result
    assert result.provenance["training_seconds"] == 3 * 10 + 100


@one_by_one
def test_the_step_with_most_tokens_is_weighed(tiny, monkeypatch):
    task, plain, seen = make_task(), loop.Training._step, []

    def step(self, parts, rate, step, epoch, *, weighed=False):
        (rows,) = parts
        seen.append((len(rows) * self.objective.lengths[rows].max(), weighed))
        return plain(self, parts, rate, step, epoch, weighed=weighed)

    monkeypatch.setattr(loop.Training, "_step", step)
    result = finetune(tiny, task, PLAIN).result
    assert [size for size, weighed in seen if weighed] == [max(size for size, _ in seen)]
    assert len({size for size, _ in seen}) > 2 and result.provenance["activation_bytes"] > 0
