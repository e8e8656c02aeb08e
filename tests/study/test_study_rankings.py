"""Questions of a study that follow the rankings of others: one, or several."""

from __future__ import annotations

from bertscope.study.file import read_study


def test_a_question_that_follows_the_rankings_of_others(tmp_path):
    text = (
        "model: pocket\ntasks: [demo/sentiment, demo/entailment]\nquestions:\n  - ablate\n  - graft\n"
        "  - circuit: {rankings: [ablate, graft]}\n  - circuit: {rankings: ablate, by: [loss]}\n"
        "  - prune: {ranking: ablate}\n"
    )
    (tmp_path / "mine.yaml").write_text(text)
    found = read_study(tmp_path / "mine.yaml").steps
    circuits = [step for step in found if step.name == "circuit"]
    assert len(circuits) == 4
    for step in circuits:
        named = {name: given.name for name, given in step.inputs.items() if name.startswith("rankings")}
        several = {"rankings.0": "ablate", "rankings.1": "graft"}
        assert named == (several if len(step.config["by"]) > 1 else {"rankings.0": "ablate"})
        assert {given.inputs["task"].id for name, given in step.inputs.items() if name in named} == {
            step.inputs["task"].id
        }
        assert all(step.inputs[name].inputs["model"] == step.inputs["model"] for name in named)
    pruned = [step for step in found if step.name == "prune"]
    assert [step.inputs["ranking"].inputs["task"] for step in pruned] == [step.inputs["task"] for step in pruned]
