r"""The kernels in C, and what builds them."""
