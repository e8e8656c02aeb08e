"""docs/findings: each page is what its template makes of stored results, no number is typed, and nothing is said to
differ whose interval holds 0."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bertscope.core.number import Number
from bertscope.core.registry import find
from bertscope.study.file import read_study, ready_studies
from findings_checks import compares, ends, names_in, typed, untrue
from findings_pages import (
    MARK,
    PAGES,
    declared,
    differs,
    figure,
    how,
    in_short,
    kept,
    marked,
    mean_of,
    names,
    path_of,
    unmarked,
    whole,
    written,
)
from findings_results import FOLDER, Kept, Value, added, excerpt, write
from findings_run import run
from findings_time import in_all, made_in
from findings_together import courses, not_tested, side_by_side, with_verdict
from planted_layers import geometry
from stored_steps import put_step

NAMES = names()
PLANTED = {
    "study": "findings-planted", "runs": [{"asked": 2, "commit": "abc", "sets": []}],
    "results": {
        "ablate-1": {
            "question": "ablate", "on": "SST-2", "base": "pocket", "models": ["pocket tuned"], "made": "2026-11-18",
            "device": "cpu", "numbers": {"score": [0.8125, 0.79, 0.83, 872], "parts_needed": [3, None, None, 156]},
            "tables": {"effects": {"columns": ["unit", "effect", "low", "high"],
                                   "rows": [["head:3.4", -0.02, -0.03, -0.01], ["head:4.2", 0.01, -0.01, 0.03]]}},
        },
        "ablate-2": {
            "question": "ablate", "on": "STS-B", "base": "pocket", "models": ["pocket tuned"], "made": "2026-11-18",
            "device": "cpu", "numbers": {"score": [0.7, 0.6, 0.8, 1379]}, "tables": {},
        },
    },
}  # fmt: skip


@pytest.fixture
def planted(tmp_path: Path) -> Kept:
    (tmp_path / "planted.json").write_text(json.dumps(PLANTED), encoding="utf-8")
    return Kept(tmp_path / "planted.json")


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_what_its_template_makes_of_the_results(name):
    page = path_of(name).read_text(encoding="utf-8")
    assert page == written(name), "run: python tests/support/findings_pages.py"


@pytest.mark.parametrize("name", NAMES)
def test_every_number_of_a_page_is_under_a_key_of_a_result(name):
    page = marked(name)
    assert not typed(page, declared(name), names_in(kept(name)))
    assert not untrue(page, kept(name))


@pytest.mark.parametrize("name", NAMES)
def test_what_compares_looked_at_an_interval(name):
    assert not compares(marked(name))


@pytest.mark.parametrize("name", NAMES)
def test_a_page_has_its_study_and_its_results(name):
    if name not in _OF_SCRIPTS:
        assert kept(name).record["study"] == f"findings-{name}" and f"findings-{name}" in ready_studies()


_OF_SCRIPTS = {"recipe", "ledger", "index"}
"""Pages whose results come from scripts in tests/support, or from all studies."""


def test_every_findings_page_is_made_or_has_a_script():
    """over-time.md has its own table script and test."""
    assert {path.stem for path in PAGES.glob("*.md")} == {*NAMES, "over-time"} - {"index"}


def test_results_are_small():
    assert sum(path.stat().st_size for path in FOLDER.glob("*.json")) < 2_000_000


def test_a_typed_number_is_seen(planted):
    (first, _) = planted.of("ablate")
    page = (
        f"SST-2: {whole(first.number('score'))} and 0.5 of 12 (Clark et al. 2019), `--limit 500`, see [it](a-2.md)."
    )
    assert typed(page, names=names_in(planted)) == ["0.5", "12"]
    assert typed(page, ["0.5 of 12"], names_in(planted)) == []
    assert typed("SST-2") == ["SST-2"], "a name is one that results have"


def test_a_number_that_is_not_the_results_is_seen(planted):
    true = "\ue000ablate-1/score\ue001.812 [.790, .830]\ue002"
    assert untrue(true, planted) == [] and unmarked(true) == ".812 [.790, .830]"
    for text in (".813 [.791, .830]", ".9", "high"):
        assert untrue(f"\ue000ablate-1/score\ue001{text}\ue002", planted) == [f"{text} (ablate-1/score)"]
    with pytest.raises(KeyError):
        untrue("\ue000ablate-3/score\ue001.8\ue002", planted)


def test_keys_lead_to_numbers_rows_and_counts(planted):
    first, second = planted.of("ablate")
    assert ends(first.number("score").key, planted) == [0.8125, 0.79, 0.83]
    assert ends("ablate-1/score/n", planted) == [872]
    row = first.rows("effects", unit="head:3.4")[0]
    assert ends(row.value("effect").key, planted) == [-0.02, -0.03, -0.01]
    assert ends(f"{row.id}/unit", planted) == "head:3.4"
    scores = [first.number("score"), second.number("score")]
    assert mean_of(scores).low is None, "two trainings are too few for an interval"
    assert mean_of(scores[:1] * 5).low is None, "and five that are all alike don't say how unlike another would be"
    mean = mean_of([*scores, *scores, scores[0]])
    # Five trainings, .8125 three times and .7 twice: the mean .7675, the standard error .027557, t of four degrees of
    # freedom 2.7764.
    assert ends(mean.key, planted) == pytest.approx([0.7675, 0.7675 - 0.07651, 0.7675 + 0.07651], abs=1e-4)
    assert [mean.value, mean.low, mean.high] == pytest.approx(ends(mean.key, planted))


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (Value("a/b", 0.02, 0.01, 0.03), "higher (+.020 [+.010, +.030])"),
        (Value("a/b", -0.02, -0.03, -0.01), "lower (-.020 [-.030, -.010])"),
        (Value("a/b", 0.02, -0.01, 0.05), "open (+.020 [-.010, +.050])"),
        (Value("a/b", 0.02, 0.0, 0.05), "open (+.020 [+.000, +.050])"),
        (Value("a/b", 0.02), "open (+.020)"),
    ],
)
def test_what_differs_is_said_of_an_interval_without_0(value, said):
    ((key, text),) = MARK.findall(differs(value, "higher", "lower", "open"))
    assert text == said and key == "differs a/b"


def test_a_word_that_compares_is_seen_unless_an_interval_chose_it():
    value = Value("a/b", 0.02, 0.01, 0.03)
    assert compares(f"The score is {differs(value, 'higher', 'lower')}.") == []
    assert compares("The score is higher, and no better than before.") == ["higher", "better"]
    assert compares("| better than a chain |") == [], "a heading of a table names what it has"


def test_figures():
    assert [figure(0.0), figure(-0.5, 2), figure(10.25, 1)] == [".000", "-.50", "10.2"]


def test_an_excerpt_is_what_the_store_has(tmp_path, monkeypatch):
    """A study of one question, a planted answer in its step's place: numbers and rows are found again under keys."""
    monkeypatch.chdir(tmp_path)
    Path("one.yaml").write_text("model: pocket\ncorpus: demo/corpus\nquestions: [geometry]\n", encoding="utf-8")
    study = read_study("one.yaml")
    (result,) = geometry("baseline", lambda v: [0.1, 0.9, 0.1 + v])(0.4, 0.05)
    told = [
        Number("baseline", 0.5123456789, 0.5, 0.53, 2000, of={"model": "pocket-id", "layer": "2", "form": "as_it_is"})
    ]
    made = {"created": "2026-11-18T03:00:00+00:00", "seconds": 1.5, "device": "cpu"}
    put_step(tmp_path / "store", study.steps[0], replace(result, headline=told, provenance=made))
    write(excerpt(study, tmp_path / "store", sets=[], commit="abc"), tmp_path / "one.json")
    (one,) = (found := Kept(tmp_path / "one.json")).of("geometry", base="pocket", on="corpus")
    assert one.models == ["pocket"] and found.record["runs"][0]["asked"] == len(study.steps)
    value = one.number("baseline", model="pocket", layer="2", form="as_it_is")
    assert (value.value, value.low, value.high, value.n) == (0.512346, 0.5, 0.53, 2000)
    assert ends(value.key, found) == [0.512346, 0.5, 0.53] and one.kinds("baseline", "layer") == ["2"]
    row, stored = one.rows("layers", measure="baseline")[0], result.tables["layers"].iloc[0]
    assert ends(row.value().key, found) == pytest.approx(stored[["value", "low", "high"]].tolist(), rel=1e-5)
    with pytest.raises(KeyError, match="has no number"):
        one.number("baseline", model="pocket")
    assert "1 of 2 answers (1 min on a CPU, without trainings)." in unmarked(how(found))
    assert made_in(study.steps, tmp_path / "store") == {"cpu": 1.5} and in_all([found, found]) == "1 min on a CPU"
    # A run of another model is added, and told apart from the first.
    run = {"asked": 9, "sets": ["model=x"], "commit": "d", "seconds": {"NVIDIA H200": 119.0, "cpu": 200.0}}
    other = {"study": "one", "runs": [run], "results": {"other-1": one.kept}}
    write(added(tmp_path / "one.json", other), tmp_path / "one.json")
    both = Kept(tmp_path / "one.json")
    told = "1 of 9 answers (2 min on NVIDIA H200 and 3 min on a CPU, with trainings), with `--set 'model=x'`."
    assert [one.run for one in both] == [0, 1] and told in unmarked(how(both))
    assert unmarked(in_short(both)).startswith("Made on 2026-11-18 on a CPU. ")


