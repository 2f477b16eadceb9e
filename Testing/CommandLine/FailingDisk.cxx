/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// A disk on which something fails, for a program that is started with this library before all others (LD_PRELOAD). With
// GIGAPIXEL_FAILING_CALL=N, the N-th of its calls that create, write, complete or rename a file fails as on a full
// disk, with N- all from there on; GIGAPIXEL_FAILED names a file that tells which call it was. With GIGAPIXEL_NO_FLOCK,
// the file system knows no locks, as Lustre without them.
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace
{

/** The function that stands behind ours. */
template <typename TFunction>
TFunction *
Next(const char * name)
{
  return reinterpret_cast<TFunction *>(dlsym(RTLD_NEXT, name));
}

/** Tells it without the calls that fail. */
void
Tell(const char * call)
{
  const char * file = std::getenv("GIGAPIXEL_FAILED");
  const long   descriptor = file ? syscall(SYS_openat, AT_FDCWD, file, O_CREAT | O_WRONLY | O_APPEND, 0666) : -1;
  if (descriptor >= 0)
  {
    syscall(SYS_write, descriptor, call, std::strlen(call));
    syscall(SYS_write, descriptor, "\n", 1);
    syscall(SYS_close, descriptor);
  }
}

/** Counts a call. */
bool
Fails(const char * call)
{
  static std::atomic<long> calls{ 0 };
  const char *             which = std::getenv("GIGAPIXEL_FAILING_CALL");
  if (!which)
  {
    return false;
  }
  char *     end = nullptr;
  const long failing = std::strtol(which, &end, 10);
  const long now = ++calls;
  if (now != failing && !(*end == '-' && now > failing))
  {
    return false;
  }
  Tell(call);
  errno = ENOSPC;
  return true;
}

/** Pipes and terminals are no disks. */
bool
IsOnDisk(int descriptor)
{
  struct stat status = {};
  const int   error = errno;
  const bool  isFile = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  errno = error;
  return isFile;
}

bool
IsOnDisk(std::FILE * file)
{
  return file && IsOnDisk(fileno(file));
}

bool
IsOnDisk(const char * path)
{
  return std::strncmp(path, "/dev/", 5) != 0 && std::strncmp(path, "/proc/", 6) != 0;
}

bool
Writes(const char * mode)
{
  return std::strpbrk(mode, "wa+") != nullptr;
}

} // namespace

extern "C" {
int
flock(int descriptor, int operation)
{
  if (std::getenv("GIGAPIXEL_NO_FLOCK"))
  {
    errno = ENOSYS;
    return -1;
  }
  return Next<int(int, int)>("flock")(descriptor, operation);
}

int
open(const char * path, int flags, ...)
{
  va_list more;
  va_start(more, flags);
  const unsigned mode = va_arg(more, unsigned);
  va_end(more);
  return (flags & O_CREAT) && IsOnDisk(path) && Fails("open")
           ? -1
           : Next<int(const char *, int, ...)>("open")(path, flags, mode);
}

int
open64(const char * path, int flags, ...)
{
  va_list more;
  va_start(more, flags);
  const unsigned mode = va_arg(more, unsigned);
  va_end(more);
  return open(path, flags, mode);
}

int
openat(int folder, const char * path, int flags, ...)
{
  va_list more;
  va_start(more, flags);
  const unsigned mode = va_arg(more, unsigned);
  va_end(more);
  return (flags & O_CREAT) && IsOnDisk(path) && Fails("openat")
           ? -1
           : Next<int(int, const char *, int, ...)>("openat")(folder, path, flags, mode);
}

std::FILE *
fopen(const char * path, const char * mode)
{
  return Writes(mode) && IsOnDisk(path) && Fails("fopen")
           ? nullptr
           : Next<std::FILE *(const char *, const char *)>("fopen")(path, mode);
}

std::FILE *
fopen64(const char * path, const char * mode)
{
  return Writes(mode) && IsOnDisk(path) && Fails("fopen")
           ? nullptr
           : Next<std::FILE *(const char *, const char *)>("fopen64")(path, mode);
}

ssize_t
write(int descriptor, const void * bytes, size_t count)
{
  return IsOnDisk(descriptor) && Fails("write")
           ? -1
           : Next<ssize_t(int, const void *, size_t)>("write")(descriptor, bytes, count);
}

ssize_t
writev(int descriptor, const struct iovec * parts, int count)
{
  return IsOnDisk(descriptor) && Fails("writev")
           ? -1
           : Next<ssize_t(int, const struct iovec *, int)>("writev")(descriptor, parts, count);
}

ssize_t
pwrite(int descriptor, const void * bytes, size_t count, off_t offset)
{
  return IsOnDisk(descriptor) && Fails("pwrite")
           ? -1
           : Next<ssize_t(int, const void *, size_t, off_t)>("pwrite")(descriptor, bytes, count, offset);
}

ssize_t
pwrite64(int descriptor, const void * bytes, size_t count, off64_t offset)
{
  return pwrite(descriptor, bytes, count, offset);
}

size_t
fwrite(const void * bytes, size_t size, size_t count, std::FILE * file)
{
  return size * count > 0 && IsOnDisk(file) && Fails("fwrite")
           ? 0
           : Next<size_t(const void *, size_t, size_t, std::FILE *)>("fwrite")(bytes, size, count, file);
}

int
fflush(std::FILE * file)
{
  return IsOnDisk(file) && Fails("fflush") ? EOF : Next<int(std::FILE *)>("fflush")(file);
}

/** The stream is gone, as of a disk of a network that says only now that it is full. One that nothing was written to
 * had no need of room. */
int
fclose(std::FILE * file)
{
  const bool writes = file && (fcntl(fileno(file), F_GETFL) & O_ACCMODE) != O_RDONLY && ftello(file) > 0;
  const bool fails = writes && IsOnDisk(file) && Fails("fclose");
  const int  result = Next<int(std::FILE *)>("fclose")(file);
  if (fails)
  {
    errno = ENOSPC;
  }
  return fails ? EOF : result;
}

int
ftruncate(int descriptor, off_t size)
{
  return IsOnDisk(descriptor) && Fails("ftruncate") ? -1 : Next<int(int, off_t)>("ftruncate")(descriptor, size);
}

int
ftruncate64(int descriptor, off64_t size)
{
  return ftruncate(descriptor, size);
}

int
fsync(int descriptor)
{
  return IsOnDisk(descriptor) && Fails("fsync") ? -1 : Next<int(int)>("fsync")(descriptor);
}

int
rename(const char * from, const char * to)
{
  return Fails("rename") ? -1 : Next<int(const char *, const char *)>("rename")(from, to);
}

int
renameat2(int fromFolder, const char * from, int toFolder, const char * to, unsigned flags)
{
  return Fails("renameat2") ? -1
                            : Next<int(int, const char *, int, const char *, unsigned)>("renameat2")(
                                fromFolder, from, toFolder, to, flags);
}

int
link(const char * from, const char * to)
{
  return Fails("link") ? -1 : Next<int(const char *, const char *)>("link")(from, to);
}

int
mkdir(const char * path, mode_t mode)
{
  return Fails("mkdir") ? -1 : Next<int(const char *, mode_t)>("mkdir")(path, mode);
}
}
