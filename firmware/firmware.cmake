# SPDX-License-Identifier: Apache-2.0
# firmware.elf from one model, for those who flash it themselves. For a board other than the emulated one, copy a
# board.ld, enter its memories, and pass it with -DCORMORANT_LINKER_SCRIPT. The harness uses semihosting, so a debugger
# shows the report; a product replaces runner/firmware/main.cc with its own main().
set(CORMORANT_LINKER_SCRIPT "" CACHE FILEPATH "Instead of the emulated board's")
set(CORMORANT_STATE_BYTES 0 CACHE STRING "RAM for the runtime's state; 0 for all that is left. The report says how much was used")
set(CORMORANT_ISA "" CACHE STRING "scalar, dsp or mve, as the model was compiled; empty for the CPU's default")
find_program(CORMORANT_GLUE cormorant-glue PATHS ${CORMORANT_ROOT}/build NO_DEFAULT_PATH)
if(NOT CORMORANT_GLUE)
  message(FATAL_ERROR "cormorant-glue is not built: run ./dev build first, or give its path with -DCORMORANT_GLUE")
endif()

get_filename_component(model ${CORMORANT_MODEL} ABSOLUTE BASE_DIR ${CORMORANT_ROOT})
set(isa "")
if(CORMORANT_ISA)
  set(isa --isa=${CORMORANT_ISA})
endif()
set(kernels ${CMAKE_BINARY_DIR}/${archive}/libkernels.a)
add_custom_command(
  OUTPUT ${CMAKE_BINARY_DIR}/model.S
  COMMAND ${CORMORANT_GLUE} ${model} --target=${CORMORANT_CPU} ${isa} --kernels=${kernels} --state=${CORMORANT_STATE_BYTES}
          -o ${CMAKE_BINARY_DIR}/model.S
  DEPENDS ${model} ${archive} VERBATIM)

set(link ${CORMORANT_LINK_${archive}})
if(CORMORANT_LINKER_SCRIPT)
  list(FILTER link EXCLUDE REGEX "^-T")
  list(APPEND link -T${CORMORANT_LINKER_SCRIPT})
endif()
list(POP_FRONT link driver)
add_custom_command(
  OUTPUT ${CMAKE_BINARY_DIR}/firmware.elf
  COMMAND ${driver} ${CMAKE_BINARY_DIR}/model.S ${link} -o ${CMAKE_BINARY_DIR}/firmware.elf
          -Wl,-Map=${CMAKE_BINARY_DIR}/firmware.map
  DEPENDS ${CMAKE_BINARY_DIR}/model.S ${archive} VERBATIM)
add_custom_target(firmware ALL DEPENDS ${CMAKE_BINARY_DIR}/firmware.elf)
