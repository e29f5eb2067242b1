r"""Which definitions have a heading, and which of these the contents of a page list."""

import pytest

from literate.reading.source import parse
from literate.reading.titles import named


def class_of(name: str, methods: int) -> str:
    below = (f'    def m{number}(self):\n        """Do."""\n' for number in range(methods))
    return f'class {name}:\n    """Is."""\n' + "".join(below)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (class_of("A", 11), 12),
        # Too many beside another class; but a class alone would have nothing.
        (class_of("A", 5) + class_of("B", 5), 12),
        (class_of("A", 11) + class_of("B", 5), 2),
        (class_of("A", 30), 31),
    ],
)
def test_methods_are_listed_where_the_list_stays_short_or_would_be_empty(
    text: str, count: int
) -> None:
    assert len(named(parse(text))) == count
