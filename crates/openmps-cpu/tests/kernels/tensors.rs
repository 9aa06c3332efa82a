//! Metal 4 tensors through the whole engine: products and convolutions against sums in f64, layouts against themselves.

use std::fmt::Write as _;

use openmps_engine::{Bindings, Builtin};

use crate::harness::{Random, bind, buffer, builtin, compile, dispatch, try_compile, try_dispatch};

/// An element type in the words of names, of data type codes, of tensor descriptors and of LLVM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kind {
    name: &'static str,
    data_type: u32,
    code: u8,
    ty: &'static str,
}

const F32: Kind = Kind { name: "f32", data_type: 0x1000_0020, code: 0, ty: "float" };
const F16: Kind = Kind { name: "f16", data_type: 0x1000_0010, code: 1, ty: "half" };
const BF16: Kind = Kind { name: "b16", data_type: 0x9000_0010, code: 2, ty: "bfloat" };
const I8: Kind = Kind { name: "i8", data_type: 0x2000_0008, code: 3, ty: "i8" };
const I32: Kind = Kind { name: "i32", data_type: 0x2000_0020, code: 7, ty: "i32" };

impl Kind {
    /// Small integers are exact in every type, and their bytes are made here by hand.
    fn bytes(self, value: i32) -> Vec<u8> {
        let float = f32::from(i16::try_from(value).unwrap());
        match self.name {
            "f32" => float.to_le_bytes().to_vec(),
            "b16" => float.to_bits().to_le_bytes()[2..].to_vec(),
            "f16" => half(float).to_le_bytes().to_vec(),
            "i8" => i8::try_from(value).unwrap().to_le_bytes().to_vec(),
            _ => value.to_le_bytes().to_vec(),
        }
    }

    fn value(self, bytes: &[u8]) -> f64 {
        match self.name {
            "f32" => f64::from(f32::from_le_bytes(bytes.try_into().unwrap())),
            "b16" => f64::from(f32::from_bits(u32::from(u16::from_le_bytes(bytes.try_into().unwrap())) << 16)),
            "f16" => unhalf(u16::from_le_bytes(bytes.try_into().unwrap())),
            "i8" => f64::from(i8::from_le_bytes(bytes.try_into().unwrap())),
            _ => f64::from(i32::from_le_bytes(bytes.try_into().unwrap())),
        }
    }

    fn size(self) -> usize {
        usize::try_from(self.data_type & 0xff).unwrap() / 8
    }
}

/// The half of a small integer.
fn half(value: f32) -> u16 {
    let bits = value.to_bits();
    let (sign, rest) = (bits >> 16 & 0x8000, bits & 0x7fff_ffff);
    u16::try_from(sign | if rest == 0 { 0 } else { (rest >> 13) - (112 << 10) }).unwrap()
}

/// The value of a half that is zero or normal.
fn unhalf(bits: u16) -> f64 {
    let rest = u32::from(bits & 0x7fff);
    let magnitude = if rest == 0 { 0 } else { (rest << 13) + (112 << 23) };
    f64::from(f32::from_bits(u32::from(bits & 0x8000) << 16 | magnitude))
}

/// Declares what the texts below call.
fn declarations() -> String {
    let product = "i32, i32, i32, i32, i8, i8, i8, i32";
    let prefix = "__tensorops_impl_matmul2d_op_cooperative_tensor_";
    let mut text = format!(
        "declare i16 @air.get_descriptor_size_tensor(i16, i16)
declare void @air.init_strided_private_tensor.i32.global(ptr, i16, ptr addrspace(1), ptr, ptr, i8)
declare i32 @air.get_extent_private_tensor.i32(ptr, i16, i16)
declare void @air.slice_private_tensor_private_tensor.s.i32(ptr, ptr, i16, ptr, ptr)
declare i64 @{prefix}data_size({product}, i32, i32, i32, i32) convergent
declare void @{prefix}init({product}, ptr, i32, i32, i32, i32) convergent
declare i16 @{prefix}num_elements({product}, ptr, i32, i32, i32) convergent
declare ptr @{prefix}get_element_pointer({product}, ptr, i16, i32, i32, i32) convergent
declare i1 @{prefix}is_valid_element({product}, ptr, i16, i32, i32, i32, i32) convergent
declare void @{prefix}get_coordinate({product}, ptr, i16, ptr, i32, i32, i32, i32, i32) convergent
"
    );
    for kind in [F32, F16, BF16, I32] {
        let _ = writeln!(
            text,
            "declare void @{prefix}store_dv_{}({product}, ptr, ptr, i32, i32, i32, i32, i32)",
            kind.name
        );
        let _ = writeln!(
            text,
            "declare void @{prefix}load_dv_{}({product}, ptr, ptr, i32, i32, i32, i32, i32, i32)",
            kind.name
        );
    }
    text
}

