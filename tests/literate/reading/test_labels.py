r"""A reference to a label that no note has is told."""

from literate.reading.labels import undefined, unlabelled
from literate.reading.rows import rows
from literate.reading.source import parse

HAS = '"""\n.. _the-rules:\n\nRules\n"""\n'
NAMES = '''"""
See :ref:`the-rules`, :ref:`rules <the-rules>`, :ref:`search`, :ref:`other:label` and `x`.

By :ref:`the-rule`.
"""

def f():
    """:ref:`words <guide>` and :numref:`guide`"""
'''


def test_a_reference_leads_to_a_label_of_any_note_or_is_told() -> None:
    sources = {path: parse(text, path) for path, text in (("a.py", HAS), ("b.py", NAMES))}
    near, *others = unlabelled(sources.values(), sources)
    label = "the reference names the label"
    assert str(near) == f"b.py:4: {label} “the-rule”, which no note has; is “the-rules” meant?"
    sentence = f"b.py:8: {label} “guide”, which no note has, so its words are no link."
    assert [str(one) for one in others] == [sentence] * 2
    assert list(unlabelled([sources["a.py"]], sources)) == []


def test_a_substitution_that_its_docstring_does_not_define_is_told_and_shown_as_its_name() -> None:
    text = '''"""One

.. note:: |the_settings|

* |own_text| of |y|, `|in_code|` and |a_b|, by |the_settings|

|a_table|
|of_cells|

Code::

    |in_code|

.. |own_text| replace:: mine
"""
'''
    # That of an argument between bars is the argument.
    source = parse(f'{text}def f(an_argument):\n    """|an_argument|"""\n', "a.py")
    (told,) = undefined([source])
    assert (told.line, told.sentence.split(";")[0]) == (
        3,
        "the docstring doesn't define the substitution “|the_settings|”, so its name is all that "
        "is shown, in 2 places",
    )
    row = next(rows(source))
    assert row.note is not None
    made = "\n".join(row.note.texts)
    assert "    the\\_settings\n" in made and "* mine of |y|, `|in_code|` and |a_b|" in made
    assert "|a_table|\n|of_cells|" in made and "\n|in_code|\n" in made
