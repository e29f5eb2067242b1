r"""Sites built by MkDocs, strictly, in folders of their own: what is on them, what stops them."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from literate import settings, site
from literate.problems import LiterateError
from tests.literate.projects import ATTENTION, HOME, MKDOCS, SETTINGS, contents, run, succeed, write
from tests.literate.recorded import content
from tests.literate.shown import Shown

TRIALS = "results/trials.json"


FILES = {
    "pyproject.toml": SETTINGS,
    "mkdocs.yml": MKDOCS.replace("[index.md]", "[index.md, attention.md]"),
    "docs/images/note.txt": "a file by hand",
    "pkg/__init__.py": HOME,
    "pkg/attention.py": ATTENTION,
}


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    r"""What is kept of a measurement: it imports PyTorch, and is the same for all these tests."""
    folder = tmp_path_factory.mktemp("measured")
    write(folder, FILES)
    succeed(folder, "literate", "measure")
    return folder / ".cache"


@pytest.fixture
def project(tmp_path: Path, measured: Path) -> Path:
    write(tmp_path, FILES)
    shutil.copytree(measured, tmp_path / ".cache")
    return tmp_path


def build(project: Path, *command: str) -> str:
    return succeed(project, *(command or ("mkdocs", "build", "--strict")))


def page_of(project: Path, name: str) -> Shown:
    r"""A page of the site that was built."""
    return Shown((project / "site" / name / "index.html").read_text(encoding="utf-8"))


def test_a_site_shows_code_shapes_and_checked_claims(project: Path) -> None:
    # Here the build measures.
    shutil.rmtree(project / ".cache")
    build(project)
    page, home = page_of(project, "attention"), page_of(project, "")
    source = ATTENTION.split("\n")
    code = [(f"L{number}", source[number - 1]) for number in [10, 11, 14, 21, 22, 25, 29, 30]]
    assert page.lines == code
    lines = page.all.iterfind(".//span[@class='line']")
    shapes = {line.get("id"): one.get("data-shape") for line in lines for one in line.iter("i")}
    assert shapes == {"L14": "query, key i b d", "L21": "i j b", "L29": "i b d", "L30": "→ i i b"}
    claims = ["[seq_len, batch_size, d_k]", *["[seq_len, seq_len, batch_size]"] * 2]
    assert page.texts(".//code[@class='claim']") == claims
    assert "scores" in page.values("id")
    assert {"attention/#scores", "attention/#L21"} <= set(home.values("href"))
    text = (project / "site" / "attention" / "index.html").read_text()
    assert "<math" in text and "katex-html" in text
    assert (project / "site" / "assets" / "katex" / "LICENSE").is_file()
    index = (project / "site" / "assets" / "search-index.js").read_text()
    assert "A score for each pair, d_k features. See the start." in index
    # Any other engine gets the same index.
    build(project, "literate", "write", "out")
    assert index == (project / "out" / "assets" / "search-index.js").read_text()


MISTAKES = {
    ("summary: Scores.", "summary: Scores.\nnotebok: yes"): (5, "`front matter.notebok` is no key"),
    ("$d_k$", "$\\frac{d_k$"): (8, "can't be set"),
    ("[the start](__init__.py)", "[the start](start.py)"): (8, "the link to `start.py` leads to"),
    ('r"""\n    ## Scores', '"""\n    ## Scores\\n'): (16, "the docstring has a backslash"),
    ("From `[seq_len, batch_size,", "From `[batch_size, seq_len,"): (19, "the note says [batch_si"),
    ("pair: `[seq_len, seq_len,", "pair: `[seq_len, seq_ln,"): (21, "`seq_ln`"),
}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (list(MISTAKES), list(MISTAKES.values())),
        ([("return product", "return product)")], [(22, "unmatched ')'")]),
        ([('ijb", query', 'ijx", query')], [(21, "einsum")]),
    ],
    ids=["notes", "syntax", "example"],
)
def test_mistakes_stop_the_build_and_all_are_named_with_their_places(
    project: Path, changes: list[tuple[str, str]], said: list[tuple[int, str]]
) -> None:
    text = ATTENTION
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    page = project / "pkg" / "attention.py"
    page.write_text(text)
    for command in [("mkdocs", "build"), ("literate", "check")]:
        failed = run(project, *command)
        assert failed.returncode == 1 and "Traceback" not in failed.stderr
        named = [line for line in failed.stderr.splitlines() if "attention.py:" in line]
        for (line, words), told in zip(said, named, strict=True):
            assert f"pkg/attention.py:{line}: " in told and words in told
    assert not (project / "site").exists()
    # Corrected, it builds.
    page.write_text(ATTENTION)
    build(project)


