"""What it costs to bring a kernel to a framework: the code metrics of section 5.1 of the NPBench paper.

in:   a kernel, the file its framework compiles (the kernel's own, or an override) and the lines the adapter adds
out:  an `Adaptation`: lines of both, lines changed, and the share of NumPy's lines that stand there as they are

What counts is the program: the function, its helpers and constants, the imports they need. What the suite adds to a
kernel's file (inputs, tolerance, the `Kernel` object), comments, docstrings and Python's own type hints do not count,
and how a line is broken does not either:

    def f(                                   import numpy as np
        x: NDArray[Any],  # the field        def f(x):
    ) -> NDArray[Any]:                           return np.exp(x)
        "Exponentials."
        return np.exp(x)
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Sequence
from inspect import getsourcefile
from pathlib import Path

from weft_bench.cells import Adaptation
from weft_bench.kernel import Kernel

NOT_PROGRAM = frozenset({"make_inputs", "tolerance", "work", "KERNEL"})
TYPE_HINTS = frozenset({"typing", "numpy.typing", "collections.abc", "types", "typing_extensions"})
EXPORT_COMMENT = "pythran"  # `# pythran export f(float64[])` is a comment to Python alone; the paper counts it too


def measure_adaptation(kernel: Kernel, path: Path, is_override: bool, added_lines: tuple[str, ...]) -> Adaptation:
    """The metrics of what a framework compiles from `path`, against the kernel's NumPy source.

    An override counts whole, a kernel's own file from its function on; `added_lines` join either.
    """
    name = kernel.function.__name__
    numpy = program_lines(_source_of(kernel), [name])
    text = path.read_text(encoding="utf-8")
    own = [*export_comments(text), *program_lines(text, None if is_override else [name])]
    lines = add_lines(own, added_lines)
    kept, changed = compare_lines(numpy, lines)
    return Adaptation(
        numpy_lines=len(numpy),
        lines=len(lines),
        changed=changed,
        kept=kept / len(numpy) if numpy else 1.0,
        is_override=is_override,
    )


def add_lines(own: Sequence[str], added: Iterable[str]) -> list[str]:
    """The program with an adapter's lines.

    One that binds a name which a line of the program binds takes its place: `import jax.numpy as np` that of NumPy's
    import, a `def` with types that without. What stands there already is not added.
    """
    front: list[str] = []
    lines = list(own)
    for line in (part.strip() for text in added for part in text.splitlines()):
        name = _bound_name(line)
        places = [place for place, known in enumerate(lines) if name is not None and _bound_name(known) == name]
        if not line or line in own:
            continue
        if places:
            lines[places[0]] = line
        else:
            front.append(line)
    return [*front, *lines]


def compare_lines(numpy: Sequence[str], adapted: Sequence[str]) -> tuple[int, int]:
    """How many lines are kept, and how many added, removed or altered; an altered one counts once.

    Kept is the longest common subsequence, changed the least number of edits: the best that can be said of both.
    """
    kept = [0] * (len(adapted) + 1)
    changed = list(range(len(adapted) + 1))
    for row, line in enumerate(numpy, start=1):
        kept_above, changed_above = kept, changed
        kept, changed = [0], [row]
        for column, other in enumerate(adapted, start=1):
            same = line == other
            kept.append(kept_above[column - 1] + 1 if same else max(kept_above[column], kept[-1]))
            altered = changed_above[column - 1] + (not same)
            changed.append(min(altered, changed_above[column] + 1, changed[-1] + 1))
    return kept[-1], changed[-1]


def program_lines(text: str, roots: Sequence[str] | None) -> list[str]:
    """The program in a module, one statement's head a line, without indentation.

    `roots` are the functions it starts from, with what they use; None means all that is not the suite's.
    """
    module = ast.parse(text)
    _PlainPrograms(_type_hint_names(module)).visit(module)
    statements = [part for statement in module.body for part in _single_imports(statement)]
    kept = _reachable(statements, roots)
    printed = ast.unparse(ast.fix_missing_locations(ast.Module(body=kept, type_ignores=[])))
    return [line.strip() for line in printed.splitlines() if line.strip()]


def export_comments(text: str) -> list[str]:
    """The comments of a module that are part of its program: Pythran's."""
    comments = [line.strip() for line in text.splitlines() if line.lstrip().startswith("#")]
    return [line for line in comments if line.lstrip("# ").startswith(EXPORT_COMMENT)]


