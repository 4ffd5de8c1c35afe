# SPDX-License-Identifier: Apache-2.0
# Models in a user's firmware project. Included by find_package(cormorant), and by add_subdirectory() or
# FetchContent of the sources; see docs/embedding.md for how to use it.
#
#   cormorant_add_model(TARGET_OF_YOURS
#     MODEL kws.pt2           a model, or a program (.pte), which is linked unchanged
#     TARGET cortex-m55       or as the program takes it: m55
#     [CALIBRATE data.npz]    like `cormorant compile --calibrate`
#     [NAME kws]              prefix of its symbols, and name of its header; default: the model's name
#     [OPTIONS --io=int8 …]   further options of `cormorant compile`; --layer-settings=FILE is relative to this folder
#     [ARENA shared]          name of an arena that several models share; only one of them may run at a time
#     [ISA scalar|dsp|mve]    default: the CPU's
#     [STATE bytes]           size of the runtime's state; default: exactly what the model needs
#     [FROM archives|sources] prebuilt kernels for the CPU and this project's -mfloat-abi (by gcc), or kernels compiled
#                             with this project's compiler and flags, which needs C++20. Default: archives if there
#                             are any, else sources
#   )
#
# compiles the model when it, its data or its --layer-settings change, links exactly the kernels that it calls, and writes NAME.h.
#
#   cormorant_add_log_mel(TARGET_OF_YOURS NAME features
#     [RATE 16000] [WINDOW 480] [HOP 320] [FFT 512] [MELS 40]   in samples
#     [LOW 20] [HIGH 8000])                                     in hertz
#
# adds the fixed-point log-mel front end (cormorant/log_mel.h), compiled with this project's C compiler, and tables in
# NAME.h. It is for audio, and does not need a model. See docs/audio.md.
#
# The including file sets CORMORANT_PROGRAM and CORMORANT_GLUE (the host's programs), CORMORANT_INCLUDE,
# CORMORANT_SOURCES (the tree that kernels are compiled from), CORMORANT_ARCHIVE_DIR (gcc/m55/libkernels.a; may be
# empty), for each CPU CORMORANT_ARCHIVE_<cpu>, and for each of these CORMORANT_ARCHIVE_<archive>_<float ABI>, a folder.
include_guard()

# Fails unless this folder can compile a language. That it is enabled somewhere does not suffice: enable_language() of a
# folder that was added, such as Cormorant's own, does not count here.
function(cormorant_require_language language what)
  if(NOT DEFINED CMAKE_${language}_COMPILE_OBJECT)
    message(FATAL_ERROR "${what}: add ${language} to the LANGUAGES of project()")
  endif()
endfunction()

# How this project passes floats, hard, softfp or soft, according to its compiler. Nothing if its flags do not name a
# Cortex-M.
function(cormorant_float_abi result)
  set(language CXX)
  if(DEFINED CMAKE_C_COMPILE_OBJECT)
    set(language C)
  endif()
  separate_arguments(flags UNIX_COMMAND "${CMAKE_${language}_FLAGS}")
  get_directory_property(options COMPILE_OPTIONS)
  list(FILTER options INCLUDE REGEX "^-m")
  set(target "")
  if(CMAKE_${language}_COMPILER_TARGET)
    set(target --target=${CMAKE_${language}_COMPILER_TARGET})
  endif()
  set(probed "${target} ${flags} ${options}")
  # zephyr/CMakeLists.txt, which knows better than a probe, has set it.
  if(NOT DEFINED CACHE{CORMORANT_FLOAT_ABI} OR
      (DEFINED CACHE{CORMORANT_PROBED} AND NOT probed STREQUAL "${CORMORANT_PROBED}"))
    set(probe ${CMAKE_BINARY_DIR}/CMakeFiles/cormorant_float_abi.c)
    file(WRITE ${probe} "#if defined(__ARM_PCS_VFP)\ncormorant_hard\n"
      "#elif defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)\ncormorant_softfp\n#else\ncormorant_soft\n#endif\n"
      "#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'\ncormorant_cortex_m\n#endif\n")
    execute_process(COMMAND ${CMAKE_${language}_COMPILER} ${target} ${flags} ${options} -x c -E -P ${probe}
      OUTPUT_VARIABLE text ERROR_QUIET)
    set(abi "")
    if(text MATCHES cormorant_cortex_m AND text MATCHES "cormorant_(hard|softfp|soft)")
      set(abi ${CMAKE_MATCH_1})
    endif()
    set(CORMORANT_FLOAT_ABI "${abi}" CACHE INTERNAL "hard, softfp or soft, as this project passes floats")
    set(CORMORANT_PROBED "${probed}" CACHE INTERNAL "what it was found with")
  endif()
  set(${result} ${CORMORANT_FLOAT_ABI} PARENT_SCOPE)
