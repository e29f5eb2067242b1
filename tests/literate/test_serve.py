r"""`mkdocs serve`, a real process: what is saved is shown, what is wrong is said."""

import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path

import pytest

from literate.results.fingerprints import fingerprint
from tests.literate import projects
from tests.literate.projects import ATTENTION, HOME, SETTINGS, free_address, write
from tests.literate.recorded import content

MEAN = '''r"""
# Mean

The mean of the scores.
"""

from pkg.attention import scores


def mean(query):
    r"""
    ## Mean
    """
    # One for each.
    return scores(query, query).mean(1)
'''

FILES = {
    "pyproject.toml": SETTINGS,
    "mkdocs.yml": projects.MKDOCS.replace("index", "index.md, attention.md, mean.md, by_hand"),
    "docs/by_hand.md": "# By hand\n\nSee [attention](../pkg/attention.py).\n",
    "pkg/__init__.py": HOME,
    "pkg/attention.py": ATTENTION,
    "pkg/mean.py": MEAN,
    "tmp/here": "",
    "results/here": "",
}

# Holds a lock until the process that measures has ended.
HOLD = """
    import fcntl, sys
    if not hasattr(sys, "held"):
        sys.held = open("{}", "w")
        fcntl.flock(sys.held, fcntl.LOCK_EX)
"""

# After so long something is broken, however busy the machine is.
PATIENCE = 600


class Served:
    r"""A project that is served, at an address, with what the server says."""

    def __init__(self, project: Path, address: str, process: subprocess.Popen[bytes]) -> None:
        self.project = project
        self.address = address
        self.process = process

    @property
    def said(self) -> str:
        return (self.project / "said.txt").read_text()

    def page(self, path: str) -> str:
        with urllib.request.urlopen(self.address + path, timeout=PATIENCE) as answer:
            return answer.read().decode()

    def text(self, path: str) -> str:
        r"""What can be read on a page."""
        return unescape(re.sub(r"<[^>]*>", "", self.page(path)))

    def save(self, name: str, text: str) -> None:
        beside = self.project / f"{name}~"
        beside.write_text(text)
        beside.replace(self.project / name)

    def until(self, is_so: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not is_so():
            assert time.monotonic() < end, self.said
            assert self.process.poll() is None, self.said
            time.sleep(0.02)


@contextmanager
def serving(project: Path, attention: str = ATTENTION) -> Iterator[Served]:
    write(project, FILES | {"pkg/attention.py": attention})
    address = free_address()
    command = [sys.executable, "-m", "mkdocs", "serve", "--dev-addr", address]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "TMPDIR": str(project / "tmp")}
    with (
        (project / "said.txt").open("wb") as said,
        subprocess.Popen(
            command,
            cwd=project,
            env=environment,
            stderr=said,
            stdout=said,
            # What a shell runs in the background is deaf to SIGINT, and so would this be.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        ) as run,
    ):
        served = Served(project, f"http://{address}/", run)
        try:
            served.until(lambda: answers(served))
            yield served
        finally:
            run.send_signal(signal.SIGINT)
            run.wait()


def answers(served: Served) -> bool:
    try:
        return bool(served.page(""))
    except urllib.error.URLError:
        return False


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("served")) as served:
        yield served


@pytest.fixture
def served(server: Served) -> Iterator[Served]:
    r"""The one server of all these tests, with everything as it was at first."""
    yield server
    for name in ("pkg/attention.py", "docs/by_hand.md"):
        server.save(name, FILES[name])
    server.until(lambda: is_as_at_first(server))


def is_as_at_first(served: Served) -> bool:
    page = served.page("attention/")
    is_new = any(one in page for one in ("Edited", "doubled"))
    return not is_new and "<title>Attention" in page and "One number for each pair" in page


