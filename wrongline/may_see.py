r"""
---
title: May It See Everything?
summary: An encoder sees the whole text on purpose; a name, a mask or a picture says which it is.
know: pasted_text.py
---

An attention without a causal mask is a mistake in GPT and no mistake in BERT. Its numbers are the
same, so no test can tell. Its author knows, and its text most often says it: a class has “Bert” in
its name, or makes a triangle of ones, or is a part of a vision transformer.

**In:** a text, and the name of one of its classes. **Out:** “past” if it may see only what comes
before, “all” if it may see everything, or “ask” if nothing says so; and the reason.

What is guessed is shown, and one click changes it. Only what is told or plain is called wrong.
"""

import ast
import re
from collections.abc import Iterable, Iterator

PAST = "past"
ALL = "all"
ASK = "ask"

# Names of what sees everything on purpose, and of what writes from left to right.
SEES_ALL = (
    r"Encoder(?!Decoder)|Bert|BERT|ViT|Vit[A-Z]|Vision|Image|Patch|Pixel|Cross|Perceiver|Swin|DeiT"
    r"|CLIP|Bidirectional|MaskedLM|MLM|Electra|Conformer|Diffusion|UNet|Unet|Spatial|Denois|Audio"
    r"|Video|MAE|DiT|Classif"
)
SEES_PAST = (
    r"Causal|GPT|Gpt|Decoder|AutoReg|Autoreg|LanguageModel|CausalLM|LMHead|Llama|LLaMA|Mistral|Qwen"
    r"|Gemma|PaLM|Bigram|Masked(?!LM|Auto)|Mamba|Retention|RetNet|RWKV|NextToken"
)

# What makes a causal mask, or says that there is one.
TRIANGLE = (
    r"\btri[lu](_indices)?\b|\bcausal(?!\w*\s*=\s*False)|autoregress|subsequent|look_?ahead"
    r"|is_causal\s*=\s*(True|self|is_|causal)|next_token|def generate\b"
)

# What a class reads that sees pictures.
PICTURES = r"patch|image|img|Conv2d|pixel|\bH, W\b|\bh, w\b"

# How many definitions a part may be away from what it is a part of.
FAR = 8


def without_words(node: ast.AST) -> str:
    r"""
    ## The code of a definition

    Without comments and docstrings: these may speak of other models.
    """
    copied = ast.parse(ast.unparse(node))
    for one in ast.walk(copied):
        body = getattr(one, "body", None)
        if not isinstance(body, list) or not body:
            continue
        first = body[0]
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            body[0] = ast.Pass()
    return ast.unparse(copied)


class Definitions:
    r"""
    ## The classes and functions of a text

    And which of them mention which.
    """

    def __init__(self, text: str) -> None:
        r"""
        * `text` is the code that was pasted
        """
        kinds = (ast.ClassDef, ast.FunctionDef)
        body = [one for one in ast.parse(text).body if isinstance(one, kinds)]
        self.nodes = {one.name: one for one in body}
        self.code = {name: without_words(one) for name, one in self.nodes.items()}
        self.mentions = {
            name: {one for one in self._named_in(node) if one in self.nodes and one != name}
            for name, node in self.nodes.items()
        }

    def _named_in(self, node: ast.AST) -> Iterator[str]:
        # An argument may be called as a class: `encoder` for `Encoder`.
        classes = {
            name.lower(): name for name, one in self.nodes.items() if isinstance(one, ast.ClassDef)
        }
        for one in ast.walk(node):
            if isinstance(one, ast.Name):
                yield one.id
            elif isinstance(one, ast.arg) and isinstance(node, ast.ClassDef):
                yield classes.get(one.arg.lower().replace("_", ""), "")

    def parts(self, name: str) -> set[str]:
        r"""
        ### All that it mentions, and what that mentions
        """
        return self._reached(name, self.mentions)

    def wholes(self, name: str) -> set[str]:
        r"""
        ### All that mention it
        """
        above = {
            one: {other for other in self.mentions if one in self.mentions[other]}
            for one in self.nodes
        }
        return self._reached(name, above)

    def _reached(self, name: str, links: dict[str, set[str]]) -> set[str]:
        found: set[str] = set()
        new = {name}
        for _ in range(FAR):
            new = {other for one in new for other in links.get(one, ())} - found
            found |= new
        return found - {name}

    def own(self, name: str) -> str:
        r"""
        ### Its code, and that of all its parts
        """
        return "\n".join(
            self.code[one] for one in [name, *sorted(self.parts(name))] if one in self.code
        )


def named(names: Iterable[str], pattern: str) -> str:
    r"""
    ## The first name that says something
    """
    return next((one for one in names if re.search(pattern, one)), "")


def may_see(text: str, name: str) -> tuple[str, str]:
    r"""
    ## May it see everything?

    “past”, “all” or “ask”, and why.
    """
    known = Definitions(text)
    # Its own name says most.
    if re.search(SEES_PAST, name):
        return PAST, f"it is called {name}"
    if re.search(SEES_ALL, name):
        return ALL, f"it is called {name}"

    # What it makes itself, or one of its parts.
    if found := re.search(TRIANGLE, known.own(name)):
        return PAST, f"its code has “{found[0]}”"

    # Then what it is a part of, and what it reads.
    wholes = sorted(known.wholes(name))
    past, every = named(wholes, SEES_PAST), named(wholes, SEES_ALL)
    past = past or next((one for one in wholes if re.search(TRIANGLE, known.code[one])), "")
    if past and every:
        return ASK, f"both {past} and {every} use it"
    if past or every:
        return (PAST if past else ALL), f"it is a part of {past or every}"
    pictures = next(
        (one for one in [name, *wholes] if re.search(PICTURES, known.code.get(one, ""))), ""
    )
    if pictures:
        return ALL, f"{pictures} reads images"
    return ASK, "nothing in its code says so"


def speaks_of_encoders(text: str) -> bool:
    r"""
    ## Is anything in a text called as encoders are?
    """
    known = Definitions(text)
    return bool(named(known.nodes, SEES_ALL)) or bool(re.search(r"(?i)\bbert|mlm|\[mask\]", text))


def example() -> list[tuple[str, str]]:
    r"""
    ## Example

    Three attentions without a mask.

    ### Exercises

    ??? question "Why do comments not count?"
        “Unlike GPT, this sees everything”, says a comment of an encoder.

    ??? question "A class is used by an encoder and by a decoder. Which is it?"
        Both. It gets its mask from outside, or somebody has to say what is meant.
    """
    texts = (
        ("BertAttention", "class BertAttention: pass"),
        ("Attention", "class Attention: pass\nclass GPT:\n    part = Attention"),
        ("Attention", "class Attention: pass"),
    )
    return [may_see(text, name) for name, text in texts]
