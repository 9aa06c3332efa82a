// What LLVM-C lacks about instructions: it can only add fast-math flags, and neither moves them nor cuts blocks.

#include <llvm-c/Core.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Operator.h>

/// Leaves no flag but those of `kept` (LLVM-C's bits) on an instruction that can have fast-math flags.
extern "C" void openmps_llvm_keep_fast_math(LLVMValueRef value, unsigned kept) {
  auto *instruction = llvm::unwrap<llvm::Instruction>(value);
  llvm::FastMathFlags flags = instruction->getFastMathFlags();
  flags.setAllowReassoc(flags.allowReassoc() && (kept & LLVMFastMathAllowReassoc));
  flags.setNoNaNs(flags.noNaNs() && (kept & LLVMFastMathNoNaNs));
  flags.setNoInfs(flags.noInfs() && (kept & LLVMFastMathNoInfs));
  flags.setNoSignedZeros(flags.noSignedZeros() && (kept & LLVMFastMathNoSignedZeros));
  flags.setAllowReciprocal(flags.allowReciprocal() && (kept & LLVMFastMathAllowReciprocal));
  flags.setAllowContract(flags.allowContract() && (kept & LLVMFastMathAllowContract));
  flags.setApproxFunc(flags.approxFunc() && (kept & LLVMFastMathApproxFunc));
  instruction->copyFastMathFlags(flags);
}

/// Cuts the block of an instruction before it: what follows moves to a new block, to which the old one goes.
extern "C" LLVMBasicBlockRef openmps_llvm_split_before(LLVMValueRef value, const char *name) {
  auto *instruction = llvm::unwrap<llvm::Instruction>(value);
  return llvm::wrap(instruction->getParent()->splitBasicBlock(instruction->getIterator(), name));
}

/// Moves an instruction before another of the same function.
extern "C" void openmps_llvm_move_before(LLVMValueRef value, LLVMValueRef place) {
  llvm::unwrap<llvm::Instruction>(value)->moveBefore(llvm::unwrap<llvm::Instruction>(place)->getIterator());
}
