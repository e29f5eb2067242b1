r"""
---
title: The Models of the Site
summary: Small models that run in the browser, on the pages whose code they are made of.
---

On many pages you can step through the code with your own text. What runs there was made and trained
by these two modules, from the lessons; no lesson imports anything from here, and a test holds that.

* [The live models](models.py): one for each attention of the site, and how each is trained
* [One step of writing](writing_step.py): the classic model with its caches as arguments

`python -m benchmarks page_models` trains them, and “tool.literate.page_models” in “pyproject.toml”
says which model runs on which page.
"""
