// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a program that is compiled again: a program, or an InputError. How it is compiled depends on the file's
// length; it is not quantized, as no program can be. Seeds are in seeds/.
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

#include "base/diagnostic.h"
#include "compiler/compile.h"
#include "compiler/import.h"
#include "compiler/ways.h"
#include "program/program_io.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cormorant;
  try {
    ir::Graph graph = compiler::import_pte(std::as_bytes(std::span(data, size)), "fuzz.pte");
    compiler::Options options = compiler::options_of(compiler::some_way(size / 16));
    options.quantize = false;
    options.bits.reset();
    check_program_operators(graph, options.config, "fuzz.pte");
    static_cast<void>(compiler::compile(graph, options));
  } catch (const InputError&) {  // the expected answer to most inputs
  } catch (const std::bad_alloc&) {
  }
  return 0;
}
