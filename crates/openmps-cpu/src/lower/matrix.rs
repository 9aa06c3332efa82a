//! `air.simdgroup_matrix_8x8_*`: 8x8 matrices spread over a SIMD-group. A matrix is `<64 x T>`, of which each lane owns elements
//! 0 and 1; [`crate::lanes::matrix_position`] says which they are. Loads and stores exist in two forms: pointer, elements a row,
//! origin, transpose (AIR up to 2.7), and pointer, shape, strides, origin (AIR 2.8). In lockstep they are calls that the vectoriser
//! replaces by accesses of whole rows.

use super::barrier::simdgroup_barrier;
use super::simd::{LaneCall, lane_call, marked};
use super::text::{Body, Ty, Value};
use super::{Declaration, Lanes, Lowered};
use crate::lanes::{Element, LaneOperation};
use crate::vectorize::{MATRIX_LOAD, MATRIX_STORE, Marker};

pub(super) fn lower(declaration: &Declaration, body: &mut Body) -> Option<Lowered> {
    let (name, _) = declaration.parts();
    let operation = name.strip_prefix("simdgroup_matrix_8x8_")?;
    match operation {
        "store" => {
            let value = declaration.parameter(0)?;
            simdgroup_barrier(declaration, body);
            if declaration.lanes == Lanes::Lockstep {
                return store_in_lockstep(declaration, body, &value);
            }
            for (index, address) in element_addresses(declaration, 1, &value.ty, body)?.iter().enumerate() {
                let element = body.value(&value.ty.lane(), format_args!("extractelement {value}, i32 {index}"));
                body.line(format_args!("store {element}, {address}, align {}", bytes(&value.ty)?));
            }
            Some(Lowered::Void)
        }
        "load" => {
            let ty = declaration.result.clone()?;
            // Lanes run one after another, so what others of the SIMD-group stored before must be there.
            simdgroup_barrier(declaration, body);
            if declaration.lanes == Lanes::Lockstep {
                return load_in_lockstep(declaration, body, &ty);
            }
            let mut elements = Vec::new();
            for address in element_addresses(declaration, 0, &ty, body)? {
                let align = bytes(&ty)?;
                elements.push(body.value(&ty.lane(), format_args!("load {}, {address}, align {align}", ty.scalar)));
            }
            Some(Lowered::Value(pair(body, &ty, &elements)))
        }
        "init_filled" => {
            let value = declaration.parameter(0)?;
            let ty = declaration.result.clone()?;
            Some(Lowered::Value(pair(body, &ty, &[value.clone(), value])))
        }
        "init_diag" => {
            let value = declaration.parameter(0)?;
            let ty = declaration.result.clone()?;
            let (row, column) = position(body);
            let zero = Value::new(ty.lane(), "zeroinitializer");
            let elements = [0, 1].map(|step| {
                let column = body.binary("add", &column, &Value::int(&column.ty, step));
                let is_diagonal = body.compare("icmp eq", &row, &column);
                body.select(&is_diagonal, &value, &zero)
            });
            Some(Lowered::Value(pair(body, &ty, &elements)))
        }
        "multiply_accumulate" => multiply_accumulate(declaration, body),
        _ => None,
    }
}

fn bytes(ty: &Ty) -> Option<u32> {
    Some(ty.bits()? / 8)
}

/// A matrix with these two elements.
fn pair(body: &mut Body, ty: &Ty, elements: &[Value]) -> Value {
    let mut matrix = Value::new(ty.clone(), "poison");
    for (index, element) in elements.iter().enumerate() {
        matrix = body.value(ty, format_args!("insertelement {matrix}, {element}, i32 {index}"));
    }
    matrix
}

/// Row and first column of the calling lane's elements, as i64.
fn position(body: &mut Body) -> (Value, Value) {
    let word = Ty::scalar("i64");
    let lane = body.call(&Ty::scalar("i32"), "openmps_lane_index", &[]);
    let lane = body.cast("zext", &lane, &word);
    let number = |value| Value::int(&Ty::scalar("i64"), value);
    // row = (lane / 4 & 4) + lane / 2 % 4, column = (lane / 4 & 2) * 2 + lane % 2 * 2
    let quad = body.binary("lshr", &lane, &number(2));
    let high = body.binary("and", &quad, &number(4));
    let pairs = body.binary("lshr", &lane, &number(1));
    let low = body.binary("and", &pairs, &number(3));
    let row = body.binary("add", &high, &low);
    let right = body.binary("and", &quad, &number(2));
    let odd = body.binary("and", &lane, &number(1));
    let column = body.binary("add", &right, &odd);
    let column = body.binary("shl", &column, &number(1));
    (row, column)
}

/// Where a matrix is in memory.
struct Place {
    /// The address of its first element.
    start: Value,
    /// Elements from one row to the next, and from one column to the next, as i64.
    row_step: Value,
    column_step: Value,
}

/// The place that the memory operands from parameter `first` on say.
fn place(declaration: &Declaration, first: usize, ty: &Ty, body: &mut Body) -> Option<Place> {
    let pointer = declaration.parameter(first)?;
    let operands: Vec<Value> = (first + 1..first + 4).filter_map(|index| declaration.parameter(index)).collect();
    let [second, third, fourth] = operands.as_slice() else { return None };
    let (step_x, step_y, origin, transpose) = if second.ty.lanes == 2 {
        (body.extract(third, 0), body.extract(third, 1), fourth, None)
    } else {
        (Value::int(&Ty::scalar("i64"), 1), second.clone(), third, Some(fourth))
    };
    let (x, y) = (body.extract(origin, 0), body.extract(origin, 1));
    let (x, y) = (body.binary("mul", &x, &step_x), body.binary("mul", &y, &step_y));
    let offset = body.binary("add", &x, &y);
    let start = body.value(&pointer.ty, format_args!("getelementptr {}, {pointer}, {offset}", ty.scalar));
    // Transposed, m[r][c] lies where m[c][r] would.
    let (row_step, column_step) = match transpose {
        Some(flag) => (body.select(flag, &step_x, &step_y), body.select(flag, &step_y, &step_x)),
        None => (step_y, step_x),
    };
    Some(Place { start, row_step, column_step })
}

