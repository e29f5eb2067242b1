r"""Wrong code fails as in PyTorch: small random edits of pages, run in both worlds.

`python -m tests.browser_torch.edits` runs 2,000 edits of 60 pages and prints what differs.
"""

import argparse
import io
import pickle
import random
import tempfile
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from literate import settings
from tests.browser_torch.compare import depends_on_the_build, difference, same_error
from tests.browser_torch.worlds import PYTORCH, ROOT, STAND_IN, run

# What a name is likely to be mistaken for.
NAMES = {
    "True": "False",
    "False": "True",
    "Linear": "Embedding",
    "argmax": "max",
    "cat": "stack",
    "cos": "sin",
    "cumsum": "sum",
    "exp": "log",
    "flatten": "squeeze",
    "key": "query",
    "long": "float32",
    "mask": "key",
    "masked_fill": "where",
    "max": "min",
    "mean": "sum",
    "ones": "zeros",
    "permute": "transpose",
    "query": "value",
    "randint": "randn",
    "randn": "rand",
    "reshape": "view",
    "sin": "cos",
    "softmax": "log_softmax",
    "stack": "cat",
    "sum": "mean",
    "transpose": "permute",
    "tril": "triu",
    "unsqueeze": "squeeze",
    "value": "key",
    "view": "reshape",
    "zeros": "ones",
}
SIGNS = {
    "!=": "==",
    "*": "+",
    "+": "-",
    "-": "+",
    "/": "*",
    "//": "/",
    "<": ">",
    "==": "!=",
    ">=": "<",
    "@": "*",
    "~": "-",
}


@dataclass
class Edit:
    r"""One token of a page changed."""

    module: str
    path: str
    what: str
    source: str


def _changed(token: tokenize.TokenInfo, before: str, rnd: random.Random) -> str | None:
    r"""What takes the place of a token, if anything."""
    text = token.string
    if token.type == tokenize.NUMBER and text.isdigit():
        return str(int(text) + rnd.choice([1, 1, 2])) if rnd.random() < 0.6 else f"-{text}"
    if token.type == tokenize.OP:
        return SIGNS.get(text)
    if token.type == tokenize.NAME and before not in ("def", "class", "import"):
        return NAMES.get(text)
    if token.type == tokenize.STRING and "->" in text:
        letters = list(text)
        pairs = [
            place
            for place in range(1, len(letters) - 2)
            if letters[place].isalpha() and letters[place + 1].isalpha()
        ]
        if pairs:
            place = rnd.choice(pairs)
            letters[place], letters[place + 1] = letters[place + 1], letters[place]
            return "".join(letters)
    return None


def _syntax_error(source: str) -> bool:
    try:
        compile(source, "page", "exec", dont_inherit=True)
    except SyntaxError:
        return True
    return False


def edits_of(path: Path, count: int, seed: int = 0) -> Iterator[Edit]:
    r"""So many edits of a page, the same ones each time; those that are no Python don't count."""
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    source, rnd = path.read_text(), random.Random(f"{module} {seed}")
    lines = source.splitlines(True)
    candidates, before = [], ""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        text = _changed(token, before, rnd)
        if text is not None:
            candidates.append((token, text))
        before = token.string
    rnd.shuffle(candidates)
    for token, text in candidates:
        if count == 0:
            return
        row, column = token.start[0] - 1, token.start[1]
        line = lines[row][:column] + text + lines[row][token.end[1] :]
        edited = "".join([*lines[:row], line, *lines[row + 1 :]])
        if not _syntax_error(edited):
            count -= 1
            yield Edit(module, str(path), f"{row + 1}: {line.strip()}", edited)


def pages(count: int) -> list[Path]:
    r"""The pages that are edited: spread over all that have an example and an editor."""
    without = (settings.load(ROOT).edit or {})["without"]
    found = [
        path
        for path in sorted((ROOT / "labml_nn").rglob("*.py"))
        if path.relative_to(ROOT).as_posix() not in without
        and "engine" not in path.parts
        and "experiment" not in path.name
        and "\ndef example(" in path.read_text()
    ]
    return [found[place * len(found) // count] for place in range(count)]


def outcomes(world: str, edits: list[Edit], sanitized: bool = False) -> list[Any]:
    r"""What came of each edit in a world."""
    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder) / "edits"
        listed.write_bytes(pickle.dumps([(one.module, one.path, one.source) for one in edits]))
        return run(world, "edits", str(listed), sanitized=sanitized, seconds=3600)


def verdict(got: Any, expected: Any) -> str:
    r"""Whether both worlds agree about an edit."""
    if got[0] == "late" or expected[0] == "late":
        return "same" if got[0] == expected[0] else "late in one"
    if depends_on_the_build(got):
        return "same"
    if got[0] == expected[0] == "ok":
        distance, _ = difference(got[1], expected[1])
        return "same" if distance <= 1e-4 else "other values"
    if got[0] == expected[0] == "error":
        if got[3] != expected[3]:
            return "another line"
        return "same" if same_error(got, expected) else "another type"
    return f"only {STAND_IN if got[0] == 'error' else PYTORCH} fails"


def main() -> None:
    r"""Prints how many edits come out alike, and those that don't."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=60)
    parser.add_argument("--edits", type=int, default=44, help="edits of each page, at most")
    parser.add_argument("--seed", type=int, default=0, help="other edits")
    parser.add_argument("--sanitized", action="store_true", help="with the address sanitizer")
    arguments = parser.parse_args()
    edits = [
        one
        for path in pages(arguments.pages)
        for one in edits_of(path, arguments.edits, arguments.seed)
    ]
    expected = outcomes(PYTORCH, edits)
    got = outcomes(STAND_IN, edits, arguments.sanitized)
    counts: Counter[str] = Counter()
    messages = 0
    for edit, one, other in zip(edits, got, expected, strict=True):
        said = verdict(one, other)
        counts[said] += 1
        if said != "same":
            print(
                f"{said}: {edit.module} {edit.what}\n    {one[1:]!s:.300}\n    {other[1:]!s:.300}"
            )
        elif one[0] == "error":
            messages += one[2] == other[2]
    print(f"{len(edits)} edits: " + ", ".join(f"{n} {what}" for what, n in counts.most_common()))
    print(f"{messages} errors have PyTorch's words; {counts['same'] / len(edits):.2%} agree")


if __name__ == "__main__":
    main()
