/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Networks of other programs.
#include "FuzzTarget.h"
#include "gigapixelNetworkImport.h"

extern "C" int
LLVMFuzzerTestOneInput(const std::uint8_t * data, std::size_t size)
{
  static const gigapixel_fuzz::InputFile input("network.onnx");
  const std::string &                    path = input.Write(data, size);
  gigapixel_fuzz::MayRefuse(path, [&] { gigapixel::ImportONNX(path); });
  return 0;
}
