"""The mutants of a module: small changes to its source, each of which a test should notice.

A mutation replaces one node of the module's syntax tree. Text that only people read (messages of errors, log events,
docstrings), annotations, assertions and decorators are left alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
SWAPPED_NAMES = {
    "min": "max",
    "max": "min",
    "any": "all",
    "all": "any",
    "startswith": "endswith",
    "endswith": "startswith",
}
LONG_LITERAL = 8
"""Of a longer literal of constants, such as a table of words, only the first, the middle and the last are changed."""

UNREAD_CALLS = {"log_event", "TypeVar", "NewType", "cast"}
UNREAD_NAMES = {"__all__", "__slots__"}
UNREAD_KEYWORDS = {"description", "title", "examples"}
UNREAD_ARGUMENTS = {"setting": 1}
"""By function, the position of its description."""


@dataclass
class Mutant:
    """One change to one module. `apply` changes the syntax tree that all mutants of the module share."""

    module: str
    line: int
    scope: str
    """The qualified name of the function or class that is changed; empty for the module itself."""
    source: str
    before: str
    after: str
    in_function: bool
    owner: ast.AST
    field: str
    index: int | None
    replacement: ast.AST

    def __str__(self) -> str:
        return f"{self.module} | {self.scope or 'module'} | {self.before} -> {self.after} | {self.source}"

    def apply(self) -> None:
        if self.index is None:
            setattr(self.owner, self.field, self.replacement)
        else:
            getattr(self.owner, self.field)[self.index] = self.replacement
        ast.fix_missing_locations(self.owner)


def module_mutants(module: str, source: str) -> tuple[ast.Module, list[Mutant]]:
    tree = ast.parse(source)
    return tree, list(_Finder(module, source.splitlines()).visit_children(tree))


class _Finder:
    def __init__(self, module: str, lines: list[str]) -> None:
        self.module = module
        self.lines = lines
        self.scopes: list[str] = []
        self.functions = 0
        self.message = False
        """Inside of text that only people read: strings are left alone."""

    def visit_children(self, node: ast.AST) -> Iterator[Mutant]:
        for field, value in ast.iter_fields(node):
            if isinstance(value, ast.AST):
                yield from self.visit(node, field, None, value)
            elif isinstance(value, list):
                yield from self.visit_list(node, field, value)

    def visit_list(self, node: ast.AST, field: str, values: list[Any]) -> Iterator[Mutant]:
        picked = range(len(values))
        constants = sum(isinstance(each, ast.Constant) for each in values)
        if isinstance(node, ast.expr) and constants == len(values) > LONG_LITERAL:
            picked = range(0, len(values), (len(values) - 1) // 2)
        for index in picked:
            if isinstance(values[index], ast.AST):
                yield from self.visit(node, field, index, values[index])

    def visit(self, owner: ast.AST, field: str, index: int | None, node: ast.AST) -> Iterator[Mutant]:
        if self._is_left_alone(owner, field, node) or _is_description(owner, field, index):
            return
        for replacement in self._replacements(owner, field, node):
            yield self._mutant(owner, field, index, node, replacement)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from self._visit_definition(node)
        elif isinstance(node, ast.AnnAssign):
            yield from self._visit_annotated(node)
        elif (
            isinstance(node, ast.Raise)
            or (isinstance(node, ast.keyword) and node.arg in UNREAD_KEYWORDS)
            or _is_super_init(node)
        ):
            yield from self._visit_message(node)
        else:
            yield from self.visit_children(node)

    def _visit_definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> Iterator[Mutant]:
        is_function = not isinstance(node, ast.ClassDef)
        self.scopes.append(node.name)
        if isinstance(node, ast.FunctionDef):
            for field in ("defaults", "kw_defaults"):
                yield from self.visit_list(node.args, field, getattr(node.args, field))
        if not isinstance(node, ast.AsyncFunctionDef):
            self.functions += is_function
            yield from self.visit_list(node, "body", node.body)
            self.functions -= is_function
        self.scopes.pop()

    def _visit_annotated(self, node: ast.AnnAssign) -> Iterator[Mutant]:
        """The value, and of the annotation what is called there, such as Field(max_length=200)."""
        if not self.functions:
            for each in ast.walk(node.annotation):
                if isinstance(each, ast.Call):
                    yield from self.visit_children(each)
        if node.value is not None:
            yield from self.visit(node, "value", None, node.value)

    def _visit_message(self, node: ast.AST) -> Iterator[Mutant]:
        before, self.message = self.message, True
        yield from self.visit_children(node)
        self.message = before

    def _is_left_alone(self, owner: ast.AST, field: str, node: ast.AST) -> bool:
        match node:
            case (
                ast.Assert()
                | ast.Import()
                | ast.ImportFrom()
                | ast.Global()
                | ast.Nonlocal()
                | ast.Expr(value=ast.Constant())  # a docstring, or the ... of an abstract body
                | ast.Subscript(value=ast.Name(id="Literal"))
                | ast.If(test=ast.Name(id="TYPE_CHECKING") | ast.Compare(left=ast.Name(id="__name__")))
            ):
                return True
            case (
                ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name))
                | ast.Expr(value=ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)))
            ):
                return name in UNREAD_CALLS
            case ast.Assign(targets=[ast.Name(id=name)]):
                return name in UNREAD_NAMES
            case ast.Constant(value=str()):
                return self.message
            case ast.BinOp(op=ast.BitOr()):  # outside of functions a union of types
                return not self.functions and not isinstance(node.left, ast.Call)
        return isinstance(owner, ast.ClassDef) and field in ("bases", "decorator_list")

    def _replacements(self, owner: ast.AST, field: str, node: ast.AST) -> Iterator[ast.AST]:
        match node:
            case ast.Constant():
                yield from _other_constants(node.value)
            case ast.Compare():
                yield from _other_comparisons(node)
            case ast.BoolOp():
                yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
            case ast.UnaryOp(op=ast.Not()):
                yield node.operand
            case ast.BinOp() if type(node.op) in ARITHMETIC and not _is_text(node.left):
                yield ast.BinOp(node.left, ARITHMETIC[type(node.op)](), node.right)
            case ast.AugAssign() if type(node.op) in ARITHMETIC:
                yield ast.AugAssign(node.target, ARITHMETIC[type(node.op)](), node.value)
            case ast.Return(value=ast.expr() as value) if not _is_falsy_or_true(value):
                yield ast.Return(ast.Constant(None))
            case ast.Expr() if not _is_super_init(node.value):
                yield ast.Pass()
            case (
                ast.Raise()
                | ast.Continue()
                | ast.Break()
                | ast.Delete()
                | ast.Assign(targets=[ast.Attribute() | ast.Subscript()])
            ):
                yield ast.Pass()
            case ast.Name(id=name) if isinstance(owner, ast.Call) and field == "func" and name in SWAPPED_NAMES:
                yield ast.Name(SWAPPED_NAMES[name], ast.Load())
            case ast.Attribute(attr=name) if isinstance(owner, ast.Call) and field == "func" and name in SWAPPED_NAMES:
                yield ast.Attribute(node.value, SWAPPED_NAMES[name], ast.Load())
        if _is_condition(owner, field) and isinstance(node, ast.expr) and not _is_negated_already(node):
            yield ast.UnaryOp(ast.Not(), node)

    def _mutant(self, owner: ast.AST, field: str, index: int | None, node: ast.AST, replacement: ast.AST) -> Mutant:
        assert isinstance(node, ast.expr | ast.stmt)
        ast.copy_location(replacement, node)
        line = node.lineno
        return Mutant(
            module=self.module,
            line=line,
            scope=".".join(self.scopes),
            source=self.lines[line - 1].strip(),
            before=_shown(node),
            after=_shown(replacement),
            in_function=self.functions > 0,
            owner=owner,
            field=field,
            index=index,
            replacement=replacement,
        )


def _other_constants(value: object) -> Iterator[ast.Constant]:
    others: tuple[Any, ...] = ()
    match value:
        case bool():
            others = (not value,)
        case int():
            others = (value + 1, value - 1) if value else (1,)
        case float():
            others = (value * 1.1, value * 0.9) if value else (1.0,)
        case str():
            others = ("XX" + value,)
        case bytes():
            others = (b"XX" + value,)
    for other in others:
        yield ast.Constant(other)


def _other_comparisons(node: ast.Compare) -> Iterator[ast.Compare]:
    for index, operator in enumerate(node.ops):
        operators = [*node.ops]
        operators[index] = COMPARISONS[type(operator)]()
        yield ast.Compare(node.left, operators, node.comparators)


def _is_description(owner: ast.AST, field: str, index: int | None) -> bool:
    match owner:
        case ast.Call(func=ast.Name(id=name)) if field == "args" and index is not None:
            return UNREAD_ARGUMENTS.get(name) == index
    return False


def _is_super_init(node: ast.AST) -> bool:
    """Whether an error passes on its message."""
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "super().__init__"


def _is_falsy_or_true(node: ast.expr) -> bool:
    """Whether returning None instead would change nothing, or the same as another mutation."""
    return isinstance(node, ast.Constant) and (not node.value or node.value is True)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _is_condition(owner: ast.AST, field: str) -> bool:
    return (isinstance(owner, ast.If | ast.While | ast.IfExp) and field == "test") or (
        isinstance(owner, ast.comprehension) and field == "ifs"
    )


def _is_negated_already(node: ast.expr) -> bool:
    """Whether another mutation turns this condition into its opposite."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return isinstance(node.ops[0], ast.Eq | ast.NotEq | ast.Is | ast.IsNot | ast.In | ast.NotIn)
    return isinstance(node, ast.Constant) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not))


