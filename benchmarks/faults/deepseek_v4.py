r"""DeepSeek V4: a token that the attention mask hides goes into the summary of its chunk."""

import torch
from transformers import DeepseekV4Config, DeepseekV4ForCausalLM

torch.manual_seed(0)
sizes = {"vocab_size": 64, "hidden_size": 32, "moe_intermediate_size": 32, "n_routed_experts": 4}
heads = {"num_attention_heads": 4, "head_dim": 16, "q_lora_rank": 16, "o_lora_rank": 16}
layer = {"layer_types": ["heavily_compressed_attention"], "num_hidden_layers": 1, "o_groups": 1}
rates = {"compress_rates": {"heavily_compressed_attention": 4}}
model = DeepseekV4ForCausalLM(DeepseekV4Config(**sizes, **heads, **layer, **rates)).eval()
for weight in model.parameters():
    torch.nn.init.normal_(weight, std=0.3)
tokens = torch.randint(64, (1, 12))
mask = torch.tensor([[0] + [1] * 11])
with torch.no_grad():
    one = model(tokens, attention_mask=mask).logits[:, 1:]
    tokens[0, 0] = (tokens[0, 0] + 1) % 64
    other = model(tokens, attention_mask=mask).logits[:, 1:]
print((one - other).abs().max().item(), "of", one.std().item())
assert (one - other).abs().max() > 0.01 * one.std()
