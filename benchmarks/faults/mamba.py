r"""Mamba and what has its layer: after one token, two more at once are read without it."""

import torch
from transformers import AutoModelForCausalLM, FalconMambaConfig, MambaConfig

tokens = torch.tensor([[3, 4, 5]])
for config in (MambaConfig, FalconMambaConfig):
    torch.manual_seed(0)
    small = config(vocab_size=64, hidden_size=32, state_size=4, num_hidden_layers=1)
    model = AutoModelForCausalLM.from_config(small).eval()
    for name, weight in model.named_parameters():
        torch.nn.init.normal_(weight, std=0.3) if "proj" in name or "embed" in name else None
    with torch.no_grad():
        whole = model(tokens).logits[:, 1:]
        cache = model(tokens[:, :1], use_cache=True).cache
        parts = model(tokens[:, 1:], cache=cache, use_cache=True).logits
    print(config.__name__, (parts - whole).abs().max().item(), "of", whole.std().item())
    assert (parts - whole).abs().max() > 0.01 * whole.std()
