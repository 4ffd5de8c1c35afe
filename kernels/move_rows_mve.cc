// SPDX-License-Identifier: Apache-2.0
//
// Each row is copied as in copy_bytes_mve, without the call. A row of up to sixteen bytes is one predicated load and
// store: the predicate is the same for all rows, so the loop can count rows instead of masking its own tail. In C++:
//   const mve_pred16_t lanes = vctp8q(bytes);
//   for (; rows > 0; --rows, to += to_step, from += from_step) vstrbq_p_s8(to, vldrbq_z_s8(from, lanes), lanes);
#include "kernels/move.h"
#include "kernels/vpr.h"

namespace cormorant {

void copy_rows_mve(std::int8_t* to, const std::int8_t* from, const RowCopy& rows) {
  if (rows.bytes <= 16) {
    asm volatile(
        "vctp.8 %[bytes]\n"
        "wls lr, %[rows], 2f\n"
        "1: vpstt\n"
        "vldrbt.u8 q0, [%[from]]\n"
        "vstrbt.8 q0, [%[to]]\n"
        "add %[from], %[from_step]\n"
        "add %[to], %[to_step]\n"
        "le lr, 1b\n"
        "2:\n"
        : [to] "+&r"(to), [from] "+&r"(from)
        : [rows] "r"(rows.rows), [bytes] "r"(rows.bytes), [to_step] "r"(rows.to_step), [from_step] "r"(rows.from_step)
        : CORMORANT_VPR "q0", "lr", "memory");
    return;
  }
  for (std::uint32_t row = 0; row < rows.rows; ++row, to += rows.to_step, from += rows.from_step) {
    copy_bytes_mve(to, from, rows.bytes);
  }
}

}  // namespace cormorant
