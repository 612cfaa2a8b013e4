# SPDX-License-Identifier: Apache-2.0
# Libraries from the distribution. Each is used behind one adapter file; ARCHITECTURE.md says which.
# All that is missing is named at once, with its Debian package (tools/packages.txt installs them).
set(headway_missing "")

macro(headway_find_package name package)
  find_package(${name} QUIET)
  if(NOT ${name}_FOUND)
    list(APPEND headway_missing "${name} (${package})")
  endif()
endmacro()

macro(headway_find_pkgconfig prefix module package)
  if(PkgConfig_FOUND)
    pkg_check_modules(${prefix} QUIET IMPORTED_TARGET ${module})
  endif()
  if(NOT ${prefix}_FOUND)
    list(APPEND headway_missing "${module} (${package})")
  endif()
endmacro()

find_package(Threads REQUIRED)
headway_find_package(PkgConfig pkg-config)
headway_find_package(fmt libfmt-dev)
headway_find_package(simdjson libsimdjson-dev)
headway_find_package(yaml-cpp libyaml-cpp-dev)
headway_find_package(ZLIB zlib1g-dev)
headway_find_pkgconfig(ISAL libisal libisal-dev)
headway_find_pkgconfig(ZSTD libzstd libzstd-dev)
if(HEADWAY_TESTS)
  headway_find_package(GTest libgtest-dev)
endif()
if(HEADWAY_BENCH)
  headway_find_package(benchmark libbenchmark-dev)
endif()

if(headway_missing)
  list(JOIN headway_missing ", " headway_missing)
  message(FATAL_ERROR "headway cannot be built, missing (Debian package in brackets): ${headway_missing}. "
                      "On Debian and Ubuntu, tools/install_deps installs them.")
endif()
