// what: conversion to int drops the fraction, toward zero
// threads: 128
// out: np.zeros(128, np.int32)
// in: rng.uniform(-1e6, 1e6, 128).astype(np.float32)
// expect: np.trunc(a)
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, device const float* a, uint i [[thread_position_in_grid]]) {
  out[i] = int(a[i]);
}