# Each has a fault that another part of the check finds; some of it stands in other files.
FAULTY = {
    "pkg/__init__.py": HOME.replace("(attention.py#scores)", "(attention.py#nothing)"),
    "pkg/attention.py": ATTENTION.replace("    # One number", "    a, b = 1, 2\n    # One number")
    .replace("`[seq_len, seq_len, batch_size]`", "`[seq_len, batch_size]`, `quarry`, `d_k`")
    .replace("def example(", "def read() -> str:\n    return __file__\n\n\ndef example("),
    "pkg/wrong.py": """from pkg.one_line import Mistake


class Doubled(Mistake):
    r\"\"\"
    ## Doubled

    As in [attention](attention.py#scores), [1.5](../results/trials.json#values.loss), $\\no$.
    \"\"\"

    right = "return product"
    wrong = "return 2 * product"
""",
    "pkg/one_line.py": """class Mistake:
    of: type


class Right:
    def forward(self) -> int:
        product = 1
        return product
""",
    "results/trials.json": json.dumps(content()),
    "holes.toml": '[["pkg/attention.py"]]\nof = "scores"\nline = "produkt"\nwrong = {}\n',
    "why.toml": '[[without]]\npages = ["one_line.py", "__init__.py"]\nreason = "So."\n',
}
LESSONS = """exercises = "holes.toml"
limits = { "pkg/wrong.py" = { words = 3 } }
words = { score = "number" }
differences = { base = "pkg/one_line.py:Mistake", of = "of", before = "right", after = "wrong" }
lessons = { pages = ["pkg/*"], oracles = "why.toml" }
"""


def test_a_page_alone_has_the_problems_that_it_has_among_all(project: Path) -> None:
    write(project, FAULTY | {"pyproject.toml": SETTINGS + LESSONS})
    known = settings.load(project)
    loaded = site.load(known)
    measured, _ = site.measurements(loaded, loaded.sources.values(), print)
    among_all = {
        source.path: [*site.pages(loaded, [source], measured)][0].problems
        for source in loaded.sources.values()
    }
    assert [len(problems) for problems in among_all.values()] == [2, 9, 2, 5]
    assert "__file__" in str(among_all["pkg/attention.py"])
    read: dict[str, set[str]] = {}
    for path, problems in among_all.items():
        alone = site.on_demand(known)
        source = alone.sources[path]
        found = site.problems(alone, [source], measured)
        assert tuple(sorted(set(found))) == problems
        read[path] = {*alone.sources.made}
    # Once names are kept, what is not asked for is not read.
    assert read["pkg/attention.py"] == {"pkg/attention.py", "pkg/__init__.py"}


def test_check_and_measure_take_single_pages(project: Path) -> None:
    printed = build(project, "literate", "measure", "pkg/attention.py").splitlines()
    assert "    22  return: [seq_len, seq_len, batch_size] float32 [7, 7, 3]" in printed
    wrong = ATTENTION.replace("## Scores", "# Scores")
    (project / "pkg" / "attention.py").write_text(wrong)
    said = {
        "pkg/__init__.py": "",
        "pkg/attention.py": "pkg/attention.py:16: a heading of the first level",
        "pkg": "pkg/attention.py:16: a heading of the first level",
        "pkg/no.py": "pkg/no.py:1: is no page",
    }
    for path, words in said.items():
        checked = run(project, "literate", "check", path)
        assert words in checked.stderr and checked.returncode == bool(words)
    # Nothing is written then.
    assert run(project, "literate", "write", "out").returncode == 1
    assert not (project / "out").exists()


def test_write_gives_the_pages_to_any_engine_the_same_each_time(project: Path) -> None:
    build(project, "literate", "write", "out")
    first = contents(project / "out")
    assets = {"images/note.txt", "assets/literate.css", "assets/katex/katex.min.css"}
    assert {"index.md", "attention.md", *assets} <= set(first)
    assert not [name for name in first if name.endswith(".part")]
    assert "[attention](attention.md#scores)" in (project / "out/index.md").read_text()
    build(project, "literate", "write", "out")
    assert contents(project / "out") == first


@pytest.mark.parametrize("folder", ["docs", "pkg/out"])
def test_what_an_author_has_written_is_not_written_over(project: Path, folder: str) -> None:
    before = contents(project)
    failed = run(project, "literate", "write", folder)
    said = f"{folder}:1: is in `{folder.split('/')[0]}`, whose files are the author's; name another"
    assert (failed.returncode, failed.stderr.startswith(said)) == (1, True)
    assert {name: contents(project)[name] for name in before} == before


@pytest.mark.parametrize(
    ("given", "files", "said"),
    [
        (("write", "taken"), {"taken": ""}, "taken:1: can't be read or written: "),
        (("notebooks", "--out", "taken"), {"taken": ""}, "taken"),
        (("write", "out"), {"CITATION.cff": "title: A\n"}, "CITATION.cff:1: has no `authors`."),
        (("write", "out"), {"CITATION.cff": "title: A\na: b: c\n"}, "CITATION.cff:2: is not YAML"),
    ],
)
def test_what_cannot_be_read_or_written_is_said_in_a_sentence(
    project: Path, given: tuple[str, ...], files: dict[str, str], said: str
) -> None:
    write(project, files)
    failed = run(project, "literate", *given)
    assert failed.returncode == 1
    last = failed.stderr.strip().splitlines()[-1]
    assert said in last and "Traceback" not in failed.stderr


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


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"pkg/a.py": "x = (\n", "pkg/b.py": "def\n"}, ["pkg/a.py:1: ", "pkg/b.py:1: "]),
        (
            {"docs/attention.md": "# By hand\n"},
            ["docs/attention.md:1: would be the page `attention.md`, which is that of `pkg/att"],
        ),
        (
            {"pkg/results/trials.py": "x = 1\n", TRIALS: json.dumps(content())},
            [f"{TRIALS}:1: would be the page `results/trials.md`, which is that of `pkg/results"],
        ),
        ({TRIALS: json.dumps(content(schema=7))}, [f"{TRIALS}:1: `schema`"]),
    ],
)
def test_all_that_keeps_a_site_from_being_read_is_named(
    project: Path, files: dict[str, str], said: list[str]
) -> None:
    write(project, files)
    with pytest.raises(LiterateError) as caught:
        site.load(settings.load(project))
    for one, words in zip(caught.value.problems, said, strict=True):
        assert str(one).startswith(words)


