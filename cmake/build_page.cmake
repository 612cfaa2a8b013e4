# SPDX-License-Identifier: Apache-2.0
# Run by HeadwayWeb.cmake: copies web/ (SOURCE) to WORK, installs its packages there, bundles the page and writes it to PAGE
# as a C++ raw string literal. Where that cannot be done PAGE is an empty literal, page.missing beside it says why, and
# the next build tries again.
cmake_minimum_required(VERSION 3.25)
get_filename_component(folder "${PAGE}" DIRECTORY)
file(MAKE_DIRECTORY "${folder}" "${WORK}")
file(REMOVE "${folder}/page.missing")

function(go_without reason)
  message("headway: the report's page was not built, so --html will not work: ${reason}")
  file(WRITE "${folder}/page.missing" "${reason}\n")
  file(WRITE "${PAGE}" "\"\"\n")
  # Older than its sources, so that the next build tries again.
  execute_process(COMMAND touch -d "1990-01-01" "${PAGE}")
endfunction()

find_program(NODE node)
find_program(NPM npm)
if(NOT NODE OR NOT NPM)
  go_without("Node 18 or newer with npm is not installed")
  return()
endif()
execute_process(COMMAND "${NODE}" --version OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE)
string(REGEX REPLACE "^v" "" version "${version}")
if(version VERSION_LESS 18)
  go_without("Node is ${version}, 18 or newer is needed")
  return()
endif()

foreach(name src build.mjs package.json package-lock.json .npmrc)
  file(REMOVE_RECURSE "${WORK}/${name}")
  if(EXISTS "${SOURCE}/${name}")
    file(COPY "${SOURCE}/${name}" DESTINATION "${WORK}")
  endif()
endforeach()

# What the bundle needs, no test tools; no package runs a script of its own.
file(SHA256 "${WORK}/package-lock.json" lock)
if(NOT EXISTS "${WORK}/installed-${lock}")
  execute_process(COMMAND "${NPM}" ci --omit=dev --ignore-scripts --no-audit --no-fund WORKING_DIRECTORY "${WORK}"
                  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    string(REGEX REPLACE "\n.*" "" output "${output}")
    go_without("npm could not install the packages (${output})")
    return()
  endif()
  file(TOUCH "${WORK}/installed-${lock}")
endif()

execute_process(COMMAND "${NODE}" build.mjs --out "${WORK}/page.html" WORKING_DIRECTORY "${WORK}"
                RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "The page in web/ cannot be bundled:\n${output}")
endif()
file(READ "${WORK}/page.html" page)
file(WRITE "${PAGE}" "R\"headway_page(${page})headway_page\"\n")
