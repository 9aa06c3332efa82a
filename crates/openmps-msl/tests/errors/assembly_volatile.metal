#include <metal_stdlib>
using namespace metal;
kernel void f(device int* x) {
  __asm__ volatile("nop" : : : "memory");
}
