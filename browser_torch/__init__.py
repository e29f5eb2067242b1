r"""PyTorch's stand-in for the reader's browser, its kernels, and what the page loads of both."""
