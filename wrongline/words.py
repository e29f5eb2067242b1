r"""
---
title: Switches That Are Words
summary: Some models are causal only if a word says so, and their code says which word that is.
know: sizes.py
---

PyTorch's kernel has a switch, `is_causal=True`. Others have a word: `mode="causal"`, or a type of
attention that is “bidirectional” unless somebody says something else. Without the word there
is no mask, and that is no mistake. Which word it is stands in the code that compares it, as in
`if mode == "causal"`.

**In:** the name of an argument, and the code that reads it. **Out:** the word that makes a model
causal, or None.
"""

import ast
import inspect
import linecache
import re
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import lru_cache
from typing import Any

from torch import nn

from wrongline.sizes import NOTHING

# Words for what sees only what comes before, and how the contrary is made of them.
CAUSAL = (
    r"(?i)causal|auto[-_ ]?regress|uni[-_ ]?direction|left[-_ ]?to[-_ ]?right|look[-_ ]?ahead"
    r"|^(decoder|decoder[-_ ]only|ar|lm|clm|tril|triangular|past|l2r|ltr)$"
)
CONTRARY = r"(?i)non|not|no[-_ ]|acausal"

# Kinds of attention that may be causal already. Such a word stays.
OF_ITS_OWN = r"(?i)local|slid|window|chunk|sparse|linear|flash|sdpa|eager|strided|dilated"

# A switch that is on where everything is seen.
SEES_ALL = r"^(is_|use_)?(bidirectional|non_?causal|full_attention)$"

# What such an argument is called.
LIKELY = r"(?i)mode$|mask|attn|attention|direction|causal"


# How often a name is given to another one on its way.
FAR = 3


def is_causal_word(word: Any) -> bool:
    r"""
    ## Does a word say that only the past is seen?
    """
    said = word.name if isinstance(word, Enum) else word
    if not isinstance(said, str):
        return False
    return bool(re.search(CAUSAL, said)) and not re.search(CONTRARY, said)


def name_of(node: ast.AST) -> str:
    r"""
    ## What a part of a comparison is called

    As in `mode`, `self.mode`, `config["mode"]`, `mode.lower()` or `getattr(config, "mode")`.
    """
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr.lstrip("_")
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        keys = [one.value for one in node.args if isinstance(one, ast.Constant)]
        return str(keys[0]) if keys and node.func.attr == "get" else name_of(node.func.value)
    if isinstance(node, ast.Call) and name_of(node.func) == "getattr" and len(node.args) > 1:
        key = node.args[1]
        return str(key.value) if isinstance(key, ast.Constant) else ""
    return ""


