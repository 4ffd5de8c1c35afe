# SPDX-License-Identifier: Apache-2.0
# `cmake --install`: the program, what firmware includes and links, and what it can be compiled from. No absolute paths are written, so the tree can be moved. The archives are those of the preset target-gcc, as far as they are built.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
include(${CMAKE_CURRENT_LIST_DIR}/cpu-table.cmake)

install(TARGETS cormorant cormorant_glue RUNTIME DESTINATION bin)
install(FILES $<TARGET_FILE:count_plugin> DESTINATION lib/cormorant)
install(DIRECTORY include/cormorant DESTINATION include)
set(said cormorant.1 cormorant.bash cormorant.zsh) # what the program says about itself
list(TRANSFORM said PREPEND ${CMAKE_BINARY_DIR}/)
add_custom_command(OUTPUT ${said} DEPENDS cormorant
  COMMAND cormorant manual > ${CMAKE_BINARY_DIR}/cormorant.1
  COMMAND cormorant completion bash > ${CMAKE_BINARY_DIR}/cormorant.bash
  COMMAND cormorant completion zsh > ${CMAKE_BINARY_DIR}/cormorant.zsh)
add_custom_target(cormorant_manual ALL DEPENDS ${said})
install(FILES ${CMAKE_BINARY_DIR}/cormorant.1 DESTINATION share/man/man1)
# Where the shells look for the completion of a command by its name.
install(FILES ${CMAKE_BINARY_DIR}/cormorant.bash DESTINATION share/bash-completion/completions RENAME cormorant)
install(FILES ${CMAKE_BINARY_DIR}/cormorant.zsh DESTINATION share/zsh/site-functions RENAME _cormorant)

set(package ${CMAKE_BINARY_DIR}/package)
cormorant_cpu_table(${PROJECT_SOURCE_DIR} CORMORANT_CPU_TABLE)
configure_file(cmake/cormorant-config.cmake.in ${package}/cormorant-config.cmake @ONLY)
write_basic_package_version_file(${package}/cormorant-config-version.cmake COMPATIBILITY SameMinorVersion
  ARCH_INDEPENDENT) # the project that uses it is built for a Cortex-M
install(FILES ${package}/cormorant-config.cmake ${package}/cormorant-config-version.cmake cmake/cormorant-models.cmake
  DESTINATION lib/cmake/cormorant)

install(DIRECTORY ${CORMORANT_TARGET_DIR}/gcc DESTINATION lib/cormorant/target
  FILES_MATCHING PATTERN "lib*.a" PATTERN "link.txt" PATTERN "CMakeFiles" EXCLUDE PATTERN "generated" EXCLUDE PATTERN "firmware" EXCLUDE)

# Sources of what runs on a Cortex-M, and the boards' linker scripts.
set(sources share/cormorant/sources)
foreach(room base formats/pte include kernels ops runtime)
  install(DIRECTORY ${room}/ DESTINATION ${sources}/${room} FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp"
    PATTERN "testdata" EXCLUDE PATTERN "ops/host" EXCLUDE)
endforeach()
install(DIRECTORY kernels/ DESTINATION ${sources}/kernels FILES_MATCHING PATTERN "*.cc" PATTERN "*_test.cc" EXCLUDE)
install(DIRECTORY ops/ DESTINATION ${sources}/ops FILES_MATCHING PATTERN "kernel*.cc" PATTERN "operators.cmake"
  PATTERN "*_test.cc" EXCLUDE)
install(DIRECTORY runtime/ DESTINATION ${sources}/runtime FILES_MATCHING PATTERN "*.cc"
  PATTERN "*_test.cc" EXCLUDE PATTERN "*_fuzz.cc" EXCLUDE PATTERN "host*.cc" EXCLUDE)
install(FILES base/describe.cc DESTINATION ${sources}/base)
install(FILES formats/pte/reader.cc DESTINATION ${sources}/formats/pte)
install(FILES audio/log_mel.c DESTINATION ${sources}/audio)
install(FILES python/cormorant/log_mel.py DESTINATION ${sources}/python/cormorant)
install(DIRECTORY boards DESTINATION ${sources})
install(FILES target/target.h DESTINATION ${sources}/target)
install(FILES firmware/cpus.cmake firmware/sources.cmake DESTINATION ${sources}/firmware)
# Examples find these models next to them, here as in the repository.
install(DIRECTORY examples DESTINATION share/cormorant)
install(FILES docs/tutorial/wave.pt2 docs/tutorial/wave_calibration.npz DESTINATION share/cormorant/docs/tutorial)
install(FILES zoo/digits.pt2 zoo/digits_calibration.npz DESTINATION share/cormorant/zoo)
install(DIRECTORY docs/ DESTINATION share/doc/cormorant FILES_MATCHING PATTERN "*.md" PATTERN "*.svg"
  PATTERN "tutorial" EXCLUDE PATTERN "troubleshooting" EXCLUDE PATTERN "python" EXCLUDE) # have only data
install(FILES LICENSE DESTINATION share/doc/cormorant RENAME copyright)

set(CPACK_GENERATOR "DEB;TGZ")
set(CPACK_PACKAGE_NAME cormorant)
set(CPACK_PACKAGE_CONTACT "The Cormorant developers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "PyTorch models on Arm Cortex-M: compiler, runtime and kernels")
set(CPACK_PACKAGE_FILE_NAME ${CPACK_PACKAGE_NAME}-${PROJECT_VERSION}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "gcc-arm-none-eabi, libnewlib-arm-none-eabi, qemu-system-arm, cmake")
set(CPACK_STRIP_FILES OFF) # the host's strip cannot handle archives for Arm
include(CPack)
