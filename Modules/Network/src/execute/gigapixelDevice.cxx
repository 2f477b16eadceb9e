/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelDevice.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelDeviceModule.h"
#include "kernels/gigapixelInstructions.h"
#include "gigapixelLaunch.h"
#include "gigapixelModuleFile.h"
#include "gigapixelNetworkDescription.h"
#include "gigapixelTorchModule.h"
#include "graph/gigapixelExecutors.h"
#include "losses/gigapixelLossEntry.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>

#ifdef __x86_64__
#  include <cpuid.h>
#endif

namespace gigapixel
{
namespace
{

/** In the order of Precision, as far as users may ask for them. */
constexpr const char * PrecisionNames[] = { "fp32", "tf32", "bf16", "fp16" };

/** The reason and what to do, without the code: both become part of another sentence. */
std::string
DescribeProblem(const std::exception & error)
{
  const Diagnostic problem = Diagnostic::Of(error);
  return problem.why + (problem.remedy.empty() ? "" : ": " + problem.remedy);
}

/** Those of our kernels. \param problem why there is none */
int
CountDevicesOfKernels(std::string & problem)
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
    problem = DescribeProblem(error);
    return 0;
  }
}

/** Those that LibTorch computes networks of operations on. \param problem why there is none */
int
CountDevicesOfGraphs(std::string & problem)
{
  try
  {
    return TorchModule::Get().countGpus(problem);
  }
  catch (const std::runtime_error & error)
  {
    problem = DescribeProblem(error);
    return 0;
  }
}

/** Of either kind: what a network is computed by is not known yet. \param problem why there is none */
int
CountDevices(std::string & problem)
{
  std::string ofGraphs;
  const int   number = std::max(CountDevicesOfKernels(problem), CountDevicesOfGraphs(ofGraphs));
  problem = number > 0 ? std::string() : problem + ", and for networks made of operations " + ofGraphs;
  return number;
}

/** \throw std::invalid_argument graphs are not computed so on a GPU; std::runtime_error there is none for them */
void
CheckGpuOfGraphs(const std::string & subject, const Device & device)
{
  if (device.shared)
  {
    throw InvalidArgument(Diagnostic("E-OPTION-APPLIES",
                                     subject + "do not compute in memory that a GPU shares with the CPU",
                                     "leave out shared memory (--shared-memory), the result is the same"));
  }
  const std::string problem = TorchModule::Get().getGpuProblem(device.cuda);
  if (!problem.empty())
  {
    throw Refusal(Diagnostic("E-DEVICE-MISSING",
                             subject + "LibTorch computes, and the device cuda:" + std::to_string(device.cuda) +
                               " cannot be used: " + problem,
                             "use --device cpu")
                    .OfValue("cuda:" + std::to_string(device.cuda)));
  }
}

} // namespace

