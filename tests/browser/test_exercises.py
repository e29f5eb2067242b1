r"""What the judge in the browser says of every exercise, to its right lines and to its mistakes."""

from collections.abc import Iterator
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest
from playwright.sync_api import Page

from literate.reading.source import read
from literate.takeaway.exercises import told
from tests.browser.conftest import served
from tests.browser.test_edit import opened
from tests.test_exercises import RIGHT, RIGHT_LINES, ROOT, SETTINGS, STILL, exercise

# The thread in which Python runs, as worker.js describes what it is asked and answers.
WATCHED = """
const Plain = Worker;
window.Worker = class extends Plain {
  constructor(...given) {
    super(...given);
    window.worker = this;
  }
};
"""
ASK = """([id, path, text, exercise]) => new Promise(answer => {
    const heard = ({ data }) => {
        if (data.id !== id) return;
        worker.removeEventListener("message", heard);
        answer(data);
    };
    worker.addEventListener("message", heard);
    worker.postMessage({ id, kind: "judge", path, edited: { [path]: text }, exercise });
})"""
# One page; `whole` asks on all.
SAMPLE = "labml_nn/transformers/rms_norm.py"


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    with served(site) as served_at:
        yield served_at


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=[] if path == SAMPLE else [pytest.mark.whole])
        for path in RIGHT_LINES
    ],
)
def test_right_lines_are_accepted_and_mistakes_are_named(
    page: Page,
    address: str,
    path: str,
) -> None:
    page.add_init_script(WATCHED)
    opened(page, address + Path(path).relative_to("labml_nn").with_suffix("").as_posix() + "/")
    source = read(ROOT / path, path)
    asked_ids = iter(range(10**6, 10**7))

    def said(text: str, asked: dict[str, Any]) -> str:
        answer = page.evaluate(ASK, [next(asked_ids), path, text, asked])
        assert answer["kind"] == "done", answer
        return answer["result"]["said"] or str(answer["result"]["error"])

    for number, asked in enumerate(told(SETTINGS, source)):
        one = exercise(path, number)
        first = source.text.splitlines()[one.first - 1]
        indentation = first[: len(first) - len(first.lstrip())]
        for line in (one.right, *RIGHT_LINES[path][number]):
            text = "\n".join(one.lines(source.text, indent(line, indentation).lstrip())) + "\n"
            assert said(text, asked).startswith(RIGHT.rstrip()), line
        names = [*asked["wrong"]]
        if one.is_bug:
            assert said(asked["wrong"][names.pop(0)], asked) == STILL.rstrip()
        for name in names:
            answer = said(asked["wrong"][name], asked)
            assert answer == f"Not yet. This is a known mistake: {name}."
