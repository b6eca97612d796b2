# What others wrote: installed packages, or, on a machine that has none, a folder that scripts/gpu-check --pack filled
# on one that has them. The trainer needs few.
set(GYRE_PACKED "" CACHE PATH "Where scripts/gpu-check --pack has put the packages that gyre-trainer needs; empty: installed")

find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED)
if(GYRE_PACKED)
  include(cmake/packed.cmake)
else()
  find_package(nlohmann_json REQUIRED)
  find_package(spdlog REQUIRED)
  find_package(fmt REQUIRED)
  find_package(CLI11 REQUIRED)
  find_package(ZLIB REQUIRED)
  find_package(GTest REQUIRED)
endif()
if(NOT GYRE_TRAINER_ONLY)
  find_package(OpenSSL REQUIRED)
  find_package(yaml-cpp REQUIRED)
  find_package(SQLite3 REQUIRED)
  find_package(Boost REQUIRED)  # headers only: Boost.Math
  find_package(Protobuf REQUIRED)
  find_package(gRPC CONFIG REQUIRED)
endif()
