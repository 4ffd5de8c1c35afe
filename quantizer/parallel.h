// SPDX-License-Identifier: Apache-2.0
//
// Independent pieces of work over all cores.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <string_view>

#include "base/progress.h"

namespace cormorant::quantizer {

// Threads that parallel_for would use: `wanted`, or one per core for 0, but never more than there is work.
[[nodiscard]] std::size_t thread_count(std::size_t wanted, std::size_t work);

// Calls body(index, thread) once for every index in [0, count), thread in [0, threads). After an exception no new index
// is started; of those thrown, the one with the lowest index comes out here.
void parallel_for(std::size_t count, std::size_t threads, const std::function<void(std::size_t, std::size_t)>& body);

// Progress of work that several threads do.
class SharedProgress {
 public:
  // Tells that nothing is done yet. `progress` and `task` must outlive it.
  SharedProgress(const Progress& progress, std::string_view task, std::size_t total);
  void one_done();

 private:
  const Progress& progress_;
  const std::string_view task_;
  const std::size_t total_;
  std::mutex mutex_;
  std::size_t done_ = 0;
};

}  // namespace cormorant::quantizer
