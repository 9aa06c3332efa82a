"""Models train on the device: the loss falls, and as it does on the CPU."""

import copy

import torch
import torch.nn.functional as F
from torch import nn


class _Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.heads = heads

    def forward(self, x):
        q, k, v = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.qkv(self.norm1(x)).chunk(3, dim=-1)
        )
        x = x + self.project(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm2(x))


class _Gpt(nn.Module):
    def __init__(self, vocabulary=17, width=32, length=12) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(_Block(width, 4), _Block(width, 4))
        self.head = nn.Linear(width, vocabulary)

    def forward(self, tokens):
        places = torch.arange(tokens.shape[1], device=tokens.device)
        return self.head(self.blocks(self.tokens(tokens) + self.positions(places)))


def _train(model, inputs, targets, steps):
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(inputs).flatten(0, -2), targets.flatten())
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_gpt_learns_as_on_the_cpu():
    model = _Gpt()
    other = copy.deepcopy(model).to("mps")
    tokens = torch.randint(0, 17, (4, 13))
    expected = _train(model, tokens[:, :-1], tokens[:, 1:], 30)
    actual = _train(other, tokens[:, :-1].to("mps"), tokens[:, 1:].to("mps"), 30)
    assert actual[-1] < 0.5 * actual[0]
    # The first steps see the same numbers; later ones magnify what rounding did.
    torch.testing.assert_close(actual[:5], expected[:5], rtol=1e-3, atol=1e-3)


def test_convolutional_network_learns():
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.1), nn.Linear(16, 4),
    ).to("mps")  # fmt: skip
    labels = torch.arange(16, device="mps") % 4
    # A pattern for each class under noise, so that there is something to learn for every seed.
    images = 2 * torch.randn(4, 1, 12, 12, device="mps")[labels] + torch.randn(16, 1, 12, 12, device="mps")
    losses = _train(model, images, labels, 60)
    assert losses[-1] < 0.7 * losses[0]


def test_gradient_scaler():
    model = nn.Linear(8, 1).to("mps")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    scaler = torch.amp.GradScaler("mps")
    x, y = torch.randn(64, 8, device="mps"), torch.randn(64, 1, device="mps")
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        with torch.autocast("mps", dtype=torch.float16):
            loss = F.mse_loss(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