@pytest.mark.parametrize(("older", "said"), [(0, ""), (1, "geometry.")])
def test_what_changed_since_a_run_is_said(planted, older, said):
    results = planted.record["results"]
    for step in results.values():
        step |= {"question": "geometry", "version": find("geometry").version, "run": 0}
    results["ablate-1"]["version"] -= older
    assert unmarked(how(planted)).partition("Changed since, so that a new run's numbers may differ: ")[2] == said


def _ledger(*rows: tuple) -> dict:
    """Rows of claim, base, way, task, verdict and effect: one without a base was not tested."""
    columns = ["claim", "says", "base", "way", "task", "verdict", "effect", "low", "high"]
    full = [[claim, f"{claim}, said", *about, effect, effect, effect] for claim, *about, effect in rows]
    return {"question": "claims", "on": "", "base": "", "models": [], "made": "2026-11-18", "device": "cpu",
            "numbers": {}, "tables": {"ledger": {"columns": columns, "rows": full}}}  # fmt: skip


LEDGERS = {
    "study": "ledger", "runs": [{"asked": 1, "commit": "abc", "sets": []}],
    "results": {
        "claims-1": _ledger(
            ("first", "", "", "", "not_tested", None),
            ("second", "pocket", "tuned", "SST-2", "holds_this_training", 0.1),
            ("second", "MiniLM", "", "EWT", "fails", -0.2),
            ("third", "", "", "", "not_tested", None),
        ),
        "claims-2": _ledger(
            ("first", "MiniLM", "", "EWT", "holds", 0.3),
            ("second", "MiniLM", "", "EWT", "holds", 0.4),
            ("third", "", "", "", "not_tested", None),
        ),
    },
}  # fmt: skip