def sides_of(tree: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    r"""
    ## Names, and what each is compared with

    By `==`, by `in`, by `match`, as a key of a dictionary, or by `Literal["causal", "full"]`.
    """
    # A dictionary may have a name of its own.
    tables = {
        name_of(one.targets[0]): one.value
        for one in ast.walk(tree)
        if isinstance(one, ast.Assign) and isinstance(one.value, ast.Dict)
    }
    # Whatever stands beside a name: one word, or a few of them.
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            yield from ((name_of(one), other) for one in sides for other in sides if one != other)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "startswith":
                yield from ((name_of(node.func.value), one) for one in node.args)
        elif isinstance(node, ast.Match):
            for case in node.cases:
                yield name_of(node.subject), case.pattern
        elif isinstance(node, ast.Subscript):
            table = tables.get(name_of(node.value), node.value)
            if isinstance(table, ast.Dict):
                yield from ((name_of(node.slice), one) for one in table.keys if one)
        elif isinstance(node, ast.arg | ast.AnnAssign) and node.annotation:
            name = node.arg if isinstance(node, ast.arg) else name_of(node.target)
            if "Literal" in ast.unparse(node.annotation):
                yield name, node.annotation


def signatures(tree: ast.AST) -> dict[str, list[str]]:
    r"""
    ## The arguments of classes, functions and layers

    A layer is called by the attribute that it was put into, as `self.attention`.
    """
    # What makes a layer, and what calls one.
    found: dict[str, list[str]] = {}
    calls: dict[str, list[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            found.setdefault(node.name, [one.arg for one in node.args.args])
        elif isinstance(node, ast.ClassDef):
            for one in node.body:
                if isinstance(one, ast.FunctionDef) and one.name in ("__init__", "forward"):
                    kind = found if one.name == "__init__" else calls
                    kind[node.name] = [arg.arg for arg in one.args.args[1:]]
    # Which class stands behind an attribute.
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            made = name_of(node.value.func)
            if made in calls and isinstance(node.targets[0], ast.Attribute):
                found[node.targets[0].attr] = calls[made]
    return found


@lru_cache(maxsize=64)
def renamed(text: str) -> tuple[tuple[str, str], ...]:
    r"""
    ## Names that are given to other names

    By `self.kind = mode`, by `kind=mode`, or by the place of an argument.
    """
    tree = ast.parse(text)
    known = signatures(tree)
    pairs = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            pairs += [(name_of(node.value), name_of(one)) for one in node.targets]
        elif isinstance(node, ast.Call):
            pairs += [(name_of(one.value), one.arg or "") for one in node.keywords]
            places = known.get(name_of(node.func), [])
            pairs += [(name_of(one), to) for one, to in zip(node.args, places, strict=False)]
    return tuple((one, other) for one, other in pairs if one and other and one != other)


def names_for(name: str, text: str) -> set[str]:
    r"""
    ## What a name is called where it goes
    """
    found = {name}
    # A method gives it to a layer, and that to a function.
    for _ in range(FAR):
        found |= {other for one, other in renamed(text) if one in found}
    return found


@lru_cache(maxsize=64)
def comparisons(text: str) -> tuple[tuple[str, str, str], ...]:
    r"""
    ## All words that a text compares with a name

    For each the name, the word, and the class that it is a member of, if it is no text.
    """
    found = []
    for name, other in sides_of(ast.parse(text)):
        for one in ast.walk(other):
            if isinstance(one, ast.Constant) and is_causal_word(one.value):
                found.append((name, str(one.value), ""))
            elif isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name):
                if is_causal_word(one.attr):
                    found.append((name, one.attr, one.value.id))
    return tuple(found)


def causal_word(name: str, default: Any, text: str, around: Mapping[str, Any]) -> Any:
    r"""
    ## The word that makes it causal

    For an argument and its `default`; `around` has the classes of the text. None, if there is no
    such word, or if the default is one.
    """
    if not (default is NOTHING or default is None or isinstance(default, str | Enum)):
        return None
    if is_causal_word(default) or re.search(OF_ITS_OWN, str(default)):
        return None
    try:
        known = comparisons(text)
        names = names_for(name, text) if known else set()
    except SyntaxError:
        return None
    for one, word, kind in known:
        if one not in names:
            continue
        # What is a member of a class by default is no text.
        if not kind:
            if isinstance(default, Enum) and not isinstance(default, str):
                continue
            return word
        member = getattr(around.get(kind), word, None)
        if isinstance(member, Enum):
            return member
    return None


def code_of(function: Callable[..., Any]) -> tuple[str, Mapping[str, Any]]:
    r"""
    ## The file of a function, and the names there
    """
    inner = inspect.unwrap(function)
    around = getattr(inner, "__globals__", {})
    code = getattr(inner, "__code__", None)
    text = "".join(linecache.getlines(code.co_filename)) if code else ""
    return with_layers(text, around), around


def with_layers(text: str, around: Mapping[str, Any]) -> str:
    r"""
    ### With the files of the layers that it imports

    `around` are the names of the text. A word may be compared there.
    """
    layers = [
        one for one in around.values() if isinstance(one, type) and issubclass(one, nn.Module)
    ]
    files = {
        one.forward.__code__.co_filename
        for one in layers
        if not one.__module__.startswith("torch.") and hasattr(one.forward, "__code__")
    }
    others = ["".join(linecache.getlines(one)) for one in sorted(files)]
    return "\n".join([text, *(one for one in others if one != text)])


@lru_cache(maxsize=64)
def words_of(kind: Any) -> dict[str, Any]:
    r"""
    ## Words that `forward` of a class wants, to be causal

    By the names of its arguments.
    """
    forward = kind.forward
    try:
        taken = [*inspect.signature(forward).parameters.items()][2:]
    except (TypeError, ValueError):
        return {}
    text, around = code_of(forward)
    # `"causal" in kwargs` asks for a key, and no argument is called `kwargs`.
    found = {
        name: causal_word(name, one.default, text, around)
        for name, one in taken
        if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    }
    return {name: word for name, word in found.items() if word is not None}


def unread_words(kind: type) -> list[str]:
    r"""
    ## Arguments of `forward` that may be such a switch

    They are words by default, and no code that is seen compares them with anything.
    """
    known = words_of(kind)
    try:
        taken = inspect.signature(kind.forward).parameters  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        return []
    return [
        f'{name}="{one.default}"'
        for name, one in taken.items()
        if isinstance(one.default, str) and re.search(LIKELY, name) and name not in known
        if not is_causal_word(one.default)
    ]


def attributes_of(model: nn.Module) -> Iterator[tuple[Any, str, Any]]:
    r"""
    ## Attributes that make it causal by another word

    The object that has it, its name, and the word.
    """
    for part in model.modules():
        if type(part).__module__.partition(".")[0] == "torch":
            continue
        text, around = code_of(type(part).forward)
        for name, value in vars(part).items():
            if isinstance(value, str | Enum):
                word = causal_word(name.lstrip("_"), value, text, around)
                if word is not None:
                    yield part, name, word


def example() -> list[Any]:
    r"""
    ## Example

    Three arguments of a text, of which the first has such a word.

    ### Exercises

    ??? question "The default is “sliding”. Why does it stay?"
        An attention with a window is most often causal as it is.
    """
    text = 'if self.mode in ("causal", "prefix") and norm == "pre": hide(mask)'
    return [causal_word(name, "full", text, {}) for name in ("mode", "norm", "mask")]
