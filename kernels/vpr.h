// SPDX-License-Identifier: Apache-2.0
//
// Inline assembly that sets MVE's predicate register (VCTP, VCMP, VPT, VPST) says so in its list of clobbers:
//   asm volatile("vctp.8 %0\n…" : … : … : CORMORANT_VPR "q0", "memory");
// gcc calls the register p0. clang has no name for it and could keep a predicate there, so none is created before such
// assembly and used after it. Naked functions need not say anything, because a call preserves no predicate.
#pragma once

#if defined(__clang__)
#define CORMORANT_VPR
#else
#define CORMORANT_VPR "p0",
#endif
