//! Kernels as Metal source text.

use std::fmt::Write as _;

use super::interpret::load_mask;
use super::program::{
    ARRAY_ELEMENTS, AtomicOp, Builtin, Counting, Expr, Function, GROUP_THREADS_MAX, Kernel, LaneCall, LaneFunction,
    POINTED_ELEMENTS, Pointer, SHARED_COUNTERS, Space, Stmt, Ty, VarId,
};
use super::scalar::{BinaryOp, Scalar, UnaryOp, number};

/// Products are not contracted into sums, so that every operation rounds.
const EXACT: &str = "#pragma METAL fp contract(off)
";
/// What all kernels of a text need.
const PRELUDE: &str = "#include <metal_stdlib>
using namespace metal;

template <typename T> T divisor(T value) {
  T odd = T(value | T(1));
  return odd == T(-1) ? T(7) : odd;
}
";

/// One text with all `kernels`, which has one meaning.
pub(super) fn text(kernels: &[Kernel]) -> String {
    EXACT.to_owned() + &fast_text(kernels)
}

/// As [`text`], with rounding left to the options of compilation.
pub(super) fn fast_text(kernels: &[Kernel]) -> String {
    let mut text = PRELUDE.to_owned();
    for kernel in kernels {
        let renderer = Renderer {
            kernel,
            text: String::new(),
            functions: String::new(),
            function_count: 0,
            depth: 1,
            temporaries: 0,
        };
        text.push_str(&renderer.kernel());
    }
    text
}

struct Renderer<'run> {
    kernel: &'run Kernel,
    text: String,
    /// The functions that it calls.
    functions: String,
    function_count: usize,
    depth: usize,
    temporaries: usize,
}

fn type_name(ty: Ty) -> String {
    if ty.lanes == 1 { ty.scalar.name().to_owned() } else { format!("{}{}", ty.scalar.name(), ty.lanes) }
}

