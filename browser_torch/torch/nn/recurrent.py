r"""Layers that read a sequence place by place, and carry a state from each place to the next."""

import math
from typing import Any

from torch._joining import cat, stack
from torch._making import empty
from torch._raw import filled
from torch._tensor import Tensor
from torch.nn import functional, init
from torch.nn.module import Module
from torch.nn.parameter import Parameter

# How many gates there are for each number of the state.
GATES = {"RNN_TANH": 1, "RNN_RELU": 1, "LSTM": 4, "GRU": 3}


def _next_plain(mode: str, from_input: Tensor, from_state: Tensor) -> Tensor:
    r"""The next state of a plain network."""
    total = from_input + from_state
    return total.tanh() if mode == "RNN_TANH" else total.relu()


def _next_gru(from_input: Tensor, from_state: Tensor, state: Tensor) -> Tensor:
    r"""The next state of a gated recurrent unit."""
    reset, update, new = from_input.chunk(3, -1)
    reset_state, update_state, new_state = from_state.chunk(3, -1)
    reset = (reset + reset_state).sigmoid()
    update = (update + update_state).sigmoid()
    candidate = (new + reset * new_state).tanh()
    return candidate + update * (state - candidate)


def _next_lstm(gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    r"""The next state and the next cell of a long short-term memory."""
    enter, forget, new, leave = gates.chunk(4, -1)
    cell = forget.sigmoid() * cell + enter.sigmoid() * new.tanh()
    return leave.sigmoid() * cell.tanh(), cell


class RNNBase(Module):
    r"""What all of them share: the weights of each layer and direction."""

    mode = ""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if not isinstance(hidden_size, int):
            raise TypeError(f"hidden_size should be of type int, got: {type(hidden_size).__name__}")
        if hidden_size <= 0:
            raise ValueError("hidden_size must be greater than zero")
        if num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if not 0 <= dropout <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an "
                "element being zeroed"
            )
        if not 0 <= proj_size < hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        gates = GATES[self.mode] * hidden_size
        for layer in range(num_layers):
            for suffix in self.suffixes(layer):
                width = input_size if layer == 0 else self.width * self.directions
                shapes: dict[str, tuple[int, ...]] = {"weight_ih": (gates, width)}
                shapes["weight_hh"] = (gates, self.width)
                if bias:
                    shapes |= {"bias_ih": (gates,), "bias_hh": (gates,)}
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                for name, shape in shapes.items():
                    made = empty(*shape, dtype=dtype, device=device)
                    self.register_parameter(f"{name}_{suffix}", Parameter(made))
        self.reset_parameters()

    @property
    def directions(self) -> int:
        r"""One, or two."""
        return 2 if self.bidirectional else 1

    @property
    def width(self) -> int:
        r"""How many numbers a layer gives for each place and direction."""
        return self.proj_size or self.hidden_size

    def suffixes(self, layer: int) -> list[str]:
        r"""How the names of a layer's weights end, for each direction."""
        return [f"l{layer}", f"l{layer}_reverse"][: self.directions]

    def reset_parameters(self) -> None:
        r"""Uniform numbers, smaller for more of them."""
        bound = 1.0 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def flatten_parameters(self) -> None:
        r"""Matters on a GPU alone."""

    def forward(self, input: Tensor, hx: Any = None) -> tuple[Tensor, Any]:
        r"""The states of the last layer at all places, and the last states of all layers."""
        if len(input.shape) not in (2, 3):
            raise ValueError(
                f"{type(self).__name__}: Expected input to be 2D or 3D, got {len(input.shape)}D "
                "instead"
            )
        single = len(input.shape) == 2
        if single:
            input = input.unsqueeze(1)
        elif self.batch_first:
            input = input.transpose(0, 1)
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got "
                f"{input.shape[-1]}"
            )
        states, cells = self.first_states(input, hx, single)
        ends: list[Tensor] = []
        last_cells: list[Tensor] = []
        for layer in range(self.num_layers):
            sides = []
            for place, suffix in enumerate(self.suffixes(layer)):
                number = layer * self.directions + place
                cell = None if cells is None else cells[number]
                side, state, cell = self.run(input, suffix, states[number], cell)
                sides.append(side)
                ends.append(state)
                last_cells.append(cell)
            input = cat(sides, -1) if len(sides) > 1 else sides[0]
            if layer < self.num_layers - 1:
                input = functional.dropout(input, self.dropout, self.training)
        if single:
            input = input.squeeze(1)
        elif self.batch_first:
            input = input.transpose(0, 1)
        last = [stack(one) for one in (ends, last_cells)[: 1 if cells is None else 2]]
        last = [one.squeeze(1) for one in last] if single else last
        return input, last[0] if cells is None else tuple(last)

    def first_states(self, input: Tensor, hx: Any, single: bool) -> tuple[Tensor, Tensor | None]:
        r"""The states before the first place: zeros, if none are given."""
        count = self.num_layers * self.directions
        batch_size = input.shape[1]
        widths = [self.width, self.hidden_size][: 2 if self.mode == "LSTM" else 1]
        shapes = [(count, batch_size, width) for width in widths]
        if hx is None:
            made = [filled(shape, 0, input.dtype) for shape in shapes]
        else:
            made = [*hx] if self.mode == "LSTM" else [hx]
            made = [one.unsqueeze(1) if single else one for one in made]
        for name, one, shape in zip(("hidden[0]", "hidden[1]"), made, shapes, strict=False):
            if tuple(one.shape) != shape:
                raise RuntimeError(f"Expected {name} size {shape}, got {list(one.shape)}")
        return made[0], made[1] if len(made) > 1 else None

    def run(
        self, input: Tensor, suffix: str, state: Tensor, cell: Tensor | None
    ) -> tuple[Tensor, Tensor, Any]:
        r"""One layer in one direction: all its states, the last one, and the last cell."""
        own = self._parameters
        weight = own[f"weight_hh_{suffix}"]
        bias = own.get(f"bias_hh_{suffix}")
        # What comes from the input is one product for all places.
        given = functional.linear(input, own[f"weight_ih_{suffix}"], own.get(f"bias_ih_{suffix}"))
        backwards = suffix.endswith("reverse")
        states = []
        for one in reversed(given.unbind(0)) if backwards else given.unbind(0):
            carried = functional.linear(state, weight, bias)
            if self.mode == "LSTM":
                state, cell = _next_lstm(one + carried, cell)
                if self.proj_size:
                    state = functional.linear(state, own[f"weight_hr_{suffix}"])
            elif self.mode == "GRU":
                state = _next_gru(one, carried, state)
            else:
                state = _next_plain(self.mode, one, carried)
            states.append(state)
        return stack(states[::-1] if backwards else states), state, cell

    def extra_repr(self) -> str:
        r"""The sizes, and what is not as usual."""
        parts = [f"{self.input_size}, {self.hidden_size}"]
        parts += [f"proj_size={self.proj_size}"] if self.proj_size else []
        parts += [f"num_layers={self.num_layers}"] if self.num_layers != 1 else []
        parts += ["bias=False"] if not self.bias else []
        parts += ["batch_first=True"] if self.batch_first else []
        parts += [f"dropout={self.dropout}"] if self.dropout else []
        parts += ["bidirectional=True"] if self.bidirectional else []
        return ", ".join(parts)


