r"""Zamba 2, Nemotron-H: a step has at least `time_step_min`, unless it is for one new token."""

import torch
from transformers import NemotronHConfig, NemotronHForCausalLM

torch.manual_seed(0)
sizes = {"vocab_size": 64, "hidden_size": 32, "mamba_num_heads": 8, "mamba_head_dim": 8}
config = NemotronHConfig(**sizes, layers_block_type=["mamba", "attention"], n_groups=1)
model = NemotronHForCausalLM(config).eval()
for name, weight in model.named_parameters():
    if weight.dim() > 1:
        torch.nn.init.normal_(weight, std=0.3)
    torch.nn.init.constant_(weight, -9.0) if name.endswith("dt_bias") else None
    torch.nn.init.zeros_(weight) if name.endswith("mixer.D") else None
tokens = torch.randint(64, (1, 12))
with torch.no_grad():
    whole = model(tokens, use_cache=False).logits[:, -1]
    cache = model(tokens[:, :-1], use_cache=True).cache
    last = model(tokens[:, -1:], cache=cache, use_cache=True).logits[:, -1]
print((last - whole).abs().max().item(), "of", whole.std().item())
assert (last - whole).abs().max() > 0.01 * whole.std()
