# The same targets as the packages have, made of the folder GYRE_PACKED: headers alone, a libz.a, and GoogleTest's
# sources.
get_filename_component(packed "${GYRE_PACKED}" ABSOLUTE BASE_DIR ${CMAKE_SOURCE_DIR})
if(NOT EXISTS ${packed}/include/nlohmann/json.hpp)
  message(FATAL_ERROR "GYRE_PACKED: there are no packages in ${packed}; on a machine that has them, "
    "'scripts/gpu-check --pack DIR' fills such a folder")
endif()

foreach(target nlohmann_json::nlohmann_json CLI11::CLI11 fmt::fmt spdlog::spdlog ZLIB::ZLIB)
  add_library(${target} INTERFACE IMPORTED)
  target_include_directories(${target} SYSTEM INTERFACE ${packed}/include)
endforeach()
target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY)
target_compile_definitions(spdlog::spdlog INTERFACE SPDLOG_FMT_EXTERNAL)
target_link_libraries(spdlog::spdlog INTERFACE fmt::fmt Threads::Threads)
target_link_libraries(ZLIB::ZLIB INTERFACE ${packed}/lib/libz.a)

set(INSTALL_GTEST OFF)
add_subdirectory(${packed}/googletest ${CMAKE_BINARY_DIR}/googletest EXCLUDE_FROM_ALL)
