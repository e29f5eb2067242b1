r"""
---
title: Numbers in notes
summary: Is a number that a note says the one that was recorded?
---

A note rounds: “1.53” is 1.5312, and 1.54 is not. As many digits count as the note shows.
"""

import json
import re
from decimal import Decimal

# “1.53”, “12,345”, “+3”, “1.2e-5”, with any of the minus signs.
_NUMBER = re.compile(
    r"(?<![\w-])[-+−]?(?:\d{1,3}(?:[,\u202f\u2009]\d{3})+|\d+)(?:\.\d+)?(?:e[-+−]?\d+)?"
)


def wrong(text: str, value: object, path: str) -> str | None:
    r"""
    ## What is wrong with a number in a note

    `text` is how the note has it, `value` what the file at `path` says. The result is None if the
    one is the other, rounded to the digits that it shows. Words may stand around the number, as in
    “58 s”; a text without a number says nothing that could be wrong.
    """
    says = f"the note says {' '.join(text.split())}, {path} has"
    if isinstance(value, str):
        return None if " ".join(text.split()) == value else f"{says} “{value}”."
    numbers = _NUMBER.findall(text)
    if not numbers:
        return None
    if len(numbers) > 1:
        return f"{says} one number there; link each number to its own."
    if not isinstance(value, int | float) or isinstance(value, bool):
        return f"{says} {json.dumps(value)}."
    said = Decimal(re.sub("[,\u202f\u2009]", "", numbers[0]).replace("−", "-"))
    # Half a unit of the last digit that the note shows; either way where it is just between two.
    places = said.as_tuple().exponent
    assert isinstance(places, int)
    if abs(said - Decimal(repr(value))) <= Decimal((0, (5,), places - 1)):
        return None
    return f"{says} {json.dumps(value)}."


def is_number(text: str) -> bool:
    r"""
    ## Does the text of a link say a number?
    """
    return _NUMBER.search(text) is not None