def test_edited_notes_and_lines_are_served_with_what_was_measured_on_them(served: Served) -> None:
    line = '    product = torch.einsum("ibd,jbd->ijb", query, key)\n'
    edited = ATTENTION.replace("One number for each pair", "Edited: all with all.")
    served.save("pkg/attention.py", edited.replace(line, f"    doubled = query + query\n{line}"))
    served.until(lambda: "Edited: all with all." in served.text("attention/"))
    assert "One number for each pair" not in served.text("attention/")
    (shown,) = [one for one in served.page("attention/").split("\n") if 'id="L21"' in one]
    assert "doubled" in shown
    assert "[seq_len, batch_size, d_k]" in shown
    # The page whose lines are used says so of the new lines.
    assert "One for each" in served.text("mean/")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (ATTENTION.replace("def scores(", "def = scores("), "pkg/attention.py:14: invalid syntax"),
        (
            ATTENTION.replace("query, key)\n    return", "query, seq)\n    return"),
            "pkg/attention.py:21: example(seq_len=7, batch_size=3, d_k=2) raises NameError",
        ),
        (ATTENTION.replace("$d_k$", r"$\nothing$"), "pkg/attention.py:7: the formula `\\nothing`"),
    ],
    ids=["not Python", "an example that fails", "a wrong formula"],
)
def test_an_error_is_told_with_its_place_until_it_is_mended(
    served: Served, text: str, sentence: str
) -> None:
    told = served.said.count(sentence)
    served.save("pkg/attention.py", text)
    served.until(lambda: served.said.count(sentence) > told)
    served.save("pkg/attention.py", ATTENTION.replace("One number", "Edited"))
    served.until(lambda: "Edited" in served.text("attention/"))


def test_a_new_title_and_a_document_by_hand_are_shown_when_they_are_saved(served: Served) -> None:
    served.save("pkg/attention.py", ATTENTION.replace("title: Attention", "title: Edited numbers"))
    served.save("docs/by_hand.md", "# By hand\n\nSaved once more.\n")
    served.until(lambda: "Saved once more." in served.text("by_hand/"))
    # It stands in the navigation of the other pages.
    served.until(lambda: "Edited numbers" in served.text("by_hand/"))


def test_a_changed_result_is_followed_and_so_is_what_was_measured(served: Served) -> None:
    known = fingerprint(served.project / "pkg" / "attention.py")
    found = json.dumps(content(sources={"pkg/attention.py": known}))
    served.save("results/trials.json", found)
    number = "[1.55](../results/trials.json#values.loss)"
    noted = ATTENTION.replace("One number for each pair", f"Edited: {number}")
    served.save("pkg/attention.py", noted)
    served.until(lambda: 'class="measured"' in served.page("attention/"))
    served.until(lambda: "Measured before" not in served.text("results/trials/"))
    # Another number, and it is told that the note is wrong.
    served.save("results/trials.json", found.replace("1.5512", "1.5612"))
    wrong = "the note says 1.55, results/trials.json has 1.5612"
    served.until(lambda: wrong in served.said)
    served.save("results/trials.json", found)
    # Another code than the one that was measured.
    served.save("pkg/attention.py", noted.replace("product", "doubled"))
    served.until(lambda: 'class="measured before"' in served.page("attention/"))
    served.until(lambda: "Measured before a change of" in served.text("results/trials/"))


def test_what_is_as_it_was_is_not_written_again_and_what_is_gone_is_removed(served: Served) -> None:
    (folder,) = (served.project / "tmp").glob("mkdocs_*")
    script, mean, attention = (
        folder / name for name in ("assets/literate.js", "mean/index.md", "attention/index.md")
    )
    files = script, mean, attention
    before = [file.stat().st_mtime_ns for file in files]
    served.save("pkg/gone.py", ATTENTION.replace("title: Attention", "title: Edited"))
    served.save("pkg/attention.py", ATTENTION.replace("One number", "Edited number"))
    served.until(lambda: "Edited number" in served.text("attention/"))
    served.until((folder / "gone/index.html").is_file)
    assert (folder / "gone/index.md").is_file()
    (served.project / "pkg/gone.py").unlink()
    served.save("pkg/attention.py", ATTENTION.replace("One number", "Edited once more"))
    served.until(lambda: "Edited once more" in served.text("attention/"))
    assert not [name for name in ("index.html", "index.md") if (folder / "gone" / name).exists()]
    after = [file.stat().st_mtime_ns for file in files]
    assert [one == other for one, other in zip(before, after, strict=True)] == [True, True, False]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_the_process_that_measures_ends_with_the_server(tmp_path: Path, number: int) -> None:
    lock = tmp_path / "lock"
    opening = 'Example\n    """'
    attention = ATTENTION.rstrip("\n").replace(opening, opening + HOLD.format(lock))
    with serving(tmp_path, attention) as served, lock.open() as held:
        with pytest.raises(BlockingIOError):
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        served.process.send_signal(number)
        served.process.wait()
        # This waits until nobody has the lock any more.
        fcntl.flock(held, fcntl.LOCK_EX)
