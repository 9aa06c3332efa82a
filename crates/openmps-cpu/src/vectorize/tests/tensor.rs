//! Operations on tensors.

use super::*;
use crate::tensor::element::Element;
use crate::tensor::layout::Fragments;
use crate::tensor::request::{Form, Operation};

/// A thread's part in an operation of `form` over `threads` threads.
fn operation(form: Form, threads: &str) -> String {
    let (left, right, result) = (Element::F32, Element::F32, Element::F32);
    let code = Operation { form, left, right, result, fragments: Fragments::Apple10 }.to_code();
    format!(
        "  %part = alloca [64 x i8], align 4
  call void @openmps_tensor_operate(i32 {code}, i32 0, i32 {threads}, ptr %p, ptr %p, ptr %p, ptr %part, ptr null) convergent
  %v = load float, ptr %part, align 4
  %at = getelementptr float, ptr %p, i32 %x
  store float %v, ptr %at
  ret void
}}
declare void @openmps_tensor_operate(i32, i32, i32, ptr, ptr, ptr, ptr, ptr) convergent
define void @other() {{
  ret void"
    )
}

#[test]
fn a_simdgroup_hands_over_all_lanes_at_once() {
    let text = vectorized(&operation(Form::IntoCooperative, "64")).unwrap();
    let call = "call void @openmps_tensor_operate_lanes(i32 1, i32 0, i32 64, i32 %4, ";
    assert_eq!(text.matches(call).count(), 2, "with and without a mask:\n{text}");
    assert!(!text.contains("call void @openmps_tensor_operate("), "{text}");
}

#[test]
fn products_that_several_simdgroups_would_have_to_meet_for_are_refused() {
    vectorized(&operation(Form::Cooperative, "32")).unwrap();
    assert_eq!(vectorized(&operation(Form::Cooperative, "64")), Err(Refusal::NeedsFibers));
    assert_eq!(vectorized(&operation(Form::IntoTensor, "%z")), Err(Refusal::NeedsFibers));
}
