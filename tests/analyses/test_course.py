"""`course`: what is followed, what isn't, and a training in which one layer changes at one checkpoint."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import bertscope
from bertscope.core.errors import UserError
from bertscope.core.intervals import interval
from bertscope.core.model_record import ModelRecord, Origin
from bertscope.core.number import Number
from bertscope.core.registry import find
from bertscope.core.resampling import metric_draws
from bertscope.core.result import Result
from bertscope.core.store import Store
from bertscope.core.words import in_words
from checkpoints import STEPS, jumping
from device import on_cpu
from made_up_answers import answer, number
from toy import task_of

course = find("course")


def onsets(result: Result) -> dict[str, tuple]:
    rows = result.tables["onsets"]
    return {row.line: (row.after, row.onset, row.low, row.high) for row in rows[rows["has_onset"]].itertuples()}


def test_each_number_is_a_line_with_its_onset():
    values = [0.5, 0.5, 0.9, 0.9]
    found = course([answer(place, number("score", value), number("loss", 1.0)) for place, value in enumerate(values)])
    assert list(found.tables["lines"]["step"]) == [0, 10, 20, 30] * 2, "steps are those of the folders' names"
    assert list(found.tables["lines"].query("line == 'score'")["value"]) == values
    assert onsets(found) == {"score": (10, 20, 10, 20)}
    assert found["certain"].value == 1 and found["certain"].n == 2
    told = found["onset"]
    assert (told.value, told.low, told.high, told.of) == (20, 10, 20, {"line": "score"})
    assert found["final_change"].value == pytest.approx(0.4)
    assert found.subject == {"task": "reviews", "question": "errors", "checkpoints": "4"}
    assert list(found.models) == ["model3"] and found.tables["checkpoints"]["model"][0] == "model0"
    assert "score reached its final level, between steps 10 and 20" in course.sentence(found).sentence
    (follows,) = course.consequences(found)
    assert "it did between steps 10 and 20 of 30" in follows.text and not follows.is_open


def test_what_only_some_answers_note_is_said_with_their_steps():
    notes = (["all", "early"], ["all", "early"], ["all", "late"])
    answers = [replace(answer(at, number("score", at / 3)), notes=note) for at, note in enumerate(notes)]
    assert course(answers).notes[-3:] == ["all", "at steps 0, 10: early", "at step 20: late"]


def test_what_got_there_at_one_step_has_no_first_and_last():
    values = [0.5, 0.5, 0.9]
    moved = [answer(at, number("score", value), number("loss", 1 - value)) for at, value in enumerate(values)]
    said = course.sentence(course(moved)).sentence
    assert said.endswith("; all of them reached their final level between steps 10 and 20.")


def test_without_draws_or_with_other_examples_there_is_a_line_and_no_onset():
    sure = [answer(at, number("score", at / 3, n=50 + at), number("brier", at / 3, sure=False)) for at in range(4)]
    found = course(sure)
    assert len(found.tables["lines"]) == 8 and onsets(found) == {} and found["certain"].n == 0
    assert "no onset is told of score, Brier score (sum over classes)" in " ".join(found.notes)
    assert course.consequences(found) == []


def test_what_may_not_have_changed_is_open():
    (follows,) = course.consequences(course([answer(at, number("score", 0.5)) for at in range(3)]))
    assert follows.is_open and "is open" in follows.text


def test_what_never_moves_and_was_never_drawn_is_no_line():
    found = course([answer(at, number("score", at / 3), number("chance", 0.5, sure=False)) for at in range(3)])
    assert set(found.tables["lines"]["key"]) == {"score"}


def test_what_is_picked_anew_at_each_step_is_one_line():
    """The head that costs most is another one at each step; those of two kinds stay two lines."""
    answers = [
        answer(
            at, number("most_loss_rise", at / 4, kind="head", unit=f"head:1.{at + 1}"),
            number("most_loss_rise", at / 8, kind="mlp", unit="mlp:1"), question="ablate",
        )
        for at in range(3)
    ]  # fmt: skip
    lines = course(answers).tables["lines"]
    assert list(lines.groupby("line", sort=False)["value"].agg(list)) == [[0, 0.25, 0.5], [0, 0.125, 0.25]]
    assert list(lines["line"].unique()) == [
        "largest rise of the loss without one head (whichever)",
        "largest rise of the loss without one MLP (whichever)",
    ]


def test_what_is_compared_with_the_first_begins_as_the_same():
    answers = [answer(at, number("cosine", 1 - at / 10), question="change") for at in (1, 2, 3)]
    found = course(answers, steps=(0, 10, 20, 30))
    lines = found.tables["lines"]
    assert list(lines["step"]) == [0, 10, 20, 30] and list(lines["value"]) == [1.0, 0.9, 0.8, 0.7]
    assert onsets(found)["cosine"][:2] == (20, 30)


def divergences(per_text, **more) -> list[Result]:
    """Answers of `change`, of texts' divergences [checkpoint, n] from the model before."""
    drawn = metric_draws(lambda means: means[..., 0], np.asarray(per_text)[..., None], repeats=200)
    found = [Number("divergence", *draws[[0]], *interval(draws), 200, "bits", draws=draws) for draws in drawn.T]
    return [answer(at, one, question="change", **more) for at, one in enumerate(found, start=1)]


