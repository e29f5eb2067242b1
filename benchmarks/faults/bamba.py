r"""Bamba: without `position_ids`, the tokens after a cache begin at position 0."""

import torch
from transformers import BambaConfig, BambaForCausalLM

torch.manual_seed(0)
sizes = {"vocab_size": 64, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "mamba_n_heads": 8, "mamba_d_head": 8}
model = BambaForCausalLM(BambaConfig(**sizes, **heads, attn_layer_indices=[1])).eval()
for weight in model.parameters():
    if weight.dim() > 1:
        torch.nn.init.normal_(weight, std=0.3)
tokens = torch.randint(64, (1, 12))
with torch.no_grad():
    whole = model(tokens, use_cache=False).logits[:, -1]
    cache = model(tokens[:, :-1], use_cache=True).cache
    last = model(tokens[:, -1:], cache=cache, use_cache=True).logits[:, -1]
print((last - whole).abs().max().item(), "of", whole.std().item())
assert (last - whole).abs().max() > 0.01 * whole.std()
