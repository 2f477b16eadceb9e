/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// One entry for each option of a training. Whoever includes this list says before what becomes of an entry:
//   GIGAPIXEL_LEARNING_OPTION(type, Name, member, value, option)
// The type and the value that holds without the option are those of gigapixel::LearningOptions::member. Name is that of
// Set and Get in the ITK filter. The option is what the shell, Slicer and the reference say of it, and what its range
// is; a run that goes on has to have the same value, unless the option decides nothing.
//
// To add an option, add its entry here, and the line that uses its member, mostly in Modules/Network/src/training,
// whose TrainingOptions have the members. Runs of earlier versions go on with the value that holds without the option.
//
// This file has no guard: it is included once for each purpose.
#ifndef GIGAPIXEL_LEARNING_OPTION
#  define GIGAPIXEL_LEARNING_OPTION(type, Name, member, value, option)
#endif

/** A file that training begins with the weights of, by names and shapes: a ready model, a model's file, the folder of a
 * run (its best model), or the state_dict of a PyTorch module. */
GIGAPIXEL_LEARNING_OPTION(
  std::string,
  Weights,
  weights,
  {},
  OptionText("weights", "NAME|RUN|FILE", "First weights: a model, a run, or a state_dict of PyTorch.")
    .Details(
      "They are taken by name and shape: a ready model (tissue), a model's file, a run's folder (its best one), or "
      "a PyTorch module's state_dict, as a safetensors file or as torch.save writes it (.pth, .pt, .th; nothing in "
      "it is run). All arrays of the network have to be there. Without it weights begin by chance.")
    .Of("model")
    .Group("Network")
    .DecidesTheBegin())

/** Which of several sets of weights in the file: its dictionary, or what stands before the names, such as "ema" or
 * "state_dict.model". "." is the set without either. Empty: the only set; several are refused. */
GIGAPIXEL_LEARNING_OPTION(
  std::string,
  WeightsSet,
  weightsSet,
  {},
  OptionText("weights-set", "NAME", "Set of weights in a file with several, such as ema.")
    .Details("It is named by its dictionary, or by what stands before the names, such as state_dict.model.")
    .Group("Network")
    .DecidesTheBegin()
    .Needs("weights"))

/** Whether the file may lack arrays of the network, which begin by chance then; else it is refused. */
GIGAPIXEL_LEARNING_OPTION(bool,
                          PartialWeights,
                          partialWeights,
                          false,
                          OptionSwitch("partial-weights",
                                       "Allow --weights to lack arrays, such as those behind an encoder.")
                            .Details("The other arrays begin by chance; how many are taken of which parts is said.")
                            .Group("Network")
                            .DecidesTheBegin()
                            .Needs("weights"))

/** Training images, evenly from among all, whose statistics batch norms get before the first step, since training keeps
 * them (NormCalibration); at most as many as there are. 0: norms keep those that they begin with. */
GIGAPIXEL_LEARNING_OPTION(
  int,
  Calibrate,
  calibrate,
  0,
  OptionInteger("calibrate", "0", 0, 1000000, "Training slides that set the statistics of batch norms first.")
    .Details("Batch norms get the mean and the variance of what they see of so many training slides, evenly from among "
             "all, one norm after the other: a pass over these slides for each. Training keeps them. 0: those that "
             "weights come with, else 0 and 1, with which deep networks begin slowly.")
    .Group("Network"))

/** Arrays and modules of the network that training leaves as they are, by their names; see FindFrozen(). */
GIGAPIXEL_LEARNING_OPTION(
  std::vector<std::string>,
  Freeze,
  freeze,
  {},
  OptionText("freeze", "NAME", "Array or module that stays as it is.")
    .Details(
      "By its name in the network (gigapixel networks NETWORK --json). A module stands for all arrays whose names "
      "begin with its name and a dot.")
    .Group("Network")
    .Repeated())

/** One of gigapixelOptimizerList.h: "adam" (MIDL 2023) or "adamw", with betas 0.9 and 0.999 and epsilon 1e-8, or "sgd",
 * as torch.optim has them; or "lion", with betas 0.9 and 0.99. */
GIGAPIXEL_LEARNING_OPTION(std::string,
                          Optimizer,
                          optimizer,
                          "adam",
                          OptionChoice("optimizer", GetOptimizerNames(), "adam", "The rule of a step.")
                            .Details(DescribeOptimizers())
                            .Group("Learning"))

/** 0: the network's, GetDefaultLearningRate(), which is adam's; of a run that goes on, the run's. */
GIGAPIXEL_LEARNING_OPTION(
  double,
  LearningRate,
  learningRate,
  0,
  OptionNumber("learning-rate", "", 1e-9, 10, "Default: the network's, which is for adam.")
    .Details(
      "gigapixel networks NETWORK tells it. With --resume it is the run's. sgd mostly needs a greater one than adam.")
    .Group("Learning")
    .RangeForSlips())

/** The momentum of "sgd". */
GIGAPIXEL_LEARNING_OPTION(
  double,
  Momentum,
  momentum,
  0.9,
  OptionNumber("momentum", "0.9", 0, 0.9999, "Momentum of sgd.").Group("Learning").Needs("optimizer", "sgd"))

/** The decay of weights, not of biases and norms; adamw's and lion's is decoupled. -1: the optimizer's own, 0.01 of
 * adamw, else 0. */
GIGAPIXEL_LEARNING_OPTION(
  double,
  WeightDecay,
  weightDecay,
  -1,
  OptionNumber("weight-decay", "", 0, 1, "Default: the optimizer's; biases and norms have none.")
    .Details(DescribeWeightDecay())
    .Group("Learning"))

