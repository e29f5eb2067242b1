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

* **Run:** [the command line](command_line.py), its [options](options.py), [settings](config.py) and
  [presets](presets.py); [texts](text.py) and [tokens in a file](token_file.py)
* **Train:** [the trainer](trainer.py) wires the loop; [several processes](distributed.py), and
  [shards](sharded.py) of a model
* **Resume:** [checkpoints](checkpoint.py), [the folder of a run](runs.py), and
  [atomic writes](files.py)
* **Look:** the [history](history.py) of a run, [labml](recorder.py) beside it, [runs side by
  side](compare.py), [memory](memory.py)
* **Fail:** [errors in one sentence](errors.py)
"""
