//! Decides how arithmetic rounds, once and before the engines part: what AIR permits to be fused becomes `llvm.fma`, and no
//! permission is left behind.
//!
//! Guarantees: later passes and code generators round each operation as it is written, so that scalar code, vector code and code of
//! fibers give the same bits, and a thread's result does not depend on its place in the grid (LLVM would estimate reciprocals in
//! vectors and divide in what is left of a loop). Products are fused into sums of the same function where they have no other use,
//! and only where the CPU has the instruction. Divisions by a root are products with `air.fast_rsqrt`, and several divisions by one
//! number are products with its reciprocal. What fast math permits beyond (reassociation, reciprocals of constants) is done by one
//! `instcombine`. A division alone stays one: the divider works beside the rest. Sums over a loop keep their order.

use openmps_engine::EngineError;
use openmps_llvm::{BinaryOp, FastMath, Function, Instruction, Module, Opcode, PassOptions, TargetMachine, TypeKind};

use super::{internal, isolate};

/// Variables become values, so that a product and its sum meet.
const BEFORE: &str = "always-inline,globaldce,function(sroa,early-cse,instcombine<no-verify-fixpoint>)";

/// Fuses in all functions of `module`, whose kernel is `kernel`, for the CPU of `machine`.
pub(super) fn run(module: &mut Module<'_>, machine: &TargetMachine, kernel: &str) -> Result<(), EngineError> {
    if !has_permissions(module) {
        return Ok(());
    }
    isolate::inline_all_but(module, kernel, true);
    module.run_passes(BEFORE, Some(machine), PassOptions::default()).map_err(internal)?;
    let fused = Fused::new(machine);
    for function in module.functions() {
        by_roots(module, function);
        by_reciprocals(module, function);
        fuse(module, function, fused);
        for instruction in function.instructions() {
            instruction.set_fast_math(FastMath::default());
        }
    }
    Ok(())
}

fn has_permissions(module: &Module<'_>) -> bool {
    let mut instructions = module.functions().into_iter().flat_map(|function| function.instructions());
    instructions.any(|instruction| instruction.fast_math() != FastMath::default())
}

/// The types whose products and sums the CPU fuses in one instruction.
#[derive(Clone, Copy)]
struct Fused {
    float: bool,
    half: bool,
}

impl Fused {
    fn new(machine: &TargetMachine) -> Self {
        let has = |feature: &str| machine.features().split(',').any(|given| given == feature);
        let is_arm = machine.triple().starts_with("aarch64");
        Self { float: is_arm || has("+fma") || has("+avx512f"), half: has("+fullfp16") || has("+avx512fp16") }
    }

    fn has(self, kind: &TypeKind<'_>) -> bool {
        match kind {
            TypeKind::Float => self.float,
            TypeKind::Half => self.half,
            _ => false,
        }
    }
}

/// The fast square root of floats, by what follows the name, and what divisions by it are.
const ROOT: &str = "air.fast_sqrt.";
const RECIPROCAL_ROOT: &str = "air.fast_rsqrt.";

fn is_division(instruction: &Instruction<'_>) -> bool {
    instruction.opcode() == Opcode::Binary(BinaryOp::FDiv)
        && instruction.fast_math().contains(FastMath::ARCP)
        && instruction.ty().scalar().kind() == TypeKind::Float
}

/// Makes products with reciprocal roots of divisions by roots that nothing else needs.
fn by_roots<'m>(module: &'m Module<'_>, function: Function<'m>) {
    for root in function.calls() {
        let name = root.called_function().map(Function::name).unwrap_or_default();
        let (Some(suffix), &[x]) = (name.strip_prefix(ROOT), root.arguments().as_slice()) else { continue };
        let users: Vec<_> =
            root.as_value().users().into_iter().filter_map(openmps_llvm::Value::as_instruction).collect();
        let is_divided = |user: &Instruction<'m>| is_division(user) && user.operand(0) != root.as_value();
        if root.ty().scalar().kind() != TypeKind::Float || users.is_empty() || !users.iter().all(is_divided) {
            continue;
        }
        let ty = root.called_type().expect("a call has the type of what it calls");
        let builder = module.builder();
        builder.position_before(root);
        let reciprocal = builder.call(module.declare(&format!("{RECIPROCAL_ROOT}{suffix}"), ty), &[x]);
        users.into_iter().for_each(|division| multiply(module, division, reciprocal));
        module.erase(root);
    }
}

