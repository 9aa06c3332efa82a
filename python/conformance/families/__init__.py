"""Families of kernels of the torch library, by theme. Each module has ``FAMILIES``."""
