// SPDX-License-Identifier: Apache-2.0
#include "runner/firmware/protection.h"

#include <cstdint>

#include "runner/firmware/linked.h"

namespace cormorant {
namespace {

// The same addresses in both generations of the MPU; the two region registers differ in meaning.
struct Mpu {
  std::uint32_t type;
  std::uint32_t control;
  std::uint32_t region_number;
  std::uint32_t base;
  std::uint32_t rest;  // ARMv7-M: size and attributes; ARMv8-M: limit
};
volatile Mpu& mpu() { return *reinterpret_cast<volatile Mpu*>(0xE000ED90); }

std::uint32_t address(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

void set_region(std::uint32_t number, std::uint32_t base, std::uint32_t rest) {
  mpu().region_number = number;
  mpu().base = base;
  mpu().rest = rest;
}

#if __ARM_ARCH >= 8

void set_regions() {
  constexpr std::uint32_t kReadOnly = 0b11 << 1;
  constexpr std::uint32_t kGranule = 32;
  constexpr std::uint32_t kEnable = 1;  // attribute index 0
  volatile auto& attributes = *reinterpret_cast<volatile std::uint32_t*>(0xE000EDC0);
  attributes = 0x44;  // normal memory, not cached
  set_region(0, address(__program_start) | kReadOnly, (address(__program_end) - kGranule) | kEnable);
  set_region(1, address(__model_start) | kReadOnly, (address(__model_end) - kGranule) | kEnable);
  // The stack has its limit register.
}

#else

// Regions are powers of two, aligned to their size: the boards' memories are.
std::uint32_t size_field(std::uint32_t bytes) {
  std::uint32_t log2 = 0;
  while ((std::uint32_t{1} << log2) < bytes) ++log2;
  return (log2 - 1) << 1;
}

void set_regions() {
  constexpr std::uint32_t kEnable = 1;
  constexpr std::uint32_t kReadOnly = 0b110 << 24;
  constexpr std::uint32_t kNoAccess = 0;
  constexpr std::uint32_t kNormalMemory = 1 << 17;
  constexpr std::uint32_t kGuardBytes = 1 << 20;
  const std::uint32_t program = address(__program_start);
  const std::uint32_t model = address(__model_start);
  set_region(0, program, kReadOnly | kNormalMemory | size_field(address(__program_end) - program) | kEnable);
  set_region(1, model, kReadOnly | kNormalMemory | size_field(address(__model_end) - model) | kEnable);
  set_region(2, address(__stack_limit) - kGuardBytes, kNoAccess | size_field(kGuardBytes) | kEnable);
}

#endif

}  // namespace

void protect_memory() {
  constexpr std::uint32_t kEnable = 1;
  constexpr std::uint32_t kDefaultMapElsewhere = 1 << 2;
  constexpr std::uint32_t kRegions = 0xff << 8;
  if ((mpu().type & kRegions) == 0) return;  // a Cortex-M0 has none
  set_regions();
  mpu().control = kEnable | kDefaultMapElsewhere;
  asm volatile("dsb\n\tisb" ::: "memory");
}

}  // namespace cormorant
