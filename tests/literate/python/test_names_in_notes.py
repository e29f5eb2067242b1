r"""Names in notes. The oracle for `unknown` is what a person who knows the code below would say."""

import re

import pytest

from literate.python.names_in_notes import Names, names, problems, problems_of_document
from literate.reading.source import Source, parse
from literate.settings import load
from literate.site import load as load_site
from tests.literate.projects import ROOT

CODE = """
import functools
import torch
from torch import nn
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, dropout_prob: float = 0.1):
        self.scale = d_model**-0.5
        self.options = {"--corpus": "key_name", "no name": 1, "mark": "[SetMark]"}
    def forward(self, query, *, mask=None):
        return functools.reduce(query.softmax(dim=-1), mask)
"""


def page(note: str, code: str = CODE) -> Source:
    return parse(f'r"""\n---\ntitle: A\nsummary: B\n---\n\n{note}\n"""\n{code}', "pages/mha.py")


def known() -> Names:
    return names([page("")], ROOT)


def found(note: str, code: str = CODE) -> list[str]:
    return [str(one) for one in problems(page(note, code), names([page(note, code)], ROOT))]


@pytest.mark.parametrize(
    "code",
    [
        *("MultiHeadAttention", "MultiHeadAttention.forward", "d_model", "mask", "self.scale"),
        *("forward(query, mask=mask)", "forward(…)", "key_name", "--corpus", "dim", "nn.Linear"),
        *("torch.vmap", "functools.singledispatch", "str.splitlines", "os.path.join"),
        *("importlib.metadata.version", "ValueError", "lambda", "d_model - 1", "pages.mha"),
        *("setup.py", "transformers/mha.md", "mha.py", "python -m literate"),
        *("[SetMark]", "__aexit__", "__getattr__", "cached_property", "python.exe"),
        *("annotated-transformers", "[name]: target", "$d_modle$", "", "((("),
    ],
)
def test_what_the_site_or_python_has_is_known(code: str) -> None:
    assert known().unknown(code) is None


@pytest.mark.parametrize(
    ("code", "name", "meant"),
    [
        ("forward(querry)", "querry", "query"),
        ("forward(masq=1)", "masq", "mask"),
        ("d_model + d_ff", "d_ff", ""),
        ("MultiHeadAttenton", "MultiHeadAttenton", "MultiHeadAttention"),
        ("MultiHeadAttention.forwad",) * 2 + ("MultiHeadAttention.forward",),
        ("self.scal", "self.scal", "self.scale"),
        ("--korpus", "--korpus", "--corpus"),
        *((name, name, "") for name in ("functools.singledispach", "str.splitlinez", "no_name")),
        ("antigravity.fly", "antigravity.fly", ""),
        ("__get_item__", "__get_item__", "__getitem__"),
        # A name of Python that no source here imports from.
        ("CookieJar", "CookieJar", ""),
    ],
)
def test_what_nothing_has_is_found_and_what_is_meant(code: str, name: str, meant: str) -> None:
    assert (known().unknown(code), known().meant(name)) == (name, meant)


def test_a_name_that_nothing_has_is_reported_with_its_line_and_the_way_out() -> None:
    note = "MkDocs has `repo_url`, and “repo_url” is fine, as $repo_url$ is,\n`d_modle` isn't."
    here = "which nothing here has;"
    assert found(note) == [
        f"pages/mha.py:7: the note names `repo_url`, {here} a foreign name goes in quotes, "
        "not backticks.",
        f"pages/mha.py:8: the note names `d_modle`, {here} is `d_model` meant?",
    ]


def test_a_reference_of_sphinx_may_lead_to_a_text() -> None:
    assert found("See :ref:`calling`, and :pep:`8`.") == []
    assert len(found("See :func:`calling`.")) == 1


def test_the_names_of_an_example_are_made_up() -> None:
    fence = "```\nfactor = other.thing\n```\n\n`factor` and `other.thing`, and `factor = made_up`, "
    assert found(fence + "`made_up`") == []
    assert len(found("`factor`")) == 1


