/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "Module.h"

#include <filesystem>

/** One program for all modules: the name that it is called by says which; where that is none of theirs, the first word
 * does, so that one file can serve small scripts with their names. */
int
main(int argc, char ** argv)
{
  std::string name = argc > 0 ? std::filesystem::path(argv[0]).filename().string() : std::string();
  char **     words = argv + (argc > 0);
  if (argc > 1 && !gigapixel::slicer::FindModule(name))
  {
    name = *words++;
  }
  return gigapixel::slicer::RunModule(name, { words, argv + argc });
}
