# SPDX-License-Identifier: Apache-2.0
# Bare-metal Cortex-M with gcc-arm-none-eabi. The CPU is not chosen here: one build produces the archives for all of
# them.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY) # nothing links without a linker script

set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_CXX_COMPILER arm-none-eabi-g++)
set(CMAKE_ASM_COMPILER arm-none-eabi-gcc)
set(CORMORANT_COMPILER gcc)
