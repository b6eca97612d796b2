#pragma once

// Launches keep the types of their arguments here, where CUDA's own function erases them.

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace gyre::emulation {

cudaError_t Launch(const cudaLaunchConfig_t& config, const void* kernel,
                   std::function<void()> body);
/// A pointer must be null or the device's; so must words within a struct that look like pointers.
void CheckPointer(const void* argument);
void CheckStruct(const void* argument, size_t bytes);

template <typename T>
void CheckArgument(const T& argument) {
  if constexpr (std::is_pointer_v<T>) {
    CheckPointer(reinterpret_cast<const void*>(argument));
  } else if constexpr (std::is_class_v<T>) {
    T copy = argument;
    __builtin_clear_padding(&copy);  // which may hold half a pointer
    CheckStruct(&copy, sizeof(copy));
  }
}

}  // namespace gyre::emulation

template <typename... Parameters, typename... Arguments>
cudaError_t EmulatedLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                                   Arguments&&... arguments) {
  const std::tuple<std::decay_t<Parameters>...> kept(
      static_cast<std::decay_t<Parameters>>(std::forward<Arguments>(arguments))...);
  std::apply([](const auto&... each) { (gyre::emulation::CheckArgument(each), ...); }, kept);
  return gyre::emulation::Launch(*config, reinterpret_cast<const void*>(kernel),
                                 [kernel, kept] { std::apply(kernel, kept); });
}
#define cudaLaunchKernelEx EmulatedLaunchKernelEx

template <typename... Parameters>
cudaError_t cudaFuncSetAttribute(void (*kernel)(Parameters...), cudaFuncAttribute attribute,
                                 int value) {
  return ::cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), attribute, value);
}
