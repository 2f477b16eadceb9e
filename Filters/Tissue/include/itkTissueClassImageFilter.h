/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkTissueClassImageFilter_h
#define itkTissueClassImageFilter_h

#include "gigapixelTissueNetwork.h"
#include "gigapixelUsableCores.h"
#include "itkImage.h"
#include "itkImageToImageFilter.h"

#include <string>

namespace itk
{

/** \class TissueClassImageFilter
 * \brief Finds tissue on a slide's label grid with the network that tells glass, tissue, pen and artifacts apart.
 *
 * Output: 255 where it is tissue, else 0, as TissueThresholdImageFilter gives it by its rules; GetClasses() has all
 * four. gigapixel::TissueNetwork says what the network sees, and how its answer becomes classes.
 *
 * The filter streams although it is a network of wide reach: when first asked for a region it pulls the whole input in
 * strips of rows, twice (colors are counted first), and keeps the classes as runs until something upstream, or the
 * filter itself, is modified. gigapixel::TissueNetwork says what it keeps meanwhile. Any number of stream divisions and
 * threads gives the same bits.
 *
 * Input: RGB or gray, the label grid; and on it, as Evidence, a mask, and as Hints, strokes of a person.
 *
 * \ingroup ImageFilters Streamed */
template <typename TInputImage, typename TOutputImage = Image<unsigned char, 2>>
class ITK_TEMPLATE_EXPORT TissueClassImageFilter : public ImageToImageFilter<TInputImage, TOutputImage>
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(TissueClassImageFilter);

  using Self = TissueClassImageFilter;
  using Superclass = ImageToImageFilter<TInputImage, TOutputImage>;
  using Pointer = SmartPointer<Self>;
  using ConstPointer = SmartPointer<const Self>;

  itkNewMacro(Self);
  itkTypeMacro(TissueClassImageFilter, ImageToImageFilter);

  /** A mask on the same grid that other evidence has made, not 0 where it says tissue: the network decides with it.
   * None, the default: the network decides alone. */
  itkSetInputMacro(Evidence, TOutputImage);
  itkGetInputMacro(Evidence, TOutputImage);

  /** What a person says, on the same grid: 0 nothing, else 1 more than the gigapixel::TissueClass that the pixel is. It
   * corrects what the network says of places like those (gigapixel::TissueCorrection). None, the default: nobody says
   * anything. */
  itkSetInputMacro(Hints, TOutputImage);
  itkGetInputMacro(Hints, TOutputImage);

  /** Pixels of the label grid along a side of a pixel of the network's grid: gigapixel::TissueNetwork::GetFactor(). */
  itkSetClampMacro(ShrinkFactor, unsigned int, 1, 256);
  itkGetConstMacro(ShrinkFactor, unsigned int);

  /** The name of a ready model, "tissue-classes" by default, or a model file of Utilities/tissue-network. */
  itkSetStringMacro(Model);
  itkGetStringMacro(Model);

  /** Brings the classes up to date: pulls the whole input if they are older than it. Returns whether it did. An update
   * does this by itself. */
  bool UpdateClasses();

  /** Of the label grid; the values are those of gigapixel::TissueClass. */
  const gigapixel::ClassMap &
  GetClasses() const
  {
    return m_Classes;
  }

  /** The overlap of these classes with the truth, as gigapixel::TissueNetwork::GetExpectedOverlap() says. */
  itkGetConstMacro(ExpectedOverlap, double);

protected:
  TissueClassImageFilter();
  ~TissueClassImageFilter() override = default;

  void GenerateInputRequestedRegion() override;
  void GenerateData() override;
  void PrintSelf(std::ostream & os, Indent indent) const override;

private:
  bool ClassesAreCurrent() const;
  void ReadClasses();

  std::string         m_Model{ gigapixel::TissueNetwork::ReadyModel };
  unsigned int        m_ShrinkFactor{ 2 };
  gigapixel::ClassMap m_Classes;
  double              m_ExpectedOverlap{ 0.0 };
  TimeStamp           m_ClassesTime;
  bool                m_ClassesAreComplete{ false };
};

} // namespace itk

#ifndef ITK_MANUAL_INSTANTIATION
#  include "itkTissueClassImageFilter.hxx"
#endif

#endif
