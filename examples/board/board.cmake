# SPDX-License-Identifier: Apache-2.0
# What a firmware project brings itself: flags for its CPU, start-up code, a console and a linker script. Here for three
# emulated boards; the project sets BOARD_CPU before it includes this, and may set BOARD_SCRIPT.
set(BOARD_FOLDER ${CMAKE_CURRENT_LIST_DIR})
if(BOARD_CPU STREQUAL cortex-m55)
  add_compile_options(-mcpu=cortex-m55 -mfloat-abi=hard)
  add_link_options(-mcpu=cortex-m55 -mfloat-abi=hard)
  set(script mps3-an547.ld)
elseif(BOARD_CPU STREQUAL cortex-m4)
  add_compile_options(-mcpu=cortex-m4 -mfpu=fpv4-sp-d16 -mfloat-abi=hard)
  add_link_options(-mcpu=cortex-m4 -mfpu=fpv4-sp-d16 -mfloat-abi=hard)
  set(script mps2.ld)
else()
  add_compile_options(-mcpu=cortex-m3)
  add_link_options(-mcpu=cortex-m3)
  set(script mps2.ld)
endif()
if(NOT BOARD_SCRIPT)
  set(BOARD_SCRIPT ${BOARD_FOLDER}/${script})
endif()
add_compile_options(-Os -Wall -Wextra -ffunction-sections -fdata-sections
  "$<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions;-fno-rtti>")

add_library(board OBJECT ${BOARD_FOLDER}/startup.S ${BOARD_FOLDER}/console.c)
target_include_directories(board PUBLIC ${BOARD_FOLDER})
target_link_options(board PUBLIC -nostartfiles -Wl,--gc-sections -Wl,--fatal-warnings -T${BOARD_SCRIPT})
