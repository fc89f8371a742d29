"""The bases' randomness: public, recorded, and the same on every machine. It has nothing to do with the noise."""

import torch


def generator(seed: int, stream: int) -> torch.Generator:
    """A CPU generator for one tensor of one design."""
    return torch.Generator().manual_seed((seed * 1_000_003 + stream) % 2**63)
