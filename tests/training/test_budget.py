"""The course of a pre-training: the learning rate, rows, kept checkpoints, and the time it takes."""

from __future__ import annotations

import numpy as np
import pytest

from bertscope.training.budget import Budget, Spent, kept_shares
from bertscope.training.loop import History
from bertscope.training.mixed_rows import MixedRows
from bertscope.training.row_order import RowOrder

USUAL, LONG = RowOrder(10_000, 16, 2, 8, 0), RowOrder(10_000, 64, 2, 2, 0)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def course(spent: Spent, clock: Clock, **given) -> Budget:
    how = {"highest": 1.0, "warmup": 0.1, "kept": kept_shares(5, "log")} | given
    return Budget(spent, MixedRows([USUAL, LONG], [0.9, 0.1]), clock=clock, **how)


def run(budget: Budget, clock: Clock, seconds_of, between: float = 0.0, look: bool = True):
    """All steps: rates and lengths of rows, by step, and the history; where rows begin, if that is looked at.
    `seconds_of` a step, and `between` stretches."""
    history, rates, lengths, starts = History(chance=0.0), [], [], []
    history.epochs.append({"epoch": 0} | budget.facts(history))
    while budget.goes_on(history):
        stretch = budget.stretch(len(history.epochs), history, np.random.default_rng(0))
        assert stretch.first == len(rates) and stretch.count >= 1
        for place in range(stretch.count):
            rates.append(stretch.rate(place))
            if look or not place:
                (rows,) = stretch.batches(place)
                starts.append(rows)
            lengths.append({8: 16, 2: 64}[len(rows)])
            clock.now += seconds_of(len(rates))
            history.seconds += seconds_of(len(rates))
        clock.now += between
        history.epochs.append({"epoch": len(history.epochs)} | budget.facts(history))
    return np.array(rates), np.array(lengths), history, starts


def test_a_budget_of_steps_is_kept_to_the_step():
    clock = Clock()
    budget = course(Spent(steps=1000), clock)
    rates, lengths, history, starts = run(budget, clock, lambda step: 0.1)
    share = (np.arange(1000) + 0.5) / 1000
    assert rates == pytest.approx(np.where(share < 0.1, share / 0.1, (1 - share) / 0.9))
    assert (lengths.reshape(-1, 100) == 64).sum(1).tolist() == [10] * 10, "long ones all along"
    kept = [row["step"] for number, row in enumerate(history.epochs) if budget.is_kept(number)]
    assert kept == [0, 1, 10, 100, 1000]
    last = history.epochs[-1]
    assert (last["step"], last["seconds"]) == (1000, pytest.approx(100))
    # Rows of each length go on from stretch to stretch.
    for order, count in ((USUAL, 900), (LONG, 100)):
        mine = [rows for rows, length in zip(starts, lengths, strict=True) if length == order.length]
        assert len(mine) == count and all(np.array_equal(mine[step], order.rows(step)) for step in range(count))


@pytest.mark.parametrize("steps", [1, 2, 7, 30])
def test_a_few_steps_are_so_many(steps):
    clock = Clock()
    rates, _, history, _ = run(course(Spent(steps=steps), clock), clock, lambda step: 1.0)
    assert len(rates) == steps and rates.min() > 0 and history.epochs[-1]["step"] == steps


@pytest.mark.parametrize(
    "seconds_of",
    [
        lambda step: 0.05,
        lambda step: 3.0 if step == 1 else 0.05,  # recording
        lambda step: 0.05 * (1 + step / 3000),  # slower and slower
        lambda step: 0.05 if step < 2000 else 0.02,
    ],
)
def test_a_budget_of_minutes_ends_in_time_with_a_rate_of_0(seconds_of):
    clock = Clock()
    budget = course(Spent(minutes=3), clock)
    rates, _, history, _ = run(budget, clock, seconds_of, between=0.3, look=False)
    assert clock.now - 1000 == pytest.approx(180, rel=0.02)
    assert rates[-1] < 0.01 and rates.max() > 0.95
    top = int(rates.argmax())
    assert (np.diff(rates[: top + 1]) > 0).all() and (np.diff(rates[top:]) < 0).all(), "up, then down, without a jump"
    assert np.abs(np.diff(rates[top:])).max() < 0.02
    assert sum(map(budget.is_kept, range(len(history.epochs)))) == 5


