//! Function constants of source text follow the convention of Apple's compiler: listed, specialised, folded.

mod common;

use openmps_air::specialize;
use openmps_engine::{CompiledSource, ConstantType, ConstantValue, ConstantValues, Presence};

const SOURCE: &str = "#include <metal_stdlib>
using namespace metal;
constant bool use_bias [[function_constant(0)]];
constant int width [[function_constant(1)]];
constant float3 color [[function_constant(2)]];
constant int size = is_function_constant_defined(width) ? width * 2 : 7;
kernel void k(device int* out [[buffer(0)]], device int* bias [[buffer(1), function_constant(use_bias)]]) {
  out[0] = size;
  if (use_bias)
    out[0] += bias[0];
}
kernel void colored(device float* out) { out[0] = color.y; }
kernel void plain(device float* out) { out[0] = 1; }
";

fn compile(source: &str) -> CompiledSource {
    common::compile(source).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn each_kernel_lists_the_constants_that_it_depends_on() {
    let compiled = compile(SOURCE);
    let listed: Vec<String> = compiled
        .kernels
        .iter()
        .map(|kernel| {
            let constant = |constant: &openmps_engine::FunctionConstant| {
                format!(
                    " {}:{} {}{}",
                    constant.index,
                    constant.name,
                    constant.ty,
                    if constant.required { "" } else { "?" }
                )
            };
            format!("{}{}", kernel.name, kernel.constants.iter().map(constant).collect::<String>())
        })
        .collect();
    assert_eq!(listed, ["colored 2:color float3", "k 0:use_bias bool 1:width int?", "plain"]);
    let bias = &compiled.kernels[1].arguments[1];
    assert_eq!(bias.presence, Presence::Gated { constant: "use_bias".into() });
}

#[test]
fn values_decide_about_code_and_arguments() {
    let compiled = compile(SOURCE);
    let mut values = ConstantValues::default();
    values.set_name("use_bias", false);
    let (_, kernel) = specialize(&compiled.air, "k", &values).unwrap();
    assert_eq!(kernel.arguments[1].presence, Presence::Absent);
    values.set_name("use_bias", true);
    values.set_index(1, 20_i32);
    let (_, kernel) = specialize(&compiled.air, "k", &values).unwrap();
    assert_eq!(kernel.arguments[1].presence, Presence::Always);
    let color = ConstantType::from_name("float3").unwrap();
    let bytes: Vec<u8> = [1.0_f32, 2.5, 3.0].iter().flat_map(|part| part.to_le_bytes()).collect();
    let mut colors = ConstantValues::default();
    colors.set_index(2, ConstantValue::new(color, bytes).unwrap());
    let (air, _) = specialize(&compiled.air, "colored", &colors).unwrap();
    let context = openmps_llvm::Context::new();
    let module = context.parse_bitcode(air.bitcode()).unwrap();
    assert!(module.to_string().contains("<float 1.000000e+00, float 2.500000e+00, float 3.000000e+00>"));
    let error = specialize(&compiled.air, "colored", &values).unwrap_err();
    assert_eq!(error.to_string(), "function constant 'color' (index 2, float3): a value is required, none was set");
}

#[test]
fn a_gate_need_not_be_mentioned_by_code() {
    // Nor need the argument: who binds by index may gate what a variant of the kernel leaves alone.
    let source = "constant int unused [[function_constant(3)]];
namespace options { constant bool has_bias [[function_constant(1)]]; }
constant bool is_wide [[function_constant(2)]];
constant bool has_both = options::has_bias && is_wide;
template <typename T> kernel void scaled(device T* out, device T* bias [[buffer(1), function_constant(options::has_bias)]],
                                         constant T& scale [[buffer(2), function_constant(has_both)]]) { out[0] = 1; }
template [[host_name(\"scaled_float\")]] kernel void scaled<float>(device float*, device float*, constant float&);
kernel void plain(device int* out, uint i [[thread_position_in_grid]],
                  device int* bias [[function_constant(is_wide), buffer(7)]]) { out[i] = 1; }";
    let compiled = compile(source);
    let named = |name: &str| compiled.kernels.iter().find(|kernel| kernel.name == name).unwrap();
    let gate = |name: &str, at: usize| named(name).arguments[at].presence.clone();
    assert_eq!(gate("plain", 2), Presence::Gated { constant: "is_wide".into() });
    assert_eq!(gate("scaled_float", 1), Presence::Gated { constant: "has_bias".into() });
    assert_eq!(gate("scaled_float", 2), Presence::Gated { constant: "has_both".into() });
    let mut values = ConstantValues::default();
    values.set_name("is_wide", true);
    for (has_bias, expected) in [(false, Presence::Absent), (true, Presence::Always)] {
        values.set_name("has_bias", has_bias);
        let (_, kernel) = specialize(&compiled.air, "scaled_float", &values).unwrap();
        assert_eq!(kernel.arguments[1].presence, expected);
        assert_eq!(kernel.arguments[2].presence, expected);
        let (_, kernel) = specialize(&compiled.air, "plain", &values).unwrap();
        assert_eq!(kernel.arguments[2].presence, Presence::Always);
    }
}
