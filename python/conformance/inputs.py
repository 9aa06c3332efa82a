"""Fresh random inputs; torch's seed decides them."""

import math
from dataclasses import dataclass

import torch

SPECIALS = (0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0)


@dataclass(frozen=True)
class Domain:
    """Where values are drawn from: uniform between two ends, with the special values strewn in unless they are left out."""

    low: float
    high: float
    has_specials: bool = True


ANY = Domain(-8.0, 8.0)
PLAIN = Domain(-8.0, 8.0, has_specials=False)
POSITIVE = Domain(0.0, 30.0)
STRICTLY_POSITIVE = Domain(0.05, 30.0, has_specials=False)
UNIT = Domain(-1.0, 1.0)


def draw(dtype: torch.dtype, shape: tuple[int, ...], domain: Domain = ANY) -> torch.Tensor:
    """A contiguous CPU tensor with values of the domain."""
    if dtype == torch.bool:
        return torch.rand(shape) < 0.5
    if dtype.is_complex:
        parts = torch.empty((*shape, 2)).uniform_(domain.low, domain.high)
        return torch.view_as_complex(parts).to(dtype)
    if dtype.is_floating_point:
        values = torch.empty(shape).uniform_(domain.low, domain.high)
        if domain.has_specials:
            flat = values.view(-1)
            places = torch.randperm(flat.numel())[: len(SPECIALS)]
            flat[places] = torch.tensor(SPECIALS)[: len(places)]
        return values.to(dtype)
    info = torch.iinfo(dtype)
    low, high = max(math.ceil(domain.low), info.min), min(math.floor(domain.high), info.max)
    return torch.randint(low, max(low, high) + 1, shape).to(dtype)
