/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelGzipStream.h"

#include "gigapixelDiagnostic.h"

#include <algorithm>

namespace gigapixel
{
namespace
{

/** zlib counts in unsigned int. */
constexpr std::size_t MostAtOnce = std::size_t{ 1 } << 30;

} // namespace

GzipStream
OpenGzip(const std::string & file, std::uintmax_t offset)
{
  GzipStream stream(gzopen(file.c_str(), "rb"), gzclose);
  if (stream && gzseek(stream.get(), static_cast<z_off_t>(offset), SEEK_SET) < 0)
  {
    stream.reset();
  }
  return stream;
}

void
ReadBytes(gzFile stream, const std::string & file, unsigned char * bytes, std::size_t number)
{
  for (std::size_t done = 0; done < number;)
  {
    const int read = gzread(stream, bytes + done, static_cast<unsigned>(std::min(number - done, MostAtOnce)));
    if (read <= 0)
    {
      throw Refusal(Diagnostic("E-FILE-DAMAGED",
                               "it is cut short or damaged: its pixels end early",
                               "get it again from where it came")
                      .OfFile(file));
    }
    done += static_cast<std::size_t>(read);
  }
}

void
SwapBytes(unsigned char * bytes, std::size_t number, std::size_t ofOne)
{
  for (std::size_t i = 0; ofOne > 1 && i < number; ++i)
  {
    std::reverse(bytes + i * ofOne, bytes + (i + 1) * ofOne);
  }
}

void
WriteGzip(const std::string &                file,
          bool                               isCompressed,
          const std::vector<unsigned char> & header,
          const std::vector<std::uint8_t> &  labels)
{
  GzipStream stream(gzopen(file.c_str(), isCompressed ? "wb" : "wbT"), gzclose);
  bool       isWritten = stream != nullptr;
  for (const auto * const piece : { &header, &labels })
  {
    for (std::size_t done = 0; isWritten && done < piece->size();)
    {
      const auto count = static_cast<unsigned>(std::min(piece->size() - done, MostAtOnce));
      const int  written = gzwrite(stream.get(), piece->data() + done, count);
      isWritten = written > 0;
      done += static_cast<std::size_t>(std::max(written, 0));
    }
  }
  if (!stream || gzclose(stream.release()) != Z_OK || !isWritten)
  {
    throw Refusal(Diagnostic("E-OUTPUT-WRITE", "the system does not write all of it"));
  }
}

} // namespace gigapixel
