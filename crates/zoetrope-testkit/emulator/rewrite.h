// From preprocessed CUDA to C++: dynamic shared memory, and the list of kernels.
#pragma once

#include <string>
#include <vector>

namespace emulator {

// `source` with every `extern __shared__ T name[];` made a pointer to the block's dynamic shared memory,
// followed by the table of its extern "C" kernels for a module of the given architecture.
std::string rewrite(const std::string& source, unsigned architecture, bool exact);

}  // namespace emulator
