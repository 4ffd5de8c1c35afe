// SPDX-License-Identifier: Apache-2.0
#include "quantizer/range.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

namespace cormorant::quantizer {
namespace {

// The expressible numbers: step · k for k in [first, last].
struct Lattice {
  double step, first, last;
};

Lattice lattice_of(const ir::QuantParams& params) {
  return {params.scale(), static_cast<double>(params.qmin) - params.zero_point(),
          static_cast<double>(params.qmax) - params.zero_point()};
}

// The nearest integer; halves may go either way, where it is used their errors are equal. (A cast is several times
// faster than std::round, and this is the inner loop of the search.)
double nearest(double u) { return static_cast<double>(static_cast<std::int64_t>(u + (u < 0 ? -0.5 : 0.5))); }

// The integral of (t − nearest(t))² from 0 to u: 1/12 for every whole step, and the cubic rest.
double rounding_integral(double u) {
  const double whole = nearest(u);
  const double rest = u - whole;
  return whole / 12 + rest * rest * rest / 3;
}

// Squared error of one value, evenly distributed over the cell, in units of step². u in units of step.
double cell_error(double low, double high, const Lattice& lattice) {
  if (high - low < 1e-6) {
    const double u = (low + high) / 2;
    const double error = u - nearest(std::clamp(u, lattice.first, lattice.last));
    return error * error;
  }
  // The integral over the part that can be expressed, and over what is clipped to the last integer on either side.
  const double inner_low = std::clamp(low, lattice.first, lattice.last);
  const double inner_high = std::clamp(high, lattice.first, lattice.last);
  double integral = rounding_integral(inner_high) - rounding_integral(inner_low);
  const auto clipped = [](double from, double to) { return (to * to * to - from * from * from) / 3; };
  if (low < lattice.first) integral += clipped(low - lattice.first, std::min(high, lattice.first) - lattice.first);
  if (high > lattice.last) integral += clipped(std::max(low, lattice.last) - lattice.last, high - lattice.last);
  return integral / (high - low);
}

double squared_error(const Distribution& distribution, const Lattice& lattice) {
  const double inverse = 1 / lattice.step;
  double sum = 0;
  for (const Cell& cell : distribution.cells) {
    sum += cell.count * cell_error(cell.low * inverse, cell.high * inverse, lattice);
  }
  return sum * lattice.step * lattice.step;
}

// Looks for the ends of the range, as fractions of the observed ones. First both shrink together, since the step
// depends on their distance; then each alone, in ever smaller steps. Every pass is a scan, not a descent: rounding of
// the zero point makes the error uneven, and a descent would stop in the first dent.
template <class ErrorOf>
class Search {
 public:
  Search(const Distribution& distribution, const Grid& grid, ErrorOf error_of)
      : error_of_(std::move(error_of)),
        grid_(grid),
        min_(std::min(distribution.min(), 0.0)),
        max_(std::max(distribution.max(), 0.0)) {
    consider(1, 1);
  }

  ir::QuantParams run() {
    for (int k = 1; k < 48; ++k) consider(1 - k / 48.0, 1 - k / 48.0);
    for (const double step : {1 / 32.0, 1 / 128.0, 1 / 512.0}) {
      const int reach = step == 1 / 32.0 ? 32 : 8;
      if (max_ > 0) scan(reach, step, low_, high_, false);
      if (min_ < 0) scan(reach, step, low_, high_, true);
    }
    return best_;
  }

 private:
  void scan(int reach, double step, double low, double high, bool moves_low) {
    for (int k = -reach; k <= reach; ++k) {
      if (moves_low) {
        consider(low + k * step, high);
      } else {
        consider(low, high + k * step);
      }
    }
  }

  void consider(double low, double high) {
    if (low < 0 || low > 1 || high < 0 || high > 1) return;
    if (low * min_ == 0 && high * max_ == 0) return;
    const ir::QuantParams params = params_for_range(low * min_, high * max_, grid_);
    const double error = error_of_(lattice_of(params));
    if (best_error_ >= 0 && error >= best_error_) return;
    best_error_ = error;
    best_ = params;
    low_ = low;
    high_ = high;
  }

