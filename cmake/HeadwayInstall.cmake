# SPDX-License-Identifier: Apache-2.0
# Where the program goes: <build>/bin/headway in a build, bin/headway in an installation (`cmake --install`), the
# environment's scripts folder in a wheel (`pip install .`).
include(GNUInstallDirs)

if(TARGET headway)
  set_target_properties(headway PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
  if(SKBUILD)
    install(TARGETS headway RUNTIME DESTINATION "${SKBUILD_SCRIPTS_DIR}")
  else()
    install(TARGETS headway RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
    install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/README.md" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
  endif()
endif()
