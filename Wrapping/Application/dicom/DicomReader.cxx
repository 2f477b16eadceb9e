/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// dicom-reader: ITK's reader of DICOM in a process of its own, since GDCM and the codecs in it end the process that
// they are in on some damaged files, by their assertions or by reading where no memory is. Its standard input is a
// socket, on which come the questions of DicomSlice.h, one after the other.
#include "DicomSlice.h"

#include "gigapixelHelperProgram.h"
#include "gigapixelSocket.h"

#include "itkGDCMImageIO.h"
#include "itkMetaDataObject.h"
#ifdef GIGAPIXEL_HAS_GDCM_TRACE
#  include "gdcmTrace.h"
#endif

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include <poll.h>
#include <sys/resource.h>
#include <sys/time.h>

namespace gigapixel::application
{
namespace
{

constexpr char Source[] = "DicomReader.cxx";
constexpr char Library[] = "gdcm";

constexpr int Socket = STDIN_FILENO;

/** Of addresses, the libraries' among them: slices are some MB, of which GDCM has a few copies. */
constexpr rlim_t MostBytes = rlim_t{ 4 } << 30;

/** Seconds on a core for an answer, however long the program waits: who asked may be no more. */
constexpr time_t MostSeconds = 60;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool IsSanitized = true; // which takes terabytes of addresses
#else
constexpr bool IsSanitized = false;
#endif

void
LimitMemory()
{
  rlimit memory{};
  getrlimit(RLIMIT_AS, &memory);
  memory.rlim_cur = std::min(memory.rlim_max, MostBytes);
  if (!IsSanitized)
  {
    setrlimit(RLIMIT_AS, &memory);
  }
}

/** From now on: SIGPROF ends the process then. */
void
LimitTime()
{
  const itimerval once{ {}, { MostSeconds, 0 } };
  setitimer(ITIMER_PROF, &once, nullptr);
}

itk::GDCMImageIO::Pointer
Open(const std::string & file)
{
  const auto io = itk::GDCMImageIO::New();
  io->SetFileName(file);
  io->ReadImageInformation();
  io->SetUseStreamedReading(false);
  return io;
}

std::vector<char>
DescribeHeader(const std::string & file)
{
  const auto io = Open(file);
  DicomSlice slice{};
  for (unsigned axis = 0; axis < DicomSlice::Axes; ++axis)
  {
    const bool                isThere = axis < io->GetNumberOfDimensions();
    const std::vector<double> direction = isThere ? io->GetDirection(axis) : std::vector<double>();
    slice.size[axis] = isThere ? io->GetDimensions(axis) : 1;
    slice.spacing[axis] = isThere ? io->GetSpacing(axis) : 1;
    slice.origin[axis] = isThere ? io->GetOrigin(axis) : 0;
    std::copy_n(direction.begin(), std::min<std::size_t>(direction.size(), DicomSlice::Axes), slice.direction[axis]);
  }
  slice.pixelType = static_cast<std::int32_t>(io->GetPixelType());
  slice.componentType = static_cast<std::int32_t>(io->GetComponentType());
  slice.components = io->GetNumberOfComponents();
  std::string series;
  itk::ExposeMetaData<std::string>(io->GetMetaDataDictionary(), "0020|000e", series);
  std::memcpy(slice.series, series.data(), std::min(series.size(), sizeof(slice.series) - 1));
  const auto * const bytes = reinterpret_cast<const char *>(&slice);
  return { bytes, bytes + sizeof(slice) };
}

std::vector<char>
ReadSamples(const std::string & file)
{
  const auto         io = Open(file);
  itk::ImageIORegion region(io->GetNumberOfDimensions());
  for (unsigned axis = 0; axis < io->GetNumberOfDimensions(); ++axis)
  {
    region.SetSize(axis, io->GetDimensions(axis));
  }
  io->SetIORegion(region);
  std::vector<char> samples(io->GetImageSizeInBytes());
  io->Read(samples.data());
  return samples;
}

bool
Send(const std::vector<char> & data, bool isRefusal)
{
  const DicomAnswer answer{ data.size(), isRefusal ? 1u : 0u };
  return SendAll(Socket, &answer, sizeof(answer)) && SendAll(Socket, data.data(), data.size());
}

/** What GDCM says of a refusal is of no use to those who have the file. */
bool
Answer(DicomRequest::Kind kind, const std::string & file)
{
  const bool  isOfHeader = kind == DicomRequest::Header;
  std::string reason =
    isOfHeader ? "ITK's reader of DICOM cannot read its header" : "ITK's reader of DICOM cannot decode its pixels";
  LimitTime();
  try
  {
    return Send(isOfHeader ? DescribeHeader(file) : ReadSamples(file), false);
  }
  catch (const std::bad_alloc &)
  {
    reason += " with " + std::to_string(MostBytes >> 30) + " GiB of memory";
  }
  catch (const std::exception &) // ITK's are such
  {}
  return Send({ reason.begin(), reason.end() }, true);
}

bool
Wait()
{
  pollfd    waiting{ Socket, POLLIN, 0 };
  const int ready = poll(&waiting, 1, -1);
  return ready > 0 || errno == EINTR;
}

void
Run()
{
  BeginHelperProgram<Source, Library>();
  LimitMemory();
#ifdef GIGAPIXEL_HAS_GDCM_TRACE
  gdcm::Trace::DebugOff();
  gdcm::Trace::WarningOff();
  gdcm::Trace::ErrorOff();
#endif
  DicomRequest request{};
  std::string  file;
  bool         isThere = SendAll(Socket, &DicomProtocol, sizeof(DicomProtocol));
  while (isThere && ReceiveAll(Socket, &request, sizeof(request), Wait))
  {
    file.resize(request.nameBytes);
    isThere = ReceiveAll(Socket, file.data(), file.size(), Wait) && Answer(request.kind, file);
  }
}

} // namespace
} // namespace gigapixel::application

int
main()
{
  int       type = 0;
  socklen_t bytes = sizeof(type);
  if (getsockopt(STDIN_FILENO, SOL_SOCKET, SO_TYPE, &type, &bytes) != 0)
  {
    std::fputs("dicom-reader is started by gigapixel, which talks to it on a socket\n", stderr);
    return 2;
  }
  gigapixel::application::Run();
  return 0;
}
