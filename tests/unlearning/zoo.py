"""Thirteen architectures, each with data and a loss: name → function that makes (model, batch, loss, options)."""

import torch
from sequences import CLASSES, VOCABULARY, Encoder, Gpt, Lstm
from torch import nn
from torch.nn import functional
from torch.nn.utils.parametrizations import weight_norm


def classify(model, batch):
    x, y = batch
    return functional.cross_entropy(model(x), y)


def _images(size=8):
    return torch.randn(6, 3, size, size), torch.randint(0, CLASSES, (6,))


def _tokens():
    return torch.randint(0, VOCABULARY, (6, 5)), torch.randint(0, CLASSES, (6,))


def mlp():
    return nn.Sequential(nn.Linear(7, 9), nn.Tanh(), nn.Linear(9, CLASSES)), _vectors(7)


def _vectors(features):
    return torch.randn(6, features), torch.randint(0, CLASSES, (6,))


def batchnorm_cnn():
    layers = [nn.Conv2d(3, 5, 3), nn.BatchNorm2d(5), nn.ReLU(), nn.Conv2d(5, 4, 3), nn.BatchNorm2d(4)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, CLASSES)), _images()


def groupnorm_cnn():
    layers = [nn.Conv2d(3, 6, 3), nn.GroupNorm(2, 6), nn.GELU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    model = nn.Sequential(*layers, nn.Linear(6, CLASSES)).to(memory_format=torch.channels_last)
    return model, _images()


def depthwise_cnn():
    layers = [nn.Conv2d(3, 6, 3, groups=3), nn.Conv2d(6, 6, 3, groups=6, bias=False), nn.Conv2d(6, 4, 1), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(4, CLASSES)), _images()


def _next_token(model, tokens):
    return functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())


def gpt():
    return Gpt(), _tokens()[0], _next_token


class Raw(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight, self.temperature = nn.Parameter(torch.randn(CLASSES, 7)), nn.Parameter(torch.tensor(1.5))

    def forward(self, x):
        return x @ self.weight.T * self.temperature


class WithNothing(nn.Module):
    def __init__(self):
        super().__init__()
        self.nothing = nn.Parameter(torch.zeros(0, 3))
        self.body, self.head = nn.Linear(7, 4), nn.Linear(4, CLASSES)

    def forward(self, x):
        return self.head(self.body(x)) + self.nothing.sum()


def weight_normed():
    return nn.Sequential(weight_norm(nn.Linear(7, 5)), nn.ReLU(), weight_norm(nn.Linear(5, CLASSES))), _vectors(7)


def public_backbone():
    backbone = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.AdaptiveAvgPool2d(2), nn.Flatten())
    model = nn.Sequential()
    model.add_module("backbone", backbone.requires_grad_(False))
    model.add_module("head", nn.Linear(16, CLASSES))
    return model, _images(), classify, {"public": ["backbone.*"]}


def one_parameter():
    return nn.Linear(1, 1, bias=False), torch.randn(5, 1), lambda model, x: (model(x) - x).square().mean()


def sparse_embedding():
    return nn.Sequential(nn.Embedding(VOCABULARY, 4, sparse=True), nn.Flatten(), nn.Linear(20, CLASSES)), _tokens()


ZOO = {
    "MLP": mlp,
    "CNN with BatchNorm": batchnorm_cnn,
    "CNN with GroupNorm": groupnorm_cnn,
    "LSTM": lambda: (Lstm(), _tokens()),
    "transformer encoder": lambda: (Encoder(), _tokens()),
    "GPT with tied embeddings": gpt,
    "grouped and depthwise convolution": depthwise_cnn,
    "weight_norm": weight_normed,
    "raw parameters": lambda: (Raw(), _vectors(7)),
    "frozen public backbone": public_backbone,
    "one parameter": one_parameter,
    "sparse embedding": sparse_embedding,
    "an empty parameter": lambda: (WithNothing(), _vectors(7)),
}


def make(name):
    """Model, one batch, loss and options of an architecture; the same every time."""
    with torch.random.fork_rng():
        torch.manual_seed(7)
        model, batch, *rest = ZOO[name]()
    return model, batch, rest[0] if rest else classify, rest[1] if len(rest) > 1 else {}