/// Addresses of the calling lane's two elements; the memory operands start at parameter `first`.
fn element_addresses(declaration: &Declaration, first: usize, ty: &Ty, body: &mut Body) -> Option<[Value; 2]> {
    let place = place(declaration, first, ty, body)?;
    let (row, column) = position(body);
    let down = body.binary("mul", &row, &place.row_step);
    let addresses = [0, 1].map(|step| {
        let column = body.binary("add", &column, &Value::int(&column.ty, step));
        let right = body.binary("mul", &column, &place.column_step);
        let offset = body.binary("add", &down, &right);
        let start = &place.start;
        body.value(&start.ty, format_args!("getelementptr {}, {start}, {offset}", ty.scalar))
    });
    Some(addresses)
}

/// The number of a pointer's address space.
fn space(pointer: &Ty) -> String {
    pointer.scalar.chars().filter(char::is_ascii_digit).collect()
}

fn load_in_lockstep(declaration: &Declaration, body: &mut Body, ty: &Ty) -> Option<Lowered> {
    let Place { start, row_step, column_step } = place(declaration, 0, ty, body)?;
    let (name, pair_ty) =
        (format!("{MATRIX_LOAD}{}.{}", ty.scalar, space(&start.ty)), format!("{{ {0}, {0} }}", ty.scalar));
    body.declare(format!("declare {pair_ty} @{name}({}, i64, i64) convergent nounwind willreturn\n", start.ty));
    let elements = body.call(&Ty::scalar(&pair_ty), &name, &[&start, &row_step, &column_step]);
    let elements = [0, 1].map(|index| body.value(&ty.lane(), format_args!("extractvalue {elements}, {index}")));
    Some(Lowered::Value(pair(body, ty, &elements)))
}

fn store_in_lockstep(declaration: &Declaration, body: &mut Body, matrix: &Value) -> Option<Lowered> {
    let Place { start, row_step, column_step } = place(declaration, 1, &matrix.ty, body)?;
    let scalar = &matrix.ty.scalar;
    let name = format!("{MATRIX_STORE}{scalar}.{}", space(&start.ty));
    body.declare(format!(
        "declare void @{name}({scalar}, {scalar}, {}, i64, i64) convergent nounwind willreturn\n",
        start.ty
    ));
    let elements =
        [0, 1].map(|index| body.value(&matrix.ty.lane(), format_args!("extractelement {matrix}, i32 {index}")));
    let [first, second] = &elements;
    body.line(format_args!("call void @{name}({first}, {second}, {start}, {row_step}, {column_step})"));
    Some(Lowered::Void)
}

/// Words of the runtime's operation: two elements each of A, B and C as float.
fn multiply_accumulate(declaration: &Declaration, body: &mut Body) -> Option<Lowered> {
    let result = declaration.result.clone()?;
    let float = Ty::scalar("float");
    if declaration.lanes == Lanes::Lockstep {
        return in_lockstep(declaration, body, &result);
    }
    let address = body.value(&Ty::scalar("ptr"), "alloca [6 x i64], align 8");
    for operand in 0..3 {
        let matrix = declaration.parameter(operand)?;
        for element in 0..2 {
            let scalar = body.value(&matrix.ty.lane(), format_args!("extractelement {matrix}, i32 {element}"));
            let wide = body.cast("fpext", &scalar, &float);
            let word = body.word_of(&wide);
            let place = body.word_address(&address, u32::try_from(operand).ok()? * 2 + element);
            body.line(format_args!("store {word}, {place}"));
        }
    }
    let operation = LaneOperation::MatrixMultiplyAccumulate;
    let call = LaneCall { operation, element: Element::F32, count: 0, width: 32 };
    lane_call(body, &call, None, None, &address.name);
    let elements = [0, 1].map(|index| {
        let place = body.word_address(&address, index);
        let word = body.value(&Ty::scalar("i64"), format_args!("load i64, {place}"));
        let wide = body.scalar_of(&word, &float);
        body.cast("fptrunc", &wide, &result.lane())
    });
    Some(Lowered::Value(pair(body, &result, &elements)))
}

/// The same as a call that the vectoriser replaces: six floats in, a pair out.
fn in_lockstep(declaration: &Declaration, body: &mut Body, result: &Ty) -> Option<Lowered> {
    let float = Ty::scalar("float");
    let mut operands = Vec::new();
    for operand in 0..3 {
        let matrix = declaration.parameter(operand)?;
        for element in 0..2 {
            let scalar = body.value(&matrix.ty.lane(), format_args!("extractelement {matrix}, i32 {element}"));
            operands.push(body.cast("fpext", &scalar, &float));
        }
    }
    let marker = Marker { operation: LaneOperation::MatrixMultiplyAccumulate, element: Element::F32, width: 32 };
    let product = marked(body, marker, &Ty::scalar("{ float, float }"), &operands);
    let elements = [0, 1].map(|index| {
        let wide = body.value(&float, format_args!("extractvalue {product}, {index}"));
        body.cast("fptrunc", &wide, &result.lane())
    });
    Some(Lowered::Value(pair(body, result, &elements)))
}
