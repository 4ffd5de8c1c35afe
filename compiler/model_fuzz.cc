// SPDX-License-Identifier: Apache-2.0
//
// The JSON of an export, wrapped into a good archive with some weights: a program, or an InputError. Corpus:
// models.json out of formats/pt2/testdata/*.pt2. How it is compiled depends on the text's length, which the fuzzer
// changes, and seeds stay JSON.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/diagnostic.h"
#include "compiler/compile.h"
#include "compiler/import.h"
#include "compiler/ways.h"
#include "formats/pt2/zip_builder.h"

using namespace cormorant;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string json(reinterpret_cast<const char*>(data), size);
  const pt2::SharedBytes shared = pt2::share(
      pt2::build_zip({{.name = "m/archive_format", .content = "pt2"},
                      {.name = "m/models/model.json", .content = std::move(json)},
                      {.name = "m/data/weights/model_weights_config.json", .content = R"({"config": {}})"}}));
  try {
    const pt2::Archive archive = pt2::parse(shared.bytes, shared.owner, "fuzz.pt2", {.verify_checksums = false});
    for (const pt2::Program& program : archive.programs) {
      ir::Graph graph = compiler::import_program(program, "fuzz.pt2");
      static_cast<void>(compiler::compile(graph, compiler::options_of(compiler::some_way(size))));
    }
  } catch (const InputError&) {      // the expected answer to most inputs
  } catch (const std::bad_alloc&) {  // expected of sizes that no machine has
  }
  return 0;
}
