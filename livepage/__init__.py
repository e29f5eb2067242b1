r"""
---
title: A Page That Runs
summary: How a page's own source runs in the browser, from torch.export to the interpreter's loop.
---

A page that runs steps through its own lines with the reader's own text. Nothing of it is a copy in
another language: the graph that runs is what PyTorch noted when the module was called.

1. [The exporter](exporter.py) turns a module into a graph, in which each operation has its line
2. [Weights](weights.py) are stored in eight bits
3. [Steps](steps.py) gather the operations by the lines of a page
4. [A build](build.py) makes the files of the site, with PyTorch in [a process of its own](child.py)
"""
