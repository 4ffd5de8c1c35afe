// SPDX-License-Identifier: Apache-2.0
#include "formats/pte/method_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "base/diagnostic.h"
#include "base/suggest.h"
#include "formats/pte/reader.h"

namespace cormorant::pte {

std::vector<std::string> method_names(std::span<const std::byte> file) {
  struct alignas(16) Block {  // which the reader requires
    std::byte bytes[16];
  };
  std::vector<Block> copy((file.size() + sizeof(Block) - 1) / sizeof(Block));
  if (!file.empty()) std::memcpy(copy.data(), file.data(), file.size());
  std::vector<std::string> names;
  const auto program = ProgramView::open({reinterpret_cast<const std::byte*>(copy.data()), file.size()});
  for (std::uint32_t i = 0; program.ok() && i < program.value().method_count(); ++i) {
    const auto method = program.value().method(i);
    const auto name = method.ok() ? method.value().name() : Result<std::string_view>(method.error());
    if (name.ok()) names.emplace_back(name.value());
  }
  return names;
}

std::string choose_method(const std::vector<std::string>& methods, const std::string& wanted, const std::string& file) {
  const bool is_there = std::ranges::find(methods, wanted) != methods.end();
  if (is_there) return wanted;
  if (methods.empty()) return wanted.empty() ? "forward" : wanted;
  if (!wanted.empty()) {
    throw InputError({.problem = fmt::format("there is no method '{}'{}", wanted, did_you_mean(wanted, methods)),
                      .advice = fmt::format("the methods are {}", fmt::join(methods, ", ")),
                      .file = file});
  }
  if (methods.size() == 1) return methods.front();
  if (std::ranges::find(methods, "forward") != methods.end()) return "forward";
  throw InputError({.problem = fmt::format("it has {} methods: {}", methods.size(), fmt::join(methods, ", ")),
                    .advice = "choose one with --method",
                    .file = file});
}

}  // namespace cormorant::pte
