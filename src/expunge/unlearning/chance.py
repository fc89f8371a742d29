"""The state of torch's own random numbers, for a checkpoint: dropout and shuffling go on where they were."""

import torch
from torch import Tensor


def random_state() -> dict[str, Tensor]:
    """Of every device."""
    states = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        states |= {f"cuda:{i}": state for i, state in enumerate(torch.cuda.get_rng_state_all())}
    return states


def restore_random_state(states: dict[str, Tensor]) -> None:
    """As `random_state` gave it."""
    for device, state in states.items():
        if device == "cpu":
            torch.set_rng_state(state)
        else:
            torch.cuda.set_rng_state(state, device)
