"""`readout`: what the task head says of every layer, how good that is, and from where on it is the final answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bertscope.analyses.readout.question import PERMUTED, PLAIN, RANDOM, SHORTCUT, ReadoutConfig
from bertscope.analyses.readout.result import Found, readout_result
from bertscope.core.equivalence import surely_within
from bertscope.core.errors import UserError
from bertscope.core.estimate import Estimate
from bertscope.core.examples import Examples
from bertscope.core.hashing import hashed
from bertscope.core.intervals import ENDS, interval, share_interval, unless_alike
from bertscope.core.onset import stays_from
from bertscope.core.predictions import Judged
from bertscope.core.resampling import metric_draws
from bertscope.core.result import Result
from bertscope.data.task import Task
from bertscope.models.encoder import Encoder
from bertscope.models.new_task_head import with_random_weights
from bertscope.models.outputs.kinds import model_output
from bertscope.models.readings import Read, Reading, read_layers
from bertscope.models.shortcuts import Shortcut, Shortcuts, fit_shortcuts

_ROUNDING = 1e-9


def measure(model: Encoder, task: Task, config: ReadoutConfig) -> Result:
    if not len(task.test):
        raise UserError(f"{task.name} has no test texts to read; give a task that has some")
    task = task.asked_of(model)
    random = with_random_weights(model, config.seed) if config.controls and config.fit else None
    fitted = _fitted(model, task, random, config)
    if fitted is None:
        random = None
    readings = _readings(model.n_layers, fitted)
    forms = [one for each in readings.values() for one in each]
    read = read_layers(model, task.output, task.test, forms, random)
    places = _places(readings)
    by = _Draws.of(task, read.judged, config)
    stays = {name: _stays(task, read.judged, at, config) for name, at in places.items()}
    means = {name: by.score[:, at[:-1]].mean(1) for name, at in places.items()}
    found = Found(
        judged=read.judged,
        fitted_on=fitted.tokens if fitted is not None else 0,
        layers=_layers(task, read, by, places, readings, stays, config),
        settled={name: settle(each) for name, each in stays.items()},
        there={name: _there(by, places[name], config.share) for name in (PLAIN, SHORTCUT) if name in places},
        most={name: _most(each, config) for name, each in stays.items()},
        mean_scores=means,
        leads={name: means[SHORTCUT] - means[name] for name in (PERMUTED, RANDOM) if name in means},
    )
    return readout_result(model, task, found, config)


def _fitted(model: Encoder, task: Task, random: Encoder | None, config: ReadoutConfig) -> Shortcuts | None:
    """None where there is nothing to fit shortcuts on, or nobody wants them."""
    if not config.fit or len(task.train) < 2 or not len(task.validation):
        return None
    train, held = (_some(split, config) for split in (task.train, task.validation))
    return fit_shortcuts(model_output(model, task.output), train, held, random=random, seed=config.seed)


def _some(examples: Examples, config: ReadoutConfig) -> Examples:
    """At most as many as are asked for, drawn by their ids."""
    if len(examples) <= config.fit:
        return examples
    return examples.take(np.sort(hashed(examples.ids, config.seed).argsort()[: config.fit]))


def _readings(layers: int, fitted: Shortcuts | None) -> dict[str, list[Reading]]:
    """Those of the layers below the last; there the model itself is read."""
    found = {PLAIN: [Reading(layer) for layer in range(layers)]}
    if fitted is not None:
        kinds: Mapping[str, Sequence[Shortcut]] = {
            SHORTCUT: fitted.own, PERMUTED: fitted.permuted, RANDOM: fitted.random,
        }  # fmt: skip
        found |= {
            name: [Reading(layer, one, name == RANDOM) for layer, one in enumerate(each)]
            for name, each in kinds.items() if each
        }  # fmt: skip
    return found


def _places(readings: Mapping[str, Sequence[Reading]]) -> dict[str, np.ndarray]:
    """Where each reading's layers are among the forms, from the embeddings to the last, which is the model as it is:
    the first form."""
    found, before = {}, 1
    for name, each in readings.items():
        found[name] = np.append(np.arange(before, before + len(each)), 0)
        before += len(each)
    return found


@dataclass(frozen=True)
class _Draws:
    """Of each form, in the sample itself and in each resample: [1 + repeats, form]."""

    score: np.ndarray
    loss: np.ndarray
    chance: np.ndarray
    """[1 + repeats]: the score of who answers without looking."""
    n: int
    """Texts."""

    @classmethod
    def of(cls, task: Task, judged: Judged, config: ReadoutConfig) -> _Draws:
        how = {"repeats": config.repeats, "seed": config.seed}
        scores = metric_draws(task.value, np.concatenate([task.blind_moments()[None], judged.moments]), **how)
        losses = metric_draws(_mean, judged.losses[..., None], **how)
        return cls(scores[:, 1:], losses, scores[:, 0], len(judged.moments[0]))


def settle(stays: np.ndarray) -> np.ndarray:
    """From whether each layer says the same as the last [layer, ...], the last of which does, to the first layer from
    which on all do [...]."""
    return len(stays) - np.cumprod(stays[::-1].astype(int), axis=0).sum(0)


def _stays(task: Task, judged: Judged, at: np.ndarray, config: ReadoutConfig) -> np.ndarray:
    """[layer, example]: whether what is predicted is what the model predicts; a score is, where it is close."""
    if task.can_flip:
        return judged.flips[at] == 0
    final = judged.predicted[0]
    return np.abs(judged.predicted[at] - final) <= config.close * final.std()


def _there(by: _Draws, at: np.ndarray, share: float) -> Estimate | None:
    """The first layer from which on the score is at least that share of the way from chance to the final one; None
    where the model isn't clearly above chance."""
    final = by.score[:, 0]
    low, _ = interval(final - by.chance)
    if low <= 0:
        return None
    bar = by.chance + share * (final - by.chance) - _ROUNDING
    may_lose = (1 - share) * (final[0] - by.chance[0])
    surely = surely_within(final[0] - by.score[0, at], by.n, may_lose)
    return stays_from((bar[:, None] - by.score[:, at])[None], surely=surely).among(np.arange(len(at)))


