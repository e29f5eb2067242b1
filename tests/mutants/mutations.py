r"""One-line mutants of a Python source: what one could have got wrong on a line.

The operators look at the syntax tree and change the text of one line, so that all else, and the
numbers of the lines, stay as they are. What would say nothing about what a page computes is left
alone: docstrings, annotations, messages of errors, assertions, decorators, `example` and the
functions that put a page in its place on the site.
"""

import ast
import random
from dataclasses import dataclass
from itertools import accumulate, pairwise, zip_longest

# A change of the text: what is replaced, from byte to byte, and by what.
Edit = tuple[int, int, str]

# Functions that are about the site, or about the notebook.
APART = {"example", "in_transformer", "notebook", "main"}
ARITHMETIC = {
    ast.Add: "+ -", ast.Sub: "- +", ast.Mult: "* /", ast.Div: "/ *", ast.FloorDiv: "// *",
    ast.Mod: "% //", ast.Pow: "** *", ast.BitAnd: "& |", ast.BitOr: "| &", ast.BitXor: "^ &",
}  # fmt: skip
# At the boundary, and inverted.
COMPARISONS = {
    ast.Lt: ("<", "<=", ">="), ast.LtE: ("<=", "<", ">"), ast.Eq: ("==", "!="),
    ast.Gt: (">", ">=", "<="), ast.GtE: (">=", ">", "<"), ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"), ast.NotIn: ("not in", "in"),
}  # fmt: skip
# Names that are mistaken for one another.
TWINS = dict(
    pair.split("/")
    for pair in (
        "tril/triu triu/tril sin/cos cos/sin any/all all/any max/min min/max amax/amin amin/amax "
        "argmax/argmin maximum/minimum minimum/maximum sum/mean mean/sum zeros/ones ones/zeros "
        "zeros_/ones_ ones_/zeros_ sqrt/square rsqrt/sqrt softmax/log_softmax relu/gelu gelu/relu "
        "silu/sigmoid sigmoid/tanh tanh/sigmoid ReLU/GELU GELU/ReLU LayerNorm/RMSNorm "
        "normal_/uniform_ floor/ceil ceil/floor float64/float32 repeat/repeat_interleave "
        "repeat_interleave/repeat"
    ).split()
)
# Where a number counts positions, it is easily one too many and one too few.
COUNTING = {"range", "arange", "tril", "triu", "narrow", "roll"}
# To leave these out would be no mistake but nonsense.
WHOLE = {"super", "len", "dim", "numel", "size", "element_size", "item", "tolist", "einsum"}
WHOLE |= {"ones", "zeros", "empty", "full", "tensor", "randn", "rand", "randint", "arange", "range"}
# What stands before the point when a function and no method is called.
MODULES = {"torch", "F", "math", "nn", "init", "self", "functional", "special", "linalg"}
ATOMS = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Constant)
NAMED = (ast.Name, ast.Attribute)


@dataclass(frozen=True)
class Mutant:
    r"""A source with one line changed."""

    line: int
    definition: str  # the qualified name of the class or function around it, or nothing
    original: str  # the line, without the blanks around it
    mutated: str
    source: str


