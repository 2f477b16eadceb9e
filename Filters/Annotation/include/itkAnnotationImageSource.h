/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkAnnotationImageSource_h
#define itkAnnotationImageSource_h

#include "GigapixelAnnotationExport.h"
#include "gigapixelAnnotation.h"
#include "itkImage.h"
#include "itkImageSource.h"
#include "itkPoint.h"

#include <functional>
#include <vector>

namespace itk
{
/** \class AnnotationImageSource
 * \brief The mask of outlines: pixels whose center lies inside get the outline's label, all others 0.
 *
 * A pixel (i, j) of the mask has its center at ((i + 1/2) d, (j + 1/2) d) in level-0 pixels, d being the downsample.
 * Inside means that an odd number of the rings of a part of the annotation go around it; a center on a line belongs to
 * what lies right of it or below it, so areas that share a border share no pixel and leave none out. Where annotations
 * overlap, the later one counts. Any region has the bits that it has in the whole mask.
 *
 * Outlines whose area lies outside of the mask, or that are smaller than one of its pixels, leave nothing in it: they
 * are counted in a warning (W-ANNOTATION-OUTSIDE). Where all outlines lie outside, they are of another slide or in
 * other units than its pixels, and the filter throws an exception (E-ANNOTATION-EMPTY) that says how far they and the
 * mask reach. Without any outline the mask is empty.
 *
 * Output: size, spacing and origin as set, unsigned char. Labels above 255 do not fit there (E-LABEL-VALUE), and are
 * drawn by DrawLabels().
 *
 * \ingroup DataSources
 */
class GigapixelAnnotation_EXPORT AnnotationImageSource : public ImageSource<Image<unsigned char, 2>>
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(AnnotationImageSource);

  using Self = AnnotationImageSource;
  using OutputImageType = Image<unsigned char, 2>;
  using Superclass = ImageSource<OutputImageType>;
  using Pointer = SmartPointer<Self>;
  using ConstPointer = SmartPointer<const Self>;
  using Point2 = Point<double, 2>; ///< pixels of level 0

  itkNewMacro(Self);
  itkTypeMacro(AnnotationImageSource, ImageSource);

  /** Adds an outline whose inside gets \a label, over those that were added before. */
  void AddAnnotation(const gigapixel::Annotation & annotation, unsigned int label);

  /** Draws a region of the mask, without gaps, in labels of unsigned char, short or int, which hold all that were
   * added. Thread-safe. */
  template <typename TLabel>
  void DrawLabels(const OutputImageRegionType & region, TLabel * labels) const;

  /** Pixels of the mask. */
  void SetSize(SizeValueType width, SizeValueType height);

  /** Level-0 pixels along a side of a mask's pixel, > 0; default 1. */
  itkSetMacro(Downsample, double);
  itkGetConstMacro(Downsample, double);

  /** Where the outlines' (0, 0) lies, in level-0 pixels; default (0, 0). QuPath counts from the corner of the scanned
   * area (openslide.bounds-x, openslide.bounds-y) where a slide states one. */
  void SetOutlineOrigin(const Point2 & origin);
  itkGetConstMacro(OutlineOrigin, Point2);

  /** Spacing of the mask, mm; default 1. */
  itkSetMacro(Spacing, double);
  itkGetConstMacro(Spacing, double);

  /** From one row of the mask to the next, mm; default 0: as Spacing, for square pixels. */
  itkSetMacro(RowSpacing, double);
  itkGetConstMacro(RowSpacing, double);

  /** Where the center of the mask's first pixel lies, mm; default (0, 0). */
  itkSetMacro(MaskOrigin, Point2);
  itkGetConstMacro(MaskOrigin, Point2);

  /** Which outlines have their area outside of the mask: their numbers in the order in which they were added, known
   * after UpdateOutputInformation(). */
  const std::vector<std::size_t> &
  GetOutside() const
  {
    return m_Outside;
  }

protected:
  AnnotationImageSource();
  ~AnnotationImageSource() override = default;
  void GenerateOutputInformation() override;
  void BeforeThreadedGenerateData() override;
  void DynamicThreadedGenerateData(const OutputImageRegionType & region) override;
  /** \throw itk::GigapixelException all outlines lie outside */
  void CheckPlaces();
  void PrintSelf(std::ostream & os, Indent indent) const override;

private:
  struct LabeledAnnotation
  {
    gigapixel::Annotation annotation;
    unsigned int          label;
    double                left, right, top, bottom; ///< level-0 pixels
  };

  /** Columns where an outline begins and ends, for each of some rows. */
  using CrossingsType = std::vector<std::vector<IndexValueType>>;
  using SpanVisitor = std::function<void(IndexValueType y, IndexValueType first, IndexValueType last)>;

  /** Calls \a visit with the columns [first, last) that an outline covers, for all rows from \a top to \a bottom, and
   * all runs of a row. \param crossings of as many rows, all empty: memory that is used again */
  void VisitSpans(const LabeledAnnotation & labeled,
                  IndexValueType            top,
                  IndexValueType            bottom,
                  CrossingsType &           crossings,
                  const SpanVisitor &       visit) const;
  /** As VisitSpans(), of the rings [first, last), which are a part. */
  void VisitPart(const LabeledAnnotation & labeled,
                 std::size_t               first,
                 std::size_t               last,
                 IndexValueType            begin,
                 IndexValueType            end,
                 CrossingsType &           crossings,
                 const SpanVisitor &       visit) const;
  /** Whether the outline leaves a pixel in the mask when it is drawn alone. */
  bool DrawsPixels(const LabeledAnnotation & labeled) const;

  /** Moves an outline by (x, y), and finds how far it reaches. */
  static void Move(LabeledAnnotation & labeled, double x, double y);

  std::vector<LabeledAnnotation> m_Annotations; // with the origin added
  std::vector<std::size_t>       m_Outside;
  Size<2>                        m_Size{ { 0, 0 } };
  double                         m_Downsample{ 1.0 };
  double                         m_Spacing{ 1.0 };
  double                         m_RowSpacing{ 0.0 };
  Point2                         m_OutlineOrigin;
  Point2                         m_MaskOrigin;
};

extern template GigapixelAnnotation_EXPORT void AnnotationImageSource::DrawLabels(const OutputImageRegionType &,
                                                                                  unsigned char *) const;
extern template GigapixelAnnotation_EXPORT void AnnotationImageSource::DrawLabels(const OutputImageRegionType &,
                                                                                  unsigned short *) const;
extern template GigapixelAnnotation_EXPORT void AnnotationImageSource::DrawLabels(const OutputImageRegionType &,
                                                                                  unsigned int *) const;

} // namespace itk

#endif
