r"""
---
title: Autograd
summary: The derivatives of a loss with respect to all weights, in one backward pass.
paper:
  title: "Automatic Differentiation in Machine Learning: a Survey"
  authors: Baydin et al.
  year: 2018
  link: https://arxiv.org/abs/1502.05767
terms:
  autograd (backpropagation): Records a computation, and walks back through it for derivatives.
  chain rule: The derivative of f(g(x)) is the product of the derivatives of f and of g.
  finite difference: An estimate of a derivative, from two values that are a small step apart.
---

To train a model you need to know, for each weight, what happens to the loss when the weight grows a
little: the *derivative*. Take $L = a b + a$ at $a = 2$ and $b = 3$, so $L = 8$. You could try it:
with $a = 2.01$, $L$ is 8.04, and the derivative is $0.04 / 0.01 = 4$. But that takes one forward
pass for each weight, and the [classic transformer](../transformers/basic/autoregressive_model.py)
has 810,306 of them. And in 32 bits the best step leaves it [wrong by 0.2 % or
more](autograd.py#example): a smaller one drowns in rounding, and over a larger one a loss bends.

Autograd goes back once, from $L$ to all that it was computed from:

| step back | what it adds |
| --- | --- |
| $L$ itself | $\partial L / \partial L = 1$ |
| the sum passes 1 to both parts | $a$ gets 1, $a b$ gets 1 |
| the product passes $1 \cdot b$ to $a$, and $1 \cdot a$ to $b$ | $a$ gets 3 more, $b$ gets 2 |

So $\partial L / \partial a = 1 + 3 = 4$, and $\partial L / \partial b = 2$. Each step knows its own
derivative, and multiplies: that is the chain rule. Where $a$ is used twice, both parts are added.
For $y = f(x)$ and a loss $L$ that depends on $y$:

$$
\frac{\partial L}{\partial x} = \frac{\partial L}{\partial y} \cdot \frac{\partial y}{\partial x}
$$

**In:** a computation, of sums, products and functions. **Out:** its result, and the derivatives of
that result with respect to every number that went in, exact up to rounding.
"""

from collections.abc import Callable

import torch
from torch import Tensor

# From the derivative of a result to those of its operands.
Backward = Callable[[Tensor], tuple[Tensor, ...]]


