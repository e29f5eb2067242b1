r"""Sites built by MkDocs, strictly, in folders of their own: what is on them, what stops them."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from literate import settings, site
from literate.problems import LiterateError
from tests.literate.projects import ATTENTION, HOME, MKDOCS, SETTINGS, run, write
from tests.literate.shown import Shown


@pytest.fixture
def project(tmp_path: Path) -> Path:
    files = {
        "pyproject.toml": SETTINGS,
        "mkdocs.yml": MKDOCS.replace("[index.md]", "[index.md, attention.md]"),
        "docs/images/note.txt": "a file by hand",
        "pkg/__init__.py": HOME,
        "pkg/attention.py": ATTENTION,
    }
    write(tmp_path, files)
    return tmp_path


def build(project: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return run(project, *(command or ("mkdocs", "build", "--strict")))


def page_of(project: Path, name: str) -> Shown:
    r"""A page of the site that was built."""
    return Shown((project / "site" / name / "index.html").read_text(encoding="utf-8"))


def test_a_site_shows_code_shapes_and_checked_claims(project: Path) -> None:
    built = build(project)
    assert built.returncode == 0, built.stderr
    page, home = page_of(project, "attention"), page_of(project, "")
    source = ATTENTION.split("\n")
    code = [(f"L{number}", source[number - 1]) for number in [10, 11, 14, 21, 22, 25, 29, 30]]
    assert page.lines == code
    lines = page.all.iterfind(".//span[@class='line']")
    shapes = {line.get("id"): one.get("data-shape") for line in lines for one in line.iter("i")}
    assert shapes == {"L14": "query, key i b d", "L21": "i i b", "L29": "i b d", "L30": "→ i i b"}
    claims = ["[seq_len, batch_size, d_k]", *["[seq_len, seq_len, batch_size]"] * 2]
    assert page.texts(".//code[@class='claim']") == claims
    assert "scores" in page.values("id")
    assert {"attention/#scores", "attention/#L21"} <= set(home.values("href"))
    text = (project / "site" / "attention" / "index.html").read_text()
    assert "<math" in text and "katex-html" in text
    fonts = [path.name for path in (project / "site" / "assets" / "katex" / "fonts").iterdir()]
    assert "KaTeX_Math-Italic" in {name.partition(".")[0] for name in fonts}
    sheets = [path.read_text() for path in (project / "site" / "assets").rglob("*.css")]
    assert all(f"fonts/{name}" in "".join(sheets) for name in fonts)
    assert (project / "site" / "assets" / "katex" / "LICENSE").is_file()


def test_the_words_of_the_notes_can_be_searched(project: Path) -> None:
    (project / "docs" / "guide.md").write_text("# Guide\n\nWritten by hand.\n")
    (project / "mkdocs.yml").write_text(
        MKDOCS.replace("index.md", "index.md, attention.md, guide.md")
    )
    assert build(project).returncode == 0
    assert build(project, "literate", "write", "out").returncode == 0
    served = (project / "site/assets/search-index.js").read_text()
    assert served == (project / "out/assets/search-index.js").read_text()
    assert "A score for each pair, d_k features. See the start." in served
    assert "Written by hand." in served


Change = Callable[[str], str]


def replaced(old: str, new: str) -> Change:
    def change(text: str) -> str:
        assert old in text
        return text.replace(old, new, 1)

    return change


@pytest.mark.parametrize(
    ("change", "place", "words"),
    [
        (
            replaced("From `[seq_len, batch_size, d_k]`", "From `[batch_size, seq_len, d_k]`"),
            "pkg/attention.py:18",
            "the note says [batch_size, seq_len, d_k]",
        ),
        (
            replaced("pair: `[seq_len, seq_len,", "pair: `[seq_len, seq_ln,"),
            "pkg/attention.py:20",
            "`seq_ln`",
        ),
        (
            replaced("[the start](__init__.py)", "[the start](start.py)"),
            "pkg/attention.py:7",
            "the link to `start.py` leads to nothing",
        ),
        (
            replaced('r"""\n    ## Scores', '"""\n    ## Scores\\n'),
            "pkg/attention.py:15",
            "the docstring has a backslash and is not raw",
        ),
        (
            replaced("summary: Scores.", "summary: Scores.\nnotebok: yes"),
            "pkg/attention.py:5",
            "`front matter.notebok` is no key",
        ),
        (replaced("return product", "return product)"), "pkg/attention.py:22", "unmatched ')'"),
        (replaced("$d_k$", "$\\frac{d_k$"), "pkg/attention.py:7", "can't be set"),
        (replaced('ijb", query', 'ijx", query'), "pkg/attention.py:21", "einsum"),
        (replaced("## Scores", "# Scores"), "pkg/attention.py:16", "first level"),
    ],
    ids=["shape", "axis", "link", "raw", "key", "syntax", "formula", "example", "title"],
)
def test_a_mistake_stops_the_build_with_its_place(
    project: Path, change: Change, place: str, words: str
) -> None:
    page = project / "pkg" / "attention.py"
    page.write_text(change(ATTENTION))
    for command in [("mkdocs", "build"), ("literate", "check")]:
        failed = build(project, *command)
        named = [line for line in failed.stderr.splitlines() if place + ":" in line]
        assert failed.returncode == 1, failed.stderr
        assert len(named) == 1 and words in named[0], failed.stderr
        assert "Traceback" not in failed.stderr
    assert not (project / "site").exists()
    # Corrected, it builds.
    page.write_text(ATTENTION)
    assert build(project).returncode == 0


