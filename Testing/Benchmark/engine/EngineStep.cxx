/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// EngineStep data SIDE FOLDER                  writes pixels.raw, labels.raw (bytes) and parameters.raw (doubles)
// EngineStep step SIDE FOLDER THREADS REPEATS  gradient of the mean loss over them, to gradient.raw (doubles)
// Our part of compare_engines.py: everyone computes the gradient of the same pixels with the same weights.
#include "StepFiles.h"
#include "SyntheticSources.h"
#include "model/gigapixelInitialWeights.h"
#include "execute/gigapixelStreamedNetwork.h"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <string>

using namespace gigapixel;
using namespace gigapixel::test;
using namespace gigapixel_benchmark;

namespace
{

/** An image in memory: decoding is measured elsewhere. */
template <typename TSource>
class FromMemory : public TSource
{
public:
  FromMemory(Size size, std::vector<std::uint8_t> values)
    : m_Size(size)
    , m_Values(std::move(values))
  {}

  Size
  GetSize() const override
  {
    return m_Size;
  }

  void
  Read(const Region & region, std::uint8_t * values) override
  {
    for (std::int64_t y = region.y; y < region.y + region.height; ++y, values += region.width)
    {
      std::copy_n(m_Values.begin() + y * m_Size.width + region.x, region.width, values);
    }
  }

private:
  Size                      m_Size;
  std::vector<std::uint8_t> m_Values;
};

class PixelsInMemory : public FromMemory<PixelSource>
{
public:
  using FromMemory::FromMemory;

  unsigned
  GetNumberOfChannels() const override
  {
    return 1;
  }
};

void
WriteData(const NetworkDescription & network, Size size, const std::string & folder)
{
  const Region              all{ 0, 0, size.width, size.height };
  std::vector<std::uint8_t> values(size.width * size.height);
  ProceduralPixels(size, 1).Read(all, values.data());
  Write(folder + "/pixels.raw", values);
  ProceduralLabels(size, 1).Read(all, values.data());
  Write(folder + "/labels.raw", values);
  Write(folder + "/parameters.raw", MakeInitialWeights(network, 1, { 0.5, 0.5 }));
}

void
Step(const NetworkDescription & network, Size size, const std::string & folder, int threads, int repeats)
{
  PixelsInMemory          image(size, Read<std::uint8_t>(folder + "/pixels.raw"));
  FromMemory<LabelSource> labels(size, Read<std::uint8_t>(folder + "/labels.raw"));
  const std::int64_t      before = GetBytes("VmRSS");
  StreamedNetwork         streamed(network, 2048, threads);
  LossGradient            sum;
  double                  leastCPU = 1e30, leastWall = 1e30;
  streamed.SetParameters(Read<double>(folder + "/parameters.raw"));
  for (int i = 0; i < repeats; ++i)
  {
    const double cpu = GetCPUSeconds();
    const auto   begin = std::chrono::steady_clock::now();
    streamed.ComputeGradient(image, labels, sum);
    leastWall = std::min(leastWall, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    leastCPU = std::min(leastCPU, GetCPUSeconds() - cpu);
  }
  for (double & value : sum.gradient)
  {
    value /= sum.weight;
  }
  Write(folder + "/gradient.raw", sum.gradient);
  std::cout << "{\"cpu_seconds\": " << leastCPU << ", \"wall_seconds\": " << leastWall
            << ", \"peak_bytes\": " << GetBytes("VmHWM") << ", \"bytes_before\": " << before << "}" << std::endl;
}

} // namespace

int
main(int argc, char ** argv)
try
{
  const std::string what = argc > 1 ? argv[1] : "";
  if (!(what == "data" && argc == 4) && !(what == "step" && argc == 6))
  {
    std::cerr << "EngineStep data SIDE FOLDER | EngineStep step SIDE FOLDER THREADS REPEATS\n";
    return 2;
  }
  const NetworkDescription network = NetworkDescription::Load("remedios2023");
  const Size               size{ std::stoll(argv[2]), std::stoll(argv[2]) };
  if (what == "data")
  {
    WriteData(network, size, argv[3]);
  }
  else
  {
    Step(network, size, argv[3], std::stoi(argv[4]), std::stoi(argv[5]));
  }
  return 0;
}
catch (const std::exception & error)
{
  std::cerr << "EngineStep: " << error.what() << '\n';
  return 1;
}
