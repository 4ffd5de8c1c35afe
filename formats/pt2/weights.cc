// SPDX-License-Identifier: Apache-2.0
//
// Weights and constants: a JSON file per kind says which entry holds each tensor's storage and how the tensor is laid
// out in it. Nothing is copied here.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <stdexcept>
#include <utility>

#include "base/diagnostic.h"
#include "formats/pt2/parse.h"
#include "formats/pt2/recognize.h"

namespace cormorant::pt2 {
namespace {

// Views may be larger than their storage (expand). A few bytes must not become terabytes, though.
constexpr std::uint64_t kMaxExpandedBytes = 64U << 20U;

class Loader {
 public:
  Loader(Zip& zip, ParseContext context, std::string folder)
      : zip_(zip), context_(std::move(context)), folder_(std::move(folder)) {}

  void load(const std::string& config, TensorDataMap& tensors) {
    const SharedBytes content = zip_.read(config);
    const JsonDocument document(content.text(), {.file = context_.file, .entry = config});
    for (const auto& [name, payload] : document.root()["config"].members()) {
      if (payload["use_pickle"].boolean()) {
        pickled_.insert(std::string(name));
      } else if (!tensors.emplace(std::string(name), load_tensor(std::string(name), payload)).second) {
        payload.fail(fmt::format("'{}' is described twice", name));
      }
    }
  }

  [[nodiscard]] bool is_pickled(const std::string& name) const { return pickled_.contains(name); }

 private:
  [[noreturn]] void fail(const std::string& name, std::string problem, std::string advice) const {
    throw InputError({.problem = std::move(problem), .advice = std::move(advice), .file = context_.file, .node = name});
  }

  TensorData load_tensor(const std::string& name, const Json& payload) {
    TensorData tensor;
    tensor.is_parameter = payload["is_param"].boolean();
    tensor.meta = parse_tensor_meta(payload["tensor_meta"], name, context_);
    const SharedBytes& storage = load_storage(name, payload["path_name"].string());
    tensor.storage = storage.bytes;
    tensor.owner = storage.owner;
    check_size(name, tensor);
    return tensor;
  }

  const SharedBytes& load_storage(const std::string& name, const std::string& path) {
    const auto known = storages_.find(path);
    if (known != storages_.end()) return known->second;
    const std::string entry = folder_ + path;
    if (!zip_.contains(entry)) {
      fail(name, fmt::format("its data is missing from the archive: there is no entry {}", entry), kHowToExport);
    }
    return storages_.emplace(path, zip_.read(entry)).first->second;
  }

  // Other views are copied; those of one storage may together be larger than it, too.
  void count_copy(const TensorData& tensor, std::uint64_t dense) {
    std::uint64_t& copied = copied_[tensor.storage.data()];
    const auto beyond = [&] { return copied > tensor.storage.size() ? copied - tensor.storage.size() : 0; };
    const std::uint64_t before = beyond();
    copied += dense;
    expanded_bytes_ += beyond() - before;
  }

  void check_size(const std::string& name, const TensorData& tensor) {
    const TensorMeta& meta = tensor.meta;
    const std::size_t dense = byte_count(meta);
    if (dense == 0) return;
    std::int64_t last = meta.storage_offset;
    for (std::size_t i = 0; i < meta.sizes.size(); ++i) last += (meta.sizes[i] - 1) * meta.strides[i];
    const std::size_t needed = (static_cast<std::size_t>(last) + 1) * size_of(meta.dtype);
    if (tensor.storage.empty()) {
      fail(name, fmt::format("its data is empty, but its sizes need {} bytes", needed),
           "the model was exported from fake tensors, without values: load the weights before torch.export.export");
    }
    if (needed > tensor.storage.size()) {
      fail(name, fmt::format("its sizes and strides need {} bytes, but its data has {}", needed, tensor.storage.size()),
           "the archive is damaged: save the model again with torch.export.save");
    }
    if (!is_contiguous(meta)) count_copy(tensor, dense);
    if (expanded_bytes_ > kMaxExpandedBytes) {
      fail(name,
           dense > tensor.storage.size()
               ? fmt::format("it expands {} bytes of data to {}", tensor.storage.size(), dense)
               : fmt::format("it is one of so many copies of {} bytes of data that these expand to more than {} MiB",
                             tensor.storage.size(), kMaxExpandedBytes >> 20U),
           "let forward expand such tensors instead of storing them expanded");
    }
  }

