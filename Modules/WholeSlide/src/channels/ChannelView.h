/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef ChannelView_h
#define ChannelView_h

#include "ChannelWindow.h"
#include "slide/Slide.h"

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace gigapixel
{

/** A slide of some channels of another one, in the order in which they were chosen.
 *
 * Without a window, samples are those that are stored. With one, samples are of 8 bit: see ChannelWindow. A picture of
 * one channel is gray. That of several is the sum of their colors, each times its sample: for red
 * min(255, floor((sum(color * sample) + 127) / 255)), and so for green and blue.
 *
 * A picture is made of all channels with signal where none is chosen. A channel has no signal where its samples are all
 * the same on the level that windows are found on. A gray or RGB slide of 8 bit is a picture as it is, unless channels
 * or a window are chosen. */
class ChannelView : public Slide
{
public:
  static bool IsAsked(const ChannelChoice & choice);

  /** The slide itself where the choice changes nothing. Throws SlideError. */
  static std::shared_ptr<const Slide> Make(std::shared_ptr<const Slide> slide,
                                           const ChannelChoice &        choice,
                                           const OpeningProgress &      progress = {});

  std::string GetChannelChoice() const override;
  std::string DescribeChannelChoice() const override;

  std::vector<SlideChannel> GetAddedChannels() const override;

  std::size_t GetDecodingBytes(unsigned plane) const override;

protected:
  bool        HasTile(unsigned plane, std::uint64_t tile) const override;
  std::string DecodeTile(unsigned                           plane,
                         std::uint64_t                      tile,
                         const PixelSpan &                  out,
                         std::unique_ptr<unsigned char[]> * scanned) const override;
  void        Prefetch(unsigned plane, std::uint64_t first, std::uint64_t last) const override;

private:
  ChannelView(std::shared_ptr<const Slide> slide, const ChannelChoice & choice, const OpeningProgress & progress);

  void     Choose(const ChannelChoice & choice);
  unsigned FindChannel(const std::string & wanted) const;
  void     SetWindows(const ChannelChoice & choice, const OpeningProgress & progress);
  void     KeepChannelsWithSignal(const std::vector<ChannelRange> & ranges);
  void     WarnOfFlatChannels();
  void     FillTables();
  void     SetColors();
  void     AddPlanes();
  void     SetEmptyPixel(SlidePlane & plane, const SlidePlane & from);
  void     FillProperties();
  bool     IsLevel(unsigned plane) const;
  void     Convert(const PixelSpan & raw, const PixelSpan & out) const;

  unsigned char Scale(std::size_t chosen, const unsigned char * sample) const;

  /** The ranges of the chosen channels on the level that windows are found on; tiles are counted on several threads,
   * and decoded for some channels at a time. */
  std::vector<ChannelRange> FindRanges(const OpeningProgress & progress) const;

  template <typename TVisitor>
  void VisitTiles(unsigned                      plane,
                  const std::vector<unsigned> & channels,
                  const TVisitor &              visit,
                  const OpeningProgress &       progress) const;

  std::shared_ptr<const Slide>              m_Slide;
  std::vector<SlideChannel>                 m_Available; // channels of the slide
  std::vector<unsigned>                     m_Chosen;
  std::vector<SlideChannel>                 m_Shown;   // the chosen ones
  std::vector<ChannelWindow>                m_Windows; // none: as stored
  std::vector<std::vector<unsigned char>>   m_Tables;  // of the windows, for each value of 8 or 16 bit
  std::vector<std::array<unsigned char, 3>> m_Colors;
  SampleType                                m_Sample;
  bool                                      m_IsPicture;
};

} // namespace gigapixel

#endif