class Operators(ast.NodeVisitor):
    r"""Collects the edits of a source. Names of methods are those that `ast` wants."""

    def __init__(self, source: str) -> None:
        self.text = source.encode()
        self.starts = [0, *accumulate(map(len, self.text.splitlines(keepends=True)))]
        self.edits: list[tuple[Edit, str]] = []
        self.inside: list[str] = []
        self.counting = False
        self.permuting = False
        self.collections: set[ast.AST] = set()
        self.layers: list[str] = []
        self.visit(ast.parse(source))

    def span(self, node: ast.AST) -> tuple[int, int]:
        r"""From which byte to which the node stands in the text."""
        start = self.starts[node.lineno - 1] + node.col_offset
        return start, self.starts[node.end_lineno - 1] + node.end_col_offset

    def code(self, node: ast.AST) -> str:
        r"""The text of a node."""
        start, end = self.span(node)
        return self.text[start:end].decode()

    def add(self, start: int, end: int, new: str) -> None:
        r"""Remember an edit."""
        self.edits.append(((start, end, new), ".".join(self.inside)))

    def replace(self, node: ast.AST, new: str) -> None:
        r"""Put a text in the place of a node."""
        self.add(*self.span(node), new)

    def atom(self, node: ast.AST) -> str:
        return self.code(node) if isinstance(node, ATOMS) else f"({self.code(node)})"

    def keep(self, node: ast.AST, part: ast.AST) -> None:
        r"""Leave of a node only a part of it."""
        self.replace(node, self.atom(part))

    def between(self, left: ast.AST, right: ast.AST, old: str, new: str) -> None:
        r"""Exchange what stands between two nodes, where parentheses may stand too."""
        start, end = self.span(left)[1], self.span(right)[0]
        gap = self.text[start:end].decode()
        self.add(start, end, gap.replace(old, new, 1))

    def swap(self, one: ast.AST, other: ast.AST) -> None:
        r"""Exchange two neighbours."""
        (start, stop), (begin, end) = self.span(one), self.span(other)
        gap = self.text[stop:begin].decode()
        self.add(start, end, self.code(other) + gap + self.code(one))

    def swap_names(self, arguments: list[ast.expr]) -> None:
        r"""Exchange neighbours that are names both."""
        for one, other in pairwise(arguments):
            if isinstance(one, NAMED) and isinstance(other, NAMED):
                self.swap(one, other)

    # What is left alone

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        r"""Defaults and the body, without decorators and annotations."""
        if node.name in APART:
            return
        self.inside.append(node.name)
        for default in [*node.args.defaults, *node.args.kw_defaults]:
            if default is not None:
                self.visit(default)
        for statement in node.body:
            self.visit(statement)
        self.inside.pop()

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        r"""The body alone. What is called as a layer can be taken for another one."""
        self.inside.append(node.name)
        calls = [one.func for one in ast.walk(node) if isinstance(one, ast.Call)]
        methods = {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
        names = [one.attr for one in calls if self.is_own(one) and one.attr not in methods]
        outside, self.layers = self.layers, list(dict.fromkeys(names))
        for statement in node.body:
            self.visit(statement)
        self.inside.pop()
        self.layers = outside

    @staticmethod
    def is_own(node: ast.AST) -> bool:
        r"""Whether it is `self.something`."""
        return isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "self"

    def visit_Import(self, node: ast.Import) -> None:
        r"""Imports have nothing to get wrong that would not be seen at once."""

    visit_ImportFrom = visit_Raise = visit_Assert = visit_JoinedStr = visit_Import

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        r"""The value, without the annotation."""
        if node.value is not None:
            self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        r"""A step that changes a variable, left out; at the top of a module, numbers only."""
        if not self.inside and not isinstance(node.value, (ast.Constant, ast.UnaryOp, ast.BinOp)):
            return
        read = {one.id for one in ast.walk(node.value) if isinstance(one, ast.Name)}
        if len(node.targets) == 1 and getattr(node.targets[0], "id", None) in read:
            self.replace(node, "pass")
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        r"""A call for its effect, left out; docstrings stay."""
        if isinstance(node.value, ast.Constant):
            return
        if self.code(node) != "super().__init__()":
            self.replace(node, "pass")
            self.generic_visit(node)

    # Operators

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        r"""The other sign, or nothing at all."""
        if type(node.op) in ARITHMETIC:
            self.between(node.target, node.value, *ARITHMETIC[type(node.op)].split())
        self.replace(node, "pass")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        r"""The wrong operator; either operand alone; and in the other order, where that counts."""
        if type(node.op) in ARITHMETIC:
            self.between(node.left, node.right, *ARITHMETIC[type(node.op)].split())
            self.keep(node, node.left)
            self.keep(node, node.right)
        if isinstance(node.op, (ast.Sub, ast.MatMult)):
            self.swap(node.left, node.right)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        r"""Not negated. A negative number counts from the end, so it is one off as well."""
        value = getattr(node.operand, "value", None)
        if isinstance(node.op, ast.USub) and isinstance(value, int):
            self.replace(node, str(-value - 1))
            self.replace(node, str(-value + 1))
            return
        self.keep(node, node.operand)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        r"""The other of `and` and `or`; and without one of the conditions."""
        words = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in pairwise(node.values):
            self.between(left, right, *words)
        self.add(self.span(node.values[0])[0], self.span(node.values[1])[0], "")
        for left, right in pairwise(node.values):
            self.add(self.span(left)[1], self.span(right)[1], "")
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        r"""Off at the boundary, and inverted."""
        operands = pairwise([node.left, *node.comparators])
        for op, (left, right) in zip(node.ops, operands, strict=True):
            old, *others = COMPARISONS[type(op)]
            for new in others:
                self.between(left, right, old, new)
            if isinstance(op, (ast.In, ast.NotIn)):
                self.collections.add(right)
        self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        r"""With the other sign, or twice as much, where it is a formula."""
        if isinstance(node.value, (ast.Call, ast.BinOp)):
            self.replace(node.value, f"-{self.atom(node.value)}")
            self.replace(node.value, f"2 * {self.atom(node.value)}")
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        r"""The other way round, and a check that never complains."""
        if all(isinstance(statement, ast.Raise) for statement in node.body):
            self.replace(node.test, "False")
        if not isinstance(node.test, (ast.Compare, ast.UnaryOp, ast.BoolOp)):
            self.replace(node.test, f"not {self.atom(node.test)}")
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        r"""Always the one, always the other."""
        self.keep(node, node.body)
        self.keep(node, node.orelse)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        r"""Another number. Words are left alone."""
        value = node.value
        if isinstance(value, bool):
            self.replace(node, str(not value))
        elif isinstance(value, int) and not self.permuting:
            self.replace(node, str(value + 1))
            if self.counting and value:
                self.replace(node, str(value - 1))
        elif isinstance(value, float):
            self.replace(node, repr(2 * value if value else 1.0))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        r"""A name that is easily mistaken for another."""
        if node.attr in TWINS and getattr(node.value, "id", "") != "math":
            end = self.span(node)[1]
            self.add(end - len(node.attr.encode()), end, TWINS[node.attr])
        self.generic_visit(node)

    def visit_Slice(self, node: ast.Slice) -> None:
        r"""One off at either end, or open there. Numbers are changed as numbers."""
        for bound, step in ((node.lower, "+ 1"), (node.upper, "- 1")):
            if bound is not None:
                if getattr(bound, "value", None) != 0:
                    self.replace(bound, "")
                if not isinstance(bound, (ast.Constant, ast.UnaryOp)):
                    self.replace(bound, f"{self.atom(bound)} {step}")
        before, self.counting = self.counting, True
        self.generic_visit(node)
        self.counting = before

    def visit_Tuple(self, node: ast.Tuple | ast.List) -> None:
        r"""Neighbours exchanged, where the order counts."""
        for one, other in pairwise(node.elts):
            slices = isinstance(one, ast.Slice) or isinstance(other, ast.Slice)
            if not slices and node not in self.collections:
                self.swap(one, other)
        self.generic_visit(node)

    visit_List = visit_Tuple

    def visit_Call(self, node: ast.Call) -> None:
        r"""Left out, with arguments exchanged or dropped, or one position off."""
        method = isinstance(node.func, ast.Attribute)
        name = node.func.attr if method else getattr(node.func, "id", "")
        before_it = getattr(node.func, "value", None)
        owner = getattr(before_it, "id", getattr(before_it, "attr", ""))

        # `x.method(...)` becomes `x`, and `function(x, ...)` as well.
        if name and not name[0].isupper() and name not in WHOLE:
            if method and owner not in MODULES:
                self.keep(node, node.func.value)
            elif node.args:
                self.keep(node, node.args[0])
            elif not method:
                self.keep(node, node.func)

        # One layer for another.
        if self.is_own(node.func) and name in self.layers:
            other = self.layers[(self.layers.index(name) + 1) % len(self.layers)]
            self.replace(node.func, f"self.{other}")

        # Arguments of the same kind, and those that one may forget.
        self.swap_names(node.args)
        self.swap_names([one.value for one in node.keywords if one.arg not in ("dtype", "device")])
        for one in node.keywords:
            if one.arg == "bias" and isinstance(one.value, NAMED):
                self.replace(one.value, "False")
        parts = [*node.args, *node.keywords]
        for before, part in pairwise(parts):
            forgettable = isinstance(part, ast.keyword) or len(node.args) > 2
            literal = isinstance(getattr(getattr(part, "value", None), "value", None), int)
            last = part is parts[-1] or isinstance(part, ast.keyword)
            if forgettable and last and not literal:
                self.add(self.span(before)[1], self.span(part)[1], "")

        self.off_by_one(node, name)
        if name == "einsum":
            self.einsum(node.args[0])
        if name == "permute":
            for one, other in pairwise(node.args):
                self.swap(one, other)
        before = self.counting, self.permuting
        self.counting, self.permuting = name in COUNTING, name == "permute"
        for child in (*node.args, *node.keywords):
            if getattr(child, "arg", None) != "strict":  # a check of what cannot happen
                self.visit(child)
        self.counting, self.permuting = before
        self.visit(node.func)

    def off_by_one(self, node: ast.Call, name: str) -> None:
        r"""Diagonals and ranges that begin or end beside where they should."""
        if name in ("tril", "triu"):
            if not node.args and not node.keywords:
                end = self.span(node)[1]
                self.add(end - 1, end, "1)")
                self.add(end - 1, end, "-1)")
            elif node.args and not isinstance(node.args[-1], (ast.Constant, ast.UnaryOp)):
                for change in ("+ 1", "- 1"):
                    self.replace(node.args[-1], f"{self.code(node.args[-1])} {change}")
        if name in ("range", "arange"):
            last = node.args[min(1, len(node.args) - 1)]
            if len(node.args) == 1:
                self.replace(last, f"1, {self.code(last)} + 1")
            if not isinstance(last, ast.Constant):
                self.replace(last, f"{self.code(last)} - 1")

    def einsum(self, node: ast.AST) -> None:
        r"""Two axes exchanged, in each of the terms."""
        if not isinstance(node, ast.Constant) or node.end_lineno != node.lineno:
            return
        text = self.code(node)
        for at in range(len(text) - 1):
            if text[at].isalpha() and text[at + 1].isalpha():
                self.replace(node, text[:at] + text[at + 1] + text[at] + text[at + 2 :])


def mutants(source: str) -> list[Mutant]:
    r"""All mutants of a source that compile, each once, in the order of the lines."""
    operators = Operators(source)
    lines = source.splitlines()
    seen, found = {ast.dump(ast.parse(source))}, []
    for (start, end, new), definition in operators.edits:
        # One line, before and after.
        if b"\n" in operators.text[start:end] or "\n" in new:
            continue
        changed = (operators.text[:start] + new.encode() + operators.text[end:]).decode()
        try:
            tree = ast.dump(ast.parse(changed))
            compile(changed, "mutant", "exec")
        except (SyntaxError, ValueError):
            continue
        line = operators.text.count(b"\n", 0, start)
        texts = lines[line].strip(), changed.splitlines()[line].strip()
        left, equals, right = texts[1].partition(" = ")
        if tree not in seen and not (equals and left == right):  # the step is left out already
            seen.add(tree)
            found.append(Mutant(line + 1, definition, *texts, changed))
    return sorted(found, key=lambda one: one.line)


def spread(found: list[Mutant], most: int, seed: int = 1) -> list[Mutant]:
    r"""At most so many, the same ones each time, from as many different lines as there are."""
    chance = random.Random(seed)
    by_line: dict[int, list[Mutant]] = {}
    for one in found:
        by_line.setdefault(one.line, []).append(one)
    for group in by_line.values():
        chance.shuffle(group)
    order = sorted(by_line)
    chance.shuffle(order)
    turns = zip_longest(*(by_line[line] for line in order))
    chosen = [one for turn in turns for one in turn if one]
    return sorted(chosen[:most], key=lambda one: (one.line, one.mutated))