def test_all_problems_are_named_at_once(project: Path) -> None:
    page = project / "pkg" / "attention.py"
    wrong = replaced("[the start](__init__.py)", "[x](no.py) and [y](none.py)")(ATTENTION)
    page.write_text(replaced("summary: Scores.", "sumary: Scores.")(wrong))
    failed = build(project, "literate", "check")
    lines = [line for line in failed.stderr.splitlines() if not line.startswith("measured")]
    assert [line.split(": ")[0] for line in lines] == [
        "pkg/attention.py:2",
        "pkg/attention.py:4",
        "pkg/attention.py:7",
        "pkg/attention.py:7",
    ]


def test_check_takes_single_pages(project: Path) -> None:
    (project / "pkg" / "attention.py").write_text(replaced("## Scores", "# Scores")(ATTENTION))
    assert build(project, "literate", "check", "pkg/__init__.py").returncode == 0
    assert build(project, "literate", "check", "pkg/attention.py").returncode == 1
    assert build(project, "literate", "check", "pkg").returncode == 1
    missing = build(project, "literate", "check", "pkg/no.py")
    assert "pkg/no.py:1: is no page" in missing.stderr


def test_measure_prints_what_was_measured(project: Path) -> None:
    printed = build(project, "literate", "measure", "pkg/attention.py").stdout
    lines = printed.splitlines()
    assert "    22  return: [seq_len, seq_len, batch_size] float32 [7, 7, 3]" in lines


def test_write_gives_the_pages_to_any_engine(project: Path) -> None:
    out = project / "out"
    written = build(project, "literate", "write", "out")
    assert written.returncode == 0, written.stderr
    files = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    assert {
        "index.md",
        "attention.md",
        "images/note.txt",
        "assets/literate.css",
        "assets/katex/katex.min.css",
    } <= files
    assert not [name for name in files if name.endswith(".part")]
    assert "[attention](attention.md#scores)" in (out / "index.md").read_text()
    before = {name: (out / name).read_bytes() for name in files}
    assert build(project, "literate", "write", "out").returncode == 0
    assert {name: (out / name).read_bytes() for name in files} == before


def test_write_writes_nothing_when_a_page_has_a_problem(project: Path) -> None:
    (project / "pkg" / "attention.py").write_text(replaced("## Scores", "# Scores")(ATTENTION))
    assert build(project, "literate", "write", "out").returncode == 1
    assert not (project / "out").exists()


def test_reading_a_site_needs_no_torch(project: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from literate import settings, site;"
        "loaded = site.load(settings.load(Path('.')));"
        "pages = site.correct_pages(loaded, print);"
        "print(len(pages), 'torch' in sys.modules, 'pkg' in sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=project, capture_output=True, text=True, check=True
    )
    assert ran.stdout.splitlines()[-1] == "2 False False"


def test_files_that_are_no_python_are_named_together(project: Path) -> None:
    (project / "pkg" / "a.py").write_text("x = (\n")
    (project / "pkg" / "b.py").write_text("def\n")
    with pytest.raises(LiterateError) as caught:
        site.load(settings.load(project))
    assert [(one.path, one.line) for one in caught.value.problems] == [
        ("pkg/a.py", 1),
        ("pkg/b.py", 1),
    ]


def test_a_document_in_the_place_of_a_page_is_named(project: Path) -> None:
    (project / "docs" / "attention.md").write_text("# By hand\n\nBy hand.\n")
    with pytest.raises(LiterateError) as caught:
        site.load(settings.load(project))
    sentence = "docs/attention.md:1: would be the page `attention.md`, which is that of"
    assert str(caught.value) == f"{sentence} `pkg/attention.py`."


