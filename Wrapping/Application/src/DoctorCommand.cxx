/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "CommandFunctions.h"
#include "DicomProcess.h"
#include "ITKMessages.h"
#include "Engine.h"
#include "PyramidOutput.h"

#include "gigapixelFreeMemory.h"
#include "gigapixelPlainMessage.h"

#include "itkImageRegionConstIterator.h"
#include "itkVersion.h"
#include "itkWholeSlideImageIO.h"

#include <nlohmann/json.hpp>
#include <openjpeg.h>
#include <webp/decode.h>
#include <zstd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace gigapixel::application
{
namespace
{
using JSON = nlohmann::ordered_json;

std::string
GetWebPVersion()
{
  const int version = WebPGetDecoderVersion();
  return std::to_string(version >> 16) + '.' + std::to_string((version >> 8) & 255) + '.' +
         std::to_string(version & 255);
}

/** Which the standard library does not name where it is not there. */
std::string
GetFolderForTemporaryFiles()
{
  // Environment variable TMPDIR: The folder of temporary files.
  for (const char * const variable : { "TMPDIR", "TMP", "TEMP", "TEMPDIR" })
  {
    const char * const folder = std::getenv(variable);
    if (folder && *folder)
    {
      return folder;
    }
  }
  return "/tmp";
}

/** A folder that goes when it is done with. */
class TemporaryFolder
{
public:
  TemporaryFolder()
    : m_Path((std::filesystem::path(GetFolderForTemporaryFiles()) / "gigapixel-doctor-XXXXXX").string())
  {
    if (!mkdtemp(m_Path.data()))
    {
      Diagnostic refusal = Diagnostic::Of(std::system_error(errno, std::generic_category()));
      refusal.why = "nothing can be written into " + GetFolderForTemporaryFiles() + " (" + refusal.why + ')';
      refusal.remedy = "name another folder for temporary files in TMPDIR";
      throw Refusal(refusal.OfFile(GetFolderForTemporaryFiles()));
    }
  }
  ~TemporaryFolder()
  {
    std::error_code ignored;
    std::filesystem::remove_all(m_Path, ignored);
  }

  std::string
  GetFile(const std::string & name) const
  {
    return m_Path + '/' + name;
  }

private:
  std::string m_Path;
};

itk::Image<unsigned char, 2>::Pointer
MakeChessboard()
{
  const auto image = itk::Image<unsigned char, 2>::New();
  image->SetRegions(itk::Size<2>{ { 600, 500 } });
  image->Allocate();
  unsigned char * pixels = image->GetBufferPointer();
  for (std::size_t i = 0; i < 600 * 500; ++i)
  {
    pixels[i] = (i % 600 / 7 + i / 600 / 5) % 2 ? 255 : 0;
  }
  return image;
}

/** Writes a pyramid into the folder for temporary files and reads it back. Throws what goes wrong. */
void
TestWriting(const Session & session)
{
  const TemporaryFolder folder;
  const std::string     file = folder.GetFile("chessboard.pyramid.tif");
  const auto            image = MakeChessboard();
  Progress              progress(session, "write test");
  WritePyramid(image.GetPointer(), file, itk::PyramidTIFFImageIO::New(), progress);
  const auto io = itk::WholeSlideImageIO::New();
  io->SetFileName(file);
  io->ReadImageInformation();
  std::vector<unsigned char> pixels(600 * 500);
  io->ReadRegion(0, 0, 0, 600, 500, 1, pixels.data());
  if (!std::equal(pixels.begin(), pixels.end(), image->GetBufferPointer()))
  {
    throw Refusal(Diagnostic("E-INTERNAL", "a pyramid came back with other pixels than were written"));
  }
}

JSON
DescribeNetwork()
{
  JSON json{ { "installed", HasEngine() }, { "torch", nullptr } };
  try
  {
    json["gpu"] = DescribeDevices();
    json["torch"] = FindTorchVersion();
  }
  catch (const std::exception &)
  {
    json["problem"] = DiagnoseThrown().GetSentence();
  }
  return json;
}

JSON
DescribeWriteTest(const Session & session)
{
  JSON json{ { "folder", GetFolderForTemporaryFiles() }, { "passed", false } };
  try
  {
    TestWriting(session);
    json["passed"] = true;
  }
  catch (const std::exception &)
  {
    json["problem"] = DiagnoseThrown().GetSentence();
  }
  return json;
}

std::string
FormatDicom(const JSON & json)
{
  if (!json["dicomBuilt"].get<bool>())
  {
    return "series of volumes are not read: ITK was built without GDCM";
  }
  const JSON & problem = json["dicomProblem"];
  return problem.is_null() ? "series of volumes are read, in a process of its own"
                           : "series of volumes are refused: " + problem.get<std::string>();
}

std::string
Format(const JSON & json)
{
  std::string text = "gigapixel " + json["version"].get<std::string>() + '\n';
  text += "  ITK            " + json["itk"].get<std::string>() + '\n';
  const JSON & problem = json["openslideProblem"];
  text += "  OpenSlide      " +
          (problem.is_null() ? json["openslide"].get<std::string>() + ", in a process of its own for each slide"
                             : "slides which only it opens are refused: " + problem.get<std::string>()) +
          '\n';
  text += "  DICOM          " + FormatDicom(json) + '\n';
  text += "  codecs         ";
  for (const auto & codec : json["codecs"].items())
  {
    text += codec.key() + (codec.value().is_string() ? " (" + codec.value().get<std::string>() + "), " : ", ");
  }
  text.replace(text.size() - 2, 2, "\n");
  text += "  cores          " + json["cores"].dump() + " (used: " + json["threads"].dump() + ")\n";
  text += "  free memory    " + FormatBytes(json["freeMemoryBytes"].get<double>()) + '\n';
  const JSON & network = json["network"];
  const JSON & torch = network["torch"];
  text += "  networks       " +
          (torch.is_null() ? network["problem"].get<std::string>() : "LibTorch " + torch.get<std::string>()) + '\n';
  text += network.contains("gpu") ? "  GPU            " + network["gpu"].get<std::string>() + '\n' : std::string();
  const JSON & writing = json["writeTest"];
  text += "  write test     " +
          (writing["passed"].get<bool>() ? "passed in " + writing["folder"].get<std::string>()
                                         : "failed: " + writing["problem"].get<std::string>()) +
          '\n';
  return text + (!json["healthy"].get<bool>() ? "Something is wrong.\n"
                 : torch.is_null()            ? "All is well, but for networks that need LibTorch.\n"
                                              : "All is well.\n");
}
} // namespace

int
RunDoctor(const ArgumentValues &, const Session & session)
{
  JSON json{ { "version", GIGAPIXEL_VERSION } };
  json["itk"] = itk::Version::GetITKVersion();
  const std::string openSlide = itk::WholeSlideImageIO::GetOpenSlideVersion();
  json["openslide"] = openSlide.empty() ? JSON() : JSON(openSlide);
  const std::string reader = itk::WholeSlideImageIO::GetOpenSlideReader();
  json["openslideReader"] = reader.empty() ? JSON() : JSON(reader);
  const std::string problem = itk::WholeSlideImageIO::GetOpenSlideProblem();
  json["openslideProblem"] = problem.empty() ? JSON() : JSON(problem);
  const std::string dicomProblem = GetDicomProblem();
  json["dicomBuilt"] = IsBuiltWithDicom();
  json["dicomProblem"] = dicomProblem.empty() ? JSON() : JSON(dicomProblem);
  json["codecs"] = { { "JPEG", "libjpeg-turbo" },      { "JPEG 2000", std::string("OpenJPEG ") + opj_version() },
                     { "deflate", "libdeflate" },      { "LZW", nullptr },
                     { "zstd", ZSTD_versionString() }, { "WebP", GetWebPVersion() } };
  json["cores"] = std::thread::hardware_concurrency();
  json["threads"] = session.GetThreads();
  json["freeMemoryBytes"] = GetFreeMemory();
  json["network"] = DescribeNetwork();
  json["writeTest"] = DescribeWriteTest(session);
  // A build without the networks, LibTorch or GDCM is a whole one; one without OpenSlide is not.
  const bool healthy = json["writeTest"]["passed"].get<bool>() && problem.empty() && dicomProblem.empty();
  json["healthy"] = healthy;
  session.ShowResult(Format(json), json);
  return healthy ? Success : Failure;
}

} // namespace gigapixel::application