def test_comments_are_read_too_and_a_list_names_what_its_definition_has() -> None:
    (problem,) = found("", CODE + "\n# The `d_modle`.\nx = 1\n")
    assert problem.startswith("pages/mha.py:20: ")
    function = 'def g(heads: int, d_k: int):\n    r"""\n    * `headz` and `d_k` are both\n'
    function += '    * `d_model` is of another function\n    * text, `d_model`\n    """\n'
    assert found("", CODE + function)[-2:] == [
        "pages/mha.py:21: the list names `headz`, which `g` does not have; is `heads` meant?",
        "pages/mha.py:22: the list names `d_model`, which `g` does not have.",
    ]
    # The line above says what is listed.
    result = 'def g(heads: int):\n    r"""\n    A result has:\n\n    * `headz`\n\n      or\n'
    assert found("`headz = 1`", CODE + result + '    * `d_model`\n    """\n') == []


@pytest.mark.parametrize(
    ("definition", "docstring", "listed"),
    [
        ("def g(heads):", ("Args:", "    headz: how many", "    d_ff: wide"), ["headz", "d_ff"]),
        ("def g(heads):", ("Parameters", "----------", "headz : int", "    How."), ["headz"]),
        ("def g(heads):", (":param headz: how many",), ["headz"]),
        ("def h(x):\n    x.wide = 1\ndef g(heads):", (":param wide: how",), ["wide"]),
        # Keys that the line above announces, and what is no more.
        (
            "def g(heads):",
            ("Args:", "    heads: with these:", "", "Keyword Args:", "    d_ff: wide"),
            [],
        ),
        ("class G:", ("Attributes:", "    d_ff: **removed**", "    headz: how many"), ["headz"]),
        ("def g(heads):", ("Args:", "    d_ff (int): [**DEPRECATED since 2**] wide"), []),
        # Others than arguments, what is passed on, and what another file may have.
        ("def g(heads):", ("See Also", "--------", ":func:`headz` : other"), []),
        # What attrs takes for a private field; where arguments are listed, no other is meant.
        (
            "@define\nclass G:",
            (":param d_ff: wide", ":param heds: how", '"""', "_d_ff: int", '"""Its text.'),
            ["heds"],
        ),
        ("def g(heads, **others):", ("Args:", "    head: how many", "    d_ff: wide"), ["head"]),
        # Of two names in one list, neither is meant for the other.
        ("def g(chroma, **others):", ("Args:", "    chroma: all", "    n_chroma: of them"), []),
        ("def g(nlayers, **others):", ("Args:", "    layers: how many"), []),
        # Several signatures in one; but not where it has a line of its own.
        ("def g(*parts):", ("Args:", "    d_ff: wide"), []),
        ("def g(*parts):", ("Args:", "    d_ff: wide", "    *parts: all"), ["d_ff"]),
        ("class G(Other):", ("Args:", "    d_ff: wide"), []),
        # What a constructor in another file takes is no misspelt attribute.
        ("class G(Other):", ("Args:", "    headds: how many"), []),
        ("class G(Other):", ("Attributes:", "    headds: how many"), ["headds"]),
        # What a metaclass takes; what has a role; what belongs to the entry above.
        ("class G(metaclass=Other):", ("Args:", "    d_ff: wide"), []),
        ("class G(metaclass=ABCMeta):", ("Args:", "    d_ff: wide"), ["d_ff"]),
        ("def g(heads):", ("- `heads`", "- :meth:`d_ff`"), []),
        ("def g(heads):", ("Args:", "    heads: how many.", "    Default: 1"), []),
        ("@property\ndef g(self):", ("Args:", "    d_ff: wide"), []),
    ],
)
def test_arguments_of_any_style_are_those_of_the_function(
    definition: str, docstring: tuple[str, ...], listed: list[str]
) -> None:
    lines = "\n    ".join(['"""One.', "", *docstring, '"""', "heads = 1"])
    said = found("", f"{CODE}\n{definition}\n    {lines}\n")
    names = [one.split("`")[1] for one in said if re.search("the (list|field) names", one)]
    assert names == listed


def test_a_class_may_have_attributes_from_elsewhere() -> None:
    text = (
        'class G(Other):\n    """One.\n\n    Attributes:\n        d_model: known\n'
        '        d_ff: not\n        given: below\n    """\n'
        "    def __init__(self):\n        self.own = 1\n\n\n"
        "def f(g):\n    g.given = 1\n"
    )
    said = [one for one in found("", CODE + text) if "the list" in one]
    assert said == ["pages/mha.py:24: the list names `d_ff`, which `G` does not have."]
    # Without a class from another file, those that its own file gives to an object, and not those
    # of another class.
    text = text.replace("(Other)", "") + "\n\nclass H:\n    def f(self): self.d_ff = 1\n"
    alone = [one for one in found("", CODE + text) if "the list" in one]
    assert [one.split("`")[1] for one in alone] == ["d_model", "d_ff"]


