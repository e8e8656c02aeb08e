"""Shards as steps: in a study, on workers and a cluster, killed in the middle, and of a large corpus."""

from __future__ import annotations

import copy
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import bertscope
from bertscope.core.errors import UserError
from bertscope.core.planning import planned
from bertscope.core.registry import find
from bertscope.core.step import graph
from bertscope.core.store import Store
from bertscope.study.file import read_study
from bertscope.study.runner import run_steps
from device import on_cpu
from long_corpora import text_file
from watched_processes import until

REPEATS = 100


@pytest.fixture(scope="module")
def asked(_tiny, tmp_path_factory):
    """Two models, a corpus, and the answer of one pass."""
    folder = tmp_path_factory.mktemp("asked")
    _tiny.save(folder / "before")
    after = copy.deepcopy(_tiny)
    after.model.base_model.encoder.layer[0].attention.self.query.weight.data *= 1.5
    after.save(folder / "after")
    text_file(folder / "corpus.txt")
    names = [str(folder / name) for name in ("before", "after", "corpus.txt")]
    return names, find("change")(*names, repeats=REPEATS)


def in_shards(names: list[str], shards: int = 3):
    question = find("change")
    return planned(question, names[:2], names[2], question.config(repeats=REPEATS), {}, {}, shards=shards)


def same(result, whole) -> bool:
    pairs = zip(result.headline, whole.headline, strict=True)
    return all(one.key == other.key and one.value == pytest.approx(other.value, rel=1e-12) for one, other in pairs)


def test_in_a_study(asked, tmp_path):
    names, _ = asked
    file = tmp_path / "mine.yaml"
    models = json.dumps({"before": names[0], "after": names[1]})
    file.write_text(
        f"models: {models}\ncorpus: {names[2]}\n"
        f"questions:\n  - change: {{of: [before, after], repeats: {REPEATS}, shards: 3}}\n"
    )
    assert in_shards(names).id in {step.id for step in read_study(file).steps}
    for wrong, said in (("many", "line 4.*shards is 'many'; give a number from 1 to .*, or the size of one"),
                        ("0", "line 4.*shards is 0; give a number from 1")):  # fmt: skip
        file.write_text(file.read_text().replace("shards: 3", f"shards: {wrong}"))
        with pytest.raises(UserError, match=said):
            read_study(file)
        file.write_text(file.read_text().replace(f"shards: {wrong}", "shards: 3"))
    file.write_text(f"model: {names[0]}\ncorpus: {names[2]}\nquestions:\n  - probe: {{shards: 3}}\n")
    with pytest.raises(UserError, match=r"line 4.*probe can't be asked in shards"):
        read_study(file)


def test_by_the_command(asked, tmp_path, command):
    names, whole = asked
    words = ["change", *names[:2], "--on", names[2], "--repeats", REPEATS, "--store", tmp_path / "store"]
    code, printed, _ = command(*words, "--shards", 3, "--json")
    assert code == 0
    told = {one["key"]: one["value"] for one in json.loads(printed)["numbers"]}
    assert told["cosine"] == pytest.approx(whole["cosine"].value, rel=1e-12)
    code, _, said = command("structure", names[0], "--on", names[2], "--shards", 3)
    assert code == 2 and said.startswith("bertscope: structure can't be asked in shards") and said.count("\n") == 1


@pytest.mark.slow
@pytest.mark.alone
@on_cpu
def test_on_workers(asked, tmp_path):
    names, whole = asked
    result = find("change")(*names, repeats=REPEATS, shards=3, workers=2, store=tmp_path)
    assert same(result, whole)


@pytest.mark.alone
@on_cpu
def test_on_a_cluster(asked, tmp_path):
    distributed = pytest.importorskip("distributed")
    names, whole = asked
    how = {"processes": False, "dashboard_address": "127.0.0.1:0", "threads_per_worker": 1}
    with distributed.LocalCluster(n_workers=2, resources={"GPU": 1}, **how) as here:
        outcome = run_steps([step := in_shards(names)], Store(tmp_path), cluster=here.scheduler_address)
    assert len(outcome.done) == 5 and same(Store(tmp_path).result(step), whole)


def _holds(process: int, step: str) -> bool:
    """Whether a process has a step's lock."""
    try:
        return any(step in os.readlink(link) for link in Path(f"/proc/{process}/fd").iterdir())  # noqa: PTH115
    except OSError:  # it ended
        return False


