"""A page can be put online: it says nothing of where files lie, nor of the machine; a private one says it."""

from __future__ import annotations

import base64
import getpass
import html
import json
import platform
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from bertscope.core.consequence import consequences_of
from bertscope.core.model_record import ModelRecord, Origin
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.step import Root, Step
from bertscope.report.build import build_report, is_page_of, stored_findings
from bertscope.report.compare import compare_page, compare_stores
from bertscope.report.export import export_report
from bertscope.report.finding import Finding
from bertscope.report.privacy import Hidden
from planted_consequences import ablate, errors, training
from planted_page import ablation, data_of, page_of, put

FOLDER = "/home/jo-secret/thesis-secret"
PROVENANCE = {
    "created": "2026-11-16T10:00:00", "seconds": 1.0, "python": "3.12.1", "device": "cpu",
    "command": f"bertscope ablate {FOLDER}/tuned --on x --token sesame-secret", "platform": "Linux-6.1.0-secret",
    "host": "tower-secret", "packages": {"torch": "2.9.0"},
}  # fmt: skip


def whole(page: str) -> str:
    """All that a page holds, also what it holds packed."""
    unpacked = [json.dumps(data_of(page), ensure_ascii=False)]
    unpacked += [base64.b64decode(one).decode() for one in re.findall(r"data:text/csv[^,]*;base64,([\w+/=]+)", page)]
    return html.unescape(page) + "".join(unpacked)


@pytest.fixture
def told(tmp_path):
    """A store with an answer that names a folder wherever a result can."""
    base = ModelRecord("b" * 16, f"{FOLDER}/base", source=f"{FOLDER}/base")
    record = ModelRecord("a" * 16, "tuned", Origin("finetune", base=base), source=f"{FOLDER}/tuned")
    found = ablation(models={record.id: record}, subject={"task": f"{FOLDER}/reviews.csv"}, provenance=PROVENANCE)
    found.tables["heads"]["from"] = f"{FOLDER}/tuned"
    found.tables["heads"]["text"] = "either/or, </s>, /usr/share and 1/2"
    found.headline.append(
        Number("files", 2.0, label=f"read from {FOLDER}/reviews.csv", of={"file": f"{FOLDER}/a.csv"})
    )
    found.notes += [
        f"{FOLDER}/reviews.csv, line 3: no label",
        f"nothing in '{FOLDER}/b c/x.csv' or ~/thesis-secret/x",
    ]
    figure = found.figures[0]
    found.figures[0] = replace(figure, title=f"In {FOLDER}/tuned", caption=f"Of {FOLDER}/base/config.json.")
    for mode in ("zero", f"{FOLDER}/means"):
        put(tmp_path / "store", found, model=f"{FOLDER}/tuned", task=f"glue/rte@{FOLDER}/RTE", mode=mode)
    return tmp_path / "store"


def test_a_page_names_no_folder_no_command_and_no_machine(told):
    page = whole(page_of(told))
    assert "secret" not in page, [page[found.start() - 60 :][:90] for found in re.finditer("secret", page)]
    for kept in ("tuned", "reviews.csv", "glue/rte", "torch 2.9.0", "2026-11-16", "3.12.1", "mode means", "line 3"):
        assert kept in page, kept
    assert "either/or, </s>, /usr/share and 1/2" in page, "a text of the data was changed"


def test_a_private_page_has_it_all(told):
    page = whole(page_of(told, private=True))
    for there in (PROVENANCE["command"], "Linux-6.1.0-secret", "tower-secret", f"{FOLDER}/tuned", f"{FOLDER}/RTE"):
        assert there in page, there
    ids = [finding.step.id for finding in stored_findings(told)]
    assert is_page_of(told / "page.html", ids, private=True) and not is_page_of(told / "page.html", ids)