impl Renderer<'_> {
    fn line(&mut self, line: impl std::fmt::Display) {
        let _ = writeln!(self.text, "{:1$}{line}", "", 2 * self.depth);
    }

    fn kernel(mut self) -> String {
        let kernel = self.kernel;
        let position = type_name(Ty { scalar: Scalar::U32, lanes: kernel.dimensions });
        let mut buffers = vec!["constant int* params".to_owned()];
        let input = |(number, scalar): (usize, &Scalar)| format!("device const {}* in{number}", scalar.name());
        buffers.extend(kernel.inputs.iter().enumerate().map(input));
        let outputs = kernel.outputs.iter().enumerate();
        buffers.extend(outputs.map(|(number, output)| format!("device {}* out{number}", output.scalar.name())));
        buffers.push("device atomic_uint* unsigned_words".to_owned());
        buffers.push("device atomic_int* signed_words".to_owned());
        buffers.push("device atomic_float* float_words".to_owned());
        let mut arguments: Vec<String> =
            buffers.iter().enumerate().map(|(index, buffer)| format!("{buffer} [[buffer({index})]]")).collect();
        for name in [
            "thread_position_in_grid",
            "thread_position_in_threadgroup",
            "threadgroup_position_in_grid",
            "threads_per_grid",
            "threads_per_threadgroup",
        ] {
            arguments.push(format!("{position} {name} [[{name}]]"));
        }
        for (name, attribute) in [
            ("index", "thread_index_in_threadgroup"),
            ("lane", "thread_index_in_simdgroup"),
            ("simdgroup", "simdgroup_index_in_threadgroup"),
        ] {
            arguments.push(format!("uint {name} [[{attribute}]]"));
        }
        let _ = writeln!(self.text, "\nkernel void {}(\n    {}) {{", kernel.name, arguments.join(",\n    "));
        self.prologue();
        self.block(&kernel.body);
        self.text.push_str("}\n");
        self.functions + &self.text
    }

    fn prologue(&mut self) {
        let kernel = self.kernel;
        let axis = |name: &str, axis: usize| component(kernel, name, axis);
        let sizes: Vec<String> = (0..kernel.dimensions).map(|at| axis("threads_per_grid", at)).collect();
        let groups: Vec<String> = (0..kernel.dimensions).map(|at| axis("threads_per_threadgroup", at)).collect();
        self.line(format_args!("const uint grid_threads = {};", sizes.join(" * ")));
        self.line(format_args!("const uint group_threads = {};", groups.join(" * ")));
        let linear = (0..kernel.dimensions).rev().fold(String::new(), |rest, at| {
            let place = axis("thread_position_in_grid", at);
            if rest.is_empty() { place } else { format!("{place} + {} * ({rest})", sizes[at]) }
        });
        self.line(format_args!("const uint linear = {linear};"));
        for number in (0..kernel.variables.len()).filter(|number| !kernel.function_variables.contains(number)) {
            self.declaration(number);
        }
        for (number, scalar) in kernel.arrays.iter().enumerate() {
            self.line(format_args!("{} a{number}[{ARRAY_ELEMENTS}] = {{}};", scalar.name()));
        }
        if let Some(shared) = kernel.shared {
            let name = shared.scalar.name();
            self.line(format_args!("threadgroup {name} shared[{GROUP_THREADS_MAX}];"));
            self.line(format_args!("threadgroup atomic_uint counters[{SHARED_COUNTERS}];"));
            let own = if shared.is_reversed { "group_threads - 1 - index" } else { "index" };
            self.line(format_args!("const uint own = {own};"));
            self.line(format_args!("shared[own] = {name}(index);"));
            self.line(format_args!("if (index < {SHARED_COUNTERS})"));
            self.line("  atomic_store_explicit(&counters[index], 0u, memory_order_relaxed);");
            self.line("threadgroup_barrier(mem_flags::mem_threadgroup);");
        }
        for (number, pointer) in kernel.pointers.iter().enumerate() {
            let space = match pointer.space {
                Space::Input => "device const",
                Space::Output => "device",
                Space::Private => "thread",
                Space::Shared => "threadgroup",
            };
            let start = match pointer.space {
                Space::Shared => "shared + own".to_owned(),
                _ => self.pointed(*pointer, kernel.first_pointed(*pointer), &Expr::Const(Ty::U32, 0)),
            };
            self.line(format_args!("{space} {}* p{number} = {start};", pointer.scalar.name()));
        }
    }

    fn declaration(&mut self, variable: VarId) {
        self.line(format_args!("{} v{variable} = {0}(0);", type_name(self.kernel.variables[variable])));
    }

    /// The address that a pointer gets.
    fn pointed(&mut self, pointer: Pointer, buffer: usize, offset: &Expr) -> String {
        match pointer.space {
            Space::Input => format!("in{buffer} + {}", self.expr(offset)),
            Space::Output => format!("out{buffer} + ({})", self.own_place(buffer, offset)),
            Space::Private => format!("a{buffer} + ({} & {}u)", self.expr(offset), POINTED_ELEMENTS - 1),
            Space::Shared => format!("shared + ({} % group_threads)", self.expr(offset)),
        }
    }

    fn through(&mut self, pointer: usize, index: &Expr) -> String {
        match self.kernel.pointers[pointer].space {
            Space::Input => format!("p{pointer}[{} & 1023u]", self.expr(index)),
            Space::Private => format!("p{pointer}[{} & {}u]", self.expr(index), POINTED_ELEMENTS - 1),
            Space::Output | Space::Shared => format!("(*p{pointer})"),
        }
    }

    fn block(&mut self, body: &[Stmt]) {
        for statement in body {
            self.statement(statement);
        }
    }

    fn nested(&mut self, body: &[Stmt]) {
        self.depth += 1;
        self.block(body);
        self.depth -= 1;
    }

    fn temporary(&mut self) -> usize {
        self.temporaries += 1;
        self.temporaries
    }

    fn statement(&mut self, statement: &Stmt) {
        let text = match statement {
            Stmt::Set(variable, value) => format!("v{variable} = {};", self.expr(value)),
            Stmt::SetLane(variable, lane, value) => {
                format!("v{variable}.{} = {};", ["x", "y", "z", "w"][*lane], self.expr(value))
            }
            Stmt::SetElement { array, index, value } => {
                format!("a{array}[{} & {}] = {};", self.expr(index), ARRAY_ELEMENTS - 1, self.expr(value))
            }
            Stmt::Store { output, slot, value } => {
                format!("out{output}[{}] = {};", self.own_place(*output, slot), self.expr(value))
            }
            Stmt::StoreShared(value) => format!("shared[own] = {};", self.expr(value)),
            Stmt::Atomic { op, slot, value } => self.atomic(*op, slot, value),
            Stmt::PointTo { pointer, buffer, offset } => {
                format!("p{pointer} = {};", self.pointed(self.kernel.pointers[*pointer], *buffer, offset))
            }
            Stmt::StoreThrough { pointer, index, value } => {
                format!("{} = {};", self.through(*pointer, index), self.expr(value))
            }
            Stmt::Call { target, function, arguments } => self.call(*target, function, arguments),
            Stmt::Leave(value) => format!("return {};", self.expr(value)),
            Stmt::PointElsewhere { pointer, condition, other } => {
                format!("p{pointer} = {} ? p{other} : p{pointer};", self.expr(condition))
            }
            Stmt::Advance { pointer, by } => format!("p{pointer} += {by};"),
            Stmt::Barrier => "threadgroup_barrier(mem_flags::mem_threadgroup);".to_owned(),
            Stmt::SimdgroupBarrier => "simdgroup_barrier(mem_flags::mem_none);".to_owned(),
            Stmt::Break => "break;".to_owned(),
            Stmt::Continue => "continue;".to_owned(),
            Stmt::Return => "return;".to_owned(),
            Stmt::Lanes { target, call } => return self.lanes(*target, call),
            Stmt::If { .. } | Stmt::For { .. } | Stmt::While { .. } | Stmt::Switch { .. } | Stmt::Entered { .. } => {
                return self.compound(statement);
            }
        };
        self.line(text);
    }

    fn compound(&mut self, statement: &Stmt) {
        match statement {
            Stmt::If { condition, then, otherwise } => {
                let condition = self.expr(condition);
                self.line(format_args!("if ({condition}) {{"));
                self.nested(then);
                if !otherwise.is_empty() {
                    self.line("} else {");
                    self.nested(otherwise);
                }
                self.line("}");
            }
            Stmt::For { counter, counting, count, modulo, body } => {
                let count = self.expr(count);
                let n = self.temporary();
                self.line(format_args!("const int n{n} = int({count} % {modulo}u);"));
                let head = match counting {
                    Counting::Up => format!("v{counter} = 0; v{counter} < n{n}; ++v{counter}"),
                    Counting::Down => format!("v{counter} = n{n} - 1; v{counter} >= 0; --v{counter}"),
                    Counting::ByTwo => format!("v{counter} = 0; v{counter} < n{n}; v{counter} += 2"),
                };
                self.line(format_args!("for (int {head}) {{"));
                self.nested(body);
                self.line("}");
            }
            Stmt::While { condition, turns, is_tested_last, body } => {
                let condition = self.expr(condition);
                let n = self.temporary();
                self.line(format_args!("int n{n} = 0;"));
                let test = format!("while (n{n} < {turns} && {condition})");
                self.line(if *is_tested_last { "do {" } else { &test });
                if !is_tested_last {
                    self.line("{");
                }
                self.depth += 1;
                self.line(format_args!("++n{n};"));
                self.block(body);
                self.depth -= 1;
                self.line(if *is_tested_last { format!("}} {test};") } else { "}".to_owned() });
            }
            Stmt::Switch { selector, cases } => {
                let selector = self.expr(selector);
                self.line(format_args!("switch ({selector} & 3u) {{"));
                for (number, case) in cases.iter().enumerate() {
                    let is_last = number + 1 == cases.len();
                    self.line(if is_last { "default: {".to_owned() } else { format!("case {number}: {{") });
                    self.nested(&case.body);
                    self.line(if case.falls_through && !is_last { "} [[fallthrough]];" } else { "} break;" });
                }
                self.line("}");
            }
            Stmt::Entered { selector, condition, turns, first, second } => {
                let (selector, condition) = (self.expr(selector), self.expr(condition));
                let n = self.temporary();
                self.line(format_args!("int n{n} = 0;"));
                self.line(format_args!("switch ({selector} & 1u) {{ case 0u:"));
                self.line(format_args!("while (n{n} < {turns} && {condition}) {{"));
                self.depth += 1;
                self.line(format_args!("++n{n};"));
                self.line("{");
                self.nested(first);
                self.line("} [[fallthrough]]; case 1u: {");
                self.nested(second);
                self.line("}");
                self.depth -= 1;
                self.line("} }");
            }
            _ => unreachable!("{statement:?} has no body"),
        }
    }

    /// Writes the function in front of the kernel; returns the statement that calls it.
    fn call(&mut self, target: VarId, function: &Function, arguments: &[Expr]) -> String {
        let kernel = self.kernel;
        let arguments: Vec<String> = arguments.iter().map(|argument| self.expr(argument)).collect();
        let mut parameters = vec!["constant int* params".to_owned()];
        let mut given = vec!["params".to_owned()];
        for (number, scalar) in kernel.inputs.iter().enumerate() {
            parameters.push(format!("device const {}* in{number}", scalar.name()));
            given.push(format!("in{number}"));
        }
        for (number, scalar) in kernel.arrays.iter().enumerate() {
            parameters.push(format!("thread {}* a{number}", scalar.name()));
            given.push(format!("a{number}"));
        }
        let own = function.parameters.iter().map(|at| format!("{} v{at}", type_name(kernel.variables[*at])));
        parameters.extend(own);
        given.extend(arguments);
        let name = format!("{}_function{}", kernel.name, self.function_count);
        self.function_count += 1;
        let (outer, depth) = (std::mem::take(&mut self.text), std::mem::replace(&mut self.depth, 1));
        function.locals.iter().for_each(|local| self.declaration(*local));
        self.block(&function.body);
        let result = self.expr(&function.result);
        self.line(format_args!("return {result};"));
        let body = std::mem::replace(&mut self.text, outer);
        self.depth = depth;
        let ty = type_name(kernel.ty(&function.result));
        let _ = write!(self.functions, "\n{ty} {name}({}) {{\n{body}}}\n", parameters.join(", "));
        format!("v{target} = {name}({});", given.join(", "))
    }

    fn own_place(&mut self, output: usize, slot: &Expr) -> String {
        let place = self.kernel.outputs[output];
        let slot = format!("({} & {}u)", self.expr(slot), place.slots - 1);
        if place.is_slot_major {
            format!("{slot} * grid_threads + linear")
        } else {
            format!("linear * {} + {slot}", place.slots)
        }
    }

    fn atomic(&mut self, op: AtomicOp, slot: &Expr, value: &Expr) -> String {
        let (slot, value) = (self.expr(slot), self.expr(value));
        let (function, place) = match op {
            AtomicOp::Add => ("add", format!("unsigned_words[{slot} & 15u]")),
            AtomicOp::Min => ("min", format!("unsigned_words[16 + ({slot} & 15u)]")),
            AtomicOp::Max => ("max", format!("unsigned_words[32 + ({slot} & 15u)]")),
            AtomicOp::Or => ("or", format!("unsigned_words[48 + ({slot} & 7u)]")),
            AtomicOp::Xor => ("xor", format!("unsigned_words[56 + ({slot} & 7u)]")),
            AtomicOp::AddFloat => ("add", format!("float_words[{slot} & 63u]")),
            AtomicOp::MaxSigned => ("max", format!("signed_words[{slot} & 63u]")),
            AtomicOp::AddShared => ("add", self.counter(&slot)),
        };
        format!("atomic_fetch_{function}_explicit(&{place}, {value}, memory_order_relaxed);")
    }

    fn counter(&self, slot: &str) -> String {
        format!("counters[{slot} % {SHARED_COUNTERS}u % group_threads]")
    }

    fn lanes(&mut self, target: usize, call: &LaneCall) {
        let scope = if call.is_quad { "quad" } else { "simd" };
        let width = if call.is_quad { 4 } else { 32 };
        let function = format!("{scope}_{}", call.function.name());
        let value = self.expr(&call.value);
        match call.function {
            LaneFunction::IsFirst => return self.line(format_args!("v{target} = {function}();")),
            LaneFunction::ActiveThreadsMask => {
                return self.line(format_args!("v{target} = ulong({function}());"));
            }
            LaneFunction::Ballot => return self.line(format_args!("v{target} = ulong({function}({value}));")),
            _ if !call.function.has_operand() => {
                return self.line(format_args!("v{target} = {function}({value});"));
            }
            _ => {}
        }
        let operand = format!("ushort({} % {width}u)", self.expr(&call.operand));
        let arguments = match &call.fill {
            Some((fill, modulo)) => format!("{value}, {}, {operand}, ushort({modulo})", self.expr(fill)),
            None => format!("{value}, {operand}"),
        };
        self.line(format_args!("v{target} = {function}({arguments});"));
    }

    fn expr(&mut self, expr: &Expr) -> String {
        let ty = self.kernel.ty(expr);
        let name = type_name(ty);
        match expr {
            Expr::Const(ty, bits) => constant(*ty, *bits),
            Expr::Var(variable) => format!("v{variable}"),
            Expr::Builtin(builtin) => built_in(self.kernel, *builtin),
            Expr::Param(word) => format!("params[{word}]"),
            Expr::Load { buffer, lanes, index, masked } => {
                let mut index = self.expr(index);
                if *masked {
                    index = format!("{index} & {}u", load_mask(*lanes));
                }
                if *lanes == 1 {
                    format!("in{buffer}[{index}]")
                } else {
                    format!("((device const {name}*)in{buffer})[{index}]")
                }
            }
            Expr::ThroughPointer { pointer, index } => self.through(*pointer, index),
            Expr::Element { array, index } => format!("a{array}[{} & {}]", self.expr(index), ARRAY_ELEMENTS - 1),
            Expr::Own { output, slot } => format!("out{output}[{}]", self.own_place(*output, slot)),
            Expr::OwnShared => "shared[own]".to_owned(),
            Expr::Shared(index) => format!("shared[{} % group_threads]", self.expr(index)),
            Expr::Counter(slot) => {
                let slot = self.expr(slot);
                format!("atomic_load_explicit(&{}, memory_order_relaxed)", self.counter(&slot))
            }
            Expr::Unary(op, a) => self.unary(*op, a, ty),
            Expr::Binary(op, a, b) => self.binary(*op, a, b),
            Expr::Plain(op, a, b) => {
                let operator = operator(*op);
                format!("({} {operator} {})", self.expr(a), self.expr(b))
            }
            Expr::Fma(a, b, c) => format!("fma({}, {}, {})", self.expr(a), self.expr(b), self.expr(c)),
            Expr::Select(condition, a, b) => {
                let lanes = self.kernel.ty(condition).lanes;
                let (condition, a, b) = (self.expr(condition), self.expr(a), self.expr(b));
                if lanes == 1 { format!("({condition} ? {a} : {b})") } else { format!("select({b}, {a}, {condition})") }
            }
            Expr::Convert(_, a) => format!("{name}({})", self.expr(a)),
            Expr::Bits(_, a) => format!("as_type<{name}>({})", self.expr(a)),
            Expr::Vector(parts) => {
                let parts: Vec<String> = parts.iter().map(|part| self.expr(part)).collect();
                format!("{name}({})", parts.join(", "))
            }
            Expr::Lane(vector, lane) => {
                let lanes = self.kernel.ty(vector).lanes;
                format!("{}[{} % {lanes}u]", self.expr(vector), self.expr(lane))
            }
        }
    }

    fn unary(&mut self, op: UnaryOp, a: &Expr, ty: Ty) -> String {
        let a = self.expr(a);
        let (name, unsigned) = (type_name(ty), type_name(ty.with(ty.scalar.unsigned())));
        match op {
            UnaryOp::Neg if ty.scalar.is_float() => format!("(-{a})"),
            UnaryOp::Neg if ty.lanes == 1 => format!("{name}({}(0) - {}({a}))", wide(ty), wide(ty)),
            UnaryOp::Neg => format!("{name}({unsigned}(0) - {unsigned}({a}))"),
            UnaryOp::Not if ty.scalar == Scalar::Bool => format!("(!{a})"),
            UnaryOp::Not => format!("{name}(~{a})"),
            UnaryOp::Function(function, ..) => format!("{name}({function}({a}))"),
            UnaryOp::All => format!("all({a})"),
            UnaryOp::Any => format!("any({a})"),
        }
    }

    fn binary(&mut self, op: BinaryOp, a: &Expr, b: &Expr) -> String {
        let ty = self.kernel.ty(a);
        let (a, b) = (self.expr(a), self.expr(b));
        let (name, unsigned) = (type_name(ty), type_name(ty.with(ty.scalar.unsigned())));
        let sign = operator(op);
        match op {
            BinaryOp::Function(function, ..) if ty.scalar.is_float() => {
                format!("{name}({function}({a}, {b}) + {name}(0.0f))")
            }
            BinaryOp::Function(function, ..) => format!("{name}({function}({a}, {b}))"),
            _ if op.is_comparison() => format!("({a} {sign} {b})"),
            _ if ty.scalar.is_float() => format!("{name}({a} {sign} {b})"),
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul if ty.lanes == 1 => {
                format!("{name}({}({a}) {sign} {}({b}))", wide(ty), wide(ty))
            }
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul => format!("{name}({unsigned}({a}) {sign} {unsigned}({b}))"),
            BinaryOp::Div | BinaryOp::Rem => format!("{name}({a} {sign} divisor<{name}>({b}))"),
            // A narrow number is shifted as an int, whose width would count.
            BinaryOp::Shl | BinaryOp::Shr if ty.lanes == 1 && ty.scalar.bits() < 32 => {
                format!("{name}({a} {sign} int({b} & {}))", ty.scalar.bits() - 1)
            }
            BinaryOp::Shl | BinaryOp::Shr => format!("{name}({a} {sign} {b})"),
            _ => format!("{name}({a} {sign} {b})"),
        }
    }
}