/// A tensor named `name` on device memory `pointer`.
fn tensor(name: &str, pointer: &str, extents: &[i32], strides: &[i32], kind: Kind) -> String {
    let rank = extents.len();
    let mut text = format!(
        "  %{name}.short = call i16 @air.get_descriptor_size_tensor(i16 {rank}, i16 4)
  %{name}.size = zext i16 %{name}.short to i64
  %{name} = alloca i8, i64 %{name}.size, align 8
"
    );
    text.push_str(&array(&format!("{name}.extents"), extents));
    text.push_str(&array(&format!("{name}.strides"), strides));
    let _ = writeln!(
        text,
        "  call void @air.init_strided_private_tensor.i32.global(ptr %{name}, i16 {rank}, ptr addrspace(1) {pointer}, ptr %{name}.extents, ptr %{name}.strides, i8 {})",
        kind.code
    );
    text
}

/// An array of numbers in thread memory.
fn array(name: &str, numbers: &[i32]) -> String {
    let mut text = format!("  %{name} = alloca [{} x i32], align 4\n", numbers.len());
    for (index, number) in numbers.iter().enumerate() {
        let _ = writeln!(text, "  %{name}.{index} = getelementptr i32, ptr %{name}, i64 {index}");
        let _ = writeln!(text, "  store i32 {number}, ptr %{name}.{index}, align 4");
    }
    text
}

/// A product under test.
#[derive(Clone, Copy, Debug)]
struct Product {
    m: i32,
    n: i32,
    k: i32,
    transpose: [bool; 2],
    adds: bool,
    kinds: [Kind; 3],
    simdgroups: u32,
}

impl Product {
    /// Operand number and descriptor, as entry points take them.
    fn operands(&self, operand: u32) -> String {
        let Self { m, n, k, transpose: [left, right], adds, .. } = *self;
        let flag = |set: bool| u8::from(set);
        format!(
            "i32 {operand}, i32 {m}, i32 {n}, i32 {k}, i8 {}, i8 {}, i8 0, i32 {}",
            flag(left),
            flag(right),
            flag(adds)
        )
    }

    fn types(&self) -> String {
        self.kinds.map(|kind| format!("i32 {}", kind.data_type)).join(", ")
    }

    fn threads(&self) -> u32 {
        32 * self.simdgroups
    }

    /// The descriptor as a constant.
    fn constant(&self) -> String {
        let Self { m, n, k, transpose: [left, right], adds, .. } = *self;
        format!(
            "@product = internal constant {{ i32, i32, i32, i8, i8, i8, i32 }} {{ i32 {m}, i32 {n}, i32 {k}, i8 {}, i8 {}, i8 0, i32 {} }}\n",
            u8::from(left),
            u8::from(right),
            u8::from(adds)
        )
    }

    /// Storage of operand `operand` in `%name`.
    fn storage(&self, name: &str, operand: u32) -> String {
        let (operands, types, threads) = (self.operands(operand), self.types(), self.threads());
        format!(
            "  %{name}.size = call i64 @__tensorops_impl_matmul2d_op_cooperative_tensor_data_size({operands}, {types}, i32 {threads})
  %{name} = alloca i8, i64 %{name}.size, align 4
  call void @__tensorops_impl_matmul2d_op_cooperative_tensor_init({operands}, ptr %{name}, {types}, i32 {threads})
  %{name}.at = call ptr @__tensorops_impl_matmul2d_op_cooperative_tensor_get_element_pointer({operands}, ptr %{name}, i16 -1, {types})
"
        )
    }

    fn move_elements(&self, verb: &str, name: &str, operand: u32, tensor: &str) -> String {
        let kind = self.kinds[operand as usize].name;
        let rank = if verb == "load" { ", i32 2" } else { "" };
        format!(
            "  call void @__tensorops_impl_matmul2d_op_cooperative_tensor_{verb}_dv_{kind}({}, ptr %{name}, ptr %{tensor}, i32 2{rank}, {}, i32 {})\n",
            self.operands(operand),
            self.types(),
            self.threads()
        )
    }
}

/// A matrix of small integers in memory of some type.
struct Matrix {
    kind: Kind,
    rows: usize,
    columns: usize,
    bytes: Vec<u8>,
}

impl Matrix {
    fn random(random: &mut Random, kind: Kind, rows: usize, columns: usize) -> Self {
        let bytes =
            (0..rows * columns).flat_map(|_| kind.bytes(i32::try_from(random.below(15)).unwrap() - 7)).collect();
        Self { kind, rows, columns, bytes }
    }

    fn at(&self, row: usize, column: usize) -> f64 {
        if row >= self.rows || column >= self.columns {
            return 0.0;
        }
        let start = (row * self.columns + column) * self.kind.size();
        self.kind.value(&self.bytes[start..start + self.kind.size()])
    }

    /// The tensor of the whole matrix, whose extents may end before its memory does.
    fn tensor(&self, name: &str, pointer: &str, rows: usize, columns: usize) -> String {
        let number = |size: usize| i32::try_from(size).unwrap();
        tensor(name, pointer, &[number(columns), number(rows)], &[1, number(self.columns)], self.kind)
    }
}

