// SPDX-License-Identifier: Apache-2.0
#include "runtime/feed.h"

#include "cormorant/cormorant.h"

namespace cormorant {

// A plan is in the state's memory, which only its kernel writes.
void execute_feed(const void* plan) {
  auto& feed = *const_cast<Feed*>(static_cast<const Feed*>(plan));  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  feed.advance(feed);
  ++feed.row;
  if (feed.row == feed.rows) feed.row = 0;
}

namespace {

// The step that takes the rows; the end if there is none. Inlined: see below.
[[gnu::always_inline]] inline const cormorant_step* find_feed(const cormorant_program& program) {
  const cormorant_step* step = program.steps;
  const cormorant_step* const end = step + program.step_count;
  while (step != end && step->execute != execute_feed) ++step;
  return step;
}

Feed& feed_of(const cormorant_step& step) {
  return *const_cast<Feed*>(static_cast<const Feed*>(step.plan));  // NOLINT(cppcoreguidelines-pro-type-const-cast)
}

}  // namespace
}  // namespace cormorant

// What does not depend on the image is computed before its first row, the rest after its last. This function calls all
// steps and nothing else, for profiles (runner/launcher.cc).
cormorant_error cormorant_push_rows(const cormorant_program* program, const void* rows, size_t count) {
  using namespace cormorant;
  const cormorant_step* const end = program->steps + program->step_count;
  const cormorant_step* const taker = find_feed(*program);
  if (taker == end) return CORMORANT_NOT_BY_ROWS;
  Feed& feed = feed_of(*taker);
  if (count > static_cast<size_t>(feed.rows - feed.row)) return CORMORANT_TOO_MANY_ROWS;
  feed.source = static_cast<const std::byte*>(rows);
  for (; count != 0; --count) {
    const cormorant_step* step = feed.row == 0 ? program->steps : taker;
    const cormorant_step* const stop = feed.row + 1 == feed.rows ? end : taker + 1;
    for (; step != stop; ++step) step->execute(step->plan);
    feed.source += feed.row_bytes;
  }
  feed.source = feed.own;
  return CORMORANT_OK;
}

size_t cormorant_missing_rows(const cormorant_program* program) {
  using namespace cormorant;
  const cormorant_step* const taker = find_feed(*program);
  if (taker == program->steps + program->step_count) return 0;
  return static_cast<size_t>(feed_of(*taker).rows - feed_of(*taker).row);
}

void cormorant_drop_rows(const cormorant_program* program) {
  using namespace cormorant;
  const cormorant_step* const taker = find_feed(*program);
  if (taker != program->steps + program->step_count) feed_of(*taker).row = 0;
}
