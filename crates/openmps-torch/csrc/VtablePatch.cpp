// One heap copy of a vtable and one pointer store; no page protection is changed.
//
// Nothing of the layout is hard-coded: the slot is the Itanium pointer-to-member value (1 + byte
// offset) and the table's size is its ELF symbol's size.
#include "VtablePatch.h"

#include <ATen/detail/CUDAHooksInterface.h>

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <cstring>

namespace openmps {

namespace {

// Offset to top and type info, in front of the first slot.
constexpr size_t kVtableHeaderBytes = 2 * sizeof(void*);

bool answerFalse(const void*) {
  return false;
}

size_t isBuiltSlotBytes() {
  const auto member = &at::AcceleratorHooksInterface::isBuilt;
  size_t encoded = 0;
  std::memcpy(&encoded, &member, sizeof(encoded));
  return encoded - 1;
}

// Bytes from the vtable symbol's size; 0 when the symbol is not found.
size_t vtableSize(const char* symbol) {
  void* table = dlsym(RTLD_DEFAULT, symbol);
  if (table == nullptr) {
    // Torch's libraries are loaded with RTLD_LOCAL: look into the one that has the interface.
    Dl_info library{};
    void* inside = nullptr;
    const auto anchor = &at::detail::getCUDAHooks;
    std::memcpy(&inside, &anchor, sizeof(inside));
    if (dladdr(inside, &library) == 0) {
      return 0;
    }
    void* handle = dlopen(library.dli_fname, RTLD_NOLOAD | RTLD_LAZY);
    table = handle != nullptr ? dlsym(handle, symbol) : nullptr;
  }
  Dl_info info{};
  void* entry = nullptr;
  if (table == nullptr || dladdr1(table, &info, &entry, RTLD_DL_SYMENT) == 0 || entry == nullptr) {
    return 0;
  }
  return static_cast<const ElfW(Sym)*>(entry)->st_size;
}

} // namespace

bool reportNotBuilt(const at::AcceleratorHooksInterface& hooks, const char* vtable_symbol) {
  if (!hooks.isBuilt()) {
    return true;
  }
  const size_t size = vtableSize(vtable_symbol);
  const size_t slot = kVtableHeaderBytes + isBuiltSlotBytes();
  if (slot + sizeof(void*) > size) {
    return false;
  }
  char* table = nullptr;
  auto* object = const_cast<char*>(reinterpret_cast<const char*>(&hooks));
  std::memcpy(&table, object, sizeof(table));
  // Lives as long as the hooks object, which is never destroyed before exit.
  auto* copy = static_cast<char*>(std::malloc(size));
  if (copy == nullptr) {
    return false;
  }
  std::memcpy(copy, table - kVtableHeaderBytes, size);
  const auto replacement = &answerFalse;
  std::memcpy(copy + slot, &replacement, sizeof(replacement));
  char* patched = copy + kVtableHeaderBytes;
  std::memcpy(object, &patched, sizeof(patched));
  return true;
}

} // namespace openmps
