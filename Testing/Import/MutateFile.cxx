/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// MutateFile KIND FILE SEED COUNT [NETWORK]
// Reads COUNT mutations of a file as KIND (onnx, weights of NETWORK, or model) and prints how many were accepted and
// how many refused. Each either is read, or refused in one sentence that names the file; anything else ends with exit
// code 1.
#include "gigapixelNetworkImport.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <stdexcept>

using namespace gigapixel;

namespace
{

/** Changes a few places: one by chance, mostly, since of many the first one ends the reading. */
class Mutator
{
public:
  explicit Mutator(unsigned seed)
    : m_Random(seed)
  {}

  std::string
  Mutate(std::string content)
  {
    for (auto changes = 1 + Draw(3) * Draw(2); changes > 0 && !content.empty(); --changes)
    {
      Change(content);
    }
    return content;
  }

private:
  std::size_t
  Draw(std::size_t count)
  {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(m_Random);
  }

  void
  Change(std::string & content)
  {
    const std::size_t place = Draw(content.size());
    const std::size_t length = 1 + Draw(Draw(8) == 0 ? 200 : 8);
    switch (Draw(8))
    {
      case 0:
        content[place] = static_cast<char>(content[place] ^ 1 << Draw(8));
        break;
      case 1:
        content[place] = static_cast<char>(Draw(256));
        break;
      case 2:
        content.erase(place, length);
        break;
      case 3:
        content.insert(place, content.substr(Draw(content.size()), length));
        break;
      case 4:
        content.replace(place, std::min(length, content.size() - place), length, static_cast<char>(0xff));
        break;
      case 5:
        content.replace(place, std::min(length, content.size() - place), length, '\0');
        break;
      case 6:
        content[place] = static_cast<char>(content[place] + (Draw(2) == 0 ? 1 : -1));
        break;
      default:
        content.resize(Draw(6) == 0 ? place : content.size());
        break;
    }
  }

  std::mt19937 m_Random;
};

void
Read(const std::string & kind, const std::string & network, const std::string & file)
{
  if (kind == "onnx")
  {
    ImportONNX(file);
  }
  else if (kind == "weights")
  {
    ImportWeights(NetworkDescription::Load(network), file);
  }
  else
  {
    Model::Load(file);
  }
}

/** Whether it is read. */
bool
IsRead(const std::string & kind, const std::string & network, const std::string & file)
{
  try
  {
    Read(kind, network, file);
    return true;
  }
  catch (const std::runtime_error & error)
  {
    const std::string text = error.what();
    if (text.find(file) == std::string::npos || text.find('\n') != std::string::npos || text.size() > 4096)
    {
      throw std::logic_error("no sentence that names the file: " + text);
    }
    return false;
  }
}

int
Run(char ** words, const std::string & network)
{
  const std::string kind = words[1], path = words[2];
  std::ifstream     file(path, std::ios::binary);
  const std::string content(std::istreambuf_iterator<char>(file), {});
  if (content.empty())
  {
    throw std::logic_error(path + " cannot be read");
  }
  const std::string mutated = path + ".mutated";
  Mutator           mutator(static_cast<unsigned>(std::stoul(words[3])));
  int               read = 0;
  const int         count = std::stoi(words[4]);
  for (int i = 0; i < count; ++i)
  {
    {
      const std::string bytes = mutator.Mutate(content);
      std::ofstream(mutated, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    }
    read += IsRead(kind, network, mutated);
  }
  std::cout << read << ' ' << count - read << '\n';
  return EXIT_SUCCESS;
}

} // namespace

int
main(int count, char ** words)
{
  try
  {
    if (count < 5)
    {
      throw std::logic_error("MutateFile KIND FILE SEED COUNT [NETWORK]");
    }
    return Run(words, count > 5 ? words[5] : "");
  }
  catch (const std::exception & error)
  {
    std::cerr << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
