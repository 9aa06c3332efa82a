// DispatchStubImpl::try_get_call_ptr has its MPS case compiled out of builds for other systems than
// macOS: it asserts instead of reporting that there is no kernel. The function is exported and
// called through the PLT inside libtorch_cpu, so every GOT slot of it is pointed to a wrapper with
// the original behavior: use mps_dispatch_ptr, or report MissingDeviceKernel.
#include "DispatchStubPatch.h"

#include <ATen/native/DispatchStub.h>

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string_view>

namespace openmps {

namespace {

using at::native::DispatchResult;
using at::native::DispatchStubImpl;
using at::native::ErrorType;

// The real function takes one pointer per CPU capability of the build; four covers every
// architecture, and further register arguments pass through untouched.
using TryGetCallPtr =
    DispatchResult (*)(DispatchStubImpl*, c10::DeviceType, void*, void*, void*, void*);

constexpr std::string_view kSymbolPrefix =
    "_ZN2at6native16DispatchStubImpl16try_get_call_ptr";

TryGetCallPtr original = nullptr;
int patched_slots = 0;

DispatchResult tryGetCallPtr(
    DispatchStubImpl* self, c10::DeviceType device, void* a, void* b, void* c, void* d) {
  if (C10_UNLIKELY(device == c10::DeviceType::MPS)) {
    return self->mps_dispatch_ptr != nullptr ? DispatchResult(self->mps_dispatch_ptr)
                                             : DispatchResult(ErrorType::MissingDeviceKernel);
  }
  return original(self, device, a, b, c, d);
}

// The dynamic section's tables of one loaded library.
struct DynamicTables {
  const ElfW(Sym)* symbols = nullptr;
  const char* strings = nullptr;
  const ElfW(Rela)* relocations[2] = {nullptr, nullptr}; // .rela.plt, .rela.dyn
  size_t relocation_bytes[2] = {0, 0};
};

DynamicTables readTables(const dl_phdr_info& library) {
  DynamicTables tables;
  for (int index = 0; index < library.dlpi_phnum; ++index) {
    const auto& header = library.dlpi_phdr[index];
    if (header.p_type != PT_DYNAMIC) {
      continue;
    }
    const auto* entry = reinterpret_cast<const ElfW(Dyn)*>(library.dlpi_addr + header.p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      const auto address = entry->d_un.d_ptr; // glibc has relocated these
      switch (entry->d_tag) {
        case DT_SYMTAB:
          tables.symbols = reinterpret_cast<const ElfW(Sym)*>(address);
          break;
        case DT_STRTAB:
          tables.strings = reinterpret_cast<const char*>(address);
          break;
        case DT_JMPREL:
          tables.relocations[0] = reinterpret_cast<const ElfW(Rela)*>(address);
          break;
        case DT_PLTRELSZ:
          tables.relocation_bytes[0] = entry->d_un.d_val;
          break;
        case DT_RELA:
          tables.relocations[1] = reinterpret_cast<const ElfW(Rela)*>(address);
          break;
        case DT_RELASZ:
          tables.relocation_bytes[1] = entry->d_un.d_val;
          break;
        default:
          break;
      }
    }
  }
  return tables;
}

bool findOriginal(const char* library, const char* symbol) {
  if (original == nullptr) {
    void* handle = dlopen(library, RTLD_NOLOAD | RTLD_LAZY);
    void* address = handle != nullptr ? dlsym(handle, symbol) : nullptr;
    std::memcpy(&original, &address, sizeof(address));
  }
  return original != nullptr;
}

void patchSlot(void** slot) {
  const auto page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  void* page = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(slot) & ~(page_bytes - 1));
  // Full RELRO would have made the page read-only.
  if (mprotect(page, page_bytes, PROT_READ | PROT_WRITE) == 0) {
    const auto replacement = &tryGetCallPtr;
    std::memcpy(slot, &replacement, sizeof(replacement));
    ++patched_slots;
  }
}

int patchLibrary(dl_phdr_info* library, size_t, void*) {
  if (library->dlpi_name == nullptr || std::strstr(library->dlpi_name, "libtorch") == nullptr) {
    return 0;
  }
  const auto tables = readTables(*library);
  if (tables.symbols == nullptr || tables.strings == nullptr) {
    return 0;
  }
  for (int table = 0; table < 2; ++table) {
    const auto* relocations = tables.relocations[table];
    const size_t count =
        relocations != nullptr ? tables.relocation_bytes[table] / sizeof(ElfW(Rela)) : 0;
    for (size_t index = 0; index < count; ++index) {
      const auto symbol = ELF64_R_SYM(relocations[index].r_info);
      if (symbol == 0) {
        continue;
      }
      const char* name = tables.strings + tables.symbols[symbol].st_name;
      if (std::strncmp(name, kSymbolPrefix.data(), kSymbolPrefix.size()) == 0 &&
          findOriginal(library->dlpi_name, name)) {
        patchSlot(reinterpret_cast<void**>(library->dlpi_addr + relocations[index].r_offset));
      }
    }
  }
  return 0;
}

} // namespace

int patchDispatchStub() {
  dl_iterate_phdr(&patchLibrary, nullptr);
  return patched_slots;
}

} // namespace openmps
