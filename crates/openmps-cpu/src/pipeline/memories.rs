//! Tells LLVM which memories are apart, so that what a threadgroup shares behind a barrier is computed once.
//!
//! The loops over SIMD-groups are loops in LLVM's eyes. A sum over threadgroup memory that each SIMD-group makes anew can move out of
//! them when nothing in the loop writes what it reads: here it is said that buffers, threadgroup memory and the frames of SIMD-groups
//! never overlap, and that the static variables of threadgroup memory may be read whether a thread would or not. One core runs all
//! threads of a threadgroup, and no other touches its memory: what holds for the function holds for the kernel, and what a SIMD-group
//! writes in the loop keeps LLVM from moving what reads it.
//!
//! Accesses by pointers without an address space may touch anything, and are left as they are; so are calls of functions.

use openmps_llvm::{Instruction, Metadata, MetadataOperand, Module, Opcode, PlainOp, Value};

use crate::abi::{KERNEL_SYMBOL, offset};

/// What the address of a worker's block of threadgroup memory is a multiple of.
const BLOCK_ALIGN_BYTES: u64 = 128;
/// AIR's numbers of address spaces: device and constant.
const BUFFER_SPACES: [u32; 2] = [1, 2];
/// AIR's number of the threadgroup address space.
const THREADGROUP_SPACE: u32 = 3;
/// Intrinsics that read or write at some of their arguments alone: how their names start, and which.
const ACCESSES: [(&str, &[usize]); 7] = [
    ("llvm.masked.load.", &[0]),
    ("llvm.masked.store.", &[1]),
    ("llvm.masked.gather.", &[0]),
    ("llvm.masked.scatter.", &[1]),
    ("llvm.memcpy.", &[0, 1]),
    ("llvm.memmove.", &[0, 1]),
    ("llvm.memset.", &[0]),
];

/// Memories that never overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Memory {
    /// Of the device: nobody says here which of them are apart.
    Buffers,
    Threadgroup,
    Frames,
}

/// The memories that have a name of their own; buffers are what is neither.
const NAMED: [Memory; 2] = [Memory::Threadgroup, Memory::Frames];

/// Marks the accesses of the exported function, whose static threadgroup variables take `threadgroup_bytes`.
pub(super) fn run(module: &Module<'_>, threadgroup_bytes: u32) {
    let kernel = module.function(KERNEL_SYMBOL).expect("the driver was linked");
    let context = kernel.parameters()[0];
    let scopes = Scopes::new(module);
    for instruction in kernel.instructions() {
        if let Some(memory) = accessed(instruction, context) {
            scopes.mark(instruction, memory);
        }
        if threadgroup_bytes > 0 && is_load_of(instruction, context, offset::THREADGROUP_MEMORY) {
            let number = |number: u64| {
                let operand = MetadataOperand::Value(module.context().i64().const_int(number));
                Some(module.context().metadata_node(&[operand]))
            };
            instruction.set_metadata("dereferenceable", number(threadgroup_bytes.into()));
            instruction.set_metadata("align", number(BLOCK_ALIGN_BYTES));
        }
    }
}

/// The lists of scopes, as LLVM wants them: an access is in the scopes of one list and apart from those of the other.
struct Scopes<'m> {
    scopes: Vec<(Memory, Metadata<'m>)>,
    module: &'m Module<'m>,
}

impl<'m> Scopes<'m> {
    fn new(module: &'m Module<'_>) -> Self {
        let context = module.context();
        let text = |text: &str| MetadataOperand::String(text.to_owned());
        let domain = context.metadata_node(&[text("openmps.memories")]);
        let scope = |memory: Memory| {
            let name = format!("openmps.memories.{memory:?}").to_lowercase();
            (memory, context.metadata_node(&[text(&name), MetadataOperand::Node(domain)]))
        };
        Self { scopes: NAMED.map(scope).to_vec(), module }
    }

