// Pointwise random ops: front ends with PyTorch's own argument checks (the templates in the wheel's
// DistributionTemplates.h) over kernels of the runtime, which draw from the MPS generator's Philox
// streams. None of them may reach a CPU kernel: those take CPU generators only.
#include "MPSGeneratorImpl.h"
#include "Profile.h"
#include "RandomFill.h"
#include "Registration.h"

#include <ATen/native/DistributionTemplates.h>
#include <ATen/ops/view_as_real.h>

#include <limits>

namespace openmps {

namespace {

namespace templates = at::native::templates;
using OptionalGenerator = std::optional<at::Generator>;

// `iter.tensor(0)` is the tensor the user passed; the template has checked it for overlap.
void fillPointwise(
    const at::TensorBase& self,
    uint32_t distribution,
    double a,
    double b,
    const OptionalGenerator& generator) {
  const auto* handle = generatorHandle(generator);
  fillContiguous(at::Tensor(self), [&](const OpenmpsElements* out) {
    check(openmps_random_pointwise(handle, distribution, out, a, b));
  });
}

template <class Rng>
struct UniformKernel {
  void operator()(at::TensorIteratorBase& iter, double from, double to, OptionalGenerator gen) {
    fillPointwise(iter.tensor(0), OPENMPS_POINTWISE_UNIFORM, from, to, gen);
  }
};

template <class Rng>
struct NormalKernel {
  void operator()(at::Tensor& self, double mean, double std, OptionalGenerator gen) {
    TORCH_CHECK_TYPE(
        at::isFloatingType(self.scalar_type()),
        "normal_kernel_mps not implemented for '",
        self.scalar_type(),
        "'");
    fillPointwise(self, OPENMPS_POINTWISE_NORMAL, mean, std, gen);
  }
};

template <class Rng>
struct LogNormalKernel {
  void operator()(at::TensorIteratorBase& iter, double mean, double std, OptionalGenerator gen) {
    fillPointwise(iter.tensor(0), OPENMPS_POINTWISE_LOG_NORMAL, mean, std, gen);
  }
};

template <class Rng>
struct ExponentialKernel {
  void operator()(at::TensorIteratorBase& iter, double lambda, OptionalGenerator gen) {
    fillPointwise(iter.tensor(0), OPENMPS_POINTWISE_EXPONENTIAL, lambda, 0, gen);
  }
};

template <class Rng>
struct CauchyKernel {
  void operator()(at::TensorIteratorBase& iter, double median, double sigma, OptionalGenerator gen) {
    fillPointwise(iter.tensor(0), OPENMPS_POINTWISE_CAUCHY, median, sigma, gen);
  }
};

template <class Rng>
struct GeometricKernel {
  void operator()(at::TensorIteratorBase& iter, double p, OptionalGenerator gen) {
    fillPointwise(iter.tensor(0), OPENMPS_POINTWISE_GEOMETRIC, p, 0, gen);
  }
};

void checkBernoulliDtype(const at::TensorBase& self) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      !at::isComplexType(self.scalar_type()),
      "bernoulli is not implemented for complex types on MPS");
}

template <class Rng>
struct BernoulliScalarKernel {
  void operator()(at::Tensor& self, double p, OptionalGenerator gen) {
    checkBernoulliDtype(self);
    fillPointwise(self, OPENMPS_POINTWISE_BERNOULLI, p, 0, gen);
  }
};

template <class Rng>
struct BernoulliTensorKernel {
  void operator()(at::Tensor& self, const at::Tensor& p, OptionalGenerator gen) {
    checkBernoulliDtype(self);
    if (p.dim() == 0) {
      const auto scalar = p.item().toDouble();
      TORCH_CHECK(
          0 <= scalar && scalar <= 1, "bernoulli_mps_ expects p to be in [0, 1], but got p=", scalar);
      BernoulliScalarKernel<Rng>()(self, scalar, gen);
      return;
    }
    TORCH_CHECK(
        p.sizes() == self.sizes(),
        "bernoulli_mps_: probability and self tensor should be of the same shape");
    const auto probabilities = p.to(self.device(), at::kFloat).contiguous();
    const auto elements = elementsOf(probabilities);
    const auto* handle = generatorHandle(gen);
    fillContiguous(self, [&](const OpenmpsElements* out) {
      check(openmps_random_bernoulli_tensor(handle, out, &elements));
    });
  }
};

