r"""
---
title: Measuring
summary: The example of a page runs in a child process, and every tensor gets its shape.
---

* [axes](axes.py): the name of an axis is found by running the example four times with different
  sizes.
* [instrument](../../page_runner/instrument.py): a module is compiled so that every tensor it binds
  or returns is handed to a recorder.
* [child](child.py): the process that runs pages: started once, asked often, stopped when it must
  be.
* [measured_run](measured_run.py): a child process runs the example of a page and writes down
  every tensor it meets.
* [store](store.py): what was measured is kept until something that could change it changes.
* [measure](measure.py): the example of a page runs, and every tensor on every line gets its
  shape, with names.
* [clearest](clearest.py): a function that was called several times is shown in the call that tells
  its axes apart.
* [claims](claims.py): a shape that a note speaks of must be a shape that was measured.
"""
