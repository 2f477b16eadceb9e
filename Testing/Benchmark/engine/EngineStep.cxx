/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// EngineStep data SIDE FOLDER                  writes pixels.raw, labels.raw (bytes) and parameters.raw (doubles)
// EngineStep step SIDE FOLDER THREADS REPEATS  gradient of the mean loss over them, to gradient.raw (doubles)
// Our part of compare_engines.py: everyone computes the gradient of the same pixels with the same weights.
#include "SyntheticSources.h"
#include "gigapixelInitialWeights.h"
#include "gigapixelStreamedNetwork.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>

#include <sys/resource.h>

using namespace gigapixel;
using namespace gigapixel::test;

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

template <typename T>
void
Write(const std::string & path, const std::vector<T> & values)
{
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char *>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(T)));
  if (!file.flush())
  {
    throw std::runtime_error(path + " cannot be written");
  }
}

template <typename T>
std::vector<T>
Read(const std::string & path, std::size_t count)
{
  std::vector<T> values(count);
  std::ifstream  file(path, std::ios::binary);
  if (!file.read(reinterpret_cast<char *>(values.data()), static_cast<std::streamsize>(count * sizeof(T))))
  {
    throw std::runtime_error(path + " is missing or too short");
  }
  return values;
}

double
GetCPUSeconds()
{
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/** A line of /proc/self/status, in bytes. */
std::int64_t
GetBytes(const std::string & name)
{
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
  {
    if (word == name + ":")
    {
      std::int64_t kilobytes = 0;
      status >> kilobytes;
      return kilobytes * 1024;
    }
  }
  return 0;
}

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
  const std::size_t       pixels = size.width * size.height;
  PixelsInMemory          image(size, Read<std::uint8_t>(folder + "/pixels.raw", pixels));
  FromMemory<LabelSource> labels(size, Read<std::uint8_t>(folder + "/labels.raw", pixels));
  const std::int64_t      before = GetBytes("VmRSS");
  StreamedNetwork         streamed(network, 2048, threads);
  LossGradient            sum;
  double                  leastCPU = 1e30, leastWall = 1e30;
  streamed.SetParameters(Read<double>(folder + "/parameters.raw", network.GetNumberOfParameters()));
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
