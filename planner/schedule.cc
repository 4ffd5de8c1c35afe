// SPDX-License-Identifier: Apache-2.0
#include "planner/schedule.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

namespace cormorant::planner {
namespace {

using Set = std::vector<std::uint64_t>;  // of tasks, a bit each

bool contains(const Set& set, std::uint32_t i) { return (set[i / 64] >> (i % 64) & 1U) != 0; }
void insert(Set& set, std::uint32_t i) { set[i / 64] |= std::uint64_t{1} << (i % 64); }

// A number for each task; a set's hash is the exclusive or of its tasks' numbers.
std::uint64_t number_of(std::uint32_t task) {
  std::uint64_t x = (task + 1) * 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30U) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27U) * 0x94d049bb133111eb;
  return x ^ x >> 31U;
}

class Model {
 public:
  Model(std::span<const Task> tasks, std::span<const Buffer> buffers)
      : tasks_(tasks),
        buffers_(buffers),
        reads_(tasks.size()),
        readers_(buffers.size()),
        before_(tasks.size()),
        after_(tasks.size()) {
    constexpr std::uint32_t kNobody = ~std::uint32_t{0};
    std::vector<std::uint32_t> writer(buffers.size(), kNobody);
    std::unordered_map<std::uint32_t, std::uint32_t> last_of;
    const auto depends = [&](std::uint32_t task, std::uint32_t on) {
      before_[task].push_back(on);
      after_[on].push_back(task);
    };
    for (std::uint32_t t = 0; t < tasks.size(); ++t) {
      reads_[t] = unique(tasks[t].reads);
      for (const std::uint32_t b : reads_[t]) {
        readers_[b].push_back(t);
        if (writer[b] != kNobody) depends(t, writer[b]);
      }
      for (const std::uint32_t b : tasks[t].writes) writer[b] = t;
      if (tasks[t].keeps_order == 0) continue;
      const auto [last, is_first] = last_of.try_emplace(tasks[t].keeps_order, t);
      if (!is_first) depends(t, last->second);
      last->second = t;
    }
  }

  [[nodiscard]] std::uint64_t at_start() const {
    std::uint64_t live = 0;
    for (const Buffer& buffer : buffers_) live += buffer.is_input ? buffer.size : 0;
    return live;
  }
  [[nodiscard]] bool is_ready(const Set& done, std::uint32_t task) const {
    return !contains(done, task) && std::ranges::all_of(before_[task], [&](auto t) { return contains(done, t); });
  }
  [[nodiscard]] const std::vector<std::uint32_t>& after(std::uint32_t task) const { return after_[task]; }
  [[nodiscard]] bool has_nothing_before(std::uint32_t task) const { return before_[task].empty(); }

  // Bytes alive while the task runs, and after it.
  struct Bytes {
    std::uint64_t during, after;
  };
  [[nodiscard]] Bytes run(const Set& done, std::uint64_t live, std::uint32_t task) const {
    const Task& t = tasks_[task];
    for (const std::uint32_t b : t.writes) live += buffers_[b].size;
    std::uint64_t saving = 0, dead = 0;
    for (const Task::Saving& s : t.savings) {
      if (dies(done, s.buffer, task)) saving = std::max(saving, s.bytes);
    }
    for (const std::uint32_t b : reads_[task]) dead += dies(done, b, task) ? buffers_[b].size : 0;
    for (const std::uint32_t b : t.writes) {
      if (readers_[b].empty() && !buffers_[b].is_output) dead += buffers_[b].size;
    }
    return {live + t.scratch - saving, live - dead};
  }

 private:
  static std::vector<std::uint32_t> unique(std::vector<std::uint32_t> list) {
    std::ranges::sort(list);
    list.erase(std::unique(list.begin(), list.end()), list.end());
    return list;
  }
  [[nodiscard]] bool dies(const Set& done, std::uint32_t buffer, std::uint32_t task) const {
    return !buffers_[buffer].is_output &&
           std::ranges::all_of(readers_[buffer], [&](auto reader) { return reader == task || contains(done, reader); });
  }