endfunction()

function(cormorant_require_cortex_m abi)
  if(NOT abi)
    message(FATAL_ERROR "cormorant_add_model: the compiler's flags in this folder do not name a Cortex-M. Kernels are "
      "compiled or chosen by CMAKE_C_FLAGS, CMAKE_CXX_FLAGS and add_compile_options(), not by the options of targets: put "
      "-mcpu and -mfloat-abi there, best in a toolchain file, or choose FROM archives")
  endif()
endfunction()

# What kernels would be compiled with in this folder. Warnings do not matter, and definitions only if they are for us.
function(cormorant_folder_flags result)
  set(flags ${CMAKE_CXX_COMPILER_TARGET} ${CMAKE_CXX_FLAGS} asm ${CMAKE_ASM_FLAGS})
  foreach(configuration IN LISTS CMAKE_CONFIGURATION_TYPES CMAKE_BUILD_TYPE)
    string(TOUPPER ${configuration} upper)
    list(APPEND flags ${CMAKE_CXX_FLAGS_${upper}} asm ${CMAKE_ASM_FLAGS_${upper}})
  endforeach()
  get_directory_property(options COMPILE_OPTIONS)
  list(FILTER options EXCLUDE REGEX "^-W[a-z0-9+-]+(=.*)?$")
  get_directory_property(definitions COMPILE_DEFINITIONS)
  list(FILTER definitions INCLUDE REGEX "CORMORANT_")
  string(JOIN " " flags ${flags} ${options} ${definitions} "pic=${CMAKE_POSITION_INDEPENDENT_CODE}"
    "lto=${CMAKE_INTERPROCEDURAL_OPTIMIZATION}")
  set(${result} "${flags}" PARENT_SCOPE)
endfunction()

# The libraries of one CPU: cormorant_kernels_<archive>, from archives or sources. From sources there is one for all
# folders that have the same flags.
function(cormorant_kernel_library cpu from isa result)
  set(archive "${CORMORANT_ARCHIVE_${cpu}}")
  if(NOT archive)
    message(FATAL_ERROR "cormorant_add_model: TARGET is '${cpu}', which is not one of: ${CORMORANT_CPUS}")
  endif()
  cormorant_float_abi(abi)
  if(abi STREQUAL soft AND CORMORANT_MVE_${archive} AND (NOT isa OR isa STREQUAL mve))
    message(FATAL_ERROR "cormorant_add_model: this project is compiled with -mfloat-abi=soft, which leaves no registers to "
      "MVE: choose -mfloat-abi=hard or softfp, or ISA dsp, which takes several times as long")
  endif()
  set(name ${archive})
  if(CORMORANT_ARCHIVE_${archive}_${abi})
    set(name ${CORMORANT_ARCHIVE_${archive}_${abi}})
  endif()
  set(folder ${CORMORANT_ARCHIVE_DIR}/gcc/${name})
  if(NOT from)
    cormorant_require_cortex_m("${abi}")
    set(from sources)
    if(CORMORANT_ARCHIVE_${archive}_${abi} AND EXISTS ${folder}/libkernels.a)
      set(from archives)
    endif()
  endif()
  set(library cormorant_kernels_${name}_${from})
  if(from STREQUAL sources)
    cormorant_folder_flags(flags)
    set(number 1)
    while(TARGET ${library})
      get_target_property(others ${library} CORMORANT_FLAGS)
      if(others STREQUAL flags)
        break()
      endif()
      math(EXPR number "${number} + 1")
      set(library cormorant_kernels_${name}_sources_${number})
    endwhile()
  endif()
  if(NOT TARGET ${library})
    message(STATUS "Cormorant: kernels for ${cpu} from ${from}")
    if(from STREQUAL archives)
      if(NOT EXISTS ${folder}/libkernels.a)
        message(FATAL_ERROR "cormorant_add_model: there are no archives for ${cpu} and -mfloat-abi=${abi} in ${folder}; "
          "use FROM sources")
      endif()
      foreach(part kernels runtime)
        set(imported cormorant_${part}_${name}_archives)
        add_library(${imported} STATIC IMPORTED GLOBAL)
        set_target_properties(${imported} PROPERTIES IMPORTED_LOCATION ${folder}/lib${part}.a
          IMPORTED_LINK_INTERFACE_LANGUAGES C)
      endforeach()
      cormorant_c_library(after)
      set_property(TARGET ${library} PROPERTY INTERFACE_LINK_LIBRARIES cormorant_runtime_${name}_archives ${after})
    else()
      cormorant_require_cortex_m("${abi}")
      string(CONCAT why "cormorant_add_model: kernels for ${cpu} must be compiled from sources here (there are no archives "
        "for -mfloat-abi=${abi} in ${folder}, or FROM sources asks for it), and they are C++20, while your own code may "
        "stay in C")
      cormorant_require_language(CXX "${why}")
      cormorant_compile_kernels(${library} ${archive} ${abi})
      set_property(TARGET ${library} PROPERTY CORMORANT_FLAGS "${flags}")
    endif()
  endif()
  set(${result} ${library} PARENT_SCOPE)
