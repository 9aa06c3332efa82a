// Registers every kernel with the dispatcher.
//
// Ops come from a table generated from the installed wheel's native_functions.yaml: an op gets the
// boxed redispatch when the real MPS backend has a kernel for it and the CPU has one too. What the
// real backend lacks stays unregistered and reaches the backend fallback.
#include "Registration.h"

#include "Fallback.h"
#include "Status.h"

namespace openmps {

namespace {

using GeneratedOp = CheckedOp;

#include "autogen_op_list.inc"

// Libraries are leaked: kernels must outlive every static destructor that may still run an op.
torch::Library& openLibrary(const char* name_space, c10::DispatchKey key) {
  return *new torch::Library(torch::Library::IMPL, name_space, key, __FILE__, __LINE__);
}

void registerBackendFallback() {
  uint32_t fallback = OPENMPS_FALLBACK_OFF;
  check(openmps_settings_fallback(&fallback));
  openLibrary("_", c10::DispatchKey::MPS)
      .fallback(
          fallback == OPENMPS_FALLBACK_ON ? warningFallbackKernel() : errorFallbackKernel());
}

template <size_t N>
void registerTable(torch::Library& library, const GeneratedOp (&ops)[N]) {
  for (const auto& op : ops) {
    library.impl(op.name, redispatchKernel(op));
  }
}

} // namespace

void registerKernels() {
  registerBackendFallback();
  auto& aten = openLibrary("aten", c10::DispatchKey::MPS);
  registerTable(aten, kDenseOps);
  // The real backend has no kernel for this one and falls back with a warning, always.
  aten.impl("embedding_renorm_", warningFallbackKernel());
  registerFactories(aten);
  registerCopies(aten);
  registerCdist(aten);
  registerViews(aten);
  registerFastOps0(aten);
  registerFastOps1(aten);
  registerFastOps2(aten);
  registerFastOps3(aten);
  registerPointwiseRandomOps(aten);
  registerSamplingOps(aten);
  registerLstm(aten);
  registerMpsOnlyOps(aten);
  auto& autograd = openLibrary("aten", c10::DispatchKey::AutogradMPS);
  registerAttention(aten, autograd);
  registerLinear(aten, autograd);
  registerTable(openLibrary("aten", c10::DispatchKey::SparseMPS), kSparseOps);
  registerTable(openLibrary("aten", c10::DispatchKey::SparseCsrMPS), kCompressedOps);
  registerTable(openLibrary("c10d", c10::DispatchKey::MPS), kCollectiveOps);
  registerHostAlias();
}

} // namespace openmps
