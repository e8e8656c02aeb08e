"""SQuAD's JSON, versions 1.1 and 2.0: questions, contexts, and where in them the answers are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.data.bad_rows import BadRows
from bertscope.data.json_files import parse_json
from bertscope.data.table_files import read_text

Answered = tuple[str, str, str, tuple[tuple[int, int], ...]]
"""An id, a question, its context, and the answers' spans in it."""


def read_squad(path: Path, bad: BadRows) -> Examples:
    """The questions as text, their contexts as pair; a question that can't be answered has no answers."""
    parsed = parse_json(read_text(path))
    if not isinstance(parsed, dict) or not isinstance(parsed.get("data"), list):
        raise UserError(
            f"{path} is not SQuAD's JSON: there is no list 'data' in it; give rows as .jsonl, .csv or .tsv"
        )
    return to_examples(path, list(_questions(path, parsed["data"], bad)))


def holds_answers(path: Path) -> bool:
    """Whether any question has an answer; also where the file is none of SQuAD's, which its reader will say."""
    parsed = parse_json(read_text(path))
    try:
        paragraphs = (paragraph for article in parsed["data"] for paragraph in article["paragraphs"])
        return any(question.get("answers") for paragraph in paragraphs for question in paragraph["qas"])
    except (TypeError, KeyError, AttributeError):
        return True


def to_examples(path: Path | str, rows: list[Answered]) -> Examples:
    if not rows:
        raise UserError(f"{path} holds no questions; download it again")
    ids, text, pair, answers = zip(*rows, strict=True)
    return Examples(ids, text, pair, answers=answers)


def spans(context: str, answers: Any) -> tuple[tuple[int, int], ...]:
    """The different answers' (start, end) in the context; ValueError where the text there is another."""
    found: dict[tuple[int, int], None] = {}
    for answer in answers:
        start, text = answer["answer_start"], answer["text"]
        if not isinstance(start, int) or start < 0 or not text or context[start : start + len(text)] != text:
            raise ValueError(f"no {text!r:.50} at character {start}")
        found[start, start + len(text)] = None
    return tuple(found)


def _questions(path: Path, articles: list[Any], bad: BadRows) -> Iterator[Answered]:
    seen: set[str] = set()
    for number, article in enumerate(articles, start=1):
        place = f"{path}, article {number}"
        try:
            paragraphs = [(paragraph["context"], paragraph["qas"]) for paragraph in article["paragraphs"]]
            questions = [(context, raw) for context, several in paragraphs for raw in several]
        except (TypeError, KeyError, ValueError) as error:
            bad.refuse(
                "broken article", f"{place} is not as SQuAD writes it ({error!r:.80}); download the file again"
            )
            continue
        for context, raw in questions:
            try:
                row = _question(context, raw)
                if row[0] in seen:
                    raise ValueError(f"question {row[0]!r} comes twice")
            except (TypeError, KeyError, ValueError, AttributeError) as error:
                why = " ".join(f"{error}".split())[:120]
                bad.refuse("broken question", f"{place}: a question can't be read ({why}); mend it")
                continue
            seen.add(row[0])
            yield row


def _question(context: Any, raw: Any) -> Answered:
    answers = () if raw.get("is_impossible") else spans(context, raw["answers"])
    row = (str(raw["id"]), raw["question"].strip(), context)
    if not row[1] or not context.strip():
        raise ValueError("blank question or context")
    "".join(row).encode()  # half characters, which JSON can write: UnicodeEncodeError is a ValueError
    return (*row, answers)
