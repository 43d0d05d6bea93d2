"""Make a program that differs smaller, as long as it still differs in the same way.

before:  30 lines, five sets of arguments
after:   the two lines that matter, one set

Candidates are made from the syntax tree: statements left out, bodies in place of what is around them, operands in place
of operations, smaller arrays. A round compiles all of them in one batch and takes the smallest that still differs.
"""

from __future__ import annotations

import ast
import copy
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.fuzz.arguments import Inputs, make_arguments
from tests.fuzz.generator import HEAD, Case
from tests.fuzz.running import PLAIN, Build, Finding, check_cases, function_of, run

_ROUND = 8
_LIMIT_S = 60.0


def shrink(finding: Finding, build: Build = PLAIN, limit_s: float = _LIMIT_S) -> Finding:
    """The smallest found within the time."""
    end = time.monotonic() + limit_s
    improved = True
    while improved and time.monotonic() < end:
        improved = False
        for make in (_fewer_inputs, _without_statements, _simpler_expressions, _smaller_sizes, _fewer_params):
            smaller = _best(finding, make, build, end)
            while smaller is not None:
                finding, improved = smaller, True
                smaller = _best(finding, make, build, end)
    return finding


def _best(finding: Finding, make: Callable[[Finding], Iterator[Case]], build: Build, end: float) -> Finding | None:
    """The smallest of the candidates that still differs in the same way."""
    known = {candidate.source: candidate for candidate in make(finding)} if make is not _smaller_sizes else {}
    candidates = sorted(known.values() or make(finding), key=_size)
    candidates = [case for case in candidates if case != finding.case and _runs(case, finding)]
    for start in range(0, len(candidates), _ROUND):
        if time.monotonic() > end:
            return None
        part = candidates[start : start + _ROUND]
        found = [other for other in check_cases(part, build).findings if other.kind == finding.kind]
        if found:
            return min(found, key=lambda other: _size(other.case))
    return None


def _runs(case: Case, finding: Finding) -> bool:
    """Whether Python still gets through, where it did: most candidates are nonsense."""
    try:
        error = run(function_of(case), make_arguments(case.params, case.inputs[-1]), case).error
    except SyntaxError:
        return False
    return finding.raises == (error is not None)


def _size(case: Case) -> tuple[int, int, int]:
    return len(case.source), len(case.inputs), sum(size for inputs in case.inputs for _, size in inputs.sizes)


# ---- arguments ------------------------------------------------------------------------------------------------------


def _fewer_inputs(finding: Finding) -> Iterator[Case]:
    case = finding.case
    if case.inputs != (finding.inputs,):
        yield replace(case, inputs=(finding.inputs,))
        if len(case.inputs) > 2:  # the first decides what is compiled
            yield replace(case, inputs=(case.inputs[0], finding.inputs))


def _smaller_sizes(finding: Finding) -> Iterator[Case]:
    case = finding.case
    for number, inputs in enumerate(case.inputs):
        for smaller in _smaller(inputs):
            yield replace(case, inputs=(*case.inputs[:number], smaller, *case.inputs[number + 1 :]))


