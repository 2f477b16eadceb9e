/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "DicomProcess.h"

#include "DicomSlice.h"

#include "gigapixelChildProcess.h"
#include "gigapixelPlainMessage.h"
#include "itkCreateObjectFunction.h"
#include "itkImageIOBase.h"
#include "itkMetaDataObject.h"
#include "itkObjectFactoryBase.h"
#include "itkVersion.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>

namespace gigapixel::commandline
{
namespace
{

using Clock = std::chrono::steady_clock;

/** A slice is decoded in some hundredths of a second; disks and networks may be slow. */
constexpr std::chrono::seconds TimeForAnswer{ 60 };

std::string
FindReader()
{
  return FindProgramBeside(reinterpret_cast<const void *>(&RegisterDicomProcess), "dicom-reader");
}

/** \class DicomProcess
 * \brief The process that reads DICOM, one for all files, started again where it has ended. */
class DicomProcess
{
public:
  /** Never destroyed: volumes in static objects may outlive any order of destruction. The reader ends with us. */
  static DicomProcess &
  Get()
  {
    static DicomProcess & process = *new DicomProcess;
    return process;
  }

  /** \throw std::runtime_error why there is no answer */
  DicomSlice
  AskHeader(const std::string & file)
  {
    DicomSlice                        slice{};
    const std::lock_guard<std::mutex> lock(m_Mutex);
    Ask(DicomRequest::Header, file, &slice, sizeof(slice));
    slice.series[sizeof(slice.series) - 1] = '\0';
    return slice;
  }

  /** \throw std::runtime_error likewise */
  void
  AskSamples(const std::string & file, void * samples, std::size_t bytes)
  {
    const std::lock_guard<std::mutex> lock(m_Mutex);
    Ask(DicomRequest::Samples, file, samples, bytes);
  }

private:
  void
  Ask(DicomRequest::Kind kind, const std::string & file, void * answer, std::size_t bytes)
  {
    if (m_Process == 0 || m_Owner != getpid())
    {
      Start();
    }
    const DicomRequest request{ kind, static_cast<std::uint32_t>(file.size()) };
    DicomAnswer        said{};
    std::string        refusal;
    m_Deadline = Clock::now() + TimeForAnswer;
    if (!SendAll(m_Socket, &request, sizeof(request)) || !SendAll(m_Socket, file.data(), file.size()) ||
        !Receive(&said, sizeof(said)))
    {
      Fail();
    }
    constexpr std::uint64_t MostWords = 1 << 16;
    if (said.isRefusal != 0 ? said.bytes > MostWords : said.bytes != bytes)
    {
      End();
      throw std::runtime_error("it is another file than it was when it was first looked at: run again");
    }
    refusal.resize(said.isRefusal != 0 ? said.bytes : 0);
    if (!(said.isRefusal != 0 ? Receive(refusal.data(), refusal.size()) : Receive(answer, bytes)))
    {
      Fail();
    }
    if (said.isRefusal != 0)
    {
      throw std::runtime_error("ITK's reader of DICOM refuses it (" + CleanMessage(refusal) +
                               "): get it again from where it came, or convert the series to NIfTI");
    }
  }

  bool
  Receive(void * data, std::size_t bytes)
  {
    return ReceiveAll(m_Socket, data, bytes, [this] {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(m_Deadline - Clock::now()).count();
      pollfd     waiting{ m_Socket, POLLIN, 0 };
      return left > 0 && (poll(&waiting, 1, static_cast<int>(left)) > 0 || errno == EINTR);
    });
  }

  void
  Start()
  {
    const std::string program = FindReader();
    const int         nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    int               sockets[2] = { -1, -1 };
    const bool        hasAll = nowhere >= 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0;
    const int         error = hasAll ? Spawn(program, sockets[1], nowhere, m_Process) : errno;
    for (const int descriptor : { nowhere, sockets[1], std::exchange(m_Socket, sockets[0]) })
    {
      if (descriptor >= 0)
      {
        close(descriptor);
      }
    }
    m_Owner = getpid();
    if (error != 0)
    {
      m_Process = 0;
      throw std::runtime_error("the reader of DICOM, " + program + ", cannot be started (" + std::strerror(error) +
                               ")");
    }
  }

  int
  End()
  {
    const int status =
      EndAndWait(std::exchange(m_Process, 0), m_Deadline > Clock::now() ? timeToEnd : Clock::duration{});
    close(std::exchange(m_Socket, -1));
    return status;
  }

