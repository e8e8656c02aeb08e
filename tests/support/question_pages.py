"""What the docs say of each question that its declaration says: docs/questions/NAME.md below what people wrote, the
list of questions there and in README.md, and the contents of the site.

`python tests/support/question_pages.py` writes all of it anew; a page that isn't there begins with empty headings.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from bertscope.cli.main import app
from bertscope.core import registry
from bertscope.core.question import Question
from bertscope.study.claims.records import CLAIMS
from call_stub import returned
from command_tables import COMMANDS, commands, documented, help_order
from doc_pages import HERE

QUESTIONS = [registry.find(name) for name, entry in registry.QUESTIONS.items() if entry.group]
PAGES = HERE / "docs" / "questions"
PARTS = ("What it asks", "What is computed", "Reading the figure", "Pitfalls", "Published numbers")
"""What is written by hand, under these headings."""
_BLOCK = re.compile(
    r"(?P<head>(?:<!--| *#) (?P<name>declared|questions|the site's questions)(?: -->)?\n).*?"
    r"(?P<end>(?:<!--| *#) end(?: -->)?\n)",
    re.DOTALL,
)
_STUDY = {
    "overlap": "overlap: {of: lottery}",
    "versus": "versus: {of: [tuned, again]}",
    "pretrain": "pretrain: {of: [notes.txt]}",
    "forgetting": "forgetting: {of: [model, early, tuned], on: corpus}",
    "patch": "patch: {on: pairs}",
    "minimal-pairs": "minimal-pairs: {on: pairs}",
    "sentences": "sentences: {on: scores}",
    **{name: f"{name}: {{of: model, on: corpus}}" for name in ("states", "erase", "relations", "masked-words")},
    **{name: f"{name}: {{on: corpus}}" for name in ("structure", "probe", "geometry", "features", "contrast")},
}
"""How a study asks what needs more than its name."""
_NO_STUDY = {
    "claims": "Every study ends with it; it can't be asked in one.",
    "course": "A series in a model's place makes it: `patterns: {of: mine}`, with `mine` under "
    "[`series`](../series.md).",
    "courses": "Several trainings in a model's place make it, under [`series`](../series.md#several-trainings).",
}


def page(question: Question) -> str:
    """The page of a question as it should be: what people wrote, and below it what is declared."""
    file = PAGES / f"{question.name}.md"
    if file.exists():
        return _with(file.read_text(encoding="utf-8"), {"declared": declared(question)})
    headings = "".join(f"## {part}\n\n" for part in PARTS)
    return (
        f"# {question.name}\n\n**{question.line}**\n\n{headings}<!-- declared -->\n{declared(question)}<!-- end -->\n"
    )


def declared(question: Question) -> str:
    parts = [_null_panel(question), _claims(question), _command(question), _python(question), _study(question),
             _numbers(question), _citation(question)]  # fmt: skip
    return "\n\n".join(filter(None, parts)) + "\n"


@functools.cache
def usage(name: str) -> str:
    """
    >>> usage("change"), usage("patterns")
    ('bertscope change BEFORE [AFTER] --on DATA', 'bertscope patterns MODEL [MORE ...] --on DATA')
    """
    words = ["bertscope", name]
    for one in _arguments(name):
        if not one.name.startswith("--"):
            several = getattr(one.hint, "__origin__", None) is tuple
            words.append(one.name if one.required else f"[{one.name} ...]" if several else f"[{one.name}]")
        elif one.required:
            words.append(f"{one.name} {'DATA' if one.name == '--on' else one.name[2:].upper()}")
    if name in registry.QUESTIONS and registry.find(name).takes_text:
        words.append("(--text TEXT | --on DATA)")
    return " ".join(words)


def listed(folder: str) -> str:
    """All commands in help's order; those that ask a question lead to their pages, which lie in that folder."""
    lines = []
    for heading, names in help_order().items():
        lines += [f"| **{heading}** | |"]
        for name in names:
            asked = registry.QUESTIONS.get(name)
            line = f"[{asked.line}]({folder}{name}.md)" if asked and asked.group else _line(name)
            lines.append(f"| {line} | {_calls(name)} |")
    return "\n".join(["| question | command |", "|---|---|", *lines]) + "\n"


def contents() -> str:
    """The questions in the site's contents, mkdocs.yml's."""
    lines = []
    for heading, names in help_order().items():
        own = [name for name in names if name in registry.QUESTIONS]
        if own:
            lines.append(f"      - {heading}:")
            lines += [f"          - {name}: questions/{name}.md" for name in own]
    return "\n".join(lines) + "\n"


def files() -> Iterator[tuple[Any, str]]:
    """Every file with something declared in it, and what it should be."""
    for question in QUESTIONS:
        yield PAGES / f"{question.name}.md", page(question)
    for file, folder in ((PAGES / "README.md", ""), (HERE / "README.md", "docs/questions/")):
        yield file, _with(file.read_text(encoding="utf-8"), {"questions": listed(folder)})
    site = HERE / "mkdocs.yml"
    yield site, _with(site.read_text(encoding="utf-8"), {"the site's questions": contents()})


def _with(text: str, blocks: dict[str, str]) -> str:
    return _BLOCK.sub(lambda block: block["head"] + blocks[block["name"]] + block["end"], text)


def _line(name: str) -> str:
    return app[name].help.partition("\n")[0] if name not in registry.QUESTIONS else registry.QUESTIONS[name].line


