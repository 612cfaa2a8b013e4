# SPDX-License-Identifier: Apache-2.0
# Build options, language level, warnings and sanitizers. One place, so that every target agrees.
option(HEADWAY_TESTS "Build the tests" ON)
option(HEADWAY_BENCH "Build the benchmarks" OFF)
option(HEADWAY_FUZZ "Build the libFuzzer targets (needs clang)" OFF)
option(HEADWAY_COVERAGE "Instrument for coverage" OFF)
set(HEADWAY_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize= (address,undefined or thread)")

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
  message(FATAL_ERROR "headway needs g++ 12 or newer (std::expected); this is ${CMAKE_CXX_COMPILER_VERSION}. "
                      "Name a newer compiler with CXX=g++-12.")
endif()

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()
if(HEADWAY_SANITIZE)
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1")
else()
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")
endif()

# ccache, set up so that the presets and every checkout share what they compile: paths inside the checkout are hashed as
# relative ones. The sloppiness is what ccache's manual asks for precompiled headers.
find_program(HEADWAY_CCACHE ccache)
if(HEADWAY_CCACHE AND (NOT CMAKE_CXX_COMPILER_LAUNCHER OR CMAKE_CXX_COMPILER_LAUNCHER STREQUAL "ccache"))
  set(CMAKE_CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros "${HEADWAY_CCACHE}")
endif()

add_library(headway_options INTERFACE)
target_compile_options(headway_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers)
target_include_directories(headway_options INTERFACE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_BINARY_DIR}/generated")
if(HEADWAY_SANITIZE)
  target_compile_options(headway_options INTERFACE -fsanitize=${HEADWAY_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(headway_options INTERFACE -fsanitize=${HEADWAY_SANITIZE})
endif()
if(HEADWAY_FUZZ)
  target_compile_options(headway_options INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(headway_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(HEADWAY_COVERAGE)
  target_compile_options(headway_options INTERFACE --coverage)
  target_link_options(headway_options INTERFACE --coverage)
endif()