@pytest.mark.alone
@pytest.mark.slow
@on_cpu
def test_on_a_cluster_of_four_processes_one_of_them_killed_twice(asked, tmp_path):
    """kill -9 while it reads a shard, and again what Dask starts in its place: the answer is that of one pass, and
    what was stored before isn't touched."""
    distributed = pytest.importorskip("distributed")
    (before, after, _), corpus = asked[0], text_file(tmp_path / "long.txt", 16 * 2048)
    names, store = [before, after, str(corpus)], Store(tmp_path / "store")
    step = in_shards(names, 16)
    shards = [one for name, one in step.inputs.items() if name.startswith("sums")]
    killed: dict[int, str] = {}  # processes, and what each was making
    kept: dict[Path, int] = {}

    def kill(address: str) -> None:
        with distributed.Client(address) as client:
            while len(killed) < 2:
                time.sleep(0.02)
                named = {one["name"]: at for at, one in client.scheduler_info(n_workers=-1)["workers"].items()}
                if 0 not in named or not client.processing().get(named[0]):
                    continue  # it starts, or has nothing to do
                try:
                    process = client.run(os.getpid, workers=[named[0]])[named[0]]
                except OSError:  # it died meanwhile
                    continue
                made = [one.id for one in shards if process not in killed and _holds(process, one.id)]
                if made:
                    there = {store.path(one): store.path(one).stat().st_mtime_ns for one in shards if store.has(one)}
                    os.kill(process, signal.SIGKILL)
                    killed[process] = made[0]
                    kept.update(there)

    how = {"processes": True, "dashboard_address": "127.0.0.1:0", "threads_per_worker": 1}
    with distributed.LocalCluster(n_workers=4, silence_logs=logging.CRITICAL, **how) as here:
        killer = threading.Thread(target=kill, args=(here.scheduler_address,))
        killer.start()
        outcome = run_steps([step], store, cluster=here.scheduler_address)
        killer.join(60)
    assert len(killed) == 2, "the first worker, and what came in its place"
    assert outcome.exit_code == 0 and {*outcome.done, *outcome.stored} == {*graph([step])}
    assert {path: path.stat().st_mtime_ns for path in kept} == kept and len(kept) < len(shards)
    assert not {path.name for path in kept} & {*killed.values()}
    assert same(store.result(step), find("change")(*names, repeats=REPEATS))


_ASKED = """
import sys
from bertscope.core.registry import find
before, after, corpus, repeats, store = sys.argv[1:]
find("change")(before, after, corpus, repeats=int(repeats), shards=3, store=store)
"""


@pytest.mark.alone
@on_cpu
def test_a_shard_that_was_killed_is_made_again_alone(asked, tmp_path):
    names, whole = asked
    store, step = Store(tmp_path), in_shards(names)
    shards = [one for name, one in step.inputs.items() if name.startswith("sums")]
    process = subprocess.Popen([sys.executable, "-c", _ASKED, *names, str(REPEATS), str(tmp_path)])
    until(lambda: (tmp_path / "work" / shards[1].id).exists(), 300)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert store.has(shards[0]) and not store.has(shards[1]) and not store.has(step)
    outcome = run_steps([step], store)
    assert {*outcome.stored} == {shards[0].id, shards[0].inputs["division"].id}
    assert sorted(outcome.done) == sorted([shards[1].id, shards[2].id, step.id])
    assert same(store.result(step), whole)


_PEAK = """
import resource, sys
from pathlib import Path
import torch
from transformers import BertConfig, BertModel
from bertscope.core.registry import find
from bertscope.models.load import load
from long_corpora import text_file

folder = Path(sys.argv[1])
tokenizer = load("pocket", device="cpu").tokenizer
shape = dict(hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8)
for seed, name in enumerate(("before", "after")):
    torch.manual_seed(seed)
    made = BertModel(BertConfig(vocab_size=len(tokenizer), **shape))
    load(made, tokenizer=tokenizer).save(folder / name)
for n in map(int, sys.argv[2:]):
    corpus = text_file(folder / f"{n}.txt", n)
    names = [str(folder / "before"), str(folder / "after"), str(corpus)]
    result = find("change")(*names, repeats=100, shards=4, store=folder / "store")
    assert result["cosine"].n == n
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.alone
@pytest.mark.slow
def test_memory_is_flat_in_the_size_of_the_corpus(tmp_path):
    """A corpus ten times as large is read in the same memory, in as many shards."""
    support = json.dumps([str(Path(__file__).parents[1] / "support")])
    code = f"import sys; sys.path += {support}\n{_PEAK}"
    words = [sys.executable, "-c", code, str(tmp_path), "20000", "200000"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    few, many = map(int, done.stdout.split())
    assert many < 1.1 * few


def test_python_needs_no_store_of_its_own(asked, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names, whole = asked
    assert same(bertscope.change(*names, repeats=REPEATS, shards=2), whole)
    assert (tmp_path / "bertscope-store" / "steps").exists()
    with pytest.raises(UserError, match="workers make steps of a store; give shards= or store= too"):
        bertscope.change(*names, workers=2)
    with pytest.raises(UserError, match="structure takes no shards=; it can't be asked in shards"):
        bertscope.structure(names[0], names[2], shards=2)
