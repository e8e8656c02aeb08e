"""Stored results become one HTML file: everything it needs is in it, and it asks nothing of the network."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Container, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import bertscope
from bertscope.core import tinted
from bertscope.core.errors import UserError
from bertscope.core.files import canonical_json, check_file, digest_text, is_marked, write_text
from bertscope.core.lineage import newest
from bertscope.core.result import Result
from bertscope.core.store import Store
from bertscope.core.subject import subject_of
from bertscope.report import ledger, subjects, theme
from bertscope.report.finding import Finding
from bertscope.report.first_screen import first_screen
from bertscope.report.packed import script_json
from bertscope.report.privacy import Hidden
from bertscope.report.row_card import PageRows
from bertscope.report.scripting import allowed, joined
from bertscope.report.sections import ROWS, Section, counted, sections
from bertscope.report.subjects import PageModels
from bertscope.report.summary import summary
from bertscope.report.templates import HERE, rendered

if TYPE_CHECKING:
    from markupsafe import Markup

SCRIPTS = ("base", "data", "figures", "tables", "together", "place", "switch", "facts", "card", "row_facts", "rows",
           "row_card", "paper", "start")  # fmt: skip
"""The page's scripts, in the order in which they are joined into one."""
Opening = Callable[[Sequence[Finding], PageModels], "tuple[str, str, Markup] | None"]
OPENINGS: tuple[Opening, ...] = (first_screen, summary, ledger.ledger)
"""Sections of the page's own, before those of the questions: each makes an id, a heading and HTML of the findings, or
None where there is nothing to say. Elements with `data-models` and `data-tasks` (lists in JSON) follow the switch."""
MARK = 'name="generator" content="bertscope'
"""By this a page is known as ours, and may be replaced."""


def build_report(
    store: Store | str | Path,
    out: str | Path,
    *,
    title: str | None = None,
    about: str = "",
    only: Container[str] | None = None,
    private: bool = False,
) -> Path:
    """Write the page of every finished step in `store` to the file `out`; the same results give the same bytes.

    `about` is a line or two under its title. `only` are the ids of the steps to show, where not all of them are. A
    `private` page also says where models and data lay, with which command and on which system a step was made.
    """
    check_file(Path(out), MARK)
    return write_page(stored_findings(store, only=only, private=private), out, title=title, about=about)


def is_page_of(
    page: Path, steps: Iterable[str], title: str | None = None, *, about: str = "", private: bool = False
) -> bool:
    """Whether the file is there and shows the steps of these ids, and no others, under this title, to these eyes."""
    return page.exists() and is_marked(page, _shows(steps, title, about, private))


def stored_findings(
    store: Store | str | Path, *, only: Container[str] | None = None, private: bool = False
) -> list[Finding]:
    """Every finished step in `store`, or those of them that are named, with its result: as everybody may read it, or
    `private`."""
    store = store if isinstance(store, Store) else Store(store)
    chosen = (stored for stored in store.finished(results=True) if only is None or stored.step.id in only)
    findings = ledger.current(
        Finding(stored.step, Result.load(stored.folder / "result"), private) for stored in newest(chosen)
    )
    if not private:
        hidden = Hidden(*findings)
        findings = [dataclasses.replace(one, result=hidden.result(one.result)) for one in findings]
    if not findings:
        raise UserError(f"no finished results in {store.folder}; run `bertscope demo` or ask a question first")
    return findings


def write_page(findings: Sequence[Finding], out: str | Path, *, title: str | None = None, about: str = "") -> Path:
    """Write the page of these to the file `out`."""
    check_file(Path(out), MARK)
    write_text(Path(out), _page(findings, title, about))
    return Path(out)


def _page(findings: Sequence[Finding], title: str | None, about: str) -> str:
    from markupsafe import Markup

    named = PageModels(findings)
    rows = PageRows(findings, subjects.parts(findings))
    subject = subject_of(findings)
    shown = [finding for finding in findings if finding.result.question != ledger.QUESTION]
    answered = sections(shown, named, rows, *([subject.nearness] if subject else []))
    entries = [answer.entry for section in answered for answer in section.everything]
    models, tasks = _all(answered, "models"), _all(answered, "tasks")
    vega, script = _vega(), _script()
    return rendered(
        "page.html.j2",
        about=about,
        title=title or f"Inside {_listed(models)}",
        models=models,
        tasks=tasks,
        created=max(str(finding.result.provenance.get("created", "")) for finding in findings)[:10],
        version=bertscope.__version__,
        shows=_shows((one.step.id for one in findings), title, about, any(one.private for one in findings)),
        openings=[section for opening in OPENINGS if (section := opening(findings, named))],
        sections=answered,
        total=sum(len(section.answers) for section in answered),
        steps=len(findings),
        max_rows=ROWS,
        # Only these two scripts may run, by their hash: a text that slipped through escaping still couldn't.
        allowed=Markup(allowed(script, vega)),
        css=Markup(_text("page.css") + _text("together.css") + _text("first_screen.css") + tinted.CSS),
        script=Markup(script),
        vega=Markup(vega),
        themes=Markup(script_json({"light": theme.page_config(dark=False), "dark": theme.page_config(dark=True)})),
        data_rows=rows.data(entries),
        entries=Markup(script_json(entries)),
    )


def _shows(steps: Iterable[str], title: str | None, about: str, private: bool) -> str:
    """What a page says of what it shows."""
    return f"steps-{digest_text(canonical_json([sorted(steps), title, about, private]))}"


def _all(answered: Sequence[Section], what: str) -> list[str]:
    names = {name for section in answered for answer in section.everything for name in getattr(answer, what)}
    return sorted(names, key=counted)


@functools.cache
def _vega() -> str:
    """The drawing library, as one script; bundling it takes a second."""
    import vl_convert

    return vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")


def _script() -> str:
    return joined(SCRIPTS)


def _listed(models: Sequence[str]) -> str:
    if not 1 <= len(models) <= 2:
        return f"{len(models)} encoders" if models else "BERT-family encoders"
    return " and ".join(models)


def _text(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")
