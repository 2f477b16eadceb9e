/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Weights that were trained elsewhere: pickles in zip archives, pickles one behind the other, and safetensors files.
#include "FuzzTarget.h"
#include "gigapixelNetworkImport.h"

namespace
{

/** A network with the names and shapes of Testing/Import/weights.npz, which the corpus begins with. */
constexpr const char * Network = R"({
  "name": "small",
  "input": { "channels": 3, "invert": false },
  "operations": [
    { "name": "image", "type": "input", "channels": 3 },
    { "name": "conv", "type": "conv2d", "inputs": ["image"], "out_channels": 4, "kernel_size": 3, "padding": 1 },
    { "name": "norm", "type": "batch_norm", "inputs": ["conv"] },
    { "name": "logits", "type": "conv2d", "inputs": ["norm"], "out_channels": 1, "kernel_size": 1 }
  ],
  "output": "logits"
})";

} // namespace

extern "C" int
LLVMFuzzerTestOneInput(const std::uint8_t * data, std::size_t size)
{
  static const gigapixel_fuzz::InputFile input("weights");
  static const auto                      network = gigapixel::NetworkDescription::FromJSON(Network);
  const std::string &                    path = input.Write(data, size);
  gigapixel_fuzz::MayRefuse(path, [&] { gigapixel::ImportWeights(network, path); });
  return 0;
}
