r"""CPM-Ant: an attention mask is taken, and never used; and the first token sees the last."""

import torch
from transformers import CpmAntConfig, CpmAntForCausalLM

torch.manual_seed(0)
sizes = {"vocab_size": 64, "hidden_size": 32, "num_attention_heads": 4, "dim_head": 8, "dim_ff": 64}
model = CpmAntForCausalLM(CpmAntConfig(**sizes, num_hidden_layers=2, prompt_length=4)).eval()
for weight in model.parameters():
    torch.nn.init.normal_(weight, std=0.3)
mask = torch.tensor([[0, 1, 1]])
with torch.no_grad():
    one = model(torch.tensor([[3, 4, 5]]), attention_mask=mask).logits
    first = model(torch.tensor([[9, 4, 5]]), attention_mask=mask).logits
    last = model(torch.tensor([[3, 4, 9]]), attention_mask=mask).logits
print((one - first)[:, 1:].abs().max().item(), (one - last)[:, 0].abs().max().item())
assert (one - first)[:, 1:].abs().max() > 0.01 * one.std()
assert (one - last)[:, 0].abs().max() > 0.01 * one.std()