  std::span<const Task> tasks_;
  std::span<const Buffer> buffers_;
  std::vector<std::vector<std::uint32_t>> reads_, readers_, before_, after_;
};

struct State {
  Set done;
  std::uint64_t hash = 0, live = 0, peak = 0;
  std::vector<std::uint32_t> ready;
  std::uint32_t history = 0;  // index of the last task's entry
};
struct Entry {
  std::uint32_t before, task;
};
// One task more: what a state would become. Most are dropped, so a state is made only of those that are kept.
struct Step {
  std::uint64_t peak, live, hash;
  std::uint32_t from, task;
};

State after(const Model& model, const State& state, const Step& step, std::uint32_t history) {
  State then{state.done, step.hash, step.live, step.peak, {}, history};
  insert(then.done, step.task);
  then.ready.reserve(state.ready.size() + model.after(step.task).size());
  for (const std::uint32_t t : state.ready) {
    if (t != step.task) then.ready.push_back(t);
  }
  for (const std::uint32_t t : model.after(step.task)) {
    if (model.is_ready(then.done, t) && std::ranges::find(then.ready, t) == then.ready.end()) then.ready.push_back(t);
  }
  std::ranges::sort(then.ready);
  return then;
}

std::uint64_t peak_of(const Model& model, std::size_t count, std::span<const std::uint32_t> order) {
  Set done((count + 63) / 64, 0);
  std::uint64_t live = model.at_start(), peak = live;
  for (const std::uint32_t task : order) {
    const Model::Bytes bytes = model.run(done, live, task);
    peak = std::max(peak, bytes.during);
    live = bytes.after;
    insert(done, task);
  }
  return peak;
}

}  // namespace

std::uint64_t peak_of(std::span<const Task> tasks, std::span<const Buffer> buffers,
                      std::span<const std::uint32_t> order) {
  return peak_of(Model(tasks, buffers), tasks.size(), order);
}

std::vector<std::uint32_t> schedule(std::span<const Task> tasks, std::span<const Buffer> buffers, std::size_t width) {
  const Model model(tasks, buffers);
  const auto count = static_cast<std::uint32_t>(tasks.size());
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  const std::uint64_t given = peak_of(model, count, order);
  // A state records for every task whether it is done: too much for networks too large for any microcontroller.
  constexpr std::uint32_t kMostTasks = 8192;
  if (count > kMostTasks) return order;

  std::vector<Entry> history = {{0, 0}};
  State start{Set((count + 63) / 64, 0), 0, model.at_start(), model.at_start(), {}, 0};
  for (std::uint32_t t = 0; t < count; ++t) {
    if (model.has_nothing_before(t)) start.ready.push_back(t);
  }
  std::vector<State> level = {std::move(start)};
  std::vector<Step> steps;
  for (std::uint32_t depth = 0; depth < count; ++depth) {
    steps.clear();
    for (std::uint32_t from = 0; from < level.size(); ++from) {
      const State& state = level[from];
      for (const std::uint32_t task : state.ready) {
        const Model::Bytes bytes = model.run(state.done, state.live, task);
        const std::uint64_t peak = std::max(state.peak, bytes.during);
        if (peak >= given) continue;  // nothing to gain
        steps.push_back({peak, bytes.after, state.hash ^ number_of(task), from, task});
      }
    }
    if (steps.empty()) return order;  // every other order is as bad
    std::ranges::sort(steps, {}, [](const Step& s) { return std::tuple(s.peak, s.live, s.from, s.task); });
    std::vector<State> next;
    next.reserve(std::min(width, steps.size()));
    std::unordered_set<std::uint64_t> known;
    for (const Step& step : steps) {
      if (next.size() == width) break;
      if (!known.insert(step.hash).second) continue;  // the same set, reached with a smaller peak
      history.push_back({level[step.from].history, step.task});
      next.push_back(after(model, level[step.from], step, static_cast<std::uint32_t>(history.size() - 1)));
    }
    level = std::move(next);
  }
  std::uint32_t at = std::ranges::min_element(level, {}, &State::peak)->history;
  for (std::uint32_t i = count; i-- > 0; at = history[at].before) order[i] = history[at].task;
  return order;
}

}  // namespace cormorant::planner
