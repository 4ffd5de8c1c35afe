// SPDX-License-Identifier: Apache-2.0
#include "passes/rows.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "ops/nodes.h"
#include "ops/op.h"
#include "ops/rows/rows.h"

namespace cormorant::passes {
namespace {

using Dims = std::vector<std::int64_t>;

std::int64_t divide_down(std::int64_t a, std::int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

bool is_image(const ir::Value* value) {
  const ir::TensorType& type = value->type;
  return type.rank() == 4 && type.shape[0] == 1 && type.dim_order == ir::kChannelsLast && type.bytes() > 0;
}

// A value that some node computes, or an input.
bool is_activation(const ir::Value* value) {
  return value->kind == ir::ValueKind::input || value->kind == ir::ValueKind::result;
}

bool is_convolution(const ir::Node& node) {
  return node.op == ops::nodes::cortex_m_quantized_conv2d || node.op == ops::nodes::cortex_m_quantized_depthwise_conv2d;
}

// A pad that a convolution's own padding can replace: see ops/conv2d/unpack.cc. Lists are N H W C.
bool is_border(const ir::Node& pad, std::int64_t value) {
  const auto& pre = pad.integers("pre_pad");
  const auto& post = pad.integers("post_pad");
  const bool only_pixels = pre[0] == 0 && pre[3] == 0 && post[0] == 0 && post[3] == 0;
  const bool only_more = std::ranges::all_of(pre, [](std::int64_t n) { return n >= 0; }) &&
                         std::ranges::all_of(post, [](std::int64_t n) { return n >= 0; });
  return only_pixels && only_more && pad.integer("pad_value") == value;
}

std::int64_t row_bytes_of(const ir::Value* image) { return image->type.bytes() / image->type.shape[2]; }

ir::TensorType with_height(ir::TensorType type, std::int64_t rows) {
  type.shape[2] = rows;
  return type;
}

// The newest row that a batch of `size` looks at, the first of whose rows is `above` rows above the image.
std::int64_t newest_row(const Rows::Read& read, std::int64_t size, std::int64_t above) {
  return read.stride * (size - 1 - above) - read.top + read.reach - 1;
}

}  // namespace

Rows::Rows(ir::Graph& graph, Isa isa) : graph_(graph), isa_(isa) {
  for (ir::Node& node : graph.nodes()) {
    if (!ops::is_alias(node)) add_unit(node);
  }
}

void Rows::add_unit(ir::Node& node) {
  Unit unit{.node = &node, .pad = nullptr, .reads = {}, .wholes = {}};
  unit.has_rows = node.results.size() == 1 && is_image(node.result()) && find_reads(unit);
  if (!unit.has_rows) {
    unit.pad = nullptr;
    unit.reads.clear();
  }
  if (unit.pad != nullptr) {  // the pad is not a separate unit
    const std::size_t at = index_.at(unit.pad);
    units_.erase(units_.begin() + static_cast<std::ptrdiff_t>(at));
    for (auto& [other, index] : index_) {
      if (index > at) --index;
    }
  }
  index_[&node] = units_.size();
  units_.push_back(std::move(unit));
}

bool Rows::find_reads(Unit& unit) const {
  const ir::Node& node = *unit.node;
  const std::int64_t height = node.result()->type.shape[2];
  if (is_convolution(node)) {
    ir::Value* input = node.tensor("input");
    if (!is_activation(input) || !is_image(input)) return false;
    Read read{.argument = "input", .image = input};
    const ir::Shape& weight = node.tensor("weight")->type.shape;  // OHWI, or 1HWO
    read.reach = (weight.at(1) - 1) * node.integers("dilation").at(0) + 1;
    read.stride = node.integers("stride").at(0);
    read.top = node.integers("padding").at(0);
    read.pad = -node.integer("input_offset");
    read.reach_x = (weight.at(2) - 1) * node.integers("dilation").at(1) + 1;
    read.stride_x = node.integers("stride").at(1);
    read.left = node.integers("padding").at(1);
    ir::Node* pad = input->producer;
    if (pad != nullptr && pad->op == ops::nodes::cortex_m_pad && graph_.only_user(input) == &node &&
        is_border(*pad, *read.pad)) {
      unit.pad = pad;
      read.image = pad->tensor("input");
      read.top += pad->integers("pre_pad").at(1);
      read.left += pad->integers("pre_pad").at(2);
      if (!is_activation(read.image) || !is_image(read.image)) return false;
    }
    unit.reads.push_back(std::move(read));
    return true;
  }
  if (node.op == ops::nodes::cortex_m_quantized_max_pool2d) {
    ir::Value* input = node.tensor("input");
    if (!is_activation(input) || !is_image(input)) return false;
    unit.reads.push_back({.argument = "input",
                          .image = input,
                          .reach = (node.integers("kernel_size").at(0) - 1) * node.integers("dilation").at(0) + 1,
                          .stride = node.integers("stride").at(0),
                          .top = node.integers("padding").at(0),
                          .pad = std::numeric_limits<std::int8_t>::min(),
                          .reach_x = (node.integers("kernel_size").at(1) - 1) * node.integers("dilation").at(1) + 1,
                          .stride_x = node.integers("stride").at(1),
                          .left = node.integers("padding").at(1)});
    return true;
  }
  if (node.op.starts_with(ops::nodes::cormorant_avg_pool2d_)) {
    ir::Value* input = node.tensor("input");
    if (!is_activation(input) || !is_image(input) || input->type.dtype != DType::i8) return false;
    const Dims& kernel = node.integers("kernel_size");
    const Dims& stride = node.integers("stride");
    const Dims whole = {input->type.shape[2], input->type.shape[3]};
    const bool is_of_whole = kernel == whole && node.result()->type.elements() == input->type.shape[1];
    if (is_of_whole && node.integers("padding") == Dims{0, 0} && whole[0] > 1 &&
        node.tensor("divisors")->type.elements() == 3) {
      unit.reads.push_back({.argument = "input", .image = input, .is_mean = true});
      return true;
    }
    // Windows of as many rows each: where some have fewer, at the edge or because they are adaptive, these are divided
    // by other numbers.
    const bool is_inside = node.integers("padding")[0] == 0 && (height - 1) * stride[0] + kernel[0] <= whole[0];
    if (stride[0] < 1 || whole[0] < 2 || !is_inside) return false;
    unit.reads.push_back({.argument = "input", .image = input, .reach = kernel[0], .stride = stride[0], .pad = {}});
    return true;
  }
  const ops::Operator* op = ops::find(node);
  const bool is_quantize = node.op == ops::nodes::cortex_m_quantize_per_tensor;
  const bool has_rows = node.op.starts_with("cortex_m.") || node.op.starts_with(ops::nodes::cormorant_flip_sign_);
  if (op == nullptr || !(op->elementwise || is_quantize) || ops::is_float(node) || !has_rows) return false;
  for (const ir::NamedArgument& argument : node.args) {
    const auto* value = std::get_if<ir::Value*>(&argument.value);
    if (value == nullptr || *value == nullptr || !is_activation(*value)) continue;
    const ir::Shape& shape = (*value)->type.shape;
    if (is_image(*value) && shape[2] == height) {
      unit.reads.push_back({.argument = argument.name, .image = *value, .pad = {}});
    } else if (shape.size() < 3 || shape[shape.size() - 2] == 1) {
      unit.wholes.push_back(*value);  // the same for every row
    } else {
      return false;
    }
  }
  return !unit.reads.empty() && height > 1;
}

// Whether a node that is not one of these units but comes between them uses a result of theirs.
bool Rows::is_between(const Unit& first, const Unit& last) const {
  const std::uint64_t end = last.node->membership.order;
  const std::size_t begin = index_.at(first.node);
  for (std::size_t u = begin; u <= index_.at(last.node); ++u) {
    for (const ir::Node* user : graph_.users(static_cast<const ir::Value*>(units_[u].node->result()))) {
      if (user->membership.order < end && !index_.contains(user) && user->op != ops::nodes::cortex_m_pad) return true;
    }
  }
  return false;
}

// Whether a unit can be part of a chain: it reads one image, and treats all columns alike.
bool Rows::is_stage_of_strips(std::size_t u) const {
  const Unit& unit = units_[u];
  if (!unit.has_rows || unit.reads.size() != 1 || unit.reads.front().is_mean || !unit.wholes.empty()) return false;
  for (const ir::Value* image : {unit.reads.front().image, unit.node->result()}) {  // within what the table can count
    if (std::ranges::any_of(image->type.shape, [](std::int64_t n) { return n > ops::rows::Part::kLongestStep; }))
      return false;
  }
  if (is_convolution(*unit.node) || unit.node->op == ops::nodes::cortex_m_quantized_max_pool2d) return true;
  return std::ranges::all_of(unit.node->inputs(), [](const ir::Value* input) {
    return input->kind != ir::ValueKind::constant || input->type.rank() <= 1 || input->type.shape.back() == 1;
  });
}

// Whether only the next unit reads this one's result.
bool Rows::is_link(std::size_t u) const {
  if (u + 1 >= units_.size() || !is_stage_of_strips(u) || !is_stage_of_strips(u + 1)) return false;
  ir::Value* const result = units_[u].node->result();
  const ir::Node* const reader = units_[u + 1].pad != nullptr ? units_[u + 1].pad : units_[u + 1].node;
  return units_[u + 1].reads.front().image == result && !graph_.is_kept(result) && graph_.only_user(result) == reader;
}

std::vector<Rows::Strips> Rows::chains() const {
  const auto reach = [&](std::size_t u) { return units_[u].reads.front().reach; };
  const auto bytes_in = [&](std::size_t u) { return row_bytes_of(units_[u].reads.front().image); };
  const auto bytes_out = [&](std::size_t u) { return row_bytes_of(units_[u].node->result()); };
  std::vector<Strips> all;
  for (std::size_t u = 0; u < units_.size(); ++u) {
    if (!is_stage_of_strips(u) || reach(u) == 1) continue;
    Strips chain{.first = u, .last = u};
    for (std::size_t at = u; at > 0 && is_link(at - 1) && reach(at - 1) == 1;) {
      --at;
      if (bytes_in(at) < bytes_in(chain.first)) chain.first = at;
    }
    if (chain.first == u || (!all.empty() && all.back().last >= chain.first)) continue;
    for (std::size_t at = u; is_link(at) && reach(at + 1) == 1;) {
      ++at;
      if (bytes_out(at) < bytes_out(chain.last)) chain.last = at;
    }
    all.push_back(chain);
  }
  return all;
}

std::vector<Rows::Patch> Rows::patches_of(const Strips& strips) const {
  const std::int64_t width = units_[strips.last].node->result()->type.shape[3];
  const std::int64_t columns = (width + strips.count - 1) / strips.count;
  std::vector<Patch> patches = {{.columns = columns, .step_x = columns}};
  for (std::size_t u = strips.last + 1; u-- > strips.first;) {
    const Read& read = units_[u].reads.front();
    const Patch& out = patches.back();
    patches.push_back({.columns = (out.columns - 1) * read.stride_x + read.reach_x,
                       .rows = (out.rows - 1) * read.stride + read.reach,
                       .step_x = out.step_x * read.stride_x,
                       .step_y = out.step_y * read.stride,
                       .left = out.left * read.stride_x + read.left,
                       .top = out.top * read.stride + read.top});
  }
  std::ranges::reverse(patches);
  return patches;
}

std::int64_t Rows::macs_of(std::size_t u) const {
  const ir::Node& node = *units_[u].node;
  if (!is_convolution(node)) return 0;
  const ir::Shape& shape = node.result()->type.shape;
  return shape[2] * shape[3] * node.tensor("weight")->type.elements();
}

std::int64_t Rows::macs_of(const Strips& strips) const {
  const std::vector<Patch> patches = patches_of(strips);
  std::int64_t macs = 0;
  for (std::size_t u = strips.first; u <= strips.last; ++u) {
    const ir::Node& node = *units_[u].node;
    if (!is_convolution(node)) continue;
    const Patch& out = patches[u - strips.first + 1];
    macs += out.rows * out.columns * node.tensor("weight")->type.elements();
  }
  return macs * strips.count * units_[strips.last].node->result()->type.shape[2];
}

Rows::Read Rows::read_of(const Strips& strips) const {
  const Patch patch = patches_of(strips).front();
  const Read& read = units_[strips.first].reads.front();
  return {
      .argument = read.argument, .image = read.image, .reach = patch.rows, .stride = patch.step_y, .top = patch.top};
}

Rows::Batches Rows::batches_of(std::size_t first, std::size_t last, const std::vector<Strips>& strips,
                               const std::vector<std::int64_t>& wanted) const {
  Batches batches, most;  // most: what readers need at a time, which is a multiple of a batch
  for (std::size_t u = last + 1; u-- > first;) {
    const Unit& unit = units_[u];
    if (!unit.has_rows) continue;
    const ir::Value* const result = unit.node->result();
    std::int64_t batch = wanted.empty() || !strips.empty() ? 1 : std::min(wanted.at(u), result->type.shape[2]);
    if (const auto found = most.find(result); found != most.end()) batch = std::gcd(batch, found->second);
    batches[result] = batch;
    for (const Read& read : unit.reads) {
      if (read.is_mean) continue;  // takes any
      const bool has_gaps = read.reach < read.stride || !strips.empty();
      std::int64_t& own = most[read.image];
      own = std::gcd(own, has_gaps ? batch : read.stride * batch);
    }
  }
  for (const auto& [image, batch] : most) {
    const bool is_fed = !batches.contains(image);
    if (is_fed) batches[image] = image == pushed_ ? 1 : batch;
  }
  return batches;
}

std::int64_t Rows::slack_of(const Group& group, std::size_t v) const {
  const Value& value = group.values[v];
  if (!value.unit || value.is_sum || value.is_collected) return 0;
  std::optional<std::int64_t> slack;
  for (const Value& reader : group.values) {
    if (!reader.unit || *reader.unit <= *value.unit) continue;
    const std::vector<Group::Window>& windows = group.windows[*reader.unit - group.first];
    for (std::size_t i = 0; i < windows.size(); ++i) {
      if (windows[i].value != v) continue;
      const Read& read = units_[*reader.unit].reads[i];
      if (read.is_mean) return 0;
      const std::int64_t row = newest_row(read, reader.batch, reader.above);
      const std::int64_t due = value.start + value.period * divide_down(row + value.above, value.batch);
      slack = std::min(slack.value_or(reader.start - due), reader.start - due);
    }
  }
  return slack.value_or(0);
}

std::optional<Rows::Group> Rows::group(std::size_t first, std::size_t last, const std::vector<Strips>& strips,
                                       const std::vector<std::int64_t>& wanted) const {
  std::optional<Group> best = group_with({}, first, last, strips, wanted);
  if (!best || !strips.empty()) return best;
  const auto bytes_of_slabs = [](const Group& group) {
    std::int64_t bytes = 0;
    for (const Value& value : group.values) bytes += value.slab_rows * value.row_bytes;
    return bytes;
  };
  // The last ones first: a unit that is late may let others wait.
  Delays delays;
  for (std::size_t v = best->values.size(); v-- > 0;) {
    const std::int64_t slack = slack_of(*best, v);
    if (slack <= 0) continue;
    Delays more = delays;
    more[*best->values[v].unit] = slack;
    std::optional<Group> later = group_with(more, first, last, strips, wanted);
    // As many bytes, but for a part of a tick only, are fewer.
    if (!later || later->values.size() != best->values.size()) continue;
    const std::int64_t bytes = bytes_of_slabs(*best), then = bytes_of_slabs(*later);
    if (then > bytes || (then == bytes && later->values[v].is_kept)) continue;
    best = std::move(later);
    delays = std::move(more);
  }
  return best;
}

std::optional<Rows::Group> Rows::group_with(const Delays& delays, std::size_t first, std::size_t last,
                                            const std::vector<Strips>& strips,
                                            const std::vector<std::int64_t>& wanted) const {
  Group group{.first = first, .last = last, .values = {}, .windows = {}};
  std::vector<Value>& values = group.values;
  std::unordered_map<const ir::Value*, std::size_t> known;
  const Batches batches = batches_of(first, last, strips, wanted);
  // Rows of a value after `row` when `batch` is the newest.
  const auto lag_of = [](const Value& value, std::int64_t batch, std::int64_t row) {
    return value.batch * (batch + 1) - 1 - value.above - row;
  };
  auto next_strips = strips.begin();
  for (std::size_t u = first; u <= last; ++u) {
    const bool has_strips = next_strips != strips.end() && next_strips->first == u;
    std::optional<Strips> own_strips;
    std::vector<Read> own_reads;
    if (has_strips) {
      own_strips = *next_strips++;
      own_reads.push_back(read_of(*own_strips));
      group.windows.resize(group.windows.size() + own_strips->last - u);  // for units without slabs
      u = own_strips->last;
      if (u > last) return {};
    }
    const Unit& unit = units_[u];
    if (!unit.has_rows) return {};
    const std::vector<Read>& reads = has_strips ? own_reads : unit.reads;
    for (const ir::Value* whole : unit.wholes) {
      if (known.contains(whole)) return {};
    }
    std::vector<Group::Window>& windows = group.windows.emplace_back();
    ir::Value* const result = unit.node->result();
    if (reads.front().is_mean) {
      if (!add_mean(u, group, known)) return {};
      continue;
    }
    Value own{.image = result,
              .unit = u,
              .batch = batches.at(result),
              .rows = result->type.shape[2],
              .row_bytes = row_bytes_of(result),
              .strips = own_strips};
    own.slab_rows = own.batch;
    std::int64_t best_cost = std::numeric_limits<std::int64_t>::max();
    for (std::int64_t above = 0; above < own.batch; ++above) {
      std::optional<std::int64_t> period, start;
      for (const Read& read : reads) {
        const auto found = known.find(read.image);
        if (found == known.end()) continue;
        const Value& value = values[found->second];
        if (read.stride * own.batch % value.batch != 0) return {};
        const std::int64_t own_period = value.period * (read.stride * own.batch / value.batch);
        if (period && *period != own_period) return {};
        period = own_period;
        const std::int64_t row = newest_row(read, own.batch, above);
        const std::int64_t due = value.start + value.period * divide_down(row + value.above, value.batch);
        start = std::max(start.value_or(due), due);
      }
      if (!start) break;
      std::int64_t cost = 0;
      for (const Read& read : reads) {
        const auto found = known.find(read.image);
        if (found == known.end()) continue;
        const Value& value = values[found->second];
        const std::int64_t newest = divide_down(*start - value.start, value.period);
        cost += lag_of(value, newest, newest_row(read, own.batch, above)) * value.row_bytes;
      }
      // Among equals, the one with the fewest batches.
      cost = cost * own.rows + (own.rows + above - 1) / own.batch;
      if (cost >= best_cost) continue;
      best_cost = cost;
      own.above = above;
      own.period = *period;
      own.start = *start;
    }
    if (const auto delay = delays.find(u); delay != delays.end() && own.period != 0) own.start += delay->second;
    for (const Read& read : reads) {  // values from outside are fed when they are needed
      if (known.contains(read.image)) continue;
      Value fed{.image = read.image,
                .unit = {},
                .batch = batches.at(read.image),
                .rows = read.image->type.shape[2],
                .row_bytes = row_bytes_of(read.image)};
      fed.slab_rows = fed.batch;
      const std::int64_t needed = read.stride * own.batch;  // rows per batch of the result
      if (needed % fed.batch != 0) return {};
      if (own.period == 0) own.period = needed / fed.batch;
      if (own.period * fed.batch % needed != 0) return {};
      fed.period = own.period * fed.batch / needed;
      const std::int64_t end = newest_row(read, own.batch, own.above) + 1;  // which ends a batch
      fed.above = divide_down(-end, fed.batch) * -fed.batch - end;
      fed.start = own.start - fed.period * ((end + fed.above) / fed.batch - 1);
      known[read.image] = values.size();
      values.push_back(fed);
    }
    const std::int64_t last_start = own.start + own.period * ((own.rows - 1 + own.above) / own.batch);
    for (const Read& read : reads) {
      Value& value = values[known.at(read.image)];
      const std::int64_t rows = read.stride * (own.batch - 1) + read.reach;
      const std::int64_t newest = divide_down(own.start - value.start, value.period);
      const std::int64_t lag = lag_of(value, newest, newest_row(read, own.batch, own.above));
      windows.push_back({known.at(read.image), lag, rows});
      value.slab_rows = std::max(value.slab_rows, rows + lag);
      value.before = std::max(value.before, read.top);
      value.last_batch = std::max(value.last_batch, divide_down(last_start - value.start, value.period));
      value.last_read = u;
      const bool in_this_tick = own.start - value.start == value.period * newest;
      if (rows != value.batch || lag != 0 || !in_this_tick || read.top > 0) value.is_kept = true;
      // Strips have borders of their own, whatever rows outside the image hold.
      const std::int64_t last_row = (own.rows - 1) * read.stride + read.reach - 1 - read.top;
      if (!has_strips && (read.top > 0 || last_row > value.rows - 1)) {
        if (!read.pad || (value.fill && value.fill != read.pad)) return {};
        value.fill = read.pad;
      }
    }
    known[result] = values.size();
    values.push_back(own);
  }
  if (is_between(units_[first], units_[last])) return {};
  std::int64_t begin = 0, end = 0;
  for (Value& value : values) {
    if (value.unit && !value.is_sum) {
      value.is_collected = graph_.is_kept(value.image);
      for (const ir::Node* user : graph_.users(static_cast<const ir::Value*>(value.image))) {
        auto at = index_.find(user);
        if (at == index_.end() && user->op == ops::nodes::cortex_m_pad)
          at = index_.find(graph_.only_user(user->result()));
        if (at == index_.end() || at->second < first || at->second > last) value.is_collected = true;
      }
    }
    if (value.is_collected) value.last_read = last;
    // Where the newest rows begin: kernels require this alignment of activations.
    if (value.unit && (value.slab_rows - value.batch) * value.row_bytes % 4 != 0) return {};
    if (!value.is_kept) value.before = value.last_batch = 0;
    const std::int64_t batches_before =
        (std::max(value.before - value.above, std::int64_t{0}) + value.batch - 1) / value.batch;
    value.before = value.above + batches_before * value.batch;
    value.last_batch = std::max(value.last_batch, (value.rows - 1 + value.above) / value.batch);
    value.after = (value.last_batch + 1) * value.batch - value.above - value.rows;
    begin = std::min(begin, value.start - value.period * batches_before);
  }
  for (Value& value : values) {
    value.start -= begin;
    end = std::max(end, value.start + value.period * (value.last_batch + 1));
    if (value.before + value.rows + value.after > ops::rows::kMostTicks) return {};
  }
  for (const auto& windows : group.windows) {
    for (const auto& [value, lag, rows] : windows) {
      if ((values[value].slab_rows - lag - rows) * values[value].row_bytes % 4 != 0) return {};
    }
  }
  if (end > ops::rows::kMostTicks || values.size() > 4096) return {};
  return group;
}

// Sums of rows, and the mean once the last has arrived.
bool Rows::add_mean(std::size_t u, Group& group, std::unordered_map<const ir::Value*, std::size_t>& known) const {
  const Unit& unit = units_[u];
  ir::Value* const result = unit.node->result();
  ir::Value* const image = unit.reads.front().image;
  if (!known.contains(image)) {
    known[image] = group.values.size();
    group.values.push_back(
        {.image = image, .unit = {}, .period = 1, .rows = image->type.shape[2], .row_bytes = row_bytes_of(image)});
  }
  const std::size_t at = known.at(image);
  Value& value = group.values[at];
  group.windows.back().push_back({at, 0, value.batch});
  value.last_read = u;
  const std::int64_t batches = (value.rows - 1 + value.above) / value.batch + 1;
  if (batches * value.batch != value.rows) {  // rows outside the image add nothing
    if (value.fill.value_or(0) != 0) return false;
    value.fill = 0;
    value.is_kept = true;
  }
  Value sum{.image = result,
            .unit = u,
            .period = value.period,
            .start = value.start,
            .before = 1,
            .rows = batches,
            .row_bytes = 4 * result->type.elements(),
            .last_batch = batches - 1,
            .is_sum = true,
            .is_kept = true,
            .fill = 0,
            .last_read = u};
  Value mean{.image = result,
             .unit = u,
             .period = 1,
             .start = sum.start + sum.period * (batches - 1),
             .rows = 1,
             .row_bytes = row_bytes_of(result)};
  group.values.push_back(sum);
  known[result] = group.values.size();
  group.values.push_back(mean);
  return true;
}

std::int64_t Rows::bytes_of(const Group& group, const std::vector<std::int64_t>& scratch,
                            const std::vector<Whole>& wholes) const {
  const auto align = [](std::int64_t bytes) { return (bytes + 15) & ~std::int64_t{15}; };
  // What is needed in all of a tick is added up, of what is needed within one only the most counts.
  struct Change {
    std::int64_t tick = 0, kept = 0, within = 0;  // negative: no longer
  };
  std::vector<Change> changes;
  std::vector<std::int64_t> ends;  // per value, the last tick at which it is written or read
  for (const Value& value : group.values) {
    ends.push_back(value.last_due());
    if (!value.unit) continue;
    for (const auto& window : group.windows[*value.unit - group.first]) {
      ends[window.value] = std::max(ends[window.value], value.last_due());
    }
  }
  std::vector<const Value*> passing;
  for (std::size_t v = 0; v < group.values.size(); ++v) {
    const Value& value = group.values[v];
    if (value.is_kept) {
      const std::int64_t bytes = align(value.slab_rows * value.row_bytes);
      changes.push_back({.tick = value.first_due(), .kept = bytes});
      changes.push_back({.tick = ends[v] + 1, .kept = -bytes});
    }
    std::int64_t now = value.strips ? value.strips->bytes : value.unit ? align(scratch[*value.unit - group.first]) : 0;
    if (value.unit) {
      const std::size_t begin = value.strips ? value.strips->first : *value.unit;
      std::erase_if(passing, [&](const Value* other) { return other->last_read < begin; });
    }
    if (!value.is_kept) passing.push_back(&value);
    for (const Value* other : passing) now += align(other->batch * other->row_bytes);
    if (now == 0) continue;
    changes.push_back({.tick = value.start, .within = now});
    changes.push_back({.tick = value.last_due() + 1, .within = -now});
  }
  for (const Whole& whole : wholes) changes.push_back({.tick = whole.from});
  std::ranges::sort(changes, {}, &Change::tick);
  std::int64_t kept = 0, most = 0;
  std::multiset<std::int64_t> within;
  for (std::size_t i = 0; i < changes.size();) {
    const std::int64_t tick = changes[i].tick;
    for (; i < changes.size() && changes[i].tick == tick; ++i) {
      kept += changes[i].kept;
      if (changes[i].within > 0) within.insert(changes[i].within);
      if (changes[i].within < 0) within.erase(within.find(-changes[i].within));
    }
    std::int64_t all = kept + (within.empty() ? 0 : *within.rbegin());
    for (const Whole& whole : wholes) {
      if (whole.from > tick) continue;
      const std::int64_t gone = whole.fed == nullptr ? 0 : whole.fed->flow().rows_by(tick - 1) * whole.fed->row_bytes;
      all += align(whole.bytes - std::max(gone, std::int64_t{0}));
    }
    most = std::max(most, all);
  }
  return most;
}

void Rows::rewrite(const std::vector<Group>& groups) {
  // The last group first: it is fed with what the earlier groups' original nodes compute.
  for (auto group = groups.rbegin(); group != groups.rend(); ++group) rewrite(*group);
  if (pushed_ != nullptr) pushed_->type.shape[2] = 1;
  graph_.erase_unused();
}

ir::Value* Rows::add_sum(const ir::Node& node, ir::Value* row, ir::Node* before) {
  const ir::TensorType type = {
      .dtype = DType::i32, .shape = node.result()->type.shape, .dim_order = ir::kChannelsLast, .quant = {}};
  return graph_
      .add_node(node.name, ops::graph_name(ops::rows::sum_variant(isa_)), {{"input", row}}, {type}, node.location,
                before)
      ->result();
}

ir::Value* Rows::add_mean(const ir::Node& node, ir::Value* sums, ir::Node* before) {
  const auto divisor = node.tensor("divisors")->data.as<std::int32_t>();
  return graph_
      .add_node(node.name, ops::graph_name(ops::names::cormorant_rows_mean_scalar),
                {{"sums", sums},
                 {"elements", std::int64_t{divisor[0]}},
                 {"multiplier", std::int64_t{divisor[1]}},
                 {"shift", std::int64_t{divisor[2]} & 31},
                 {"left_shift", node.get("left_shift")},
                 {"input_zero_point", node.get("input_zero_point")},
                 {"output_zero_point", node.get("output_zero_point")},
                 {"output_min", node.get("output_min")},
                 {"output_max", node.get("output_max")}},
                {node.result()->type}, node.location, before)
      ->result();
}

ir::Value* Rows::add_strips(const Strips& strips, ir::Value* rows, ir::Node* before) {
  const std::vector<Patch> patches = patches_of(strips);
  const ir::Node& last = *units_[strips.last].node;
  const auto patch_type = [](const ir::Value* image, const Patch& patch) {
    ir::TensorType type = with_height(image->type, patch.rows);
    type.shape[3] = patch.columns;
    return type;
  };
  std::vector<std::int64_t> places;
  const auto note = [&](const ir::Value* image, const Patch& patch, std::int64_t fill) {
    places.insert(places.end(), {fill, image->type.shape[3], image->type.shape[2], patch.step_x, patch.step_y,
                                 patch.left, patch.top});
  };
  const Unit& first = units_[strips.first];
  ir::Value* image = first.reads.front().image;
  ir::Value* patch = graph_
                         .add_node(image->name + "_cut", ops::nodes::cormorant_rows_cut,
                                   {{"rows", rows}, {"columns", patches.front().columns}},
                                   {patch_type(image, patches.front())}, first.node->location, before)
                         ->result();
  for (std::size_t u = strips.first; u <= strips.last; ++u) {
    const ir::Node& node = *units_[u].node;
    const Read& read = units_[u].reads.front();
    note(image, patches[u - strips.first], read.pad.value_or(0));
    std::vector<ir::NamedArgument> args = node.args;
    const auto set = [&](std::string_view name, ir::Argument to) {
      std::ranges::find(args, name, &ir::NamedArgument::name)->value = std::move(to);
    };
    set(read.argument, patch);
    if (read.pad) set("padding", Dims{0, 0});  // the patch includes what is outside
    image = node.result();
    patch = graph_
                .add_node(node.name, node.op, std::move(args), {patch_type(image, patches[u - strips.first + 1])},
                          node.location, before)
                ->result();
  }
  note(image, patches.back(), 0);
  return graph_
      .add_node(last.name + "_paste", ops::nodes::cormorant_rows_paste,
                {{"patch", patch},
                 {"columns", image->type.shape[3]},
                 {"strips", strips.count},
                 {"places", std::move(places)}},
                {with_height(image->type, 1)}, last.location, before)
      ->result();
}

void Rows::rewrite(const Group& group) {
  ir::Node* const last = units_[group.last].node;
  const auto after = std::next(last->membership.at);
  ir::Node* const before = after == graph_.nodes().end() ? nullptr : &*after;
  std::vector<ir::Value*> row(group.values.size()), slab(group.values.size());
  std::vector<ir::Value*> collected, slabs, sources;
  std::vector<std::int64_t> heights, schedule;

  const auto note = [&](const Value& value) {
    schedule.insert(schedule.end(), {value.start - value.period * (value.before / value.batch), value.period,
                                     value.before, value.rows, value.after});
  };
  const auto keep = [&](std::size_t v, const ir::Location& location) {
    const Value& value = group.values[v];
    slab[v] = row[v];
    if (!value.is_kept) return;
    slab[v] = graph_
                  .add_node(value.image->name + "_slab", ops::nodes::cormorant_rows_slab,
                            {{"row", row[v]}, {"rows", value.slab_rows}, {"fill", value.fill.value_or(0)}},
                            {with_height(row[v]->type, value.slab_rows)}, location, before)
                  ->result();
    slabs.push_back(slab[v]);
  };
  const auto window = [&](const Group::Window& where, const ir::Location& location) {
    const Value& value = group.values[where.value];
    if (value.slab_rows == where.rows) return slab[where.value];
    if (where.rows == value.batch && where.lag == 0) return row[where.value];
    return graph_
        .add_node(
            value.image->name + "_window", ops::nodes::cormorant_rows_window,
            {{"slab", slab[where.value]}, {"start", value.slab_rows - where.lag - where.rows}, {"rows", where.rows}},
            {with_height(value.image->type, where.rows)}, location, before)
        ->result();
  };

  for (std::size_t v = 0; v < group.values.size(); ++v) {
    const Value& value = group.values[v];
    note(value);
    if (!value.unit) {
      const bool is_pushed = value.image == pushed_;
      std::vector<ir::NamedArgument> args = {{"source", value.image}};
      if (!is_pushed) args.push_back({"rows", value.batch});
      row[v] = graph_
                   .add_node(value.image->name + "_feed",
                             is_pushed ? ops::nodes::cormorant_rows_push : ops::nodes::cormorant_rows_feed,
                             std::move(args), {with_height(value.image->type, value.batch)}, last->location, before)
                   ->result();
      sources.push_back(value.image);
      keep(v, last->location);
      continue;
    }
    const Unit& unit = units_[*value.unit];
    const ir::Node& node = *unit.node;
    const auto collect = [&] {
      if (!value.is_collected) return;
      collected.push_back(row[v]);
      heights.push_back(value.rows);
    };
    if (value.strips) {
      ir::Value* const rows = window(group.windows[*value.unit - group.first].front(), node.location);
      row[v] = add_strips(*value.strips, rows, before);
      keep(v, node.location);
      collect();
      continue;
    }
    if (unit.reads.front().is_mean) {
      row[v] = value.is_sum
                   ? add_sum(node, window(group.windows[*value.unit - group.first].front(), node.location), before)
                   : add_mean(node, slab[v - 1], before);
      keep(v, node.location);
      collect();
      continue;
    }
    std::vector<ir::NamedArgument> args = node.args;
    const auto set = [&](std::string_view name, ir::Argument to) {
      std::ranges::find(args, name, &ir::NamedArgument::name)->value = std::move(to);
    };
    for (std::size_t r = 0; r < unit.reads.size(); ++r) {
      const Read& read = unit.reads[r];
      ir::Value* rows = window(group.windows[*value.unit - group.first][r], node.location);
      if (unit.pad != nullptr) {
        std::vector<std::int64_t> pre = unit.pad->integers("pre_pad"), post = unit.pad->integers("post_pad");
        pre[1] = post[1] = 0;
        ir::TensorType type = rows->type;
        type.shape[3] += pre[2] + post[2];
        if (pre[2] + post[2] != 0) {
          rows = graph_
                     .add_node(unit.pad->name, unit.pad->op,
                               {{"input", rows},
                                {"pre_pad", std::move(pre)},
                                {"post_pad", std::move(post)},
                                {"pad_value", unit.pad->get("pad_value")}},
                               {std::move(type)}, unit.pad->location, before)
                     ->result();
        }
      }
      set(read.argument, rows);
      if (read.pad) {
        std::vector<std::int64_t> padding = node.integers("padding");
        padding[0] = 0;
        set("padding", std::move(padding));
      }
    }
    for (ir::Value* whole : unit.wholes) {
      if (std::ranges::count(sources, whole) == 0) sources.push_back(whole);
    }
    row[v] = graph_
                 .add_node(node.name, node.op, std::move(args), {with_height(value.image->type, value.batch)},
                           node.location, before)
                 ->result();
    keep(v, node.location);
    collect();
  }
  std::vector<ir::TensorType> types;
  types.reserve(collected.size());
  for (std::size_t i = 0; i < collected.size(); ++i) types.push_back(with_height(collected[i]->type, heights[i]));
  ir::Node* const whole = graph_.add_node(
      last->name + "_rows", ops::nodes::cormorant_rows_group,
      {{"rows", collected}, {"heights", heights}, {"slabs", slabs}, {"sources", sources}, {"schedule", schedule}},
      types, last->location, before);
  std::size_t next = 0;
  for (const Value& value : group.values) {
    if (value.is_collected) graph_.replace_uses(value.image, whole->results[next++]);
  }
  for (std::size_t u = group.last + 1; u-- > group.first;) {
    graph_.erase(units_[u].node);
    if (units_[u].pad != nullptr) graph_.erase(units_[u].pad);
  }
}

}  // namespace cormorant::passes
