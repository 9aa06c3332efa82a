//! What a host's values do to a module as Apple's compiler makes it.

use expect_test::expect;
use openmps_engine::{
    ConstantScalar, ConstantType, ConstantValue, ConstantValues, KernelSignature, Presence, VerifiedAir,
};
use openmps_llvm::Context;

use crate::{reflect, specialize, verify_and_reflect};

/// Two required constants, an optional one, a derived one, a normalized one that gates an argument, and a vector.
const MODULE: &str = r#"
    @_Z4size.MTL_FC_INIT_3_i = internal addrspace(2) externally_initialized constant i32 undef, section "air.fc_initializer"
    @_Z4bias.MTL_FC_INIT_1_b = internal addrspace(2) externally_initialized constant i8 undef, section "air.fc_initializer"
    @_Z4rate.MTL_FC_INIT_7_f = internal addrspace(2) externally_initialized constant float undef, section "air.fc_initializer"
    @_Z4axes.MTL_FC_INIT_8_f2 = internal addrspace(2) externally_initialized constant <2 x float> undef, section "air.fc_initializer"
    @size = internal addrspace(2) global i32 0
    @twice = internal addrspace(2) global i32 0
    @rate = internal addrspace(2) global float 0.0
    @axes = internal addrspace(2) global <2 x float> zeroinitializer
    @pred = internal addrspace(2) global i8 0
    @llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @start, ptr null }]
    declare i8 @air.normalize_function_constant_predicate.i8(i8)
    declare i1 @air.is_function_constant_defined(ptr addrspace(2))
    define internal void @start() section "air.static_init" {
      %size = load i32, ptr addrspace(2) @_Z4size.MTL_FC_INIT_3_i
      store i32 %size, ptr addrspace(2) @size
      %twice = shl i32 %size, 1
      store i32 %twice, ptr addrspace(2) @twice
      %rate = load float, ptr addrspace(2) @_Z4rate.MTL_FC_INIT_7_f
      %has = call i1 @air.is_function_constant_defined(ptr addrspace(2) @_Z4rate.MTL_FC_INIT_7_f)
      %used = select i1 %has, float %rate, float -1.0
      store float %used, ptr addrspace(2) @rate
      %axes = load <2 x float>, ptr addrspace(2) @_Z4axes.MTL_FC_INIT_8_f2
      store <2 x float> %axes, ptr addrspace(2) @axes
      %bias = load i8, ptr addrspace(2) @_Z4bias.MTL_FC_INIT_1_b, !range !9
      %pred = call i8 @air.normalize_function_constant_predicate.i8(i8 %bias)
      store i8 %pred, ptr addrspace(2) @pred
      ret void
    }
    define void @k(ptr addrspace(1) %out, ptr addrspace(1) %bias) {
      %twice = load i32, ptr addrspace(2) @twice
      store i32 %twice, ptr addrspace(1) %out
      ret void
    }
    !air.kernel = !{!0}
    !air.function_constants = !{!5, !6, !7, !8}
    !0 = !{ptr @k, !1, !2}
    !1 = !{}
    !2 = !{!3, !4}
    !3 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_name", !"out"}
    !4 = !{i32 1, !"air.function_constant", !10, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read", !"air.address_space", i32 1, !"air.arg_name", !"bias"}
    !5 = !{ptr addrspace(2) @_Z4size.MTL_FC_INIT_3_i, !"int", !"size", i32 3, i1 true}
    !6 = !{ptr addrspace(2) @_Z4bias.MTL_FC_INIT_1_b, !"bool", !"bias", i32 1, i1 true}
    !7 = !{ptr addrspace(2) @_Z4rate.MTL_FC_INIT_7_f, !"float", !"rate", i32 7, i1 false}
    !8 = !{ptr addrspace(2) @_Z4axes.MTL_FC_INIT_8_f2, !"float2", !"axes", i32 8, i1 false}
    !9 = !{i8 0, i8 2}
    !10 = !{ptr addrspace(2) @pred, !"bool", !"bias"}"#;

fn load() -> (VerifiedAir, KernelSignature) {
    let context = Context::new();
    let bitcode = context.parse_ir(MODULE).unwrap().write_bitcode();
    let (air, mut kernels) = verify_and_reflect(bitcode.as_bytes()).unwrap();
    (air, kernels.remove(0))
}

/// The initial value of `variable` as LLVM writes it.
fn contents(air: &VerifiedAir, variable: &str) -> String {
    let context = Context::new();
    let module = context.parse_bitcode(air.bitcode()).unwrap();
    let global = module.global(variable).unwrap();
    assert!(global.is_constant(), "{variable} is constant from now on");
    global.initializer().unwrap().to_string()
}

fn values() -> ConstantValues {
    let mut values = ConstantValues::default();
    values.set_index(3, 21_i32);
    values.set_name("bias", false);
    values
}

#[test]
fn a_kernel_lists_what_it_needs() {
    let (_, kernel) = load();
    let listed: Vec<String> = kernel
        .constants
        .iter()
        .map(|constant| format!("{} {} {} {}", constant.index, constant.ty, constant.name, constant.required))
        .collect();
    assert_eq!(listed, ["1 bool bias true", "3 int size true", "7 float rate false", "8 float2 axes false"]);
    assert_eq!(kernel.arguments[1].presence, Presence::Gated { constant: "bias".into() });
    assert!(kernel.needs_specialization());
}

#[test]
fn values_reach_what_constructors_compute() {
    let (air, _) = load();
    let (special, kernel) = specialize(&air, "k", &values()).unwrap();
    assert_eq!(contents(&special, "twice"), "i32 42");
    assert_eq!(contents(&special, "rate"), "float -1.000000e+00", "not defined");
    assert_eq!(contents(&special, "axes"), "<2 x float> zeroinitializer");
    assert_eq!(kernel.arguments[1].presence, Presence::Absent);
    assert!(!kernel.needs_specialization());
    assert_eq!(reflect(&special).unwrap(), [kernel], "the module says the same");

    let mut more = values();
    more.set_index(7, 0.5_f32);
    more.set_name("bias", true);
    let pair = ConstantType { scalar: ConstantScalar::Float, lanes: 2 };
    let bytes = [1.0_f32, 2.0].iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    more.set_index(8, ConstantValue::new(pair, bytes).unwrap());
    // Both arguments exist now, and want the same place.
    let error = specialize(&air, "k", &more).unwrap_err();
    expect!["kernel 'k', argument 1: buffer index 0 has another argument already"].assert_eq(&error.to_string());
}

#[test]
fn other_values_give_another_module() {
    let (air, _) = load();
    let hash = |size: i32| {
        let mut values = values();
        values.set_index(3, size);
        specialize(&air, "k", &values).unwrap().0.hash()
    };
    assert_eq!(hash(5), hash(5));
    assert_ne!(hash(5), hash(6));
}

#[test]
fn what_is_missing_or_wrong_is_named() {
    let (air, _) = load();
    let text = |values: &ConstantValues| specialize(&air, "k", values).unwrap_err().to_string();
    expect!["function constant 'size' (index 3, int): a value is required, none was set"]
        .assert_eq(&text(&ConstantValues::default()));
    let mut wrong = values();
    wrong.set_index(3, 1_u32);
    expect!["function constant 'size' (index 3, int): the value set has type uint"].assert_eq(&text(&wrong));
    let error = specialize(&air, "l", &values()).unwrap_err();
    expect!["kernel 'l': no such kernel"].assert_eq(&error.to_string());
}

#[test]
fn a_loop_in_a_constructor_is_refused() {
    let (start, end) =
        ("%twice = shl i32 %size, 1", "br label %again\nagain:\n%n = phi i32 [ 0, %0 ], [ %m, %again ]\n");
    let looped =
        format!("{end}%m = add i32 %n, 1\n%c = icmp slt i32 %m, %size\nbr i1 %c, label %again, label %out\nout:\n");
    let text = MODULE.replace(start, &format!("{looped}{start}"));
    let context = Context::new();
    let bitcode = context.parse_ir(&text).unwrap().write_bitcode();
    let (air, _) = verify_and_reflect(bitcode.as_bytes()).unwrap();
    let error = specialize(&air, "k", &values()).unwrap_err();
    expect!["kernel 'k': a constructor that computes from function constants cannot run at compile time"]
        .assert_eq(&error.to_string());
}

#[test]
fn constructors_without_function_constants_run_when_the_module_is_loaded() {
    let text = r#"
        @table = internal addrspace(2) global i32 0
        @llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 0, ptr @start, ptr null }]
        define internal void @start() {
          store i32 7, ptr addrspace(2) @table
          ret void
        }"#;
    let bitcode = |text: &str| Context::new().parse_ir(text).unwrap().write_bitcode().as_bytes().to_vec();
    let (air, _) = verify_and_reflect(&bitcode(text)).unwrap();
    let context = Context::new();
    let module = context.parse_bitcode(air.bitcode()).unwrap();
    assert_eq!(module.global("table").unwrap().initializer().unwrap().to_string(), "i32 7");
    let unknown = text.replace("store", "%x = load volatile i32, ptr addrspace(2) @table\nstore");
    expect!["module: a constructor computes what depends on no function constant, yet cannot run at compile time"]
        .assert_eq(&verify_and_reflect(&bitcode(&unknown)).unwrap_err().to_string());
}
