r"""Small packages for the tests of what is copied out of one."""

from textwrap import dedent

from literate.python.statements import by_module
from literate.reading.source import Source, parse


def package(files: dict[str, str]) -> dict[str, Source]:
    r"""The sources of a package, by module, from the texts of its files."""
    return by_module(parse(dedent(text).lstrip("\n"), path) for path, text in files.items())


def run(text: str) -> dict[str, object]:
    r"""The names that a copy defines, when it is run with nothing but itself."""
    names: dict[str, object] = {"__name__": "__main__"}
    exec(compile(text, "copy.py", "exec", dont_inherit=True), names)
    return names