    fn list(&self, is_listed: impl Fn(Memory) -> bool) -> Option<Metadata<'m>> {
        let listed: Vec<MetadataOperand<'m>> = self
            .scopes
            .iter()
            .filter(|(memory, _)| is_listed(*memory))
            .map(|(_, scope)| MetadataOperand::Node(*scope))
            .collect();
        (!listed.is_empty()).then(|| self.module.context().metadata_node(&listed))
    }

    fn mark(&self, access: Instruction<'_>, memory: Memory) {
        access.set_metadata("alias.scope", self.list(|other| other == memory));
        access.set_metadata("noalias", self.list(|other| other != memory));
    }
}

/// The memory that an instruction reads or writes, where that is one alone.
fn accessed(instruction: Instruction<'_>, context: Value<'_>) -> Option<Memory> {
    let mut memories = addresses(instruction).into_iter().map(|address| memory_at(address, context));
    let first = memories.next()??;
    memories.all(|memory| memory == Some(first)).then_some(first)
}

/// Where an instruction reads or writes; nowhere where that is not known.
fn addresses(instruction: Instruction<'_>) -> Vec<Value<'_>> {
    match instruction.opcode() {
        Opcode::Plain(PlainOp::Load | PlainOp::AtomicRmw | PlainOp::AtomicCmpXchg) => vec![instruction.operand(0)],
        Opcode::Plain(PlainOp::Store) => vec![instruction.operand(1)],
        Opcode::Plain(PlainOp::Call) => {
            let name = instruction.called_function().map(|callee| callee.name()).unwrap_or_default();
            let places = ACCESSES.iter().find(|(start, _)| name.starts_with(start)).map_or(&[][..], |(_, at)| at);
            places.iter().map(|&place| instruction.arguments()[place]).collect()
        }
        Opcode::Plain(_) | Opcode::Binary(_) | Opcode::Cast(_) => Vec::new(),
    }
}

/// What an address, or each of several, points into; none where that may be anything.
fn memory_at(address: Value<'_>, context: Value<'_>) -> Option<Memory> {
    match address.ty().scalar().address_space()? {
        THREADGROUP_SPACE => Some(Memory::Threadgroup),
        space if BUFFER_SPACES.contains(&space) => Some(Memory::Buffers),
        _ => {
            let root = root(address).as_instruction()?;
            is_load_of(root, context, offset::FRAMES).then_some(Memory::Frames)
        }
    }
}

/// What an address was computed from.
fn root(mut address: Value<'_>) -> Value<'_> {
    while let Some(step) = address.as_instruction().filter(|step| step.opcode().is(PlainOp::GetElementPtr)) {
        address = step.operand(0);
    }
    address
}

/// Whether `load` reads the context's word at `offset`.
fn is_load_of(load: Instruction<'_>, context: Value<'_>, offset: u64) -> bool {
    if !load.opcode().is(PlainOp::Load) {
        return false;
    }
    let Some(address) = load.operand(0).as_instruction() else { return false };
    // Bytes from the context, as all addresses of its words are.
    address.opcode().is(PlainOp::GetElementPtr)
        && address.operand(0) == context
        && address.operand_count() == 2
        && address.gep_source_type().and_then(|ty| ty.int_bits()) == Some(8)
        && address.operand(1).as_const_int() == Some(offset)
}

#[cfg(test)]
mod tests {
    use openmps_llvm::{Context, PassOptions};

    use super::*;

    /// What becomes of a loop that loads `%shared` from threadgroup memory behind a test, and does `other` before.
    fn moved(other: &str, threadgroup_bytes: u32) -> String {
        let (frames, memory) = (offset::FRAMES, offset::THREADGROUP_MEMORY);
        let text = format!(
            "declare void @unknown()
declare void @llvm.masked.store.v4f32.p1(<4 x float>, ptr addrspace(1), <4 x i1>)
declare void @llvm.masked.store.v4f32.p3(<4 x float>, ptr addrspace(3), <4 x i1>)
declare void @llvm.memcpy.p1.p3.i64(ptr addrspace(1), ptr addrspace(3), i64, i1)
define void @{KERNEL_SYMBOL}(ptr %context, ptr addrspace(1) %buffer, ptr %any, i32 %size, <4 x float> %v, <4 x i1> %mask, i1 %c) {{
entry:
  %frames.at = getelementptr i8, ptr %context, i64 {frames}
  %frames = load ptr, ptr %frames.at
  %memory.at = getelementptr i8, ptr %context, i64 {memory}
  %memory = load ptr addrspace(3), ptr %memory.at, !invariant.load !0
  %place = getelementptr i8, ptr addrspace(3) %memory, i64 32
  br label %loop
loop:
  %x = phi i32 [ 0, %entry ], [ %x.next, %latch ]
  %x.long = zext i32 %x to i64
  %frame = getelementptr i8, ptr %frames, i64 %x.long
  {other}
  br i1 %c, label %then, label %latch
then:
  %shared = load float, ptr addrspace(3) %place, align 4
  %out = getelementptr float, ptr addrspace(1) %buffer, i64 %x.long
  store float %shared, ptr addrspace(1) %out
  br label %latch
latch:
  %x.next = add i32 %x, 32
  %more = icmp ult i32 %x.next, %size
  br i1 %more, label %loop, label %end
end:
  ret void
}}
!0 = !{{}}
"
        );
        let context = Context::new();
        let mut module = context.parse_ir(&text).unwrap_or_else(|error| panic!("{error} in\n{text}"));
        run(&module, threadgroup_bytes);
        module.verify().unwrap_or_else(|error| panic!("{error} in {module}"));
        module.run_passes("function(loop-mssa(licm))", None, PassOptions::default()).unwrap();
        module.to_string()
    }

    /// Whether the load leaves the loop. One that is not there any more took what the loop stores.
    fn leaves(other: &str, threadgroup_bytes: u32) -> bool {
        let text = moved(other, threadgroup_bytes);
        let place = |part: &str| text.find(part);
        place("%shared = load").is_some_and(|load| Some(load) < place("\nloop:"))
    }

    #[test]
    fn what_a_threadgroup_shares_leaves_the_loop_past_writes_to_other_memories() {
        for other in [
            "",
            "store float 1.0, ptr addrspace(1) %buffer",
            "store float 1.0, ptr %frame",
            "%n = getelementptr i8, ptr %frame, i64 4\n  store <4 x float> %v, ptr %n",
            "call void @llvm.masked.store.v4f32.p1(<4 x float> %v, ptr addrspace(1) %buffer, <4 x i1> %mask)",
            "%old = atomicrmw add ptr addrspace(1) %buffer, i32 1 monotonic",
        ] {
            assert!(leaves(other, 64), "{other}");
        }
    }

    #[test]
    fn what_may_be_written_in_the_loop_stays() {
        for other in [
            "store float 1.0, ptr addrspace(3) %memory",
            "store float 1.0, ptr addrspace(3) %place",
            "%at = getelementptr float, ptr addrspace(3) %memory, i32 %x\n  store float 1.0, ptr addrspace(3) %at",
            "call void @llvm.masked.store.v4f32.p3(<4 x float> %v, ptr addrspace(3) %place, <4 x i1> %mask)",
            "store float 1.0, ptr %any",
            "call void @unknown()",
            "%old = atomicrmw add ptr addrspace(1) %buffer, i32 1 acq_rel",
        ] {
            // Two places that are apart by their addresses are told apart all the same.
            let is_apart = other == "store float 1.0, ptr addrspace(3) %memory";
            assert_eq!(leaves(other, 64), is_apart, "{other}");
        }
    }

    #[test]
    fn what_may_lie_behind_the_static_variables_is_not_read_early() {
        assert!(leaves("", 36));
        for bytes in [0, 32, 35] {
            assert!(!leaves("", bytes), "{bytes}");
        }
    }

    #[test]
    fn copies_between_memories_are_in_neither() {
        let copy =
            "call void @llvm.memcpy.p1.p3.i64(ptr addrspace(1) %buffer, ptr addrspace(3) %memory, i64 8, i1 false)";
        let text = moved(copy, 64);
        let line = text.lines().find(|line| line.contains("call void @llvm.memcpy")).unwrap();
        assert!(!line.contains("alias"), "{line}");
    }
}
