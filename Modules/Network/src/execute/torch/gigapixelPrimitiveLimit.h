/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelPrimitiveLimit_h
#define gigapixelPrimitiveLimit_h

namespace gigapixel::torchmodule
{

/** \class PrimitiveLimit
 * \brief While one lives, oneDNN keeps at most MostPrimitives compiled primitives, as the memory plan assumes.
 *
 * It compiles one for each shape that it meets, of about 0.1 MB, and keeps 1024 by itself: images of several sizes
 * would fill them all. The number is the process' one, which others may use: it is theirs again when the last object of
 * this class is gone. Does nothing where LibTorch hides its oneDNN. */
class PrimitiveLimit
{
public:
  PrimitiveLimit();
  ~PrimitiveLimit();
  PrimitiveLimit(const PrimitiveLimit &) = delete;
  PrimitiveLimit & operator=(const PrimitiveLimit &) = delete;
};

} // namespace gigapixel::torchmodule

#endif
