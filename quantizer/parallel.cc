// SPDX-License-Identifier: Apache-2.0
#include "quantizer/parallel.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>

namespace cormorant::quantizer {
namespace {

// Threads that wait for the next loop as long as the process lives: quantization consists of hundreds of short ones,
// and starting threads would take longer than most of them. One loop at a time.
class Workers {
 public:
  // Those of this process, which may be the child of one that has some.
  static Workers& ours() {
    static std::mutex mutex;
    static Workers* workers = nullptr;
    static pid_t process = 0;
    const std::scoped_lock lock(mutex);
    if (process != getpid()) {
      workers = new Workers;  // never deleted: its threads end with the process
      process = getpid();
    }
    return *workers;
  }

  // Calls work(0) on the caller's thread and work(1) … work(threads − 1) on others, or only work(0) while they are
  // busy.
  void run(std::size_t threads, const std::function<void(std::size_t)>& work) {
    if (busy_.test_and_set()) return work(0);
    {
      const std::scoped_lock lock(mutex_);
      for (; started_ + 1 < threads; ++started_) {
        std::thread([this, thread = started_ + 1, round = round_] { wait(thread, round); }).detach();
      }
      work_ = &work;
      wanted_ = running_ = threads - 1;
      ++round_;
    }
    begin_.notify_all();
    work(0);
    std::unique_lock lock(mutex_);
    end_.wait(lock, [this] { return running_ == 0; });
    busy_.clear();
  }

 private:
  void wait(std::size_t thread, std::uint64_t round) {
    std::unique_lock lock(mutex_);
    for (;;) {
      begin_.wait(lock, [&] { return round != round_ && thread <= wanted_; });
      round = round_;
      const std::function<void(std::size_t)>& work = *work_;
      lock.unlock();
      work(thread);
      lock.lock();
      if (--running_ == 0) end_.notify_one();
    }
  }

  std::atomic_flag busy_;  // there is a loop
  std::mutex mutex_;       // for all below
  std::condition_variable begin_, end_;
  const std::function<void(std::size_t)>* work_ = nullptr;
  std::size_t started_ = 0, wanted_ = 0, running_ = 0;
  std::uint64_t round_ = 0;
};

}  // namespace

std::size_t thread_count(std::size_t wanted, std::size_t work) {
  static const std::size_t cores = std::max<std::size_t>(std::thread::hardware_concurrency(), 1);
  return std::clamp<std::size_t>(wanted == 0 ? cores : wanted, 1, std::max<std::size_t>(work, 1));
}

void parallel_for(std::size_t count, std::size_t threads, const std::function<void(std::size_t, std::size_t)>& body) {
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> failed = false;
  std::mutex mutex;
  std::size_t failed_at = count;
  std::exception_ptr failure;
  const std::function<void(std::size_t)> work = [&](std::size_t thread) {
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
  if (threads <= 1 || count <= 1) {
    work(0);
  } else {
    Workers::ours().run(threads, work);
  }
  if (failure) std::rethrow_exception(failure);
}

SharedProgress::SharedProgress(const Progress& progress, std::string_view task, std::size_t total)
    : progress_(progress), task_(task), total_(total) {
  tell(progress_, task_, 0, total_);
}

void SharedProgress::one_done() {
  if (!progress_) return;
  const std::scoped_lock lock(mutex_);
  progress_(task_, ++done_, total_);
}

}  // namespace cormorant::quantizer
