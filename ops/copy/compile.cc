// SPDX-License-Identifier: Apache-2.0
#include "ops/copy/copy.h"
#include "ops/copy/reference.h"
#include "ops/op.h"

namespace cormorant::ops {

Operator copy_operator() {
  Operator op{.name = "copy",
              .forms = {},
              .canonical = {},
              .signatures = {signature_of<PlainCopy>(), signature_of<PlainCopy>(kDetachCopy),
                             signature_of<PlainCopy>(kLiftFreshCopy), signature_of<Clone>(), signature_of<ToCopy>(),
                             signature_of<DimOrderCopy>(), signature_of<DimOrderCopy>(kToDimOrderCopy),
                             signature_of<SqueezeCopy>(), signature_of<SqueezeCopy>(kSqueezeDimCopy),
                             signature_of<SqueezeDimsCopy>()},
              .host_kernels = {}};
  for (const Kernel& kernel : kCopyReferences) op.host_kernels.push_back(&kernel);
  return op;
}

}  // namespace cormorant::ops
