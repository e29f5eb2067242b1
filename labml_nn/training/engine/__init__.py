r"""
---
title: The Training Engine
summary: What long, resumed and distributed runs need, and the command that trains.
---

```sh
python -m labml_nn.training.engine --help
```

The lessons about training end with a [loop](../loop.py) of a few lines. This package is for runs
that take hours, get interrupted, or need several GPUs. It passes what they need to the loop as
arguments. So it imports the lessons, and no lesson imports anything from here; a test holds that.

* **Ask:** [the command line](command_line.py), its [settings](config.py), and the
  [presets](presets.py) that have a name
* **Read:** [texts and their tokens](text.py), or [tokens in a file](token_file.py)
* **Train:** [the trainer and its steps](trainer.py), in [micro-batches and 16
  bits](mixed_precision.py), with an [attention for 16 bits](short_contexts.py); and [a
  run](train.py) around them, from its first step to its result
* **Spread:** [several processes](processes.py), and [the model](distributed.py) that they share
* **Resume:** [checkpoints](checkpoint.py), [the folder of a run](runs.py) and [atomic
  writes](files.py)
* **Look:** the [records](records.py) of a run, and runs side by side
* **Fail:** [errors in one sentence](errors.py)
"""
