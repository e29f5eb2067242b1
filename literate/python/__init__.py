r"""
---
title: Python code
summary: What the names in code stand for, and what a definition needs.
---

* [scopes](scopes.py): what each name stands for; which of them a statement takes from its module.
* [statements](statements.py): a module becomes the imports and the definitions that can be copied
  out of it.
* [order](order.py): an order in which copied definitions can run.
* [closure](closure.py): what a definition needs, from everywhere in its package, in an order that
  runs.
* [shapes](shapes.py): what a statement does, without how it is written down.
* [reach](reach.py): which definitions a run can come by, each with the hash of what it does.
* [references](references.py): a name in code leads to what it stands for, found by scopes and
  imports, not by its text.
* [pytorch](pytorch.py): the names of PyTorch lead to its documentation.
* [names_in_notes](names_in_notes.py): a name in a note must be the name of something.
"""