void fillIntegers(
    const at::TensorBase& self, int64_t base, uint64_t range, const OptionalGenerator& generator) {
  const auto* handle = generatorHandle(generator);
  fillContiguous(at::Tensor(self), [&](const OpenmpsElements* out) {
    check(openmps_random_int(handle, out, base, range));
  });
}

template <class Rng>
struct RandomFromToKernel {
  void operator()(
      at::TensorIteratorBase& iter, uint64_t range, int64_t base, OptionalGenerator gen) {
    fillIntegers(iter.tensor(0), base, range, gen);
  }
  // The whole range of int64.
  void operator()(at::TensorIteratorBase& iter, OptionalGenerator gen) {
    fillIntegers(iter.tensor(0), std::numeric_limits<int64_t>::min(), 0, gen);
  }
};

// Values that every dtype holds exactly and that are not negative.
uint64_t fullRange(at::ScalarType dtype) {
  if (at::isFloatingType(dtype)) {
    return dtype == at::kFloat ? 1ULL << 24 : dtype == at::kHalf ? 1ULL << 11 : 1ULL << 8;
  }
  TORCH_CHECK(
      at::isIntegralType(dtype, /*includeBool=*/true),
      "random_mps handles only integral, floating-point and boolean types");
  switch (dtype) {
    case at::kBool:
      return 2;
    case at::kLong:
      return static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    case at::kUInt64:
      return 0; // all values
    default: {
      const bool is_signed = at::isSignedType(dtype);
      return 1ULL << (8 * at::elementSize(dtype) - (is_signed ? 1 : 0));
    }
  }
}

template <class Rng>
struct RandomKernel {
  void operator()(at::TensorIteratorBase& iter, OptionalGenerator gen) {
    fillIntegers(iter.tensor(0), 0, fullRange(iter.dtype()), gen);
  }
};

using Rng = MPSGeneratorImpl;

at::Tensor& uniform_(at::Tensor& self, double from, double to, OptionalGenerator gen) {
  return templates::uniform_impl_<UniformKernel, Rng>(self, from, to, std::move(gen));
}
at::Tensor& normal_(at::Tensor& self, double mean, double std, OptionalGenerator gen) {
  return templates::normal_impl_<NormalKernel, Rng>(self, mean, std, std::move(gen));
}
at::Tensor normalTensorFloat(const at::Tensor& mean, double std, OptionalGenerator gen) {
  return templates::normal_impl<NormalKernel, Rng>(mean, std, std::move(gen));
}
at::Tensor& normalTensorFloatOut(
    const at::Tensor& mean, double std, OptionalGenerator gen, at::Tensor& out) {
  return templates::normal_out_impl<NormalKernel, Rng>(out, mean, std, std::move(gen));
}
at::Tensor normalFloatTensor(double mean, const at::Tensor& std, OptionalGenerator gen) {
  return templates::normal_impl<NormalKernel, Rng>(mean, std, std::move(gen));
}
at::Tensor& normalFloatTensorOut(
    double mean, const at::Tensor& std, OptionalGenerator gen, at::Tensor& out) {
  return templates::normal_out_impl<NormalKernel, Rng>(out, mean, std, std::move(gen));
}
at::Tensor normalTensorTensor(
    const at::Tensor& mean, const at::Tensor& std, OptionalGenerator gen) {
  return templates::normal_impl<NormalKernel, Rng>(mean, std, std::move(gen));
}
at::Tensor& normalTensorTensorOut(
    const at::Tensor& mean, const at::Tensor& std, OptionalGenerator gen, at::Tensor& out) {
  return templates::normal_out_impl<NormalKernel, Rng>(out, mean, std, std::move(gen));
}
at::Tensor& logNormal_(at::Tensor& self, double mean, double std, OptionalGenerator gen) {
  return templates::log_normal_impl_<LogNormalKernel, Rng>(self, mean, std, std::move(gen));
}
at::Tensor& exponential_(at::Tensor& self, double lambda, OptionalGenerator gen) {
  return templates::exponential_impl_<ExponentialKernel, Rng>(self, lambda, std::move(gen));
}
at::Tensor& cauchy_(at::Tensor& self, double median, double sigma, OptionalGenerator gen) {
  return templates::cauchy_impl_<CauchyKernel, Rng>(self, median, sigma, std::move(gen));
}
at::Tensor& geometric_(at::Tensor& self, double p, OptionalGenerator gen) {
  return templates::geometric_impl_<GeometricKernel, Rng>(self, p, std::move(gen));
}
at::Tensor& bernoulliFloat_(at::Tensor& self, double p, OptionalGenerator gen) {
  return templates::bernoulli_impl_<BernoulliScalarKernel, Rng>(self, p, std::move(gen));
}
at::Tensor& bernoulliTensor_(at::Tensor& self, const at::Tensor& p, OptionalGenerator gen) {
  return templates::bernoulli_impl_<BernoulliTensorKernel, Rng>(self, p, std::move(gen));
}
at::Tensor& bernoulliOut(const at::Tensor& self, OptionalGenerator gen, at::Tensor& out) {
  return templates::bernoulli_out_impl<BernoulliTensorKernel, Rng>(out, self, std::move(gen));
}
at::Tensor& random_(at::Tensor& self, OptionalGenerator gen) {
  return templates::random_impl<RandomKernel, Rng>(self, std::move(gen));
}
at::Tensor& randomFrom_(
    at::Tensor& self, int64_t from, std::optional<int64_t> to, OptionalGenerator gen) {
  return templates::random_from_to_impl<RandomFromToKernel, Rng>(self, from, to, std::move(gen));
}
at::Tensor& randomTo_(at::Tensor& self, int64_t to, OptionalGenerator gen) {
  return randomFrom_(self, 0, to, std::move(gen));
}

} // namespace