def test_getting_ready_doesnt_crowd_the_first_checkpoints():
    clock = Clock()
    budget = course(Spent(minutes=30), clock, kept=kept_shares(12, "log"))
    ready = lambda step: 60.0 if step == 1 else 0.05  # noqa: E731
    _, _, history, _ = run(budget, clock, ready, between=1.5, look=False)
    assert clock.now - 1000 == pytest.approx(1800, rel=0.01)
    kept = np.array([row["step"] for number, row in enumerate(history.epochs) if budget.is_kept(number)])
    shares = kept / kept[-1]
    assert kept[:2].tolist() == [0, 16], "the first two stretches are for getting ready"
    assert shares[2:] == pytest.approx(np.geomspace(1 / 1000, 1, 11)[1:], rel=0.1)


@pytest.mark.parametrize("spacing", ["none", "even", "log"])
def test_the_warm_up_takes_its_part_of_the_steps_whatever_is_kept(spacing):
    clock = Clock()
    budget = course(Spent(minutes=15), clock, warmup=0.05, kept=kept_shares(12, spacing))
    rates, *_ = run(budget, clock, lambda step: 60.0 if step == 1 else 0.05, between=2.0, look=False)
    share = (np.arange(len(rates)) + 0.5) / len(rates)
    assert rates == pytest.approx(np.where(share < 0.05, share / 0.05, (1 - share) / 0.95), abs=0.02)


@pytest.mark.parametrize("steps", [40, 100, 300])
def test_where_few_steps_fit_into_the_time_the_second_trial_warms_up(steps):
    clock = Clock()
    rates, *_ = run(course(Spent(minutes=steps / 60), clock, kept=[]), clock, lambda step: 1.0)
    assert steps - 7 <= len(rates) <= steps and rates[-1] < 0.05
    assert rates[:8].max() < 0.01, "nobody knows yet how many there will be"
    assert rates[8:16] == pytest.approx((np.arange(8) + 0.5) / 8 * min(1, 8 / (0.1 * steps)), abs=0.01)
    top = int(rates.argmax())
    assert (np.diff(rates[: top + 1]) >= 0).all() and (np.diff(rates[top:]) <= 0).all()


def test_time_that_a_kill_lost_isnt_spent():
    clock = Clock()
    budget = course(Spent(minutes=3), clock)
    history = History(chance=0.0)
    history.epochs.append({"epoch": 0} | budget.facts(history))
    for number in range(1, 9):
        stretch = budget.stretch(number, history, np.random.default_rng(0))
        clock.now += 0.05 * stretch.count
        history.seconds += 0.05 * stretch.count
        history.epochs.append({"epoch": number} | budget.facts(history))
    done, began = history.epochs[-1]["step"], clock.now - 1000
    clock.now += 5000
    again = course(Spent(minutes=3), clock)
    resumed = clock.now
    while again.goes_on(history):
        stretch = again.stretch(len(history.epochs), history, np.random.default_rng(0))
        assert stretch.first == done
        done += stretch.count
        clock.now += 0.05 * stretch.count
        history.seconds += 0.05 * stretch.count
        history.epochs.append({"epoch": 0} | again.facts(history))
    assert began + clock.now - resumed == pytest.approx(180, rel=0.02)
    assert again.time_left() == {"left": "0:00"}


def test_how_checkpoints_are_spread():
    assert kept_shares(4, "even") == pytest.approx([0, 1 / 3, 2 / 3, 1])
    assert kept_shares(12, "none") == []
    log = kept_shares(12, "log")
    assert len(log) == 12 and np.diff(np.log(log[1:])).std() < 1e-9 and log[-1] == pytest.approx(1)
