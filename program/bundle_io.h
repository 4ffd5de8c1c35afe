// SPDX-License-Identifier: Apache-2.0
//
// Bundled programs as the command line writes and checks them: a program with its own test.
#pragma once

#include <string>
#include <vector>

#include "formats/npy/data_set.h"
#include "formats/pte/bundle.h"
#include "program/program_io.h"

namespace cormorant {

// Throws InputError that names the file.
pte::Bundle read_bundle(const std::string& path, const std::string& method = {});

// A test case per sample of `data`: inputs by the rules of sample_arrays(), expected outputs from y (y0, y1, … where
// there are several), or where the data has none, what the reference kernels compute.
pte::Bundle make_bundle(const ProgramFile& program, const npy::DataSet& data);

// The same with one case of seeded random inputs.
pte::Bundle make_random_bundle(const ProgramFile& program);

// The inputs of every test case, in logical order, for execute().
std::vector<Arrays> bundled_inputs(const pte::Bundle& bundle, const std::string& file);

// Floats are as expected when they differ by at most absolute + relative · |expected|, by default what ExecuTorch's Arm
// runner allows; integers when they are equal.
struct Tolerance {
  double relative = 0.01;
  double absolute = 0.01;
};

struct BundleCheck {
  bool passed = true;
  std::string worst;  // a description of the largest deviation from the expected outputs; empty if all are equal
};

BundleCheck check_outputs(const pte::Bundle& bundle, const std::vector<Arrays>& outputs, const Tolerance& tolerance,
                          const std::string& file);

}  // namespace cormorant
