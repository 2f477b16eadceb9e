/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "DicomProcess.h"

#include "itkGigapixelException.h"
#include "DicomSlice.h"
#include "gigapixelSocket.h"

#include "gigapixelChildProcess.h"
#include "gigapixelFileRefusal.h"
#include "gigapixelSession.h"
#include "itkCreateObjectFunction.h"
#include "itkGigapixelReadOnlyImageIO.h"
#include "itkMetaDataObject.h"
#include "itkObjectFactoryBase.h"
#include "itkVersion.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>

namespace gigapixel::application
{
namespace
{

using Clock = std::chrono::steady_clock;

/** A slice is decoded in some hundredths of a second; disks and networks may be slow. */
constexpr std::chrono::seconds TimeForAnswer{ 60 };

/** How often who waits looks whether to go on. */
constexpr std::chrono::milliseconds Slice{ 100 };

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
  /** Never destroyed: volumes in static objects may outlive any order of destruction. The reader ends when we do, since
   * its socket closes then. */
  static DicomProcess &
  Get()
  {
    static DicomProcess & process = *new DicomProcess;
    return process;
  }

  /** \throw std::runtime_error why there is no answer */
  DicomSlice
  ReadHeader(const std::string & file)
  {
    DicomSlice                        slice{};
    const std::lock_guard<std::mutex> lock(m_Mutex);
    Ask(DicomRequest::Header, file, &slice, sizeof(slice));
    slice.series[sizeof(slice.series) - 1] = '\0';
    return slice;
  }

  /** Why no file can be read; empty: they can. */
  std::string
  GetProblem()
  {
    const std::lock_guard<std::mutex> lock(m_Mutex);
    try
    {
      Start();
      return {};
    }
    catch (const std::runtime_error & error)
    {
      return Diagnostic::Of(error).GetSentence();
    }
  }

  /** Before the program ends: else its reader is left to whoever waits for processes without a parent. */
  void
  Finish()
  {
    const std::unique_lock<std::mutex> lock(m_Mutex, std::try_to_lock);
    if (lock && m_Process != 0 && m_Owner == getpid())
    {
      End(Course::Closed);
    }
  }

  /** \throw std::runtime_error likewise */
  void
  ReadSamples(const std::string & file, void * samples, std::size_t bytes)
  {
    const std::lock_guard<std::mutex> lock(m_Mutex);
    Ask(DicomRequest::Samples, file, samples, bytes);
  }

private:
  /** How it goes on with what was asked. */
  enum class Course
  {
    Answered,
    Closed,
    Late,
    Interrupted
  };

  /** Where the process ends that has read other files before, these may have been what ended it: a new one is asked. */
  void
  Ask(DicomRequest::Kind kind, const std::string & file, void * answer, std::size_t bytes)
  {
    bool        isNew = Start();
    std::string refusal;
    Course      course = Exchange(kind, file, answer, bytes, refusal);
    if (course == Course::Closed && !isNew)
    {
      End(course);
      isNew = Start();
      course = Exchange(kind, file, answer, bytes, refusal);
    }
    if (course != Course::Answered)
    {
      Fail(course);
    }
    if (!refusal.empty())
    {
      throw Refusal(
        Diagnostic("E-FILE-DAMAGED", refusal, "get it again from where it came, or convert the series to NIfTI")
          .OfFile(file));
    }
  }

  /** \param refusal why there is no answer, of which the reader knows the reason */
  Course
  Exchange(DicomRequest::Kind kind, const std::string & file, void * answer, std::size_t bytes, std::string & refusal)
  {
    const DicomRequest request{ kind, static_cast<std::uint32_t>(file.size()) };
    DicomAnswer        said{};
    m_Deadline = Clock::now() + TimeForAnswer;
    if (!SendAll(m_Socket, &request, sizeof(request)) || !SendAll(m_Socket, file.data(), file.size()))
    {
      return Course::Closed;
    }
    const Course course = Receive(&said, sizeof(said));
    if (course != Course::Answered)
    {
      return course;
    }
    constexpr std::uint64_t MostWords = 1 << 16;
    if (said.isRefusal != 0 ? said.bytes > MostWords : said.bytes != bytes)
    {
      End(Course::Answered);
      throw Refusal(
        Diagnostic("E-FILE-CHANGED", "it is another file than it was when it was first looked at", "run again")
          .OfFile(file));
    }
    refusal.resize(said.isRefusal != 0 ? said.bytes : 0);
    return said.isRefusal != 0 ? Receive(refusal.data(), refusal.size()) : Receive(answer, bytes);
  }

  Course
  Receive(void * data, std::size_t bytes)
  {
    Course     course = Course::Closed;
    const bool isReceived = ReceiveAll(m_Socket, data, bytes, [this, &course] {
      while (true)
      {
        pollfd    waiting{ m_Socket, POLLIN, 0 };
        const int ready = poll(&waiting, 1, static_cast<int>(Slice.count()));
        if (ready > 0)
        {
          return true;
        }
        if (IsInterruptionRequested() || Clock::now() >= m_Deadline)
        {
          course = IsInterruptionRequested() ? Course::Interrupted : Course::Late;
          return false;
        }
        if (ready < 0 && errno != EINTR)
        {
          return false;
        }
      }
    });
    return isReceived ? Course::Answered : course;
  }

