# The three rules by which everything here is built. Include paths start at the root of the project,
# sources are listed by hand, a library is a folder and an executable is a main.cc linked to it.

add_library(gyre_options INTERFACE)
target_include_directories(gyre_options INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/generated)
# Designated initializers leave out the members whose defaults are meant.
target_compile_options(gyre_options INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wno-missing-field-initializers;$<$<BOOL:${GYRE_WERROR}>:-Werror>>")
if(GYRE_SANITIZE)
  target_compile_options(gyre_options INTERFACE -fsanitize=${GYRE_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(gyre_options INTERFACE -fsanitize=${GYRE_SANITIZE})
endif()

# gyre_library(NAME SOURCES a.cc b.cc DEPS other_library ...)
function(gyre_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC gyre_options ${ARG_DEPS})
endfunction()

# gyre_program(NAME SOURCES main.cc DEPS library ...): lands in build/<preset>/bin.
function(gyre_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE gyre_options ${ARG_DEPS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
endfunction()

# gyre_test(NAME SOURCES x_test.cc DEPS library ... [TIMEOUT seconds]): one test program, one line of ctest.
# Tests start in the root of the project, so that test data is "tests/...".
function(gyre_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE gyre_options ${ARG_DEPS} GTest::gmock GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  if(ARG_TIMEOUT)
    set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT})
  endif()
endfunction()