def test_ledgers_of_several_runs_stand_side_by_side(tmp_path):
    """What only one judged is kept, of what both judged the later counts, and claims keep their order."""
    write(LEDGERS, tmp_path / "ledger.json")
    found = Kept(tmp_path / "ledger.json")
    models, claims = side_by_side(found.of("claims"))
    assert set(models) == {"pocket", "MiniLM"} and list(claims) == ["first", "second", "third"]
    assert list(claims["second"]) == [("", "EWT"), ("tuned", "SST-2")], "a model before what was made of it"
    assert [row.id for row in claims["second"]["", "EWT"]["MiniLM"]] == ["claims-2/ledger/1"]
    counts = [with_verdict(claims, verdict).value for verdict in ("holds", "holds_this_training", "fails")]
    assert counts == [2, 1, 0] and not_tested(claims).value == 1
    page = written("ledger", found)
    assert "2 rows hold and 1 hold of this training, 0 fail" in page and "1 claims were not tested" in page
    (line,) = (line for line in page.splitlines() if "| tuned, on SST-2 |" in line)
    assert sorted(cell.strip() for cell in line.split("|")[3:5]) == ["holds* .100 [.100, .100]", "not asked"]


def test_models_of_different_depth_have_one_table(tmp_path):
    columns = ["checkpoint", "target", "probe", "layer", "accuracy"]
    probed = {
        f"probe-{name}": {
            "question": "probe", "version": 1, "on": "EWT", "base": name, "models": [name], "made": "2026-11-18",
            "device": "cpu", "run": 0, "numbers": {},
            "tables": {"probes": {"columns": columns,
                                  "rows": [[name, "pos", "linear", layer, layer / 10] for layer in range(layers)]}},
        }
        for name, layers in (("small", 2), ("deep", 4))
    }  # fmt: skip
    write({"study": "findings-layers", "runs": PLANTED["runs"], "results": probed}, tmp_path / "layers.json")
    found = Kept(tmp_path / "layers.json")
    deepest, models = courses(found.of("probe"), "probes", target="pos", probe="linear")
    assert [row["layer"] for row in deepest] == [0, 1, 2, 3] and [len(rows) for rows in models.values()] == [2, 4]
    told = written("layers", found).splitlines()
    place = told.index("| parts of speech | 0 | 1 | 2 | 3 |")
    assert told[place + 2 : place + 4] == ["| small | .000 | .100 | | |", "| deep | .000 | .100 | .200 | .300 |"]


@pytest.mark.parametrize("add", [True, False])
def test_a_run_adds_its_ledger_to_those_of_other_runs(add, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sets = ["corpus=demo/corpus", "tasks=null", "models=null", "data=null"]
    sets += ["questions=[{geometry: {of: model, on: corpus}}]"]
    (result,) = geometry("baseline", lambda v: [0.1, 0.9, 0.1 + v])(0.4, 0.05)
    made = {"created": "2026-11-18T03:00:00+00:00", "seconds": 1.5, "device": "cpu"}
    step = read_study("findings-layers", sets).steps[0]
    put_step(tmp_path / "store", step, replace(result, provenance=made))
    Path("out").mkdir()
    write(LEDGERS, tmp_path / "out" / "ledger.json")
    run(["layers"], tmp_path / "store", tmp_path / "out", sets, "def", workers=0, seconds=0, add=add)
    found = Kept(tmp_path / "out" / "ledger.json")
    assert [one["commit"] for one in found.record["runs"]] == (["abc", "def"] if add else ["def"])
    assert len(found.of("claims")) == (3 if add else 1)
