/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelMaskComponents_h
#define gigapixelMaskComponents_h

#include "GigapixelImageExport.h"
#include "gigapixelRunSets.h"
#include "gigapixelValueCounts.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

namespace gigapixel
{

/** Which pixels of a class touch each other: those that share an edge (4), or also a corner (8). */
enum class Connectivity
{
  Four = 4,
  Eight = 8
};

/** What is measured of a component, or of all components of a class together. Lengths are in pixels; the coordinates of
 * a pixel are those of its center, (0, 0) being the first one. */
struct GigapixelImage_EXPORT ComponentFigures
{
  std::uint32_t label{ 0 };         ///< of its pixels; not 0
  std::uint64_t area{ 0 };          ///< number of its pixels
  std::uint64_t sumX{ 0 };          ///< of the columns of all pixels, from which the centroid follows
  std::uint64_t sumY{ 0 };          ///< the same of the rows
  std::uint32_t left{ 0xFFFFFFFF }; ///< the bounding box: [left, right) x [top, bottom)
  std::uint32_t top{ 0xFFFFFFFF };  ///< first row
  std::uint32_t right{ 0 };         ///< column behind the last one
  std::uint32_t bottom{ 0 };        ///< row behind the last one
  std::uint64_t holes{ 0 };         ///< number of enclosed pieces
  /** Half steps along the border: horizontal, vertical, diagonal. */
  std::array<std::uint64_t, 3> borderSteps{};
  std::vector<ValueSummary>    values; ///< of each channel of the image under it

  /** x and y of the mean of its pixels' centers, in pixels. */
  std::array<double, 2>
  GetCentroid() const
  {
    return { static_cast<double>(sumX) / static_cast<double>(area),
             static_cast<double>(sumY) / static_cast<double>(area) };
  }

  /** The length of the line through the centers of the border's pixels: K. Benkrid, D. Crookes, "Design and FPGA
   * Implementation of a Perimeter Estimator" (2000), as scikit-image has it (neighborhood 4). A border's pixel counts
   * 1, sqrt(2) or their mean, by its neighbors on the border. Of pixels that are not square each step counts as long as
   * it is. \param width, height of a pixel */
  double GetPerimeter(double width = 1, double height = 1) const;

  /** Makes these the figures of both; but for values, of which only counts can be added. */
  void Add(const ComponentFigures & other);
};

/** \class MaskComponents
 * \brief The connected components of a mask, measured in one pass of its rows from the top.
 *
 * A component is a set of connected pixels of one label; 0 is background. Holes are its pieces of other pixels that are
 * enclosed by it, connected by edges where the component is connected by corners, and the other way round.
 * Memory: what rows take, and the figures of all components; what else a component takes is given back when it ends.
 * With Connectivity::Four that is 24 bytes for each corner at which pixels touch. */
class GigapixelImage_EXPORT MaskComponents
{
public:
  /** Pixels [begin, end) of a row that have one label. */
  struct Run
  {
    std::uint32_t begin;     ///< first column
    std::uint32_t end;       ///< column behind the last one
    std::uint32_t component; ///< a number for AddValues(), one of several that the component may have
    std::uint32_t label;     ///< of all its pixels; 0: background
  };

  /** \param width of the mask, below 2^32 - 2 pixels
   * \param channels of the image under the mask; 0: none
   * \param values that a sample may have: 256, 65536 or ValueCounts::Floats */
  explicit MaskComponents(std::size_t  width,
                          Connectivity connectivity,
                          unsigned     channels = 0,
                          std::size_t  values = 256);

  /** Adds the row below the last one, of labels of 8 or 32 bit as all rows. \return its runs, which the next call
   * replaces */
  template <typename TLabel>
  const std::vector<Run> & AppendRow(const TLabel * labels);

  /** Adds pixels of the image, channels interleaved, to those of the component. To be called before EndRows(). */
  template <typename TSample>
  void AddValues(std::uint32_t component, const TSample * samples, std::size_t pixels);

  /** The rows so far have got all their values: components that end above the last rows are finished. */
  void EndRows();

  /** There are no more rows. */
  void Finish();