fn usize_of(size: i32) -> usize {
    usize::try_from(size).unwrap()
}

/// Runs a kernel `text` of three buffers on one threadgroup.
fn run(text: &str, product: &Product, matrices: [&mut Matrix; 3]) {
    let kernel = compile(text, &[buffer(0), buffer(1), buffer(2), builtin(Builtin::ThreadIndexInThreadgroup, 1)]);
    let mut bindings = Bindings::default();
    for (index, matrix) in (0..).zip(matrices) {
        bind(&mut bindings, index, &mut matrix.bytes);
    }
    let threads = product.threads();
    dispatch(&*kernel, &bindings, [threads, 1, 1], [threads, 1, 1]);
}

const HEADER: &str =
    "define void @k(ptr addrspace(1) %pa, ptr addrspace(1) %pb, ptr addrspace(1) %pc, i32 %thread) {\nentry:\n";

/// A product of tensors whose extents end within the tile, into a cooperative tensor that is stored to a third tensor.
fn check_into_cooperative(random: &mut Random, product: Product, extents: [usize; 3], given_depth: i32) {
    let [rows, columns, depth] = extents;
    let [left, right, result] = product.kinds;
    let [swap_left, swap_right] = product.transpose;
    let (a_rows, a_columns) = if swap_left { (depth, rows) } else { (rows, depth) };
    let (b_rows, b_columns) = if swap_right { (columns, depth) } else { (depth, columns) };
    let mut a = Matrix::random(random, left, a_rows, a_columns);
    let mut b = Matrix::random(random, right, b_rows, b_columns);
    let mut c = Matrix::random(random, result, rows + 1, columns + 3);
    let before = c.bytes.clone();
    let product = Product { k: given_depth, ..product };
    let mut text = format!("{}{}", declarations(), product.constant());
    let _ = writeln!(
        text,
        "declare void @__tensorops_impl_matmul2d_op_run_cooperative_dv_{}_dv_{}_{}(ptr, ptr, i32, ptr, i32, ptr, i32) convergent",
        left.name, right.name, result.name
    );
    text.push_str(HEADER);
    text.push_str(&a.tensor("a", "%pa", a_rows, a_columns));
    text.push_str(&b.tensor("b", "%pb", b_rows, b_columns));
    text.push_str(&c.tensor("c", "%pc", rows, columns));
    text.push_str(&product.storage("sums", 2));
    if product.adds {
        text.push_str(&product.move_elements("load", "sums", 2, "c"));
    }
    let _ = writeln!(
        text,
        "  call void @__tensorops_impl_matmul2d_op_run_cooperative_dv_{}_dv_{}_{}(ptr @product, ptr %a, i32 2, ptr %b, i32 2, ptr %sums.at, i32 {})",
        left.name,
        right.name,
        result.name,
        product.threads()
    );
    text.push_str(&product.move_elements("store", "sums", 2, "c"));
    text.push_str("  ret void\n}\n");
    run(&text, &product, [&mut a, &mut b, &mut c]);
    let old = Matrix { kind: result, rows: rows + 1, columns: columns + 3, bytes: before };
    let depth = if given_depth == -1 { depth } else { depth.min(usize_of(given_depth)) };
    for row in 0..=rows {
        for column in 0..columns + 3 {
            let inside = row < rows.min(usize_of(product.m)) && column < columns.min(usize_of(product.n));
            let term = |k: usize| {
                let left = if swap_left { a.at(k, row) } else { a.at(row, k) };
                left * if swap_right { b.at(column, k) } else { b.at(k, column) }
            };
            let start = if product.adds || !inside { old.at(row, column) } else { 0.0 };
            let expected = if inside { start + (0..depth).map(term).sum::<f64>() } else { start };
            // Integers below 2^11 are exact in half; bfloat has 8 bits.
            let tolerance = if result == BF16 { expected.abs() / 256.0 } else { 0.0 };
            let got = c.at(row, column);
            assert!((got - expected).abs() <= tolerance, "{product:?} {extents:?} at {row} {column}: {got} {expected}");
        }
    }
}

#[test]
fn products_of_tensors_in_every_type_and_direction() {
    let mut random = Random::fresh();
    let kinds = [
        [F32, F32, F32],
        [F16, F16, F32],
        [BF16, BF16, F32],
        [F32, F16, F32],
        [F16, BF16, F32],
        [F16, F16, F16],
        [BF16, BF16, BF16],
        [I8, I8, I32],
        [I8, F16, F32],
    ];
    for (case, kinds) in kinds.into_iter().enumerate() {
        for transpose in [[false, false], [false, true], [true, false], [true, true]] {
            let adds = case % 2 == 1;
            let product = Product { m: 16, n: 32, k: -1, transpose, adds, kinds, simdgroups: 1 };
            check_into_cooperative(&mut random, product, [16, 32, 24], -1);
            check_into_cooperative(&mut random, product, [11, 29, 20], 16);
        }
    }
}