endfunction()

# What kernels need of the C library and the compiler's own, for projects whose options (-nostdlib) leave both to them. A
# linker looks in them for what precedes them, so they are named after the kernels. Zephyr has a C library of its own.
function(cormorant_c_library result)
  set(libraries m)
  if(NOT TARGET zephyr_interface)
    list(APPEND libraries c)
    if("GNU" IN_LIST CMAKE_C_COMPILER_ID OR "GNU" IN_LIST CMAKE_CXX_COMPILER_ID)
      list(APPEND libraries gcc)
    endif()
  endif()
  set(${result} ${libraries} PARENT_SCOPE)
endfunction()

# What to add to a language's options in this folder: -O2, but in configurations that are optimized for size. -O0 would make
# kernels several times slower, and -O3, which CMake chooses for releases, only larger.
function(cormorant_optimization language result)
  get_directory_property(options COMPILE_OPTIONS)
  set(configurations ${CMAKE_CONFIGURATION_TYPES} ${CMAKE_BUILD_TYPE})
  if(NOT configurations)
    set(configurations none)
  endif()
  set(small "")
  foreach(configuration IN LISTS configurations)
    string(TOUPPER ${configuration} upper)
    string(JOIN " " flags "" ${CMAKE_${language}_FLAGS} ${CMAKE_${language}_FLAGS_${upper}} ${options})
    string(REGEX MATCHALL "[ :]-O[0-9a-z]*" levels "${flags}")
    if(levels MATCHES "-O[sz]$") # the last one counts
      list(APPEND small ${configuration})
    endif()
  endforeach()
  set(option -O2)
  if(small STREQUAL configurations)
    set(option "")
  elseif(small)
    list(JOIN small "," small)
    set(option $<$<NOT:$<CONFIG:${small}>>:-O2>)
  endif()
  set(${result} "${option}" PARENT_SCOPE)
endfunction()

# Everything that a Cortex-M executes, with this project's flags. A link takes only what is named.
function(cormorant_compile_kernels library archive abi)
  include(${CORMORANT_SOURCES}/firmware/sources.cmake)
  cormorant_target_sources(${CORMORANT_SOURCES} ${archive} sources)
  if(abi STREQUAL soft) # compilers have no vectors then
    list(FILTER sources EXCLUDE REGEX "_mve[^/]*[.]cc$")
  endif()
  add_library(${library} STATIC EXCLUDE_FROM_ALL ${sources})
  target_include_directories(${library} PRIVATE ${CORMORANT_SOURCES} ${CORMORANT_SOURCES}/include)
  target_compile_features(${library} PRIVATE cxx_std_20)
  set_target_properties(${library} PROPERTIES CXX_EXTENSIONS OFF LINKER_LANGUAGE CXX)
  cormorant_optimization(CXX optimization)
  # Without contraction into fused multiply-adds, FPU, soft float and the host give the same bits.
  target_compile_options(${library} PRIVATE ${optimization} -ffunction-sections -fdata-sections -ffp-contract=off
    -fno-exceptions -fno-rtti -fno-threadsafe-statics)
  cormorant_c_library(after)
  target_link_libraries(${library} PUBLIC ${after})
endfunction()

