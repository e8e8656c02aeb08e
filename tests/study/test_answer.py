"""`bertscope.answer`: in Python what a command does, stored and found again."""

from __future__ import annotations

import pytest

import bertscope
from bertscope.core.errors import UserError


def test_an_experiment_in_one_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tuned = {"on": "demo/sentiment", "limit": 4, "config": bertscope.FinetuneConfig(epochs=1)}
    found = bertscope.answer("finetune", "pocket", **tuned)
    assert found["after"].n == 4
    made = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "bertscope-store" / "steps").iterdir()}
    assert len(made) == 1
    again = bertscope.answer("finetune", "pocket", store=bertscope.Store("bertscope-store"), **tuned)
    assert again.equals(found)
    assert made == {path.name: path.stat().st_mtime_ns for path in (tmp_path / "bertscope-store" / "steps").iterdir()}


@pytest.mark.parametrize(
    ("asked", "options", "said"),
    [
        (("scratc", "pocket"), {}, "no question 'scratc'; did you mean 'scratch'?"),
        (("scratch",), {"on": "demo/sentiment"}, "scratch is asked of base; 0 given"),
        (("change", "pocket"), {"on": "demo/sentiment"}, "change is asked of before, after; 1 given"),
        (("scratch", "pocket"), {}, "scratch needs data: give on="),
        (("overlap", "a", "b"), {"on": "demo/sentiment"}, "overlap reads results alone; leave out on="),
        (
            ("patterns", ["a"]),
            {"on": "demo/sentiment"},
            "answer takes the names and paths of models and data, not list",
        ),
        (("patterns", "pocket"), {"on": 3}, "answer takes the names and paths of models and data, not int"),
        (("overlap", "a", "b"), {"limit": 3}, "overlap reads results alone; leave out limit="),
        (("scratch", "pocket"), {"on": "demo/sentiment", "config": {}}, "scratch takes config=ScratchConfig"),
        (
            ("scratch", "pocket"),
            {"on": "demo/sentiment", "limti": 3},
            "unknown setting 'limti'; did you mean 'limit'?",
        ),
    ],
)
def test_mistakes_are_refused(asked, options, said):
    with pytest.raises(UserError) as caught:
        bertscope.answer(*asked, **options)
    assert str(caught.value).startswith(said)


def test_data_is_looked_at_first(tmp_path):
    rows = "".join(f"it was {row},{row % 2}\n" for row in range(20))
    (tmp_path / "mine.csv").write_text(f"text,label\n{rows}")
    with pytest.raises(UserError, match="mine has no dependency trees"):
        bertscope.answer("structure", "pocket", on=tmp_path / "mine.csv", store=tmp_path / "store")
    assert not (tmp_path / "store").exists(), "no hidden states were made before"


def test_claims_of_stored_results(tmp_path):
    folders = [bertscope.Result("overlap", 1).save(tmp_path / name) for name in "ab"]
    for given in (folders, folders[:1]):
        found = bertscope.answer("claims", *given, store=tmp_path / "store")
        assert found.equals(bertscope.claims(given)) and found.about.startswith(f"of {len(given)} result")


@pytest.mark.parametrize("name", ["scratch", "lottery", "bias", "truncate", "freeze", "contrast", "overlap"])
def test_what_compares_stored_results_says_how_it_is_asked(name, tiny):
    with pytest.raises(UserError, match=rf"ask it with bertscope.answer\('{name}', FOLDER, ...\)"):
        getattr(bertscope, name)(tiny, "demo/sentiment")
    with pytest.raises(
        UserError, match=rf"{name} compares stored results; ask it with bertscope.answer\('{name}', 'p'"
    ):
        getattr(bertscope, name)("p", "demo/sentiment")


def test_a_path_is_a_name(tmp_path, tiny, texts):
    """By position, by keyword, alone and in a list."""
    folder = tiny.save(tmp_path / "tiny")
    alone = bertscope.states(model=folder, examples=texts, out=tmp_path / "kept").store
    both = bertscope.project([folder, folder], texts)
    assert alone.name in both.subject["model"] and (tmp_path / "kept").is_dir()
