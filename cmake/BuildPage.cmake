# SPDX-License-Identifier: Apache-2.0
# Runs in the build: copies web/ to WORK, installs what its lock file pins, bundles, and writes OUT, a .cc with the page's
# bytes. See HeadwayWeb.cmake.

function(write_page page)
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

}  // namespace headway::report
")
endfunction()

function(give_up why)
  if(REQUIRED)
    message(FATAL_ERROR "The report's page could not be built: ${why}")
  endif()
  message(WARNING "The report's page is left out, --html will say so: ${why}")
  write_page("")
  # Older than its inputs: the next build tries again.
  execute_process(COMMAND touch -d 2000-01-01 "${OUT}" ERROR_QUIET)
endfunction()

# An earlier build's bundle is no excuse for a failed one.
set(page "${WORK}/dist/report.html")
file(REMOVE "${page}")
if(NOT FOUND)
  write_page("")
  return()
endif()

file(COPY "${SOURCE}/" DESTINATION "${WORK}" PATTERN node_modules EXCLUDE PATTERN dist EXCLUDE PATTERN test EXCLUDE)

# Installing costs a second or two and the network: only when the lock file changed.
file(SHA256 "${WORK}/package-lock.json" lock)
set(stamp "${WORK}/node_modules/.headway-${lock}")
if(NOT EXISTS "${stamp}")
  execute_process(COMMAND "${NPM}" ci --omit=dev --ignore-scripts --prefer-offline --no-progress --loglevel=error
                  WORKING_DIRECTORY "${WORK}" RESULT_VARIABLE result OUTPUT_QUIET ERROR_VARIABLE errors TIMEOUT 300)
  if(NOT result EQUAL 0)
    give_up("npm ci failed (${result}): ${errors}")
    return()
  endif()
  file(TOUCH "${stamp}")
endif()

execute_process(COMMAND "${NODE}" build.mjs --out "${page}" WORKING_DIRECTORY "${WORK}" RESULT_VARIABLE result
                ERROR_VARIABLE errors TIMEOUT 120)
if(NOT result EQUAL 0 OR NOT EXISTS "${page}")
  give_up("the bundler failed (${result}): ${errors}")
  return()
endif()
write_page("${page}")
