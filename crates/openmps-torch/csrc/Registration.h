// Registration of all kernels. Explicit calls instead of static TORCH_LIBRARY_IMPL blocks: nothing
// is registered when activation refuses, and an error becomes a message instead of an abort.
#pragma once

#include <torch/library.h>

namespace openmps {

void registerKernels();

// One function per file of ops; `library` is aten under key MPS.
void registerCopies(torch::Library& library);
void registerCdist(torch::Library& library);
void registerFactories(torch::Library& library);
void registerFastOps0(torch::Library& library); // autogen_fast_ops_0.cpp, and so on
void registerFastOps1(torch::Library& library);
void registerFastOps2(torch::Library& library);
void registerFastOps3(torch::Library& library);
void registerPointwiseRandomOps(torch::Library& library); // RandomOps.cpp
void registerSamplingOps(torch::Library& library); // RandomSampling.cpp
void registerAttention(torch::Library& library, torch::Library& autograd); // autograd: aten under AutogradMPS
void registerLstm(torch::Library& library);
void registerMpsOnlyOps(torch::Library& library);
void registerLinear(torch::Library& library, torch::Library& autograd);
void registerViews(torch::Library& library);
void registerHostAlias();

} // namespace openmps
