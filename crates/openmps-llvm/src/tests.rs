//! The wrappers together, on small modules.

use expect_test::{Expect, expect};

use crate::passes::PassOptions;
use crate::{
    AtomicOp, AttributePlace, BinaryOp, CodeGenLevel, Context, Error, FastMath, IntPredicate, Linkage, MetadataOperand,
    Module, Opcode, Ordering, PlainOp, TargetMachine, TypeKind,
};

/// The functions of a module as text, without header and trailer.
fn check(module: &Module<'_>, expected: Expect) {
    module.verify().unwrap();
    let text = module.to_string();
    let body: Vec<&str> = text.lines().filter(|line| !line.starts_with(';') && !line.starts_with("source_")).collect();
    expected.assert_eq(&format!("{}\n", body.join("\n").trim()));
}

const ADD: &str = "
    @table = internal addrspace(3) global [4 x float] undef, align 16
    define i32 @add(i32 %a, i32 %b) {
      %sum = add i32 %a, %b
      ret i32 %sum
    }
    !air.kernel = !{!0}
    !0 = !{ptr @add, !1, !\"air.buffer\", i32 7, null}
    !1 = !{}";

#[test]
fn bitcode_and_text_round_trip() {
    let context = Context::new();
    let module = context.parse_ir(ADD).unwrap();
    let bitcode = module.write_bitcode();
    let other = Context::new();
    let again = other.parse_bitcode(bitcode.as_bytes()).unwrap();
    let body = |module: &Module<'_>| module.to_string().lines().skip(2).collect::<Vec<_>>().join("\n");
    assert_eq!(body(&module), body(&again));
}

#[test]
fn broken_input_is_an_error_with_the_text_of_llvm() {
    let context = Context::new();
    assert_eq!(
        context.parse_bitcode(b"not bitcode").unwrap_err().to_string(),
        "not readable bitcode: Invalid bitcode signature"
    );
    let text = context.parse_ir("define void @f() { ret i32 }").unwrap_err();
    assert!(matches!(&text, Error::Text(message) if message.contains("text:1:")), "{text}");
}

#[test]
fn the_verifier_reports() {
    let context = Context::new();
    let module = context.create_module("m");
    let function = module.add_function("f", context.function(context.void(), &[]));
    let _ = function.append_block("entry");
    let error = module.verify().unwrap_err().to_string();
    assert!(error.starts_with("invalid LLVM IR: Basic Block in function 'f' does not have terminator!"), "{error}");
}

#[test]
fn reading_finds_everything() {
    let context = Context::new();
    let module = context.parse_ir(ADD).unwrap();
    let function = module.function("add").unwrap();
    assert_eq!(function.parameters().len(), 2);
    assert_eq!(function.linkage(), Linkage::External);
    let instructions = function.instructions();
    assert_eq!(instructions[0].opcode(), Opcode::Binary(BinaryOp::Add));
    assert_eq!(instructions[0].operands(), function.parameters());
    assert!(instructions[1].opcode().is(PlainOp::Ret));
    assert_eq!(instructions[1].as_value().as_instruction(), Some(instructions[1]));

    let table = module.globals()[0];
    assert_eq!((table.name().as_str(), table.address_space(), table.alignment()), ("table", 3, 16));
    assert_eq!(module.size_bytes(table.value_type()), 16);
    assert!(table.initializer().unwrap().is_undef());
    let TypeKind::Array(element, 4) = table.value_type().kind() else { panic!("{:?}", table.value_type().kind()) };
    assert_eq!(element.to_string(), "float");

    let operands = module.named_metadata("air.kernel")[0].operands();
    assert_eq!(operands[0].as_value().and_then(|value| value.as_function()), Some(function));
    assert_eq!(operands[1].as_node().unwrap().operands(), []);
    assert_eq!(operands[2].as_str(), Some("air.buffer"));
    assert_eq!(operands[3].as_int(), Some(7));
    assert_eq!(operands[4], MetadataOperand::Null);
    assert!(module.named_metadata("absent").is_empty());
}

#[test]
fn building_a_loop() {
    let context = Context::new();
    let module = context.create_module("m");
    let (i32_type, pointer) = (context.i32(), context.pointer(1));
    let function = module.add_function("count", context.function(context.void(), &[pointer, i32_type]));
    function.add_attribute(AttributePlace::Function, "nounwind", 0);
    let [address, len] = function.parameters()[..] else { unreachable!() };
    let (entry, body, exit) =
        (function.append_block("entry"), function.append_block("body"), function.append_block("exit"));
    let builder = module.builder();
    builder.position_at_end(entry);
    builder.br(body);
    builder.position_at_end(body);
    let index = builder.phi(i32_type);
    builder.atomic_rmw(AtomicOp::Add, address, index.as_value(), Ordering::Monotonic);
    let next = builder.add(index.as_value(), i32_type.const_int(1));
    index.add_incoming(i32_type.zero(), entry);
    index.add_incoming(next, body);
    builder.cond_br(builder.icmp(IntPredicate::Ult, next, len), body, exit);
    builder.position_at_end(exit);
    builder.ret_void();
    assert_eq!(index.incoming(), [(i32_type.zero(), entry), (next, body)]);
    assert_eq!(body.successors(), [body, exit]);
    check(
        &module,
        expect![[r#"
        define void @count(ptr addrspace(1) %0, i32 %1) #0 {
        entry:
          br label %body

        body:                                             ; preds = %body, %entry
          %2 = phi i32 [ 0, %entry ], [ %4, %body ]
          %3 = atomicrmw add ptr addrspace(1) %0, i32 %2 monotonic, align 4
          %4 = add i32 %2, 1
          %5 = icmp ult i32 %4, %1
          br i1 %5, label %body, label %exit

        exit:                                             ; preds = %body
          ret void
        }

        attributes #0 = { nounwind }
    "#]],
    );
}

#[test]
fn intrinsics_vectors_and_flags() {
    let context = Context::new();
    let module = context.create_module("m");
    let vector = context.vector(context.float(), 4);
    let function = module.add_function("f", context.function(vector, &[vector, context.float()]));
    let [lanes, scalar] = function.parameters()[..] else { unreachable!() };
    let builder = module.builder();
    builder.position_at_end(function.append_block("entry"));
    let fma = builder.intrinsic("llvm.fma", &[vector], &[lanes, builder.splat(scalar, 4), vector.const_float(0.5)]);
    fma.set_fast_math(FastMath::NNAN.with(FastMath::CONTRACT));
    assert!(fma.fast_math().contains(FastMath::NNAN) && !fma.fast_math().contains(FastMath::AFN));
    assert_eq!(fma.called_function().unwrap().name(), "llvm.fma.v4f32");
    let reversed = builder.shuffle(fma.as_value(), vector.poison(), &[Some(3), Some(2), None, Some(0)]);
    assert_eq!(reversed.as_instruction().unwrap().shuffle_mask(), [Some(3), Some(2), None, Some(0)]);
    builder.ret(reversed);
    check(
        &module,
        expect![[r#"
        define <4 x float> @f(<4 x float> %0, float %1) {
        entry:
          %2 = insertelement <4 x float> poison, float %1, i32 0
          %3 = shufflevector <4 x float> %2, <4 x float> poison, <4 x i32> zeroinitializer
          %4 = call nnan contract <4 x float> @llvm.fma.v4f32(<4 x float> %0, <4 x float> %3, <4 x float> splat (float 5.000000e-01))
          %5 = shufflevector <4 x float> %4, <4 x float> poison, <4 x i32> <i32 3, i32 2, i32 poison, i32 0>
          ret <4 x float> %5
        }

        declare <4 x float> @llvm.fma.v4f32(<4 x float>, <4 x float>, <4 x float>) #0

        attributes #0 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
    "#]],
    );
}

#[test]
fn erased_instructions_stay_harmless() {
    let context = Context::new();
    let mut module = context
        .parse_ir(
            "define i32 @f(i1 %c, i32 %a) {
             entry:
               %b = mul i32 %a, 3
               br i1 %c, label %one, label %two
             one:
               br label %two
             two:
               %x = phi i32 [ %b, %entry ], [ 1, %one ]
               ret i32 %x
             }",
        )
        .unwrap();
    {
        let function = module.function("f").unwrap();
        let product = function.entry().unwrap().first().unwrap();
        product.as_value().replace_all_uses_with(function.parameters()[1]);
        module.erase(product);
        module.erase(product);
        assert_eq!(product.block(), None);
        assert_eq!(product.to_string(), "%b = mul i32 poison, poison");
        let one = function.blocks()[1];
        let jump = one.terminator().unwrap();
        let builder = module.builder();
        builder.position_before(jump);
        builder.br(function.blocks()[2]);
        module.erase(jump);
        assert_eq!(one.instructions().len(), 1);
    }
    check(
        &module,
        expect![[r#"
        define i32 @f(i1 %c, i32 %a) {
        entry:
          br i1 %c, label %one, label %two

        one:                                              ; preds = %entry
          br label %two

        two:                                              ; preds = %one, %entry
          %x = phi i32 [ %a, %entry ], [ 1, %one ]
          ret i32 %x
        }
    "#]],
    );
    module.run_passes("default<O2>", None, PassOptions::default()).unwrap();
    check(
        &module,
        expect![[r#"
        define i32 @f(i1 %c, i32 %a) local_unnamed_addr #0 {
        entry:
          %spec.select = select i1 %c, i32 1, i32 %a
          ret i32 %spec.select
        }

        attributes #0 = { mustprogress nofree norecurse nosync nounwind willreturn memory(none) }
    "#]],
    );
}

#[test]
fn passes_report_a_misspelt_pipeline() {
    let context = Context::new();
    let mut module = context.create_module("m");
    let error = module.run_passes("no-such-pass", None, PassOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "passes 'no-such-pass' failed: unknown pass name 'no-such-pass'");
}

#[test]
fn linking_and_deleting() {
    let context = Context::new();
    let mut module =
        context.parse_ir("declare i32 @g()\ndefine i32 @f() {\n %x = call i32 @g()\n ret i32 %x\n}").unwrap();
    module.link(context.parse_ir("define i32 @g() {\n ret i32 5\n}").unwrap()).unwrap();
    assert!(!module.function("g").unwrap().is_declaration());
    let clash = context.parse_ir("define i32 @f() {\n ret i32 5\n}").unwrap();
    let error = module.link(clash).unwrap_err().to_string();
    assert!(error.contains("symbol multiply defined"), "{error}");
    module.delete_function("f");
    assert!(module.function("f").is_none());
}

#[test]
fn objects_are_elf_and_deterministic() {
    let machine = TargetMachine::generic(CodeGenLevel::Default).unwrap();
    let emit = || {
        let context = Context::new();
        let mut module = context.parse_ir("define i32 @f() {\n ret i32 5\n}").unwrap();
        module.set_triple(machine.triple());
        module.set_data_layout(&machine.data_layout());
        machine.emit_object(&mut module).unwrap().as_bytes().to_vec()
    };
    let object = emit();
    assert!(object.starts_with(b"\x7fELF"));
    assert_eq!(object, emit());
    assert!(TargetMachine::host(CodeGenLevel::Aggressive).is_ok());
    let error = TargetMachine::new("no-such-machine", "", "", CodeGenLevel::None).err().unwrap();
    assert!(error.to_string().starts_with("no code for no-such-machine: "), "{error}");
}

#[test]
#[should_panic(expected = "modules of one context are linked")]
fn modules_of_two_contexts_do_not_link() {
    let (one, two) = (Context::new(), Context::new());
    let mut module = one.create_module("m");
    module.link(two.create_module("n")).unwrap();
}

#[test]
#[should_panic(expected = "is erased through another module")]
fn a_module_erases_its_own_instructions() {
    let context = Context::new();
    let (one, two) = (context.parse_ir(ADD).unwrap(), context.create_module("n"));
    two.erase(one.function("add").unwrap().instructions()[0]);
}

#[test]
fn a_switch_has_a_target_for_every_number() {
    let context = Context::new();
    let text = "define i32 @f(i32 %x) {
  switch i32 %x, label %other [ i32 3, label %three
                                i32 -1, label %last ]
other:
  ret i32 0
three:
  ret i32 1
last:
  ret i32 2
}";
    let module = context.parse_ir(text).unwrap();
    let switch = module.function("f").unwrap().instructions()[0];
    let target = |number| switch.switch_target(number).map(|block| block.name());
    assert_eq!(target(3).as_deref(), Some("three"));
    assert_eq!(target(u64::from(u32::MAX)).as_deref(), Some("last"), "zero-extended");
    assert_eq!(target(0).as_deref(), Some("other"));
}
