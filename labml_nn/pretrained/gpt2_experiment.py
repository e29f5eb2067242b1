r"""
---
title: GPT-2 Writes with Our Source
summary: Download the published weights, write with them, and break one detail after the other.
know: byte_level.py
---

Is every detail of [our GPT-2](gpt2.py) right? With random weights, another program gives the same
numbers. With the real weights you can also read what it writes, and measure its loss. Take a small
GPT-2 of letters, and exchange the matrices of queries and keys. All shapes are right, and for the
same input, query 3 and key 1 now get the score of query 1 and key 3. The loss goes from
[2.118](../../results/pretrained.json#tables.gpt2.all%20right.loss) to
[3.684](../../results/pretrained.json#tables.gpt2.queries%20and%20keys%20exchanged.loss).

**In:** nothing, or a folder that you have. **Out:** text that our own modules write with GPT-2's
weights, and the loss on a sentence for each of some wrong tables.

The notebook downloads four files, 550 MB together: “config.json”, “vocab.json”, “merges.txt” and
“model.safetensors” of “openai-community/gpt2”. [What comes is compared](download.py) with the size
and the SHA-256 of each file. Both are written down below, as several public projects have them for
this revision.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
import torch.nn.functional as F
from torch import Tensor

from labml_nn.basics.byte_pairs import letters_of_bytes
from labml_nn.pretrained.byte_level import read_tokenizer
from labml_nn.pretrained.checkpoint import write_file
from labml_nn.pretrained.download import fetch
from labml_nn.pretrained.gpt2 import LAYER, load_gpt2
from labml_nn.pretrained.names import Rule, as_it_is
from labml_nn.training.sampling import write

# The hash of a revision is in the address, so nobody can put other files there.
ADDRESS = "https://huggingface.co/openai-community/gpt2/resolve/"
ADDRESS += "607a30d783dfa663caf39e06633721c8d4cfcd7e/"
# The number of bytes and the checksum of each file.
WEIGHTS = "248dfc3911869ec493c76e65bf2fcf7f615828b0254c12b473182f0f81d3a707"
FILES = {
    "config.json": (665, "0daed7749b4f02b8f76240d5444551d7b08712dab4d0adb8239c56ba823bb7b4"),
    "merges.txt": (456_318, "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5"),
    "vocab.json": (1_042_301, "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783"),
    "model.safetensors": (548_105_171, WEIGHTS),
}

# Written for this page, years after GPT-2 was trained, so it can't have read it.
TEXT = "Two goats took the ferry. An old woman had bought three tickets, and one was for her."


def random_folder(folder: Path, seq_len: int, d: int = 20) -> None:
    r"""
    ## A folder without a download

    The same four files, of a model with two layers of width `d` and random weights.
    """
    # All bytes, no merges, and the token between two texts. So each letter is a token, or two to
    # four outside ASCII.
    numbers = {token: n for n, token in enumerate([*letters_of_bytes(), "<|endoftext|>"])}
    (folder / "vocab.json").write_text(json.dumps(numbers), encoding="utf-8")
    (folder / "merges.txt").write_text("#version: 0.2\n", encoding="utf-8")

    # GPT-2's shapes: matrices as it has them, with a row for each number that goes in. Inside the
    # feed-forward network there are four times as many.
    layer = {"ln_1": (d,), "attn.c_attn": (d, 3 * d), "attn.c_proj": (d, d), "ln_2": (d,)}
    layer |= {"mlp.c_fc": (d, 4 * d), "mlp.c_proj": (4 * d, d)}
    shapes = {f"h.{n}.{name}": shape for n in (0, 1) for name, shape in layer.items()}

    # Tokens and positions have no bias.
    tensors = {"wte.weight": torch.randn(len(numbers), d), "wpe.weight": torch.randn(seq_len, d)}
    for name, shape in (shapes | {"ln_f": (d,)}).items():
        tensors |= {f"{name}.weight": torch.randn(shape), f"{name}.bias": torch.zeros(shape[-1:])}

    # Small, so that no token is much likelier than the others. With random gains of about a fifth,
    # layers add little.
    write_file(folder / "model.safetensors", {name: x / 5 for name, x in tensors.items()})

    # Sizes, under the names that they have there. Five heads of four features, and nothing about
    # the feed-forward network.
    config = {"model_type": "gpt2", "layer_norm_epsilon": 1e-5, "n_positions": seq_len}
    config |= {"vocab_size": len(numbers), "n_embd": d, "n_head": 5, "n_layer": 2}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")


def exchanged(one: str, other: str) -> dict[str, Rule]:
    r"""
    ## One wrong detail

    The table of a layer with two of its rules in each other's place.
    """
    return LAYER | {one: LAYER[other], other: LAYER[one]}


# `fill` has nothing against these tables: all names are used, and all shapes are right. A mistake
# is the same in all layers.
TABLES: dict[str, Mapping[str, Rule]] = {
    "all right": LAYER,
    "output of attention not transposed": LAYER | {"self_attn.output": ("attn.c_proj", as_it_is)},
    # Two names change places.
    "queries and keys exchanged": exchanged("self_attn.query.linear", "self_attn.key.linear"),
    "normalisations exchanged": exchanged("norm_self_attn", "norm_ff"),
}


@torch.no_grad()
def losses_of(folder: Path, tokens: Tensor) -> dict[str, float]:
    r"""
    ## The loss with each table

    Of the tokens of one text, `[seq_len]`, in nats a token.
    """
    losses = {}
    for name, layers in TABLES.items():
        # Each time the right file with another table, and a model of its own. Only what the table
        # says is different, so a higher loss is due to it.
        model = load_gpt2(folder, layers=layers).to(tokens.device)

        # A batch of one. Each token but the first is predicted from those before it, and the last
        # one predicts nothing.
        logits = model(tokens[:-1, None])[:, 0]

        # The mean over the text, in nats a token.
        losses[name] = F.cross_entropy(logits, tokens[1:]).item()
    return losses


def notebook(
    folder: str = "",
    prompt: str = "The goats",
    sample_length: int = 60,
    temperature: float = 0.8,
    seed: int = 1,
) -> None:
    r"""
    ## Try it

    With an empty `folder` it downloads GPT-2. With `random` it makes a folder with random weights,
    which needs no network. Any other name is that of a folder of yours.
    """
    # ### The files
    # In a folder beside this notebook, so that they are there when you run it again. In Colab they
    # are gone with the session.
    place = Path(folder or "gpt2")
    place.mkdir(exist_ok=True)
    torch.manual_seed(seed)
    if folder == "random":
        random_folder(place, seq_len=512)
    elif not folder:
        try:
            fetch(place, ADDRESS, FILES)
        except OSError as error:
            # If nothing has come, the folder is of no use.
            if not any(place.iterdir()):
                place.rmdir()
            said = f"GPT-2 can't be fetched ({error}); set `folder` to random."
            raise ConnectionError(said) from None

    # ### The model
    # Every class of it stands above, in this notebook. The loader has checked each name and each
    # shape.
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = load_gpt2(place).to(device)
    tokenizer = read_tokenizer(place)
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters on {device}")

    # ### What it writes
    # Change the prompt and the temperature. Each token costs a pass over the whole text, since
    # there is no cache.
    seq_len = len(model.positions.encodings)
    print(write(model, tokenizer, prompt, sample_length, seq_len, temperature))

    # ### With one wrong detail
    # By guessing, the loss would be the logarithm of the number of tokens, 10.8 for GPT-2.
    losses = losses_of(place, tokenizer.encode(TEXT).to(device))
    for name, loss in losses.items():
        print(f"{name}: loss {loss:.3f}")

    # ### The same as a picture
    # The top bar is the right model. Which mistake would you have seen in the text?
    import matplotlib.pyplot as plt

    plt.barh([*losses][::-1], [*losses.values()][::-1])
    plt.xlabel("loss of the text above, nats a token")
    plt.show()


def example(seq_len: int = 7) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    A random folder. Its losses are near that of guessing, $\ln 257 = 5.55$: a little above it, or
    a little below.

    ### Measured here

    [A small GPT-2 that is loaded with one wrong detail: means of three seeds, and how often the
    likeliest next letter is another one](../../results/pretrained.json#tables.gpt2)

    The small model has [108,416](../../results/pretrained.json#values.parameters.gpt2) parameters
    and was trained on Tiny Shakespeare for [1,000](../../results/pretrained.json#values.steps)
    steps, which took [19](../../results/pretrained.json#values.seconds) seconds of one core.

    ### What did not help, and what we couldn't do

    The loss finds large mistakes only, and one sentence is a small measurement. What we couldn't do
    is run this with the real weights, since we had no network. What was tested are the loader, the
    tokenizer and this notebook, with random weights. You'll see the losses of the real GPT-2 before
    we do.

    ### Exercises

    ??? question "How many tokens has `TEXT` in a random folder? Has it more or fewer for GPT-2?"
        85, one for each byte, since there are no merges. GPT-2 has 50,000 merges, so it has fewer.

    ??? question "Which of the tables could `fill` have refused, if the matrix weren't square?"
        The second one. In the others, both tensors have the same shape in every GPT-2.

    ??? question "The normalisations are exchanged. Would you see it in a text of the small model?"
        Hardly: [15.1 %](../../results/pretrained.json#tables.gpt2.normalisations%20exchanged.other)
        of its likeliest letters are others. So a text that reads well doesn't prove that the table
        is right.
    """
    with TemporaryDirectory() as folder:
        random_folder(Path(folder), seq_len)
        tokens = read_tokenizer(Path(folder)).encode(TEXT[:seq_len])
        losses = losses_of(Path(folder), tokens)
    return tokens, torch.tensor([*losses.values()])