  /** \return whether it has read no other file \throw std::runtime_error why it cannot be asked */
  bool
  Start()
  {
    if (m_Owner != getpid()) // of a process that was forked from ours, the reader is not
    {
      m_Process = 0;
      m_Owner = getpid();
    }
    pollfd closed{ m_Socket, 0, 0 };
    if (m_Process != 0 && poll(&closed, 1, 0) > 0) // which only its end does
    {
      End(Course::Closed);
    }
    if (m_Process != 0)
    {
      return false;
    }
    const std::string program = FindReader();
    const int         error = StartProgram(program);
    if (error != 0)
    {
      m_Process = 0;
      throw Refusal(Diagnostic("E-INSTALLATION",
                               "the reader of DICOM, " + (program.empty() ? "dicom-reader" : program) +
                                 ", cannot be started (" + std::strerror(error) + ')',
                               GetFileRemedy(std::error_code(error, std::generic_category()), "install all again")));
    }
    std::uint32_t protocol = 0;
    m_Deadline = Clock::now() + TimeForAnswer;
    const Course course = Receive(&protocol, sizeof(protocol));
    if (course == Course::Answered && protocol == DicomProtocol)
    {
      return true;
    }
    const int status = End(course);
    if (course == Course::Interrupted || (WIFSIGNALED(status) && IsFromOutside(WTERMSIG(status))))
    {
      throw Refusal(
        Diagnostic("E-READER-ENDED", "the reader of DICOM was ended before it could be asked", "try again"));
    }
    throw Refusal(course == Course::Answered
                    ? Diagnostic("E-INSTALLATION",
                                 "the reader of DICOM, " + program + ", is of another version",
                                 "install all again")
                    : Diagnostic("E-INSTALLATION",
                                 "the reader of DICOM, " + program + ", ends before it can be asked",
                                 "see what it says when it is started by hand, and install the libraries that it was "
                                 "built with"));
  }

  /** \return the system's error */
  int
  StartProgram(const std::string & program)
  {
    const int  nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    int        sockets[2] = { -1, -1 };
    const bool hasAll = nowhere >= 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0;
    const int  error = hasAll ? Spawn(program, sockets[1], nowhere, m_Process) : errno;
    for (const int descriptor : { nowhere, sockets[1], std::exchange(m_Socket, sockets[0]) })
    {
      if (descriptor >= 0)
      {
        close(descriptor);
      }
    }
    return error;
  }

  /** \return its status, where it has ended by itself */
  int
  End(Course course)
  {
    close(std::exchange(m_Socket, -1));
    return EndAndWait(std::exchange(m_Process, 0), course == Course::Closed ? timeToEnd : Clock::duration::zero());
  }

  /** There is no answer. */
  [[noreturn]] void
  Fail(Course course)
  {
    const int  status = End(course);
    const int  signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    const bool isLate = course == Course::Late || signal == SIGPROF;
    if (course == Course::Interrupted)
    {
      throw Refusal(
        Diagnostic("E-READER-ENDED", "an interruption ended waiting for the reader of DICOM", "begin again"));
    }
    if (IsFromOutside(signal))
    {
      throw Refusal(Diagnostic("E-READER-ENDED",
                               "the reader of DICOM was ended from outside (signal " + std::to_string(signal) + ")" +
                                 (signal == SIGKILL ? ", as the system ends what it has no memory for" : ""),
                               "try again"));
    }
    throw Refusal(Diagnostic("E-FILE-DAMAGED",
                             isLate ? "the reader of DICOM takes more than a minute for it, as for no sound slice"
                                    : "the reader of DICOM crashes on it: it is damaged",
                             "get it again from where it came"));
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
    itkGigapixelExceptionMacro(Diagnostic::Of(error));
  }
}

/** \class DicomImageIO
 * \brief A file of DICOM, by the process that reads it. */
class DicomImageIO : public itk::GigapixelReadOnlyImageIO
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(DicomImageIO);

  using Self = DicomImageIO;
  using Superclass = itk::GigapixelReadOnlyImageIO;
  using Pointer = itk::SmartPointer<Self>;

  itkNewMacro(Self);
  itkTypeMacro(DicomImageIO, GigapixelReadOnlyImageIO);

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
    const DicomSlice slice = Ask([this](DicomProcess & process) { return process.ReadHeader(GetFileName()); });
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
      process.ReadSamples(GetFileName(), samples, static_cast<std::size_t>(GetImageSizeInBytes()));
    });
  }

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

std::mutex                   registeredMutex;
DicomImageIOFactory::Pointer registered;

} // namespace

bool
IsBuiltWithDicom()
{
#ifdef GIGAPIXEL_HAS_DICOM
  return true;
#else
  return false;
#endif
}

void
RegisterDicomProcess()
{
  const std::lock_guard<std::mutex> lock(registeredMutex);
  if (IsBuiltWithDicom() && !registered)
  {
    registered = DicomImageIOFactory::New();
    itk::ObjectFactoryBase::RegisterFactory(registered, itk::ObjectFactoryBase::InsertionPositionEnum::INSERT_AT_FRONT);
    static const int atEnd = std::atexit([] { DicomProcess::Get().Finish(); });
    static_cast<void>(atEnd);
  }
}

void
ReleaseDicomProcess()
{
  const std::lock_guard<std::mutex> lock(registeredMutex);
  if (registered)
  {
    itk::ObjectFactoryBase::UnRegisterFactory(registered);
    registered = nullptr;
    DicomProcess::Get().Finish();
  }
}

std::string
GetDicomProblem()
{
  std::string problem = IsBuiltWithDicom() ? DicomProcess::Get().GetProblem() : std::string();
  DicomProcess::Get().Finish();
  return problem;
}

} // namespace gigapixel::application
