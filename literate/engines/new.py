r"""
---
title: New page
summary: An author begins with a page that builds.
---

It is easier to change a page that is right than to write one from nothing. A new page therefore
comes whole: a small module with its formula, a claim and an example, and its test. Every check
passes before the first change, so what fails later is what was changed. The settings get its name,
so that its example is run. Its place in the navigation is the author's to choose.
"""

import keyword
import posixpath
import re
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from literate.engines.navigation import has_navigation
from literate.page.templates import TEMPLATES
from literate.problems import LiterateError, Problem
from literate.reading.python_files import uri
from literate.settings import Settings

# A module of this library has small letters.
_NAME = re.compile(r"[a-z][a-z0-9_]*")


def plan(settings: Settings, wanted: str) -> tuple[dict[str, str], str]:
    r"""
    ## Plan a page

    The texts of the new files by their paths from the root, and the page that the site gets.
    `wanted` is its path, `labml_nn/transformers/my_idea`. Raises a
    [LiterateError](../problems.py#LiterateError) where no page can be; nothing has been written
    then.
    """
    package, *folders, stem = _parts(settings, wanted)
    path, test = (
        posixpath.normpath("/".join(parts))
        for parts in (
            (package, *folders, f"{stem}.py"),
            ("tests", package, *folders, f"test_{stem}.py"),
        )
    )
    inside = Path(path).parent
    # Modules of a root folder are often in no package.
    if package != "." and not (settings.root / inside / "__init__.py").is_file():
        sentence = f"`{inside}` is no section yet; write the page of it, `{inside}/__init__.py`."
        raise _refusal(wanted, sentence)
    name = "".join(word.capitalize() for word in stem.split("_"))
    # `None`, `True` and `False` are keywords with a capital.
    if keyword.iskeyword(name):
        raise _refusal(wanted, f"`{name}` can't be the name of a class; name the page otherwise.")
    words = {
        "title": stem.replace("_", " ").strip().capitalize(),
        # The page imports a `Tensor` of its own.
        "class_name": "TensorLayer" if name == "Tensor" else name,
        "page": path.removesuffix(".py").replace("/", "."),
    }
    files = {path: TEMPLATES.get_template("new_page.py.jinja").render(**words)}
    if (settings.root / "tests" / package).is_dir():
        files[test] = TEMPLATES.get_template("new_test.py.jinja").render(**words)
    # `a.py` and the folder `a` would be one module.
    for taken in (path.removesuffix(".py"), *files):
        if (settings.root / taken).exists():
            raise _refusal(wanted, f"`{taken}` is there already; nothing was changed.")
    if named := with_example(settings, path):
        files["pyproject.toml"] = named
    return files, uri(path.removeprefix(f"{package}/"), settings.sources[package])


def with_example(settings: Settings, path: str) -> str:
    r"""
    ## The settings, with the example of a page

    Nothing is run that the settings don't name. Empty, where they name the page already, or where
    the line isn't one to be added without a look at the others: there the author adds it.
    """
    if settings.runs(path) or settings.examples:
        return ""
    text = (settings.root / "pyproject.toml").read_bytes().decode()
    added = re.sub(
        r"(?m)^(\[tool\.literate\][^\S\n]*(?:#.*)?\n)",
        lambda header: f'{header[0]}examples = ["{path}"]\n',
        text,
        count=1,
    )
    before = tomllib.loads(text)
    after = tomllib.loads(added)
    before["tool"]["literate"]["examples"] = [path]
    return added if before == after else ""


def next_steps(settings: Settings, files: Mapping[str, str], uri: str) -> list[str]:
    r"""
    ## What is left to do for the new page

    In the words of the project: not everybody has a navigation, or a Makefile.
    """
    path = next(iter(files))
    steps = []
    if not settings.runs(path) and "pyproject.toml" not in files:
        steps.append(f'TO DO: add "{path}" to `examples` of tool.literate in pyproject.toml')
    if find_spec("torch") is None:
        steps.append("TO DO: `pip install torch`, which its example needs")
    if has_navigation(settings.root):
        steps.append(f"TO DO: add the line `- {uri}` to `nav` in mkdocs.yml, at its place")
    makefile = settings.root / "Makefile"
    has_serve = makefile.is_file() and re.search(r"(?m)^serve:", makefile.read_text("utf-8"))
    serve = "make serve" if has_serve else "mkdocs serve"
    address = uri.removesuffix(".md")
    steps.append(f"It builds as it is: `{serve}` shows it at http://127.0.0.1:8000/{address}/")
    steps.append(
        "Next: change it to yours, and ask `python -m literate check` as often as you like."
    )
    return steps


def write(root: Path, files: Mapping[str, str]) -> None:
    r"""
    ## Write the page

    All files are written beside their places first, and take them when all are whole.
    """
    made: list[Path] = []
    try:
        for name, text in files.items():
            beside = root / f"{name}.part"
            beside.parent.mkdir(parents=True, exist_ok=True)
            # Not over what somebody else began to write.
            with beside.open("x", encoding="utf-8", newline="") as file:
                made.append(beside)
                file.write(text)
        for name in files:
            (root / f"{name}.part").replace(root / name)
    except OSError as error:
        for path in made:
            with suppress(OSError):
                path.unlink()
        place = Path(str(error.filename)).name
        sentence = f"can't be written: {error.strerror}, at {place}. Nothing was changed."
        raise LiterateError([Problem(next(iter(files)), 1, sentence)]) from None


def _parts(settings: Settings, wanted: str) -> list[str]:
    parts = wanted.removeprefix("./").removesuffix("/").removesuffix(".py").split("/")
    for part in parts:
        if not _NAME.fullmatch(part) or keyword.iskeyword(part):
            better = re.sub(r"\W+", "_", part, flags=re.ASCII).strip("_").lower()
            good = _NAME.fullmatch(better) and not keyword.iskeyword(better)
            hint = f"; `{better}` would do." if good else "."
            raise _refusal(wanted, f"`{part}` can't be the name of a module{hint}")
    if parts[0] not in settings.sources and "." in settings.sources:
        parts = [".", *parts]
    if parts[0] not in settings.sources or len(parts) == 1:
        packages = " or ".join(f"`{package}/…`" for package in settings.sources)
        raise _refusal(wanted, f"is no page in a package; write {packages}.")
    folder = settings.root.joinpath(*parts[:-1])
    if not folder.resolve().is_relative_to(settings.root.resolve()):
        raise _refusal(wanted, f"`{'/'.join(parts[:-1])}` leads out of this project.")
    return parts


def _refusal(wanted: str, sentence: str) -> LiterateError:
    return LiterateError([Problem(wanted, 1, sentence)])
