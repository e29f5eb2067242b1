r"""The questions of threads that the search is asked."""

import json
from collections import Counter
from pathlib import Path

from benchmarks.figures.questions import QUESTIONS
from literate.settings import load
from literate.site import load as load_site


def test_each_question_has_its_thread_and_pages_of_this_site(repository: Path) -> None:
    asked = json.loads(QUESTIONS.read_text(encoding="utf-8"))
    assert Counter(one["kind"] for one in asked) == {"filled": 30, "held out": 30}
    assert len({one["from"] for one in asked}) == len({one["query"] for one in asked}) == 60
    assert {one["from"].startswith("https://github.com/") for one in asked} == {True}
    pages = {
        uri.removesuffix("index.md").removesuffix(".md").rstrip("/") + "/"
        for uri in load_site(load(repository)).uris.values()
    }
    named = {page for one in asked for page in one["pages"]}
    assert named - pages == {"long_run/"}
