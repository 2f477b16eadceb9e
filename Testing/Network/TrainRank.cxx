/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// TrainRank FOLDER EPOCHS IMAGES_PER_STEP [resume] [die|hang|stop|fail RANK]
// One rank of a small training on slides without files, into the run folder. The named rank misbehaves in its second
// epoch. The environment variables LOSS and NETWORK name others than cross-entropy and remedios2023, whose slides have
// a label each if it labels images, KEPT a map that is kept between two segments. Says how many pixels were read. Exit
// code 0: trained, 1: an error (printed), 3: stopped.
#include "SyntheticSources.h"

#include "gigapixelJoinRanks.h"
#include "gigapixelOneLabelSource.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include <unistd.h>

using namespace gigapixel;
using namespace gigapixel::test;

namespace
{

std::atomic<std::int64_t> numberOfPixelsRead{ 0 };

class CountedPixels : public InMemory<ProceduralPixels>
{
public:
  using InMemory::InMemory;
  void
  Read(const Region & region, std::uint8_t * samples) override
  {
    numberOfPixelsRead += region.width * region.height;
    InMemory::Read(region, samples);
  }
};

struct Misbehavior
{
  std::string how;
  int         rank{ -1 };
};

bool
Misbehave(const std::string & how)
{
  if (how == "die")
  {
    _exit(EXIT_FAILURE);
  }
  if (how == "hang")
  {
    pause();
  }
  if (how == "fail")
  {
    throw std::runtime_error("out of slides");
  }
  return how != "stop";
}

int
Train(const std::string & folder, TrainingOptions options, const Misbehavior & misbehavior)
{
  options.threads = 2;
  options.tileSize = 256;
  options.learningRateSchedule = "plateau";
  options.learningRateDecay = 0.5;
  options.ranks = JoinRanks(Launch::Find());
  const char *       name = std::getenv("NETWORK");
  NetworkDescription network = NetworkDescription::Load(name ? name : "remedios2023");
  if (const char * loss = std::getenv("LOSS"))
  {
    network.SetLoss(loss);
  }
  if (const char * kept = std::getenv("KEPT"))
  {
    options.segments = { { kept, 64 }, { network.graph.output, 128 } };
  }
  Trainer    trainer(network, options, folder);
  const auto make = [&](const std::string & sampleName, Size size, std::uint64_t seed) {
    Sample     sample = MakeSample(sampleName, size, seed);
    const auto pixels = std::make_shared<CountedPixels>(size, seed);
    pixels->Prepare();
    sample.pixels = pixels;
    if (network.LabelsImage())
    {
      sample.labels = std::make_shared<OneLabelSource>(static_cast<std::uint8_t>(seed % 2));
    }
    return sample;
  };
  trainer.AddTrainingSample(make("a", { 1100, 810 }, 1));
  trainer.AddTrainingSample(make("b", { 300, 700 }, 2));
  trainer.AddTrainingSample(make("c", { 512, 512 }, 3));
  trainer.AddValidationSample(make("v", { 1000, 600 }, 4));
  trainer.AddValidationSample(make("w", { 300, 300 }, 5));
  numberOfPixelsRead = 0;
  const bool done = trainer.Run([&](const TrainingProgress & progress) {
    const bool now = options.ranks->GetRank() == misbehavior.rank && progress.epoch == 2;
    return !now || Misbehave(misbehavior.how);
  });
  std::cout << numberOfPixelsRead << " pixels read\n";
  return done ? EXIT_SUCCESS : 3;
}

} // namespace

int
main(int argc, char ** argv)
{
  if (argc < 4)
  {
    std::cerr << "TrainRank FOLDER EPOCHS IMAGES_PER_STEP [resume] [die|hang|stop|fail RANK]\n";
    return 2;
  }
  TrainingOptions options;
  options.epochs = std::atoi(argv[2]);
  options.imagesPerStep = std::atoi(argv[3]);
  options.resume = argc > 4 && std::strcmp(argv[4], "resume") == 0;
  const int first = options.resume ? 5 : 4;
  try
  {
    return Train(
      argv[1], options, argc > first + 1 ? Misbehavior{ argv[first], std::atoi(argv[first + 1]) } : Misbehavior{});
  }
  catch (const std::exception & error)
  {
    std::cout << error.what() << std::endl;
    return EXIT_FAILURE;
  }
}
