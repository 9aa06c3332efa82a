// A backward pass for its side effect: the MPS worker thread of autograd drops the previous
// GraphTask, with the Python context that it captured, before it starts the next one. Without it a
// script that ends right after backward() aborts in interpreter finalization.
#include "Activation.h"

#include "Status.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/ones.h>
#include <torch/csrc/autograd/autograd.h>

void openmps_torch_drain_autograd(void) {
  if (!openmps_allocator_is_initialized()) {
    return; // no MPS tensor, no backward
  }
  // What follows is not the program's.
  openmps_profile_program_ended();
  try {
    const auto options = at::TensorOptions().device(at::kMPS);
    const auto leaf = at::ones({1}, options).set_requires_grad(true);
    torch::autograd::backward({at::mul(leaf, leaf)}, {at::ones({1}, options)});
  } catch (...) { // NOLINT: at exit there is nobody to tell
  }
}
