"""YAML that knows where it says what: every value keeps its place, so that a mistake is reported with its line.

Numbers, `true` and `false` are read as YAML 1.2 has them (`2e-5` is a number; `on`, `yes` and dates are words). Keys
are always words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import yaml

from bertscope.core.errors import UserError, did_you_mean
from bertscope.data.table import shown


class Misplaced(UserError):
    """A mistake that is said with its place already."""


@dataclass(frozen=True)
class Located:
    """A value of the file, and its place there: that of its key, if it has one."""

    value: Any
    """A dict or list of further `Located`, or a plain value."""
    where: str
    """`mine.yaml, line 3`, or `--set tasks`."""

    def wrong(self, what: str) -> UserError:
        return Misplaced(f"{self.where}: {what}")

    @contextmanager
    def blamed(self) -> Iterator[None]:
        """Give the user's mistakes that come to light in this block this place, unless they have one."""
        try:
            yield
        except Misplaced:
            raise
        except UserError as error:
            raise self.wrong(str(error)) from error

    def mapping(self, what: str, known: Iterable[str] | None = None) -> dict[str, Located]:
        """What is said under each key; a key that isn't known is refused, with a suggestion."""
        if not isinstance(self.value, dict):
            raise self.wrong(f"{what} must be a mapping (key: value)")
        known = None if known is None else list(known)
        for key, located in self.value.items():
            if known is not None and key not in known:
                raise located.wrong(f"unknown key {shown(key)} in {what}; {did_you_mean(key, known)}")
        return self.value

    def several(self) -> list[Located]:
        """The values of a list, or the one value alone."""
        return self.value if isinstance(self.value, list) else [self]

    def word(self, what: str) -> str:
        if not isinstance(self.value, str) or not self.value:
            raise self.wrong(f"{what} must be text")
        return self.value

    def plain(self) -> Any:
        """The value without its places."""
        if isinstance(self.value, dict):
            return {key: located.plain() for key, located in self.value.items()}
        return [located.plain() for located in self.value] if isinstance(self.value, list) else self.value


def parse(text: str, name: str) -> Located:
    """What a YAML text says; `name` is what its places are called by."""
    return _parse(text, lambda line: f"{name}, line {line + 1}")


def with_set(whole: Located, words: str) -> Located:
    """The file with one value set, as `key=value` or `key.key=value`, the value in YAML.

    A question's setting is `questions.NAME.setting`: of every question of that name in the file.
    """
    path, equals, text = words.partition("=")
    keys = path.strip().split(".")
    if not equals or not all(keys):
        raise UserError(f"--set {words}: write key=value, such as model=pocket or questions.lottery.threshold=0.8")
    where = f"--set {path.strip()}"
    return _set(whole, keys, _parse(text, lambda _: where), where)


def _set(located: Located, keys: list[str], value: Located, where: str) -> Located:
    if not keys:
        return value
    first, *rest = keys
    if isinstance(located.value, list):
        return _set_of_questions(located, first, rest, value, where)
    below = {} if located.value is None else located.value
    if not isinstance(below, dict):
        raise UserError(f"{where}: there is nothing to set inside {located.plain()!r}")
    inside = _set(below.get(first, Located(None, where)), rest, value, where)
    return Located(below | {first: Located(inside.value, where)}, located.where)


def _set_of_questions(questions: Located, name: str, keys: list[str], value: Located, where: str) -> Located:
    """A list of questions, each a name or a mapping from its name to its settings."""
    found, changed = list[str](), []
    for one in questions.value:
        alone = {one.value: Located(None, one.where)} if isinstance(one.value, str) else {}
        asks = one.value if isinstance(one.value, dict) else alone
        found += asks
        hit = {name: _set(asks[name], keys, value, where)} if name in asks else {}
        changed.append(Located(asks | hit, one.where) if hit else one)
    if name not in found:
        raise UserError(f"{where}: the study doesn't ask {name!r}; {did_you_mean(name, set(found))}")
    return Located(changed, questions.where)


_TAG = "tag:yaml.org,2002:"
_SCALARS = {"str": "text", "int": "a whole number", "float": "a number", "bool": "true or false", "null": "empty"}


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 (as in PyYAML; filled below)

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.MarkedYAMLError(
                problem="an alias: write the value out", problem_mark=self.peek_event().start_mark
            )
        return super().compose_node(parent, index)