/// Makes products with one reciprocal of all divisions of a block by the same number, where there are several.
fn by_reciprocals<'m>(module: &'m Module<'_>, function: Function<'m>) {
    for block in function.blocks() {
        let is_variable = |it: &Instruction<'m>| is_division(it) && !it.operand(1).is_constant();
        let mut divisions: Vec<_> = block.instructions().into_iter().filter(is_variable).collect();
        while let Some(&first) = divisions.first() {
            let divisor = first.operand(1);
            let (same, others) = divisions.into_iter().partition::<Vec<_>, _>(|it| it.operand(1) == divisor);
            divisions = others;
            if same.len() > 1 {
                let builder = module.builder();
                builder.position_before(first);
                let reciprocal = builder.fdiv(first.ty().const_float(1.0), divisor);
                let reciprocal = reciprocal.as_instruction().expect("the divisor is no constant");
                same.into_iter().for_each(|division| multiply(module, division, reciprocal));
            }
        }
    }
}

/// Makes `division` a product of its dividend, with its permissions, or `reciprocal` where that is 1.
fn multiply<'m>(module: &'m Module<'_>, division: Instruction<'m>, reciprocal: Instruction<'m>) {
    let dividend = division.operand(0);
    let result = if dividend == division.ty().const_float(1.0) {
        reciprocal.as_value()
    } else {
        let builder = module.builder();
        builder.position_before(division);
        let product = builder.fmul(dividend, reciprocal.as_value());
        if let Some(product) = product.as_instruction() {
            product.set_fast_math(division.fast_math());
        }
        product
    };
    division.as_value().replace_all_uses_with(result);
    module.erase(division);
}

fn fuse<'m>(module: &'m Module<'_>, function: Function<'m>, fused: Fused) {
    let is_sum = |instruction: &Instruction<'_>| {
        matches!(instruction.opcode(), Opcode::Binary(BinaryOp::FAdd | BinaryOp::FSub))
            && instruction.fast_math().contains(FastMath::CONTRACT)
            && fused.has(&instruction.ty().scalar().kind())
    };
    // Products are not among them, so that none is looked at after it was erased.
    let sums: Vec<Instruction<'_>> = function.instructions().into_iter().filter(is_sum).collect();
    sums.into_iter().for_each(|sum| fuse_one(module, sum));
}

fn fuse_one<'m>(module: &'m Module<'_>, sum: Instruction<'m>) {
    let (left, right) = (sum.operand(0), sum.operand(1));
    let is_difference = sum.opcode() == Opcode::Binary(BinaryOp::FSub);
    let builder = module.builder();
    builder.position_before(sum);
    let (product, a, c) = match (product(left), product(right)) {
        (Some(product), _) => (product, product.operand(0), if is_difference { builder.fneg(right) } else { right }),
        (None, Some(product)) => {
            let a = product.operand(0);
            (product, if is_difference { builder.fneg(a) } else { a }, left)
        }
        (None, None) => return,
    };
    let fused = builder.intrinsic("llvm.fma", &[sum.ty()], &[a, product.operand(1), c]);
    sum.as_value().replace_all_uses_with(fused.as_value());
    module.erase(sum);
    module.erase(product);
}