def test_check_names_the_problems_of_documents_and_wrong_numbers(project: Path) -> None:
    number = f"[1.55](../{TRIALS}#values.loss)"
    files = {
        "docs/by_hand.md": f"# By hand\n\n[No](no.py).\n\n{number}\n",
        "pkg/__init__.py": f"{HOME}# {number}\nx = 1\n",
        TRIALS: json.dumps(content(values={"loss": 1.5612})),
    }
    write(project, files)
    failed = run(project, "literate", "check")
    assert failed.returncode == 1
    assert "docs/by_hand.md:3: the link to `no.py` leads to nothing" in failed.stderr
    for place in ("docs/by_hand.md:5", "pkg/__init__.py:9"):
        assert f"{place}: the note says 1.55, {TRIALS} has 1.5612." in failed.stderr


NOTEBOOK = '''

def notebook(seq_len: int = 7) -> None:
    r"""
    ## Notebook
    """
    # Scores of a sequence.
    print(scores(torch.randn(seq_len, 3, 2), torch.randn(seq_len, 3, 2)).shape)
'''


@pytest.mark.parametrize("address", ["", "https://github.com/a/b"])
def test_a_page_offers_its_own_notebook(
    project: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("REPOSITORY_URL", address)
    (project / "pkg" / "attention.py").write_text(ATTENTION + NOTEBOOK)
    build(project)
    page = page_of(project, "attention")
    assert [link for link in page.values("href") if "blob" in link] == [
        "https://colab.research.google.com/github/a/b/blob/main/notebooks/attention.ipynb",
        "https://github.com/a/b/blob/HEAD/pkg/attention.py",
    ][: 2 * bool(address)]
    assert "../notebooks/attention.ipynb" in page.values("href")
    assert not [link for link in page_of(project, "").values("href") if "ipynb" in link]
    served = json.loads((project / "site" / "notebooks" / "attention.ipynb").read_text())
    build(project, "literate", "notebooks", "--out", "out")
    committed = json.loads((project / "out" / "attention.ipynb").read_text())
    # The notes of the served one link to where it is from; their code is the same.
    pairs = list(zip(served["cells"], committed["cells"], strict=True))
    assert all(one == two for one, two in pairs if two["cell_type"] == "code") and len(pairs) > 1
    assert "Scores of a sequence." in str(served["cells"])


def test_each_definition_is_served_as_the_snippet_that_the_command_prints(project: Path) -> None:
    build(project)
    page = page_of(project, "attention")
    names = ("attention", "attention/scores", "attention/example")
    assert [link for link in page.values("href") if "snippets" in link] == [
        f"../snippets/{name}{kind}" for name in names for kind in (".py", ".bare.py")
    ]
    commands = {"attention": "pkg/attention.py", "attention/example": "pkg/attention.py:example"}
    for name, wanted in commands.items():
        for kind, options in [(".py", []), (".bare.py", ["--no-notes"])]:
            served = (project / "site" / "snippets" / f"{name}{kind}").read_text()
            assert served == build(project, "literate", "snippet", wanted, *options)
            assert "def scores(" in served


OF_THE_FILE = '\n\ndef here() -> str:\n    r"""\n    ## Here\n    """\n    return __file__\n'


def test_a_definition_that_cannot_be_copied_has_no_snippet(project: Path) -> None:
    text = ATTENTION + OF_THE_FILE
    (project / "pkg" / "attention.py").write_text(text)
    # If it is of something to run, there is an error.
    built = run(project, "mkdocs", "build")
    assert built.returncode == 1
    line = text.split("\n").index("    return __file__") + 1
    said = "reads `__file__`, which is not the same in a copy; pass it the value."
    assert f"pkg/attention.py:{line}: {said}" in built.stderr
    # Without an example nothing is measured, so nothing can be claimed.
    text = text.replace("def example(", "def sample(").replace("`[", "`(")
    (project / "pkg" / "attention.py").write_text(text)
    build(project)
    page = page_of(project, "attention")
    snippets = {link.split("/")[-1] for link in page.values("href") if "snippets" in link}
    # Nor has the whole module one, of which it is a part.
    assert snippets == {"scores.py", "scores.bare.py", "sample.py", "sample.bare.py"}
