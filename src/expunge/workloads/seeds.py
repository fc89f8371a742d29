"""One seed, many independent streams: each use of chance has a name, and each step a stream of its own.

So a run has no random state to carry: what is drawn at a step is a function of the seed, the purpose and the step. Coupled
runs draw the same, and a resumed run draws what it would have drawn.
"""

import hashlib

import torch

from ..errors import ConfigError


def derive(seed: int, purpose: str, number: int = 0) -> int:
    """A seed of 63 bits for this use."""
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise ConfigError(f"seed must be a whole number; got {seed!r}.")
    text = f"expunge/{purpose}/{seed}/{number}".encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "little") >> 1


def generator(seed: int, purpose: str, number: int = 0) -> torch.Generator:
    """A generator on the CPU for this use."""
    return torch.Generator().manual_seed(derive(seed, purpose, number))