for _tag, _pattern, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("int", r"[-+]?(?:0|[1-9][0-9]*)", "-+0123456789"),
    ("float", r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", "-+.0123456789"),
):
    _Loader.add_implicit_resolver(f"{_TAG}{_tag}", re.compile(rf"(?:{_pattern})\Z"), list(_first))


class _Dumper(yaml.SafeDumper):
    yaml_implicit_resolvers = _Loader.yaml_implicit_resolvers


def dump(value: Any) -> str:
    """A plain value as YAML that `parse` reads."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, default_flow_style=None, width=100)


def _parse(text: str, place: Callable[[int], str]) -> Located:
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        return Located(None, place(0)) if node is None else _read(loader, node, place, place(node.start_mark.line))
    except yaml.reader.ReaderError as error:
        raise Misplaced(
            f"{place(text.count(chr(10), 0, error.position))}: a character that YAML can't have"
        ) from error
    except yaml.MarkedYAMLError as error:
        line, words = _in_plain_words(error)
        raise Misplaced(f"{place(line)}: {words}") from error
    except RecursionError:
        raise Misplaced(f"{place(0)}: too deep lists in lists") from None


_UNCLOSED = (
    (r"unexpected end of stream", "a quote that is opened here is never closed"),
    (r"expected ',' or '(.)'", "a bracket that is opened here isn't closed with '{0}', or a comma is missing"),
)
_MISFITS = (
    (r"'\\t' that cannot start", "a tab; indent with spaces"),
    (r"character '(.)' that cannot start", "no value can begin with {0}; put it into quotes"),
    (r"mapping values", "a ':' that isn't expected; check the indentation, and that the line above has its own"),
    (r"<block end>", "this line doesn't go on with what was begun above; check the indentation and the quotes"),
    (r"another document", "a second document begins; a study is one, without '---'"),
)
"""What YAML says of a mistake, and what that means; of what is never closed, the place is where it begins."""


def _in_plain_words(error: yaml.MarkedYAMLError) -> tuple[int, str]:
    """The line of a mistake, from 0, and what it is."""
    at, began = error.problem_mark or error.context_mark, error.context_mark or error.problem_mark
    for mark, known in ((began, _UNCLOSED), (at, _MISFITS)):
        for pattern, words in known:
            if found := re.search(pattern, error.problem or ""):
                return mark.line if mark else 0, words.format(*found.groups())
    return at.line if at else 0, ", ".join(filter(None, (error.context, error.problem)))


def _scalar(loader: _Loader, node: yaml.ScalarNode, wrong: Callable[[Any, str], Misplaced]) -> Any:
    """A plain value. A number may be longer than Python reads; a tag may say of a word that it is a number."""
    tag = node.tag.removeprefix(_TAG)
    if tag not in _SCALARS:
        raise wrong(node, f"the tag {shown(node.tag)} isn't read here; leave it out")
    try:
        return loader.construct_object(node)
    except (ValueError, LookupError) as error:
        raise wrong(node, f"{shown(node.value)} can't be read as {_SCALARS[tag]}") from error


def _read(loader: _Loader, node: Any, place: Callable[[int], str], where: str) -> Located:
    def wrong(one: Any, what: str) -> Misplaced:
        return Misplaced(f"{place(one.start_mark.line)}: {what}")

    if isinstance(node, yaml.ScalarNode):
        return Located(_scalar(loader, node, wrong), where)
    if node.tag not in (f"{_TAG}map", f"{_TAG}seq"):
        raise wrong(node, f"the tag {shown(node.tag)} isn't read here; leave it out")
    if isinstance(node, yaml.SequenceNode):
        return Located([_read(loader, one, place, place(one.start_mark.line)) for one in node.value], where)
    found: dict[str, Located] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise wrong(key, "a key must be a word")
        if key.value in found:
            raise wrong(key, f"the key {shown(key.value)} is there twice; leave one of them out")
        found[key.value] = _read(loader, value, place, place(key.start_mark.line))
    return Located(found, where)
