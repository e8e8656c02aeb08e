"""Twenty clients at once, each with its own switches: they are answered, in time, rightly, and memory stays."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("fastapi")  # an extra

from benchmarks import live
from benchmarks.live_load import Ask, Client, Found, Server, asks_of, load, right, sentence, serving


def test_an_answer_that_is_wrong_is_seen():
    said = {"seen": [{"after": {"shares": [{"label": "b", "p": 0.7}, {"label": "a", "p": 0.3}]}}]}
    assert right(said, np.array([0.3, 0.7])) and right(said, np.array([0.300005, 0.699995]))
    assert not right(said, np.array([0.7, 0.3])) and not right(said, np.array([0.3001, 0.6999]))
    assert not right(said, np.array([0.3, 0.3, 0.4]))


def test_what_isnt_answered_counts():
    assert Found(answered=[1.0] * 19, busy=1).share == 0.95
    assert Found(answered=[1.0], other=["500"]).share == 0.5 and Found().share == 0


def test_nobody_asks_what_another_asks(tiny):
    asks = [ask for mine in asks_of(tiny, 3, clients=4) for ask, _ in mine]
    assert len({ask.text for ask in asks}) == 12 and len(set(asks)) == 12
    assert len(tiny.tokenizer(sentence(0))["input_ids"]) == 30


@pytest.mark.alone
@pytest.mark.slow
def test_twenty_clients_are_answered_rightly_and_in_time(tiny, tmp_path):
    asks = asks_of(tiny, 12)
    with serving(tiny.save(tmp_path / "model")) as server:
        Client(server.url).look(Ask("the food was good", ()))
        load(server, [mine[:2] for mine in asks], seconds=2)  # what is loaded late, is
        found = load(server, asks, seconds=12)
    assert found.other == [] and found.wrong == 0
    assert found.share >= live.LEAST_ANSWERED and found.late <= live.MOST_SECONDS
    assert len(found.answered) > 100
    assert found.megabytes[-1] <= 1.1 * found.megabytes[1]


@pytest.mark.alone
@pytest.mark.slow
def test_more_than_it_can_take_is_told_busy_and_the_rest_is_right(tiny, tmp_path):
    """Sixty clients for a queue of 24: what is answered is answered rightly."""
    asks = asks_of(tiny, 2, clients=60)
    with serving(tiny.save(tmp_path / "model")) as server:
        found = load(server, asks, seconds=4)
    assert found.other == [] and found.wrong == 0 and found.busy and found.answered


def test_memory_and_processor_time_are_those_of_the_process():
    import os
    import resource

    one = Server("", os.getpid())
    used = resource.getrusage(resource.RUSAGE_SELF)
    assert one.processor_seconds() == pytest.approx(used.ru_utime + used.ru_stime, abs=0.5)
    assert 10 < one.megabytes() <= used.ru_maxrss / 1024 * 1.01
