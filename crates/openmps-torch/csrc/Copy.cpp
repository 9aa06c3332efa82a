// copy_, _to_copy, _copy_from, _copy_from_and_resize, .item(), record_stream.
//
// Both sides of a copy are host memory, so the CPU's copy kernel does the work, conversions,
// strides and conjugate and negative bits included. What is left here are PyTorch's preconditions
// and the order with queued kernels: a copy to the CPU is a synchronization point, where deferred
// errors surface; a copy between MPS tensors is not.
#include "Aliasing.h"
#include "MPSAllocator.h"
#include "MPSStream.h"
#include "Profile.h"
#include "Registration.h"
#include "Widening.h"

#include <ATen/ExpandUtils.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/_local_scalar_dense_cpu_dispatch.h>
#include <ATen/ops/_to_copy_native.h>
#include <ATen/ops/copy_native.h>
#include <ATen/ops/resize.h>

namespace openmps {

namespace {

bool isSupportedPair(const at::Tensor& dst, const at::Tensor& src) {
  const auto known = [](const at::Tensor& tensor) { return tensor.is_mps() || tensor.is_cpu(); };
  return known(dst) && known(src);
}

// The real backend converts by a kernel on the device before it copies.
void checkCastOnDevice(const at::Tensor& dst, const at::Tensor& src) {
  if (C10_LIKELY(!src.is_mps() || dst.scalar_type() == src.scalar_type())) {
    return;
  }
  for (const auto dtype : {dst.scalar_type(), src.scalar_type()}) {
    TORCH_CHECK(!isUnknownToMetal(dtype), "Undefined type ", dtype);
  }
}

void orderWithQueuedKernels(const at::Tensor& dst, const at::Tensor& src, bool non_blocking) {
  if (src.is_mps() && dst.is_cpu() && !non_blocking) {
    synchronizeCurrentStream();
  } else {
    drainCurrentStream();
  }
}

at::Tensor& copy_(at::Tensor& self, const at::Tensor& src, bool non_blocking) {
  TORCH_CHECK(self.defined(), "dst is undefined");
  TORCH_CHECK(src.defined(), "src is undefined");
  if (self.is_same(src) || src.numel() == 0) {
    return self;
  }
  TORCH_CHECK(
      isSupportedPair(self, src),
      "copies between ",
      src.device(),
      " and ",
      self.device(),
      " have to go through the CPU");
  checkCastOnDevice(self, src);
  if (self.numel() == 0 && !at::is_expandable_to(src.sizes(), self.sizes())) {
    self.resize_(src.sizes());
  }
  TORCH_CHECK(
      self.dim() >= src.dim(),
      "Destination ",
      self.sizes(),
      " doesn't match the broadcast shape ",
      src.sizes());
  orderWithQueuedKernels(self, src, non_blocking);
  ProfiledOperation profiled;
  if (C10_UNLIKELY(profileFlags() & OPENMPS_PROFILE_SEES_COPY)) {
    profiled.beginCopy(self, src, !non_blocking);
  }
  at::AutoDispatchBelowADInplaceOrView below_autograd;
  ThreadState& thread = threadState;
  ScopedAlias destination(self, thread);
  at::native::copy_(destination.get(), ScopedAlias(src, thread), non_blocking);
  return self;
}

// to("cpu", torch.float64) moves first and converts there, and so does what comes from such a type.
at::Tensor toCopy(
    const at::Tensor& self,
    std::optional<at::ScalarType> dtype,
    std::optional<at::Layout> layout,
    std::optional<at::Device> device,
    std::optional<bool> pin_memory,
    bool non_blocking,
    std::optional<at::MemoryFormat> memory_format) {
  const bool converts_on_host = device && device->is_cpu() && dtype && *dtype != self.scalar_type() &&
      (isUnknownToMetal(*dtype) || isUnknownToMetal(self.scalar_type()));
  const auto moved = at::native::_to_copy(
      self,
      converts_on_host ? std::nullopt : dtype,
      layout,
      device,
      pin_memory,
      non_blocking && !converts_on_host,
      memory_format);
  return converts_on_host ? moved.to(*dtype) : moved;
}

at::Tensor copyFrom(const at::Tensor& self, const at::Tensor& dst, bool non_blocking) {
  at::Tensor destination = dst;
  copy_(destination, self, non_blocking);
  return dst;
}

at::Tensor copyFromAndResize(const at::Tensor& self, const at::Tensor& dst) {
  dst.resize_(self.sizes());
  return copyFrom(self, dst, /*non_blocking=*/false);
}

at::Scalar localScalarDense(const at::Tensor& self) {
  TORCH_CHECK(self.numel() > 0, "_local_scalar_dense: Empty tensor not supported");
  synchronizeCurrentStream();
  at::AutoDispatchBelowADInplaceOrView below_autograd;
  const at::Tensor host = cpuAlias(self);
  ProfiledOperation profiled;
  if (C10_UNLIKELY(profileFlags() & OPENMPS_PROFILE_SEES_COPY)) {
    profiled.beginCopy(host, self, /*is_blocking=*/true);
  }
  return at::cpu::_local_scalar_dense(host);
}

void recordStream(at::Tensor& self, c10::Stream stream) {
  // Ids of other devices' streams mean nothing to the allocator.
  TORCH_CHECK(
      stream.device_type() == c10::kMPS, "Expected a MPS stream, but got one of ", stream.device());
  getMPSAllocator()->recordStream(self.storage().data_ptr(), stream);
}

} // namespace

void registerCopies(torch::Library& library) {
  library.impl("copy_", TORCH_FN(copy_));
  library.impl("_to_copy", &toCopy);
  library.impl("_copy_from", &copyFrom);
  library.impl("_copy_from_and_resize", &copyFromAndResize);
  library.impl("_local_scalar_dense", &localScalarDense);
  library.impl("record_stream", &recordStream);
}

} // namespace openmps