Precision
FindPrecision(const std::string & name)
{
  const auto found = std::find(std::begin(PrecisionNames), std::end(PrecisionNames), name);
  if (found == std::end(PrecisionNames))
  {
    throw InvalidArgument(
      Diagnostic("E-OPTION-VALUE", "there is no precision \"" + name + "\": fp32, tf32, bf16 or fp16").OfValue(name));
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

namespace
{

#ifdef __x86_64__
/** Whether the CPU has AMX, which not all compilers know by a name. */
bool
HasTileInstructions()
{
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d >> 24 & 1) != 0;
}
#endif

} // namespace

std::string
GetPrecisionProblem(Precision precision)
{
  if (precision != Precision::BFloat16)
  {
    return "";
  }
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512bf16")) // whoever has AMX has it as well
  {
    // Measured: 1.4 to 1.5 times fp32's time on an Intel Xeon. AMD's processors, which have no AMX, take half of it.
    return GIGAPIXEL_TORCH_MAJOR < 2 && HasTileInstructions() ? "this LibTorch uses no AMX, without which this CPU "
                                                                "takes longer in bf16 than in fp32 (LibTorch 2 uses it)"
                                                              : "";
  }
#endif
  return "this CPU has no instructions for bf16 (AVX512-BF16 or AMX), in which it takes longer than in fp32";
}

void
CheckDevice(const NetworkDescription & network, const Device & device)
{
  Executor::Of(network).CheckDevice(network, device);
}

void
FusedExecutor::CheckDevice(const NetworkDescription & network, const Device & device) const
{
  if (device.cuda >= 0 && !network.GetLoss().formula.IsFused())
  {
    throw InvalidArgument(Diagnostic("E-OPTION-APPLIES",
                                     "the loss of the network \"" + network.name +
                                       "\" has no kernel for GPUs, which a chain of layers needs",
                                     "choose --device cpu, or a network of operations"));
  }
  if (device.cuda < 0 && (device.precision == Precision::TensorFloat32 || device.precision == Precision::Float16))
  {
    throw InvalidArgument(Diagnostic("E-PRECISION",
                                     "the network \"" + network.name + "\" is computed in " +
                                       GetName(device.precision) + " on GPUs only: a CPU would gain nothing by it",
                                     "choose --precision fp32 or bf16, or --device cuda")
                            .OfValue(GetName(device.precision)));
  }
}

void
TorchExecutor::CheckDevice(const NetworkDescription & network, const Device & device) const
{
  const std::string subject = "the network \"" + network.name + "\" is made of operations, which ";
  if (device.precision == Precision::Float16)
  {
    throw InvalidArgument(Diagnostic("E-PRECISION",
                                     subject + "are computed in fp32 or bf16 only (--device cpu), on a GPU in tf32 as "
                                               "well, not in fp16, whose numbers end at 65504",
                                     "choose one of these (--precision)")
                            .OfValue(GetName(device.precision)));
  }
  if (device.cuda >= 0)
  {
    return CheckGpuOfGraphs(subject, device);
  }
  if (device.precision == Precision::TensorFloat32)
  {
    throw InvalidArgument(Diagnostic("E-PRECISION",
                                     subject + "are computed in fp32 or bf16 only with --device cpu, since tf32 is "
                                               "what the tensor cores of GPUs read of a float",
                                     "choose one of these (--precision)")
                            .OfValue(GetName(device.precision)));
  }
  if (device.precision == Precision::BFloat16 && !HasAVX512())
  {
    throw Refusal(Diagnostic("E-PRECISION",
                             "LibTorch has no convolutions in bf16 for this CPU, which is not known to have AVX-512",
                             "choose --precision fp32")
                    .OfValue(GetName(device.precision)));
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
    throw Refusal(Diagnostic("E-DEVICE-MISSING",
                             "the device " + name + " cannot be used: there is nothing here for Apple's GPUs (MPS)",
                             "use --device cpu, which has the same memory on Apple's machines")
                    .OfValue(name));
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
    throw InvalidArgument(
      Diagnostic("E-OPTION-VALUE", "there is no device \"" + name + "\": auto, cpu, cuda or cuda:N").OfValue(name));
  }
  if (std::stoi(number) >= devices)
  {
    throw Refusal(
      Diagnostic(
        "E-DEVICE-MISSING",
        "the device " + name + " cannot be used: " +
          (problem.empty() ? "GPUs of this machine are numbered from 0 to " + std::to_string(devices - 1) : problem),
        "use --device cpu")
        .OfValue(name));
  }
  return { std::stoi(number), precision };
}

std::vector<std::string>
Device::GetDescriptions()
{
  std::string              problem;
  std::vector<std::string> descriptions(CountDevicesOfKernels(problem));
  for (std::size_t i = 0; i < descriptions.size(); ++i)
  {
    descriptions[i] = DeviceModule::Get().describeDevice(static_cast<int>(i));
  }
  // Without our kernels nobody knows more of a GPU than that LibTorch finds it.
  for (int i = static_cast<int>(descriptions.size()); i < CountDevicesOfGraphs(problem); ++i)
  {
    descriptions.push_back("a GPU, for networks made of operations only");
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

std::optional<std::int64_t>
Device::GetFreeBytes() const
{
  return cuda < 0 ? std::nullopt : TorchModule::Get().getFreeGpuBytes(cuda);
}

std::optional<std::int64_t>
Device::GetPeakBytes() const
{
  return cuda < 0 ? std::nullopt : TorchModule::Get().getPeakGpuBytes(cuda);
}

/** Our own kernels' memory is not counted. */
std::optional<std::int64_t>
FusedExecutor::GetPeakBytes(const Device &) const
{
  return {};
}

std::optional<std::int64_t>
TorchExecutor::GetPeakBytes(const Device & device) const
{
  return device.GetPeakBytes();
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
    throw Refusal(Diagnostic("E-INSTALLATION",
                             "this build has no CUDA module that loads (" + Diagnostic::Of(error).why + ")",
                             "build it with Gigapixel_BUILD_CUDA (Python: pip install 'itk-gigapixel[torch]')"));
  }
}

std::unique_ptr<ChainPasses>
MakeCudaPasses(const NetworkDescription & network, Device device)
{
  return std::unique_ptr<ChainPasses>(DeviceModule::Get().makePasses(network, device));
}

} // namespace gigapixel
