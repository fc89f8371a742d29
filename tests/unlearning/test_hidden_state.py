"""State that hides deeper. It travels with `torch.save(model)` and with the object itself, so it needs a fate too."""

from collections import deque

import pytest
import rig
import torch
from torch import nn

from expunge import CertificationError, CoverageError

HIDDEN = {
    "list of lists": [[torch.zeros(2)]],
    "dict of lists": {"queue": [torch.zeros(2)]},
    "deque": deque([torch.zeros(2)]),
    "set": {torch.zeros(2)},
    "a module in a plain list": [nn.Linear(2, 2)],
}


@pytest.mark.parametrize("what", HIDDEN)
def test_hidden_deeper_is_refused_too(what):
    model = rig.mlp()
    model[0].memory = HIDDEN[what]
    with pytest.raises(CoverageError, match=r"0\.memory"):
        rig.unlearn(model)


def test_an_attribute_declared_public_must_not_change():
    model = rig.mlp()
    model.memory = torch.zeros(2)

    def loss(model, batch):
        model.memory.add_(1.0)
        return rig.cross_entropy(model, batch)

    with pytest.raises(CertificationError, match="public"):
        rig.unlearn(model, loss=loss, public=["memory"])
