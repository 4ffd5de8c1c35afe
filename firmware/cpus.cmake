# SPDX-License-Identifier: Apache-2.0
# What the build needs to know about the CPUs. Which exist, and which of them share an archive and a board, is read from
# target/target.h, the one list; this has only the compilers' flags for each archive.

# The Cpu table's lines: {"cortex-m4", Isa::dsp, "m4", "mps2-an386", true, true}
file(STRINGS ${CORMORANT_ROOT}/target/target.h cpu_lines REGEX "^ *{\"cortex-m")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CORMORANT_ROOT}/target/target.h)
set(CORMORANT_CPUS "")
set(CORMORANT_ARCHIVES "")
foreach(line IN LISTS cpu_lines)
  if(NOT line MATCHES "\"(cortex-m[0-9a-z]+)\", Isa::[a-z]+, \"([a-z0-9]+)\", \"([a-z0-9-]+)\"")
    message(FATAL_ERROR "target/target.h: cannot read the CPU in: ${line}")
  endif()
  set(cpu_archive ${CMAKE_MATCH_2}) # the including file uses the shorter name
  list(APPEND CORMORANT_CPUS ${CMAKE_MATCH_1})
  set(CORMORANT_ARCHIVE_${CMAKE_MATCH_1} ${cpu_archive})
  set(CORMORANT_BOARD_${cpu_archive} ${CMAKE_MATCH_3})
  list(APPEND CORMORANT_ARCHIVES ${cpu_archive})
endforeach()
list(REMOVE_DUPLICATES CORMORANT_ARCHIVES)

# flags: the whole CPU. scalar, dsp, mve: the same, reduced to what the instruction set of a *_<isa>.cc file may use, so
# that --isa=scalar on a Cortex-M55 measures scalar code, not an auto-vectorizer's. An ISA without an entry is one that
# the CPU does not have. Cortex-M4 and M7 cannot be told to do without DSP instructions.
set(single_precision_v4 -mfpu=fpv4-sp-d16 -mfloat-abi=hard)
set(single_precision_v5 -mfpu=fpv5-sp-d16 -mfloat-abi=hard) # also for the M7s without double precision

set(CORMORANT_FLAGS_m0 -mcpu=cortex-m0)
set(CORMORANT_FLAGS_m0_scalar ${CORMORANT_FLAGS_m0})
set(CORMORANT_FLAGS_m3 -mcpu=cortex-m3)
set(CORMORANT_FLAGS_m3_scalar ${CORMORANT_FLAGS_m3})
set(CORMORANT_FLAGS_m4 -mcpu=cortex-m4 ${single_precision_v4})
set(CORMORANT_FLAGS_m4_scalar ${CORMORANT_FLAGS_m4})
set(CORMORANT_FLAGS_m4_dsp ${CORMORANT_FLAGS_m4})
set(CORMORANT_FLAGS_m7 -mcpu=cortex-m7 ${single_precision_v5})
set(CORMORANT_FLAGS_m7_scalar ${CORMORANT_FLAGS_m7})
set(CORMORANT_FLAGS_m7_dsp ${CORMORANT_FLAGS_m7} -DCORMORANT_DUAL_ISSUE) # loops scheduled for dual issue
set(CORMORANT_FLAGS_m23 -mcpu=cortex-m23)
set(CORMORANT_FLAGS_m23_scalar ${CORMORANT_FLAGS_m23})
set(CORMORANT_FLAGS_m33 -mcpu=cortex-m33 ${single_precision_v5})
set(CORMORANT_FLAGS_m33_scalar -mcpu=cortex-m33+nodsp ${single_precision_v5})
set(CORMORANT_FLAGS_m33_dsp ${CORMORANT_FLAGS_m33})
set(CORMORANT_FLAGS_m55 -mcpu=cortex-m55 -mfloat-abi=hard)
set(CORMORANT_FLAGS_m55_scalar -mcpu=cortex-m55+nodsp -mfloat-abi=hard) # MVE requires DSP: both are off
set(CORMORANT_FLAGS_m55_dsp -mcpu=cortex-m55+nomve -mfloat-abi=hard)
set(CORMORANT_FLAGS_m55_mve ${CORMORANT_FLAGS_m55})

# How floats are passed to functions: each CPU's flags say one way, and archives for the others are compiled for firmware
# whose code passes them so. softfp passes them in integer registers and computes in the FPU; soft uses no register of it,
# and therefore no vectors of MVE.
foreach(archive IN LISTS CORMORANT_ARCHIVES)
  set(CORMORANT_FLOAT_ABIS_${archive} soft)
  if("-mfloat-abi=hard" IN_LIST CORMORANT_FLAGS_${archive})
    set(CORMORANT_FLOAT_ABIS_${archive} hard softfp soft)
  endif()
endforeach()

# cormorant_archive_name(ARCHIVE ABI RESULT): the folder of its archives, m4 or m4-soft.
function(cormorant_archive_name archive abi result)
  list(GET CORMORANT_FLOAT_ABIS_${archive} 0 usual)
  set(name ${archive})
  if(NOT abi STREQUAL usual)
    string(APPEND name -${abi})
  endif()
  set(${result} ${name} PARENT_SCOPE)
endfunction()

# Kernels are written for speed, but their inner loops are assembly: -O3's unrolling of the rest gains 1 % of KWS's
# instructions on M4 (gcc) and costs 12 % of its code.
foreach(archive IN LISTS CORMORANT_ARCHIVES)
  set(CORMORANT_OPTIMIZE_${archive} -O2)
endforeach()
