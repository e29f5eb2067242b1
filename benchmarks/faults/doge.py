r"""transformers 5.12.0, Doge: a mask that is left out, as causal, takes causality with it."""

import torch
from transformers import DogeConfig, DogeForCausalLM

torch.manual_seed(0)
sizes = {"vocab_size": 64, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
heads = {"num_attention_heads": 4, "num_key_value_heads": 2}
model = DogeForCausalLM(DogeConfig(**sizes, **heads)).eval()
for weight in model.parameters():
    torch.nn.init.normal_(weight, std=0.3)
with torch.no_grad():
    one = model(torch.tensor([[3, 4, 5]])).logits[:, 0]
    other = model(torch.tensor([[3, 4, 9]])).logits[:, 0]
print((one - other).abs().max().item(), "of", one.std().item())
assert (one - other).abs().max() > 0.01 * one.std()
