r"""
---
title: Switches That Are Words
summary: Some models are causal only if an argument is a certain word, which their code tells.
know: sizes.py
---

PyTorch's kernel has a switch, `is_causal=True`. Other code has a word: `mode="causal"`, or a type
of attention that is “bidirectional” by default. Without the word there is no mask, and that is no
mistake. So the word must be found before the model is tested. The code that compares it has it, as
in `if mode == "causal"`.

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

# Words for attention to earlier tokens only, and what turns such a word into its opposite.
CAUSAL = (
    r"(?i)causal|auto[-_ ]?regress|uni[-_ ]?direction|left[-_ ]?to[-_ ]?right|look[-_ ]?ahead"
    r"|^(decoder|decoder[-_ ]only|ar|lm|clm|tril|triangular|past|l2r|ltr)$"
)
CONTRARY = r"(?i)non|not|no[-_ ]|anti[-_ ]?causal|acausal"

# Kinds of attention, and of kernels, that may be causal already. If the default is such a word, it
# isn't changed.
OF_ITS_OWN = r"(?i)local|slid|window|chunk|sparse|linear|flash|sdpa|eager|strided|dilated"

# A switch that must be off for a model to be causal.
SEES_ALL = r"^(is_|use_)?(bidirectional|non_?causal|full_attention)$"

# What an argument for such a word may be called.
LIKELY = r"(?i)mode$|mask|attn|attention|direction|causal"

# How many steps a value is followed from one name to the next.
FAR = 3


def is_causal_word(word: Any) -> bool:
    r"""
    ## Does a word say that only the past is seen?

    A member of an `Enum` says it by its name.
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

    By `==`, by `in`, by `startswith`, by `match`, as a key of a dictionary, or by
    `Literal["causal", "full"]`.
    """
    # A dictionary may be given a name first, and looked up by it.
    tables = {
        name_of(one.targets[0]): one.value
        for one in ast.walk(tree)
        if isinstance(one, ast.Assign) and isinstance(one.value, ast.Dict)
    }
    # The other side is any expression. Words in it are found later.
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

    So an argument without a name, as in `Attention(mode)`, is known by its place. A layer is called
    by the attribute that holds it, as in `self.attention(x, mode)`.
    """
    # `Attention(...)` calls `__init__`, and `self.attention(...)` calls `forward`.
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
    # In `self.attention = Attention(...)`, the attribute has the arguments of that `forward`.
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
    ## A name, and all names that its value is given to
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

    For each the name, the word, and the class of which it is a member, as `Kind` in `Kind.CAUSAL`.
    A word that is a string has an empty one.
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
    such word, or if the default is one, or is neither a word nor missing.
    """
    # A number is no switch of this kind.
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
        # If the default is a member of a class, a string would be wrong.
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

    `around` has the names of the text. The model may pass the word on to a layer that compares it.
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
    ## Words that make `forward` of a class causal

    By the names of its arguments.
    """
    # After `self` and the tokens.
    forward = kind.forward
    try:
        taken = [*inspect.signature(forward).parameters.items()][2:]
    except (TypeError, ValueError):
        return {}
    text, around = code_of(forward)
    # `"causal" in kwargs` looks like a comparison, and `kwargs` is no argument that takes a word.
    found = {
        name: causal_word(name, one.default, text, around)
        for name, one in taken
        if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    }
    return {name: word for name, word in found.items() if word is not None}


def unread_words(kind: type) -> list[str]:
    r"""
    ## Arguments of `forward` that may be such a switch

    Each is a word by default, has a name as such switches have it, and no word is known that makes
    it causal.
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
    ## Attributes that would make a model causal

    For each the module that has it, its name, and the word.
    """
    for part in model.modules():
        # PyTorch's own layers have no such words.
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

    Three names in a line of code, of which only the first is compared with such a word.

    ### Exercises

    ??? question "The default is “sliding”. Why is it not replaced by “causal”?"
        It says how far a token sees, and such an attention may be causal as it is. With another
        word, another kind of attention would be tested than the one that is used.

    ??? question "A model has `mode: int = 0`, and compares it with 1. Is a word found?"
        No: a number says nothing. If later tokens change its logits, the model is called wrong, and
        you say the mode by `predict`.
    """
    text = 'if self.mode in ("causal", "prefix") and norm == "pre": hide(mask)'
    return [causal_word(name, "full", text, {}) for name in ("mode", "norm", "mask")]