#[test]
fn products_of_tensors_of_many_sizes() {
    let mut random = Random::fresh();
    let shapes =
        [(64, 64, 4, [64, 64, 40]), (32, 128, 4, [17, 100, 33]), (8, 256, 2, [8, 250, 7]), (5, 7, 1, [5, 7, 300])];
    for (m, n, simdgroups, extents) in shapes {
        let adds = n == 128;
        let product = Product { m, n, k: -1, transpose: [false, true], adds, kinds: [F32, F32, F32], simdgroups };
        check_into_cooperative(&mut random, product, extents, -1);
    }
}

/// Stores every valid element of the left, right and destination tensor where its coordinate says, beside what `store` does.
#[test]
fn coordinates_agree_with_loads_and_stores() {
    let mut random = Random::fresh();
    let shapes = [(16, 32, 16, 1), (32, 16, 16, 1), (64, 64, 32, 4), (5, 7, 3, 1), (32, 32, 32, 2), (1, 1, 1, 1)];
    for (m, n, k, simdgroups) in shapes {
        for (operand, transpose) in
            [(0, [false, false]), (0, [true, false]), (1, [false, true]), (1, [false, false]), (2, [true, true])]
        {
            let product = Product { m, n, k, transpose, adds: false, kinds: [F32; 3], simdgroups };
            check_coordinates(&mut random, &product, operand);
        }
    }
}

fn check_coordinates(random: &mut Random, product: &Product, operand: u32) {
    let (rows, columns) = match (operand, product.transpose) {
        (0, [false, _]) => (product.m, product.k),
        (0, [true, _]) => (product.k, product.m),
        (1, [_, false]) => (product.k, product.n),
        (1, [_, true]) => (product.n, product.k),
        _ => (product.m, product.n),
    };
    let (rows, columns) = (usize_of(rows), usize_of(columns));
    let mut a = Matrix::random(random, F32, rows, columns);
    let mut b = Matrix::random(random, F32, rows, columns);
    let mut c = Matrix { kind: F32, rows, columns, bytes: vec![0; 4 * rows * columns] };
    let (operands, types, threads) = (product.operands(operand), product.types(), product.threads());
    let prefix = "__tensorops_impl_matmul2d_op_cooperative_tensor_";
    let mut text = format!("{}{HEADER}", declarations());
    text.push_str(&a.tensor("a", "%pa", rows, columns));
    text.push_str(&b.tensor("b", "%pb", rows, columns));
    text.push_str(&product.storage("part", operand));
    text.push_str(&array("place", &[0, 0]));
    text.push_str(&product.move_elements("load", "part", operand, "a"));
    text.push_str(&product.move_elements("store", "part", operand, "b"));
    let _ = write!(
        text,
        "  br label %loop
loop:
  %i = phi i16 [ 0, %entry ], [ %i.1, %next ]
  %count = call i16 @{prefix}num_elements({operands}, ptr %part, {short_types}, i32 {threads})
  %more = icmp ult i16 %i, %count
  br i1 %more, label %body, label %done
body:
  %valid = call i1 @{prefix}is_valid_element({operands}, ptr %part, i16 %i, {types}, i32 {threads})
  br i1 %valid, label %store, label %next
store:
  %at = call ptr @{prefix}get_element_pointer({operands}, ptr %part, i16 %i, {types})
  %v = load float, ptr %at, align 4
  call void @{prefix}get_coordinate({operands}, ptr %part, i16 %i, ptr %place, i32 536870944, i32 {threads}, {types})
  %x = load i32, ptr %place.0, align 4
  %y = load i32, ptr %place.1, align 4
  %row = mul i32 %y, {columns}
  %number = add i32 %row, %x
  %long = zext i32 %number to i64
  %to = getelementptr float, ptr addrspace(1) %pc, i64 %long
  %old = load float, ptr addrspace(1) %to, align 4
  %new = fadd float %old, %v
  store float %new, ptr addrspace(1) %to, align 4
  br label %next
next:
  %i.1 = add nuw i16 %i, 1
  br label %loop
done:
  ret void
}}
",
        short_types = [F32, F32].map(|kind| format!("i32 {}", kind.data_type)).join(", "),
    );
    run(&text, product, [&mut a, &mut b, &mut c]);
    assert!(a.bytes == b.bytes, "{product:?} {operand}: what was loaded is stored");
    assert!(a.bytes == c.bytes, "{product:?} {operand}: every element has its coordinate, once");
}

