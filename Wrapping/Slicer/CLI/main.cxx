/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "Module.h"

#include <filesystem>

/** One program for all modules: the name that it is called by says which. */
int
main(int argc, char ** argv)
{
  const std::string name = argc > 0 ? std::filesystem::path(argv[0]).filename().string() : std::string();
  return gigapixel::slicer::RunModule(name, { argv + (argc > 0), argv + argc });
}