/// The unsigned type that scalar arithmetic of `ty` is done in, where it cannot overflow.
fn wide(ty: Ty) -> &'static str {
    if ty.scalar.bits() == 64 { "ulong" } else { "uint" }
}

fn operator(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        BinaryOp::Rem => "%",
        BinaryOp::And => "&",
        BinaryOp::Or => "|",
        BinaryOp::Xor => "^",
        BinaryOp::Shl => "<<",
        BinaryOp::Shr => ">>",
        BinaryOp::Eq => "==",
        BinaryOp::Ne => "!=",
        BinaryOp::Lt => "<",
        BinaryOp::Le => "<=",
        BinaryOp::Function(name, ..) => name,
    }
}

fn constant(ty: Ty, bits: u64) -> String {
    let name = type_name(ty);
    match ty.scalar {
        Scalar::Bool => format!("{name}({})", bits == 1),
        Scalar::F16 | Scalar::Bf16 | Scalar::F32 => {
            let value = number(ty.scalar, bits);
            if value.is_infinite() {
                format!("{name}({}INFINITY)", if value < 0.0 { "-" } else { "" })
            } else {
                format!("{name}({value:?}f)")
            }
        }
        Scalar::U32 if ty.lanes == 1 => format!("{bits}u"),
        Scalar::I32 if ty.lanes == 1 && bits < 1 << 31 => bits.to_string(),
        Scalar::I64 | Scalar::U64 => format!("{name}({bits:#x}ul)"),
        scalar => format!("{name}({}({bits:#x}u))", scalar.name()),
    }
}

fn component(kernel: &Kernel, name: &str, axis: usize) -> String {
    if kernel.dimensions == 1 { name.to_owned() } else { format!("{name}.{}", ["x", "y", "z"][axis]) }
}

fn built_in(kernel: &Kernel, builtin: Builtin) -> String {
    match builtin {
        Builtin::Grid(axis) => component(kernel, "thread_position_in_grid", axis),
        Builtin::Local(axis) => component(kernel, "thread_position_in_threadgroup", axis),
        Builtin::Group(axis) => component(kernel, "threadgroup_position_in_grid", axis),
        Builtin::GridSize(axis) => component(kernel, "threads_per_grid", axis),
        Builtin::GroupSize(axis) => component(kernel, "threads_per_threadgroup", axis),
        Builtin::Linear => "linear".to_owned(),
        Builtin::Index => "index".to_owned(),
        Builtin::Lane => "lane".to_owned(),
        Builtin::Simdgroup => "simdgroup".to_owned(),
        Builtin::GroupThreads => "group_threads".to_owned(),
        Builtin::GridThreads => "grid_threads".to_owned(),
    }
}
