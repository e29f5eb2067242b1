r"""Every example of a lesson gives in the stand-in what it gives with PyTorch."""

import pytest

from literate.settings import load
from tests.browser_torch.compare import difference
from tests.browser_torch.worlds import PYTORCH, ROOT, STAND_IN, run


def pages() -> list[str]:
    r"""
    The lessons with an example. The engine is a program, and not for the browser; nor are the
    pages that have no editor.
    """
    without = load(ROOT).edit["without"]
    paths = sorted((ROOT / "labml_nn").rglob("*.py"))
    paths = [path for path in paths if path.relative_to(ROOT).as_posix() not in without]
    return [
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in paths
        if "engine" not in path.parts and "\ndef example(" in path.read_text()
    ]


def families() -> dict[str, list[str]]:
    r"""The pages in parts of about one size, for several processes."""
    parts: dict[str, list[str]] = {}
    for place, page in enumerate(pages()):
        parts.setdefault(f"part {place % 4}", []).append(page)
    return parts


# Instructions and kernels of other processors.
OTHERS = ({"ATEN_CPU_CAPABILITY": "default"}, {"MKL_CBWR": "COMPATIBLE"})


def far_from_itself(page: str, expected: object) -> float:
    r"""How far PyTorch is from itself on other processors: a step of Adam can turn on one digit."""
    others = [run(PYTORCH, "examples", page, variables=one)[page][1] for one in OTHERS]
    return max(difference(other, expected)[0] for other in others)


@pytest.mark.parametrize("family", families().values(), ids=families().keys())
def test_examples_agree_with_pytorch(family: list[str]) -> None:
    expected, got = run(PYTORCH, "examples", *family), run(STAND_IN, "examples", *family)
    wrong = []
    for page in family:
        assert expected[page][0] == "ok", (page, expected[page])
        if got[page][0] != "ok":
            wrong.append((page, got[page][1]))
            continue
        distance, place = difference(got[page][1], expected[page][1])
        if distance > 1e-4 and distance > 4 * far_from_itself(page, expected[page][1]):
            wrong.append((page, distance, place))
    assert wrong == []
