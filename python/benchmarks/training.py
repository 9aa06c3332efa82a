"""Training steps of a small GPT and of a ResNet-like network, mps against cpu, the same weights and data.

Wanted: mps reaches at least 0.97 of the speed. Usage: python training.py [samples]
"""

import copy
import sys

import torch
import torch.nn.functional as F
from timing import compare, line, machine
from torch import nn


class Block(nn.Module):
    """A transformer block with causal attention."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.heads = heads

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.qkv(self.norm1(x)).chunk(3, dim=-1)
        )
        x = x + self.project(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm2(x))


class Gpt(nn.Module):
    """Embedding, two blocks, a linear head."""

    def __init__(self, vocabulary: int, width: int, length: int) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(Block(width, 4), Block(width, 4))
        self.head = nn.Linear(width, vocabulary)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        return self.head(self.blocks(self.tokens(tokens) + self.positions(places)))


class Residual(nn.Module):
    """Two convolutions with a shortcut."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norm1, self.norm2 = nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs)
        self.shortcut = nn.Identity()
        if inputs != outputs or stride != 1:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x)))))
        return F.relu(y + self.shortcut(x))


def resnet(width: int) -> nn.Module:
    """ResNet-18's shape at a small width."""
    stages = [Residual(width, width, 1), Residual(width, width, 1)]
    for stage in range(3):
        inputs = width << stage
        stages += [Residual(inputs, 2 * inputs, 2), Residual(2 * inputs, 2 * inputs, 1)]
    return nn.Sequential(
        nn.Conv2d(3, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(), *stages,
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8 * width, 10),
    )  # fmt: skip


def step(model: nn.Module, inputs: torch.Tensor, targets: torch.Tensor):
    """A training step as a function that returns the loss."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def run() -> torch.Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(inputs).flatten(0, -2), targets.flatten())
        loss.backward()
        optimizer.step()
        return loss.detach()

    return run


def main() -> None:
    """Checks that the losses agree and fall, then measures."""
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else 25
    print(machine())
    torch.manual_seed(0)
    cases = {
        "GPT 2 layers, B8 T64 d128": (Gpt(65, 128, 64), torch.randint(0, 65, (8, 65))),
        "GPT 2 layers, B2 T32 d64": (Gpt(65, 64, 32), torch.randint(0, 65, (2, 33))),
        "ResNet-18 w16, B8 32x32": (resnet(16), torch.randn(8, 3, 32, 32)),
        "ResNet-18 w8, B8 16x16": (resnet(8), torch.randn(8, 3, 16, 16)),
    }
    for name, (model, data) in cases.items():
        steps = {}
        for device in ("mps", "cpu"):
            moved = data.to(device)
            inputs, targets = (moved[:, :-1], moved[:, 1:]) if data.dim() == 2 else (moved, torch.arange(8, device=device))
            steps[device] = step(copy.deepcopy(model).to(device), inputs, targets)
        first = [steps[device]().item() for device in ("mps", "cpu")]
        torch.testing.assert_close(*first, rtol=1e-4, atol=1e-4)
        for _ in range(5):
            later = [steps[device]().item() for device in ("mps", "cpu")]
        assert later[0] < first[0] and later[1] < first[1], (first, later)
        times = compare(steps["mps"], steps["cpu"], samples=samples, seconds=0.02)
        print(line(name, *times, unit="ms", scale=1e3, reference="cpu", limit="ratio <= 1.03"))


if __name__ == "__main__":
    main()
