/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// What a run keeps: its settings, its segments, and the state that it goes on with.
#include "FuzzTarget.h"
#include "gigapixelBegunRun.h"
#include "training/gigapixelTrainingState.h"

using namespace gigapixel;

namespace
{

/** What the text of settings is compared with: a run of the network that the file is of. */
void
ReadRun(const std::string & folder, const std::string & path)
{
  const auto begun = BegunRun::Find(folder);
  if (!begun)
  {
    return;
  }
  const std::string settings = GetSettings(SafeTensors::LoadMetadata(path), path);
  GetTileSize(settings);
  GetLearningRate(settings);
  GetSegments(settings, path);
  CheckSettings(settings, R"({"seed":1,"training samples":[["a",1,1,"b"]]})", folder);
}

void
ReadState(const std::string & folder, const std::string & path)
{
  const auto begun = BegunRun::Find(folder);
  if (begun)
  {
    const SafeTensors file = SafeTensors::Load(path);
    const Optimizer   optimizer(TrainingOptions(), begun->network);
    TrainingState::FromFile(file, begun->network, optimizer, path).Check(2, 0.01, path);
  }
}

} // namespace

extern "C" int
LLVMFuzzerTestOneInput(const std::uint8_t * data, std::size_t size)
{
  static const gigapixel_fuzz::InputFile input("last.safetensors");
  const std::string &                    path = input.Write(data, size);
  gigapixel_fuzz::MayRefuse(input.GetFolder(), [&] { ReadRun(input.GetFolder(), path); });
  gigapixel_fuzz::MayRefuse(input.GetFolder(), [&] { ReadState(input.GetFolder(), path); });
  return 0;
}