/// A product of cooperative tensors that are loaded from tensors, of two SIMD-groups that each do it for themselves.
#[test]
fn products_of_cooperative_tensors() {
    let mut random = Random::fresh();
    for transpose in [[false, false], [false, true], [true, false], [true, true]] {
        for (m, n, k) in [(16, 32, 16), (32, 16, 16), (8, 8, 8), (5, 7, 9)] {
            let product = Product { m, n, k, transpose, adds: true, kinds: [F32; 3], simdgroups: 1 };
            let (rows, columns, depth) = (usize_of(m), usize_of(n), usize_of(k));
            let shape = |swap: bool, rows, columns| if swap { (columns, rows) } else { (rows, columns) };
            let ((a_rows, a_columns), (b_rows, b_columns)) =
                (shape(transpose[0], rows, depth), shape(transpose[1], depth, columns));
            let mut a = Matrix::random(&mut random, F32, a_rows, a_columns);
            let mut b = Matrix::random(&mut random, F32, b_rows, b_columns);
            let mut c = Matrix::random(&mut random, F32, rows, columns);
            let before = Matrix { bytes: c.bytes.clone(), ..Matrix::random(&mut random, F32, rows, columns) };
            let mut text = format!("{}{}", declarations(), product.constant());
            text.push_str("declare void @__tensorops_impl_matmul2d_op_run_cooperative_f32_f32_f32(ptr, ptr, ptr, ptr, i32) convergent\n");
            text.push_str(HEADER);
            text.push_str(&a.tensor("a", "%pa", a_rows, a_columns));
            text.push_str(&b.tensor("b", "%pb", b_rows, b_columns));
            text.push_str(&c.tensor("c", "%pc", rows, columns));
            for (operand, name, from) in [(0, "left", "a"), (1, "right", "b"), (2, "sums", "c")] {
                text.push_str(&product.storage(name, operand));
                text.push_str(&product.move_elements("load", name, operand, from));
            }
            text.push_str("  call void @__tensorops_impl_matmul2d_op_run_cooperative_f32_f32_f32(ptr @product, ptr %left.at, ptr %right.at, ptr %sums.at, i32 32)\n");
            text.push_str(&product.move_elements("store", "sums", 2, "c"));
            text.push_str("  ret void\n}\n");
            run(&text, &product, [&mut a, &mut b, &mut c]);
            for row in 0..rows {
                for column in 0..columns {
                    let term = |at: usize| {
                        let left = if transpose[0] { a.at(at, row) } else { a.at(row, at) };
                        left * if transpose[1] { b.at(column, at) } else { b.at(at, column) }
                    };
                    let expected = before.at(row, column) + (0..depth).map(term).sum::<f64>();
                    assert_eq!(c.at(row, column), expected, "{product:?} at {row} {column}");
                }
            }
        }
    }
}

/// A product of tensors into a tensor, on a slice of each that a kernel makes.
#[test]
fn products_into_slices_of_tensors() {
    let mut random = Random::fresh();
    for (m, n, adds, result) in [(-1, -1, false, F32), (40, 33, true, F16), (70, 200, false, BF16)] {
        let product =
            Product { m, n, k: -1, transpose: [false, true], adds, kinds: [F16, BF16, result], simdgroups: 2 };
        let (rows, columns, depth) = (71, 150, 19);
        let mut a = Matrix::random(&mut random, F16, rows + 4, depth + 5);
        let mut b = Matrix::random(&mut random, BF16, columns + 4, depth + 5);
        let mut c = Matrix::random(&mut random, result, rows + 4, columns + 5);
        let before = Matrix { bytes: c.bytes.clone(), ..Matrix::random(&mut random, result, rows + 4, columns + 5) };
        let function = format!("@__tensorops_impl_matmul2d_op_run_dv_f16_dv_b16_dv_{}", result.name);
        let mut text = format!("{}{}", declarations(), product.constant());
        let _ = writeln!(text, "declare void {function}(ptr, ptr, i32, ptr, i32, ptr, i32, i32) convergent");
        text.push_str(HEADER);
        for (name, matrix) in [("a", &a), ("b", &b), ("c", &c)] {
            text.push_str(&matrix.tensor(name, &format!("%p{name}"), matrix.rows, matrix.columns));
            let part = [matrix.columns - 5, matrix.rows - 4].map(|size| i32::try_from(size).unwrap());
            text.push_str(&array(&format!("{name}.origin"), &[3, 2]));
            text.push_str(&array(&format!("{name}.part.extents"), &part));
            let _ = writeln!(
                text,
                "  %{name}.part = alloca i8, i64 %{name}.size, align 8
  call void @air.slice_private_tensor_private_tensor.s.i32(ptr %{name}.part, ptr %{name}, i16 2, ptr %{name}.origin, ptr %{name}.part.extents)"
            );
        }
        let _ = writeln!(
            text,
            "  call void {function}(ptr @product, ptr %a.part, i32 2, ptr %b.part, i32 2, ptr %c.part, i32 2, i32 64)\n  ret void\n}}"
        );
        run(&text, &product, [&mut a, &mut b, &mut c]);
        let limit = |given: i32, there_is: usize| usize::try_from(given).unwrap_or(usize::MAX).min(there_is);
        for row in 0..rows + 4 {
            for column in 0..columns + 5 {
                let inside = (2..2 + limit(m, rows)).contains(&row) && (3..3 + limit(n, columns)).contains(&column);
                let term = |k: usize| a.at(row, 3 + k) * b.at(2 + column - 3, 3 + k);
                let old = before.at(row, column);
                let sum = || if adds { old } else { 0.0 } + (0..depth).map(term).sum::<f64>();
                let expected = if inside { sum() } else { old };
                let tolerance = if result == BF16 { expected.abs() / 256.0 } else { 0.0 };
                let got = c.at(row, column);
                assert!((got - expected).abs() <= tolerance, "{product:?} at {row} {column}: {got} {expected}");
            }
        }
    }
}

