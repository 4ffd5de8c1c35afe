// SPDX-License-Identifier: Apache-2.0
//
// `compile --report FILE.html`: one self-contained page on what a program needs of a device (flash, RAM, every
// buffer of the arena over time) and what every layer costs and was compiled to. It shows what compile knows
// anyway; its figures are those of --json. The same compilation gives the same bytes, except for the one line of
// seconds.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/diagnostic.h"
#include "compiler/compile.h"
#include "program/budget.h"
#include "program/firmware_table.h"
#include "report/html.h"

namespace cormorant {

struct Report {
  std::string model;                                          // as the user names it
  std::vector<std::pair<std::string, std::string>> settings;  // how it was compiled
  const compiler::Compiled& compiled;
  const Firmware& firmware;
  bool measured = false;  // the firmware was executed: its steps have instructions and cycles
  Budget budget;
  std::optional<Diagnostic> over_budget;
  const nlohmann::ordered_json& figures;      // what --json prints
  const nlohmann::ordered_json& explanation;  // what --explain adds to it
};

std::string report_page(const Report& report);

// Its larger sections, each with its heading.
void write_sizes(Html& html, const Report& report);         // flash and RAM
void write_layers(Html& html, const Report& report);        // what every step of the program costs
void write_quantization(Html& html, const Report& report);  // what became of every node of the model

void write_contract(Html& html, const Report& report);  // inputs and outputs as firmware sees them
void write_network(Html& html);                         // the graph that the script draws
void write_comparison(Html& html);                      // with another report
void write_script(Html& html, const Report& report, std::string_view script);  // with the facts that it shows

struct Column {
  std::string_view name;
  bool is_number = false;
};
bool has_rows(const compiler::Facts& facts);  // steps that are computed by rows
void write_headings(Html& html, const std::vector<Column>& columns);
void write_number(Html& html, std::uint64_t number);
// A part of a whole, with a bar that is as long as possible for the largest such part.
void write_share(Html& html, double share, double largest = 1);

}  // namespace cormorant