  Zip& zip_;
  ParseContext context_;
  std::string folder_;
  std::map<std::string, SharedBytes> storages_;
  std::set<std::string> pickled_;
  std::map<const std::byte*, std::uint64_t> copied_;  // by storage
  std::uint64_t expanded_bytes_ = 0;
};

// Walks all elements in C order and copies each; `index` counts like an odometer.
template <std::size_t element_bytes>
void gather(const TensorMeta& meta, const std::byte* source, std::vector<std::byte>& result) {
  const std::size_t rank = meta.sizes.size();
  std::vector<std::int64_t> index(rank, 0);
  std::int64_t from = 0;
  for (std::size_t to = 0; to < result.size(); to += element_bytes) {
    std::memcpy(&result[to], source + static_cast<std::size_t>(from) * element_bytes, element_bytes);
    for (std::size_t d = rank; d-- > 0;) {
      from += meta.strides[d];
      if (++index[d] < meta.sizes[d]) break;
      from -= meta.strides[d] * meta.sizes[d];
      index[d] = 0;
    }
  }
}

}  // namespace

void load_weights(Program& program, Zip& zip, const std::string& root, const std::string& file) {
  const std::string weights_folder = root + "data/weights/";
  const std::string weights_config = weights_folder + program.name + "_weights_config.json";
  if (zip.contains(weights_folder + program.name + ".pt")) {
    throw InputError(
        {.problem = fmt::format("the weights are a pickle, as PyTorch {} writes them, and pickles are never "
                                "loaded",
                                program.torch_version.empty() ? "2.8" : program.torch_version),
         .advice = kHowToExport,
         .file = file});
  }
  if (!zip.contains(weights_config)) {
    throw InputError({.problem = fmt::format("the weights are missing: there is no entry {}", weights_config),
                      .advice = kHowToExport,
                      .file = file});
  }
  const ParseContext context{.file = file, .torch_version = program.torch_version, .ranges = {}};
  Loader weights(zip, context, weights_folder);
  weights.load(weights_config, program.weights);

  Loader constants(zip, context, root + "data/constants/");
  const std::string constants_config = root + "data/constants/" + program.name + "_constants_config.json";
  if (zip.contains(constants_config)) constants.load(constants_config, program.constants);

  for (const InputSpec& input : program.inputs) {
    if (!weights.is_pickled(input.target) && !constants.is_pickled(input.target)) continue;
    throw InputError({.problem = "its value is stored as a pickle (a tensor subclass or a custom object), and pickles "
                                 "are never loaded",
                      .advice = "replace it with a plain tensor before torch.export.export",
                      .file = file,
                      .node = input.target});
  }
}

std::size_t byte_count(const TensorMeta& meta) {
  std::size_t bytes = size_of(meta.dtype);
  for (const std::int64_t size : meta.sizes) bytes *= static_cast<std::size_t>(size);
  return bytes;
}

bool is_contiguous(const TensorMeta& meta) {
  if (byte_count(meta) == 0) return true;
  std::int64_t expected = 1;
  for (std::size_t d = meta.sizes.size(); d-- > 0;) {
    if (meta.sizes[d] != 1 && meta.strides[d] != expected) return false;  // the stride of a size 1 is never used
    expected *= meta.sizes[d];
  }
  return true;
}

std::span<const std::byte> contiguous_view(const TensorData& tensor) {
  if (!is_contiguous(tensor.meta)) throw std::logic_error("contiguous_view: the tensor is not contiguous");
  const std::size_t bytes = byte_count(tensor.meta);
  if (bytes == 0) return {};
  return tensor.storage.subspan(static_cast<std::size_t>(tensor.meta.storage_offset) * size_of(tensor.meta.dtype),
                                bytes);
}

std::vector<std::byte> contiguous(const TensorData& tensor) {
  if (is_contiguous(tensor.meta)) {
    const std::span<const std::byte> view = contiguous_view(tensor);
    return {view.begin(), view.end()};
  }
  std::vector<std::byte> result(byte_count(tensor.meta));
  const std::size_t element = size_of(tensor.meta.dtype);
  const std::byte* source = &tensor.storage[static_cast<std::size_t>(tensor.meta.storage_offset) * element];
  if (element == 1) gather<1>(tensor.meta, source, result);
  if (element == 2) gather<2>(tensor.meta, source, result);
  if (element == 4) gather<4>(tensor.meta, source, result);
  if (element == 8) gather<8>(tensor.meta, source, result);
  return result;
}

}  // namespace cormorant::pt2
