//! What LLVM does with a kernel's scalar code before it makes machine code of it.
//!
//! Guarantees: one of three lists by the kernel's flow and size, the same for the same module. They are short: LLVM's own
//! `default<O2>` takes half as long again for code that is no faster here, since functions are inlined already and it does most of
//! its work twice. Its search for vectors in straight code (`slp-vectorizer`) is for straight kernels alone: it takes four fifths of the
//! time of sorting networks and of attention on matrices (PyTorch's `mb_sort_block_fkey_float`: 1.25 of 1.4 seconds) without finding
//! any. Loops that stay are not unrolled: a kernel that has them becomes vector code when it is hot.

use openmps_engine::EngineError;
use openmps_llvm::{Module, PassOptions, TargetMachine};

use super::internal;

/// Most instructions of a kernel whose loops may become vectors. Above, looking for vectors and unrolling take a third of the time
/// (PyTorch's `igammac`, 19,000 instructions: the short list takes 0.8 instead of 1.3 seconds and makes two thirds of the code),
/// and branches leave few of them.
pub(super) const ORDINARY_INSTRUCTIONS_MAX: usize = 3000;

/// Variables become values, each computation is made once and outside of loops, small loops disappear.
const SIMPLIFY: &str = "sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg<switch-range-to-icmp>,\
    loop-mssa(loop-simplifycfg,loop-rotate,licm,simple-loop-unswitch<no-nontrivial;trivial>),\
    simplifycfg<switch-range-to-icmp>,instcombine<no-verify-fixpoint>,loop(loop-idiom,indvars,loop-deletion,loop-unroll-full),\
    sroa,gvn,sccp,bdce,instcombine<no-verify-fixpoint>,adce,memcpyopt,dse,loop-mssa(licm)";
/// Loops become vectors.
const VECTORIZE: &str = "loop(loop-rotate,loop-deletion),inject-tli-mappings,loop-vectorize,loop-load-elim";
/// Last, branches and what is left of vectors get the form that the code generator wants.
const FINISH: &str = "simplifycfg<hoist-common-insts;sink-common-insts;switch-to-lookup;forward-switch-cond>,\
    instcombine<no-verify-fixpoint>,vector-combine,div-rem-pairs";
/// Neighbours in straight code become vectors.
const PACK: &str = "slp-vectorizer";

/// Optimizes the module of a kernel, which is straight where its threads never wait and have no loop.
pub(super) fn run(module: &mut Module<'_>, machine: &TargetMachine, is_straight: bool) -> Result<(), EngineError> {
    let instructions = module.functions().into_iter().map(|function| function.instructions().len()).sum();
    let options = PassOptions { vectorize_loops: true, ..PassOptions::default() };
    module.run_passes(&list(is_straight, instructions), Some(machine), options).map_err(internal)
}

/// The passes for a kernel of `instructions` instructions, as LLVM's text.
fn list(is_straight: bool, instructions: usize) -> String {
    let passes = match is_straight {
        _ if instructions > ORDINARY_INSTRUCTIONS_MAX => format!("{SIMPLIFY},{FINISH}"),
        true => format!("{SIMPLIFY},{VECTORIZE},{PACK},{FINISH}"),
        false => format!("{SIMPLIFY},{VECTORIZE},{FINISH}"),
    };
    format!("function<eager-inv>({passes}),globaldce")
}

#[cfg(test)]
mod tests {
    use openmps_llvm::{CodeGenLevel, Context};

    use super::*;

    /// A loop that doubles 1024 numbers, with its counter in a variable.
    const LOOP: &str = "define void @f(ptr %a) {\n\
        entry:\n  %i = alloca i64\n  store i64 0, ptr %i\n  br label %loop\n\
        loop:\n  %n = load i64, ptr %i\n  %p = getelementptr float, ptr %a, i64 %n\n  %v = load float, ptr %p\n\
        \x20 %d = fadd float %v, %v\n  store float %d, ptr %p\n  %next = add i64 %n, 1\n  store i64 %next, ptr %i\n\
        \x20 %more = icmp ult i64 %next, 1024\n  br i1 %more, label %loop, label %end\n\
        end:\n  ret void\n}\n";

    /// Two neighbours doubled.
    const STRAIGHT: &str = "define void @f(ptr %a) {\n\
        \x20 %p = getelementptr double, ptr %a, i64 1\n  %v = load double, ptr %a\n  %w = load double, ptr %p\n\
        \x20 %d = fadd double %v, %v\n  %e = fadd double %w, %w\n  store double %d, ptr %a\n  store double %e, ptr %p\n\
        \x20 ret void\n}\n";

    fn optimized(source: &str, passes: &str) -> String {
        let context = Context::new();
        let mut module = context.parse_ir(source).unwrap();
        let machine = TargetMachine::host(CodeGenLevel::Default).unwrap();
        module.set_triple(machine.triple());
        module.set_data_layout(&machine.data_layout());
        let options = PassOptions { vectorize_loops: true, ..PassOptions::default() };
        module.run_passes(passes, Some(&machine), options).unwrap();
        module.verify().unwrap();
        module.to_string()
    }

    #[test]
    fn loops_become_vectors_and_straight_code_where_it_is_all() {
        for is_straight in [false, true] {
            let text = optimized(LOOP, &list(is_straight, 100));
            assert!(text.contains(" x float>"), "{text}");
            assert!(!text.contains("alloca"), "{text}");
            assert_eq!(optimized(STRAIGHT, &list(is_straight, 100)).contains(" x double>"), is_straight);
        }
    }

    #[test]
    fn large_code_keeps_its_loops() {
        for is_straight in [false, true] {
            let text = optimized(LOOP, &list(is_straight, ORDINARY_INSTRUCTIONS_MAX + 1));
            assert!(!text.contains(" x float>") && !text.contains("alloca"), "{text}");
            assert_eq!(text.matches("fadd").count(), 1, "{text}");
        }
    }
}
