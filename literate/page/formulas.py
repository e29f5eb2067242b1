r"""
---
title: Formulas
summary: TeX becomes HTML and MathML when the site is built, not in the reader's browser.
---

[KaTeX](https://katex.org) sets the formulas, in a Node process that lives as long as the build. A
reader's browser then needs no script for them, nothing moves while the page loads, and a formula
that is wrong is named by the build instead of standing in red on a page.
"""

import json
import re
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any

from literate.page.katex import program
from literate.problems import LiterateError, Problem
from literate.reading.notes import MARKS

_SCRIPT = Path(__file__).parent / "formulas.js"
_TAG = re.compile(r"(<[^>]*>)")
# What other programs set and KaTeX doesn't, with what looks the same there.
_OTHERWISE = (
    (re.compile(r"\\begin\{eqnarray\*?\}"), r"\\begin{darray}{rcl}"),
    (re.compile(r"\\end\{eqnarray\*?\}"), r"\\end{darray}"),
    (re.compile(r"\\(begin|end)\{multline\*?\}"), r"\\\1{gathered}"),
    (re.compile(r"\\(begin|end)\{flalign\*?\}"), r"\\\1{aligned}"),
    # Nothing but primes in brackets.
    (re.compile(r"([_^])\s*\{\s*''\s*\}"), r"\1{\\prime\\prime}"),
    (re.compile(r"([_^])\s*\{\s*'\s*\}"), r"\1{\\prime}"),
)
# Words inside a formula, without formulas inside.
_WORDS = re.compile(r"\\(?:mbox|text[a-z]*)\s*\{[^{}$]*\}")
_UNDERSCORE = re.compile(r"(?<!\\)_")


class FormulaError(Exception):
    r"""
    ## A formula that can't be set

    Its text is KaTeX's own sentence, and `shown` as much of the formula as can be set, as HTML;
    empty, if that is nothing.
    """

    def __init__(self, sentence: str, shown: str) -> None:
        self.shown = shown
        super().__init__(sentence)


class Formulas:
    r"""
    ## The setter of formulas

    `katex` is the folder of the npm package. It is used in a `with` statement, which ends its
    process. The process is started by the first formula.
    """

    def __init__(self, katex: Path) -> None:
        self._katex = katex
        self._process: subprocess.Popen[str] | None = None
        self._known: dict[tuple[Any, ...], dict[str, Any]] = {}

    def __enter__(self) -> "Formulas":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process is not None:
            self._process.communicate()
            self._process = None

    def render(self, formula: str, display: bool, keys: frozenset[str] = frozenset()) -> str:
        r"""
        ### Set a formula

        The result is HTML on one line, which Markdown leaves as it is. The symbols that have one of
        the [keys](#Formulas.keys) carry it in `data-s`. Raises [FormulaError](#FormulaError).
        """
        own = keys.intersection(self.keys(formula, display))
        answer = self._answer(formula, display, tuple(sorted(own)))
        if "error" in answer:
            raise FormulaError(answer["error"].rstrip("."), _guard(answer["html"]))
        return _guard(answer["html"])

    def keys(self, formula: str, display: bool) -> list[str]:
        r"""
        ### The keys of a formula's symbols

        When a reader points at $d_k$, every other $d_k$ lights up, in the formulas and in the code.
        So each symbol has a key, taken from KaTeX's own tree of the formula: that of $d_{model}$ is
        `d_model`, as in the code. A formula that can't be set has none.
        """
        return self._answer(formula, display, ()).get("keys", [])

    def _answer(self, *question: Any) -> dict[str, Any]:
        if question not in self._known:
            self._known[question] = self._ask(question)
        return self._known[question]

    def _ask(self, question: tuple[Any, ...]) -> dict[str, Any]:
        if self._process is None:
            self._process = self._start()
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        formula, *more = question
        stdin.write(json.dumps([_for_katex(formula), *more]) + "\n")
        stdin.flush()
        line = stdout.readline()
        if not line:
            sentence = "Node ended while it set a formula; its own message stands above."
            raise LiterateError([Problem(str(self._katex), 1, sentence)])
        return json.loads(line)

    def _start(self) -> subprocess.Popen[str]:
        if not (self._katex / "dist" / "katex.js").is_file():
            sentence = "KaTeX is not installed there; `npm ci` brings it."
            raise LiterateError([Problem(str(self._katex), 1, sentence)])
        return subprocess.Popen(
            [program("node"), str(_SCRIPT), str(self._katex.resolve())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )


def _for_katex(formula: str) -> str:
    r"""
    A formula as KaTeX wants it. MathJax, with which most documentation is shown, takes more: the
    names of variables among words, as `\text{max_len}`, need no backslash there.
    """
    formula = _WORDS.sub(lambda words: _UNDERSCORE.sub(r"\_", words[0]), formula)
    for form, known in _OTHERWISE:
        formula = form.sub(known, formula)
    return formula


def _guard(rendered: str) -> str:
    r"""
    Between the tags, marks of Markdown become character references; line ends become spaces.
    """
    parts = _TAG.split(rendered.replace("\n", " "))
    return "".join(part if part.startswith("<") else part.translate(MARKS) for part in parts)