def _most(stays: np.ndarray, config: ReadoutConfig) -> Estimate:
    """The first layer in which so large a share of the texts has settled. The share only rises: what its interval
    ends with are the first layers in which it may be so large, and in which it surely is (the binomial's tails)."""
    from scipy.stats import binom

    n = stays.shape[1]
    done = (settle(stays) <= np.arange(len(stays))[:, None]).sum(1)
    is_there = done / n >= config.share - _ROUNDING
    may_be = binom.cdf(done, n, config.share) > ENDS[0]
    surely = binom.sf(done - 1, n, config.share) <= ENDS[0]
    surely[-1] = True  # the last layer is the answer
    return Estimate.of(*(float(np.argmax(each)) for each in (is_there, may_be, surely)))


def _mean(means: np.ndarray) -> np.ndarray:
    return means[..., 0]


def _geometric_mean(means: np.ndarray) -> np.ndarray:
    """Of what has the logarithms to base 2 added up and counted."""
    return 2 ** np.divide(means[..., 0], means[..., 1], out=np.zeros_like(means[..., 0]), where=means[..., 1] > 0)


def _layers(
    task: Task,
    read: Read,
    by: _Draws,
    places: Mapping[str, np.ndarray],
    readings: Mapping[str, Sequence[Reading]],
    stays: Mapping[str, np.ndarray],
    config: ReadoutConfig,
) -> pd.DataFrame:
    """A row for each reading and layer; of controls none for the last, where nothing is read but the model."""
    judged, n = read.judged, read.judged.losses.shape[1]
    score, change = interval(by.score), interval(by.score - by.score[:, :1])
    if task.output.counts_hits:
        score = unless_alike(by.score[0], score, n)
    loss, loss_change = interval(by.loss), interval(by.loss - by.loss[:, :1])
    tables = []
    for name, places_of in places.items():
        at = places_of if name in (PLAIN, SHORTCUT) else places_of[:-1]
        layers = np.arange(len(at))
        same = stays[name][layers].mean(1)
        done = (settle(stays[name]) <= layers[:, None]).mean(1)
        done_low, done_high = share_interval(done, n)
        through = [one.through for one in readings[name]]
        table = pd.DataFrame(
            {
                "reading": name, "layer": layers,
                "score": by.score[0, at], "low": score[0][at], "high": score[1][at],
                "change": by.score[0, at] - by.score[0, 0], "change_low": change[0][at], "change_high": change[1][at],
                "loss": by.loss[0, at], "loss_low": loss[0][at], "loss_high": loss[1][at],
                "loss_change": by.loss[0, at] - by.loss[0, 0], "loss_change_low": loss_change[0][at],
                "loss_change_high": loss_change[1][at],
                task.output.divergence_key: judged.divergence[at].mean(1), "agreement": same,
                "settled": done, "settled_low": done_low, "settled_high": done_high,
            }
        )  # fmt: skip
        for column in ("penalty", "explained"):
            known = [np.nan if one is None else getattr(one, column) for one in through]
            table[column] = [*known, np.nan][: len(at)]
        tables.append(table)
    whole = pd.concat(tables, ignore_index=True)
    return whole if read.log_ranks is None else _with_ranks(whole, read, places, config)


def _with_ranks(
    table: pd.DataFrame, read: Read, places: Mapping[str, np.ndarray], config: ReadoutConfig
) -> pd.DataFrame:
    """With the geometric mean of the right guess's rank, over all guesses."""
    assert read.log_ranks is not None
    arms = np.stack([read.log_ranks, np.broadcast_to(read.guesses, read.log_ranks.shape)], -1)
    draws = metric_draws(_geometric_mean, arms, repeats=config.repeats, seed=config.seed)
    low, high = interval(draws)
    at = np.array([places[row.reading][row.layer] for row in table.itertuples()])
    return table.assign(rank=draws[0, at], rank_low=low[at], rank_high=high[at])
