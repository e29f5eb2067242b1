r"""
---
title: New page
summary: An author begins with a page that builds.
---

It is easier to change a page that is right than to write one from nothing. A new page therefore
comes whole: a small module with its formula, a claim, an example, its test, and its place in the
navigation. Every check passes before the first change, so what fails later is what was changed.
"""

import difflib
import keyword
import posixpath
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import yaml

from literate.page.links import folder
from literate.page.templates import TEMPLATES
from literate.problems import LiterateError, Problem
from literate.settings import Settings
from literate.site import uri

NAVIGATION = "mkdocs.yml"
_ENTRY = re.compile(r"(?P<indent> *)- (?:[^#\s][^#:]*: +)?(?P<uri>[\w./-]+\.md)\s*(?:#.*)?")
# A module of this library has small letters.
_NAME = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True)
class Plan:
    r"""
    ## What a new page takes

    * `files` are the texts of the new files, by their paths from the root of the project
    * `uris` are the pages that the site gets
    * `navigation` is the new text of the file that lists the pages, or None if the place of the
      page in it could not be found: then its author has to find it
    """

    files: Mapping[str, str]
    uris: Sequence[str]
    navigation: str | None


def plan(settings: Settings, wanted: str) -> Plan:
    r"""
    ## Plan a page

    `wanted` is its path, `transformers/my_idea`, with or without the package in front. Raises a
    [LiterateError](../problems.py#LiterateError) where no page can be; nothing has been written
    then.
    """
    path = _path(settings, wanted)
    _free(settings.root, path, wanted)
    files = {}
    package, *folders = path.removesuffix(".py").split("/")
    stem = folders.pop()
    for depth in range(len(folders) + 1):
        inside = "/".join([package, *folders[:depth]])
        if depth and not (settings.root / inside / "__init__.py").exists():
            title = _title(folders[depth - 1])
            files[f"{inside}/__init__.py"] = _text("new_section", title=title)
    name = "".join(word.capitalize() for word in stem.split("_"))
    words = {
        "title": _title(stem),
        # The page imports a `Tensor` of its own.
        "class_name": "TensorLayer" if name == "Tensor" else name,
        "page": ".".join([package, *folders, stem]),
    }
    files[path] = _text("new_page", **words)
    tests = "/".join(["tests", package])
    if (settings.root / tests).is_dir():
        test = "/".join([tests, *folders, f"test_{stem}.py"])
        _free(settings.root, test, wanted)
        files[test] = _text("new_test", **words)
    pages = [one for one in files if one.startswith(f"{package}/")]
    uris = [uri(one.removeprefix(f"{package}/"), settings.sources[package]) for one in pages]
    others = [to for one, to in settings.sources.items() if one != package]
    listed = settings.root / NAVIGATION
    # Bytes, because a text that is read in the usual way forgets its line endings.
    text = listed.read_bytes().decode() if listed.is_file() else ""
    return Plan(files, uris, with_pages(text, uris, others))


def write(settings: Settings, planned: Plan) -> list[Path]:
    r"""
    ## Write the page

    All files are written beside their places first, and take them when all are whole. If one of
    them can't, those that did are taken back.
    """
    texts = dict(planned.files)
    if planned.navigation is not None:
        texts[NAVIGATION] = planned.navigation
    made: list[Path] = []
    try:
        for name, text in texts.items():
            target = settings.root / name
            for above in reversed(target.parents):
                if not above.exists():
                    above.mkdir()
                    made.append(above)
            # Not over what somebody else began to write.
            with _beside(target).open("x", encoding="utf-8", newline="") as file:
                made.append(_beside(target))
                file.write(text)
        for name in texts:
            target = settings.root / name
            _beside(target).replace(target)
            # The navigation comes last: once it is in its place, there is nothing to take back.
            made.append(target)
    except OSError as error:
        for path in reversed(made):
            with suppress(OSError):
                path.rmdir() if path.is_dir() else path.unlink()
        place = Path(str(error.filename)).name
        sentence = f"can't be written: {error.strerror}, at {place}. Nothing was changed."
        raise LiterateError([Problem(next(reversed(planned.files)), 1, sentence)]) from None
    return [settings.root / name for name in texts]


def _beside(target: Path) -> Path:
    return target.with_name(target.name + ".part")


def _path(settings: Settings, wanted: str) -> str:
    r"""
    The path of the file. Where the package is left out, it is the one that has the folder.
    """
    parts = wanted.removesuffix("/").removesuffix(".py").split("/")
    for part in parts:
        if not _NAME.fullmatch(part) or keyword.iskeyword(part):
            better = re.sub(r"\W+", "_", part, flags=re.ASCII).strip("_").lower()
            good = _NAME.fullmatch(better) and not keyword.iskeyword(better)
            hint = f"; `{better}` would do." if good else "."
            raise _refusal(wanted, f"`{part}` can't be the name of a module{hint}")
    packages = list(settings.sources)
    if parts[0] in packages:
        if len(parts) == 1:
            raise _refusal(wanted, "is a package; name a page in it.")
        return "/".join(parts) + ".py"
    if len(packages) == 1:
        return "/".join([packages[0], *parts]) + ".py"
    having = [
        one for one in packages if len(parts) > 1 and (settings.root / one / parts[0]).is_dir()
    ]
    if len(having) == 1:
        return "/".join([having[0], *parts]) + ".py"
    near = difflib.get_close_matches(parts[0], [*packages, *_folders(settings)], n=1)
    meant = f" (is `{near[0]}` meant?)" if near and not having else ""
    choices = " or ".join(f"`{one}/{'/'.join(parts)}`" for one in having or packages)
    raise _refusal(wanted, f"could be in several packages{meant}; write {choices}.")


