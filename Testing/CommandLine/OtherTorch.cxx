/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// A library to preload in place of libtorch_cpu: it has another version than any that there is.
#include <string>

namespace at
{

std::string
show_config()
{
  return "PyTorch built with:\n  - Build settings: BLAS_INFO=open, TORCH_VERSION=0.4.1, USE_CUDA=OFF, \n";
}

} // namespace at