def test_a_model_that_only_isnt_equal_to_the_first_has_not_changed_for_certain():
    """Weights that were shaken by rounding: every text's divergence is above 0, so that no resample's mean is 0."""
    shaken = np.abs(np.random.default_rng(0).normal(0, 1e-6, (4, 200)))
    found = course(divergences(shaken), steps=(0, 10, 20, 30, 40))
    (row,) = found.tables["onsets"].itertuples()
    assert 0 < row.change_low < row.change < 1e-6, "its interval leaves out 0, which says nothing"
    assert row.known_end and not row.certain and not row.has_onset
    assert (found["certain"].value, found["certain"].n) == (0, 0)
    assert found["final_change"].low == row.change_low
    assert "no number of change can be tested for a change" in course.sentence(found).sentence
    assert course.consequences(found) == []


@pytest.mark.parametrize("begins", ["itself", "a base that is equal"])
def test_a_divergence_is_an_effect_size_with_an_onset(begins):
    """Also where the series begins with the model that its checkpoints are compared with."""
    means = np.array([[0.01], [0.01], [0.3], [0.3]])
    per_text = np.random.default_rng(0).gamma(40, means / 40, (4, 200))
    steps = (0, 10, 20, 30, 40)
    found = course(divergences(per_text if begins == "itself" else [np.zeros(200), *per_text]), steps=steps)
    (row,) = found.tables["onsets"].itertuples()
    assert row.first == 0 and not row.certain and found["certain"].n == 0
    assert onsets(found) == {"divergence": (20, 30, 20, 30)}
    assert found["final_change"].value == pytest.approx(0.3, rel=0.1) and found["onset"].value == 30
    assert any(note.startswith("not tested for a change: divergence;") for note in found.notes)
    assert "first divergence reached its final level" in course.sentence(found).sentence
    (follows,) = course.consequences(found)
    assert "did to divergence (0.000 to 0.3" in follows.text and "between steps 20 and 30" in follows.text
    assert [one.where for one in found.figures if one.key == "onsets"] == [{"has_onset": True}]


def test_a_divergence_from_another_model_is_tested():
    per_text = np.random.default_rng(0).gamma(4, np.array([[0.1], [0.3]]) / 4, (2, 200))
    found = course(divergences(per_text), steps=(10, 20))
    (row,) = found.tables["onsets"].itertuples()
    assert row.certain and not row.known_end and found["certain"].n == 1


def test_similarity_has_a_line_to_either_end():
    first = [answer(at, number("rsa_mean", 1 - at / 10), question="similarity") for at in (1, 2, 3)]
    last = [answer(at, number("rsa_mean", 0.7 + at / 10), question="similarity") for at in (0, 1, 2)]
    found = course(first, to_last=last, steps=(0, 10, 20, 30))
    lines = (
        found.tables["lines"].groupby("line", sort=False)["value"].agg(lambda values: [round(v, 9) for v in values])
    )
    assert dict(lines) == {
        "RSA, mean, with the first": [1.0, 0.9, 0.8, 0.7], "RSA, mean, with the last": [0.7, 0.8, 0.9, 1.0],
    }  # fmt: skip
    ends = found.tables["onsets"]
    assert ends["known_end"].all() and ends["has_onset"].all() and not ends["certain"].any()


def test_tables_are_followed_by_layer_and_head():
    def tables(at: int) -> dict[str, pd.DataFrame]:
        layers = pd.DataFrame({"layer": [1, 2], "cosine": [1.0, 1 - at / 10], "cosine_low": 0.5, "cosine_high": 1.0})
        return {"layers": layers}

    answers = [answer(at, number("cosine", 1 - at / 10), question="change", tables=tables(at)) for at in (1, 2)]
    found = course(answers, steps=(0, 10, 20))
    followed = found.tables["layers_cosine"]
    assert list(followed["step"]) == [10, 10, 20, 20] and list(followed["cosine"]) == [1.0, 0.9, 1.0, 0.8]
    figure = next(one for one in found.figures if one.key == "layers_cosine")
    assert (figure.x, figure.facet, figure.low) == ("step", "layer", "cosine_low")


def followed(found: Result, name: str) -> list[tuple]:
    """Where each figure of a table draws more than one row at one place; none should."""
    figures = [one for one in found.figures if one.table == name]
    assert figures
    for figure in figures:
        table = found.tables[name]
        for column, value in figure.where.items():
            table = table[table[column] == value]
        assert table.groupby([figure.x, *filter(None, (figure.facet, figure.color))]).size().max() == 1
    return [tuple(figure.where.items()) for figure in figures]


