// _lstm_mps and its backward, the ops of an LSTM layer in programs that were exported on a Mac.
//
// The CPU's layer does the work. The workspace holds no gates, as the real one does, but the state of the generator before
// dropout drew from it: backward computes forward again, from the same random numbers.
#include "MPSGeneratorImpl.h"
#include "Registration.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/lstm.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/variable.h>

#include <tuple>
#include <vector>

namespace openmps {

namespace {

using at::Tensor;
using std::optional;

// How an LSTM is built; what both ops have in their argument lists.
struct Layers {
  bool has_biases;
  int64_t count;
  double dropout;
  bool train;
  bool bidirectional;
  bool batch_first;

  bool drawsRandomNumbers() const {
    return train && dropout > 0 && count > 1;
  }
  std::tuple<Tensor, Tensor, Tensor> run(
      const Tensor& input, at::TensorList hx, at::TensorList params) const {
    return at::lstm(
        input, hx, params, has_biases, count, dropout, train, bidirectional, batch_first);
  }
};

// The default generator goes back to a saved state for the time of a scope.
class GeneratorRewind {
 public:
  explicit GeneratorRewind(const Tensor& state) : generator_(getDefaultMPSGenerator()), now_(generator_.get_state()) {
    generator_.set_state(state);
  }
  ~GeneratorRewind() {
    generator_.set_state(now_);
  }
  GeneratorRewind(const GeneratorRewind&) = delete;
  GeneratorRewind& operator=(const GeneratorRewind&) = delete;

 private:
  at::Generator generator_;
  Tensor now_;
};

// Ops are recorded, although this is the inside of a kernel.
class RecordingScope {
  static c10::impl::LocalDispatchKeySet withAutograd() {
    auto keys = c10::impl::tls_local_dispatch_key_set();
    keys.excluded_ = keys.excluded_ - c10::autograd_dispatch_keyset_with_ADInplaceOrView;
    return keys;
  }
  c10::impl::ForceDispatchKeyGuard keys_{withAutograd()};
  at::AutoGradMode mode_{true};
};

Tensor leaf(const Tensor& tensor) {
  return tensor.detach().requires_grad_();
}

std::vector<Tensor> leaves(at::TensorList tensors) {
  std::vector<Tensor> result;
  for (const Tensor& tensor : tensors) {
    result.push_back(leaf(tensor));
  }
  return result;
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor> forward(
    const Tensor& input,
    at::TensorList hx,
    at::TensorList params,
    bool has_biases,
    int64_t num_layers,
    double dropout,
    bool train,
    bool bidirectional,
    bool batch_first) {
  const Layers layers{has_biases, num_layers, dropout, train, bidirectional, batch_first};
  const auto nothing = at::empty({0}, input.options());
  const auto state = layers.drawsRandomNumbers()
      ? getDefaultMPSGenerator().get_state().to(input.device())
      : nothing;
  auto [output, hidden, cell] = layers.run(input, hx, params);
  return {output, hidden, cell, state, nothing, nothing};
}

std::tuple<Tensor, std::vector<Tensor>, std::vector<Tensor>> backward(
    const optional<Tensor>& grad_y,
    const optional<Tensor>& grad_hy,
    const optional<Tensor>& grad_cy,
    const Tensor& z_state,
    const Tensor& /*cell_state_fwd*/,
    const Tensor& input,
    const Tensor& /*layersOutputs*/,
    at::TensorList hx,
    at::TensorList params,
    bool has_biases,
    int64_t num_layers,
    double dropout,
    bool train,
    bool bidirectional,
    bool batch_first) {
  const Layers layers{has_biases, num_layers, dropout, train, bidirectional, batch_first};
  const RecordingScope recording;
  optional<GeneratorRewind> rewind;
  if (layers.drawsRandomNumbers()) {
    rewind.emplace(z_state.cpu());
  }
  const auto own_input = leaf(input);
  const auto own_hx = leaves(hx);
  const auto own_params = leaves(params);
  const auto [output, hidden, cell] = layers.run(own_input, own_hx, own_params);
  torch::autograd::variable_list outputs, gradients;
  for (const auto& [result, gradient] :
       {std::pair(output, grad_y), std::pair(hidden, grad_hy), std::pair(cell, grad_cy)}) {
    if (gradient && gradient->defined()) {
      outputs.push_back(result);
      gradients.push_back(*gradient);
    }
  }
  torch::autograd::variable_list inputs{own_input};
  inputs.insert(inputs.end(), own_hx.begin(), own_hx.end());
  inputs.insert(inputs.end(), own_params.begin(), own_params.end());
  auto found = torch::autograd::grad(
      outputs, inputs, gradients, /*retain_graph=*/false, /*create_graph=*/false, /*allow_unused=*/true);
  for (size_t index = 0; index < found.size(); ++index) {
    found[index] = found[index].defined() ? found[index] : at::zeros_like(inputs[index].detach());
  }
  const auto first_param = found.begin() + 1 + static_cast<std::ptrdiff_t>(own_hx.size());
  return {
      found.front(),
      std::vector<Tensor>(found.begin() + 1, first_param),
      std::vector<Tensor>(first_param, found.end())};
}

} // namespace

void registerLstm(torch::Library& library) {
  library.impl("_lstm_mps", &forward);
  library.impl("lstm_mps_backward", &backward);
}

} // namespace openmps
