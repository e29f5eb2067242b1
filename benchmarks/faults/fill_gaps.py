r"""XLNet and XLM as causal language models: the first token sees the last, by their defaults."""

import torch
from transformers import XLMConfig, XLMWithLMHeadModel, XLNetConfig, XLNetLMHeadModel

torch.manual_seed(0)
xlnet = XLNetLMHeadModel(XLNetConfig(vocab_size=64, d_model=32, n_layer=2, n_head=4, d_inner=64))
xlm = XLMWithLMHeadModel(XLMConfig(vocab_size=64, emb_dim=32, n_layers=2, n_heads=4))
for model in (xlnet.eval(), xlm.eval()):
    for weight in model.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    with torch.no_grad():
        one = model(torch.tensor([[3, 4, 5]])).logits[:, 0]
        other = model(torch.tensor([[3, 4, 9]])).logits[:, 0]
    print(type(model).__name__, (one - other).abs().max().item(), "of", one.std().item())
    assert (one - other).abs().max() > 0.01 * one.std()