@pytest.mark.parametrize(
    "docstring",
    [
        # As tqdm describes a format: neither list is one of arguments.
        ("* `width`", "  + `int` sets it", "* `kind`", "  + `ascii`: plain"),
        # Values of an argument are no arguments.
        ("* `heads` is one of", "    * `none`", "    * `all_of_them`"),
        # A picture, of which one part is called as a name.
        ("* `x-y`: a place", "* `heads`: an angle", "* `tau`: a force"),
    ],
)
def test_a_list_of_other_things_names_no_arguments(docstring: tuple[str, ...]) -> None:
    lines = "\n    ".join(['"""One.', "", *docstring, '"""', "heads = 1"])
    said = found("", f"{CODE}\ndef g(heads, _kind):\n    {lines}\n")
    assert [one for one in said if "the list names" in one] == []


def test_a_document_is_read_in_the_same_way() -> None:
    text = "# A\n\n`d_modle`, `d_model`\n\n```sh\nd_modl\n```\n"
    (problem,) = problems_of_document("docs/a.md", text, known())
    assert str(problem).startswith("docs/a.md:3: the note names `d_modle`")


def test_the_documents_of_this_repository_name_what_there_is() -> None:
    loaded = load_site(load(ROOT))
    tests = [parse(path.read_text(encoding="utf-8"), path.name) for path in ROOT.glob("tests/*.py")]
    everything = names([*loaded.sources.values(), *tests], ROOT)
    for path in ("README.md", "CONTRIBUTING.md", "RULES.md", "CHANGELOG.md"):
        text = (ROOT / path).read_text(encoding="utf-8")
        assert list(problems_of_document(path, text, everything)) == []


GPT = """
class GPT:
    def __init__(self, n_embd, layers_execute_order):
        self.n_embd = n_embd
    def __getitem__(self, instance_of):
        return self._validate(PartitionSpec, isinstance)
    def result_callback(self, *partial_args):
        return np.logspace(1)
    def parse_list_header(self): return glTexImage2D(solve_equations_lm, compute)
"""


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        # As they were found in packages of other people.
        ("n_emb", "n_embd"),
        ("self.n_emb", "self.n_embd"),
        ("__get_item__", "__getitem__"),
        ("layer_execute_order", "layers_execute_order"),
        ("Partitionspec", "PartitionSpec"),
        ("resultcallback", "result_callback"),
        # And what is another name, or that of something that isn't read.
        ("validate", ""),
        ("instance", ""),
        ("PartitionSpecs", ""),
        ("numpy.linalg.n_emb", ""),
        ("Wanda", ""),
        ("MultiHeadAttenton", ""),
        # One of `partial_args`; what is not `np.logspace`; a function of another library.
        ("partial_arg", ""),
        ("partial_arg1", ""),
        ("result_callback2", ""),
        ("partial_1_args", ""),
        ("partialarg", ""),
        ("log_space", ""),
        ("parse_set_header", ""),
        # A family, and a part.
        ("glTexImage", ""),
        ("solve_equations", ""),
        # Something that is called after something else, and a state after what leads to it.
        ("computed", ""),
        ("compuute", "compute"),
        ("Result_callback", ""),
    ],
)
def test_outside_strict_a_name_is_misspelt_if_its_file_has_nearly_the_same(
    name: str, meant: str
) -> None:
    source = page(f"Once `{name}`, twice `{name}`.", GPT)
    others = names([source, page("", CODE)], ROOT)
    said = [one.sentence for one in problems(source, others, strict=False)]
    assert said == ([f"the note names `{name}`; is `{meant}` meant?"] if meant else [])


def test_a_string_with_a_dot_is_no_name_that_is_meant() -> None:
    text = "F.\n\n    Parameters\n    ----------\n    media_fields : list\n        Some.\n    "
    code = f'{GPT}KEYS = ("media.fields",)\n\n\ndef f(**other):\n    """{text}"""\n'
    source = page("", code)
    assert [*problems(source, names([source, page("", CODE)], ROOT), strict=False)] == []