def test_an_export_names_no_folder(told, tmp_path):
    export_report(told, tmp_path / "export", formats=["svg"])
    files = [path for path in (tmp_path / "export").rglob("*") if path.is_file() and path.name != "seal.json"]
    assert {path.suffix for path in files} == {".html", ".csv", ".svg"}
    for path in files:
        assert "secret" not in str(path.relative_to(tmp_path)) + path.read_text("utf-8"), path


def test_stores_of_one_name_are_told_apart_without_their_folders(told, tmp_path, monkeypatch):
    stores = [tmp_path / f"{name}-secret" / "store" for name in ("ann", "bob")]
    for store in stores:
        shutil.copytree(told, store)
    monkeypatch.chdir(tmp_path / "ann-secret")
    page = compare_page(compare_stores(*stores), tmp_path / "compared.html").read_text("utf-8")
    assert "secret" not in whole(page) and "store (1) and store (2)" in page
    for store, name in zip(stores, ("ann", "bob"), strict=True):
        store.parent.rename(tmp_path / name)
    monkeypatch.chdir(tmp_path)
    compared = compare_stores(tmp_path / "ann" / "store", tmp_path / "bob" / "store")
    assert compared.subject["stores"] == "ann/store and bob/store"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("see /var/lib/x.csv.", "see x.csv."),
        ("(/var/lib/x.csv)", "(x.csv)"),
        (r"in C:\Users\jo\x.csv, line 2", "in x.csv, line 2"),
        ("https://example.org/a/b and/or </s> 1/2 glue/rte", "https://example.org/a/b and/or </s> 1/2 glue/rte"),
        ("of /data/corpus and /data/corpus/train.csv", "of corpus and corpus/train.csv"),
        ("see file:///home/jo/x, file:/home/jo/y and file://tower/home/jo/z", "see x, y and z"),
        ("in C:/Users/jo/x, line 2", "in x, line 2"),
        ("in file:///C:/Users/jo/x.csv", "in x.csv"),
        (r"of \\server\share\jo\x and \\server\share", "of x and share"),
        (r"no 'C:\\Users\\jo\\x'", "no 'x'"),  # as a message quotes it
        ("in /home/jo/My Documents/x.csv, line 3", "in x.csv, line 3"),
        (r"in C:\Users\jo\My own Documents\x.csv: no label", "in x.csv: no label"),
        ("of /var/lib/x.csv or glue/rte; in /var/lib/y. Either/or", "of x.csv or glue/rte; in y. Either/or"),
        ("path:/var/lib/x.csv and path=/var/lib/y", "path:x.csv and path=y"),
    ],
)
def test_paths_in_sentences_become_names(text, shown):
    step = Step("ablate", 1, {}, {"task": Root("task", "/data/corpus", "1")})
    assert Hidden(Finding(step, ablation())).words(text) == shown


LABELS = ("/people/person/place_of_birth", "/location/country/capital", "/location/us_state/capital", "/a/b/c d",
          "file:///people/person", "C:/x/y")  # fmt: skip


def labelled(monkeypatch) -> tuple[Step, Result]:
    """An answer about labels that look like paths, wherever it speaks of them."""
    monkeypatch.setattr(Path, "home", lambda: Path("/home/jo-secret"))
    found = ablation()
    found.tables["labels"] = pd.DataFrame({"label": LABELS, "n": 1})
    found.tables["matrix"] = pd.DataFrame({"/people/person/religion": [0.5]})
    found.headline += [Number("score", 0.5, label=f"score of {LABELS[1]}", of={"label": LABELS[1]})]
    found.headline += [Number("score", 0.5, label="score of /of/number/alone", of={"label": "/of/number/alone"})]
    found.notes += [f"{one!r} has 2 rows; {one} has 3." for one in LABELS]
    found.notes += [
        f"{LABELS[0]}s and /people/person/religion, but not {FOLDER}/x.csv, {LABELS[0]}/x or /home/jo-secret."
    ]
    figure = found.figures[0]
    found.figures[0] = replace(
        figure, title=f"Of {LABELS[2]}", labels={"drop": LABELS[0], "x": "/people/person/religion"}
    )
    step = Step("ablate", 1, {"of": LABELS[0]}, {"task": Root("task", "/data/corpus", "1", {"label": LABELS[1]})})
    return step, found


