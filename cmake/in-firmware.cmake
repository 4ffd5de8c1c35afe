# SPDX-License-Identifier: Apache-2.0
# These sources by add_subdirectory() or FetchContent in a firmware project: cormorant_add_model() as find_package() brings
# it, with kernels from sources, or from archives where ./dev build has made them. The programs that run on the host
# have to be there: a cross build cannot make them.
get_filename_component(root ${CMAKE_CURRENT_LIST_DIR}/.. ABSOLUTE)
find_program(CORMORANT_PROGRAM cormorant HINTS ${root}/build NO_CMAKE_FIND_ROOT_PATH)
find_program(CORMORANT_GLUE cormorant-glue HINTS ${root}/build NO_CMAKE_FIND_ROOT_PATH)
if(NOT CORMORANT_PROGRAM OR NOT CORMORANT_GLUE)
  message(FATAL_ERROR "cormorant and cormorant-glue are not there: run ./dev build in ${root}, or give their paths with "
    "-DCORMORANT_PROGRAM=… and -DCORMORANT_GLUE=…")
endif()

include(${root}/cmake/cpu-table.cmake)
cormorant_cpu_table(${root} table)
set(settings "${table}
set(CORMORANT_PROGRAM \"${CORMORANT_PROGRAM}\")
set(CORMORANT_GLUE \"${CORMORANT_GLUE}\")
set(CORMORANT_INCLUDE \"${root}/include\")
set(CORMORANT_SOURCES \"${root}\")
set(CORMORANT_ARCHIVE_DIR \"${root}/build/target\")
")
cmake_language(EVAL CODE "${settings}")
# Whoever added this folder calls the function from his own.
foreach(variable PROGRAM GLUE INCLUDE SOURCES ARCHIVE_DIR CPUS)
  set(CORMORANT_${variable} "${CORMORANT_${variable}}" CACHE INTERNAL "")
endforeach()
foreach(cpu IN LISTS CORMORANT_CPUS)
  set(archive ${CORMORANT_ARCHIVE_${cpu}})
  set(CORMORANT_ARCHIVE_${cpu} ${archive} CACHE INTERNAL "")
  set(CORMORANT_FLOAT_ABI_${archive} ${CORMORANT_FLOAT_ABI_${archive}} CACHE INTERNAL "")
endforeach()
enable_language(ASM)
include(${root}/cmake/cormorant-models.cmake)
