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

* **Ask:** [the command line](command_line.py) and [what to run](plan.py): [options](options.py),
  [settings](config.py), [presets](presets.py) and the [source](source.py) of a text
* **Read:** [texts](text.py), and [tokens in a file](token_file.py)
* **Train:** [the trainer](trainer.py) wires the loop; [records and samples](train.py) on the way,
  and [Ctrl-C](stopping.py) between two steps
* **Spread:** [several processes](distributed.py), and [shards](sharded.py) of a model
* **Resume:** [checkpoints](checkpoint.py), [the folder of a run](runs.py), [what it was](resume.py)
  and [atomic writes](files.py)
* **Look:** the [history](history.py) of a run, [samples](samples.py), [the result](result.py),
  [labml](recorder.py), [runs side by side](compare.py) and [memory](memory.py)
* **Fail:** [errors](errors.py), and [programs](program.py) that tell them in one sentence
"""