  /** There is no answer. */
  [[noreturn]] void
  Fail()
  {
    const bool isLate = Clock::now() >= m_Deadline;
    const int  status = End();
    const int  signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (!isLate && (signal == SIGKILL || signal == SIGTERM))
    {
      throw std::runtime_error("the reader of DICOM was ended from outside (signal " + std::to_string(signal) +
                               "), as the system ends what it has no memory for: try again");
    }
    throw std::runtime_error(isLate ? "its pixels take more than a minute to decode, as no sound ones do: get it again "
                                      "from where it came"
                                    : "the reader of DICOM crashes on it: it is damaged, so get it again from where it "
                                      "came");
  }

  std::mutex        m_Mutex;
  pid_t             m_Process{ 0 };
  pid_t             m_Owner{ 0 };
  int               m_Socket{ -1 };
  Clock::time_point m_Deadline;
};

/** What the process answers. \throw itk::ExceptionObject why there is no answer */
template <typename F>
auto
Ask(const F & ask)
{
  try
  {
    return ask(DicomProcess::Get());
  }
  catch (const std::runtime_error & error)
  {
    throw itk::ExceptionObject(__FILE__, __LINE__, error.what());
  }
}

/** \class DicomImageIO
 * \brief A file of DICOM, by the process that reads it. */
class DicomImageIO : public itk::ImageIOBase
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(DicomImageIO);

  using Self = DicomImageIO;
  using Superclass = itk::ImageIOBase;
  using Pointer = itk::SmartPointer<Self>;

  itkNewMacro(Self);
  itkTypeMacro(DicomImageIO, ImageIOBase);

  /** Four letters behind 128 bytes of any content (DICOM PS3.10, 7.1). */
  bool
  CanReadFile(const char * name) override
  {
    char          letters[4] = {};
    std::ifstream file(name, std::ios::binary);
    return file.seekg(128) && file.read(letters, sizeof(letters)) && std::equal(letters, letters + 4, "DICM");
  }

  void
  ReadImageInformation() override
  {
    const DicomSlice slice = Ask([this](DicomProcess & process) { return process.AskHeader(GetFileName()); });
    SetNumberOfDimensions(DicomSlice::Axes);
    for (unsigned axis = 0; axis < DicomSlice::Axes; ++axis)
    {
      SetDimensions(axis, slice.size[axis]);
      SetSpacing(axis, slice.spacing[axis]);
      SetOrigin(axis, slice.origin[axis]);
      SetDirection(axis, std::vector<double>(slice.direction[axis], slice.direction[axis] + DicomSlice::Axes));
    }
    SetPixelType(static_cast<itk::IOPixelEnum>(slice.pixelType));
    SetComponentType(static_cast<itk::IOComponentEnum>(slice.componentType));
    SetNumberOfComponents(slice.components);
    itk::EncapsulateMetaData<std::string>(GetMetaDataDictionary(), "0020|000e", slice.series);
  }

  void
  Read(void * samples) override
  {
    Ask([this, samples](DicomProcess & process) {
      process.AskSamples(GetFileName(), samples, static_cast<std::size_t>(GetImageSizeInBytes()));
    });
  }

  bool
  CanWriteFile(const char *) override
  {
    return false;
  }

  void
  WriteImageInformation() override
  {}

  void
  Write(const void *) override
  {}

protected:
  DicomImageIO() = default;
  ~DicomImageIO() override = default;
};

class DicomImageIOFactory : public itk::ObjectFactoryBase
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(DicomImageIOFactory);

  using Self = DicomImageIOFactory;
  using Superclass = itk::ObjectFactoryBase;
  using Pointer = itk::SmartPointer<Self>;

  itkFactorylessNewMacro(Self);
  itkTypeMacro(DicomImageIOFactory, ObjectFactoryBase);

  const char *
  GetITKSourceVersion() const override
  {
    return ITK_SOURCE_VERSION;
  }

  const char *
  GetDescription() const override
  {
    return "Reads DICOM in a process of its own";
  }

protected:
  DicomImageIOFactory()
  {
    RegisterOverride(
      "itkImageIOBase", "itkDicomImageIO", GetDescription(), true, itk::CreateObjectFunction<DicomImageIO>::New());
  }
  ~DicomImageIOFactory() override = default;
};

} // namespace

void
RegisterDicomProcess()
{
  std::error_code   error;
  const std::string program = FindReader();
  if (!program.empty() && std::filesystem::exists(program, error))
  {
    itk::ObjectFactoryBase::RegisterFactory(DicomImageIOFactory::New());
  }
}

} // namespace gigapixel::commandline
