"""Ways to make a model that cannot be covered."""

import warnings

import rig
import torch
from torch import nn


def mlp_with(change):
    model = rig.mlp(norm=True)
    change(model)
    return model


def frozen(model):
    model[0].weight.requires_grad_(False)


def expanded(model):
    model[0].bias = nn.Parameter(torch.zeros(1).expand(6))


def sharing(model):
    model[0].weight = nn.Parameter(torch.randn(6, 4))
    model.twin = nn.Linear(4, 6)
    model.twin.weight = nn.Parameter(model[0].weight.detach())


def overlapping(model):
    both = torch.randn(30)
    model[0].weight = nn.Parameter(both[:24].view(6, 4))
    model[0].bias = nn.Parameter(both[20:26])


def numpy_views(model):
    """Two storages on the same memory."""
    both = torch.randn(30).numpy()
    model[0].weight = nn.Parameter(torch.from_numpy(both[:24]).view(6, 4))
    model[0].bias = nn.Parameter(torch.from_numpy(both[20:26]))


def buffer(model):
    model.register_buffer("ema", torch.zeros(3))


def buffer_on_weights(model):
    model[0].register_buffer("view", model[0].weight.detach()[0])


def hidden_buffer(model):
    model[0].register_buffer("queue", torch.zeros(3), persistent=False)


def old_weight_norm(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nn.utils.weight_norm(model[0])


def spectral_norm(model):
    nn.utils.parametrizations.spectral_norm(model[0])


def extra_state(model):
    class Extra(nn.Linear):
        def get_extra_state(self):
            return {"seen": 3}

        def set_extra_state(self, state):
            pass

    model.extra = Extra(2, 2)


def state_dict_hook(model):
    model.register_state_dict_post_hook(lambda _m, state, prefix, _l: state.__setitem__("memory", torch.zeros(2)))


def hide(value):
    def change(model):
        model[0].memory = value

    return change


def integers(model):
    model[0].bias = nn.Parameter(torch.zeros(6, dtype=torch.int64), requires_grad=False)


def complex_numbers(model):
    model[0].weight = nn.Parameter(torch.zeros(6, 4, dtype=torch.complex64))
