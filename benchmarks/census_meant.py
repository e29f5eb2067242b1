r"""
Which findings of the census are meant to be so, and why.

The keys are model types of `AutoModelForCausalLM`.
"""

MEANT: dict[str, str] = {}
