# Where there is a CUDA compiler, the CUDA backend is built as a plug-in; where CUDA's headers are, its kernels are
# executed on the CPU in tests. Where neither is, nothing here is built and nothing else changes.

if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real 100-real 100-virtual)
endif()
include(CheckLanguage)
check_language(CUDA)
if(CMAKE_CUDA_COMPILER)
  enable_language(CUDA)
  # CMake 3.25 does not know that nvcc has C++20.
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_EXTENSIONS OFF)
  find_package(CUDAToolkit REQUIRED)
else()
  message(STATUS "no CUDA compiler (nvcc): this build trains on CPUs")
endif()
find_path(GYRE_CUDA_INCLUDE_DIR cublasLt.h HINTS ${CUDAToolkit_INCLUDE_DIRS} /usr/local/cuda/include)

# What the plug-in and the programs that load it have to agree about.
set(abi_headers trainer/backend/backend.h trainer/backend/cuda/plugin.h trainer/collective/communicator.h
  trainer/collective/nccl_plugin.h)
set(abi_text)
foreach(header ${abi_headers})
  file(SHA256 ${CMAKE_SOURCE_DIR}/${header} hash)
  string(APPEND abi_text ${hash})
endforeach()
set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${abi_headers})
string(SHA256 GYRE_BACKEND_ABI "${abi_text}")
