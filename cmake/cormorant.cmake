# SPDX-License-Identifier: Apache-2.0
find_package(GTest REQUIRED)
find_package(fmt REQUIRED)
find_package(Threads REQUIRED)

# Loops over whole tensors are worth optimizing even where everything else is built to be debugged; of the sanitizers
# only the address sanitizer stays, since checking every sum and product would by itself use up the tests' ten minutes.
function(cormorant_hot)
  cormorant_optimize("-O2;-fno-sanitize=undefined" ${ARGN})
endfunction()

# cormorant_optimize(OPTIONS sources…): optimized in debug builds too.
function(cormorant_optimize options)
  if(CORMORANT_PRECOMPILE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(header ${CMAKE_BINARY_DIR}/CMakeFiles/cormorant_precompiled_fast.dir/cmake_pch.hxx)
    list(APPEND options -Xclang -include-pch -Xclang ${header}.pch)
    set_source_files_properties(${ARGN} PROPERTIES OBJECT_DEPENDS ${header}.pch)
  endif()
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Debug>:${options}>"
    SKIP_PRECOMPILE_HEADERS ON) # it was built with other options
endfunction()

# cormorant_unity(target [ALONE sources…]): compiles the target's sources as one where headers are precompiled. Names in
# anonymous namespaces must then differ; sources where they do not are compiled alone, as are those with options of their
# own.
function(cormorant_unity target)
  cmake_parse_arguments(U "" "" "ALONE" ${ARGN})
  if(CORMORANT_PRECOMPILE)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 14)
    set_source_files_properties(${U_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()

# Options for our own targets; targets that dependencies add are not ours to warn about.
set(CORMORANT_WARNINGS -Wall -Wextra -Wpedantic -Wconversion -Wshadow)
if(CORMORANT_WARNINGS_ARE_ERRORS)
  list(APPEND CORMORANT_WARNINGS -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # gcc 12 reports these, wrongly, in the standard library's inlined code.
  list(APPEND CORMORANT_WARNINGS -Wno-restrict -Wno-free-nonheap-object -Wno-stringop-overflow -Wno-array-bounds)
endif()

# cormorant_targets(DIRECTORY result): everything compiled there and below.
function(cormorant_targets directory result)
  set(found "")
  get_property(targets DIRECTORY ${directory} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(type MATCHES "STATIC_LIBRARY|OBJECT_LIBRARY|MODULE_LIBRARY|SHARED_LIBRARY|EXECUTABLE")
      list(APPEND found ${target})
    endif()
  endforeach()
  get_property(below DIRECTORY ${directory} PROPERTY SUBDIRECTORIES)
  foreach(subdirectory IN LISTS below)
    cormorant_targets(${subdirectory} deeper)
    list(APPEND found ${deeper})
  endforeach()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

# Only hanging tests are killed: no test fails because a machine is slow.
set(CORMORANT_TEST_TIMEOUT 3600)

# cormorant_precompile_headers(targets…): all of them include one precompiled header, those in CORMORANT_FAST another
# one built with their options, since compiling a source of this size is mostly reading its headers. The code of the
# header's inline functions and templates is compiled once, to an object that everything links, instead of in every
# source. Not with ccache, which would have to be told to trust it.
function(cormorant_precompile_headers)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/precompiled.cc CONTENT "")
  separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_DEBUG}")
  foreach(precompiled cormorant_precompiled cormorant_precompiled_fast)
    add_library(${precompiled} OBJECT ${CMAKE_BINARY_DIR}/precompiled.cc)
    target_link_libraries(${precompiled} PRIVATE fmt::fmt GTest::gtest)
    target_precompile_headers(${precompiled} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/precompiled.h)
    target_compile_options(${precompiled} PRIVATE -Xclang=-fmodules-codegen)
  endforeach()
  set(header ${CMAKE_BINARY_DIR}/CMakeFiles/cormorant_precompiled.dir/cmake_pch.hxx.pch)
  set(object ${CMAKE_BINARY_DIR}/precompiled.o)
  add_custom_command(OUTPUT ${object} DEPENDS ${header} COMMAND_EXPAND_LISTS VERBATIM
    COMMAND ${CMAKE_CXX_COMPILER} ${flags} $<TARGET_PROPERTY:cormorant_precompiled,COMPILE_OPTIONS> -fdata-sections
      -c ${header} -o ${object})
  add_library(cormorant_precompiled_code STATIC ${object})
  set_target_properties(cormorant_precompiled_code PROPERTIES LINKER_LANGUAGE CXX)
  # Named as a file and not as a target: else nothing would be compiled before this object is.
  set(code ${CMAKE_BINARY_DIR}/libcormorant_precompiled_code.a)
  foreach(target IN LISTS ARGN)
    get_target_property(type ${target} TYPE)
    if(type MATCHES "EXECUTABLE|MODULE_LIBRARY|SHARED_LIBRARY")
      target_link_libraries(${target} PRIVATE ${code})
      set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${code})
    endif()
    if(NOT type MATCHES "STATIC_LIBRARY|OBJECT_LIBRARY|EXECUTABLE")
      continue()
    endif()
    if(target IN_LIST CORMORANT_FAST)
      target_precompile_headers(${target} REUSE_FROM cormorant_precompiled_fast)
    else()
      target_precompile_headers(${target} REUSE_FROM cormorant_precompiled)
    endif()
  endforeach()
endfunction()

option(CORMORANT_JOIN_TESTS "Link the tests to a few executables: all of them are built in less time, one of them in more" OFF)

# cormorant_test(NAME planner SOURCES planner_test.cc LIBS cormorant_planner [LABELS board] [COST 20] [ALONE])
# GoogleTests, registered with ctest under their name. Those of high cost start first: at the end they would run alone.
# They have an executable of their own, NAME_test, or share one with others if CORMORANT_JOIN_TESTS; NAME_test then builds
# that one. ALONE: never, since they replace what others test. NAME_test_command and NAME_test_sources are what to call,
# and the environment in which it runs these tests.
function(cormorant_test)
  cmake_parse_arguments(T "ALONE" "NAME;COST" "SOURCES;LIBS;LABELS;ENVIRONMENT" ${ARGN})
  if(CORMORANT_JOIN_TESTS AND NOT T_ALONE)
    file(RELATIVE_PATH room ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
    set(executable joined_rooms_test)
    if(room MATCHES "^(ops|tests)")
      set(executable joined_${CMAKE_MATCH_1}_test)
    endif()
    if(NOT TARGET ${executable})
      add_executable(${executable} ${CMAKE_SOURCE_DIR}/tests/joined_main.cc)
      target_link_libraries(${executable} PRIVATE fmt::fmt GTest::gtest)
    endif()
    set(objects ${T_NAME}_objects_test)
    add_library(${objects} OBJECT ${T_SOURCES})
    target_link_libraries(${objects} PUBLIC ${T_LIBS} GTest::gtest)
    target_link_libraries(${executable} PRIVATE ${objects})
    add_custom_target(${T_NAME}_test DEPENDS ${executable})
    set(tests ${T_SOURCES})
    list(FILTER tests INCLUDE REGEX "_test\\.cc$")
    set(absolute "")
    foreach(test IN LISTS tests)
      get_filename_component(test ${test} ABSOLUTE)
      list(APPEND absolute ${test})
    endforeach()
    list(JOIN absolute ":" sources)
    set(sources CORMORANT_TEST_SOURCES=${sources})
  else()
    set(executable ${T_NAME}_test)
    set(objects ${executable})
    set(sources "")
    add_executable(${executable} ${T_SOURCES})
    target_link_libraries(${executable} PRIVATE ${T_LIBS} GTest::gtest_main)
  endif()
  target_compile_definitions(${objects} PRIVATE CORMORANT_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  list(APPEND T_ENVIRONMENT ${sources})
  add_test(NAME ${T_NAME} COMMAND ${executable})
  set_tests_properties(${T_NAME} PROPERTIES TIMEOUT ${CORMORANT_TEST_TIMEOUT} LABELS "${T_LABELS}"
    ENVIRONMENT "${T_ENVIRONMENT}")
  if(T_COST)
    set_tests_properties(${T_NAME} PROPERTIES COST ${T_COST})
  endif()
  set(${T_NAME}_test_command ${executable} PARENT_SCOPE)
  set(${T_NAME}_test_sources ${sources} PARENT_SCOPE)
endfunction()
