// SPDX-License-Identifier: Apache-2.0
#include "ops/minimum_maximum/kernel.h"

#include "ops/load/broadcast.h"

namespace cormorant::ops::minimum_maximum {

Error load(Call& call) {
  MinimumMaximum<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  LoadedBroadcast loaded;
  read_int8_broadcast(call, args.self, args.other, args.out, loaded);
  swap_repeating(loaded);
  Plan plan{};
  return store_plan(call, plan, loaded);
}

}  // namespace cormorant::ops::minimum_maximum
