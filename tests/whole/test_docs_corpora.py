"""The page on corpora: its code runs, and what it lists is what there is."""

from __future__ import annotations

import json

from bertscope.data.features import FEATURES, NEGATIONS
from bertscope.data.relations import read_relations
from doc_pages import HERE, code_blocks, run_blocks

PAGE = HERE / "docs" / "corpora.md"


def test_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = code_blocks(PAGE, "python")
    assert len(blocks) == 4 and all(runs for _, runs in blocks)
    run_blocks(blocks)


def test_its_json_is_read(tmp_path):
    lines = [code for code, _ in code_blocks(PAGE, "json")]
    (tmp_path / "mine.jsonl").write_text("".join(lines), encoding="utf-8")
    read = read_relations(tmp_path / "mine.jsonl")
    assert len(read) == len(lines) == 2
    assert [links[0].target for links in read.links] == [(1, 3), (1,)]
    assert [json.loads(line)["links"][0]["name"] for line in lines] == ["Donor", "Donor"]


def test_it_names_every_feature_and_negation():
    text = PAGE.read_text(encoding="utf-8")
    row = next(line for line in text.splitlines() if line.startswith("| `negation`"))
    assert all(f"`{feature}`" in text for feature in FEATURES)
    assert all(word in row for word in NEGATIONS)
