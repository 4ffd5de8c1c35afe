// SPDX-License-Identifier: Apache-2.0
#include "ops/host/pool_import.h"

#include "ops/host/advice.h"
#include "ops/nodes.h"

namespace cormorant::ops {
namespace {

ir::Value* view(Importer& importer, ir::Value* value, const ir::Shape& size) {
  if (value->type.shape == size) return value;
  return importer.node(nodes::aten_view, {{"self", value}, {"size", size}}, {ir::float_type(size)})->result();
}

}  // namespace

ir::Shape as_images(const ir::Shape& shape, std::size_t dimensions) {
  ir::Shape images = shape;
  if (images.size() == dimensions + 1) images.insert(images.begin(), 1);
  if (dimensions == 1) images.insert(images.begin() + 2, 1);
  return images;
}

std::vector<std::int64_t> for_images(std::vector<std::int64_t> list, std::size_t dimensions, std::int64_t of_missing) {
  if (list.size() == 1) list.resize(dimensions, list[0]);
  if (dimensions == 1) list.insert(list.begin(), of_missing);
  return list;
}

void require_images(Importer& importer, std::size_t dimensions) {
  const std::size_t rank = importer.call->tensor("self")->type.rank();
  if (rank != dimensions + 1 && rank != dimensions + 2) {
    importer.reject("pooling of a tensor with " + std::to_string(rank) + " dimensions", "");
  }
  if (importer.types.at(0).rank() != rank) {
    importer.reject("pooling changes the number of dimensions", kInconsistent);
  }
}

ir::Value* make_pool(Importer& importer, std::size_t dimensions, const char* op, std::vector<ir::NamedArgument> args) {
  ir::Value* self = importer.call->tensor("self");
  const ir::Shape& result = importer.types.at(0).shape;
  args.insert(args.begin(), {"self", view(importer, self, as_images(self->type.shape, dimensions))});
  ir::Value* pooled = importer.node(op, std::move(args), {ir::float_type(as_images(result, dimensions))})->result();
  return view(importer, pooled, result);
}

}  // namespace cormorant::ops