def _smaller(inputs: Inputs) -> Iterator[Inputs]:
    for name, size in inputs.sizes:
        for new in sorted({2, size // 2, size - 1}):
            if 1 < new < size:
                yield replace(inputs, sizes=tuple((own, new if own == name else old) for own, old in inputs.sizes))
    if inputs.values != "whole":
        yield replace(inputs, values="whole")


def _fewer_params(finding: Finding) -> Iterator[Case]:
    """Without parameters that the program does not name; sizes are unnamed in it, but come with the others."""
    case = finding.case
    tree = ast.parse(case.source)
    main = tree.body[-1]
    assert isinstance(main, ast.FunctionDef)
    named = {node.id for node in ast.walk(main) if isinstance(node, ast.Name)}
    shared = {case.params[k].name for inputs in case.inputs if inputs.how for k in inputs.shared}
    for number, param in enumerate(case.params):
        if param.name not in named and not shared:
            fewer = copy.deepcopy(tree)
            own = fewer.body[-1]
            assert isinstance(own, ast.FunctionDef)
            del own.args.args[number]
            yield _case_of(replace(case, params=(*case.params[:number], *case.params[number + 1 :])), fewer)


# ---- the program ----------------------------------------------------------------------------------------------------


def _case_of(case: Case, tree: ast.Module) -> Case:
    """The case with another program, without functions that nobody calls."""
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    kept = [node for node in functions if node.name == "program" or node.name in called]
    text = "\n\n\n".join([HEAD.rstrip("\n"), *(ast.unparse(ast.fix_missing_locations(node)) for node in kept)])
    return replace(case, source=text + "\n")


def _without_statements(finding: Finding) -> Iterator[Case]:
    tree = ast.parse(finding.case.source)
    blocks = sum(len(_blocks(node)) for node in ast.walk(tree))
    for block in range(blocks):
        length = len(_block(tree, block))
        for count in (length // 2, 1):
            for start in range(0, length - count + 1, max(1, count)):
                if count:
                    smaller = copy.deepcopy(tree)
                    _leave_out(_block(smaller, block), start, count)
                    yield _case_of(finding.case, smaller)
        for position in range(length):
            yield from _unwrapped(finding.case, tree, block, position)


def _blocks(node: ast.AST) -> list[list[ast.stmt]]:
    if isinstance(node, ast.Module):
        return []
    return [found for name in ("body", "orelse") if isinstance(found := getattr(node, name, None), list) and found]


def _block(tree: ast.AST, number: int) -> list[ast.stmt]:
    return [block for node in ast.walk(tree) for block in _blocks(node)][number]


def _leave_out(block: list[ast.stmt], start: int, count: int) -> None:
    del block[start : start + count]
    if not block:
        block.append(ast.Pass())


def _unwrapped(case: Case, tree: ast.Module, block: int, position: int) -> Iterator[Case]:
    """The body in place of a loop or a branch."""
    for inner in range(len(_blocks(_block(tree, block)[position]))):
        smaller = copy.deepcopy(tree)
        statements = _block(smaller, block)
        statements[position : position + 1] = _blocks(statements[position])[inner]
        yield _case_of(case, smaller)


def _simpler_expressions(finding: Finding) -> Iterator[Case]:
    """An operand in place of an operation, a number in place of anything, one item less in a tuple."""
    tree = ast.parse(finding.case.source)
    main = len(tree.body) - sum(isinstance(node, ast.FunctionDef) for node in tree.body)
    for function in range(main, len(tree.body)):
        nodes = list(ast.walk(tree.body[function]))
        for number, node in enumerate(nodes):
            for choice in range(len(_replacements(node))):
                smaller = copy.deepcopy(tree)
                place = list(ast.walk(smaller.body[function]))[number]
                _Swap(place, _replacements(place)[choice]).visit(smaller)
                yield _case_of(finding.case, smaller)


def _replacements(node: ast.AST) -> list[ast.expr]:
    if not isinstance(node, ast.expr) or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return []
    inside = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
    match node:
        case ast.Tuple(elts=elts) if len(elts) > 1:
            return [ast.Tuple(elts[:k] + elts[k + 1 :], ast.Load()) for k in range(len(elts))] + elts
        case ast.BinOp() | ast.Compare() | ast.BoolOp() | ast.UnaryOp() | ast.IfExp():
            return [*inside, ast.Constant(1)]
        case ast.Call(func=func, args=args):
            return [*args, *([func.value] if isinstance(func, ast.Attribute) else []), ast.Constant(1)]
        case ast.Subscript(value=value):
            return [value, ast.Constant(1)]
        case ast.Attribute(value=ast.Name(id=name)) if name in ("np", "math", "weft"):
            return []
        case ast.Attribute(value=value):
            return [value, ast.Constant(2)]
        case ast.Slice(lower=lower, upper=upper, step=step) if lower or upper or step:
            return [ast.Slice(None, upper, step), ast.Slice(lower, None, step), ast.Slice(lower, upper, None)]
        case _:
            return []


class _Swap(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else super().visit(node)
