r"""
---
title: Plain text
summary: A note without the marks of Markdown, for programs that read words and not pages.
---

A search compares words, and shows them where no Markdown is rendered. It needs what a reader of the
page reads: of a link its words, of emphasis the words without the stars, of a formula its letters
and signs.
"""

import html
import re

from literate.reading.notes import spans
from literate.reading.rows import Note

# Code and formulas wait behind such marks while the Markdown around them is taken away.
_OPEN, _CLOSE = "\ue000", "\ue001"
_KEPT = re.compile(f"{_OPEN}([0-9]+){_CLOSE}")
_ESCAPE = re.compile(r"\\([\\`*_{}\[\]()#+\-.!~|<>$^:])")
_FENCE = re.compile(r"^[ \t]*(?:[-*+] +|\d+\. +)?(?:`{3,}|~{3,}).*$", re.MULTILINE)
_TAG = re.compile(r"<!--.*?-->|</?[A-Za-z][^<>]*>", re.DOTALL)

# The letters and signs of TeX that one letter of Unicode shows; what is named after its sound, such
# as `\ln`, stays as the word.
_SIGNS = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "eta": "η",
    "theta": "θ", "lambda": "λ", "mu": "μ", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ",
    "phi": "φ", "omega": "ω", "Delta": "Δ", "Sigma": "Σ", "ell": "ℓ",
    "cdot": "·", "times": "×", "odot": "⊙", "pm": "±", "approx": "≈", "le": "≤", "ge": "≥",
    "ne": "≠", "in": "∈", "infty": "∞", "sum": "∑", "partial": "∂", "nabla": "∇", "sqrt": "√",
    "dots": "…", "ldots": "…", "mid": "|", "leftarrow": "←", "to": "→", "top": "ᵀ",
    "lfloor": "⌊", "rfloor": "⌋", "bmod": "mod",
}  # fmt: skip
# Two arguments, of which none has braces inside another pair of braces.
_ARGUMENT = r"\{((?:[^{}]|\{[^{}]*\})*)\}"
_FRACTION = re.compile(rf"\\[td]?frac(?:{_ARGUMENT}{_ARGUMENT}|(\d)(\d))")
_COMMAND = re.compile(r"\\([A-Za-z]+)")
# What only changes the looks: blanks of all widths, brackets that grow, upright letters.
_LAYOUT = re.compile(
    r"\\(?:operatorname|mathrm|mathbf|text|left|right|big|quad|bar|hat|tilde)(?![A-Za-z]) ?\*?"
    r"|\\[,;:! ]"
)

# What goes, in this order, and what stays of it.
_MARKS = (
    # Definitions of links; those of footnotes keep their text.
    (re.compile(r"^ {0,3}\[[^\]^][^\]]*\]:[ \t].*$", re.MULTILINE), ""),
    (re.compile(r"\[\^[^\]\s]+\]:?"), ""),
    # Links and pictures.
    (re.compile(r"!?\[([^\[\]]*)\]\((?:[^()]|\([^()]*\))*\)"), r"\1"),
    (re.compile(r"\[([^\[\]]+)\]\[[^\[\]]*\]"), r"\1"),
    (re.compile(r"<(https?://[^<>\s]+)>"), r"\1"),
    # Rules, the lines of tables, and what begins a heading, a quotation or an item.
    (re.compile(r"^[ \t]*(?:[-*_][ \t]*){3,}$", re.MULTILINE), ""),
    (re.compile(r"^[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t:|-]*)?$", re.MULTILINE), ""),
    (re.compile(r"^[ \t]*\|(.*)\|[ \t]*$", re.MULTILINE), r"\1"),
    (re.compile(r"^[ \t]*(?:#{1,6}[ \t]+|>[ \t]?)+", re.MULTILINE), ""),
    (re.compile(r"^[ \t]*(?:[-*+]|\d+\.)[ \t]+", re.MULTILINE), " · "),
    # Emphasis, the strong first, since it may stand inside the other.
    (re.compile(r"\*\*(?=[^\s*])(.+?)(?<=[^\s*])\*\*", re.DOTALL), r"\1"),
    (re.compile(r"\*(?=[^\s*])(.+?)(?<=[^\s*])\*", re.DOTALL), r"\1"),
    # An underscore inside a word is one.
    (re.compile(r"(?<!\w)(_{1,3})(?=[^\s_])(.+?)(?<=[^\s_])\1(?!\w)", re.DOTALL), r"\2"),
)


def plain(note: Note, *, tags: bool = False) -> str:
    r"""
    ## The words of a note, on one line

    A formula on lines of its own is left out: its TeX is no text that anybody reads. With `tags`,
    the note is one in which HTML is HTML, as in a document that is written by hand; in a note
    beside code, `<T>` is what it says.
    """
    kept: list[str] = []

    def keep(text: str) -> str:
        kept.append(text)
        return f"{_OPEN}{len(kept) - 1}{_CLOSE}"

    pieces = []
    for span in spans(note):
        if span.kind == "text":
            text = span.text.replace(_OPEN, "").replace(_CLOSE, "")
            pieces.append(_ESCAPE.sub(lambda match: keep(match[1]), text))
        elif span.kind == "fence":
            pieces.append(keep(_FENCE.sub("", span.text)))
        else:
            content = readable(span.content) if span.kind == "inline" else span.content
            pieces.append(keep(content) if span.kind != "display" else " ")
    text = "".join(pieces)
    for mark, rest in _MARKS:
        text = mark.sub(rest, text)
    if tags:
        text = html.unescape(_TAG.sub(" ", text))
    text = _KEPT.sub(lambda match: kept[int(match[1])], text)
    return " ".join(text.split()).removeprefix("· ")


def readable(tex: str) -> str:
    r"""
    ## A formula without TeX

    As somebody would type it who has no TeX: `\sqrt{d_k}` becomes “√d_k”, and `\frac{a}{r}`
    becomes “a/r”. An index of several letters keeps its braces' content only.
    """
    text = _FRACTION.sub(
        lambda match: "/".join(_grouped(part) for part in match.groups() if part), tex
    )
    text = re.sub(rf"\\sqrt{_ARGUMENT}", lambda match: "√" + _grouped(match[1]), text)
    text = re.sub(rf"\\binom{_ARGUMENT}{_ARGUMENT}", r"\1 choose \2", text)
    text = re.sub(
        r"\^\\top", "ᵀ", _LAYOUT.sub(lambda match: " " * (match[0] in ("\\ ", "\\;")), text)
    )
    text = re.sub(rf"\^{_ARGUMENT}", lambda match: "^" + _grouped(match[1]), text)
    text = _COMMAND.sub(lambda match: _SIGNS.get(match[1], match[1]), text)
    text = text.replace("\\|", "‖").replace("\\{", "{").replace("\\}", "}")
    return re.sub(r"[{}]", "", text)


def _grouped(part: str) -> str:
    r"""
    A part of a formula that stays together where its braces are gone.
    """
    return f"({part})" if re.search(r"[-+*/ ]", part.strip()) else part
