/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelFileKind_h
#define gigapixelFileKind_h

#include <string>

namespace gigapixel
{

/** What people give for networks, models and weights. */
enum class FileKind
{
  Unknown, ///< another one, or no file that can be read
  SafeTensors,
  PyTorch,
  ONNX,
  JSON,
  Text
};

/** By the first bytes of the file: one that is given by mistake may be of any size. */
FileKind FindFileKind(const std::string & path);

/** What a file is that is none of the wanted kind, and where it is to be given: the rest of a sentence that begins with
 * its name. Empty for Unknown. */
std::string DescribeFileKind(FileKind kind);

} // namespace gigapixel

#endif
