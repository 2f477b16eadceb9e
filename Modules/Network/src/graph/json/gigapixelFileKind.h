/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelFileKind_h
#define gigapixelFileKind_h

#include "GigapixelNetworkExport.h"
#include "gigapixelDiagnostic.h"

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
GigapixelNetwork_EXPORT FileKind FindFileKind(const std::string & path);

/** Says what a file is that is not of the wanted kind, and where to give it. Without the file's name; empty for
 * Unknown. */
GigapixelNetwork_EXPORT Diagnostic DescribeFileKind(FileKind kind);

} // namespace gigapixel

#endif
