/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTorchPasses.h"
#include "gigapixelTorchDevice.h"
#include "execute/gigapixelTorchModule.h"

// torch/version.h, whose folder no include path of the engine has.
#include <torch/csrc/api/include/torch/version.h>

extern "C" __attribute__((visibility("default"))) const gigapixel::TorchModule GigapixelTorchModule;

const gigapixel::TorchModule GigapixelTorchModule{ TORCH_VERSION,
                                                   &gigapixel::torchmodule::MakeGraphPasses,
                                                   &gigapixel::torchmodule::CountGpus,
                                                   &gigapixel::torchmodule::GetGpuProblem,
                                                   &gigapixel::torchmodule::GetFreeGpuBytes,
                                                   &gigapixel::torchmodule::GetPeakGpuBytes };
