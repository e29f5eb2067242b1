r"""
What was measured, and the programs that measure it: `python -m benchmarks` lists them.

Each experiment is a module: what is varied, what is measured of it, and the tables and figures of
the result. What all of them need is in `library`.
"""