/** Greatest norm of the gradient of all trained parameters together, above which it is scaled down; 0: any. */
GIGAPIXEL_LEARNING_OPTION(
  double,
  ClipGradient,
  clipGradient,
  0,
  OptionNumber("clip-gradient", "0", 0, 1e9, "Greatest norm of the whole gradient; a longer one is scaled.")
    .Details("As torch.nn.utils.clip_grad_norm_ does. 0: any.")
    .Group("Learning"))

/** "constant", "cosine" (to minimumLearningRate at the end of the last epoch, whose number stays then) or "plateau";
 * the formulas are those of torch.optim.lr_scheduler. */
GIGAPIXEL_LEARNING_OPTION(
  std::string,
  LearningRateSchedule,
  learningRateSchedule,
  "constant",
  OptionChoice("learning-rate-schedule", { "constant", "cosine", "plateau" }, "constant", "How it changes.")
    .Details("As in torch.optim.lr_scheduler: cosine falls to --minimum-learning-rate in the "
             "last of --epochs, plateau is lower after "
             "epochs without a better validation "
             "loss.")
    .Group("Learning"))

/** The factor of "plateau", below 1, after epochs without a better validation loss. */
GIGAPIXEL_LEARNING_OPTION(double,
                          LearningRateDecay,
                          learningRateDecay,
                          1.0,
                          OptionNumber("learning-rate-decay", "1", 1e-6, 1, "Factor of plateau, below 1, such as 0.1.")
                            .Group("Learning")
                            .Needs("learning-rate-schedule", "plateau"))

/** Epochs without a better validation loss that are let pass before the one that lowers the rate. */
GIGAPIXEL_LEARNING_OPTION(
  int,
  PlateauPatience,
  plateauPatience,
  0,
  OptionInteger("plateau-patience", "0", 0, 1000000, "Epochs without a better loss that plateau lets pass.")
    .Details("The learning rate is lower after the one that follows them.")
    .Group("Learning")
    .Needs("learning-rate-schedule", "plateau"))

/** What the schedule "cosine" comes down to. */
GIGAPIXEL_LEARNING_OPTION(
  double,
  MinimumLearningRate,
  minimumLearningRate,
  0,
  OptionNumber("minimum-learning-rate", "0", 0, 10, "Learning rate at the end of the schedule cosine.")
    .Group("Learning")
    .Needs("learning-rate-schedule", "cosine"))

/** Steps in which the rate rises to its value. */
GIGAPIXEL_LEARNING_OPTION(
  std::int64_t,
  Warmup,
  warmup,
  0,
  OptionInteger("warmup", "0", 0, 1000000000, "Steps in which the learning rate rises to its value.").Group("Learning"))

/** Each takes every training sample once. */
GIGAPIXEL_LEARNING_OPTION(int,
                          Epochs,
                          epochs,
                          50,
                          OptionInteger("epochs", "50", 1, 1000000, "Passes over all training slides.")
                            .Group("Learning")
                            .DecidesWith("learning-rate-schedule", "cosine"))

/** Samples whose mean gradient is one step; the last step of an epoch may have fewer. */
GIGAPIXEL_LEARNING_OPTION(
  int,
  ImagesPerStep,
  imagesPerStep,
  1,
  OptionInteger("images-per-step", "1", 1, 1000000, "Number of slides whose mean gradient makes one step.")
    .Group("Learning"))

/** Epochs without a better validation loss after which training ends; 0: never. */
GIGAPIXEL_LEARNING_OPTION(
  int,
  EarlyStopping,
  earlyStopping,
  0,
  OptionInteger("early-stopping", "0", 0, 1000000, "Stop after so many epochs without a better loss.")
    .Details("It is the loss of the validation slides. 0: never.")
    .Group("Learning")
    .DecidesNothing())

/** Flips and right-angle rotations, one of eight per step, of volumes of 16, since tissue has no right way up. */
GIGAPIXEL_LEARNING_OPTION(bool,
                          Augment,
                          augment,
                          true,
                          OptionSwitch("no-augmentation", "Without flips and right-angle rotations.")
                            .Details("Otherwise one of eight is drawn for each step, of volumes one of 16.")
                            .Group("Learning"))

/** Stains, contrast and brightness of each image of each step differ by up to this; see Jitter. */
GIGAPIXEL_LEARNING_OPTION(
  double,
  Jitter,
  jitter,
  0,
  OptionNumber("jitter", "0", 0, 0.9, "Other colors in each step; 0.05 is little, 0.2 much.")
    .Details(
      "Factors on hematoxylin, eosin and DAB (of RGB slides) and on the contrast of each channel from 1 - this to "
      "1 + this, and up to half of this more or less brightness.")
    .Group("Learning"))

/** Each class counts the same in the loss of networks that label images, however many samples it has. The loss of a
 * sample gets the factor samples / (classes x samples of its class), of which the mean over an epoch is 1. Of findings
 * and grades both answers of each output count the same, see WeighTargets(). */
GIGAPIXEL_LEARNING_OPTION(
  bool,
  Balance,
  balance,
  false,
  OptionSwitch("balance", "Each class counts the same, however many slides it has.")
    .Details(
      "The loss of a slide gets the factor slides / (classes x slides of its class). Of findings and grades both "
      "answers of each output count the same. Of networks that label images; not of values.")
    .Group("Learning")
    .OfSlides())

/** The seed of first weights, order, turns and jitter; the same seed gives the same bits. */
GIGAPIXEL_LEARNING_OPTION(
  std::uint64_t,
  Seed,
  seed,
  1,
  OptionInteger("seed", "1", 0, 9007199254740992.0, "Seed of first weights, order and augmentation.").Group("Learning"))

#undef GIGAPIXEL_LEARNING_OPTION