def test_a_word_in_a_string_of_the_code_is_no_misspelt_name() -> None:
    source = page("The counter `n_emb`.", GPT + "LATEX = r'\\setcounter{n_emb}{1}'\n")
    assert [*problems(source, names([source, page("", CODE)], ROOT), strict=False)] == []


@pytest.mark.parametrize(
    ("docstring", "comment"),
    [
        ("Renamed from ``resultcallback``.", ""),
        ("`resultcallback` was renamed to `result_callback`.", ""),
        # A slip that a list of versions speaks of.
        ("`resultcallback` corrected to `result_callback`.", ""),
        ("It was previously called `resultcallback` (with a mistake).", ""),
        ("Replaces the former ``resultcallback``.", ""),
        ("It is also known as ``resultcallback``.", ""),
        ("Added, originally called ``resultcallback``.", ""),
        ("Looking for ``resultcallback``? No, use ``result_callback`` instead.", ""),
        ("It makes a :func:`~other.resultcallback`.", ""),
        # It is no name, but a pattern; or one that is given here.
        ("It may be `result_callbacks_*_late`.", ""),
        ("It makes `(resultcallback, more)`.", ""),
        # A result that the docstring gives this name.
        ("See `resultcallback`.\n\nReturns\n-------\nresultcallback : int\n    It.", ""),
        ("", "# `resultcallback` is Windows's, and `result_callback` not."),
    ],
)
def test_a_former_name_and_one_that_is_told_from_another_are_not_misspelt(
    docstring: str, comment: str
) -> None:
    code = f"{GPT}\n    {comment}\n    x = 1\n"
    source = page(docstring, code)
    assert [*problems(source, names([source, page("", CODE)], ROOT), strict=False)] == []


def test_a_name_that_a_table_is_about_is_no_misspelt_one() -> None:
    line = f"{'=' * 20} {'=' * 20}\n"
    table = f"{line}Name                 What\n{line}``resultcallback``   It.\n{line}"
    for text, count in ((table, 0), (table.replace("It.", "No, ``n_emb``."), 1)):
        source = parse(f'"""Table.\n\n{text}"""\n{GPT}', "pages/a.py")
        assert len([*problems(source, names([source], ROOT), strict=False)]) == count


def test_an_argument_that_has_the_whole_name_is_meant() -> None:
    text = (
        'class A:\n    """One.\n\n    :param size: a size\n    :param actions: some\n    """\n'
        "    def __init__(self, size, custom_actions):\n"
        "        for action in custom_actions:\n            self.do(action)\n"
    )
    source = parse(text, "pages/a.py")
    (problem,) = problems(source, names([source], ROOT), False)
    assert problem.sentence.endswith("is `custom_actions` meant?")


def test_a_name_in_a_list_is_told_once_and_an_attribute_is_no_argument() -> None:
    text = (
        'class A:\n    def __init__(self, _other_name):\n        """One.\n\n'
        "        :param retry_pause: a pause\n        :param other_name: another\n"
        "        :ivar retry_pause: that\n"
        '        """\n        self._retry_pause = self._other_name = 1\n'
    )
    source = parse(text, "pages/a.py")
    expected = [
        "pages/a.py:5: the field names `retry_pause`, which `A.__init__` does not have.",
        "pages/a.py:6: the field names `other_name`, which `A.__init__` does not have; "
        "is `_other_name` meant?",
    ]
    for strict in (True, False):
        found = problems(source, names([source], ROOT), strict)
        assert sorted(str(one) for one in found) == expected


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("Unpack[Options]", ["other"]),
        ("t.Unpack[Options]", ["other"]),
        ("Unpack[Far]", []),
        ("int", []),
    ],
)
def test_keywords_that_a_class_lists_are_known(kind: str, told: list[str]) -> None:
    text = f'''
class _Base(t.TypedDict):
    first: int


class Options(_Base, total=False):
    second: int


def f(own, **kwargs: {kind}):
    """One.

    :param own: a
    :param first: b
    :param second: c
    :param other: d
    :param kwargs: e
    """
'''
    source = parse(text, "a.py")
    found = problems(source, names([source], ROOT), strict=False)
    assert [one.sentence.split("`")[1] for one in found] == told
