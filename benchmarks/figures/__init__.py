r"""The figures of the site, each measured on the pages as served.

`make bench-site` prints them; `python -m benchmarks.figures --help` names the options.
"""
