/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef MeasureTable_h
#define MeasureTable_h

#include "gigapixelMaskComponents.h"

#include <array>
#include <string>
#include <vector>

namespace gigapixel::application
{

/** \class MeasureTable
 * \brief Rows of the table that measure writes. */
class MeasureTable
{
public:
  /** \param slide the slide under the mask; empty: none \param spacing of the mask's pixels in mm; 0: unknown */
  MeasureTable(std::string mask, std::string slide, const std::array<double, 2> & spacing)
    : m_Mask(std::move(mask))
    , m_Slide(std::move(slide))
    , m_Spacing(spacing)
  {}

  /** The line with the names of the columns. \param channels of the slides; empty: there are none */
  static std::string GetHeader(const std::vector<std::string> & channels);

  /** Adds a row. \param label as the mask has it; empty: it has none \param component its number in the mask, from 1;
   * 0: all of the class \param channels of the slide; 0: there is none */
  void AddRow(const std::string &      label,
              const std::string &      className,
              std::size_t              component,
              const ComponentFigures & figures,
              std::size_t              channels);

  const std::string &
  GetRows() const
  {
    return m_Rows;
  }

private:
  std::string           m_Mask;
  std::string           m_Slide;
  std::array<double, 2> m_Spacing;
  std::string           m_Rows;
};

} // namespace gigapixel::application

#endif