# A CPU's name as the program takes it: Cortex-M55, cortex_m55, M55, m0+.
function(cormorant_canonical_cpu text result)
  string(TOLOWER "${text}" name)
  string(REPLACE "+" "plus" name "${name}")
  string(REPLACE "_" "-" name "${name}")
  string(REGEX REPLACE "^m([0-9])" "cortex-m\\1" name "${name}")
  set(${result} ${name} PARENT_SCOPE)
endfunction()

# Files that options of `cormorant compile` name are relative to this folder, and what is compiled depends on them.
function(cormorant_find_files options files)
  set(found "")
  set(absolute "")
  set(previous "")
  foreach(option IN LISTS ${options})
    set(path "")
    set(prefix "")
    if(option MATCHES "^(--(layers|layer-settings|calibrate)=)(.+)$")
      set(prefix ${CMAKE_MATCH_1})
      set(path ${CMAKE_MATCH_3})
    elseif(previous MATCHES "^--(layers|layer-settings|calibrate)$")
      set(path ${option})
    endif()
    if(path)
      get_filename_component(path ${path} ABSOLUTE)
      cormorant_files_of(${path} inside)
      list(APPEND found ${inside})
      list(APPEND absolute ${prefix}${path})
    else()
      list(APPEND absolute ${option})
    endif()
    set(previous ${option})
  endforeach()
  set(${options} "${absolute}" PARENT_SCOPE)
  set(${files} "${found}" PARENT_SCOPE)
endfunction()

