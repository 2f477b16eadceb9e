/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
/* The start of a program. Before version 2.34 of glibc a program called its own constructors, with code of glibc's
 * start files. Those of later versions leave it to glibc, which for a program of an older version does not do it. */
typedef void Constructor(int, char **, char **);
typedef int  Main(int, char **, char **);
typedef void End(void);

extern Constructor * __init_array_start[] __attribute__((visibility("hidden")));
extern Constructor * __init_array_end[] __attribute__((visibility("hidden")));
void                 _init(void) __attribute__((visibility("hidden")));

static void
construct(int count, char ** arguments, char ** environment)
{
  _init();
  for (Constructor ** each = __init_array_start; each != __init_array_end; ++each)
  {
    (*each)(count, arguments, environment);
  }
}

int start(Main * main, int count, char ** arguments, Constructor * construct, End * end, End * unload, void * stack);
__asm__(".symver start, __libc_start_main@GLIBC_2.2.5");

/* The start files call this one. */
int
__libc_start_main(Main * main, int count, char ** arguments, Constructor * none, End * end, End * unload, void * stack)
{
  (void)none;
  return start(main, count, arguments, construct, end, unload, stack);
}