def test_check_names_the_problems_of_documents(project: Path) -> None:
    (project / "docs" / "by_hand.md").write_text("# By hand\n\n[No](no.py).\n")
    failed = build(project, "literate", "check")
    assert failed.returncode == 1
    assert "docs/by_hand.md:3: the link to `no.py` leads to nothing" in failed.stderr


NOTEBOOK = '''

def notebook(seq_len: int = 7) -> None:
    r"""
    ## Notebook
    """
    # Scores of a sequence.
    print(scores(torch.randn(seq_len, 3, 2), torch.randn(seq_len, 3, 2)).shape)
'''


@pytest.mark.parametrize(
    ("address", "offered"),
    [
        ("", []),
        (
            "https://github.com/a/b",
            [
                "https://colab.research.google.com/github/a/b/blob/main/notebooks/attention.ipynb",
                "https://github.com/a/b/blob/main/pkg/attention.py",
            ],
        ),
    ],
)
def test_a_page_offers_its_own_notebook(
    project: Path, monkeypatch: pytest.MonkeyPatch, address: str, offered: list[str]
) -> None:
    monkeypatch.setenv("REPOSITORY_URL", address)
    (project / "pkg" / "attention.py").write_text(ATTENTION + NOTEBOOK)
    built = build(project)
    assert built.returncode == 0, built.stderr
    page = page_of(project, "attention")
    assert [link for link in page.values("href") if "blob" in link] == offered
    assert "../notebooks/attention.ipynb" in page.values("href")
    assert not [link for link in page_of(project, "").values("href") if "ipynb" in link]
    served = json.loads((project / "site" / "notebooks" / "attention.ipynb").read_text())
    assert build(project, "literate", "notebooks", "--out", "out").returncode == 0
    committed = json.loads((project / "out" / "attention.ipynb").read_text())
    # The notes of the served one link to where it is from; their code is the same.
    code, same_code = (
        [cell for cell in one["cells"] if cell["cell_type"] == "code"]
        for one in (served, committed)
    )
    assert code == same_code and len(code) > 1
    assert "Scores of a sequence." in str(served["cells"])


def test_each_definition_is_served_as_the_snippet_that_the_command_prints(project: Path) -> None:
    assert build(project).returncode == 0
    page = page_of(project, "attention")
    assert [link for link in page.values("href") if "snippets" in link] == [
        "../snippets/attention.py",
        "../snippets/attention.bare.py",
        "../snippets/attention/scores.py",
        "../snippets/attention/scores.bare.py",
        "../snippets/attention/example.py",
        "../snippets/attention/example.bare.py",
    ]
    for target, arguments in [
        ("attention/example.py", ["pkg/attention.py:example"]),
        ("attention/example.bare.py", ["pkg/attention.py:example", "--no-notes"]),
        ("attention.py", ["pkg/attention.py"]),
        ("attention.bare.py", ["pkg/attention.py", "--no-notes"]),
    ]:
        served = (project / "site" / "snippets" / target).read_text()
        assert served == build(project, "literate", "snippet", *arguments).stdout
        assert "def scores(" in served


OF_THE_FILE = '\n\ndef here() -> str:\n    r"""\n    ## Here\n    """\n    return __file__\n'


def test_a_definition_that_cannot_be_copied_has_no_snippet(project: Path) -> None:
    # Without an example nothing is measured, so nothing can be claimed.
    text = (ATTENTION + OF_THE_FILE).replace("def example(", "def sample(").replace("`[", "`(")
    (project / "pkg" / "attention.py").write_text(text)
    built = build(project)
    assert built.returncode == 0, built.stderr
    page = page_of(project, "attention")
    snippets = {link.split("/")[-1] for link in page.values("href") if "snippets" in link}
    # Nor has the whole module one, of which it is a part.
    assert snippets == {"scores.py", "scores.bare.py", "sample.py", "sample.bare.py"}


def test_a_page_with_something_to_run_that_cannot_be_copied_is_an_error(project: Path) -> None:
    (project / "pkg" / "attention.py").write_text(ATTENTION + OF_THE_FILE)
    built = build(project)
    assert built.returncode == 1
    line = (ATTENTION + OF_THE_FILE).split("\n").index("    return __file__") + 1
    said = "reads `__file__`, which is not the same in a copy; pass it the value."
    assert f"pkg/attention.py:{line}: {said}" in built.stderr
