r"""All that is drawn, in one order, from several seeds: ANSWER."""

import pickle
import sys
from pathlib import Path

import torch
from plain import plain

if __name__ == "__main__":
    torch.set_num_threads(1)
    answers = {}
    for seed in (0, 1, 12345678901, 2**40 + 7):
        torch.manual_seed(seed)
        own = torch.Generator().manual_seed(seed)
        probabilities = torch.tensor([[0.1, 0.2, 0.7], [0.5, 0.4, 0.1]])
        state = torch.get_rng_state()
        ones = torch.ones(7, 5)
        drawn = {
            "rand": torch.rand(9),
            "rand of doubles": torch.rand(9, dtype=torch.float64),
            "randn of few": torch.randn(5),
            "randn of many": torch.randn(1000),
            "randn of many and a few": torch.randn(33),
            "randn of doubles": torch.randn(17, dtype=torch.float64),
            "randn of bfloat16": torch.randn(40, dtype=torch.bfloat16),
            "randn of half": torch.randn(40, dtype=torch.float16),
            "randn of few bfloat16": torch.randn(5, dtype=torch.bfloat16),
            "rand of bfloat16": torch.rand(40, dtype=torch.bfloat16),
            "rand of half": torch.empty(9, dtype=torch.float16).uniform_(-2, 1),
            "normal": torch.empty(40).normal_(1, 2),
            "normal of few": torch.empty(8).normal_(1, 2),
            "normal of tensors": torch.normal(torch.zeros(20), torch.arange(20.0)),
            "integers": torch.randint(3, 100, (7,)),
            "integers of a generator": torch.randint(10, (4, 5), generator=own),
            "a permutation": torch.randperm(50),
            "a permutation of a generator": torch.randperm(9, generator=own),
            "uniform": torch.empty(33).uniform_(-2, 3),
            "bernoulli in place": torch.empty(20).bernoulli_(0.3),
            "bernoulli": torch.bernoulli(torch.full((20,), 0.3)),
            "exponential": torch.empty(20).exponential_(),
            "one of three": torch.multinomial(probabilities, 1),
            "two of three": torch.multinomial(probabilities, 2),
            "many of three": torch.multinomial(probabilities[0], 20, replacement=True),
            "linear": torch.nn.Linear(7, 5).weight,
            "embedding": torch.nn.Embedding(4, 3).weight,
            "attention": torch.nn.MultiheadAttention(8, 2).in_proj_weight,
            "xavier": torch.nn.init.xavier_normal_(torch.empty(5, 6)),
            "truncated": torch.nn.init.trunc_normal_(torch.empty(50, 60), std=1.5),
            "kaiming": torch.nn.init.kaiming_normal_(torch.empty(5, 6)),
            "dropout": torch.nn.functional.dropout(ones, 0.2),
            "dropout of a transpose": torch.nn.functional.dropout(ones.t(), 0.5),
            "like": torch.rand_like(ones) + torch.randn_like(ones),
            "random_": torch.empty(5, dtype=torch.int64).random_(10),
        }
        torch.set_rng_state(state)
        drawn["the same again"] = torch.rand(9)
        with torch.random.fork_rng():
            torch.rand(3)
        drawn["after a fork"] = torch.rand(3)
        answers[seed] = {name: plain(value) for name, value in drawn.items()}
    Path(sys.argv[1]).write_bytes(pickle.dumps(answers))
