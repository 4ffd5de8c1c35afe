# SPDX-License-Identifier: Apache-2.0
# For add_subdirectory() or FetchContent of these sources in a firmware project: cormorant_add_model() as from find_package(), with kernels from sources, or from archives if ./dev build has built them. The host programs must exist already: a cross build cannot build them.
get_filename_component(root ${CMAKE_CURRENT_LIST_DIR}/.. ABSOLUTE)
find_program(CORMORANT_PROGRAM cormorant HINTS ${root}/build NO_CMAKE_FIND_ROOT_PATH)
find_program(CORMORANT_GLUE cormorant-glue HINTS ${root}/build NO_CMAKE_FIND_ROOT_PATH)
if(NOT CORMORANT_PROGRAM OR NOT CORMORANT_GLUE)
  message(FATAL_ERROR "cormorant and cormorant-glue are missing: run ./dev build in ${root}, or give their paths with "
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
# The project that added this folder calls the function from its own.
foreach(variable PROGRAM GLUE INCLUDE SOURCES ARCHIVE_DIR CPUS)
  set(CORMORANT_${variable} "${CORMORANT_${variable}}" CACHE INTERNAL "")
endforeach()
foreach(cpu IN LISTS CORMORANT_CPUS)
  set(archive ${CORMORANT_ARCHIVE_${cpu}})
  set(CORMORANT_ARCHIVE_${cpu} ${archive} CACHE INTERNAL "")
  foreach(what ARCHIVE_${archive}_hard ARCHIVE_${archive}_softfp ARCHIVE_${archive}_soft MVE_${archive})
    set(CORMORANT_${what} "${CORMORANT_${what}}" CACHE INTERNAL "")
  endforeach()
endforeach()
include(${root}/cmake/cormorant-models.cmake)
