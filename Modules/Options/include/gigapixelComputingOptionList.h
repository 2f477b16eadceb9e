/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// One entry for each option of where and how a network is computed. Whoever includes this list says before what becomes
// of an entry:
//   GIGAPIXEL_COMPUTING_OPTION(type, Name, member, value, option)
// as of gigapixelLearningOptionList.h. What has no use for some of them says besides what becomes of those:
//   GIGAPIXEL_SHARING_OPTION: of what shares pixels with a GPU
//   GIGAPIXEL_MAPS_OPTION: of what keeps maps of a whole image
//
// This file has no guard: it is included once for each purpose.
#ifndef GIGAPIXEL_COMPUTING_OPTION
#  define GIGAPIXEL_COMPUTING_OPTION(type, Name, member, value, option)
#endif
#ifndef GIGAPIXEL_SHARING_OPTION
#  define GIGAPIXEL_SHARING_OPTION GIGAPIXEL_COMPUTING_OPTION
#endif
#ifndef GIGAPIXEL_MAPS_OPTION
#  define GIGAPIXEL_MAPS_OPTION GIGAPIXEL_COMPUTING_OPTION
#endif

/** What computes: "cpu", the default, "cuda", "cuda:N" or "auto", see gigapixel::Device. */
GIGAPIXEL_COMPUTING_OPTION(
  std::string,
  Device,
  device,
  "cpu",
  OptionText("device", "NAME", "What computes: cpu, cuda, cuda:N, or auto.")
    .Details("cuda or cuda:N is one of NVIDIA's GPUs; auto is one of those if there is one, else the CPU (Apple's GPUs "
             "are not used). Last bits differ between devices.")
    .Default("cpu")
    .Group("Computing")
    .DecidesNothing()) // but last bits, for which nothing is made again

/** How numbers are kept: "fp32", the default, "tf32", "bf16" or "fp16", see gigapixel::Precision. Of a training that
 * goes on: empty, its default, is what the run has. */
GIGAPIXEL_COMPUTING_OPTION(
  std::string,
  Precision,
  precision,
  "fp32",
  OptionChoice("precision", { "fp32", "tf32", "bf16", "fp16" }, "fp32", "Of maps and weights.")
    .Details("Sums stay fp32 or finer. Networks made of operations (unet, resnet18-unet, imported ones) are computed "
             "in fp32, or in bf16 with less time and memory where the CPU has instructions for that (AVX512-BF16, "
             "AMX), on a GPU also in tf32. Of chains of layers (remedios2023) bf16 and fp16 (with loss scaling) halve "
             "a GPU's maps; tf32 and fp16 are for GPUs only. A training that goes on keeps the run's.")
    .Group("Computing"))

/** Side of a tile's core in pixels or voxels, a multiple of the network's stride; gigapixel::WholeImage, -1: each image
 * in one piece. 0, the default: that of the model's training; of a training and of volumes what the memory plan
 * chooses, which may be segments, see gigapixel::MemoryPlan. Changes last bits only. */
GIGAPIXEL_COMPUTING_OPTION(
  std::int64_t,
  TileSize,
  tileSize,
  0,
  OptionInteger("tile-size", "", 8, 65536, "Side of a tile's core; image: each image in one piece.") // 8: 512 voxels
    .Words({ "image" })
    .Unit("px")
    .Details("A multiple of the network's stride. In one piece an image (or region) needs the memory for it. Changes "
             "last bits only. Without it: that of the model's training; where there is none, and for volumes, the "
             "plan's, of networks with wide halos also segments (see --scratch).")
    .Group("Computing"))

/** What is read is kept in memory that CPU and GPU share; the same tiles, the same result. Off by default: memory does
 * not grow with the image. See gigapixel::MemoryPlan. */
GIGAPIXEL_SHARING_OPTION(
  bool,
  SharedMemory,
  sharedMemory,
  false,
  OptionSwitch("shared-memory", "Keep what is read in memory that CPU and GPU share.")
    .Details("It may be more than the GPU has (on a CPU it is memory like any other). Training reads a slide's pixels "
             "and mask once for all steps on it; else those of the tiles that come next lie there. Changes no result.")
    .Group("Computing")
    .OfSlides()
    .DecidesNothing())

/** Peak resident bytes of the process; 0, the default: no limit, of volumes what the machine has. It decides how many
 * tiles are computed at the same time, which changes no result. Only where not even one tile fits, training and volumes
 * take smaller ones, which changes last bits. */
GIGAPIXEL_COMPUTING_OPTION(
  std::uint64_t,
  MemoryLimit,
  memoryLimit,
  0,
  OptionMemory("memory", "Most memory of the process, such as 2G.")
    .Details("Without it the shell takes what is free; C++ and Python set no limit. Resident memory of the process, in "
             "powers of 1024 as the GiB and MiB that are told. It decides how "
             "much is in flight, which changes no result. Only where not even one tile fits, training and the "
             "segmentation of volumes make tiles smaller or divide the network in another way, which changes last "
             "bits, and say so; --tile-size is the same with any memory.")
    .Group("Computing")
    .DecidesNothing())

/** Folder for maps that are kept while a network goes over an image in segments, or sees the whole image, in files
 * without a name there; empty, the default: in memory. Changes no result. */
GIGAPIXEL_MAPS_OPTION(
  std::string,
  ScratchFolder,
  scratchFolder,
  {},
  OptionText("scratch", "DIR", "Folder on a fast disk for maps between segments.")
    .Of("folder")
    .Details("A network with wide halos keeps them while it goes over an image in segments; plan tells what room they "
             "take. The folder has to be there. Its files have no name, and nothing is left of them. Without it the "
             "maps lie in memory. Changes no result, unless there is not the memory for the same segments without it, "
             "which is said.")
    .Group("Computing"))

#undef GIGAPIXEL_COMPUTING_OPTION
#undef GIGAPIXEL_SHARING_OPTION
#undef GIGAPIXEL_MAPS_OPTION
