r"""
---
title: Recorded runs
summary: What programs have measured, read and compared.
---

* [records](records.py): what a program measured, with the run that it came from.
* [files](files.py): a file of results is read, and whatever it should not hold is named.
* [pictures](pictures.py): a chart is drawn once, and kept.
* [charts](charts.py): lines over two axes.
* [drawing](drawing.py): a figure of Matplotlib becomes an SVG in the colours of the page.
* [numbers](numbers.py): is a number that a note says the one that was recorded?
* [fingerprints](fingerprints.py): whether a file is still what it was.
* [made_of](made_of.py): the definitions that a measurement can come by, and whether they are still
  what they were.
"""