# A file, or the samples in a folder.
function(cormorant_files_of path result)
  set(files ${path})
  if(IS_DIRECTORY ${path})
    file(GLOB_RECURSE files CONFIGURE_DEPENDS ${path}/*.npy)
  endif()
  set(${result} "${files}" PARENT_SCOPE)
endfunction()

function(cormorant_add_model app)
  cmake_parse_arguments(PARSE_ARGV 1 M "" "MODEL;TARGET;CALIBRATE;NAME;ARENA;ISA;STATE;FROM" "OPTIONS")
  if(M_UNPARSED_ARGUMENTS OR NOT M_MODEL OR NOT M_TARGET)
    message(FATAL_ERROR "cormorant_add_model(${app} MODEL file TARGET cpu …): MODEL and TARGET are required; "
      "not understood: '${M_UNPARSED_ARGUMENTS}'")
  endif()
  cormorant_require_language(ASM "cormorant_add_model: the model becomes part of ${app} by a file in assembly")
  cormorant_canonical_cpu("${M_TARGET}" M_TARGET)
  get_filename_component(model ${M_MODEL} ABSOLUTE)
  if(NOT M_NAME)
    get_filename_component(M_NAME ${M_MODEL} NAME_WE)
    string(MAKE_C_IDENTIFIER ${M_NAME} M_NAME)
  endif()
  get_property(names TARGET ${app} PROPERTY CORMORANT_MODEL_NAMES)
  if(M_NAME IN_LIST names)
    message(FATAL_ERROR "cormorant_add_model: ${app} has two models of the name ${M_NAME}, which their files have unless "
      "told otherwise: give ${M_MODEL} another NAME")
  endif()
  set_property(TARGET ${app} APPEND PROPERTY CORMORANT_MODEL_NAMES ${M_NAME})
  cormorant_kernel_library(${M_TARGET} "${M_FROM}" "${M_ISA}" kernels)

  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${app}.models)
  file(MAKE_DIRECTORY ${folder})
  set(isa "")
  if(M_ISA)
    set(isa --isa=${M_ISA})
  endif()

  # The program.
  if(model MATCHES "\\.pte$")
    set(program ${model})
  else()
    set(program ${folder}/${M_NAME}.pte)
    if(M_CALIBRATE)
      list(PREPEND M_OPTIONS --calibrate ${M_CALIBRATE})
    endif()
    cormorant_find_files(M_OPTIONS data)
    add_custom_command(OUTPUT ${program}
      COMMAND ${CORMORANT_PROGRAM} compile ${model} --target=${M_TARGET} --no-link ${isa} ${M_OPTIONS}
        -o ${program}
      DEPENDS ${model} ${data} ${CORMORANT_PROGRAM}
      COMMENT "Compiling ${M_MODEL} for ${M_TARGET}" VERBATIM)
  endif()

  # What links it, and what firmware includes.
  set(state "")
  if(M_STATE)
    set(state --state=${M_STATE})
  endif()
  set(arena "")
  if(M_ARENA)
    set(arena --arena=${M_ARENA})
  endif()
  add_custom_command(OUTPUT ${folder}/${M_NAME}.S ${folder}/${M_NAME}.h
    COMMAND ${CORMORANT_GLUE} ${program} --name=${M_NAME} --target=${M_TARGET} ${isa} --kernels=$<TARGET_FILE:${kernels}>
      ${state} ${arena} --header=${folder}/${M_NAME}.h -o ${folder}/${M_NAME}.S
    DEPENDS ${program} ${kernels} $<TARGET_FILE:${kernels}> ${CORMORANT_GLUE}
    COMMENT "Linking table, memory and header of ${M_NAME}" VERBATIM)
  set_source_files_properties(${folder}/${M_NAME}.S PROPERTIES OBJECT_DEPENDS ${program})
  target_sources(${app} PRIVATE ${folder}/${M_NAME}.S ${folder}/${M_NAME}.h)
  target_include_directories(${app} PRIVATE ${folder} ${CORMORANT_INCLUDE})
  target_link_libraries(${app} PRIVATE ${kernels})
  if(M_ARENA)
    cormorant_share_arena(${app} ${M_ARENA} ${folder} ${program})
  endif()
endfunction()

# One file for all models that share an arena: written when the last of them is known.
function(cormorant_share_arena app arena folder program)
  get_property(programs TARGET ${app} PROPERTY CORMORANT_ARENA_${arena})
  set_property(TARGET ${app} APPEND PROPERTY CORMORANT_ARENA_${arena} ${program})
  if(programs)
    return()
  endif()
  set(all $<TARGET_PROPERTY:${app},CORMORANT_ARENA_${arena}>)
  add_custom_command(OUTPUT ${folder}/${arena}.S
    COMMAND ${CORMORANT_GLUE} ${all} --arena=${arena} --arena-alone -o ${folder}/${arena}.S
    DEPENDS ${all} ${CORMORANT_GLUE} COMMAND_EXPAND_LISTS
    COMMENT "Memory that models share: ${arena}" VERBATIM)
  target_sources(${app} PRIVATE ${folder}/${arena}.S)
endfunction()

# C99 sources, and tables that a Python script writes: it is also the front end's twin for training.
function(cormorant_add_log_mel app)
  set(sizes RATE WINDOW HOP FFT MELS LOW HIGH)
  cmake_parse_arguments(PARSE_ARGV 1 M "" "NAME;${sizes}" "")
  if(M_UNPARSED_ARGUMENTS OR NOT M_NAME)
    message(FATAL_ERROR "cormorant_add_log_mel(${app} NAME name …): NAME is required; unknown arguments: '${M_UNPARSED_ARGUMENTS}'")
  endif()
  cormorant_require_language(C "cormorant_add_log_mel: the front end is C99")
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(options "")
  foreach(size IN LISTS sizes)
    if(DEFINED M_${size})
      string(TOLOWER ${size} option)
      list(APPEND options --${option}=${M_${size}})
    endif()
  endforeach()
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${app}.models)
  set(script ${CORMORANT_SOURCES}/python/cormorant/log_mel.py)
  add_custom_command(OUTPUT ${folder}/${M_NAME}.c ${folder}/${M_NAME}.h
    COMMAND ${Python3_EXECUTABLE} ${script} ${options} --name=${M_NAME} --folder=${folder}
    DEPENDS ${script} COMMENT "Tables of the front end ${M_NAME}" VERBATIM)
  if(NOT TARGET cormorant_log_mel)
    add_library(cormorant_log_mel STATIC EXCLUDE_FROM_ALL ${CORMORANT_SOURCES}/audio/log_mel.c)
    target_include_directories(cormorant_log_mel PUBLIC ${CORMORANT_INCLUDE})
    cormorant_optimization(C optimization)
    target_compile_options(cormorant_log_mel PRIVATE ${optimization} -ffunction-sections -fdata-sections)
    if(TARGET zephyr_interface) # which has Zephyr's flags, down to the CPU
      target_link_libraries(cormorant_log_mel PRIVATE zephyr_interface)
    endif()
  endif()
  target_sources(${app} PRIVATE ${folder}/${M_NAME}.c ${folder}/${M_NAME}.h)
  target_include_directories(${app} PRIVATE ${folder})
  target_link_libraries(${app} PRIVATE cormorant_log_mel)
endfunction()
