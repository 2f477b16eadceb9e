/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelDevice.h"
#include "gigapixelDeviceModule.h"
#include "kernels/gigapixelInstructions.h"
#include "gigapixelLaunch.h"
#include "gigapixelModuleFile.h"
#include "gigapixelNetworkDescription.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace gigapixel
{
namespace
{

/** In the order of Precision, as far as users may ask for them. */
constexpr const char * PrecisionNames[] = { "fp32", "tf32", "bf16", "fp16" };

int
CountDevices(std::string & problem)
{
  try
  {
    const int number = DeviceModule::Get().countDevices(problem);
    if (number == 0)
    {
      problem = "there is no GPU that CUDA can use" + (problem.empty() ? std::string() : " (" + problem + ")");
    }
    return number;
  }
  catch (const std::runtime_error & error)
  {
    problem = error.what();
    return 0;
  }
}

} // namespace

Precision
FindPrecision(const std::string & name)
{
  const auto found = std::find(std::begin(PrecisionNames), std::end(PrecisionNames), name);
  if (found == std::end(PrecisionNames))
  {
    throw std::invalid_argument("there is no precision \"" + name + "\": fp32, tf32, bf16 or fp16");
  }
  return static_cast<Precision>(found - std::begin(PrecisionNames));
}

std::string
GetName(Precision precision)
{
  return precision == Precision::Double ? "fp64" : PrecisionNames[static_cast<int>(precision)];
}

int
GetValueBytes(Precision precision)
{
  return precision == Precision::Double                                        ? 8
         : precision == Precision::BFloat16 || precision == Precision::Float16 ? 2
                                                                               : 4;
}

std::string
GetPrecisionProblem(Precision precision)
{
#ifdef __x86_64__
  const bool quick = __builtin_cpu_supports("avx512bf16"); // whoever has AMX has it as well
#else
  const bool quick = false;
#endif
  return precision == Precision::BFloat16 && !quick
           ? "this CPU has no instructions for bf16 (AVX512-BF16 or AMX), in which it takes longer than in fp32"
           : "";
}

void
CheckDevice(const NetworkDescription & network, const Device & device)
{
  if (network.graph.IsEmpty())
  {
    return;
  }
  if (device.cuda >= 0 || device.precision == Precision::TensorFloat32 || device.precision == Precision::Float16)
  {
    throw std::invalid_argument("the network \"" + network.name +
                                "\" is made of operations, which are computed on the CPU in fp32 or bf16 only: choose "
                                "--device cpu and one of these precisions (--precision)");
  }
  if (device.precision == Precision::BFloat16 && !HasAVX512())
  {
    throw std::runtime_error("LibTorch has no convolutions in bf16 for this CPU, which is not known to have AVX-512: "
                             "choose --precision fp32");
  }
}

Device
Device::Find(const std::string & name, const std::string & precisionName)
{
  const Precision precision = FindPrecision(precisionName);
  if (name == "cpu")
  {
    return { -1, precision };
  }
  if (name.compare(0, 3, "mps") == 0)
  {
    throw std::runtime_error("the device " + name +
                             " cannot be used: there is nothing here for Apple's GPUs (MPS); "
                             "--device cpu computes on Apple's machines, too, whose memory is one anyway");
  }
  std::string problem;
  const int   devices = name == "auto" || name.compare(0, 4, "cuda") == 0 ? CountDevices(problem) : 0;
  if (name == "auto")
  {
    return Find(devices > 0 ? "cuda" : "cpu", precisionName);
  }
  const std::string number = name == "cuda" ? std::to_string(Launch::Find().localRank % std::max(1, devices))
                             : name.compare(0, 5, "cuda:") == 0 ? name.substr(5)
                                                                : std::string();
  if (number.empty() || number.size() > 4 || number.find_first_not_of("0123456789") != std::string::npos)
  {
    throw std::invalid_argument("there is no device \"" + name + "\": auto, cpu, cuda or cuda:N");
  }
  if (std::stoi(number) >= devices)
  {
    throw std::runtime_error("the device " + name + " cannot be used: " +
                             (problem.empty() ? "there are only " + std::to_string(devices) : problem) +
                             "; --device cpu computes without");
  }
  return { std::stoi(number), precision };
}

std::vector<std::string>
Device::GetDescriptions()
{
  std::string              problem;
  std::vector<std::string> descriptions(CountDevices(problem));
  for (std::size_t i = 0; i < descriptions.size(); ++i)
  {
    descriptions[i] = DeviceModule::Get().describeDevice(static_cast<int>(i));
  }
  return descriptions;
}

std::string
Device::GetProblem()
{
  std::string problem;
  CountDevices(problem);
  return problem;
}

std::string
Device::GetSharingProblem() const
{
  return cuda < 0 || DeviceModule::Get().canShare(cuda)
           ? std::string()
           : "the device cuda:" + std::to_string(cuda) +
               " and its driver cannot share memory with the CPU while both work (concurrentManagedAccess is 0)";
}

const DeviceModule &
DeviceModule::Get()
{
  try
  {
    return *static_cast<const DeviceModule *>(FindInModule("GigapixelCuda", "GigapixelDeviceModule"));
  }
  catch (const std::runtime_error & error)
  {
    throw std::runtime_error(std::string("this build has no CUDA module that loads (") + error.what() + ")");
  }
}

std::unique_ptr<TilePasses>
MakeCudaPasses(const NetworkDescription & network, Device device)
{
  return std::unique_ptr<TilePasses>(DeviceModule::Get().makePasses(network, device));
}

} // namespace gigapixel