class Variable:
    r"""
    ## A variable

    A tensor that remembers how it was computed. What is computed from variables is a variable
    again, and the whole computation becomes a graph: $L$ points back to $a b$ and $a$, and $a b$ to
    $a$ and $b$.
    """

    def __init__(
        self,
        value: Tensor,
        operands: tuple["Variable", ...] = (),
        local: Backward = lambda gradient: (),
    ) -> None:
        r"""
        * `value` is the tensor
        * `operands` are what it was computed from; a weight or an input has none
        * `local` is the chain rule for this one step: it takes the derivative of the loss with
          respect to the result, and gives those with respect to the operands
        """
        self.value = value
        self.operands = operands
        self.local = local

        # $\partial L / \partial x$ for each number $x$ of the tensor. Zero until something is
        # added.
        self.grad = torch.zeros_like(value)

    def __add__(self, other: "Variable") -> "Variable":
        # One more in either operand is one more in the sum.
        return Variable(self.value + other.value, (self, other), lambda g: (g, g))

    def __mul__(self, other: "Variable") -> "Variable":
        # $\partial (x y) / \partial x = y$: the other operand is the factor.
        return Variable(
            self.value * other.value, (self, other), lambda g: (g * other.value, g * self.value)
        )

    def __matmul__(self, other: "Variable") -> "Variable":
        # $c_{ij} = \sum_k a_{ik} b_{kj}$, so $a_{ik}$ is used in all $c_{ij}$ of its row, each time
        # with the factor $b_{kj}$. Adding that up is a matrix product again.
        return Variable(
            self.value @ other.value,
            (self, other),
            lambda g: (g @ other.value.mT, self.value.mT @ g),
        )

    def __getitem__(self, rows: Tensor) -> "Variable":
        # Rows of a table. The derivative of a row goes back to where the row came from; a row that
        # was taken twice gets both.
        def local(gradient: Tensor) -> tuple[Tensor, ...]:
            return (torch.zeros_like(self.value).index_put((rows,), gradient, accumulate=True),)

        return Variable(self.value[rows], (self,), local)

    def exp(self) -> "Variable":
        # $e^x$ is its own derivative, so the result is used again.
        result = self.value.exp()
        return Variable(result, (self,), lambda g: (g * result,))

    def log(self) -> "Variable":
        # $\partial \ln x / \partial x = 1/x$.
        return Variable(self.value.log(), (self,), lambda g: (g / self.value,))

    def tanh(self) -> "Variable":
        # $1 - \tanh^2 x$: 1 at zero, and near 0 from about 3 on, where the function is flat.
        result = self.value.tanh()
        return Variable(result, (self,), lambda g: (g * (1 - result * result),))

    def sum(self, dim: int) -> "Variable":
        # Each part of a sum gets the derivative of the whole. Broadcasting copies it to each.
        return Variable(self.value.sum(dim=dim, keepdim=True), (self,), lambda g: (g,))

    def backward(self) -> None:
        r"""
        ### Backward pass

        Call it on the loss, once. Afterwards `grad` of each variable that the loss was computed
        from has the derivative of the loss with respect to it, added to what was there.
        """
        # A result passes on its derivative once all parts of it have arrived, from all places where
        # it was used. To make sure, the graph is put in order, operands before results.
        order: list[Variable] = []
        self.visit(set(), order)

        # If the loss grows by one, it has grown by one: its derivative with respect to itself is 1.
        self.grad = torch.ones_like(self.value)

        # From the loss back to the weights. Each step knows its own derivative, and nothing of the
        # rest of the graph.
        for variable in reversed(order):
            passed = variable.local(variable.grad)
            for operand, gradient in zip(variable.operands, passed, strict=True):
                operand.grad = operand.grad + fitted(gradient, operand.value)

    def visit(self, seen: set[int], order: list["Variable"]) -> None:
        r"""
        ### Operands before results
        """
        # Each variable once, after all that it was computed from.
        if id(self) not in seen:
            seen.add(id(self))
            for operand in self.operands:
                operand.visit(seen, order)
            order.append(self)


def fitted(gradient: Tensor, like: Tensor) -> Tensor:
    r"""
    ## Undo broadcasting

    In `x + bias` one bias is added to every row of `x`, so it is used in many places at once.
    """
    # Axes that broadcasting has put in front, as if the operand had been repeated along them.
    while gradient.dim() > like.dim():
        gradient = gradient.sum(dim=0)

    # Axes of size one that were stretched. The derivatives from all places are added.
    for axis, size in enumerate(like.shape):
        if size == 1:
            gradient = gradient.sum(dim=axis, keepdim=True)
    return gradient


def cross_entropy(logits: Variable, targets: Tensor) -> Variable:
    r"""
    ## Cross entropy

    The mean of $-\ln p$ of the right tokens, from parts that have derivatives already. `logits`
    has a row for each example, with a column for each token.
    """
    # The softmax doesn't change if the same number is subtracted from all logits of a row. After
    # subtracting the largest, none is above zero, and `exp` can't overflow.
    shifted = logits + Variable(-logits.value.amax(dim=1, keepdim=True))

    # $-\ln p = \ln \sum_j e^{x_j} - x_t$ for the target $t$, which is picked by a product with ones
    # and zeros.
    picked = Variable(torch.eye(logits.value.shape[1])[targets])
    log_sums = shifted.exp().sum(dim=1).log()
    losses = log_sums + (shifted * picked).sum(dim=1) * Variable(torch.tensor(-1.0))

    # The mean over the batch, in the precision of the losses.
    return losses.sum(dim=0) * Variable(losses.value.new_tensor(1 / len(targets)))


