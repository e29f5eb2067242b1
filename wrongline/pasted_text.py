r"""
---
title: Read a Pasted Text
summary: What classes a pasted text defines, and in which of its lines a mistake is likely.
know: run_pasted.py
---

**In:** a text that somebody has pasted, and a sentence about what is wrong. **Out:** the classes of
the text, and the number of a line. [Another page](pasted.py) tests them.

A test finds a mistake by numbers. It knows nothing of lines. So the line is guessed: where the
scale is wrong, we look for a root, and where the mask leaks, for what fills it in. An error of the
text itself has a line that Python tells.

With a mask that is never used, the printed loss is
[0.044](../results/mistakes.json#tables.mistakes.MaskUnused.printed), and one line was to be
looked at.
"""

import ast
import linecache
import re
from typing import Any

import torch
from torch import Tensor, nn

from wrongline.configurations import Config, holds
from wrongline.functions import attentions_in
from wrongline.may_see import Definitions
from wrongline.run_pasted import FILE, run_text

# Words of a finding, and what its line looks like: the likeliest first.
PLACES = (
    # The scores and their softmax.
    (r"divided|scale|multiplied", (r"sqrt|\*\*\s*-?\(?\s*-?(0?\.5|1\s*/\s*2)", r"scale")),
    (r"softmax is over", (r"softmax",)),
    # Dropout by a function comes before a layer: the layer knows whether the model trains.
    (r"dropout", (r"F\.dropout", r"dropout\w*\(")),
    (r"after the softmax|hidden scores", (r"masked_fill|where\(", r"\* *mask")),
    # Views, and the projections before them.
    (r"split by a view|heads, not", (r"\.(view|reshape)\(",)),
    (r"merged by a view", (r"\.(view|reshape)\(",)),
    (r"one projection", (r"\b(q|k|v|query|keys?|values?)\w*\s*=\s*self\.",)),
    # The mask last, since its words are in many sentences.
    (
        r"mask|later inputs|future|see itself",
        (r"masked_fill|where\(|\+ *mask", r"mask *=", r"softmax"),
    ),
    # What a softmax by hand does with a large number.
    (r"NaN|infinite", (r"-?inf\b", r"softmax", r"exp\(")),
)


# What reads tokens or pictures, and what is a part by its name.
READS = r"Embed(ding)?\(|wte\b|Conv2d\(|patch|img|image"
PART = r"(?i)attention|attn|embed|^head$|block|layer|norm|mlp|feed_?forward|wrapper|^ffn?$"


def is_whole(name: str, known: Definitions) -> bool:
    r"""
    ## Is a class a whole model?

    It is no part of another one, has parts, and reads tokens or pictures.
    """
    has_parts = any(isinstance(known.nodes[one], ast.ClassDef) for one in known.parts(name))
    # What inherits from nothing is no module: it may train a model, or write with it.
    above = (known.nodes[one] for one in known.wholes(name))
    is_part = any(isinstance(one, ast.ClassDef) and one.bases for one in above)
    return (
        has_parts
        and not is_part
        and not re.search(PART, name)
        and bool(re.search(READS, known.own(name)))
    )


def classes_in(names: dict[str, Any], text: str) -> list[str]:
    r"""
    ## What can be tested

    The modules that a text defines, and the attentions that are functions. The one to test comes
    first: a whole model, or an attention by its name, else the one that puts the others together.
    Of several the last.
    """
    # Only classes that were made by the text itself, none that it has imported.
    found = [
        # Each of them has the name of the module in which it was made.
        name
        for name, one in names.items()
        if isinstance(one, type)
        and issubclass(one, nn.Module)
        and one.__module__ == "pasted"
        # What has no `forward` of its own is called by nobody.
        and any("forward" in vars(base) for base in one.__mro__ if base is not nn.Module)
    ]
    # What another class mentions is a part of it.
    known = Definitions(text)
    parts = {
        other
        for name, mentions in known.mentions.items()
        if isinstance(known.nodes[name], ast.ClassDef)
        for other in mentions
    }

    def place(name: str) -> tuple[bool, bool, bool]:
        if name not in known.nodes:
            return True, True, True
        whole = is_whole(name, known)
        return not whole, not re.search(r"(?i)attention|attn", name), name in parts

    # The sort keeps the order otherwise.
    return [*sorted(reversed(found), key=place), *attentions_in(names)]


def unread_mask(text: str) -> tuple[str, int] | None:
    r"""
    ## An argument for a mask that is never read

    Its name, and the line of its function.
    """
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.FunctionDef):
            continue
        read = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
        for one in [*node.args.args, *node.args.kwonlyargs]:
            if "mask" in one.arg.lower() and one.arg not in read:
                return one.arg, one.lineno
    return None


# Methods that use a model, and make none.
USES = r"^(generate|sample|beam_search|main|train|evaluate|test_?\w*|example)$"


def lines_about(name: str, text: str) -> str:
    r"""
    ## The lines that a class is made of

    Its own, and those of the definitions that it mentions. All others are empty, so that each keeps
    its number; and so are notes, and methods that write with the model.
    """
    known = Definitions(text)
    if name not in known.nodes:
        return text
    lines = text.split("\n")
    kept = [""] * len(lines)

    def take(node: ast.stmt, taken: list[str]) -> None:
        for at in range(node.lineno - 1, node.end_lineno or node.lineno):
            kept[at] = taken[at]

    for one in {name, *known.parts(name)}:
        take(known.nodes[one], lines)
        for inner in ast.walk(known.nodes[one]):
            is_use = isinstance(inner, ast.FunctionDef) and re.search(USES, inner.name)
            is_note = isinstance(inner, ast.Expr) and isinstance(inner.value, ast.Constant)
            # Something must stand there, or it isn't Python.
            if is_use or is_note:
                assert isinstance(inner, ast.stmt)
                take(inner, [""] * len(lines))
                kept[inner.lineno - 1] = " " * inner.col_offset + "pass"
    return "\n".join(kept)


