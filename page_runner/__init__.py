r"""
---
title: A Page That Runs
summary: How a page's own source runs in the browser, from torch.export to the interpreter's loop.
---

On many pages of this site you can type a text and step through the code with it, line by line. What
runs is the page's own source. Nobody has written it a second time in JavaScript, and no Python is
sent to your browser. This page tells how that works.

**In:** a module of PyTorch, its trained weights, and the page that it is on. **Out:** some files
beside the page, which a reader's browser fetches when asked to. On the page of multi-head attention
they are, compressed, 26 kB of code, styles and graph, 35 kB of kernels, 27 kB of constants such as
the table of positions, and 0.8 MB of weights.

```text
module ── torch.export ── graph ─────┬── steps of a page, data flow          (on the site)
                                     └── interpreter ── values of each line  (in the browser)
training ── 8 bits ── safetensors ──────────┘
```

## 1. A module becomes a list of operations

A forward pass is, in the end, a hundred operations on tensors, or a few hundred: `linear`,
`softmax`, `einsum`. `torch.export` calls the module with tensors that have shapes and no numbers,
and writes down each operation that is called. [The exporter](exporter.py) does so in a [process of
its own](child.py):

```python
program = torch.export.export(module.eval(), inputs, strict=False)
program = program.run_decompositions({})
```

The second line looks odd, with its empty table. It makes sure that no operation writes into its
argument, and takes nothing else apart: `softmax` stays one operation, as it is one line on the
page. PyTorch also notes *which line of which file* called the operation, through all the functions
in between. That is what makes a page runnable: a value belongs to a line.

## 2. One graph for texts of any length

The list is made for a text of 13 characters, and once more for one of 44. A number that is the
same in both is the same for every text. A number that grew by 31 is the length. So one list with a
few `@0+1` in it is right for any length, and no rule of `torch.export` about lengths that vary
has to be obeyed. What has *another list* at another length, such as a loop over positions, can't be
done this way.

## 3. The graph is run

The interpreter, “assets/interpreter.js”, is a loop over the list. Where the arguments come from was
found out once, when the graph came:

```js
    for (const { node, operation, given, place } of steps) {
      const arguments_ = given.map((argument) => argument(values, length));
      const value = operation(arguments_, node.options, node.dtype);
      values[place] = after ? placed(after(node, value) ?? value) : value;
    }
```

“operations” is a table of seventy functions, one for each operation; the pages use 59. None of them
has a loop over numbers. Those loops are the kernels of [the editor](edit/__init__.py): C
that is compiled to WebAssembly, where a matrix product takes four numbers at a time. “kernels.js”
calls them. “tensors.js” has what the operations need: shapes, and the distances in memory from one
element to the next, so that most changes of a shape copy nothing. “after” sees each value, which is
how the panel shows it, and may change it, which is how a head is knocked out.

A test runs all graphs in Node at four lengths. On all pages but one, the largest
difference from PyTorch is a millionth of the largest value. Linear attention divides by small sums,
which magnifies what is rounded: there it is 0.4 %. And the test makes every operation wrong once,
to see that the test would notice.

## 4. A line is a step

[Steps](steps.py) gather the operations that belong to one line of the page, in one layer. Their
order and what each reads is the [data flow](dataflow.py), which is [drawn](drawing.py). So all that
a page shows of itself, the drawing, the steps and the values, comes from one list.

## 5. Weights in eight bits

A matrix is stored as whole numbers with a [scale for each row](weights.py). The record of the
training has the loss of these weights, their checksum, and its sources. A page
whose source has changed since says so, and weights that aren't the recorded ones stop
[the build](build.py).

## 6. Writing with a cache

To write, a model runs once for each character. The page about the
[cache](../labml_nn/transformers/kv_cache.py) is exported as one step whose caches are arguments and
results. It is one more graph for the same loop. Its logits are those of the whole pass, but for
rounding.

## For a package of your own

A table in `pyproject.toml` names the model of each page, and a function that makes it:

```toml
[tool.literate.page_models]
package = "my_package"
text = "Once upon a time"
maker = "my_package.models:make"
record = "results/page_models.json"
weights = "results/weights"

[tool.literate.page_models.models]
small = ["my_package/attention.py"]
```

`make("small", n_vocab)` is the model before its weights are loaded: tokens in, an axis of positions
and one of sequences, and logits out. The record is written by the program that trains. Of each
model it needs “file”, “sha256”, “bytes”, “loss”, “config” with `n_vocab` and `seq_len`, and the
fingerprints of its “sources”. An operation that no page here uses is one more line in the table of
the interpreter.

## Pages that don't run

A page runs if a trained model can have its module in it. These can't, or not yet:

* [Flash attention](../labml_nn/transformers/memory/flash.py): its loop over tiles is longer for a
  longer text, and half of its subject is the gradient.
* [FlexAttention](../labml_nn/transformers/memory/flex.py), [fused
  attention](../labml_nn/transformers/fused_attention.py), and [the
  kernel](../labml_nn/transformers/memory/sdpa.py): they are about a kernel that never writes the
  weights down. Spelled out it would be another page.
* [Attention sinks](../labml_nn/transformers/memory/attention_sinks.py): the model that shows
  them looks up names, and can't continue a text.
* [Cross-attention](../labml_nn/transformers/variants/cross_attention.py): it needs a second text,
  which a language model hasn't.
* [The cache](../labml_nn/transformers/kv_cache.py): it runs as the step of writing, on its
  own page and on the first one.
* [Absorbed attention](../labml_nn/transformers/memory/absorbed_attention.py), [score
  functions](../labml_nn/transformers/memory/score_functions.py), [rotary
  pairs](../labml_nn/transformers/positions/rotary_pairs.py), [rotary
  scaling](../labml_nn/transformers/positions/rotary_scaling.py),
  [extrapolation](../labml_nn/transformers/positions/extrapolation.py), and the four ways [side by
  side](../labml_nn/transformers/ways/side_by_side.py): they compare several forms of something,
  and none of them is a part of one model.
* The [museum of mistakes](../labml_nn/transformers/mistakes/__init__.py): its modules are wrong. A
  trained model with one of them would look as if it worked.
* [Training](../labml_nn/training/__init__.py), [optimizers](../labml_nn/optimizers/muon.py),
  experiments, ablations and the course: they change weights, and a graph has the forward pass only.

Those that have an example show its recorded run, which needs no graph.
"""