  const ErrorOf error_of_;
  const Grid grid_;
  const double min_, max_;
  double best_error_ = -1;
  ir::QuantParams best_;
  double low_ = 1, high_ = 1;
};

bool is_zero(const Distribution& distribution) { return distribution.min() >= 0 && distribution.max() <= 0; }

// The number below which this share of the values is.
double quantile(const Distribution& distribution, double share) {
  double below = 0;
  const double wanted = share * distribution.count;
  for (const Cell& cell : distribution.cells) {
    if (below + cell.count >= wanted) return cell.low + (cell.high - cell.low) * (wanted - below) / cell.count;
    below += cell.count;
  }
  return distribution.max();
}

// The distribution in equal bins, several to a step of the full range. Zeros are left out: they are expressed exactly
// by any range, and where a ReLU makes most values zero they would outweigh all others.
class Bins {
 public:
  explicit Bins(const Distribution& distribution) : low_(std::min(distribution.min(), 0.0)) {
    width_ = (std::max(distribution.max(), 0.0) - low_) / kCount;
    for (const Cell& cell : distribution.cells) {
      if (cell.low == 0 && cell.high == 0) continue;
      const std::size_t first = bin_of(cell.low), last = bin_of(cell.high);
      if (cell.high <= cell.low) {
        shares_[first] += cell.count;
        continue;
      }
      for (std::size_t bin = first; bin <= last; ++bin) {
        const double from = std::max(cell.low, low_ + static_cast<double>(bin) * width_);
        const double to = std::min(cell.high, low_ + static_cast<double>(bin + 1) * width_);
        shares_[bin] += cell.count * std::max(0.0, to - from) / (cell.high - cell.low);
      }
    }
    for (const double share : shares_) total_ += share;
  }

  // Divergence of the integers' model (all bins of a step equally likely, as far as they occur; nothing beyond the last
  // step) from what was seen, with the values beyond counted in the last bin that is left.
  [[nodiscard]] double divergence(const Lattice& lattice) const {
    const std::size_t first = bin_of((lattice.first - 0.5) * lattice.step);
    const std::size_t last = bin_of((lattice.last + 0.5) * lattice.step);
    double below = 0, above = 0;
    for (std::size_t bin = 0; bin < first; ++bin) below += shares_[bin];
    for (std::size_t bin = last + 1; bin < kCount; ++bin) above += shares_[bin];
    const double inside = total_ - below - above;
    if (inside <= 0) return std::numeric_limits<double>::max();
    double sum = 0;
    for (std::size_t bin = first; bin <= last;) {
      const double step = nearest(center_of(bin) / lattice.step);
      std::size_t end = bin, used = 0;
      double mass = 0;
      for (; end <= last && nearest(center_of(end) / lattice.step) == step; ++end) {
        mass += shares_[end];
        used += shares_[end] > 0 ? 1 : 0;
      }
      for (std::size_t k = bin; k < end; ++k) {
        const double seen = shares_[k] + (k == first ? below : 0) + (k == last ? above : 0);
        // If there is nothing else, values beyond are modelled as if one value were there.
        const double told = (shares_[k] > 0 ? mass / static_cast<double>(used) : 1.0) / inside;
        if (seen > 0) sum += seen / total_ * std::log(seen / total_ / told);
      }
      bin = end;
    }
    return sum;
  }

 private:
  static constexpr std::size_t kCount = 2048;

  [[nodiscard]] std::size_t bin_of(double value) const {
    return static_cast<std::size_t>(std::clamp((value - low_) / width_, 0.0, static_cast<double>(kCount - 1)));
  }
  [[nodiscard]] double center_of(std::size_t bin) const { return low_ + (static_cast<double>(bin) + 0.5) * width_; }

