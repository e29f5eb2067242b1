r"""Lines become places and come back, wherever notes and the formatter have moved them."""

from page_runner.places import to_lines, to_places

BEFORE = '''
def f(a, b):
    """A note."""
    c = g(a, b)
    return c.h(1).k(2)
'''
AFTER = '''# A comment.
def f(a, b):
    """
    A longer
    note.
    """
    # And
    # more.
    c = g(
        a,
        b,
    )
    return c.h(1).k(2)
'''


def test_a_line_is_found_again_below_longer_notes() -> None:
    # A file that is not the first one, and two calls on the way.
    files = ["p/other.py", "p/page.py"]
    stacks = [[[1, 4]], [[0, 2], [1, 5]], []]
    other = "x = 1\ny = x\n"
    kept = to_places(stacks, files, {"p/other.py": other, "p/page.py": BEFORE})
    today = to_lines(kept, files, {"p/other.py": f'"""A."""\n{other}', "p/page.py": AFTER})
    assert today == [[[1, 9]], [[0, 3], [1, 13]], []]
