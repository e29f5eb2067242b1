r"""RecurrentGemma: a token that the attention mask hides goes into the recurrent state."""

import torch
from transformers import RecurrentGemmaConfig, RecurrentGemmaForCausalLM

torch.manual_seed(0)
sizes = {"vocab_size": 64, "hidden_size": 32, "lru_width": 32, "intermediate_size": 64}
heads = {"num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 8, "num_hidden_layers": 3}
model = RecurrentGemmaForCausalLM(RecurrentGemmaConfig(**sizes, **heads)).eval()
mask = torch.tensor([[0, 1, 1]])
with torch.no_grad():
    one = model(torch.tensor([[3, 4, 5]]), attention_mask=mask).logits[:, 1:]
    other = model(torch.tensor([[9, 4, 5]]), attention_mask=mask).logits[:, 1:]
print((one - other).abs().max().item(), "of", one.std().item())
assert (one - other).abs().max() > 0.01 * one.std()
