r"""Moshi: the cache has a window, and the model without a cache has none."""

import torch
from transformers import MoshiConfig, MoshiForCausalLM

torch.manual_seed(0)
sizes = {"vocab_size": 64, "hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 2}
config = MoshiConfig(**sizes, ffn_dim=64, sliding_window=4, audio_vocab_size=64)
model = MoshiForCausalLM(config).eval()
tokens = torch.randint(64, (1, 12))
with torch.no_grad():
    whole = model(tokens, use_cache=False).logits[:, -1]
    cache = model(tokens[:, :-1], use_cache=True).cache
    last = model(tokens[:, -1:], cache=cache, use_cache=True).logits[:, -1]
print((last - whole).abs().max().item(), "of", whole.std().item())
assert (last - whole).abs().max() > 0.01 * whole.std()
