r"""
---
title: Recorded runs
summary: What programs have measured, read and compared.
---

* [records](records.py): what a program measured, with the run that it came from.
* [fingerprints](fingerprints.py): whether a file is still what a run was made of.
"""
