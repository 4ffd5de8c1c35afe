// SPDX-License-Identifier: Apache-2.0
#include "ops/copy/copy.h"
#include "ops/copy/kernel.h"
#include "ops/host/move_reference.h"
#include "ops/host/movement.h"
#include "ops/host/references.h"
#include "ops/op.h"

namespace cormorant::ops {
namespace {

// What self holds from now on: src, repeated where it is smaller.
std::vector<ir::Value*> import_copy(Importer& importer) {
  const ir::Value* self = importer.call->tensor("self");
  ir::Value* src = importer.call->tensor("src");
  if (src->type.dtype != self->type.dtype) {
    importer.reject(std::string("copies ") + name_of(src->type.dtype) + " to a tensor of " + name_of(self->type.dtype),
                    "give both the same element type");
  }
  return {Mover(importer).expand(src, self->type.shape)};
}

}  // namespace

Operator copy_operator() {
  return {.name = "copy",
          .forms = {{"copy.default(Tensor self, Tensor src, bool non_blocking=False)", import_copy},
                    {"copy_.default(Tensor(a!) self, Tensor src, bool non_blocking=False)", import_copy}}};
}

CORMORANT_REFERENCES(copy, CORMORANT_COPY_KERNELS)

}  // namespace cormorant::ops
