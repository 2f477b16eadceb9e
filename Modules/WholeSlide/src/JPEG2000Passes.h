/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef JPEG2000Passes_h
#define JPEG2000Passes_h

#include "TileDecoder.h"

namespace gigapixel
{

/** Whether a JPEG 2000 stream lacks bits of its wavelet coefficients: an encoder with a size to keep to leaves the
 * lowest ones out, and so does whoever cuts a stream. Found from the headers of the packets (ISO/IEC 15444-1, annex B).
 * False also where that cannot be told: streams with tables of their own for parts of the image, or with coding passes
 * of several lengths. */
bool LacksJPEG2000Passes(ByteSpan stream);

} // namespace gigapixel

#endif