/// A convolution under test: sizes are x before y.
#[derive(Clone, Copy, Debug)]
struct Convolution {
    outputs: i32,
    tile: [i32; 2],
    inputs: i32,
    kernel: [i32; 2],
    strides: [i32; 2],
    dilations: [i32; 2],
    groups: i32,
    offsets: [i32; 2],
    kind: Kind,
}

#[test]
fn convolutions_with_strides_dilations_and_groups() {
    let mut random = Random::fresh();
    let plain = Convolution {
        outputs: 32,
        tile: [8, 8],
        inputs: 5,
        kernel: [3, 3],
        strides: [1, 1],
        dilations: [1, 1],
        groups: 1,
        offsets: [0, 0],
        kind: F32,
    };
    for case in [
        plain,
        Convolution { kernel: [1, 1], kind: F16, ..plain },
        Convolution { strides: [2, 3], offsets: [1, -2], kind: Kind { name: "bf", ..BF16 }, ..plain },
        Convolution { dilations: [2, 2], kernel: [3, 2], inputs: 17, ..plain },
        Convolution { groups: 2, outputs: 6, tile: [5, 3], inputs: 4, ..plain },
        Convolution { outputs: 40, tile: [16, 4], kernel: [5, 1], offsets: [-3, 2], ..plain },
    ] {
        check_convolution(&mut random, &case);
    }
}

