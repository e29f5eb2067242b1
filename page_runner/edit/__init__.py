r"""
---
title: A Page That Is Edited
summary: How a reader changes a line of a page and runs it, with nothing installed and no server.
---

On nearly every lesson of this site you can change the code and run it. What runs is Python itself,
compiled to WebAssembly, over a module that stands in for torch. Nothing that you type leaves your
browser.
"""
