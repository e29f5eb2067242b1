r"""Two classes of one name, in one copy."""

from dataclasses import replace

import pytest

from literate.closure import closure
from literate.notebook import build
from literate.problems import LiterateError
from literate.snippet import snippet
from tests.literate.packages import package, run

FIRST = """
    class Other:
        pass

    class Part(Other):
        # A Part that knows its name.
        def copy(self):
            return type(self) is Part, Part()

    def make(kind=Part): return kind, lambda Part: Part, f"{Part.__name__}"
"""
SECOND = """
    import functools
    from pkg.first import Part as Original, make

    @functools.total_ordering
    class Part:
        def __lt__(self, other: "int"):
            import cmath
            return cmath.pi and isinstance(other, Part)

    def both(): return Part(), Original(), make()
"""
FILES = {"pkg/first.py": FIRST, "pkg/second.py": SECOND}


def test_the_page_keeps_its_names_and_the_copy_does_what_the_package_does() -> None:
    names = run(snippet(package(FILES), "pkg.second", "both"))
    mine, theirs, (kind, same, name) = names["both"]()
    assert type(mine) is names["Part"]
    assert type(theirs) is kind is names["Part_of_first"] is names["Original"]
    assert theirs.copy()[0]
    assert same(3) == 3
    assert name == "Part_of_first"
    assert mine < names["Part"]()
    assert not mine < theirs


def test_notes_lines_and_other_names_stay_as_they_are() -> None:
    text = snippet(package(FILES), "pkg.second", "both")
    assert "class Part_of_first(Other):\n    # A Part that knows its name.\n" in text
    assert "def make(kind=Part_of_first): return kind, lambda Part: Part, f" in text
    assert "class Part:\n" in text
    assert "Original = Part_of_first\n" in text


def test_without_notes_the_copy_has_the_same_names() -> None:
    text = snippet(package(FILES), "pkg.second", "both", notes=False)
    assert "A Part" not in text
    mine, theirs, _ = run(text)["both"]()
    assert type(theirs).__name__ == "Part_of_first"
    assert type(mine).__name__ == "Part"


def test_what_is_imported_inside_a_renamed_class_is_not_forgotten() -> None:
    third = "from pkg.first import Part as A\nfrom pkg.second import Part as B\npair = A, B\n"
    found = closure(package(FILES | {"pkg/third.py": third}), "pkg.third", ["pair"])
    assert "cmath" in found.outside
    names = run(snippet(package(FILES | {"pkg/third.py": third}), "pkg.third", "pair"))
    assert [one.__name__ for one in names["pair"]] == ["Part", "Part_of_second"]


def test_of_other_pages_that_comes_first_which_the_page_itself_needs() -> None:
    files = FILES | {
        "pkg/page.py": "from pkg.second import Part as Used\ndef f(): return Used\n",
        "pkg/trial.py": "from pkg.first import Part\ndef g(): return Part\n",
    }
    alone = closure(package(files), "pkg.page", ["f"])
    whole = closure(package(files), "pkg.page", ["f"], [("pkg.trial", "g")])
    assert set(alone.pieces) < set(whole.pieces)
    renamed = [one.names for one in whole.pieces if one not in alone.pieces]
    assert ("Part_of_first",) in renamed


def test_umlauts_before_a_name_do_not_move_it() -> None:
    first = "class Part: pass\ndef make(): return 'ähnlich', Part\n"
    files = {"pkg/first.py": first, "pkg/second.py": SECOND}
    names = run(snippet(package(files), "pkg.second", "both"))
    assert names["make"]()[1] is names["Part_of_first"]


@pytest.mark.parametrize(
    "first",
    [
        "class Part: pass\ndef make(kind: 'Part' = None): return kind",
        "class Part: pass\ndef make():\n    global Part\n    return Part",
        "class \\\n  Part: pass\ndef make(): return Part",
        "class Part: pass\ndef make(Part_of_first=1): return Part",
        "class Part: pass\nPart = Part\ndef make(): return Part",
    ],
)
def test_what_cannot_be_renamed_is_an_error_that_names_both_places(first: str) -> None:
    files = package({"pkg/first.py": first, "pkg/second.py": SECOND})
    with pytest.raises(LiterateError) as caught:
        snippet(files, "pkg.second", "both")
    assert "`Part` is one thing here and another at" in str(caught.value)


def test_without_namesakes_nothing_is_touched() -> None:
    files = package({"pkg/first.py": FIRST})
    found = closure(files, "pkg.first", ["make"])
    assert all(one.text in files["pkg.first"].text for one in found.pieces)
    assert replace(found) == found


def test_a_notebook_has_both() -> None:
    page = '''
        r"""
        ---
        title: T
        summary: S
        ---
        """
        from pkg.first import Part as Original

        class Part(Original):
            pass

        def example():
            return Part().copy()
    '''
    text = build(package({"pkg/first.py": FIRST, "pkg/page.py": page}), "pkg.page")
    assert "class Part(Original):" in text
    assert "Original = Part_of_first" in text
    assert "#@title Part_of_first" in text
