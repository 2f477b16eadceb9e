/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef SlideUnderMask_h
#define SlideUnderMask_h

#include "MaskImage.h"
#include "SlideFile.h"

#include "gigapixelArgumentValues.h"
#include "gigapixelMaskComponents.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace gigapixel::application
{

/** The names of a slide's channels: those that the file says where it says one for each, else red, green and blue, or
 * gray, or channel1 and so on. */
std::vector<std::string> GetChannelNames(const itk::WholeSlideImageIO & slide);

/** Opens a slide whose samples can be counted, with its pixels as --level or --mpp choose them.
 * \throw std::runtime_error samples of other types than 8 or 16 bit or float (E-SLIDE-CHANNELS) */
itk::WholeSlideImageIO::Pointer OpenMeasuredSlide(const std::string &    file,
                                                  const ArgumentValues & values,
                                                  const Session &        session);

/** \class SlideUnderMask
 * \brief The pixels of a slide that lie under those of a mask.
 *
 * The pixels of the finer one count, as in evaluate: those of the slide whose centers lie in a pixel of the mask; where
 * the mask is finer, for each of its pixels the slide's pixel below its center. Only blocks with a component are
 * decoded. */
class SlideUnderMask
{
public:
  /** A mask's row of runs, as MaskComponents::AppendRow() returns it. */
  using Runs = std::vector<MaskComponents::Run>;

  /** \throw GridMismatch the mask does not lie on the slide */
  SlideUnderMask(const MaskImage &      mask,
                 const std::string &    file,
                 const ArgumentValues & values,
                 const Session &        session);

  const itk::WholeSlideImageIO &
  GetSlide() const
  {
    return *m_Slide;
  }

  const GridMatch &
  GetMatch() const
  {
    return m_Match;
  }

  /** How many a sample may have, as MaskComponents takes it. */
  std::size_t GetNumberOfValues() const;

  /** Width and height in mm of the mask's pixels, by the slide's resolution; 0: unknown. */
  std::array<double, 2> GetMaskSpacing() const;

  /** Rows of the mask that are to be given at a time: they and the slide's rows under them are few. */
  std::int64_t GetBandRows() const;

  /** Gives the components of these rows their pixels of the slide. \param first row of the mask */
  void AddValues(std::int64_t first, const std::vector<Runs> & rows, MaskComponents & components);

private:
  /** Which of the slide's columns, or rows, lie under those of the mask. */
  class Axis
  {
  public:
    Axis(const AxisMatch & match, bool isPart);

    /** [begin, end) of the slide under one of the mask; empty where the slide has none. */
    std::array<std::int64_t, 2> Get(std::int64_t maskPixel) const;

    /** Whether the columns under neighbors are neighbors, and are not shared. */
    bool
    IsFiner() const
    {
      return m_IsFiner;
    }

  private:
    bool                      m_IsFiner;
    std::vector<std::int64_t> m_Begins;
  };

  template <typename TSample>
  void AddBlock(const itk::ImageIORegion & block,
                std::int64_t               first,
                const std::vector<Runs> &  rows,
                MaskComponents &           components);

  template <typename TSample>
  void AddRun(const MaskComponents::Run & run,
              const TSample *             row,
              std::int64_t                begin,
              std::int64_t                end,
              MaskComponents &            components) const;

  itk::WholeSlideImageIO::Pointer m_Slide;
  Grid                            m_Grid;
  GridMatch                       m_Match;
  Axis                            m_Columns;
  Axis                            m_Rows;
  std::vector<std::size_t>        m_Next;   ///< of each row the first run that does not end before the block
  std::vector<float>              m_Pixels; ///< of a block, whatever its samples
};

} // namespace gigapixel::application

#endif