def _shown(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 90 else text[:60] + " … " + text[-25:]


# Which modules are pure.

DOERS = {
    "aiohttp",
    "azure",
    "concurrent",
    "httpx",
    "os",
    "sentry_sdk",
    "socket",
    "sqlite3",
    "ssl",
    "subprocess",
    "threading",
}
"""A module that imports one of these does something besides deciding."""
MOST_ASYNC = 0.05
"""Of a module's statements. A module that decides may have one method that hands the work to a thread."""


def is_pure(source: str) -> bool:
    """Whether a module only decides: next to nothing in it is async, and it imports nothing that does I/O. It may read
    a file of data that is shipped with it."""
    statements = asynchronous = 0
    for node in ast.walk(ast.parse(source)):
        statements += isinstance(node, ast.stmt)
        if isinstance(node, ast.AsyncFunctionDef):
            asynchronous += sum(isinstance(each, ast.stmt) for each in ast.walk(node))
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if any(name.split(".")[0] in DOERS for name in names):
            return False
    return asynchronous <= MOST_ASYNC * statements


def async_functions(source: str) -> list[str]:
    """The functions of a module that are not mutated."""
    return [node.name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.AsyncFunctionDef)]


def pure_modules(root: Path) -> list[str]:
    """The modules of models/ and services/ that only decide, and have something to decide."""
    found = []
    for path in sorted([*(root / "models").rglob("*.py"), *(root / "services").rglob("*.py")]):
        module = path.relative_to(root).as_posix()
        source = path.read_text()
        if is_pure(source) and module_mutants(module, source)[1]:
            found.append(module)
    return found
