# SPDX-License-Identifier: Apache-2.0
# What runs on a Cortex-M, as lists of sources. Kernels are found by name in the operators' folders, and the end of a
# name says which instruction set it is for.

# An operator without a kernel file for some code of its list (ops/load/kernel_list.h) consists of loops that are
# elsewhere: the file is generated here. Nothing where the list has no such line.
function(cormorant_generated_kernels root operator code name result)
  set(${result} "" PARENT_SCOPE)
  if(NOT EXISTS ${root}/ops/${operator}/kernel.h)
    return()
  endif()
  if(code STREQUAL "any_cpu")
    file(STRINGS ${root}/ops/${operator}/${operator}.h lines REGEX "^ *(OURS|THEIRS|FOREIGN)\\(.*, any_cpu,")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${root}/ops/${operator}/${operator}.h)
    if(NOT lines)
      return()
    endif()
  endif()
  set(file ${CMAKE_BINARY_DIR}/generated/${operator}/${name}.cc)
  string(TOUPPER ${operator} kernel_list)
  file(CONFIGURE OUTPUT ${file} CONTENT
"// Generated from the list in ops/@operator@/@operator@.h.
#include \"ops/@operator@/kernel.h\"
namespace cormorant::ops::@operator@ {}
namespace cormorant::ops {
using namespace @operator@;
CORMORANT_KERNELS(CORMORANT_@kernel_list@_KERNELS, @code@)
}
" @ONLY)
  set(${result} ${file} PARENT_SCOPE)
endfunction()

# cormorant_list_sources(ROOT PREFIX): PREFIX_runtime, PREFIX_check (a kernel.cc checks and unpacks arguments: it runs once
# per load), PREFIX_float (exist once, in C++ that every CPU's compiler turns into the same operations: those in float, and
# those for activations of 16 bits), PREFIX_scalar, PREFIX_dsp, PREFIX_mve
macro(cormorant_list_sources root prefix)
  include(${root}/ops/operators.cmake)
  file(GLOB ${prefix}_runtime CONFIGURE_DEPENDS ${root}/runtime/*.cc)
  list(FILTER ${prefix}_runtime EXCLUDE REGEX "_test\\.cc$|/host[^/]*\\.cc$|_fuzz\\.cc$")
  list(APPEND ${prefix}_runtime ${root}/base/describe.cc ${root}/formats/pte/reader.cc)
  foreach(list check float scalar dsp mve)
    set(${prefix}_${list} "")
  endforeach()
  foreach(operator IN LISTS CORMORANT_OPERATORS)
    foreach(isa scalar dsp mve)
      file(GLOB found CONFIGURE_DEPENDS ${root}/ops/${operator}/kernel_${isa}*.cc)
      if(NOT found)
        cormorant_generated_kernels(${root} ${operator} ${isa} kernel_${isa} found)
      endif()
      list(APPEND ${prefix}_${isa} ${found})
    endforeach()
    foreach(kernel "check;kernel.cc" "float;kernel_float.cc" "float;kernel_words.cc")
      list(GET kernel 0 list)
      list(GET kernel 1 file)
      if(EXISTS ${root}/ops/${operator}/${file})
        list(APPEND ${prefix}_${list} ${root}/ops/${operator}/${file})
      elseif(list STREQUAL "float" AND file STREQUAL "kernel_float.cc")
        cormorant_generated_kernels(${root} ${operator} any_cpu kernel_float found)
        list(APPEND ${prefix}_float ${found})
      endif()
    endforeach()
  endforeach()
  foreach(isa scalar dsp mve)
    file(GLOB found CONFIGURE_DEPENDS ${root}/kernels/*_${isa}.cc)
    list(APPEND ${prefix}_${isa} ${found})
  endforeach()
  file(GLOB found CONFIGURE_DEPENDS ${root}/kernels/*_float.cc)
  list(APPEND ${prefix}_float ${found})
  # MVE's float vectors flush subnormal numbers: only code that checks for that may use them, not a vectorizer.
  set(found ${${prefix}_mve})
  list(FILTER found INCLUDE REGEX "float")
  set_source_files_properties(${found} PROPERTIES COMPILE_OPTIONS "-fno-tree-vectorize;-fno-tree-slp-vectorize")
endmacro()

# Everything that the CPUs of an archive can use. What runs once is compiled for size.
function(cormorant_target_sources root archive result)
  set(CORMORANT_ROOT ${root})
  include(${root}/firmware/cpus.cmake)
  cormorant_list_sources(${root} all)
  set(sources ${all_runtime} ${all_check} ${all_float})
  set_source_files_properties(${all_runtime} ${all_check} PROPERTIES COMPILE_OPTIONS -Os)
  set_source_files_properties(${all_float} PROPERTIES COMPILE_OPTIONS "-fno-tree-vectorize;-fno-tree-slp-vectorize")
  # Their assembly leaves gcc without a register to spare where it inlines less.
  set_property(SOURCE ${all_mve} APPEND PROPERTY COMPILE_OPTIONS -O2)
  foreach(isa scalar dsp mve)
    if(CORMORANT_FLAGS_${archive}_${isa})
      list(APPEND sources ${all_${isa}})
    endif()
  endforeach()
  set(${result} ${sources} PARENT_SCOPE)
endfunction()
