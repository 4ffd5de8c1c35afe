// SPDX-License-Identifier: Apache-2.0
#include "quantizer/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace cormorant::quantizer {

std::size_t thread_count(std::size_t wanted, std::size_t work) {
  const std::size_t cores = std::max<std::size_t>(std::thread::hardware_concurrency(), 1);
  return std::clamp<std::size_t>(wanted == 0 ? cores : wanted, 1, std::max<std::size_t>(work, 1));
}

void parallel_for(std::size_t count, std::size_t threads, const std::function<void(std::size_t, std::size_t)>& body) {
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> failed = false;
  std::mutex mutex;
  std::size_t failed_at = count;
  std::exception_ptr failure;
  const auto work = [&](std::size_t thread) {
    while (!failed) {
      const std::size_t index = next++;
      if (index >= count) return;
      try {
        body(index, thread);
      } catch (...) {
        const std::scoped_lock lock(mutex);
        failed = true;
        if (index < failed_at) {
          failed_at = index;
          failure = std::current_exception();
        }
      }
    }
  };
  std::vector<std::thread> pool;
  for (std::size_t t = 1; t < threads; ++t) pool.emplace_back(work, t);
  work(0);  // the caller's thread is one of them
  for (std::thread& thread : pool) thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace cormorant::quantizer
