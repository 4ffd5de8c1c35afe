// SPDX-License-Identifier: Apache-2.0
//
// A data set, for --calibrate and --data. Two forms on disk become one in memory, arrays whose first axis
// counts samples:
//
//   FILE.npz         one array per model input, by the input's name (or x for a model with a single one), each with the
//                    samples along its first axis; labels or expected outputs are further arrays (y).
//   FILE.npy         the same with a single array, which is called x.
//   FOLDER           every *.npy in it is one sample of x; all have one shape and type. Files are taken in the bytewise
//                    order of their names (so sample_10 comes before sample_2: order decides only which sample is
//                    which, never a range). A model with several inputs has one subfolder per input instead, named as
//                    the input and holding equally many files; the n-th files belong together.
//
// For a model with several methods, arrays (or subfolders) are called METHOD.INPUT, and each method has its own
// samples.
//
// A sample may or may not carry the batch axis of 1 that the model's input has: x of shape (N, 1, 28, 28) or
// (N, 1, 1, 28, 28) both give N samples for an input (1, 1, 28, 28). Compare element counts, not ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "formats/npy/npy.h"

namespace cormorant::npy {

struct DataSet {
  std::string path;          // for diagnostics
  std::int64_t samples = 0;  // at least one; the first axis of every array
  NamedArrays arrays;
};

// With a method, only its arrays, if there are such, by their names without the method's; all, if no array has a
// method's name.
DataSet read_data_set(const std::string& path, const std::string& method = {});

// The bytes of sample `index` of an array of a data set.
std::span<const std::byte> sample(const Array& array, std::int64_t index);

// The elements in each of its samples.
std::int64_t sample_element_count(const Array& array);

}  // namespace cormorant::npy
