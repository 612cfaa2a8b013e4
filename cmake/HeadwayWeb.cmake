# SPDX-License-Identifier: Apache-2.0
# The report's page: web/ bundled by node and npm into one HTML file, and that file as bytes in a .cc. Everything happens in
# the build folder. Without a web toolchain, or when npm cannot fetch its packages, the .cc holds an empty page: the
# program is built all the same and --html says what is missing.
set(HEADWAY_WEB "AUTO" CACHE STRING "The report's page: AUTO (when node and npm work), ON (must be built), OFF")
set_property(CACHE HEADWAY_WEB PROPERTY STRINGS AUTO ON OFF)

set(HEADWAY_PAGE_CC "${PROJECT_BINARY_DIR}/generated/report_page.cc")
set(headway_web_found FALSE)
if(NOT HEADWAY_WEB STREQUAL "OFF")
  find_program(HEADWAY_NODE NAMES node nodejs)
  find_program(HEADWAY_NPM NAMES npm)
  if(HEADWAY_NODE AND HEADWAY_NPM)
    execute_process(COMMAND "${HEADWAY_NODE}" --version OUTPUT_VARIABLE headway_node_version
                    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE headway_node_result)
    string(REGEX REPLACE "^v" "" headway_node_version "${headway_node_version}")
    if(headway_node_result EQUAL 0 AND headway_node_version VERSION_GREATER_EQUAL 18)
      set(headway_web_found TRUE)
    endif()
  endif()
  if(NOT headway_web_found AND HEADWAY_WEB STREQUAL "ON")
    message(FATAL_ERROR "HEADWAY_WEB is ON but there is no node >= 18 with npm.")
  endif()
endif()

file(GLOB headway_web_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/web/src/*" "${PROJECT_SOURCE_DIR}/web/*.json"
     "${PROJECT_SOURCE_DIR}/web/build.mjs" "${PROJECT_SOURCE_DIR}/web/.npmrc")
add_custom_command(
  OUTPUT "${HEADWAY_PAGE_CC}"
  COMMAND "${CMAKE_COMMAND}" "-DNODE=${HEADWAY_NODE}" "-DNPM=${HEADWAY_NPM}" "-DFOUND=${headway_web_found}"
          "-DREQUIRED=$<STREQUAL:${HEADWAY_WEB},ON>" "-DSOURCE=${PROJECT_SOURCE_DIR}/web" "-DWORK=${PROJECT_BINARY_DIR}/web"
          "-DOUT=${HEADWAY_PAGE_CC}" -P "${PROJECT_SOURCE_DIR}/cmake/BuildPage.cmake"
  DEPENDS ${headway_web_sources} "${PROJECT_SOURCE_DIR}/cmake/BuildPage.cmake"
  COMMENT "Bundling the report's page"
  VERBATIM)
