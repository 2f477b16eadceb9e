/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Networks as JSON, chains of layers and graphs of operations. What is accepted is the same when it is written and read
// again, and has a geometry.
#include "FuzzTarget.h"
#include "gigapixelNetworkDescription.h"

using gigapixel::NetworkDescription;

extern "C" int
LLVMFuzzerTestOneInput(const std::uint8_t * data, std::size_t size)
{
  const std::string text(data, data + size);
  gigapixel_fuzz::MayRefuse("", [&] {
    const NetworkDescription network = NetworkDescription::FromJSON(text);
    const std::string        written = network.ToJSON();
    network.GetStride();
    network.GetNumberOfParameters();
    network.GetNumberOfClasses();
    if (NetworkDescription::FromJSON(written).ToJSON() != written)
    {
      gigapixel_fuzz::Fail("a network changes when it is written");
    }
  });
  return 0;
}