fn check_convolution(random: &mut Random, case: &Convolution) {
    let Convolution { outputs, tile: [width, height], inputs, kernel, strides, dilations, groups, offsets, kind } =
        *case;
    // Of two images the second is used: its tensor starts there.
    let source = [inputs * groups, 13, 11];
    let size = |sizes: &[i32]| sizes.iter().map(|size| usize_of(*size)).product::<usize>();
    let element = Kind { name: if kind.name == "bf" { "b16" } else { kind.name }, ..kind };
    let mut activations = Matrix::random(random, element, size(&source), 1);
    let mut weights = Matrix::random(random, element, size(&[outputs, inputs, kernel[0], kernel[1]]), 1);
    let mut output = Matrix::random(random, F32, size(&[outputs, width, height]), 1);
    let name = kind.name;
    let run_function = format!("@__tensorops_impl_convolution2d_op_run_cooperative_dv_{name}_dv_{name}_f32");
    let prefix = "@__tensorops_impl_conv2d_cooperative_destination_";
    let types = format!("i32 {1}, i32 {0}, i32 {0}", kind.data_type, F32.data_type);
    let words = [
        &[outputs, width, height, 1][..],
        &[-1, 4096, 4096, 1],
        &kernel,
        &[0, 0],
        &strides,
        &dilations,
        &[groups, 0, 1],
    ]
    .concat();
    let words: Vec<String> = words.iter().map(|word| format!("i32 {word}")).collect();
    let mut text = format!(
        "{}@convolution = internal constant [19 x i32] [{}], align 16
declare void {run_function}(ptr, ptr, i32, ptr, i32, ptr, i32, ptr) convergent
declare i64 {prefix}data_size(ptr, i32, i32, i32, i32) convergent
declare void {prefix}tensor_init(ptr, ptr, i32, i32, i32, i32) convergent
declare i16 {prefix}tensor_num_elements(ptr, ptr, i32, i32, i32, i32) convergent
declare ptr {prefix}tensor_elements(ptr, i16, i32, i32) convergent
declare void {prefix}tensor_get_coordinate(ptr, ptr, i16, i32, ptr, i32, i32, i32, i32, i32) convergent
declare void {prefix}tensor_destory(ptr, ptr, i32) convergent
{HEADER}",
        declarations(),
        words.join(", ")
    );
    let strided = |sizes: &[i32]| (0..sizes.len()).map(|at| sizes[..at].iter().product()).collect::<Vec<i32>>();
    let extents = [source[0], source[1], source[2], 1];
    text.push_str(&tensor("a", "%pa", &extents, &strided(&extents), element));
    let extents = [outputs, inputs, kernel[0], kernel[1]];
    text.push_str(&tensor("b", "%pb", &extents, &strided(&extents), element));
    text.push_str(&array("offsets", &offsets));
    text.push_str(&array("place", &[0, 0, 0, 0]));
    let (float, channels, row) = (F32.data_type, outputs, outputs * width);
    let _ = write!(
        text,
        "  %size = call i64 {prefix}data_size(ptr @convolution, {types}, i32 64)
  %sums = alloca i8, i64 %size, align 4
  call void {prefix}tensor_init(ptr %sums, ptr @convolution, {types}, i32 64)
  call void @llvm.memset.p0.i64(ptr %sums, i8 0, i64 %size, i1 false)
  call void {run_function}(ptr @convolution, ptr %a, i32 2, ptr %b, i32 2, ptr %sums, i32 64, ptr %offsets)
  br label %loop
loop:
  %i = phi i16 [ 0, %entry ], [ %i.1, %next ]
  %count = call i16 {prefix}tensor_num_elements(ptr @convolution, ptr %sums, {types}, i32 64)
  %more = icmp ult i16 %i, %count
  br i1 %more, label %body, label %done
body:
  call void {prefix}tensor_get_coordinate(ptr @convolution, ptr %sums, i16 %i, i32 {float}, ptr %place, i32 536870944, {types}, i32 64)
  %o = load i32, ptr %place.0, align 4
  %x = load i32, ptr %place.1, align 4
  %y = load i32, ptr %place.2, align 4
  %valid = icmp ult i32 %o, {channels}
  br i1 %valid, label %store, label %next
store:
  %at = call ptr {prefix}tensor_elements(ptr %sums, i16 %i, i32 {float}, i32 64)
  %v = load float, ptr %at, align 4
  %down = mul i32 %y, {row}
  %across = mul i32 %x, {channels}
  %pixel = add i32 %down, %across
  %number = add i32 %pixel, %o
  %long = zext i32 %number to i64
  %to = getelementptr float, ptr addrspace(1) %pc, i64 %long
  store float %v, ptr addrspace(1) %to, align 4
  br label %next
next:
  %i.1 = add nuw i16 %i, 1
  br label %loop
done:
  call void {prefix}tensor_destory(ptr %sums, ptr @convolution, i32 64)
  ret void
}}
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"
    );
    let product = Product { m: 1, n: 1, k: 1, transpose: [false; 2], adds: false, kinds: [F32; 3], simdgroups: 2 };
    run(&text, &product, [&mut activations, &mut weights, &mut output]);
    let group_outputs = outputs / groups;
    for (y, x, o) in (0..height).flat_map(|y| (0..width).flat_map(move |x| (0..outputs).map(move |o| (y, x, o)))) {
        let mut expected = 0.0;
        for (ky, kx) in (0..kernel[1]).flat_map(|ky| (0..kernel[0]).map(move |kx| (ky, kx))) {
            let place = |out: i32, k: i32, axis: usize| {
                offsets[axis] + out * strides[axis] + k * dilations[axis]
                    - ((kernel[axis] - 1) * dilations[axis] + 1) / 2
            };
            let (sx, sy) = (place(x, kx, 0), place(y, ky, 1));
            if !(0..source[1]).contains(&sx) || !(0..source[2]).contains(&sy) {
                continue;
            }
            for i in 0..inputs {
                let channel = o / group_outputs * inputs + i;
                let a = activations.at(usize_of((sy * source[1] + sx) * source[0] + channel), 0);
                let weight = ((ky * kernel[0] + kx) * inputs + i) * outputs + o;
                expected += a * weights.at(usize_of(weight), 0);
            }
        }
        let got = output.at(usize_of((y * width + x) * outputs + o), 0);
        assert_eq!(got, expected, "{case:?} at channel {o}, {x} {y}");
    }
}