class RNN(RNNBase):
    r"""The plain recurrent network: the next state is that of input and state together."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        *args: Any,
        **options: Any,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'."
            )
        object.__setattr__(self, "mode", f"RNN_{nonlinearity.upper()}")
        super().__init__(input_size, hidden_size, num_layers, *args, **options)
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    r"""Long short-term memory: gates say what the cell forgets, takes in and shows."""

    mode = "LSTM"


class GRU(RNNBase):
    r"""Gated recurrent unit: gates say what of the state is used and what is replaced."""

    mode = "GRU"


class _Cell(Module):
    r"""One step of a recurrent layer."""

    mode = ""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        gates = GATES[self.mode] * hidden_size
        self.weight_ih = Parameter(empty(gates, input_size, dtype=dtype, device=device))
        self.weight_hh = Parameter(empty(gates, hidden_size, dtype=dtype, device=device))
        for name in ("bias_ih", "bias_hh"):
            made = Parameter(empty(gates, dtype=dtype, device=device)) if bias else None
            self.register_parameter(name, made)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        r"""Uniform numbers, smaller for more of them."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def forward(self, input: Tensor, hx: Any = None) -> Any:
        r"""The next state; of an LSTM the next state and cell."""
        for what, one in (("input", input), ("hidden", hx)):
            if isinstance(one, Tensor) and len(one.shape) not in (1, 2):
                raise ValueError(
                    f"{type(self).__name__}: Expected {what} to be 1D or 2D, got "
                    f"{len(one.shape)}D instead"
                )
        if hx is None:
            zeros = filled((*input.shape[:-1], self.hidden_size), 0, input.dtype)
            hx = (zeros, zeros) if self.mode == "LSTM" else zeros
        state = hx[0] if self.mode == "LSTM" else hx
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input has inconsistent input_size: got {input.shape[-1]} expected "
                f"{self.input_size}"
            )
        if state.shape[-1] != self.hidden_size:
            raise RuntimeError(
                f"hidden0 has inconsistent hidden_size: got {state.shape[-1]}, expected "
                f"{self.hidden_size}"
            )
        given = functional.linear(input, self.weight_ih, self.bias_ih)
        carried = functional.linear(state, self.weight_hh, self.bias_hh)
        if self.mode == "LSTM":
            return _next_lstm(given + carried, hx[1])
        if self.mode == "GRU":
            return _next_gru(given, carried, state)
        return _next_plain(self.mode, given, carried)

    def extra_repr(self) -> str:
        r"""The sizes, and what is not as usual."""
        text = f"{self.input_size}, {self.hidden_size}"
        if not self.bias:
            text += f", bias={self.bias}"
        kind = getattr(self, "nonlinearity", "tanh")
        return text if kind == "tanh" else f"{text}, nonlinearity={kind}"


class RNNCell(_Cell):
    r"""One step of `RNN`."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        object.__setattr__(self, "mode", f"RNN_{nonlinearity.upper()}")
        super().__init__(input_size, hidden_size, bias, device, dtype)
        self.nonlinearity = nonlinearity


class LSTMCell(_Cell):
    r"""One step of `LSTM`."""

    mode = "LSTM"


class GRUCell(_Cell):
    r"""One step of `GRU`."""

    mode = "GRU"
