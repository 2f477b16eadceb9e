/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelOneLabelSource_h
#define gigapixelOneLabelSource_h

#include "gigapixelSource.h"

namespace gigapixel
{

/** \class OneLabelSource
 * \brief The truth of a network that labels images: one class, as an image of one pixel. */
class OneLabelSource : public LabelSource
{
public:
  /** \param label 0 to 254 */
  explicit OneLabelSource(std::uint8_t label)
    : m_Label(label)
  {}

  Size
  GetSize() const override
  {
    return { 1, 1 };
  }

  void
  Read(const Region &, std::uint8_t * classes) override
  {
    *classes = m_Label;
  }

private:
  std::uint8_t m_Label;
};

} // namespace gigapixel

#endif
