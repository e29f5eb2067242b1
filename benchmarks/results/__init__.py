r"""What the recipes reach: the runs behind the numbers of the pages.

    python -m benchmarks.results                  # the recipes
    python -m benchmarks.results --nanogpt DIR    # beside nanoGPT's own script
    python -m benchmarks.results long             # the longer run, or --run RUN of one

`DIR` is a checkout of https://github.com/karpathy/nanoGPT. Each run is a process of its own, one
after another, so that its times are its own too. What came out is written to `results/`, where
the pages refer to it. A run that is done is kept, by its options, its text and the code that made
it, so that this can be interrupted and started again.
"""
