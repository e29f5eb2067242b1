r"""
---
title: The Code in a Pasted Text
summary: A notebook is pasted with prompts, prose and what it has printed; code is what parses.
---

Who copies a page copies all of it: prompts such as `>>>` and `In [3]:`, the sentences between two
cells, a table that was printed, the fences of a README. Python reads none of that. So a text that
doesn't parse is cut into pieces that do, and the rest becomes empty lines: the others keep their
numbers, by which errors and mistakes are told.

**In:** a text as somebody has pasted it. **Out:** the same lines, with the code alone.

A class with a missing colon doesn't parse either, and must not vanish. So what begins like code
stays, and its error is told.
"""

import ast
import json
import re
import textwrap

# Prompts of Python and of a notebook, and what stands before a result; commands of a notebook.
PROMPT = r"^((>>>|\.\.\.|In ?\[[\d ]*\]:|\s*\.\.\.:)( |$)){1,2}"
ALONE = r"^\s*(In|Out) ?\[[\d ]*\]:?\s*$"
RESULT = r"^Out ?\[[\d ]*\]:"
COMMAND = r"^\s*[!%]\S"
FENCE = r"^\s*(```|~~~)"

# What stands before each line of a listing, of an answer to a letter, and of a change.
NUMBER = r"^\s*(\d+)(?:[:.|]|(?=\s|$))"
QUOTE = r"^> ?(?!>)"
CHANGE = r"^[ +]"
REMOVED = r"^(-|@@|diff |index |\\)|^\+\+\+ "

# What is meant as code, even if it doesn't parse.
BEGINS = (
    r"(async )?(def|class)\s+\w+\s*[(:]|(from\s+[\w.]+\s+)?import\s+[\w(*]|@\w|\w[\w.\[\]]*\s*=[^=]"
)

# A piece that ends too early, and may be right with the lines after it.
OPEN = r"never closed|unterminated triple|expected an indented block|unexpected EOF|was never"

# What goes on with a statement above it.
GOES_ON = r"(else|elif|except|finally)\b"


def parses(text: str) -> bool:
    r"""
    ## Is it Python?
    """
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


def of_a_notebook(text: str) -> str:
    r"""
    ## The cells of a notebook's file

    Its lines stand one by one in the file, in quotes. If they don't, the cells are put together.
    """
    try:
        cells = json.loads(text)["cells"]
    except (ValueError, KeyError, TypeError):
        return text
    codes = ["".join(one["source"]) for one in cells if one.get("cell_type") == "code"]
    whole = "\n".join(codes)
    lines = []
    kind = ""
    inside = False
    for line in text.split("\n"):
        bare = line.strip()
        if found := re.match(r'"cell_type": "(\w+)"', bare):
            kind = found[1]
        lines.append("")
        if inside and bare.startswith('"'):
            lines[-1] = json.loads(bare.rstrip(",")).rstrip("\n") if kind == "code" else ""
        inside = (inside or bare.startswith('"source": [')) and not bare.endswith("]")
    by_line = "\n".join(lines)
    kept = [one for one in by_line.split("\n") if one.strip()]
    return by_line if kept == [one for one in whole.split("\n") if one.strip()] else whole


def without_prompts(lines: list[str]) -> list[str]:
    r"""
    ## Without prompts

    Where each line of code has one, what has none was printed. Where a prompt stands alone, above a
    cell, the lines below it are code.
    """
    if any(re.match(ALONE, one) for one in lines):
        return ["" if re.match(ALONE, one) or re.match(RESULT, one) else one for one in lines]
    if any(re.match(r">>> |In ?\[[\d ]*\]: ", one) for one in lines):
        return [re.sub(PROMPT, "", one) if re.match(PROMPT, one) else "" for one in lines]
    return lines


def without_signs(lines: list[str]) -> list[str]:
    r"""
    ## Without what stands before each line

    Numbers that count the lines, the signs of a quotation, and those of a change, whose old lines
    go.
    """
    said = [one for one in lines if one.strip()]
    if all(re.match(QUOTE, one) for one in said):
        return [re.sub(QUOTE, "", one) for one in lines]
    if all(re.match(f"{CHANGE}|{REMOVED}", one) for one in said):
        return ["" if re.match(REMOVED, one) else one[1:] for one in lines]
    counted = [re.match(NUMBER, one) for one in said]
    numbers = [int(one[1]) for one in counted if one]
    first = numbers[0] if numbers else 0
    # Some pages put them on lines of their own.
    alone = sum(one.strip().isdigit() for one in said)
    is_each = len(numbers) == len(said) or len(numbers) == alone > 1
    if is_each and numbers == [*range(first, first + len(numbers))]:
        bare = [re.sub(NUMBER, "", one) if re.match(NUMBER, one) else one for one in lines]
        return textwrap.dedent("\n".join(bare)).split("\n")
    return lines


