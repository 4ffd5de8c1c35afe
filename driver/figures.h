// SPDX-License-Identifier: Apache-2.0
//
// What is known of a program, for --json and for reports.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "compiler/compile.h"
#include "driver/goal.h"
#include "program/firmware_table.h"

namespace cormorant::driver {

// What --json prints, without the explanation.
nlohmann::ordered_json figures_of(const compiler::Compiled& compiled, const compiler::Options& options,
                                  const Firmware& firmware, bool measured, const std::optional<Goal>& goal);

// Extra cycles in percent of what layer by layer takes.
double percent_more(const compiler::RowsFacts& rows, std::int64_t extra);

// SQNR per output, on calibration data; null without noise.
nlohmann::json output_db_json(const compiler::Facts& facts);
// The worst output's; none where nothing was compared, or nothing differs.
std::optional<double> worst_db(const compiler::Facts& facts);
// What was compared: "dB for the output, over 8 of these samples", or steps of sequences that have so many.
std::string compared_text(const compiler::Comparison& comparison, std::size_t steps);
std::string comparison_text(const compiler::Facts& facts, std::size_t steps);

}  // namespace cormorant::driver