def example(batch_size: int = 7, n_vocab: int = 5, d_model: int = 3) -> tuple[Tensor, ...]:
    r"""
    ## Example

    A table of embeddings, a layer with a bias, and the loss, as in the
    [notebook](autograd_experiment.py). Then the example with $a$ and $b$.

    ### Why finite differences are not exact

    Over a large step the loss is no straight line. Over a small one it hardly changes, and the
    rounding of both losses hides the change. With 32 bits, as in training, the best step that we
    found, 0.01, leaves a relative error of [0.0021](../../results/autograd.json#values.best_32) for
    the largest derivatives, and more for others. Most of it is the bend: with 64 bits, the same
    step leaves 0.0018. But in 32 bits a smaller one is worse. A step to both sides, for twice the
    price, leaves [0.00051](../../results/autograd.json#values.best_32_both).

    [How wrong a finite difference is, by the step](../../results/autograd.json#figures.steps)

    ### Measured here

    For the small network of [the notebook](autograd_experiment.py) the backward pass took
    [1.5](../../results/autograd.json#values.back) times as long as the forward pass, for all of its
    [8,482](../../results/autograd.json#values.parameters) weights at once.

    ### Tensors in place of numbers

    The page computes with whole tensors, which is the same with fewer objects. PyTorch's autograd
    does so, too, and a test compares the two.

    ### What is left out

    Derivatives of derivatives, operations that change a tensor in place, and graphs of about a
    thousand steps in a row or more, which Python's recursion can't follow.

    ### Exercises

    ??? question "$L = a \cdot a$ at $a = 3$. What does each use of $a$ add to its derivative?"
        Both add 3: the product passes to each operand the value of the other. The sum is 6, which
        is $2a$.

    ??? question "A bias of $d$ numbers is added to each of $n$ rows. What is its derivative?"
        The sum of the $n$ rows of the derivative of the result: the bias is used $n$ times.

    ??? question "Write `relu`, which is $\max(0, x)$."
        `Variable(self.value.relu(), (self,), lambda g: (g * (self.value > 0),))`. At zero there is
        no derivative. PyTorch takes 0, and so does this.

    ??? question "Pass on derivatives from a stack, without the order. What goes wrong, and when?"
        In $L = a b + a$ nothing, because $a$ passes nothing on. Let $a$ be $x + y$, and it passes
        on 1 before the rest has arrived. If it is visited once, $x$ gets 1 in place of 4; if
        twice, 1 + 4. Only a variable that was computed *and* is used twice shows it.

    ??? question "Call `backward` twice. What is `grad` of a weight then?"
        Not twice the derivative, if other variables are between it and the loss: they still have
        theirs from the first call, and pass them on again. A path through one such variable counts
        three times, through two of them four times. In the example $a$ gets $2 \cdot 1 + 3 \cdot 3
        = 11$, not 8. With $b = -0.6$ it gets 0.2, where the derivative is 0.4. PyTorch frees the
        values that a product has kept for it, and raises an error at the second call.
    """
    # The weights, and tokens that come up more than once.
    table = Variable(torch.randn(n_vocab, d_model))
    weight = Variable(torch.randn(d_model, n_vocab))
    bias = Variable(torch.randn(n_vocab))
    tokens = torch.arange(batch_size) % n_vocab

    # One forward pass, one backward pass, and every weight has its derivatives.
    logits = table[tokens].tanh() @ weight + bias
    loss = cross_entropy(logits, tokens.flip(0))
    loss.backward()

    # $L = a b + a$ at $a = 2$ and $b = 3$: the derivatives are 4 and 2.
    a = Variable(torch.tensor(2.0))
    b = Variable(torch.tensor(3.0))
    (a * b + a).backward()
    return logits.value, loss.value, table.grad, weight.grad, bias.grad, a.grad, b.grad