def _calls(name: str) -> str:
    """How a command is called; of one that holds others, the first of them, and the names of the others."""
    within = [one for one, _ in commands() if one.startswith(f"{name} ")]
    others = "".join(f", `{one.removeprefix(f'{name} ')}`" for one in within[1:])
    return f"`{usage(within[0] if within else name)}`{others}".replace("|", "\\|")


def _arguments(name: str) -> list[Any]:
    found = app
    for word in name.split():
        found = found[word]
    return [one for one in found.assemble_argument_collection(parse_docstring=True) if one.show]


@functools.cache
def _sections() -> dict[str, str]:
    """What docs/commands.md says of each command."""
    sections = re.split(r"^## `(.+)`$", COMMANDS.read_text(encoding="utf-8"), flags=re.M)[1:]
    return dict(zip(sections[::2], sections[1::2], strict=True))


@functools.cache
def _flags() -> dict[str, str]:
    return documented()


def _null_panel(question: Question) -> str:
    if not question.null:
        return ""
    return (
        f"## Null panel\n\nWith `--null`: how often something is found where {question.null}. Beside it stands "
        f"{question.reference}. The panel fails where more is found than an honest test would find in one case of a "
        "hundred, and `claims` then reads nothing off the result."
    )


def _claims(question: Question) -> str:
    own = [claim for claim in CLAIMS if claim.question == question.name]
    if not own:
        return ""
    rows = [f"| {claim.says} `{claim.id}` | {claim.source.cite} | {claim.published.says} |" for claim in own]
    return "\n".join(
        ["## Claims that are read off it", "", "| claim | of | published |", "|---|---|---|", *rows, "",
         "[Claims](../claims.md) has what each needs, and the rule."]
    )  # fmt: skip


def _command(question: Question) -> str:
    example = re.search(r"^```sh\n.*?^```$", _sections()[question.name], re.DOTALL | re.M)
    more = ["[what every question takes](../commands.md#what-every-question-takes)"] if question.reads else []
    if question.sharding:
        more.append("`--shards`, over [a corpus of any size](../corpora.md#a-corpus-of-any-size)")
    if question.over_steps:
        more.append("a [series](../series.md) of checkpoints in the model's place")
    beside = f"Beside these: {'; '.join(more)}." if more else ""
    parts = ["## Command", f"`{usage(question.name)}`", example[0] if example else "",
             _flags()[question.name].strip(), beside]  # fmt: skip
    return "\n\n".join(filter(None, parts))


def _python(question: Question) -> str:
    name = question.name.replace("-", "_")
    first = [f"[{one}, ...]" if given.many else one for one, given in question.asked_of.items()]
    own = {one.name for one in fields(question.config)}
    defaults = inspect.signature(question).parameters
    settings = [f"    {one}={_literal(defaults[one].default)}," for one in defaults if one in own]
    call = "\n".join([f"bertscope.{name}(", *(f"    {one}," for one in first), *settings, ")"])
    given = returned(question).__name__
    kept = "" if given == "Result" else ", whose `.result` is a `Result`"
    return (
        "## Python\n\nThe call with its defaults; [what else it takes](../python.md#asking) is how the data is read, "
        f"`store=` and so on. It gives a `{given}`{kept}.\n\n<!-- not run: the call with its defaults -->\n"
        f"```python\n{call}\n```"
    )


def _literal(value: Any) -> str:
    """As ruff would write it: with double quotes, and what is too long with a line for each.

    >>> _literal(("a", 1))
    '("a", 1)'
    """
    text = repr(value) if '"' in repr(value) else repr(value).replace("'", '"')
    if len(text) < 90 or not isinstance(value, tuple):
        return text
    return "(\n" + "".join(f"        {_literal(one)},\n" for one in value) + "    )"


def _study(question: Question) -> str:
    if question.name in _NO_STUDY:
        return f"## In a study\n\n{_NO_STUDY[question.name]}"
    line = _STUDY.get(question.name, question.name)
    keys = ["of", *["on"] * bool(question.reads), *["limit"] * (question.reads in ("examples", "pairs")),
            *["shards"] * bool(question.sharding), "sweep", *question.flags]  # fmt: skip
    keys += [one.name for one in fields(question.config) if one.name not in keys]
    return (
        f"## In a study\n\n```yaml\nquestions:\n  - {line}\n```\n\nKeys ([what they mean](../studies.md#questions)): "
        f"{', '.join(f'`{key}`' for key in keys)}."
    )


def _numbers(question: Question) -> str:
    def cell(words: str) -> str:
        return words.replace("|", "\\|")

    rows = [f"| `{key}` | {cell(words)} |" for key, words in question.numbers.items()]
    stands = f"`{question.main}` stands for the whole"
    better = f"; {question.better} is better" if question.better else ""
    return "\n".join(["## Its numbers", "", f"{stands}{better}.", "", "| key | words |", "|---|---|", *rows])


def _citation(question: Question) -> str:
    end = "" if question.cite.endswith(("?", ".")) else "."
    newer = [
        f"{version} with `{name}: {value}`"
        for name, known in question.newer.items()
        for value, version in known.items()
    ]
    version = ", ".join([f"The answer's version is {question.version}", *newer])
    return f"## Citation\n\n{question.cite}{end}\n\n{version}."


def write() -> None:
    PAGES.mkdir(exist_ok=True)
    for file, text in list(files()):
        file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