  /** After Finish(): by their first pixels, row by row; so number them scikit-image's label() and others. */
  const std::vector<ComponentFigures> &
  GetComponents() const
  {
    return m_Components;
  }

  /** After Finish(): all components of each label together. */
  const std::map<std::uint32_t, ComponentFigures> &
  GetClasses() const
  {
    return m_Classes;
  }

private:
  /** A pixel of the border whose neighbors over corners may belong to the component, which nobody knows before it ends.
   */
  struct Corner
  {
    std::uint8_t                 horizontal, vertical, diagonal; ///< neighbors on the border that do belong to it
    std::uint8_t                 others{ 0 };
    std::array<std::uint32_t, 4> components{}; ///< of the neighbors in question
  };

  /** A component that may go on. */
  struct Growing
  {
    ComponentFigures         figures;
    std::uint32_t            lastRow{ 0 };
    std::vector<ValueCounts> values;
    std::vector<Corner>      corners;
  };

  /** A row of labels or border pixels with a 0 at either end. */
  template <typename TLabel>
  using Row = std::vector<TLabel>;

  /** The last rows. Bytes are kept as such: most masks have no more, and four times as many take twice as long. */
  template <typename TLabel>
  struct Rows
  {
    std::array<Row<TLabel>, 4> labels;
    std::array<Row<TLabel>, 4> borders;
  };

  static void CountBorderPixel(ComponentFigures & figures, unsigned horizontal, unsigned vertical, unsigned diagonal);

  Growing &     GetGrowing(std::uint32_t component);
  std::uint32_t Begin(std::uint32_t label);
  void          Unite(std::uint32_t a, std::uint32_t b);
  template <typename TLabel>
  void FindRuns(const Row<TLabel> & labels, std::vector<Run> & runs) const;
  void Connect(std::vector<Run> & runs, const std::vector<Run> & above);
  void Measure(const std::vector<Run> & runs);
  template <typename TLabel>
  void MarkBorder(std::int64_t y);
  template <typename TLabel>
  void MeasureRunBorder(const Run & run, std::int64_t y);
  void End(std::uint32_t root, Growing & growing);
  template <typename TLabel>
  Row<TLabel> & GetLabels(std::int64_t y);
  template <typename TLabel>
  Row<TLabel> & GetBorder(std::int64_t y);
  template <typename TLabel>
  void               AppendBackground();
  std::vector<Run> & GetRuns(std::int64_t y);
  std::uint32_t      FindComponent(std::int64_t x, std::int64_t y);

  const std::size_t  m_Width;
  const Connectivity m_Connectivity;
  const ValueCounts  m_NoValues;
  const unsigned     m_Channels;
  std::int64_t       m_Rows{ 0 };

  std::tuple<Rows<std::uint8_t>, Rows<std::uint32_t>> m_LastRows; ///< of which one kind has any
  std::array<std::vector<Run>, 4>                     m_Runs;

  RunSets                                   m_Sets;
  std::vector<std::uint32_t>                m_Places;  ///< of roots in m_Growing
  std::vector<Growing>                      m_Growing; ///< those that were united or have ended are used again
  std::vector<std::uint32_t>                m_Free;
  std::vector<std::uint32_t>                m_Open;  ///< components that may go on
  std::vector<std::uint32_t>                m_First; ///< numbers of m_Components, in the order in which they began
  std::vector<ComponentFigures>             m_Components;
  std::map<std::uint32_t, ComponentFigures> m_Classes;
  std::map<std::uint32_t, std::vector<ValueCounts>> m_ClassValues;
};

extern template GigapixelImage_EXPORT const std::vector<MaskComponents::Run> & MaskComponents::AppendRow(
  const std::uint8_t *);
extern template GigapixelImage_EXPORT const std::vector<MaskComponents::Run> & MaskComponents::AppendRow(
  const std::uint32_t *);
extern template GigapixelImage_EXPORT void MaskComponents::AddValues(std::uint32_t, const std::uint8_t *, std::size_t);
extern template GigapixelImage_EXPORT void MaskComponents::AddValues(std::uint32_t, const std::uint16_t *, std::size_t);
extern template GigapixelImage_EXPORT void MaskComponents::AddValues(std::uint32_t, const float *, std::size_t);

} // namespace gigapixel

#endif
