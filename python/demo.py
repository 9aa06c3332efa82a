"""The main job on real input: train a small GPT on "mps" with this project's own documents, then run Metal kernels.

Run it by `./dev demo`. It uses PyTorch alone: `import torch` activates the device.
"""

import pathlib
import time

import torch
from torch import nn
from torch.nn import functional as F

CONTEXT = 64
WIDTH = 96
HEADS = 4
LAYERS = 3
STEPS = 400
BATCH = 16

KERNELS = """
#include <metal_stdlib>
using namespace metal;

// One row a threadgroup: SIMD-group reductions, then one value a SIMD-group through threadgroup memory.
kernel void row_softmax(device const float* input [[buffer(0)]],
                        device float* output      [[buffer(1)]],
                        constant long& columns    [[buffer(2)]],
                        uint row    [[threadgroup_position_in_grid]],
                        uint thread_index [[thread_position_in_threadgroup]],
                        uint threads [[threads_per_threadgroup]],
                        uint lane   [[thread_index_in_simdgroup]],
                        uint group  [[simdgroup_index_in_threadgroup]]) {
  threadgroup float partial[32];
  device const float* x = input + row * columns;
  device float* y = output + row * columns;
  const uint groups = (threads + 31) / 32;

  float largest = -INFINITY;
  for (long i = thread_index; i < columns; i += threads) largest = max(largest, x[i]);
  largest = simd_max(largest);
  if (lane == 0) partial[group] = largest;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  largest = simd_max(lane < groups ? partial[lane] : -INFINITY);
  threadgroup_barrier(mem_flags::mem_threadgroup);

  float total = 0;
  for (long i = thread_index; i < columns; i += threads) total += exp(x[i] - largest);
  total = simd_sum(total);
  if (lane == 0) partial[group] = total;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  total = simd_sum(lane < groups ? partial[lane] : 0.0f);

  for (long i = thread_index; i < columns; i += threads) y[i] = exp(x[i] - largest) / total;
}

// A histogram by atomics: every thread adds to one of 256 bins.
kernel void histogram(device const uchar* bytes [[buffer(0)]],
                      device atomic_uint* bins  [[buffer(1)]],
                      uint index [[thread_position_in_grid]]) {
  atomic_fetch_add_explicit(&bins[bytes[index]], 1u, memory_order_relaxed);
}
"""


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = (part.view(batch, length, HEADS, -1).transpose(1, 2) for part in self.qkv(self.norm1(x)).chunk(3, -1))
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.mlp(self.norm2(x))


class CharacterModel(nn.Module):
    def __init__(self, vocabulary):
        super().__init__()
        self.token, self.position = nn.Embedding(vocabulary, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, vocabulary)

    def forward(self, tokens):
        x = self.token(tokens) + self.position(torch.arange(tokens.shape[1], device=tokens.device))
        return self.head(self.norm(self.blocks(x)))


def say(text):
    print(text, flush=True)


def describe_device():
    say(f"device: {torch.backends.mps.get_name()}, {torch.backends.mps.get_core_count()} cores, torch {torch.__version__}")
    say(f"accelerator: {torch.accelerator.current_accelerator()}, "
        f"recommended memory {torch.mps.recommended_max_memory() / 2**30:.1f} GiB")


def train(data, vocabulary):
    torch.manual_seed(0)
    model = CharacterModel(vocabulary).to("mps")
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    say(f"\ntraining a GPT of {parameters:,} parameters on {len(data):,} characters of this project's documents")
    first = torch.mps.Event(enable_timing=True)
    last = torch.mps.Event(enable_timing=True)
    first.record()
    start = time.perf_counter()
    losses = []
    for step in range(STEPS):
        places = torch.randint(0, len(data) - CONTEXT - 1, (BATCH,))
        inputs = torch.stack([data[place : place + CONTEXT] for place in places])
        targets = torch.stack([data[place + 1 : place + CONTEXT + 1] for place in places])
        loss = F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step % 80 == 0 or step == STEPS - 1:
            say(f"  step {step:3}  loss {losses[-1]:.3f}")
    last.record()
    last.synchronize()
    seconds = time.perf_counter() - start
    assert losses[-1] < 0.75 * losses[0], f"the loss did not fall: {losses[0]} to {losses[-1]}"
    say(f"  {STEPS / seconds:.1f} steps a second, {first.elapsed_time(last):.0f} ms between two mps events")
    return model


@torch.no_grad()
def write(model, data, characters):
    tokens = data[:CONTEXT].unsqueeze(0)
    for _ in range(120):
        probabilities = model(tokens[:, -CONTEXT:])[:, -1].softmax(-1)
        tokens = torch.cat([tokens, torch.multinomial(probabilities, 1)], 1)
    say("what it writes now: " + repr("".join(characters[token] for token in tokens[0, CONTEXT:].tolist())))


def run_kernels(text):
    start = time.perf_counter()
    library = torch.mps.compile_shader(KERNELS)
    milliseconds = (time.perf_counter() - start) * 1e3
    say(f"\ncompiled {len(dir(library))} Metal kernels in {milliseconds:.0f} ms: {', '.join(dir(library))}")

    rows, columns = 257, 1000
    scores = torch.randn(rows, columns, device="mps")
    ours = torch.empty_like(scores)
    library.row_softmax(scores, ours, columns, threads=rows * 256, group_size=256)
    difference = (ours - scores.softmax(-1)).abs().max().item()
    assert difference < 1e-6, f"row_softmax differs from torch.softmax by {difference}"
    say(f"row_softmax: {rows} rows of {columns}, 256 threads a row with barriers; largest difference to torch.softmax {difference:.1e}")

    data = torch.frombuffer(bytearray(text.encode()), dtype=torch.uint8).to("mps")
    bins = torch.zeros(256, dtype=torch.int32, device="mps")
    library.histogram(data, bins)
    assert torch.equal(bins.long(), torch.bincount(data.int(), minlength=256)), "histogram differs from torch.bincount"
    common = bins.cpu().argsort(descending=True)[:5].tolist()
    say(f"histogram: {data.numel():,} bytes by atomics; most frequent {[chr(byte) for byte in common]}; equal to torch.bincount")

    try:
        torch.mps.compile_shader("kernel void wrong(device float* out) {\n  out[0] = undefined_name;\n}")
    except SyntaxError as error:
        say("a wrong kernel says: " + str(error).splitlines()[0])


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    text = "\n".join(path.read_text() for path in sorted(root.glob("*.md")) + sorted((root / "docs").rglob("*.md")))
    characters = sorted(set(text))
    index = {character: number for number, character in enumerate(characters)}
    data = torch.tensor([index[character] for character in text], device="mps")

    describe_device()
    model = train(data, len(characters))
    write(model, data, characters)
    run_kernels(text)

    allocated = torch.mps.current_allocated_memory() / 2**20
    driver = torch.mps.driver_allocated_memory() / 2**20
    del model, data
    torch.mps.empty_cache()
    say(f"\nmemory: {allocated:.1f} MiB in use, {driver:.1f} MiB from the driver; "
        f"after empty_cache {torch.mps.driver_allocated_memory() / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