/// The product that `value` is, if it may be fused and is used once.
fn product(value: openmps_llvm::Value<'_>) -> Option<Instruction<'_>> {
    let product = value.as_instruction()?;
    let is_product = product.opcode() == Opcode::Binary(BinaryOp::FMul);
    (is_product && product.fast_math().contains(FastMath::CONTRACT) && value.users().len() == 1).then_some(product)
}

#[cfg(test)]
mod tests {
    use openmps_llvm::{CodeGenLevel, Context};

    use super::*;

    /// `k` after the pass for a CPU with fused multiply-add.
    fn after(body: &str, features: &str) -> String {
        let context = Context::new();
        let text = format!(
            "declare float @air.fast_sqrt.f32(float)\n\
             define internal <2 x float> @product(<2 x float> %a, <2 x float> %b) {{\n\
             \x20 %m = fmul contract <2 x float> %a, %b\n  ret <2 x float> %m\n}}\n\
             define void @k(ptr %p, float %a, float %b, float %c, half %h, <2 x float> %v) {{\n{body}\n  ret void\n}}"
        );
        let mut module = context.parse_ir(&text).unwrap();
        let machine = TargetMachine::new("x86_64-unknown-linux-gnu", "x86-64-v2", features, CodeGenLevel::Default);
        let machine = machine.unwrap();
        module.set_triple(machine.triple());
        module.set_data_layout(&machine.data_layout());
        run(&mut module, &machine, "k").unwrap();
        module.verify().unwrap();
        module.to_string()
    }

    #[test]
    fn products_are_fused_across_statements_and_functions() {
        let text = after(
            "  %x = alloca float
  %m = fmul contract float %a, %b
  store float %m, ptr %x
  %l = load float, ptr %x
  %s = fsub contract float %c, %l
  store float %s, ptr %p
  %n = call <2 x float> @product(<2 x float> %v, <2 x float> %v)
  %d = fsub reassoc contract <2 x float> %n, %v
  %q = getelementptr i8, ptr %p, i64 8
  store <2 x float> %d, ptr %q",
            "+fma",
        );
        for part in ["@llvm.fma.f32(float %", "@llvm.fma.v2f32(<2 x float> %v, <2 x float> %v,", "fneg <2 x float> %v"]
        {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        for part in ["fmul", "fadd", "fsub", "contract", "reassoc"] {
            assert!(!text.contains(part), "{part} in\n{text}");
        }
    }

    #[test]
    fn what_may_not_be_fused_or_is_needed_twice_is_not() {
        let sum = |product: &str, sum: &str| {
            format!("  %m = {product} float %a, %b\n  %s = {sum} float %m, %c\n  store float %s, ptr %p")
        };
        assert!(after(&sum("fmul contract", "fadd contract"), "+fma").contains("llvm.fma"));
        assert!(!after(&sum("fmul contract", "fadd"), "+fma").contains("llvm.fma"));
        assert!(!after(&sum("fmul", "fadd contract"), "+fma").contains("llvm.fma"));
        assert!(!after(&sum("fmul contract", "fadd contract"), "").contains("llvm.fma"), "no instruction for it");
        let twice = sum("fmul contract", "fadd contract")
            + "\n  %q = getelementptr i8, ptr %p, i64 4\n  store float %m, ptr %q";
        assert!(!after(&twice, "+fma").contains("llvm.fma"));
        let half = "  %m = fmul contract half %h, %h\n  %s = fadd contract half %m, %h\n  store half %s, ptr %p";
        assert!(!after(half, "+fma").contains("llvm.fma"));
    }

    #[test]
    fn divisions_by_roots_are_products() {
        let declared = |body: &str| {
            let call = "%root = call float @air.fast_sqrt.f32(float %a)";
            after(&format!("  {call}\n{body}"), "+fma")
        };
        let text = declared(
            "  %x = fdiv arcp float 1.0, %root
  store float %x, ptr %p
  %y = fdiv arcp float %b, %root
  %q = getelementptr i8, ptr %p, i64 4
  store float %y, ptr %q",
        );
        assert!(!text.contains("fdiv") && !text.contains("call float @air.fast_sqrt"), "{text}");
        assert_eq!(text.matches("call float @air.fast_rsqrt.f32(float %a)").count(), 1, "{text}");
        assert_eq!(text.matches("fmul").count(), 1, "{text}");
        // Without permission, where the root itself is needed, and where it is the dividend.
        for kept in [
            "  %x = fdiv contract float 1.0, %root\n  store float %x, ptr %p",
            "  %x = fdiv arcp float 1.0, %root\n  store float %x, ptr %p\n\
             \x20 %q = getelementptr i8, ptr %p, i64 4\n  store float %root, ptr %q",
            "  %x = fdiv arcp float %root, %b\n  store float %x, ptr %p",
        ] {
            let text = declared(kept);
            assert!(text.contains("fdiv") && !text.contains("fast_rsqrt"), "{text}");
        }
    }

    #[test]
    fn several_divisions_by_one_number_are_products() {
        let twice = |flags: &str| {
            format!(
                "  %x = fdiv {flags} float %a, %c
  %y = fdiv {flags} float %b, %c
  %r = fadd {flags} float %y, 1.0
  %n = call <2 x float> @product(<2 x float> %v, <2 x float> %v)
  store <2 x float> %n, ptr %p
  %q = getelementptr i8, ptr %p, i64 8
  store float %x, ptr %q
  %o = getelementptr i8, ptr %p, i64 12
  store float %r, ptr %o"
            )
        };
        let text = after(&twice("arcp contract"), "+fma");
        assert!(text.contains("fdiv float 1.000000e+00, %c"), "{text}");
        assert_eq!(text.matches("fdiv").count(), 1, "{text}");
        assert!(text.contains("@llvm.fma.f32(float %b, "), "the product is fused: {text}");
        assert_eq!(after(&twice("contract"), "+fma").matches("fdiv").count(), 2);
    }

    #[test]
    fn no_permission_is_left() {
        let text = after(
            "  %r = fdiv reassoc nsz arcp contract afn float %a, 3.0
  %o = fcmp nsz ogt float %r, %c
  %s = select nsz i1 %o, float %r, float %b
  %d = fdiv arcp float %s, %b
  store float %d, ptr %p",
            "+fma",
        );
        assert!(text.contains("fmul float %a, ") && text.contains("fdiv float %"), "{text}");
        for flag in ["arcp", "nsz", "afn", "reassoc", "contract"] {
            assert!(!text.contains(flag), "{flag} in\n{text}");
        }
    }
}
