r"""
---
title: Real Weights
summary: Load GPT-2, Llama 3 and Qwen3 into the modules of this site, and write with them.
---

The models of this site are small, so that you can train them. Large ones differ in their sizes and
in a few details: their weights fit into the same modules. What it takes is a file format, a table
of names, and care with details that change no shape.

* [Checkpoint files](checkpoint.py): a file could run code or be cut off. So the format is a list
  and numbers, and every offset is checked.
* [A table of names](names.py): what doesn't fit is often left out in silence. So each tensor must
  have a place and each weight a tensor.
* [GPT-2](gpt2.py): transposed matrices, three projections in one, logits that share the embedding.
* [GPT-2's tokenizer](byte_level.py): the rows of an embedding have no names. Two files and a
  pattern say which token each of them is for.
* [Downloading weights](download.py): a download stops, a bit is wrong, or another file comes. So
  each file is compared with a length and a checksum before it gets its name.
* [GPT-2 writes with our source](gpt2_experiment.py): a notebook downloads the weights, writes, and
  breaks one detail after the other.
* [Llama 3.1's rotary scaling](llama_frequencies.py): a rule for slow pairs that the weights were
  trained with. It has no weights, so nothing is missing without it.
* [Llama 3](llama3.py): rotary positions with pairs of halves, and grouped heads.
* [Qwen3](qwen3.py): normalised queries and keys, and heads of a width of their own.

[One wrong detail in a small model of each kind: means of three seeds, and their range as a
line](../../results/pretrained.json#figures.details)

All loaders were compared with the library “transformers” on random configurations, and with nothing
else: we had no network to get the published weights. What did not help here is the loss. Some
mistakes hardly change it, and only a comparison number by number finds them.
"""
