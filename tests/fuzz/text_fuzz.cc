// SPDX-License-Identifier: Apache-2.0
//
// Any text is a graph or an InputError; any graph compiles, in every way, to a program, or is refused. Corpus:
// compiler/testdata/texts, written by --intermediates. The first byte chooses the way.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/diagnostic.h"
#include "compiler/compile.h"
#include "compiler/import.h"
#include "compiler/ways.h"
#include "program/program_io.h"

using namespace cormorant;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static const ir::Bytes blob = ir::Bytes::own(std::vector<std::byte>(16384, std::byte{0x3c}));
  try {
    ir::Graph graph = compiler::import_text({reinterpret_cast<const char*>(data) + 1, size - 1}, "fuzz.txt", blob);
    const compiler::Options options = compiler::options_of(compiler::some_way(data[0]));
    check_program_operators(graph, options.config, "fuzz.txt");
    if (options.quantize) require_operators_to_quantize(graph, "fuzz.txt");
    static_cast<void>(compiler::compile(graph, options));
  } catch (const InputError&) {      // the expected answer to most inputs
  } catch (const std::bad_alloc&) {  // expected of sizes that no machine has
  }
  return 0;
}
