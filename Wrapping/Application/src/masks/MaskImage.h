/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef MaskImage_h
#define MaskImage_h

#include "MaskClass.h"

#include "gigapixelGridMatch.h"
#include "itkGigapixelImageIOSource.h"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gigapixel::application
{

/** The color that a text such as "#0050d0" begins with. */
std::optional<std::array<unsigned char, 3>> ReadColor(const std::string & text);

/** \class MaskImage
 * \brief A mask whose rows are read from the top: whatever training reads as one, in the same way. Every value but 0 is
 * object; of the classes that label writes, which the file tells, tissue alone. The file may count its rows and columns
 * from either end, as its direction says. */
class MaskImage
{
public:
  /** \param high what becomes of labels above 255
   * \throw std::runtime_error naming the file: not there, no mask (more than one channel) */
  explicit MaskImage(const std::string & file, itk::HighSamples high = itk::HighSamples::Are255);

  /** With rows and columns as slides have them. */
  const PhysicalImage &
  GetImage() const
  {
    return m_Image;
  }

  const std::string &
  GetName() const
  {
    return m_Image.name;
  }

  Size
  GetSize() const
  {
    return m_Image.grid.size;
  }

  /** Classes by their labels, as the file names them ("gigapixel.class.N"); none in masks of one class. */
  const std::map<unsigned char, MaskClass> &
  GetClasses() const
  {
    return m_Classes;
  }

  /** Rows [first, first + count), every byte 0 or 1. Thread-safe. */
  void ReadRows(std::int64_t first, std::int64_t count, std::vector<unsigned char> & rows) const;

  /** As well, with the labels that are in the file. */
  void ReadLabels(std::int64_t first, std::int64_t count, std::vector<unsigned char> & rows) const;

  /** Whether labels have more than 8 bit, as they may in a mask that was opened with HighSamples::Kept. */
  bool
  AreLabelsWide() const
  {
    return m_Image.pixels->GetSampleType() == SampleType::UInt32;
  }

  /** Labels of a region, of 8 bit or, of any mask, of 32. Thread-safe. */
  void ReadLabels(const Region & region, std::vector<std::uint8_t> & labels) const;
  void ReadLabels(const Region & region, std::vector<std::uint32_t> & labels) const;

private:
  PhysicalImage                      m_Image;
  bool                               m_HasTissueClasses;
  std::map<unsigned char, MaskClass> m_Classes;
};

/** For each pixel of a picture the mask's pixel below its center.
 * \param match of the mask to the image that the picture shows whole
 * \param asLabels the label; else 1 for object */
std::vector<unsigned char> SampleMask(const MaskImage &               mask,
                                      const GridMatch &               match,
                                      const std::array<unsigned, 2> & size,
                                      bool                            asLabels);

/** Names the option for masks of a part to whom it would help. \param part what the option means
 * \param match calls GridMatch::Make() */
template <typename TFunction>
auto
NamePartial(PartOf part, const TFunction & match)
{
  try
  {
    return match();
  }
  catch (const GridMismatch & error)
  {
    Diagnostic diagnostic = error.GetDiagnostic();
    if (error.GetPart() == part)
    {
      diagnostic.remedy += (diagnostic.remedy.empty() ? "" : ", or ") + std::string("--partial if it shows but a part");
    }
    throw GridMismatch(diagnostic, error.GetPart());
  }
}

} // namespace gigapixel::application

#endif
