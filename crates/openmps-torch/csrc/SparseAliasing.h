// Sparse counterparts of the functions in Aliasing.h: COO and the compressed layouts, member
// tensor by member tensor.
#pragma once

#include "Aliasing.h"

namespace openmps {

at::Tensor sparseCpuAlias(const at::Tensor& tensor, AliasMap* map);
at::Tensor sparseAdopt(const at::Tensor& result, const AliasMap* map);
void sparseWriteBack(const at::Tensor& original, const at::Tensor& alias, const AliasMap& map);

} // namespace openmps
