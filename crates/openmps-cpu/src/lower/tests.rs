//! Every row of the intrinsic table has a body that LLVM accepts, in every form and signature.

use openmps_air::element::Element;
use openmps_air::intrinsics::{ExecutionOperation, Lift, Operation, Row, Signature, Slot, rows};
use openmps_engine::AddressSpace;
use openmps_llvm::Context;

use super::*;

/// Functions that this engine refuses: asynchronous copies occur in precompiled libraries alone, which come later.
fn is_refused(row: &Row) -> bool {
    use ExecutionOperation as Op;
    matches!(row.operation, Operation::Execution(Op::AsyncCopy1d | Op::AsyncCopy2d | Op::WaitEvents))
}

fn scalar(element: Element) -> &'static str {
    match element {
        Element::F16 => "half",
        Element::Bf16 => "bfloat",
        Element::F32 => "float",
        Element::I1 => "i1",
        Element::I8 => "i8",
        Element::I16 => "i16",
        Element::I32 => "i32",
        Element::I64 => "i64",
    }
}

fn ty(slot: Slot, lanes: u32) -> Option<Ty> {
    Some(match slot {
        Slot::Void => return None,
        Slot::Lifted(element) => Ty { scalar: scalar(element).to_owned(), lanes },
        Slot::Scalar(element) => Ty::scalar(scalar(element)),
        Slot::WithStatus(element, 1) => Ty::scalar(&format!("{{ {}, i8 }}", scalar(element))),
        Slot::WithStatus(element, lanes) => Ty::scalar(&format!("{{ <{lanes} x {}>, i8 }}", scalar(element))),
        Slot::Vector(element, lanes) => Ty { scalar: scalar(element).to_owned(), lanes },
        Slot::Pointer(AddressSpace::Thread) => Ty::scalar("ptr"),
        Slot::Pointer(space) => Ty::scalar(&format!("ptr addrspace({})", space as u32)),
    })
}

fn declaration(row: &Row, signature: &Signature, count: u32, lanes: Lanes) -> Declaration {
    let parameters = signature.operands.iter().filter_map(|slot| ty(*slot, count)).collect();
    Declaration {
        name: row.name.clone(),
        result: ty(signature.result, count),
        parameters,
        fragments: Fragments::Apple10,
        lanes,
    }
}

#[test]
fn every_row_has_a_valid_body() {
    for lanes in [Lanes::Fibers, Lanes::Lockstep] {
        let refused = rows().iter().map(|row| count_refused_forms(row, lanes)).sum::<usize>();
        println!("{lanes:?}: {refused} forms are refused");
    }
}

/// Checks the bodies of all forms of a row.
fn count_refused_forms(row: &Row, lanes: Lanes) -> usize {
    let context = Context::new();
    let mut refused = 0;
    let forms: &[u32] = match row.lift {
        Lift::None => &[1],
        Lift::Elementwise => &[1, 2, 3, 4],
        Lift::Horizontal => &[2, 3, 4],
    };
    for (signature, &count) in row.signatures.iter().flat_map(|signature| forms.iter().map(move |l| (signature, l))) {
        let declaration = declaration(row, signature, count, lanes);
        let Some((body, lowered)) = lower(&declaration) else {
            assert!(is_refused(row), "{} has no lowering", row.name);
            refused += 1;
            continue;
        };
        let result = match &lowered {
            Lowered::Value(value) => Some(&value.ty),
            Lowered::Void => None,
        };
        assert_eq!(result, declaration.result.as_ref(), "{}", row.name);
        let declarations: String = body.declarations().iter().map(String::as_str).collect();
        let definition = declaration.definition(body, &lowered);
        let table = if definition.contains(angle::TABLE) { angle::table_text() } else { String::new() };
        let text = format!("{RUNTIME}{}{declarations}{table}{definition}", tensor::RUNTIME);
        let module = context.parse_ir(&text).unwrap_or_else(|error| panic!("{error} in\n{text}"));
        module.verify().unwrap_or_else(|error| panic!("{error} in\n{text}"));
    }
    refused
}
