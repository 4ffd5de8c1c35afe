// SPDX-License-Identifier: Apache-2.0
//
// Any bytes give an archive or an InputError. Half the inputs are taken for a whole file; the others for the JSON of a
// model, wrapped into a good archive, because chance would hardly keep a zip's directory whole while it changes the
// rest.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/diagnostic.h"
#include "formats/pt2/archive.h"
#include "formats/pt2/source.h"
#include "formats/pt2/zip_builder.h"

using namespace cormorant;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  if (!text.starts_with("PK")) {
    // The first half of the text up to a zero byte is the graph, the rest the description of the weights.
    const std::size_t middle = std::min(text.find('\0'), text.size());
    const std::string weights = middle < text.size() ? text.substr(middle + 1) : R"({"config": {}})";
    text = pt2::build_zip({{.name = "m/archive_format", .content = "pt2"},
                           {.name = "m/models/model.json", .content = text.substr(0, middle)},
                           {.name = "m/data/weights/model_weights_config.json", .content = weights},
                           {.name = "m/data/weights/weight_0", .content = std::string(64, 'w')},
                           {.name = "m/data/weights/weight_1", .content = std::string(16, 'v')}});
  }
  const pt2::SharedBytes shared = pt2::share(std::move(text));
  try {
    const pt2::Archive archive = pt2::parse(shared.bytes, shared.owner, "fuzz.pt2", {.verify_checksums = false});
    for (const pt2::Program& program : archive.programs) {
      for (const auto& [name, tensor] : program.weights) static_cast<void>(pt2::contiguous(tensor));
      for (const auto& [name, tensor] : program.constants) static_cast<void>(pt2::contiguous(tensor));
      for (const pt2::Node& node : program.graph.nodes) static_cast<void>(pt2::source_of(node));
    }
  } catch (const InputError&) {  // the expected answer to most inputs
  }
  return 0;
}
