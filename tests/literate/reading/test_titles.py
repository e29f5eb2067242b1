r"""Which definitions have a heading, and which of these the contents of a page list."""

import pytest

from literate.reading.rows import rows
from literate.reading.source import parse
from literate.reading.titles import row_note


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
    source = parse(text)
    titles = [title for row in rows(source) if (title := row_note(row, source).title)]
    assert sum(title.is_listed for title in titles) == count
    # Each has its heading, from which on its notes stand beside its code again.
    assert len(titles) == text.count('"""') // 2