def within_fences(lines: list[str]) -> list[str]:
    r"""
    ## Between the fences of a README

    What stands outside is prose.
    """
    if not any(re.match(FENCE, one) for one in lines):
        return lines
    # A notebook's prose may have some, and its code stands outside.
    outside = sum(bool(re.match(r"(class|def|import|from) ", one)) for one in lines)
    inside = sum(bool(re.match(r"(class|def|import|from) ", one)) for one in between_fences(lines))
    return between_fences(lines) if 2 * inside >= outside else pieces(lines)


def between_fences(lines: list[str]) -> list[str]:
    r"""
    ## The lines between two fences
    """
    kept = []
    inside = False
    # A single fence at the end of what was copied has code above it.
    if sum(bool(re.match(FENCE, one)) for one in lines) % 2:
        return ["" if re.match(FENCE, one) else one for one in lines]
    for one in lines:
        is_fence = re.match(FENCE, one)
        inside ^= bool(is_fence)
        kept.append(one if inside and not is_fence else "")
    return kept


def piece_from(lines: list[str], begin: int) -> int:
    r"""
    ## Where a piece of code ends that begins at a line

    The shortest one that parses, and what goes on with it. If none does, it is the line itself.
    """
    end = begin + 1
    while end <= len(lines):
        # A piece ends before a line that isn't indented.
        while end < len(lines) and (not lines[end].strip() or lines[end][0] in " \t)]}"):
            end += 1
        if end < len(lines) and re.match(GOES_ON, lines[end]):
            end += 1
            continue
        text = "\n".join(lines[begin:end])
        try:
            ast.parse(text)
            return end
        except SyntaxError as error:
            # An error in its midst doesn't go away with more lines.
            if not re.search(OPEN, error.msg or "") or end == len(lines):
                return begin
        end += 1
    return begin


def pieces(lines: list[str]) -> list[str]:
    r"""
    ## What parses, and what was meant to

    A word alone on a line parses as well, and is no code.
    """
    kept: list[str] = []
    while len(kept) < len(lines):
        begin = len(kept)
        line = lines[begin]
        end = piece_from(lines, begin) if line.strip() and not line[0].isspace() else begin
        if end > begin:
            is_word = re.fullmatch(r"[\w.,]+:?", line.strip()) and end == begin + 1
            kept += ["" if is_word else one for one in lines[begin:end]]
        else:
            kept.append(line if re.match(BEGINS, line) else "")
            # What belongs to a class with an error stays with it.
            while kept[-1] and len(kept) < len(lines) and lines[len(kept)][:1] in (" ", "\t"):
                kept.append(lines[len(kept)])
    return kept


def code_in(text: str) -> str:
    r"""
    ## The code alone

    Each line keeps its number.
    """
    # A notebook's file reads as a dictionary of Python, too.
    text = of_a_notebook(text)
    if parses(text):
        return text
    # The blanks that some pages put there.
    text = text.replace("\u00a0", " ").replace("\u200b", "")
    steps = (
        lambda lines: textwrap.dedent("\n".join(lines)).split("\n"),
        lambda lines: ["" if re.match(COMMAND, one) else one for one in lines],
        without_signs,
        without_prompts,
        within_fences,
        pieces,
    )
    lines = text.split("\n")
    for step in steps:
        if parses("\n".join(lines)):
            break
        lines = step(lines)
    return "\n".join(lines)


def example() -> list[str]:
    r"""
    ## Example

    A cell between two sentences, and what it has printed.

    ### Exercises

    ??? question "Why does a class with a missing colon stay?"
        It was meant as code. If it vanished, nobody would be told where the error is.

    ??? question "Why are lines emptied and not taken out?"
        An error is told with its line, and that is one of the pasted text.
    """
    text = "It's a layer.\nIn [3]:\nx = [1,\n     2]\nx\nOut[3]:\n[1, 2]\nThe end, isn't it?"
    return code_in(text).split("\n")
