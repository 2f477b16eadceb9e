/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// TrainRank FOLDER EPOCHS IMAGES_PER_STEP [resume] [die|hang|stop|fail RANK]
// One rank of a small training on slides without files, into the run folder. The named rank misbehaves in its second
// epoch. The environment variables LOSS and NETWORK name others than cross-entropy and remedios2023, KEPT a map that is
// kept between two segments. Exit code 0: trained, 1: an error (printed), 3: stopped.
#include "SyntheticSources.h"

#include "gigapixelJoinRanks.h"

#include <cstdlib>
#include <cstring>
#include <iostream>

#include <unistd.h>

using namespace gigapixel;
using namespace gigapixel::test;

namespace
{

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
  Trainer trainer(network, options, folder);
  trainer.AddTrainingSample(MakeSample("a", { 1100, 810 }, 1));
  trainer.AddTrainingSample(MakeSample("b", { 300, 700 }, 2));
  trainer.AddTrainingSample(MakeSample("c", { 512, 512 }, 3));
  trainer.AddValidationSample(MakeSample("v", { 1000, 600 }, 4));
  trainer.AddValidationSample(MakeSample("w", { 300, 300 }, 5));
  const bool done = trainer.Run([&](const TrainingProgress & progress) {
    const bool now = options.ranks->GetRank() == misbehavior.rank && progress.epoch == 2;
    return !now || Misbehave(misbehavior.how);
  });
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