/// A kernel that makes one call, which `statements` prepare, on `threads` threads.
fn outcome(product: &Product, statements: &str, threads: u32) -> String {
    let text = format!(
        "{}{}
declare void @__tensorops_impl_matmul2d_op_run_dv_f32_dv_f32_dv_f32(ptr, ptr, i32, ptr, i32, ptr, i32, i32) convergent
declare void @__tensorops_impl_matmul2d_op_run_cooperative_dv_f32_dv_f32_f32(ptr, ptr, i32, ptr, i32, ptr, i32) convergent
{HEADER}{statements}  ret void\n}}\n",
        declarations(),
        product.constant()
    );
    let arguments = [buffer(0), buffer(1), buffer(2), builtin(Builtin::ThreadIndexInThreadgroup, 1)];
    let kernel = match try_compile(&text, &arguments) {
        Ok(kernel) => kernel,
        Err(error) => return error.to_string(),
    };
    let mut memory = vec![0.0_f32; 3 * 4096];
    let mut bindings = Bindings::default();
    for (index, part) in (0..).zip(memory.chunks_mut(4096)) {
        bind(&mut bindings, index, part);
    }
    match try_dispatch(&*kernel, &bindings, [threads, 1, 1], [threads, 1, 1]) {
        Ok(()) => "done".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_cannot_be_ends_the_launch() {
    let plain = Product { m: 16, n: 16, k: -1, transpose: [false; 2], adds: false, kinds: [F32; 3], simdgroups: 1 };
    let tensors = |extents: &[i32], code: u8| {
        let strides = vec![1; extents.len()];
        ["a", "b", "c"].map(|name| tensor(name, &format!("%p{name}"), extents, &strides, Kind { code, ..F32 })).concat()
    };
    let run = |kind: u32, threads: u32| {
        format!(
            "  call void @__tensorops_impl_matmul2d_op_run_dv_f32_dv_f32_dv_f32(ptr @product, ptr %a, i32 {kind}, ptr %b, i32 2, ptr %c, i32 2, i32 {threads})\n"
        )
    };
    let check = |product: &Product, statements: &str, threads: u32, expected: &str| {
        assert_eq!(outcome(product, statements, threads), expected);
    };
    check(&plain, &(tensors(&[16, 16], 0) + &run(2, 32)), 32, "done");
    // Negative extents are no elements.
    check(&plain, &(tensors(&[-16, 16], 0) + &run(2, 32)), 32, "done");
    let fails = [
        (tensors(&[16, 16], 0) + &run(0, 32), 32, "a tensor operation got a tensor that is not an inline descriptor"),
        (
            tensors(&[16, 16], 0) + &run(2, 33),
            64,
            "a tensor operation over 33 threads; it takes one, or whole SIMD-groups",
        ),
        (tensors(&[16, 16], 0) + &run(2, 64), 40, "a tensor operation over 64 threads in a threadgroup of 40"),
        (tensors(&[16], 0) + &run(2, 32), 32, "a tensor operation got a tensor of a rank that it does not take"),
        (tensors(&[1; 17], 0) + &run(2, 32), 32, "a tensor operation got a tensor that was not initialized"),
        (tensors(&[1; 17], 0), 32, "a tensor has more than 16 dimensions"),
        (tensors(&[16, 16], 77), 32, "a tensor has elements of an unknown type"),
        (tensors(&[16, 16], 1) + &run(2, 32), 32, "a tensor operation got a tensor with elements of another size"),
    ];
    for (statements, threads, reason) in fails {
        check(&plain, &statements, threads, &format!("kernel 'k': {reason}"));
    }
    let negative = Product { m: -7, ..plain };
    check(&negative, &(tensors(&[16, 16], 0) + &run(2, 32)), 32, "kernel 'k': a product of m -7, n 16, k -1");
    let absurd = Product { m: i32::MAX, n: i32::MAX, ..plain };
    let cooperative = "  %sums = alloca i8, i64 64, align 4
  call void @__tensorops_impl_matmul2d_op_run_cooperative_dv_f32_dv_f32_f32(ptr @product, ptr %a, i32 2, ptr %b, i32 2, ptr %sums, i32 32)\n";
    let expected = "kernel 'k': a product of m 2147483647, n 2147483647, k -1, which cooperative tensors cannot have";
    check(&absurd, &(tensors(&[16, 16], 0) + cooperative), 32, expected);
    let divergent = format!(
        "{}  %low = icmp ult i32 %thread, 16\n  br i1 %low, label %some, label %rest\nsome:\n{}  br label %rest\nrest:\n",
        tensors(&[16, 16], 0),
        run(2, 32)
    );
    let expected = "kernel 'k': a tensor operation waits for threads of its scope that wait elsewhere or have returned";
    check(&plain, &divergent, 32, expected);
}

#[test]
fn storage_is_constant_and_bounded() {
    let plain = Product { m: 16, n: 16, k: -1, transpose: [false; 2], adds: false, kinds: [F32; 3], simdgroups: 1 };
    let variable = "  %more = zext i32 %thread to i64\n  %x = alloca i8, i64 %more\n  store volatile i8 1, ptr %x\n";
    assert_eq!(outcome(&plain, variable, 32), "kernel 'k': stack memory of variable size");
    // Storage for as many elements as an index can name, many times over.
    let absurd = Product { m: i32::MAX, n: i32::MAX, ..plain };
    let part = |index: u32| {
        let name = format!("s{index}");
        absurd.storage(&name, 2) + &absurd.move_elements("load", &name, 2, "a")
    };
    let storage = tensor("a", "%pa", &[16, 16], &[1, 16], F32) + &(0..5).map(part).collect::<String>();
    let compiled = outcome(&absurd, &storage, 32);
    assert!(compiled.ends_with("bytes of private memory for each thread, the limit is 1048576"), "{compiled}");
    // In a loop, each turn has the same variable.
    let storage = plain.storage("sums", 2) + &plain.move_elements("load", "sums", 2, "a");
    let body = tensor("a", "%pa", &[16, 16], &[1, 16], F32);
    let body = format!(
        "{body}  br label %loop\nloop:\n  %i = phi i32 [ 0, %entry ], [ %i.1, %loop ]\n{storage}
  %i.1 = add i32 %i, 1\n  %again = icmp ult i32 %i.1, 20000\n  br i1 %again, label %loop, label %end\nend:\n"
    );
    assert_eq!(outcome(&plain, &body, 32), "done");
}