def test_labels_that_look_like_paths_stay_as_they_are(monkeypatch):
    step, found = labelled(monkeypatch)
    shown = Hidden(Finding(step, found)).result(found)
    for key, table in found.tables.items():
        pd.testing.assert_frame_equal(shown.tables[key], table)
    assert shown.headline == found.headline
    assert shown.figures == found.figures
    *labels, last = shown.notes
    assert labels == found.notes[:-1]
    assert last == "place_of_births and /people/person/religion, but not x.csv, x or ~."


def test_a_known_path_in_a_cell_is_hidden_among_labels(monkeypatch):
    step, found = labelled(monkeypatch)
    cells = ["/data/corpus", "see /data/corpus/a.csv", "/home/jo-secret/My Documents/x", "file:///home/jo-secret/y",
             "/home/jo-secret-2/x/y", "/home/jo-secret"]  # fmt: skip
    found.tables["files"] = pd.DataFrame({"file": cells})
    shown = Hidden(Finding(step, found)).result(found).tables
    assert shown["files"]["file"].tolist() == ["corpus", "see corpus/a.csv", "x", "y", "/home/jo-secret-2/x/y", "~"]
    assert tuple(shown["labels"]["label"]) == LABELS


def test_who_works_where_is_no_cell_of_a_table(tmp_path, monkeypatch):
    monkeypatch.setattr(Path, "home", lambda: Path("/home/jo-secret"))
    monkeypatch.chdir(tmp_path)
    cells = [f"{tmp_path}/deep/x.csv", "/home/jo-secret/notes/y.csv", "/usr/bin"]
    shown = Hidden().table(pd.DataFrame({"file": cells, "n": 1}))
    assert shown["file"].tolist() == ["x.csv", "y.csv", "/usr/bin"]


def test_what_commands_made_can_be_put_online(tmp_path, model, csv, command):
    away = tmp_path / "home-secret"
    (away / "data-secret").mkdir(parents=True)
    model.rename(away / "tuned")
    csv.rename(away / "data-secret" / "reviews.csv")
    asked = ["patterns", away / "tuned", "--on", away / "data-secret" / "reviews.csv", "--store", away / "store"]
    assert command(*asked)[0] == 0
    assert command("report", "build", "--store", away / "store", "--out", "page.html")[0] == 0
    page = whole((tmp_path / "page.html").read_text("utf-8"))
    host = [platform.node()] if len(platform.node()) > 5 else []  # a container's may be a word
    for hidden in ("secret", str(tmp_path), platform.release(), platform.platform(), "<dt>command", *host):
        assert hidden not in page, hidden
    user = rf"\b{re.escape(getpass.getuser())}\b"
    assert getpass.getuser() == "root" or not re.search(user, page), "root is also a word of trees"
    assert command("report", "build", "--store", away / "store", "--out", "mine.html", "--private")[0] == 0
    mine = whole((tmp_path / "mine.html").read_text("utf-8"))
    assert str(away / "tuned") in mine and platform.platform() in mine and "patterns" in mine
    again = build_report(away / "store", tmp_path / "again.html").read_bytes()
    assert again == (tmp_path / "page.html").read_bytes()


@pytest.mark.parametrize("found", [training(0.5), training(0.9), errors(failing="negative"), ablate("head", (1,))])
def test_what_follows_is_told_to_everybody_as_it_is_to_oneself(found):
    """Sentences are made of what everybody may read: what a failed training was like is no secret."""
    shown = Hidden(found).result(found.result)
    assert [one.text for one in consequences_of(shown)] == [one.text for one in consequences_of(found.result)] != []
