import string

import torch
from torch import Tensor, nn

from labml_nn.fine_tuning.lora import adapt, adapter, merge
from labml_nn.training.data import CharTokenizer, RandomWindows
from labml_nn.training.loop import adamw, evaluate, train
from labml_nn.training.sampling import write
from labml_nn.transformers.basic.autoregressive_experiment import read_text
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer
