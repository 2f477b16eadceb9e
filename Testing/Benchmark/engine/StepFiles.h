/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef StepFiles_h
#define StepFiles_h

#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <sys/resource.h>

/** \file Data that the programs of this folder take from each other as plain numbers in files, and what a step costs
 * their process. */
namespace gigapixel_benchmark
{

template <typename T>
std::vector<T>
Read(const std::string & path)
{
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file)
  {
    throw std::runtime_error(path + " is missing");
  }
  std::vector<T> values(static_cast<std::size_t>(file.tellg()) / sizeof(T));
  file.seekg(0);
  file.read(reinterpret_cast<char *>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(T)));
  return values;
}

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

inline double
GetCPUSeconds()
{
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/** A line of /proc/self/status, in bytes. */
inline std::int64_t
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

} // namespace gigapixel_benchmark

#endif
