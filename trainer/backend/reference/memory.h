#pragma once

#include "trainer/backend/backend.h"

namespace gyre::reference {

/// The elements of a place: here memory is the machine's own.
template <typename T>
T* Data(Reals place) {
  return static_cast<T*>(place.memory) + place.offset;
}

template <typename T>
T* Data(Narrows place) {
  return static_cast<T*>(place.memory) + place.offset;
}

inline int32_t* Data(Ints place) { return static_cast<int32_t*>(place.memory) + place.offset; }

}  // namespace gyre::reference
