r"""RWKV: a token that the attention mask hides changes the logits of the tokens after it."""

import torch
from transformers import RwkvConfig, RwkvForCausalLM

torch.manual_seed(0)
model = RwkvForCausalLM(RwkvConfig(vocab_size=64, hidden_size=32, num_hidden_layers=2)).eval()
for weight in model.parameters():
    torch.nn.init.normal_(weight, std=0.3)
mask = torch.tensor([[0, 1, 1]])
with torch.no_grad():
    one = model(torch.tensor([[3, 4, 5]]), attention_mask=mask).logits[:, 1:]
    other = model(torch.tensor([[9, 4, 5]]), attention_mask=mask).logits[:, 1:]
print((one - other).abs().max().item(), "of", one.std().item())
assert (one - other).abs().max() > 0.01 * one.std()
