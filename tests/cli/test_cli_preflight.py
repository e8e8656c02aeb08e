"""What is wrong with data or a model is told before anything starts: one line, nothing announced, nothing stored."""

from __future__ import annotations

import sys

import pytest

pytest.importorskip("cyclopts")  # not on the bare GPU machine

from bertscope.cli import main as cli

ROWS = "\n".join(f"it was {'good' if row % 2 else 'bad'} {row},{row % 2}" for row in range(40))
TREE = "1\tdogs\tdog\tNOUN\t_\t_\t{head}\tnsubj\t_\t_\n2\tbark\tbark\tVERB\t_\t_\t0\troot\t_\t_\n\n"


@pytest.fixture
def told(tmp_path, monkeypatch, capsys, tiny):
    """The one line that a command with a mistake prints, in a folder with a model and some data."""
    monkeypatch.chdir(tmp_path)
    tiny.save("tiny")
    tiny.save("cut")
    weights = (tmp_path / "cut" / "model.safetensors").read_bytes()
    (tmp_path / "cut" / "model.safetensors").write_bytes(weights[: len(weights) // 2])
    for name, text in {
        "good.csv": f"text,label\n{ROWS}\n", "empty.csv": "", "nan.csv": f"text,label\nso so,NaN\n{ROWS}\n",
        "few.csv": "text,text_pair,score\n" + "".join(f"a {row},b {row},{row}.5\n" for row in range(12)),
        "bad.conllu": TREE.format(head=7), "good.conllu": TREE.format(head=2) * 20,
    }.items():  # fmt: skip
        (tmp_path / name).write_text(text)

    def call(*words: str) -> str:
        monkeypatch.setattr(sys, "argv", ["bertscope", *words])
        with pytest.raises(SystemExit) as leaving:
            cli.main()
        out, err = capsys.readouterr()
        assert leaving.value.code == 2 and not out and err.count("\n") == 1 and err.startswith("bertscope: "), err
        assert not (tmp_path / "bertscope-store").exists()
        return err

    return call


@pytest.mark.parametrize("question", ["truncate", "lottery", "scratch", "geometry", "ablate", "patterns"])
@pytest.mark.parametrize(
    ("model", "data", "said"),
    [
        ("tiny", ["empty.csv"], "empty.csv is empty; its first line should name the columns"),
        ("tiny", ["good.csv", "--text", "txt"], "no column 'txt', only text, label; did you mean 'text'?"),
        ("tiny", ["nan.csv"], "nan.csv, line 2: label 'NaN' stands for a missing one"),
        ("cut", ["good.csv"], "cut/model.safetensors is cut short"),
    ],
)
def test_data_and_models_are_looked_at_first(told, question, model, data, said):
    assert said in told(question, model, "--on", *data)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["structure", "tiny", "--on", "good.csv"], "good has no dependency trees; give a treebank"),
        (["structure", "tiny", "--on", "good.conllu", "--train", "good.csv"], "good has no dependency trees"),
        (["structure", "tiny", "--on", "bad.conllu"], "bad.conllu, sentence at line 1"),
        (["erase", "tiny", "--on", "good.csv"], "don't tell pos of at least two kinds; give a treebank"),
        (["probe", "tiny", "--on", "good.conllu", "--targets", "entity"], "don't tell entity"),
    ],
)
def test_what_a_question_needs_of_its_texts_is_looked_for_first(told, words, said):
    assert said in told(*words)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["bias", "tiny", "--on", "demo/corpus"], "can't be asked of demo/corpus, which is answered by masked"),
        (["truncate", "tiny", "--on", "demo/qa", "--cross"], "demo/qa has a span-qa on top: leave them out"),
        (["contrast", "tiny", "--on", "good.csv", "--pairs", "pairs"], "good has single texts, not pairs"),
        (["contrast", "tiny", "--on", "good.csv", "--pairs", "triples"], "this needs the label entailment"),
        (["contrast", "tiny", "--on", "demo/qa", "--pairs", "pairs"], "doesn't say which texts belong together"),
        (["contrast", "tiny", "--on", "good.csv", "--sts", "good.csv"], "good has no pairs of texts with scores"),
        (["contrast", "tiny", "--on", "good.csv", "--sts", "few.csv"], "few has 2 pairs to test on; give at least"),
    ],
)
def test_what_a_training_needs_of_its_data_is_looked_for_first(told, words, said):
    assert said in told(*words)
