"""Three models of token sequences: recurrent, a transformer encoder with a class token, and tied embeddings."""

import torch
from torch import nn

VOCABULARY, CLASSES = 11, 3


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, 5)
        self.lstm = nn.LSTM(5, 4, num_layers=2, bidirectional=True, batch_first=True)
        self.head = nn.Linear(8, CLASSES)

    def forward(self, x):
        return self.head(self.lstm(self.embed(x))[0][:, -1])


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.class_token = nn.Parameter(torch.randn(1, 1, 8))
        self.embed = nn.Embedding(VOCABULARY, 8)
        layer = nn.TransformerEncoderLayer(8, 2, dim_feedforward=12, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.norm, self.head = nn.LayerNorm(8), nn.Linear(8, CLASSES)

    def forward(self, x):
        tokens = torch.cat([self.class_token.expand(len(x), -1, -1), self.embed(x)], dim=1)
        return self.head(self.norm(self.layers(tokens))[:, 0])


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.place = nn.Embedding(VOCABULARY, 8), nn.Parameter(torch.randn(4, 8))
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.norm, self.head = nn.LayerNorm(8), nn.Linear(8, VOCABULARY, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, x):
        h = self.embed(x) + self.place
        return self.head(
            self.norm(h + self.attention(h, h, h, is_causal=True, attn_mask=torch.ones(4, 4).triu(1) > 0)[0])
        )
