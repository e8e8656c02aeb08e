"""Steps in words, as lines, lists and plans have them."""

from __future__ import annotations

from bertscope.core.step import Root, Step
from bertscope.study.file import read_study
from bertscope.study.step_words import about, all_settings, changed_settings, duration, short
from toy import write_reviews


def test_steps_in_words(tiny, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tiny.save(tmp_path / "tiny")
    write_reviews(tmp_path / "reviews.csv", 60)
    (tmp_path / "mine.yaml").write_text(
        "model: ./tiny\ntasks: reviews.csv\ncorpus: demo/corpus\nseeds: [2]\ntraining: {epochs: 1}\n"
        "questions: [ablate, {patterns: {on: corpus}}, scratch]\n"
    )
    ablation, shapes, compared, _ = read_study("mine.yaml").steps
    assert about(ablation) == "tiny tuned on reviews.csv (epochs=1 seed=2)"
    assert about(shapes) == "tiny and tiny tuned on reviews.csv (epochs=1 seed=2) on demo/corpus"
    assert about(compared) == "tiny on reviews.csv" and changed_settings(compared) == "seeds=2 epochs=1"
    assert {*changed_settings(compared).split()} < {*all_settings(compared).split()}
    assert short(compared) == compared.id[:16]
    assert [duration(seconds) for seconds in (0.2, 59, 119, 120, 3599, 7200)] == [
        "under 1 s", "59 s", "119 s", "2.0 min", "60.0 min", "2.0 h"
    ]  # fmt: skip


def test_inputs_and_settings_that_a_question_has_no_more_are_told_too():
    old = {"left": Root("model", "pocket", "1"), "read": Root("task", "demo/sentiment", "2")}
    assert about(Step("structure", 1, {}, old)) == "pocket on demo/sentiment"
    earlier = Step("finetune", 1, {}, {"base": old["left"], "task": old["read"]})
    assert about(Step("structure", 1, {}, {"gone": earlier})) == "pocket on demo/sentiment"
    assert changed_settings(Step("ablate", 1, {"gone": 3}, {})) == "gone=3"
