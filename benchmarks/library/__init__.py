r"""
What all experiments need, so that none of them has it twice.

* `experiment`: what an experiment is, and how it is run
* `keeping`: what a run has found is kept, and read again only if it is of the same sources
* `progress`: which run is the next, and how long it will take
* `ranges`: mean, lowest and highest of the seeds, in numbers and drawn
* `tables`: columns and rows as `record.write` takes them
"""
