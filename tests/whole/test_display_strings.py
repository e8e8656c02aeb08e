"""No display string is compared, parsed or looked up: code reads keys, people read words."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from bertscope.core import registry
from house import tree_of

SRC = Path(__file__).parents[2] / "src" / "bertscope"
LOOKING = {
    "get", "pop", "setdefault", "startswith", "endswith", "removeprefix", "removesuffix", "partition", "rpartition",
    "split", "rsplit", "index", "find", "rfind", "isin", "eq", "ne", "query", "xs", "match", "fullmatch", "search",
    "number", "numbers", "plot", "sub", "findall", "compile", "replace", "count", "map",
}  # fmt: skip
"""Methods whose arguments decide what is found."""
WITH_DEFAULT = {"get", "pop", "setdefault", "replace", "sub"}
FOR_EYES = {"about", "caption", "title", "sentence", "says", "label_words", "model_name", "compared", "line"}
"""Attributes and columns that hold words."""
MODELS = {"encoder", "base", "record", "tuned", "before", "after", "store", "model"}
"""What variables that hold a model are called: their `name` is for eyes."""
PHRASE = re.compile(r"[^\W\d_]['’]?[ ,]+[^\W\d_]|^ [^\W\d_]|[^\W\d_] $")
"""Words with a space between, before or after them."""
OTHERS = {("files.py", "No space left"), ("checkpoints.py", "[MASK]"), ("typed.py", "[MASK]")}
"""What another program says in words alone, or a user types, and where it is read."""
SPEAKS = SRC / "data" / "language"
"""The demo language is made of English: its words are its data."""
NAMES = SRC / "core" / "words.py"
"""Where names are made, and two of one name are told apart."""
STEPS = SRC / "core" / "lineage.py"
"""Where a model is a step, whose name is its question's."""


def declared_words() -> set[str]:
    """Everything that questions say in words, where it can't be mistaken for a key."""
    found: set[str] = set()
    for name in registry.QUESTIONS:
        question = registry.find(name)
        found |= {question.line, question.compared, *question.numbers.values()}
        found |= {words for column in question.words.values() for words in column.values()}
        found |= {words for table in question.columns.values() for words in table.values()}
    return {words for words in found if not re.fullmatch(r"[\w./:-]*", words)}


def constants() -> dict[tuple[str, str], ast.expr]:
    """What is assigned to a name at the top of a module, by the module and the name."""
    found: dict[tuple[str, str], ast.expr] = {}
    for path in SRC.rglob("*.py"):
        for node in tree_of(path).body:
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
                (target,) = node.targets if isinstance(node, ast.Assign) else [node.target]
                several = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
                pairs = zip(target.elts, node.value.elts, strict=True) if several else [(target, node.value)]
                found |= {(_module(path), name.id): value for name, value in pairs if isinstance(name, ast.Name)}
    return found


def _module(path: Path) -> str:
    return ".".join(("bertscope", *path.relative_to(SRC).with_suffix("").parts)).removesuffix(".__init__")


class Lookups(ast.NodeVisitor):
    """The expressions that decide a comparison or a look-up in one module."""

    def __init__(self, module: str, known: dict[tuple[str, str], ast.expr]) -> None:
        self.module, self.known = module, known
        self.imported: dict[str, tuple[str, str]] = {}
        self.found: list[tuple[int, ast.expr]] = []

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            self.imported[alias.asname or alias.name] = (node.module or "", alias.name)

    def visit_Compare(self, node: ast.Compare) -> None:
        if not all(isinstance(operation, (ast.Is, ast.IsNot)) for operation in node.ops):
            self.found += [(node.lineno, side) for side in (node, node.left, *node.comparators)]
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self.found.append((node.lineno, node.slice))
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Attribute) and node.func.attr in LOOKING:
            # What is found where there is nothing may be words: `get(key, "unknown")`.
            read = node.args[:1] if node.func.attr in WITH_DEFAULT else node.args
            self.found += [(node.lineno, each) for each in (*read, *(one.value for one in node.keywords))]
        self.generic_visit(node)

    def visit_DictComp(self, node: ast.DictComp) -> None:
        key, over = node.key, getattr(node.generators[0].iter, "id", "")
        if isinstance(key, ast.Attribute) and (key.attr == "label" or over in ("models", "encoders", "stores")):
            key = ast.Attribute(ast.Name("number" if key.attr == "label" else "encoder"), key.attr)
        self.found.append((node.lineno, key))
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:  # what a name holds within a function is what it stands for
            if isinstance(target, ast.Name) and isinstance(node.value, (ast.Constant, ast.Tuple, ast.Dict)):
                self.known.setdefault((self.module, target.id), node.value)
        self.generic_visit(node)

    def visit_MatchValue(self, node: ast.MatchValue) -> None:
        self.found.append((node.lineno, node.value))

    def texts(self, expression: ast.expr) -> Iterator[str]:
        """The strings that an expression is, or holds: through constants, tuples and f-strings."""
        if isinstance(expression, ast.Constant) and isinstance(expression.value, str):
            yield expression.value
        elif isinstance(expression, (ast.Tuple, ast.List, ast.Set)):
            for each in expression.elts:
                yield from self.texts(each)
        elif isinstance(expression, ast.Dict):
            for key in expression.keys:
                if key is not None:
                    yield from self.texts(key)
        elif isinstance(expression, ast.JoinedStr):
            yield "".join(part.value if isinstance(part, ast.Constant) else "x" for part in expression.values)
        elif isinstance(expression, ast.IfExp):
            yield from self.texts(expression.body)
            yield from self.texts(expression.orelse)
        elif isinstance(expression, ast.Starred):
            yield from self.texts(expression.value)
        elif isinstance(expression, ast.Name):
            where = self.imported.get(expression.id, (self.module, expression.id))
            if where in self.known:
                inner = Lookups(where[0], self.known)
                yield from inner.texts(self.known[where])