void registerPointwiseRandomOps(torch::Library& library) {
  library.impl("uniform_", &ProfiledKernel<"uniform_", &uniform_>::call);
  library.impl("normal_", &ProfiledKernel<"normal_", &normal_>::call);
  library.impl("normal.Tensor_float", &ProfiledKernel<"normal.Tensor_float", &normalTensorFloat>::call);
  library.impl("normal.Tensor_float_out", &ProfiledKernel<"normal.Tensor_float_out", &normalTensorFloatOut>::call);
  library.impl("normal.float_Tensor", &ProfiledKernel<"normal.float_Tensor", &normalFloatTensor>::call);
  library.impl("normal.float_Tensor_out", &ProfiledKernel<"normal.float_Tensor_out", &normalFloatTensorOut>::call);
  library.impl("normal.Tensor_Tensor", &ProfiledKernel<"normal.Tensor_Tensor", &normalTensorTensor>::call);
  library.impl("normal.Tensor_Tensor_out", &ProfiledKernel<"normal.Tensor_Tensor_out", &normalTensorTensorOut>::call);
  library.impl("log_normal_", &ProfiledKernel<"log_normal_", &logNormal_>::call);
  library.impl("exponential_", &ProfiledKernel<"exponential_", &exponential_>::call);
  library.impl("cauchy_", &ProfiledKernel<"cauchy_", &cauchy_>::call);
  library.impl("geometric_", &ProfiledKernel<"geometric_", &geometric_>::call);
  library.impl("bernoulli_.float", &ProfiledKernel<"bernoulli_.float", &bernoulliFloat_>::call);
  library.impl("bernoulli_.Tensor", &ProfiledKernel<"bernoulli_.Tensor", &bernoulliTensor_>::call);
  library.impl("bernoulli.out", &ProfiledKernel<"bernoulli.out", &bernoulliOut>::call);
  library.impl("random_", &ProfiledKernel<"random_", &random_>::call);
  library.impl("random_.from", &ProfiledKernel<"random_.from", &randomFrom_>::call);
  library.impl("random_.to", &ProfiledKernel<"random_.to", &randomTo_>::call);
}

} // namespace openmps
