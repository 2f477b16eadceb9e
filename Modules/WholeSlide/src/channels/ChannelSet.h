/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef ChannelSet_h
#define ChannelSet_h

#include "slide/Slide.h"

#include <memory>
#include <string>
#include <vector>

namespace gigapixel
{

/** A slide that is one channel of another one. */
struct SetChannel
{
  /** Which of the colors of a pixel is the channel's value; the largest one where nobody knows. Gray has one. */
  enum class Band
  {
    Red,
    Green,
    Blue,
    Largest
  };

  std::shared_ptr<const Slide> slide; // of 8 bit, gray or RGB
  SlideChannel                 about;
  Band                         band{ Band::Largest };
};

/** Slides of one size, each in a file of its own, as the channels of one slide. */
class ChannelSet : public Slide
{
public:
  /** Throws SlideError where the slides differ. \param path of the file that names them */
  ChannelSet(const std::string & path, std::vector<SetChannel> channels);

  std::size_t GetDecodingBytes(unsigned plane) const override;

protected:
  bool        HasTile(unsigned plane, std::uint64_t tile) const override;
  std::string DecodeTile(unsigned                           plane,
                         std::uint64_t                      tile,
                         const PixelSpan &                  out,
                         std::unique_ptr<unsigned char[]> * scanned) const override;
  std::string DecodeChannels(unsigned                           plane,
                             std::uint64_t                      tile,
                             const std::vector<unsigned> &      channels,
                             const PixelSpan &                  out,
                             std::unique_ptr<unsigned char[]> * scanned) const override;
  void        Prefetch(unsigned plane, std::uint64_t first, std::uint64_t last) const override;

private:
  void        RequireAlike(const SetChannel & channel) const;
  std::size_t CountSlides(unsigned plane) const;
  std::string DecodeAssociated(unsigned plane, std::uint64_t tile, const PixelSpan & out) const;

  std::vector<SetChannel> m_Set;
};

} // namespace gigapixel

#endif
