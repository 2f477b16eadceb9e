/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Fuzz<target> FOLDER...
// Reads every file of the folders with the target, once: what libFuzzer has found stays mended. It ends as the target
// does, or with exit code 1 where there is nothing to read.
#include "FuzzTarget.h"

#include <iostream>
#include <set>

int
main(int count, char ** words)
{
  std::set<std::filesystem::path> files;
  for (int i = 1; i < count; ++i)
  {
    for (const auto & entry : std::filesystem::directory_iterator(words[i]))
    {
      files.insert(entry.path());
    }
  }
  for (const auto & file : files)
  {
    std::cerr << file.filename().string() << '\n'; // before it is read: the last one named is the one that failed
    const std::string content = gigapixel::test::ReadAll(file.string());
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t *>(content.data()), content.size());
  }
  std::cout << files.size() << " inputs\n";
  return files.empty() ? EXIT_FAILURE : EXIT_SUCCESS;
}