  double low_, width_ = 0, total_ = 0;
  std::array<double, kCount> shares_ = {};
};

}  // namespace

ir::QuantParams params_for_range(double low, double high, const Grid& grid) {
  low = std::min(low, 0.0);
  high = std::max(high, 0.0);
  if (grid.symmetric) {
    high = std::max(high, -low);
    low = high / grid.qmax * grid.qmin;
  }
  // Nothing but zeros was seen: any scale expresses them. 1 keeps the subsequent arithmetic harmless, but 16-bit
  // additions have 16 bits for the ratio of scales, so that a number next to it would lose its own.
  auto scale = static_cast<double>(static_cast<float>((high - low) / (grid.qmax - grid.qmin)));
  if (!(scale > 0)) scale = grid.symmetric ? std::ldexp(1.0, -15) : 1;
  const double zero = grid.symmetric ? 0 : std::round(grid.qmin - low / scale);
  ir::QuantParams params;
  params.dtype = grid.dtype;
  params.qmin = grid.qmin;
  params.qmax = grid.qmax;
  params.scales = {scale};
  params.zero_points = {static_cast<std::int32_t>(std::clamp<double>(zero, grid.qmin, grid.qmax))};
  return params;
}

ir::QuantParams minmax_range(const Distribution& distribution, const Grid& grid) {
  return params_for_range(distribution.min(), distribution.max(), grid);
}

ir::QuantParams mse_range(const Distribution& distribution, const Grid& grid) {
  if (is_zero(distribution)) return params_for_range(0, 0, grid);
  return Search(distribution, grid, [&](const Lattice& lattice) { return squared_error(distribution, lattice); }).run();
}

ir::QuantParams percentile_range(const Distribution& distribution, const Grid& grid) {
  constexpr double kOutside = 1e-4;
  return params_for_range(quantile(distribution, kOutside), quantile(distribution, 1 - kOutside), grid);
}

ir::QuantParams kl_range(const Distribution& distribution, const Grid& grid) {
  if (is_zero(distribution)) return params_for_range(0, 0, grid);
  const Bins bins(distribution);
  return Search(distribution, grid, [&](const Lattice& lattice) { return bins.divergence(lattice); }).run();
}

ir::QuantParams observed_range(Observer observer, const Distribution& distribution, const Grid& grid) {
  switch (observer) {
    case Observer::minmax:
      return minmax_range(distribution, grid);
    case Observer::percentile:
      return percentile_range(distribution, grid);
    case Observer::mse:
      return mse_range(distribution, grid);
    case Observer::kl:
      return kl_range(distribution, grid);
    case Observer::automatic:
      break;
  }
  throw std::logic_error("the automatic choice needs more than a distribution");
}

std::string_view name_of(Observer observer) { return kObserverNames.at(static_cast<std::size_t>(observer)); }

std::optional<Observer> parse_observer(std::string_view name) {
  const auto found = std::ranges::find(kObserverNames, name);
  if (found == kObserverNames.end()) return std::nullopt;
  return static_cast<Observer>(found - kObserverNames.begin());
}

RangeError range_error(const Distribution& distribution, const ir::QuantParams& params) {
  RangeError result;
  if (distribution.empty()) return result;
  const Lattice lattice = lattice_of(params);
  // A value is clipped when it is more than half a step outside: within, it is only rounded.
  const double first = (lattice.first - 0.5) * lattice.step;
  const double last = (lattice.last + 0.5) * lattice.step;
  for (const Cell& cell : distribution.cells) {
    const auto share = [&](double low, double high) {  // of the cell, between low and high
      if (cell.high <= cell.low) return cell.low >= low && cell.low <= high ? 1.0 : 0.0;
      const double inside = std::min(cell.high, high) - std::max(cell.low, low);
      return std::max(0.0, inside / (cell.high - cell.low));
    };
    result.clipped_share += cell.count * (1 - share(first, last));
    result.signal += cell.count * (cell.low * cell.low + cell.low * cell.high + cell.high * cell.high) / 3;
  }
  result.squared_error = squared_error(distribution, lattice) / distribution.count;
  result.signal /= distribution.count;
  result.clipped_share /= distribution.count;
  return result;
}

}  // namespace cormorant::quantizer
