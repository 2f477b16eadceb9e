/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// CPU time of the fused kernels per full-resolution pixel, on one thread, for each instruction set of this machine,
// beside the scalar reference. Percentages are of the peak: multiply-adds of vectors between registers, nothing else.
// Usage: gigapixelKernelsBenchmark [side of the window, default 2048]
#include "gigapixelKernelTargets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gigapixelKernelsBenchmark.cxx"
#include <hwy/foreach_target.h>
#include "gigapixelLanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gigapixel
{
namespace kernels
{
namespace HWY_NAMESPACE
{

/** \return floating-point operations that were done */
double
MultiplyAndAdd(std::int64_t repeats, float * result)
{
  constexpr int Chains = BlockRows * BlockChannels; // independent ones, as in the kernels
  const Floats  d;
  FloatVector   sums[Chains];
  for (int i = 0; i < Chains; ++i)
  {
    sums[i] = hn::Set(d, static_cast<float>(i));
  }
  const auto factor = hn::Set(d, 0.999f), summand = hn::Set(d, 1e-3f);
  for (std::int64_t k = 0; k < repeats; ++k)
  {
#if HWY_COMPILER_GCC_ACTUAL
#  pragma GCC unroll 32
#endif
    for (int i = 0; i < Chains; ++i)
    {
      sums[i] = hn::MulAdd(sums[i], factor, summand);
    }
  }
  for (int i = 0; i < Chains; ++i)
  {
    *result += hn::GetLane(hn::SumOfLanes(d, sums[i]));
  }
  return 2.0 * Chains * Lanes * static_cast<double>(repeats);
}

} // namespace HWY_NAMESPACE
} // namespace kernels
} // namespace gigapixel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#  include "gigapixelKernelsReference.h"

#  include <cstdio>
#  include <cstdlib>
#  include <ctime>
#  include <functional>
#  include <map>
#  include <random>
#  include <string>

namespace gigapixel
{
namespace kernels
{
HWY_EXPORT(MultiplyAndAdd);
} // namespace kernels
} // namespace gigapixel

