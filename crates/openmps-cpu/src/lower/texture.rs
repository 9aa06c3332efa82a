//! Texture functions: operands go into the words of a request on the stack, the runtime answers in place.
//!
//! The words are [`crate::texture::word`]'s. Colors travel as 32 bits a component: floats as float, integers extended by their
//! sign.

use openmps_air::element::{Element, Sign};
use openmps_air::intrinsics::texture::{Role, forms};
use openmps_air::intrinsics::{Operation, TextureOperation, lookup};

use super::text::{Body, Ty, Value};
use super::{Declaration, Lowered};
use crate::texture::word;

pub(super) fn lower(declaration: &Declaration, body: &mut Body) -> Option<Lowered> {
    let row = lookup(&declaration.name)?.row;
    let Operation::Texture(function) = row.operation else { return None };
    match function.operation {
        // Threads see their own writes at once.
        TextureOperation::Fence => return Some(Lowered::Void),
        TextureOperation::IsNull => {
            let texture = declaration.parameter(0)?;
            let null = Value::new(texture.ty.clone(), "null");
            return Some(Lowered::Value(body.compare("icmp eq", &texture, &null)));
        }
        _ => {}
    }
    let form = forms(function, row.element).into_iter().find(|form| form.len() == declaration.parameters.len())?;
    let request = body.value(&Ty::scalar("ptr"), format_args!("alloca [{} x i32], align 16", word::COUNT));
    body.line(format_args!("store [{} x i32] zeroinitializer, {request}", word::COUNT));
    let signed = row.sign == Some(Sign::Signed);
    let mut sampler = "null".to_owned();
    let mut expected = None;
    for (number, (role, _)) in form.iter().enumerate() {
        let operand = declaration.parameter(number)?;
        match first_word(*role) {
            Some(first) => {
                let signed = *role == Role::Offset || signed && *role == Role::Value;
                store(body, &request, first, &operand, signed);
            }
            None if *role == Role::Sampler => sampler = operand.name,
            None if *role == Role::Expected => expected = Some(operand),
            None => {}
        }
    }
    if let Some(expected) = &expected {
        let color = Ty { scalar: "i32".to_owned(), lanes: 4 };
        let color = body.value(&color, format_args!("load {color}, {expected}"));
        store(body, &request, word::EXPECTED, &color, signed);
    }
    let texture = declaration.parameter(0)?;
    let code = word::code(function.operation, signed);
    body.line(format_args!("call void @openmps_texture(i32 {code}, {texture}, ptr addrspace(2) {sampler}, {request})"));
    finish(declaration, body, row.element, &request, expected.as_ref())
}

/// The first word of an operand; `None` for what travels otherwise or not at all.
fn first_word(role: Role) -> Option<u32> {
    Some(match role {
        Role::Position => word::POSITION,
        Role::Layer => word::LAYER,
        Role::Face => word::FACE,
        Role::Offset => word::OFFSET,
        Role::IsLevel => word::IS_LEVEL,
        Role::Level => word::LEVEL,
        Role::MinLevel => word::MIN_LEVEL,
        Role::Value => word::VALUE,
        Role::Component => word::COMPONENT,
        Role::Reference => word::REFERENCE,
        Role::GradientX => word::GRADIENT_X,
        Role::GradientY => word::GRADIENT_Y,
        Role::Texture | Role::Sampler | Role::Ignored | Role::Expected => return None,
    })
}

fn address(body: &mut Body, request: &Value, word: u32) -> Value {
    body.value(&request.ty, format_args!("getelementptr i32, {request}, i64 {word}"))
}

fn store(body: &mut Body, request: &Value, first: u32, value: &Value, signed: bool) {
    for lane in 0..value.ty.lanes {
        let scalar = body.extract(value, lane);
        let wide = match scalar.ty.scalar.as_str() {
            "half" => body.cast("fpext", &scalar, &Ty::scalar("float")),
            "i1" => body.cast("zext", &scalar, &Ty::scalar("i32")),
            "i16" => body.cast(if signed { "sext" } else { "zext" }, &scalar, &Ty::scalar("i32")),
            _ => scalar,
        };
        let place = address(body, request, first + lane);
        body.line(format_args!("store {wide}, {place}"));
    }
}

/// One component of the answer as `ty`.
fn component(body: &mut Body, request: &Value, lane: u32, ty: &Ty) -> Value {
    let place = address(body, request, word::VALUE + lane);
    let stored = if ty.is_float() { "float" } else { "i32" };
    let stored = body.value(&Ty::scalar(stored), format_args!("load {stored}, {place}"));
    body.cast(if ty.is_float() { "fptrunc" } else { "trunc" }, &stored, ty)
}

/// The result from the answer.
fn finish(
    declaration: &Declaration,
    body: &mut Body,
    element: Element,
    request: &Value,
    expected: Option<&Value>,
) -> Option<Lowered> {
    let Some(result) = declaration.result.clone() else { return Some(Lowered::Void) };
    if let Some(expected) = expected {
        let color = Ty { scalar: "i32".to_owned(), lanes: 4 };
        let old = body.per_lane(&color, |body, lane| component(body, request, lane, &color.lane()));
        body.line(format_args!("store {old}, {expected}"));
        let flag = address(body, request, word::FLAG);
        let flag = body.value(&Ty::scalar("i32"), format_args!("load i32, {flag}"));
        return Some(Lowered::Value(body.cast("trunc", &flag, &result)));
    }
    if !result.scalar.starts_with('{') {
        return Some(Lowered::Value(
            body.per_lane(&result, |body, lane| component(body, request, lane, &result.lane())),
        ));
    }
    let scalar = match element {
        Element::F16 => "half",
        Element::F32 => "float",
        Element::I16 => "i16",
        _ => "i32",
    };
    let is_scalar = result.scalar == format!("{{ {scalar}, i8 }}");
    let color = Ty { scalar: scalar.to_owned(), lanes: if is_scalar { 1 } else { 4 } };
    let value = body.per_lane(&color, |body, lane| component(body, request, lane, &color.lane()));
    let resident = body.value(&result, format_args!("insertvalue {result} poison, i8 0, 1"));
    Some(Lowered::Value(body.value(&result, format_args!("insertvalue {resident}, {value}, 0"))))
}
