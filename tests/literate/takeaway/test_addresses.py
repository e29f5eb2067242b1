r"""Where the links of a note lead when it has left its file."""

import pytest

from literate.reading.notes import Note
from literate.takeaway.addresses import Addresses, with_addresses
from tests.literate.packages import package

SOURCES = package(
    {
        "pkg/__init__.py": "",
        "pkg/a.py": "import json\n\n\n@decorated\nclass A:\n    def method(self): pass",
        "pkg/sub/b.py": "def b(): pass",
    }
)
REPOSITORY = Addresses(repository="https://github.com/owner/name")
FILES = "https://github.com/owner/name/blob/HEAD"
SITE = Addresses(
    page=lambda path: f"https://site/{path.removesuffix('.py').removesuffix('/__init__')}/",
    repository="https://github.com/owner/name",
)


def rewritten(text: str, addresses: Addresses, path: str = "pkg/sub/b.py") -> str:
    r"""The Markdown of a note that stands in a file."""
    note = Note("comment", 1, tuple(text.split("\n")))
    return with_addresses(note, path, SOURCES, addresses)


@pytest.mark.parametrize(
    ("target", "in_repository", "on_site"),
    [
        ("../a.py", f"{FILES}/pkg/a.py", "https://site/pkg/a/"),
        ("../a.py#A", f"{FILES}/pkg/a.py#L5", "https://site/pkg/a/#A"),
        ("../a.py#A.method", f"{FILES}/pkg/a.py#L6", "https://site/pkg/a/#A.method"),
        ("../a.py#L1", f"{FILES}/pkg/a.py#L1", "https://site/pkg/a/#L1"),
        ("#b", f"{FILES}/pkg/sub/b.py#L1", "https://site/pkg/sub/b/#b"),
        ("../__init__.py", f"{FILES}/pkg/__init__.py", "https://site/pkg/"),
        ("../../docs/x.md#y", f"{FILES}/docs/x.md#y", f"{FILES}/docs/x.md#y"),
        ("https://x.org/a.py", "https://x.org/a.py", "https://x.org/a.py"),
        ("mailto:a@x.org", "mailto:a@x.org", "mailto:a@x.org"),
    ],
)
def test_a_link_gets_the_whole_address(target: str, in_repository: str, on_site: str) -> None:
    text = "See [it](<{0}>) and\n[that `a[0]`]({0} 'so (good)')."
    assert rewritten(text.format(target), REPOSITORY) == text.format(in_repository)
    assert rewritten(text.format(target), SITE) == text.format(on_site)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a [b] `c]`](<../a.py>)", "a [b] `c]`"),
        ('[it](../a.py "so (good)") here', "it here"),
        ("![picture](../../docs/x.png)", "picture"),
        ("[![picture](../../docs/x.png)](../a.py)", "picture"),
        ("[it][a]\n\n[a]: ../a.py\n[b]: https://x.org", "[it][a]\n\n\n[b]: https://x.org"),
        ("[a](https://x.org)", "[a](https://x.org)"),
        ("`[a](../a.py)` and $[a](b)$", "`[a](../a.py)` and $[a](b)$"),
        ("```\n[a](../a.py)\n```", "```\n[a](../a.py)\n```"),
        ("no link](../a.py)", "no link](../a.py)"),
    ],
)
def test_without_an_address_a_link_becomes_its_text(text: str, expected: str) -> None:
    assert rewritten(text, Addresses()) == expected


def test_colab_opens_what_is_on_github() -> None:
    found = Addresses(repository="https://github.com/owner/name", notebooks="b").of_colab("a.ipynb")
    assert found == "https://colab.research.google.com/github/owner/name/blob/main/b/a.ipynb"
    assert Addresses(repository="https://example.org/owner/name").of_colab("a.ipynb") is None
    assert Addresses().of_colab("a.ipynb") is None
