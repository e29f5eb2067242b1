r"""
---
title: A Museum of Mistakes
summary: What published attentions do wrong, what it costs, and tests that find it in yours.
layout: gallery
---

Attention is ten lines, and each of them can be wrong in such a way that everything has the right
shape and the model trains. All mistakes here but two were made in public, in tutorials, courses and
libraries, two of PyTorch's own tutorials among them. So care isn't enough: it takes tests.

The *printed loss* is what a training program prints: how badly the model predicts each letter of a
text that it wasn't trained on. The [*honest loss*](../../training/leaks.py) is the same where the
model gets only the letters before, as when it writes. If a model has learned to look at the letter
that it should predict, the first is low and the second is not.

[Inverted: this line shows the future and hides the past](masks.py#MaskInverted "difference")

Of the first [22](../../../results/mistakes.json#values.mistakes) mistakes,
[9](../../../results/mistakes.json#values.look_better) print a loss that is *better* than the right
model's by more than 0.1. (The right model's own two losses differ because the honest one is
measured at [24](../../../results/mistakes.json#values.sizes.n_places) places of the text, which
happen to be a little easier.)

**[Test your own model](language_model.py)** with one call, or [your
attention](attention_tests.py) with another that names a known mistake. Both are of a
[package](../../../wrongline/__init__.py) that needs PyTorch and nothing else. Or [paste
it](../../../wrongline/pasted.py): it is tested in your browser.

## The mistakes

Each is the right code with [one line replaced](one_line.py). The first 22 are those that we trained
with one model; the lowest printed loss comes first. The others don't run, or training doesn't show
them, or they belong to later rooms.

[All mistakes](../../../results/mistakes.json#tables.mistakes "gallery")

Later rooms were trained with a smaller model, from [3](../../../results/rooms.json#values.seeds)
seeds. Each of their mistakes stands below what is right:

[Positions, shared keys, steps and measurements](../../../results/rooms.json#tables.rooms)

## The rooms

What is right:

1. [The right attention](right_attention.py), straight through.
2. [One wrong line](one_line.py): how an exhibit is made from it.
3. [The right model and its training](right_model.py) around it.

The mistakes:

4. [Widths and scales](projections.py): one projection for all, `/` for `//`, the wrong root.
5. [Masks](masks.py): unused, gone in evaluation, off by one, inverted, too late, zeros.
6. [Axes and views](axes.py): the softmax along another axis, a view for a transpose, globals.
7. [Positions, data and training](model_mistakes.py): the wrong axis, targets, dropout, the loss.
8. [Numbers and decoding](decoding.py): rows with nothing in them, finite masks, a cache.
9. [Positions](position_mistakes.py): rotary pairs that don't fit their table.
10. [Caches and shared keys](caches.py): a prompt without a mask, an offset that jumps.
11. [The training step](step_mistakes.py): parts, clipping, weights that nobody moves.
12. [Measuring](measuring.py): a text seen before, learning too early, more than one in all.
13. [What they do to the loss](experiment.py): each of the first 22 trained.
14. [Train one](train_here.py) in your browser: there is a button below each that can be trained.

The tests:

15. [How a leak is found](language_model.py), in any model.
16. [Three leaks that were published](published_leaks.py): two of them don't show in a short text.
17. [How a mistake is named](attention_tests.py), in an attention.
18. [A census](../../../docs/census.md): what the tests say about models that people run.
19. [Who finds which wrong line](../../../docs/wrong_lines.md): these mistakes before other tools.
20. [The package](../../../wrongline/__init__.py) with all tests, each on a page: of an
    [attention](../../../wrongline/attention_tests.py), by its
    [properties](../../../wrongline/properties.py) and by a
    [comparison](../../../wrongline/comparison.py); of a [whole
    model](../../../wrongline/model_tests.py), of its [cache](../../../wrongline/cache_tests.py),
    and of [training](../../../wrongline/training_tests.py).
"""
