/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// dicom-reader: ITK's reader of DICOM in a process of its own, since GDCM and the codecs in it end the process that
// they are in on some damaged files, by their assertions or by reading where no memory is. Its standard input is a
// socket, on which come the questions of DicomSlice.h, one after the other.
#include "DicomSlice.h"

#include "itkGDCMImageIO.h"
#include "itkMetaDataObject.h"
#ifdef GIGAPIXEL_HAS_GDCM_TRACE
#  include "gdcmTrace.h"
#endif

#include <algorithm>
#include <csignal>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include <sys/prctl.h>
#include <sys/resource.h>

namespace gigapixel::commandline
{
namespace
{

constexpr int Socket = STDIN_FILENO;

/** Beside what a file needs by its header: what damage makes GDCM ask for more than this is refused. */
constexpr rlim_t MostBytes = rlim_t{ 4 } << 30;

/** Crashes are expected: they leave no files. */
void
Limit()
{
  const rlimit noCore{ 0, 0 };
  setrlimit(RLIMIT_CORE, &noCore);
#ifndef __SANITIZE_ADDRESS__ // which takes terabytes of addresses
  rlimit memory{};
  getrlimit(RLIMIT_AS, &memory);
  memory.rlim_cur = std::min(memory.rlim_max, MostBytes);
  setrlimit(RLIMIT_AS, &memory);
#endif
  prctl(PR_SET_PDEATHSIG, SIGKILL); // however the program ends
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

bool
Answer(DicomRequest::Kind kind, const std::string & file)
{
  std::string reason;
  try
  {
    return Send(kind == DicomRequest::Header ? DescribeHeader(file) : ReadSamples(file), false);
  }
  catch (const itk::ExceptionObject & error)
  {
    reason = error.GetDescription();
  }
  catch (const std::bad_alloc &)
  {
    reason = "it asks for more than " + std::to_string(MostBytes >> 30) + " GiB of memory";
  }
  catch (const std::exception & error)
  {
    reason = error.what();
  }
  return Send({ reason.begin(), reason.end() }, true);
}

void
Run()
{
  Limit();
#ifdef GIGAPIXEL_HAS_GDCM_TRACE
  gdcm::Trace::DebugOff();
  gdcm::Trace::WarningOff();
  gdcm::Trace::ErrorOff();
#endif
  const auto   goesOn = [] { return true; };
  DicomRequest request{};
  std::string  file;
  do
  {
    if (!ReceiveAll(Socket, &request, sizeof(request), goesOn))
    {
      return;
    }
    file.resize(request.nameBytes);
  } while (ReceiveAll(Socket, file.data(), file.size(), goesOn) && Answer(request.kind, file));
}

} // namespace
} // namespace gigapixel::commandline

int
main()
{
  gigapixel::commandline::Run();
  return 0;
}
