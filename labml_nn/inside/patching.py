r"""
---
title: Knocking Out and Patching Heads
summary: Replace the output of one head, and see how much of the answer goes, or comes back.
terms:
  knock-out: Replaces the output of a part of a model by zero or by its mean.
  patching: Replaces the output of a part of a model by that of a run on another text.
---

A head with a high [induction score](induction.py#induction_score) *looks* at the answer. Does the
model *use* what the head sees there? The score can't tell. To know what a part of a machine does,
take it out and see what fails: a *knock-out*. Or put it into another machine that has failed, and
see what works again: *patching*.

The output of an attention layer is a sum with one term for each head. Say that in the last layer
three heads add 2, 0.1 and 3 to the logit of the right answer, 5.1 together. Without the second head
it is 5.0, and hardly anything is lost; without the third it is 2.1. A head may look as if it did
the work, and be missed as little. In our model, with one seed, one looks for repetitions with a
score of [0.66](../../results/induction.json#values.idle.score), and without it the loss where
sequences repeat is still only [0.050](../../results/induction.json#values.idle.without).

**In:** a model, tokens, `[seq_len, batch_size]`, and new outputs for some heads: $d_k$ features for
each token. **Out:** the logits of the model with these outputs replaced.

$$\operatorname{Concat}(z_1, \dots, z_H)\, W^O = \sum_{h=1}^{H} z_h W^O_h$$

$H$ is the number of heads, and $z_h$ the output of head $h$: $d_k$ features, a weighted average of
values. $W^O$ is the last projection of [the layer](../transformers/mha.py), and $W^O_h$ its rows
for $z_h$. Replace one $z_h$, and the other terms stay as they are.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager

import torch
from torch import Tensor, nn

from labml_nn.inside.induction import AttentionOnly, RepeatedParts
from labml_nn.transformers.mha import MultiHeadAttention

# A head by its layer and its number, both counted from 0.
Head = tuple[int, int]


@contextmanager
def edited(attention: MultiHeadAttention, edit: Callable[[Tensor], Tensor]) -> Iterator[None]:
    r"""
    ## Edit the outputs of heads

    In a `with` block, a layer goes on with what `edit` returns for the outputs $z$ of its heads.
    """

    # A *hook* is a function that PyTorch calls when a module is called. This kind comes before it,
    # and gets what goes into it. The last projection of an attention layer gets the outputs of all
    # heads, side by side.
    def before(projection: nn.Module, inputs: tuple[Tensor]) -> Tensor:
        # The heads get an axis of their own, and lose it again. The module gets what this returns.
        z = inputs[0].unflatten(-1, (attention.heads, attention.d_k))
        return edit(z).flatten(start_dim=2)

    # A hook that isn't removed would change all later runs, without an error.
    hook = attention.output.register_forward_pre_hook(before)
    try:
        # Here the block runs.
        yield
    finally:
        hook.remove()


def record(model: AttentionOnly, tokens: Tensor) -> list[Tensor]:
    r"""
    ## Record

    The output of each head. The axes are those of positions, sequences, heads and $d_k$ features.
    """
    outputs: list[Tensor] = []

    def keep(z: Tensor) -> Tensor:
        # Nothing is changed here, only kept.
        outputs.append(z.detach())
        return z

    # The hooks of all layers, for one run; at the end of the block the stack removes them. Layers
    # are called in order, and so are these hooks.
    with ExitStack() as hooks:
        for layer in model.layers:
            hooks.enter_context(edited(layer, keep))
        model(tokens)
    return outputs


def run(model: AttentionOnly, tokens: Tensor, says: Mapping[Head, Tensor]) -> Tensor:
    r"""
    ## Run with other outputs

    `says` has new outputs for some heads: $d_k$ features for each token, or the same for all.
    """

    # An edit for each layer, which changes the heads of that layer and no others. The number is
    # bound here, because a loop variable would be the last one for all.
    def replaced_in(number: int) -> Callable[[Tensor], Tensor]:
        def edit(z: Tensor) -> Tensor:
            # In place: nothing else reads this tensor. The other heads of the layer keep their
            # outputs.
            for (layer, head), output in says.items():
                if layer == number:
                    z[:, :, head] = output
            return z

        return edit

    # A second layer reads the outputs of the first one as they are *now*.
    with ExitStack() as hooks:
        for number, layer in enumerate(model.layers):
            hooks.enter_context(edited(layer, replaced_in(number)))
        return model(tokens)


def knock_out(
    model: AttentionOnly, tokens: Tensor, heads: Iterable[Head], mean: bool = False
) -> Tensor:
    r"""
    ## Knock out

    The logits if the outputs of some heads are zero or, with `mean`, their mean.
    """
    # The new output of each of these heads. For zeros, the recorded outputs only give the size.
    outputs = record(model, tokens)
    says = {}
    for layer, head in heads:
        # Over all positions and sequences, so it tells nothing about any of them.
        average = outputs[layer][:, :, head].mean(dim=(0, 1))

        # Zero tells nothing either. But it may be far from all that a later layer has ever read.
        says[layer, head] = average if mean else torch.zeros_like(average)
    return run(model, tokens, says)


def patch(model: AttentionOnly, tokens: Tensor, other: Tensor, heads: Iterable[Head]) -> Tensor:
    r"""
    ## Patch

    The logits for `tokens` with the outputs that some heads have for `other`.
    """
    # Position by position, so both texts have the same length. The first layer is recorded on the
    # other text, and so is the second: a head's output there is that of the whole run.
    outputs = record(model, other)
    return run(model, tokens, {(layer, head): outputs[layer][:, :, head] for layer, head in heads})


def swap(tokens: Tensor, one: int, other: int) -> Tensor:
    r"""
    ## Swap two positions

    For patching, two texts should differ in one thing. Here two tokens have changed places:

    | text | tokens | next |
    | --- | --- | --- |
    | clean | F B H C D E F B | H |
    | *keys* swapped: B and D | F D H C B E F B | E |
    | *answers* swapped: H and E | F B E C D H F B | E |
    """
    # The order of all positions,
    order = torch.arange(len(tokens))

    # with two of them exchanged, in each sequence of the batch.
    order[[one, other]] = order[[other, one]]
    return tokens[order]


def preference(logits: Tensor, right: Tensor, wrong: Tensor) -> Tensor:
    r"""
    ## Preference

    The logit of H minus that of E, at the last position. A mean over the sequences.
    """
    # What raises all logits alike cancels out: `[batch_size, n_vocab]`.
    last = logits[-1]

    # One token for each sequence.
    return (last.gather(1, right[:, None]) - last.gather(1, wrong[:, None])).mean()


def restored(
    model: AttentionOnly,
    clean: Tensor,
    swapped: Tensor,
    heads: Iterable[Head],
    right: Tensor,
    wrong: Tensor,
) -> Tensor:
    r"""
    ## How much comes back

    $$\frac{D_\text{patched} - D_\text{swapped}}{D_\text{clean} - D_\text{swapped}}$$

    $D$ is the preference for the right token, *patched* that in the swapped text with heads of the
    clean one. At 1 the answer is back as a whole, at 0 nothing is.
    """
    # Between these two is all that could come back.
    low = preference(model(swapped), right, wrong)
    high = preference(model(clean), right, wrong)

    # The swapped text, with heads of the clean run.
    patched = preference(patch(model, swapped, clean, heads), right, wrong)
    return (patched - low) / (high - low)


def example(
    seq_len: int = 19, batch_size: int = 3, heads: int = 5, n_pairs: int = 2, n_vocab: int = 13
) -> tuple[Tensor, ...]:
    r"""
    ## Example

    ### Measured here

    The head with the score 0.66 is one of the second layer, with our third seed. With all heads the
    loss is [0.032](../../results/induction.json#values.idle.none) nats. Of the three other heads of
    the layer, the lowest score is [0.95](../../results/induction.json#values.idle.others_score),
    and without one of them the loss is
    [0.733](../../results/induction.json#values.idle.others_without) or more.

    [Each head of the first seed: the loss without it, and how much of the answer it brings
    back](../../results/induction.json#tables.heads)

    ### Where the answer comes from

    We patch all heads of a layer (means of three seeds). If the keys are swapped, layer 1 brings
    back [0.93](../../results/induction.json#values.patched.first_keys) of the answer, and layer 2
    [1.00](../../results/induction.json#values.patched.second_keys). If the answers are swapped, it
    is [0.02](../../results/induction.json#values.patched.first_answers) and
    [1.00](../../results/induction.json#values.patched.second_answers). So layer 1 says where the
    answer is, and layer 2 what it is.

    ### What did not help here

    There is [a list](../../docs/what_did_not_help.md) of more such things.

    The mean in place of zero. Without layer 2 the loss is
    [3.439](../../results/induction.json#values.knocked.second) with zeros and
    [3.436](../../results/induction.json#values.knocked.second_mean) with means; without layer 1,
    [4.064](../../results/induction.json#values.knocked.first) and
    [3.742](../../results/induction.json#values.knocked.first_mean), both worse than guessing.

    ### Exercises

    ??? question "Patch all heads of both layers. Which share comes back?"
        All of it, 1. The last token is the same in both texts, so all terms of its stream are, too.

    ??? question "In F B H C D E F B, swap the first F and D instead. What comes next?"
        H, as before: in D B H C F E F B it still follows B. There is nothing to bring back.

    ??? question "Leave out `hook.remove()`, and knock out another head. What is the result?"
        A model without both heads, and no error.
    """
    # Parts of eleven tokens. The last token stands at `key` as well.
    clean, _ = RepeatedParts(n_vocab, seq_len, batch_size, 11, 11).at(0)
    key = seq_len - 12
    model = AttentionOnly(n_vocab, heads * 2 * n_pairs, heads, 2, seq_len)

    # Without all heads of layer 2: what is left can't copy what stood behind the earlier token.
    logits = knock_out(model, clean, [(1, head) for head in range(heads)])

    # The answers swapped, and how much of the right one comes back with a head.
    swapped = swap(clean, key + 1, 1)
    share = restored(model, clean, swapped, [(1, 0)], clean[key + 1], clean[1])
    return logits, swapped, share