def _bound_name(line: str) -> str | None:
    """The name an import or the head of a function gives to the module."""
    if (function := re.match(r"def (\w+)\(", line)) is not None:
        return function[1]
    if not line.startswith(("import ", "from ")):
        return None
    names = line.rpartition("import ")[2]
    return names.rpartition(" as ")[2].partition(".")[0].strip() if "," not in names else None


def _source_of(kernel: Kernel) -> str:
    file = getsourcefile(kernel.function)
    if file is None:
        msg = f"kernel {kernel.name}: the source of its function is not in a file, so it cannot be compared"
        raise ValueError(msg)
    return Path(file).read_text(encoding="utf-8")


class _PlainPrograms(ast.NodeTransformer):
    """Takes docstrings and Python's own type hints off; a framework's types are part of the adaptation and stay."""

    def __init__(self, hints: frozenset[str]) -> None:
        self.hints = hints

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef | ast.Module):
            node.body = _without_docstring(node.body)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and self._is_hint(node.returns):
            node.returns = None
        if isinstance(node, ast.arg) and self._is_hint(node.annotation):
            node.annotation = None
        if isinstance(node, ast.AnnAssign) and node.value is not None and self._is_hint(node.annotation):
            assign = ast.Assign(targets=[node.target], value=node.value)
            return self.generic_visit(ast.copy_location(assign, node))
        return self.generic_visit(node)

    def _is_hint(self, annotation: ast.expr | None) -> bool:
        return annotation is not None and all(name in self.hints for name in _names_in(annotation))


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    match body:
        case [ast.Expr(value=ast.Constant(value=str())), *rest]:
            return rest or [ast.Pass()]
        case _:
            return body


def _type_hint_names(module: ast.Module) -> frozenset[str]:
    """The names that mean nothing to any framework: built-in types and what comes from modules of type hints."""
    imports = [node for node in module.body if isinstance(node, ast.ImportFrom) and node.module in TYPE_HINTS]
    return frozenset(dir(builtins)) | {alias.asname or alias.name for node in imports for alias in node.names}


def _names_in(node: ast.AST) -> set[str]:
    return {found.id for found in ast.walk(node) if isinstance(found, ast.Name)}


def _single_imports(statement: ast.stmt) -> Iterable[ast.stmt]:
    """`from m import a, b` as two lines, so that one of them can be left out; other statements as they are."""
    match statement:
        case ast.ImportFrom(module="__future__"):
            return []
        case ast.ImportFrom(module=module, names=names, level=level):
            return [ast.ImportFrom(module=module, names=[name], level=level) for name in names]
        case ast.Import(names=names):
            return [ast.Import(names=[name]) for name in names]
        case _:
            return [statement]


def _defined(statement: ast.stmt) -> set[str]:
    """The names a top-level statement gives to the module."""
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.Import(names=[alias]) | ast.ImportFrom(names=[alias]):
            return {(alias.asname or alias.name).partition(".")[0]}
        case _:
            stored = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
            return {node.id for node in stored if isinstance(node.ctx, ast.Store)}


def _reachable(statements: Sequence[ast.stmt], roots: Sequence[str] | None) -> list[ast.stmt]:
    """The statements that define the roots, and those that define what a kept one uses."""
    imports = (ast.Import, ast.ImportFrom)
    if roots is None:
        kept = {s for s in statements if not isinstance(s, imports) and not _defined(s) & NOT_PROGRAM}
    else:
        kept = {s for s in statements if _defined(s) & set(roots)}
    waiting = list(kept)
    while waiting:
        used = _names_in(waiting.pop())
        found = [s for s in statements if s not in kept and _defined(s) & used]
        kept.update(found)
        waiting.extend(found)
    return [s for s in statements if s in kept]
