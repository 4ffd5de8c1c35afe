# SPDX-License-Identifier: Apache-2.0
find_package(GTest REQUIRED)
find_package(fmt REQUIRED)
find_package(Threads REQUIRED)

# Loops over whole tensors are worth optimising even where everything else is built to be debugged; of the sanitizers
# only the one for addresses stays, since checking every sum and product would take the tests' ten minutes alone.
function(cormorant_hot)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Debug>:-O2;-fno-sanitize=undefined>")
endfunction()

# cormorant_test(NAME planner SOURCES planner_test.cc LIBS cormorant_planner [LABELS board])
# One GoogleTest executable, registered with ctest under its name.
function(cormorant_test)
  cmake_parse_arguments(T "" "NAME;TIMEOUT" "SOURCES;LIBS;LABELS;ENVIRONMENT" ${ARGN})
  add_executable(${T_NAME}_test ${T_SOURCES})
  target_link_libraries(${T_NAME}_test PRIVATE ${T_LIBS} GTest::gtest_main)
  target_compile_definitions(${T_NAME}_test PRIVATE CORMORANT_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  add_test(NAME ${T_NAME} COMMAND ${T_NAME}_test)
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 300)
  endif()
  set_tests_properties(${T_NAME} PROPERTIES TIMEOUT ${T_TIMEOUT} LABELS "${T_LABELS}" ENVIRONMENT "${T_ENVIRONMENT}")
endfunction()
