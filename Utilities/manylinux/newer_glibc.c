/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
/* Functions that headers of later versions of glibc call and 2.28 does not have, made of those that it has. Each
 * library that is linked with them has its own, hidden. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/stat.h>
#include <time.h>

/* True would mean that the process has one thread, and that references are counted without atomic operations. */
char __libc_single_threaded = 0;

/* These had a version of the structure as an argument; 1 is the one of x86-64. */
int __xstat(int version, const char * path, struct stat * result);
int __lxstat(int version, const char * path, struct stat * result);
int __fxstat(int version, int file, struct stat * result);

int
stat(const char * path, struct stat * result)
{
  return __xstat(1, path, result);
}

int
lstat(const char * path, struct stat * result)
{
  return __lxstat(1, path, result);
}

int
fstat(int file, struct stat * result)
{
  return __fxstat(1, file, result);
}

/* Waits by the clock of the day, as the C++ library does with such a glibc. Callers look at their own clock after it.
 */
int
pthread_cond_clockwait(pthread_cond_t *        condition,
                       pthread_mutex_t *       mutex,
                       clockid_t               clock,
                       const struct timespec * end)
{
  const long      second = 1000000000;
  struct timespec now, until;
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += end->tv_sec - now.tv_sec;
  until.tv_nsec += end->tv_nsec - now.tv_nsec;
  if (until.tv_nsec < 0)
  {
    until.tv_nsec += second;
    --until.tv_sec;
  }
  else if (until.tv_nsec >= second)
  {
    until.tv_nsec -= second;
    ++until.tv_sec;
  }
  return pthread_cond_timedwait(condition, mutex, &until);
}
