# SPDX-License-Identifier: Apache-2.0
# Bare-metal Cortex-M with clang. Clang brings no C or C++ library for it: headers and libraries are those of
# gcc-arm-none-eabi, found by asking that compiler (firmware/CMakeLists.txt), and its binutils archive and link. GNU ld
# also merges the objects' architecture attributes, which lets the launcher prove that no newer code slipped in.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)

set(CMAKE_C_COMPILER clang-19)
set(CMAKE_CXX_COMPILER clang++-19)
set(CMAKE_ASM_COMPILER clang-19)
set(CMAKE_C_COMPILER_TARGET arm-none-eabi)
set(CMAKE_CXX_COMPILER_TARGET arm-none-eabi)
set(CMAKE_ASM_COMPILER_TARGET arm-none-eabi)
find_program(CMAKE_AR arm-none-eabi-ar REQUIRED)
find_program(CMAKE_RANLIB arm-none-eabi-ranlib REQUIRED)
set(CORMORANT_COMPILER clang)
