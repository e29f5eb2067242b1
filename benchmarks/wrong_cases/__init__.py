r"""Small models and training steps with one wrong line each, and what tools say about them."""
