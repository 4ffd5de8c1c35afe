// SPDX-License-Identifier: Apache-2.0
//
// A struct that can be visited field by field, with the fields' names, which are written once more and no further:
//
//   struct Clamp {
//     Tensor self{};
//     std::int32_t min{}, max{};
//     OutTensor out{};
//
//     CORMORANT_FIELDS(self, min, max, out)
//   };
//   clamp.visit([](const char* name, auto& field) { … });
//
// Signatures of operators are such structs (ops/signature.h): the order is that of a program's arguments.
#pragma once

#define CORMORANT_FIELDS(...)                           \
  template <class V>                                    \
  void visit(V&& v) {                                   \
    CORMORANT_RESCAN(CORMORANT_VISIT_EACH(__VA_ARGS__)) \
  }

// One field, and a call for the others that is only expanded when what comes out is read again.
#define CORMORANT_VISIT_EACH(field, ...) \
  v(#field, this->field);                \
  __VA_OPT__(CORMORANT_VISIT_OTHERS CORMORANT_PARENTHESES(__VA_ARGS__))
#define CORMORANT_VISIT_OTHERS() CORMORANT_VISIT_EACH
#define CORMORANT_PARENTHESES ()

// Reads it 64 times: enough for as many fields.
#define CORMORANT_RESCAN(...) \
  CORMORANT_RESCAN_16(CORMORANT_RESCAN_16(CORMORANT_RESCAN_16(CORMORANT_RESCAN_16(__VA_ARGS__))))
#define CORMORANT_RESCAN_16(...) \
  CORMORANT_RESCAN_4(CORMORANT_RESCAN_4(CORMORANT_RESCAN_4(CORMORANT_RESCAN_4(__VA_ARGS__))))
#define CORMORANT_RESCAN_4(...) \
  CORMORANT_RESCAN_1(CORMORANT_RESCAN_1(CORMORANT_RESCAN_1(CORMORANT_RESCAN_1(__VA_ARGS__))))
#define CORMORANT_RESCAN_1(...) __VA_ARGS__