def line_of(sentence: str, text: str) -> int | None:
    r"""
    ## The line that a mistake is likely in

    None, if nothing in the text looks like it.
    """
    # Words in a comment are no code.
    lines = [line.partition("#")[0] for line in text.split("\n")]

    # A matrix that is never used has a name, and a line that makes it.
    if unused := re.search(r"no gradient comes to (?:\w+\.)*?(\w+)\.weight", sentence):
        patterns: tuple[str, ...] = (rf"self\.{unused[1]}\s*=",)
    else:
        # The first words that fit decide. A sentence that nothing fits has no line.
        patterns = next((one for words, one in PLACES if re.search(words, sentence)), ())

    # Of several lines the last one: a constructor comes before `forward`.
    for pattern in patterns:
        # Lines are counted from one, as in an editor.
        # (A default value makes nothing.)
        fits = [
            at
            for at, line in enumerate(lines, 1)
            if re.search(pattern, line) and not re.match(r"\s*(async )?def ", line)
        ]
        if fits:
            return fits[-1]
    return None


def failed_line(error: BaseException) -> int | None:
    r"""
    ## The line of an error

    The innermost one of what was pasted.
    """
    # A text that can't be read was never run.
    if isinstance(error, SyntaxError):
        return error.lineno

    # From the outermost call to the innermost one.
    lines = []

    # An error knows the calls that led to it.
    trace = error.__traceback__
    while trace:
        # Other files have lines, too.
        if trace.tb_frame.f_code.co_filename == FILE:
            lines.append(trace.tb_lineno)
        # One call further in.
        trace = trace.tb_next
    return lines[-1] if lines else None


def in_words(error: BaseException) -> str:
    r"""
    ## An error in a sentence

    One without a message, such as that of a plain `assert`, is told by its line of code.
    """
    kind = type(error).__name__
    if str(error):
        return f"{kind}: {error}"
    line = failed_line(error)
    code = linecache.getline(FILE, line).strip() if line else ""
    return f"{kind} in `{code}`" if code else kind


def value_of(text: str) -> Any:
    r"""
    ## What somebody typed for an argument

    A number, true or false; `n_head=3, n_embd=24` is a configuration; anything else is a text.
    """
    # Numbers and texts only. Nothing is run here, unlike with `eval`.
    try:
        # As they would stand in a call.
        if re.match(r"\w+\s*=", text):
            call = ast.parse(f"Config({text})", mode="eval").body
            assert isinstance(call, ast.Call)
            # Each of them by the same rule.
            named = {one.arg: ast.literal_eval(one.value) for one in call.keywords if one.arg}
            return Config(**named)
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        # A word without quotes: the name of an activation, for example.
        return text


def shown(value: Any) -> str:
    r"""
    ## An argument as it is shown
    """
    # Anything as it would be typed.
    return (
        # A configuration by what is in it.
        ", ".join(f"{k}={v!r}" for k, v in holds(value).items())
        if not isinstance(value, dict) and holds(value)
        # A part is made of its class.
        else f"{type(value).__name__}(...)"
        if isinstance(value, nn.Module)
        else repr(value)
    )


# Two mistakes that are often copied together: no mask, and the root of the whole width.
COPIED = """
class SelfAttention(nn.Module):
    def __init__(self, embed_size, heads):
        super().__init__()
        self.heads = heads
        self.embed_size = embed_size
        self.queries = nn.Linear(embed_size, embed_size)
        self.keys = nn.Linear(embed_size, embed_size)
        self.values = nn.Linear(embed_size, embed_size)
        self.fc_out = nn.Linear(embed_size, embed_size)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (f(x).view(b, t, self.heads, -1) for f in (self.queries, self.keys, self.values))
        energy = torch.einsum("nqhd,nkhd->nhqk", q, k)
        attention = torch.softmax(energy / self.embed_size ** 0.5, dim=3)
        return self.fc_out(torch.einsum("nhql,nlhd->nqhd", attention, v).flatten(2))
"""


def example(
    batch_size: int = 3, heads: int = 2, d_k: int = 5, seq_len: int = 7
) -> tuple[Tensor, int | None]:
    r"""
    ## Example

    The class of a text, called; and the line of its scale.

    ### Exercises

    ??? question "Why does the pasted class not need its imports?"
        Most people copy a class without the first lines of its file, so they are there already.

    ??? question "Why is a line only “likely”?"
        A mistake is found by its numbers. That its line has a square root in it is a guess.

    ??? question "Why the last of several lines that fit?"
        A constructor makes what `forward` uses, and it comes first. Most mistakes are in `forward`.
    """
    # The text defines one class.
    names = run_text(COPIED)
    (name,) = classes_in(names, COPIED)

    # It is made and called like any other class.
    # Its shapes are right, as those of nearly all mistakes.
    x = torch.randn(batch_size, seq_len, heads * d_k)
    output = names[name](heads * d_k, heads)(x)

    # Line 16 of the text, the one with the root.
    return output, line_of("the scores are divided by the root of the whole width", COPIED)
