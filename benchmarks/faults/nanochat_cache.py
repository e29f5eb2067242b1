r"""nanochat (commit 92d63d4): of several new tokens after a cache, the first isn't smeared."""

import sys
import types

import torch

# What loads weights isn't needed, and imports more.
sys.modules["nanochat.checkpoint_manager"] = types.SimpleNamespace(load_model=None)

from nanochat.engine import KVCache  # noqa: E402
from nanochat.gpt import GPT, GPTConfig  # noqa: E402

sizes = {"n_layer": 2, "n_head": 2, "n_kv_head": 2, "n_embd": 32}
for smear in (0.0, 1.0):
    torch.manual_seed(0)
    model = GPT(GPTConfig(sequence_len=64, vocab_size=50, window_pattern="L", **sizes))
    model.init_weights()
    for weights in model.parameters():
        torch.nn.init.normal_(weights, std=0.2)
    # Training begins with 0, and learns another value.
    torch.nn.init.constant_(model.smear_lambda, smear)
    tokens = torch.randint(50, (1, 12))
    cache = KVCache(1, 2, 12, 16, 2, "cpu", torch.float32)
    with torch.no_grad():
        whole = model(tokens)[:, 6:]
        model(tokens[:, :6], kv_cache=cache)
        part = model(tokens[:, 6:], kv_cache=cache)
    off = (part - whole).abs().max()
    print(f"smear {smear}: {off.item():.6f} of {whole.std().item():.2f}")
    assert (off > 0.01 * whole.std()) == (smear != 0)
