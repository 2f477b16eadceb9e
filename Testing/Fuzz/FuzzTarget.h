/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef FuzzTarget_h
#define FuzzTarget_h

#include "TemporaryFolder.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

/** What a target reads: any bytes. libFuzzer calls it with inputs of its own making (llvm.org/docs/LibFuzzer.html), the
 * replay with those of the corpus. */
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t * data, std::size_t size);

namespace gigapixel_fuzz
{

/** Ends the program, which is a finding. */
[[noreturn]] inline void
Fail(const std::string & what)
{
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

/** A refusal is one line that a person can read, and names what it is about.
 * \param about that has to stand in it; empty: nothing */
inline void
CheckRefusal(const std::string & text, const std::string & about)
{
  const auto isControl = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  if (text.empty() || text.size() > 4096 || std::any_of(text.begin(), text.end(), isControl) ||
      text.find(about) == std::string::npos)
  {
    Fail("A refusal is no sentence about its file: " + text);
  }
}

/** Runs what reads an input. It may refuse it by the exceptions that its functions are documented to throw; all others
 * pass, which ends the program and is a finding: somebody has trusted a number of the file. */
template <typename TAction>
void
MayRefuse(const std::string & about, const TAction & action)
{
  try
  {
    action();
  }
  catch (const std::runtime_error & error)
  {
    CheckRefusal(error.what(), about);
  }
  catch (const std::invalid_argument & error)
  {
    CheckRefusal(error.what(), about);
  }
}

/** An input as a file in a folder of its own, for what reads by name. */
class InputFile
{
public:
  explicit InputFile(const std::string & name)
    : m_Folder("fuzz")
    , m_Path(m_Folder.File(name))
  {}

  const std::string &
  GetFolder() const
  {
    return m_Folder.path;
  }

  /** A new file for each input: nothing that is remembered of the former one fits it. */
  const std::string &
  Write(const std::uint8_t * data, std::size_t size) const
  {
    std::filesystem::remove(m_Path);
    std::ofstream(m_Path, std::ios::binary)
      .write(reinterpret_cast<const char *>(data), static_cast<std::streamsize>(size));
    return m_Path;
  }

private:
  gigapixel::test::TemporaryFolder m_Folder;
  std::string                      m_Path;
};

/** Takes numbers off the front of an input, 0 behind its end; the rest is what is decoded. */
class Choices
{
public:
  Choices(const std::uint8_t * data, std::size_t size)
    : m_Data(data)
    , m_Size(size)
  {}

  /** One of 0 to count - 1; count is at most 256. */
  unsigned
  Take(unsigned count)
  {
    if (m_Size == 0)
    {
      return 0;
    }
    --m_Size;
    return *m_Data++ % count;
  }

  const std::uint8_t *
  GetRest() const
  {
    return m_Data;
  }
  std::size_t
  GetRestSize() const
  {
    return m_Size;
  }

private:
  const std::uint8_t * m_Data;
  std::size_t          m_Size;
};

} // namespace gigapixel_fuzz

#endif