def _folders(settings: Settings) -> list[str]:
    return [
        path.name
        for package in settings.sources
        for path in sorted((settings.root / package).iterdir())
        if path.is_dir() and path.name.isidentifier()
    ]


def _free(root: Path, path: str, wanted: str) -> None:
    r"""
    `a.py` and the folder `a` would be one module, and a folder can't be in a file.
    """
    stem = path.removesuffix(".py")
    for taken in (path, stem, f"{path}.part"):
        if (root / taken).exists():
            raise _refusal(wanted, f"`{taken}` is there already; nothing was changed.")
    for above in list(Path(path).parents)[:-1]:
        module = above.with_suffix(".py").as_posix()
        if (root / module).exists():
            raise _refusal(wanted, f"`{module}` is a page, so no page can be below it.")
        if not (root / above).resolve().is_relative_to(root.resolve()):
            raise _refusal(wanted, f"`{above.as_posix()}` leads out of this project.")


def _refusal(wanted: str, sentence: str) -> LiterateError:
    return LiterateError([Problem(wanted, 1, sentence)])


def _title(stem: str) -> str:
    return stem.replace("_", " ").strip().capitalize()


def _text(template: str, **words: str) -> str:
    return TEMPLATES.get_template(f"{template}.py.jinja").render(**words)


def with_pages(text: str, uris: Sequence[str], others: Sequence[str]) -> str | None:
    r"""
    ## The navigation with new pages in it

    `text` is that of the settings of the site. One line is put in for each page and nothing else is
    touched, so comments and order stay: behind the last page of the same folder, or else of the
    folder above, or, for a folder beside the others, as a section of its own behind the last of the
    package; `others` are the folders of the other packages. None if there is no such place, or if
    the text would then say anything else than before, and the pages.
    """
    lines = text.splitlines(keepends=True)
    start = next((at for at, line in enumerate(lines) if re.match(r"nav:\s*(#.*)?$", line)), None)
    if start is None:
        return None
    end = next((at for at in range(start + 1, len(lines)) if re.match(r"[^\s#-]", lines[at])), None)
    entries = [
        (at, match["indent"], match["uri"])
        for at in range(start + 1, end or len(lines))
        if (match := _ENTRY.fullmatch(lines[at].rstrip("\r\n")))
    ]
    of_package = [
        one for one in entries if not any(to and one[2].startswith(f"{to}/") for to in others)
    ]
    placed = _placed(of_package, uris)
    if placed is None:
        return None
    at, new = placed
    ending = "\r\n" if lines[at].endswith("\r\n") else "\n"
    lines[at] = lines[at].rstrip("\r\n") + ending
    lines[at + 1 : at + 1] = [line + ending for line in new]
    changed = "".join(lines)
    return changed if _only_adds(text, changed, uris) else None


def _placed(
    entries: Sequence[tuple[int, str, str]], uris: Sequence[str]
) -> tuple[int, list[str]] | None:
    r"""
    The line behind which the pages go, and their lines.
    """
    inside = posixpath.dirname(uris[0])
    same = [one for one in entries if posixpath.dirname(one[2]) == inside]
    while not same and inside:
        inside = posixpath.dirname(inside)
        same = [one for one in entries if inside and one[2].startswith(f"{inside}/")]
    if same:
        at, indent, _ = same[-1]
        return at, [f"{indent}- {one}" for one in uris]
    if not entries or len(uris) < 2:
        return None
    at = entries[-1][0]
    indent = min((one for _, one, _ in entries), key=len)
    title = _title(posixpath.basename(folder(uris[0])))
    return at, [f"{indent}- {title}:", *(f"{indent}    - {one}" for one in uris)]


class _Loader(yaml.SafeLoader):
    r"""
    Settings have tags of their own, such as that for a variable of the environment.
    """


def _tagged(loader: _Loader, tag: str, node: yaml.Node) -> tuple[str, object]:
    match node:
        case yaml.ScalarNode():
            return tag, loader.construct_scalar(node)
        case yaml.SequenceNode():
            return tag, loader.construct_sequence(node, deep=True)
        case _:
            return tag, loader.construct_mapping(node, deep=True)


_Loader.add_multi_constructor("", _tagged)


def _only_adds(before: str, after: str, uris: Sequence[str]) -> bool:
    r"""
    Without the new pages, the new settings are the old ones.
    """
    try:
        old, new = yaml.load(before, _Loader), yaml.load(after, _Loader)
    except yaml.YAMLError:
        return False
    pages = _pages(new["nav"])
    return old == {**new, "nav": _without(new["nav"], uris)} and [
        one for one in pages if one in uris
    ] == list(uris)


def _pages(entry: object) -> list[str]:
    match entry:
        case list() | dict():
            inside = entry.values() if isinstance(entry, dict) else entry
            return [page for one in inside for page in _pages(one)]
        case _:
            return [str(entry)]


def _without(entry: object, uris: Sequence[str]) -> object:
    match entry:
        case list():
            kept = [_without(one, uris) for one in entry if one not in uris]
            return [one for one in kept if not (isinstance(one, dict) and [] in one.values())]
        case dict():
            return {name: _without(one, uris) for name, one in entry.items()}
        case _:
            return entry
