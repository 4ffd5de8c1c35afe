// SPDX-License-Identifier: Apache-2.0
//
// The host's error vocabulary: who is at fault decides the type (and the exit status), and the message names the file,
// the node, what is wrong and what to do. Host only; target code returns base/result.h's Error.
#pragma once

#include <stdexcept>
#include <string>

namespace cormorant {

struct Diagnostic {
  std::string problem;      // what is wrong, one sentence without a final full stop
  std::string advice;       // what to do about it; may be empty
  std::string file = {};    // the file at fault; filled in by the caller that knows it
  std::string node = {};    // the node or tensor at fault
  std::string source = {};  // the user's module path and source line, "blocks.2.conv (kws.py:14)"

  // model.pt2: node 'conv2d_3', blocks.2.conv (kws.py:14): PROBLEM
  //   ADVICE
  [[nodiscard]] std::string text() const;
};

// The model or the data is at fault: exit status 1.
class InputError : public std::runtime_error {
 public:
  explicit InputError(Diagnostic diagnostic);
  [[nodiscard]] const Diagnostic& diagnostic() const { return diagnostic_; }

 private:
  Diagnostic diagnostic_;
};

// The command line is at fault: exit status 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Anything else that is thrown is a bug of ours: exit status 3.

}  // namespace cormorant
