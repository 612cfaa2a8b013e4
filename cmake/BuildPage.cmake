# SPDX-License-Identifier: Apache-2.0
# Runs in the build, see HeadwayWeb.cmake: copies web/ (SOURCE) to WORK, installs there what the lock file pins, bundles, and
# writes OUT, a .cc with the page's bytes. MODE is HEADWAY_WEB.
cmake_minimum_required(VERSION 3.25)
cmake_path(GET OUT PARENT_PATH folder)
file(MAKE_DIRECTORY "${folder}" "${WORK}")
file(REMOVE "${folder}/page.missing")

function(write_page page problem)
  set(bytes "0")
  set(size 0)
  if(page)
    file(READ "${page}" hex HEX)
    string(LENGTH "${hex}" size)
    math(EXPR size "${size} / 2")
    string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  endif()
  file(WRITE "${OUT}" "// Made by cmake/BuildPage.cmake from web/.
#include \"report/embedded_page.h\"

namespace headway::report {
namespace {
constexpr unsigned char kPage[] = {
${bytes}};
}  // namespace

std::string_view EmbeddedPage() { return {reinterpret_cast<const char*>(kPage), ${size}}; }
std::string_view EmbeddedPageProblem() { return R\"~~~(${problem})~~~\"; }

}  // namespace headway::report
")
endfunction()

# A macro: it returns from the script.
macro(go_without problem)
  if(MODE STREQUAL "ON")
    message(FATAL_ERROR "The report's page cannot be built: ${problem}")
  endif()
  message("headway: the report's page was left out, --html will say so: ${problem}")
  file(WRITE "${folder}/page.missing" "${problem}\n")
  write_page("" "${problem}")
  if(NOT MODE STREQUAL "OFF")
    # Older than its sources: the next build tries again.
    execute_process(COMMAND touch -d 2000-01-01 "${OUT}")
  endif()
  return()
endmacro()

if(MODE STREQUAL "OFF")
  go_without("it was switched off when headway was built (HEADWAY_WEB=OFF)")
endif()
find_program(NODE NAMES node nodejs)
find_program(NPM NAMES npm)
if(NOT NODE OR NOT NPM)
  go_without("node 18 or newer and npm were not there when headway was built")
endif()
execute_process(COMMAND "${NODE}" --version OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE)
string(REGEX REPLACE "^v" "" version "${version}")
if(version VERSION_LESS 18)
  go_without("node was ${version} when headway was built, 18 or newer is needed")
endif()

foreach(name src build.mjs package.json package-lock.json .npmrc)
  file(REMOVE_RECURSE "${WORK}/${name}")
  file(COPY "${SOURCE}/${name}" DESTINATION "${WORK}")
endforeach()

# Only what the bundle needs, and no package runs a script of its own.
file(SHA256 "${WORK}/package-lock.json" lock)
set(stamp "${WORK}/node_modules/.headway-${lock}")
if(NOT EXISTS "${stamp}")
  execute_process(COMMAND "${NPM}" ci --omit=dev --ignore-scripts --prefer-offline --no-audit --no-fund --loglevel=error
                  WORKING_DIRECTORY "${WORK}" RESULT_VARIABLE status OUTPUT_VARIABLE errors ERROR_VARIABLE errors TIMEOUT 300)
  if(NOT status EQUAL 0)
    string(STRIP "${errors}" errors)
    string(REGEX REPLACE "\n.*" "" errors "${errors}")
    go_without("npm could not get its packages when headway was built (${errors})")
  endif()
  file(TOUCH "${stamp}")
endif()

execute_process(COMMAND "${NODE}" build.mjs --out "${WORK}/report.html" WORKING_DIRECTORY "${WORK}" RESULT_VARIABLE status
                OUTPUT_VARIABLE errors ERROR_VARIABLE errors TIMEOUT 120)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "The page in web/ cannot be bundled:\n${errors}")
endif()
write_page("${WORK}/report.html" "")
