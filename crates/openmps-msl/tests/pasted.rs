//! Headers that PyTorch pastes in front of a kernel have a precompiled header of their own: with it and without it a text
//! means the same, errors included.

mod common;

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

/// Pasted text that no other run has, so that its precompiled header is not there yet.
fn pasted() -> String {
    let nanoseconds = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is right").as_nanos();
    let mut text = format!("#include <metal_stdlib>\n// run {nanoseconds} of {}\n", std::process::id());
    text.push_str(&"// a license\n".repeat(60));
    text.push_str(
        "#define C10_TWO 2.0
namespace c10 {
namespace metal {
constant float table[] = {1.5, 2.5};
template <typename T> T twice(T x) { return static_cast<T>(x * C10_TWO); }
template <typename T> T bad(T x) { return x.nothing; }
inline float entry(uint i) { return table[i % 2]; }
template <typename T> kernel void scale(device T* x, uint i [[thread_position_in_grid]]) { x[i] = twice(x[i]); }
} // namespace metal
} // namespace c10
",
    );
    text
}

const KERNELS: &str = "using namespace c10::metal;
template [[host_name(\"scale_half\")]] kernel void c10::metal::scale<half>(device half*, uint);
kernel void f(device float* x, uint i [[thread_position_in_grid]]) { x[i] = twice(x[i]) + entry(i) + C10_TWO; }
";

const WRONG: &str = "kernel void f(device float* x) { x[0] = c10::metal::bad(x[1]) + oops; }\n";

#[test]
fn a_text_means_the_same_with_its_precompiled_header_and_without() {
    let compiler = common::compiler();
    let pasted = pasted();
    let (right, wrong) = (pasted.clone() + KERNELS, pasted + WRONG);
    let first_error = common::compile(&wrong).unwrap_err();
    assert!(compiler.driver().take_pending().is_none(), "wrong text has made a header");
    let first = common::compile(&right).unwrap();

    let pending = compiler.driver().take_pending().expect("the text begins with pasted headers");
    let header = compiler.driver().build_pending(&pending).unwrap();
    let second = common::compile(&right).unwrap();
    assert!(compiler.driver().take_pending().is_none(), "the header was not used");
    assert_eq!(second.kernels, first.kernels);
    assert_eq!(second.kernels.iter().map(|kernel| kernel.name.as_str()).collect::<Vec<_>>(), ["f", "scale_half"]);
    assert_eq!(common::compile(&wrong).unwrap_err(), first_error);
    let line = right[..right.find("x.nothing").unwrap()].matches('\n').count() + 1;
    assert!(first_error.to_string().contains(&format!("program_source:{line}:")), "{first_error}");

    // Damaged, it is done without and removed.
    fs::write(&header, b"no header").unwrap();
    assert_eq!(common::compile(&right).unwrap().kernels, first.kernels);
    assert!(!header.exists());
}