namespace
{
using namespace gigapixel::kernels;

constexpr std::int64_t Targets[] = { HWY_AVX3, HWY_AVX2, HWY_SSE4, HWY_SCALAR };

double
GetCPUSeconds()
{
  std::timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

/** Least CPU time of some runs, ns per pixel: what disturbs a run can only lengthen it. */
double
Measure(const std::function<void()> & run, double pixels, int runs)
{
  double least = 1e30;
  for (int i = 0; i < runs; ++i)
  {
    const double start = GetCPUSeconds();
    run();
    least = std::min(least, GetCPUSeconds() - start);
  }
  return 1e9 * least / pixels;
}

std::vector<float>
MakeFloats(std::size_t count, float scale)
{
  static std::mt19937             generator(1);
  std::normal_distribution<float> normal(0.0f, scale);
  std::vector<float>              values(count);
  for (float & value : values)
  {
    value = normal(generator);
  }
  return values;
}

std::vector<std::uint8_t>
MakeBytes(std::size_t count, int below)
{
  static std::mt19937       generator(2);
  std::vector<std::uint8_t> values(count);
  for (std::uint8_t & value : values)
  {
    value = static_cast<std::uint8_t>(generator() % below);
  }
  return values;
}

template <typename T>
MapView<T>
MakeView(T * values, std::int64_t channels, std::int64_t height, std::int64_t width)
{
  return { values, height, width, 1, width * channels, channels };
}

/** \return whether this machine has the instruction set */
bool
Choose(std::int64_t target)
{
  hwy::SetSupportedTargetsForTest(0);
  if ((hwy::SupportedTargets() & target) == 0)
  {
    return false;
  }
  hwy::SetSupportedTargetsForTest(target);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  return true;
}

/** GFLOP/s of the chosen instruction set, as fast as they can be. */
double
MeasurePeak()
{
  constexpr std::int64_t Repeats = 5000000;
  float                  result = 0;
  double                 operations = 0;
  const auto             run = [&] { operations = HWY_DYNAMIC_DISPATCH(MultiplyAndAdd)(Repeats, &result); };
  const double           seconds = 1e-9 * Measure(run, 1, 7);
  return result < 0 ? 0 : 1e-9 * operations / seconds; // the result is used, so that it is computed
}

/** One line of the table: the kernel on every instruction set, then its reference on a smaller window. */
void
Report(const std::string &                 name,
       double                              pixels,
       double                              flopsPerPixel,
       const std::function<void()> &       run,
       const std::function<double(void)> & referenceNanoseconds)
{
  std::printf("%-44s", name.c_str());
  for (const std::int64_t target : Targets)
  {
    if (!Choose(target))
    {
      std::printf("%22s", "-");
      continue;
    }
    static std::map<std::int64_t, double> peaks;
    if (peaks.count(target) == 0)
    {
      peaks[target] = MeasurePeak();
    }
    const double ns = Measure(run, pixels, target == HWY_SCALAR ? 1 : 7);
    std::printf("  %6.3f (%5.1f, %2.0f %%)", ns, flopsPerPixel / ns, 100 * flopsPerPixel / ns / peaks[target]);
  }
  std::printf("  %8.1f\n", referenceNanoseconds());
  std::fflush(stdout);
}

void
ReportConvolution(std::int64_t side, int channels, Convolution conv)
{
  const auto   samples = MakeBytes(side * side * channels, 256);
  const auto   weight = MakeFloats(conv.outputChannels * channels * conv.kernel * conv.kernel, 0.06f);
  const auto   bias = MakeFloats(conv.outputChannels, 0.06f);
  const auto   size = (side + 2 * conv.padding - conv.kernel) / conv.stride + 1;
  const auto   gradient = MakeFloats(conv.outputChannels * size * size, 1.0f);
  auto         output = MakeFloats(conv.outputChannels * size * size, 1.0f);
  const double flops = 2.0 * conv.outputChannels * channels * conv.kernel * conv.kernel / (conv.stride * conv.stride);
  conv.weight = weight.data();
  conv.bias = bias.data();
  const PixelView     pixels{ samples.data(), side, side, side * channels, channels, true };
  const auto          view = MakeView(output.data(), conv.outputChannels, size, size);
  const auto          constView = MakeView<const float>(output.data(), conv.outputChannels, size, size);
  const auto          gradientView = MakeView(gradient.data(), conv.outputChannels, size, size);
  std::vector<double> weightSums(weight.size()), biasSums(bias.size());
  const std::int64_t  few = std::min<std::int64_t>(size, 16);
  const double        fewPixels = static_cast<double>(few * conv.stride) * few * conv.stride;
  const std::string   shape = "conv " + std::to_string(channels) + "->" + std::to_string(conv.outputChannels) + " k" +
                            std::to_string(conv.kernel) + " s" + std::to_string(conv.stride);
  Report(
    shape + " forward",
    1.0 * side * side,
    flops,
    [&] { ConvolvePixels(pixels, conv, view); },
    [&] { return Measure([&] { reference::Convolve(pixels, conv, few, few); }, fewPixels, 1); });
  Report(
    shape + " weight gradient",
    1.0 * side * side,
    flops,
    [&] { AddPixelConvolutionGradient(pixels, conv, constView, gradientView, weightSums.data(), biasSums.data()); },
    [&] {
      auto fewView = gradientView;
      fewView.height = fewView.width = few;
      return Measure([&] { reference::ConvolutionGradient(pixels, conv, constView, fewView); }, fewPixels, 1);
    });
}

void
ReportLogits(std::int64_t side, PixelLogits layer)
{
  const std::int64_t size = side / layer.stride;
  const auto         map = MakeFloats(layer.inputChannels * size * size, 1.0f);
  const auto weight = MakeFloats(layer.inputChannels * layer.outputChannels * layer.stride * layer.stride, 0.5f);
  const auto bias = MakeFloats(layer.outputChannels, 0.1f);
  const auto classes = MakeBytes(side * side, std::max(2, layer.outputChannels));
  auto       mapGradient = map;
  layer.weight = weight.data();
  layer.bias = bias.data();
  std::vector<float>         probabilities(side * side * layer.outputChannels);
  std::vector<std::uint8_t>  labels(side * side);
  std::vector<double>        weightSums(weight.size()), biasSums(bias.size());
  gigapixel::LossSum         sum;
  const gigapixel::LossTerms terms{ std::vector<double>(std::max(2, layer.outputChannels), 1.0), {}, {} };
  const CoreRegion           core{ 0, 0, size * layer.stride, size * layer.stride };
  const auto                 view = MakeView(map.data(), layer.inputChannels, size, size);
  const auto                 gradientView = MakeView(mapGradient.data(), layer.inputChannels, size, size);
  const auto                 output = MakeView(probabilities.data(), layer.outputChannels, core.height, core.width);
  const double               flops = 2.0 * layer.inputChannels * layer.outputChannels;
  const double               pixels = 1.0 * core.width * core.height;
  const std::string          shape = "logits " + std::to_string(layer.inputChannels) + "->" +
                            std::to_string(layer.outputChannels) + " k=s=" + std::to_string(layer.stride);
  const auto none = [] { return 0.0; };
  Report(
    shape + " loss, backward",
    pixels,
    3 * flops,
    [&] {
      AddPixelLoss(
        view, layer, core, { classes.data(), side }, terms, { gradientView, weightSums.data(), biasSums.data() }, sum);
    },
    [&] {
      const CoreRegion few{ 0, 0, std::min<std::int64_t>(side, 128), std::min<std::int64_t>(side, 128) };
      return Measure(
        [&] { reference::PixelLoss(view, layer, few, classes.data(), side, terms); }, 1.0 * few.width * few.height, 1);
    });
  Report(
    shape + " probability",
    pixels,
    flops,
    [&] { Predict(view, layer, core, gigapixel::PixelValue::Probability, output); },
    none);
  Report(
    shape + " label", pixels, flops, [&] { PredictLabels(view, layer, core, 0.5, 1, labels.data(), side); }, none);
}

} // namespace

int
main(int argc, char ** argv)
{
  const std::int64_t side = argc > 1 ? std::atoll(argv[1]) : 2048;
  std::printf(
    "CPU ns per pixel (GFLOP/s, of the peak) of %lld x %lld pixels, one thread\n", (long long)side, (long long)side);
  std::printf("%-44s  %20s  %20s  %20s  %20s  %8s\n", "", "AVX-512", "AVX2", "SSE4", "plain C++", "reference");
  ReportConvolution(side, 1, { 6, 16, 8, 4 });
  ReportConvolution(side, 3, { 6, 16, 8, 4 });
  ReportConvolution(side, 1, { 16, 16, 8, 4 });
  ReportConvolution(side, 3, { 16, 7, 2, 3 });
  ReportConvolution(side, 3, { 16, 3, 1, 1 });
  ReportLogits(side, { 6, 1, 8 });
  ReportLogits(side, { 16, 1, 4 });
  ReportLogits(side, { 6, 4, 8 });
  ReportLogits(side, { 16, 3, 2 });
  return 0;
}
#endif
