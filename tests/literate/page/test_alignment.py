r"""Which words of two lines differ, as the page that compares two pages marks them, in Node."""

from random import Random

from tests.page_runner.scripts import PAGE, in_node


def common(left: str, right: str) -> int:
    r"""How many signs two texts have in common, in their order."""
    best = [0] * (len(right) + 1)
    for one in left:
        before = best[:]
        for at, other in enumerate(right):
            best[at + 1] = before[at] + 1 if one == other else max(best[at], before[at + 1])
    return best[-1]


def test_no_more_is_marked_than_differs() -> None:
    random = Random(1)
    text = lambda: "".join(random.choices("+-*(", k=random.randrange(12)))  # noqa: E731
    texts = [[text(), text()] for _ in range(300)]
    script = "given.map(([left, right]) => alignment.differingWords(left, right))"
    marked = in_node("alignment", script, texts, PAGE)
    for pair, both in zip(texts, marked, strict=True):
        unmarked = []
        for text, ranges in zip(pair, both, strict=True):
            places = {at for start, end in ranges for at in range(start, end)}
            unmarked.append("".join(one for at, one in enumerate(text) if at not in places))
        # What isn't marked is the same on both sides, and they have no more in common.
        assert unmarked[0] == unmarked[1]
        assert len(unmarked[0]) == common(*pair)
