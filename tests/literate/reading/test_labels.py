r"""A reference to a label that no note has is told."""

from literate.reading.labels import unlabelled
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
