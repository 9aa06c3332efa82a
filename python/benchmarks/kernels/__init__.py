"""Kernels of the engine's benchmark, by theme, each in Metal, in C, and in OpenCL C or ATen where those have it."""
