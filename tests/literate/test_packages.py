r"""Packages of others, as they are on PyPI: nothing that their authors wrote is lost.

`make packages` downloads them, pinned with hashes. Where one is missing, its test says so.
"""

import html
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from literate.page.formulas import Formulas
from literate.problems import LiterateError
from literate.reading.rows import uncommented
from literate.reading.source import Docstring, Source, read
from tests.literate.projects import KATEX, MKDOCS, ROOT, SETTINGS, succeed, write
from tests.literate.shown import rendered, written

WHEELS = ROOT / ".cache" / "packages"
WORD = re.compile(r"[^\W_]+")
# What only Sphinx or Markdown reads: the names of roles, directives, fields and languages, targets
# that are not seen, and all but the last part of a name with a tilde.
UNSEEN = re.compile(
    r":[A-Za-z][\w+]*(?::[a-z]+)?:(?=`)"
    r"|(?<=`)~[\w.\[\]]*\.(?=\w+`)|<[^`<>]*>(?=`)"
    r"|(?m:^\s*\.\. _.*$(?:\n\s+https?:\S+$)?|^\s*\.\. *\w[\w:-]*? ?::?(?= |$)(?: *\w+ *$)?)"
    r"|(?m:^\s*(?:```|~~~).*$)"
    r"|(?<=\|) +\w+::"
    r"|(?m:^\s*(?:!!!|\?{3}\+?) *\w+)"
    r"|(?m:^\s*:(?:align|alt|height|label|meta|name|nowrap|scale|toctree|width)\b.*$)"
    r"|(?m:^\s*[:@](?:type|vartype)\s+[\w.*]+\s*:|^\s*[:@][a-z]+(?=[\s:]))"
    r"|<!--[\s\S]*?-->"
    # KaTeX has another name for this environment.
    r"|(?<=\\begin\{)multline(?=\*?\})|(?<=\\end\{)multline(?=\*?\})"
)
ENVIRONMENT = re.compile(r"\\begin\{(align|alignat|equation|gather)\*?\}.*?\\end\{\1\*?\}", re.S)


def unpacked(name: str, to: Path) -> Path:
    r"""A package as it is in its wheel."""
    wheel = next(WHEELS.glob(f"{name}-*.whl"), None)
    if wheel is None:
        pytest.skip(f"{name} is not there: `make packages` downloads it")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(to)
    return to


def sources(folder: Path) -> Iterator[Source]:
    for path in sorted(folder.rglob("*.py")):
        try:
            yield read(path, path.relative_to(folder).as_posix())
        except LiterateError:
            continue


def said(docstring: Docstring) -> list[str]:
    return WORD.findall(UNSEEN.sub(" ", docstring.shown))


@pytest.mark.whole
@pytest.mark.parametrize(
    "name",
    [
        *("attrs", "click", "docutils", "equinox", "flax", "google_auth", "librosa", "mpmath"),
        *("networkx", "peft", "requests", "scikit_image", "werkzeug"),
    ],
)
def test_each_word_of_each_docstring_is_on_its_page(name: str, tmp_path: Path) -> None:
    lost = []
    count = 0
    with Formulas(KATEX) as formulas:
        for source in sources(unpacked(name, tmp_path)):
            defined = (one.docstring for one in source.definitions)
            documented = [source.docstring, *defined, *source.of_attributes.values()]
            docstrings = [docstring for docstring in documented if docstring is not None]
            if not docstrings:
                continue
            page = written(source, formulas)
            shown = rendered(page.markdown)
            apart = [*shown.values("href"), *shown.values("src"), *shown.values("id")]
            seen = [shown.text(), page.title, page.summary, *apart]
            there = "".join(WORD.findall(" ".join(seen)))
            for docstring in docstrings:
                words = said(docstring)
                count += len(words)
                missing = [word for word in words if word not in there]
                lost += [f"{source.path}:{docstring.first}: {missing}"] if missing else []
    assert count > 5000
    assert lost == []


def noted(source: Source) -> str:
    r"""All that is said in docstrings and comments, without the signs of comments."""
    lines = (line for line in source.lines if line.kind in ("docstring", "comment"))
    return "\n".join(
        uncommented(line.text) if line.kind == "comment" else line.text.rstrip() for line in lines
    )


@pytest.mark.whole
def test_labml_nn_has_its_derivations_and_its_arguments(tmp_path: Path) -> None:
    unpacked("labml_nn", tmp_path)
    write(
        tmp_path,
        {
            "pyproject.toml": SETTINGS.replace("pkg", "labml_nn") + "strict = false\n",
            "mkdocs.yml": MKDOCS.replace("nav: [index.md]", ""),
            "docs/none.txt": "",
        },
    )
    succeed(tmp_path, "mkdocs", "build", "-q")
    for source in sources(tmp_path / "labml_nn"):
        path = Path(source.path)
        place = path.parent if path.stem == "__init__" else path.with_suffix("")
        file = tmp_path / "site" / place / "index.html"
        if not file.is_file():
            assert not source.text.strip()
            continue
        page = file.read_text(encoding="utf-8").partition("<article")[2].partition("</article>")[0]
        text = noted(source)
        marked = text.count("$$") // 2
        alone = len(ENVIRONMENT.findall(re.sub(r"\$\$.*?\$\$", "", text, flags=re.S)))
        assert page.count('class="katex-display"') == marked + alone, source.path
        arguments = re.findall(r"(?m)^\s*:param\b[^:]*?(\w+):", text)
        listed = re.findall(r"<li>\s*(?:<p>)?<code>(\w+)</code>", html.unescape(page))
        assert [name for name in arguments if name not in listed] == [], source.path
        prose = re.sub(
            r'<div class="code">.*?</pre>|<annotation.*?</annotation>', "", page, flags=re.S
        )
        assert not re.search(r"\$\$|\\begin\{|:param", prose), source.path
