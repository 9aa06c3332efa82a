//! The runtime from Rust: memory, a stream, a Metal kernel. Run it after `./dev build`:
//!
//! `OPENMPS_COMPILER=python/openmps/_native/openmps-compiler cargo run --example vector_add`
#![expect(clippy::print_stdout, reason = "an example shows its result")]

use openmps::{Binding, Bindings, Buffer, BufferIndex, CompileOptions, Device, Grid, Library, Stream};

const SOURCE: &str = "
kernel void vector_add(device const float* a, device const float* b, device float* sum, uint i [[thread_position_in_grid]]) {
  sum[i] = a[i] + b[i];
}";

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ones = vec![1.0_f32; 1000];
    let counted: Vec<f32> = (0..1000_u16).map(f32::from).collect();
    let (a, b) = (Buffer::from_bytes(&bytes(&ones))?, Buffer::from_bytes(&bytes(&counted))?);
    let sum = Buffer::new(a.len())?;

    let kernel = Library::from_source(SOURCE, &CompileOptions::default())?.kernel("vector_add")?;
    let mut bindings = Bindings::default();
    let buffers = [&a, &b, &sum];
    for (index, buffer) in (0..).zip(buffers) {
        let address = buffer.contents().as_ptr() as u64;
        bindings.set(BufferIndex(index), Binding::Buffer { address, size_bytes: buffer.len() as u64 });
    }
    let held = buffers.map(|buffer| buffer.contents().as_ptr().cast_const());
    let stream = Stream::default_stream();
    kernel.encode(stream, bindings, &held, Grid { threads: [1000, 1, 1], group: [256, 1, 1] })?;
    stream.synchronize()?;

    let result = sum.to_vec();
    let expected: Vec<f32> = counted.iter().map(|value| value + 1.0).collect();
    assert_eq!(result, bytes(&expected), "the kernel's sums");
    println!("{}: 1000 sums are right", Device::shared().name());
    Ok(())
}