def test_random_weights_beside_a_checkpoint_are_no_point_of_its_line():
    def structured(at: int) -> Result:
        models = {
            f"model{at}": ModelRecord(f"model{at}", "mine", source=f"/run/checkpoint-{at}"),
            "random": ModelRecord("random", "mine, random weights", Origin("random", init="random")),
        }
        rows = [
            {"checkpoint": model, "layer": layer, "rank": rank, "arm": "probe", "metric": "uuas",
             "value": 0.1 * layer if model == "random" else 0.5 + 0.01 * at, "low": 0.0, "high": 1.0,
             "best_rank": rank == 8}
            for model in models for layer in (0, 1) for rank in (4, 8)
        ]  # fmt: skip
        return answer(at, number("uuas", 0.5), question="structure", models=models,
                      tables={"scores": pd.DataFrame(rows)})  # fmt: skip

    found = course([structured(1), structured(2)])
    assert followed(found, "scores_value") == [()]
    assert list(found.tables["scores_value"]["value"]) == [0.51] * 2 + [0.52] * 2


def test_each_end_and_each_corpus_has_a_figure_of_its_own():
    def compared(at: int) -> Result:
        rows = [
            {"layer": 1, "measure": measure, "corpus": corpus, "value": 0.1 * at, "low": 0.0, "high": 1.0}
            for measure in ("rsa", "cka") for corpus in ("here", "there")
        ]  # fmt: skip
        return answer(at, number("rsa_mean", 0.1 * at), question="similarity",
                      tables={"layers": pd.DataFrame(rows)})  # fmt: skip

    found = course([compared(2), compared(3)], to_last=[compared(1), compared(2)], steps=(10, 20, 30))
    ends = [tuple({"corpus": corpus, "to": to}.items()) for to in ("first", "last") for corpus in ("here", "there")]
    assert followed(found, "layers_value") == ends
    said = [one for one in in_words(found).figures if one.table == "layers_value"]
    assert said[1].title == "Over the steps: similarity, there, with the first"
    assert set(in_words(found).tables["layers_value"]["measure"]) == {"RSA", "plain CKA"}


@pytest.mark.parametrize("kinds", [("mlp",), ("linear", "mlp")])
def test_every_kind_of_probe_is_followed(kinds):
    def probed(at: int) -> Result:
        rows = [{"layer": 1, "target": "pos", "probe": kind, "accuracy": 0.1 * at} for kind in kinds]
        return answer(at, number("mean_accuracy", 0.1 * at), question="probe", tables={"probes": pd.DataFrame(rows)})

    assert len(followed(course([probed(1), probed(2)]), "probes_accuracy")) == len(kinds)


@pytest.mark.parametrize(
    ("answers", "steps", "said"),
    [
        ([answer(0, question="errors"), answer(1, question="ablate")], (), "one question, not to errors and ablate"),
        ([answer(0), answer(1, subject={"task": "other"})], (), "aren't of the same data and settings"),
        ([answer(0), answer(1)], (1, 2, 3), "there are 3 steps for 2 answers"),
        ([answer(0)], (), "two checkpoints or more"),
        ([answer(0), answer(0)], (), "each higher than the one before"),
        ([answer(0), answer(1)], (5, 5), "each higher than the one before"),
        ([answer(0), answer(1, models={"x": ModelRecord("x", "mine")})], (), "mine doesn't say its step"),
        ([answer(0, question="explain"), answer(1, question="explain")], (), "can't be followed over a series"),
    ],
)
def test_what_cannot_be_followed_is_refused(answers, steps, said):
    with pytest.raises(UserError, match=said):
        course(answers, **({"steps": steps} if steps else {}))


def test_draws_are_stored_with_their_numbers(tmp_path):
    one = answer(0, number("score", 0.5), Number("chance", 0.5))
    other = Result.load(one.save(tmp_path / "result"))
    assert (other["score"].draws == one["score"].draws).all() and other["chance"].draws is None
    assert other.equals(one) and "draws" not in (tmp_path / "result" / "result.json").read_text()


@on_cpu
def test_a_layer_that_changes_at_one_checkpoint_is_found(tiny, tmp_path, many):
    """Layer 2 changes at the fifth checkpoint, of step 40, and nothing else ever does."""
    folder = jumping(tiny, tmp_path / "run", layer=2, at=5)
    last = bertscope.load(str(folder / "checkpoint-60"))
    how = {"store": Store(tmp_path / "store")}
    change = bertscope.change(bertscope.series(folder), many, repeats=100, **how)
    found = onsets(change)
    assert {found[line] for line in ("cosine", "divergence")} == {(30, 40, 30, 40)}
    layers = change.tables["layers_cosine"]
    moved = layers[layers["cosine"] < 0.999]
    assert set(moved["step"]) == {40, 50, 60} and 1 not in set(moved["layer"]) and 2 in set(moved["layer"])

    graft = bertscope.graft(bertscope.series(folder), task_of(many, last), units=("layer",), steps=3, **how)
    shares = graft.tables["grafts_share"]
    told = shares[shares["step"] >= 40].dropna(subset=["share"])
    assert len(told) and np.allclose(told["share"], (told["layer"] == 2).astype(float), atol=1e-5)
    assert shares[shares["step"] < 40]["share"].isna().all(), "before, there was nothing to have a share of"
    assert onsets(graft)["loss of the tuned model"] == (30, 40, 30, 40)
    assert STEPS[4] == 40
