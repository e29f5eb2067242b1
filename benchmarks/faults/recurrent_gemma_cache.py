r"""RecurrentGemma: with a cache, two new tokens at once miss what the convolution had kept."""

import torch
from transformers import DynamicCache, RecurrentGemmaConfig, RecurrentGemmaForCausalLM

torch.manual_seed(0)
sizes = {"vocab_size": 64, "hidden_size": 32, "lru_width": 32, "intermediate_size": 64}
heads = {"num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 8, "num_hidden_layers": 3}
model = RecurrentGemmaForCausalLM(RecurrentGemmaConfig(**sizes, **heads)).eval()
tokens = torch.tensor([[3, 4, 5, 6, 7]])
cache = DynamicCache(config=model.config)
with torch.no_grad():
    whole = model(tokens, use_cache=False).logits
    model(tokens[:, :3], position_ids=torch.tensor([[0, 1, 2]]), cache=cache)
    parts = model(tokens[:, 3:], position_ids=torch.tensor([[3, 4]]), cache=cache).logits
print((parts - whole[:, 3:]).abs().max().item(), "of", whole.std().item())
assert (parts - whole[:, 3:]).abs().max() > 0.01 * whole.std()
