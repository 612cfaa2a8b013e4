# SPDX-License-Identifier: Apache-2.0
# headway_embed_page(TARGET): the report's page, web/ bundled by node and npm into one HTML file, as bytes in a .cc of TARGET.
# Everything happens in the build folder. Without a web toolchain, or when npm cannot get its packages, the .cc holds an
# empty page and the reason: the program is built all the same, and --html says what is missing. The same reason stands in
# generated/report/page.missing, and the next build tries again.
include_guard(GLOBAL)
set(HEADWAY_WEB "AUTO" CACHE STRING "The report's page: AUTO (where node and npm work), ON (failing to build it is an error), OFF")
set_property(CACHE HEADWAY_WEB PROPERTY STRINGS AUTO ON OFF)

function(headway_embed_page target)
  set(page_cc "${PROJECT_BINARY_DIR}/generated/report/page.cc")
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/web/src/*" "${PROJECT_SOURCE_DIR}/web/*.json"
       "${PROJECT_SOURCE_DIR}/web/build.mjs" "${PROJECT_SOURCE_DIR}/web/.npmrc")
  set(script "${PROJECT_SOURCE_DIR}/cmake/BuildPage.cmake")
  add_custom_command(
    OUTPUT "${page_cc}"
    COMMAND "${CMAKE_COMMAND}" "-DMODE=${HEADWAY_WEB}" "-DSOURCE=${PROJECT_SOURCE_DIR}/web"
            "-DWORK=${PROJECT_BINARY_DIR}/web" "-DOUT=${page_cc}" -P "${script}"
    DEPENDS ${sources} "${script}"
    COMMENT "Bundling the report's page"
    VERBATIM)
  target_sources(${target} PRIVATE "${page_cc}")
endfunction()