def looked_up(path: Path, known: dict[tuple[str, str], ast.expr], words: set[str]) -> Iterator[str]:
    """Where a module reads by what is for eyes."""
    lookups = Lookups(_module(path), known)
    lookups.visit(tree_of(path))
    for line, expression in lookups.found:
        for text in lookups.texts(expression):
            phrase = PHRASE.search(text) and "[" not in text  # which a type alias has
            if (phrase or text in words) and (path.name, text) not in OTHERS:
                yield f"{path.relative_to(SRC)}:{line}: {text!r}"
        if isinstance(expression, ast.Compare):  # a column for eyes beside something
            sides = (expression.left, *expression.comparators)
            columns = {
                text for side in sides if isinstance(side, ast.Subscript) for text in lookups.texts(side.slice)
            }
            yield from (f"{path.relative_to(SRC)}:{line}: [{name!r}]" for name in columns & FOR_EYES)
        if isinstance(expression, ast.Attribute):
            of = getattr(expression.value, "id", None) or getattr(expression.value, "attr", "")
            named = (expression.attr == "name" and of in MODELS) or (expression.attr == "label" and of == "number")
            if expression.attr in FOR_EYES or named:
                yield f"{path.relative_to(SRC)}:{line}: {of}.{expression.attr}"


def test_no_display_string_is_compared_parsed_or_looked_up() -> None:
    known, words = constants(), declared_words()
    read = (path for path in sorted(SRC.rglob("*.py")) if SPEAKS not in path.parents and path not in (NAMES, STEPS))
    wrong = [one for path in read for one in looked_up(path, known, words)]
    assert not wrong, "\n".join(wrong)


def test_what_is_forbidden_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("test_display_strings.SRC", tmp_path)
    (tmp_path / "words.py").write_text('TUNED, HALF = " tuned on ", "the first half"\n')
    (tmp_path / "reader.py").write_text(
        "from bertscope.words import HALF, TUNED\n"
        "a = TUNED in name\n"
        "b = name.partition(TUNED)\n"
        "c = table[table['arm'] == 'random init, tuned']\n"
        "d = rows[HALF]\n"
        "e = name.endswith(f' tuned on {task}')\n"
        "f = encoder.name == other\n"
        "g = result.about != x\n"
        "h = kind in ('left out', 'kept')\n"
        "i = {number.label: number for number in numbers}\n"
        "j = one.record.name == name\n"
        "k = re.sub(' tuned on ', '', name)\n"
        "l = number.label == 'score'\n"
        "m = {one.name: one for one in models}\n"
        "n = rows['model_name'] == name\n"
        "o = model.name == other\n"
        "fine = words.get(key, 'not known') + table['arm'] + encoder.name if key == 'left_out' else 'in words'\n"
    )
    found = [one.split(":")[1] for one in looked_up(tmp_path / "reader.py", constants(), set())]
    assert found == [str(line) for line in range(2, 17)]


def test_every_figure_has_a_key() -> None:
    trees = {path: tree_of(path) for path in sorted(SRC.rglob("*.py"))}
    calls = [
        (path, node) for path, tree in trees.items() for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Figure"
    ]  # fmt: skip
    without = [
        f"{path.relative_to(SRC)}:{node.lineno}" for path, node in calls
        if not any(one.arg in ("key", None) for one in node.keywords)
    ]  # fmt: skip
    assert len(calls) > 50 and not without, without


def test_nothing_of_an_experiment_is_found_by_its_place() -> None:
    """Trainings are known by what they say of themselves: no list of them runs beside the seeds of a config."""
    wrong = []
    for path in sorted((SRC / "experiments").rglob("*.py")):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "zip":
                names = {
                    part.attr for each in node.args for part in ast.walk(each) if isinstance(part, ast.Attribute)
                }
                names |= {part.id for each in node.args for part in ast.walk(each) if isinstance(part, ast.Name)}
                if names & {"seeds", "methods"} and names & {
                    "tuned",
                    "pruned",
                    "trained",
                    "models",
                    "shapes",
                    "runs",
                }:
                    wrong.append(f"{path.relative_to(SRC)}:{node.lineno}")
    assert not wrong, wrong
