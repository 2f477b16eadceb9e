/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Models: safetensors files with a network's JSON in them.
#include "FuzzTarget.h"
#include "gigapixelModel.h"

extern "C" int
LLVMFuzzerTestOneInput(const std::uint8_t * data, std::size_t size)
{
  static const gigapixel_fuzz::InputFile input("model.safetensors");
  const std::string &                    path = input.Write(data, size);
  gigapixel_fuzz::MayRefuse(path, [&] {
    const auto model = gigapixel::Model::Load(path);
    model.GetWarning();
    // What is read can be written, and is then the same.
    const std::string copy = path + ".copy.safetensors";
    model.Save(copy);
    if (gigapixel::Model::Load(copy).network.ToJSON() != model.network.ToJSON())
    {
      gigapixel_fuzz::Fail("a model changes when it is saved");
    }
  });
  return 0;
}
