/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef ChannelWindow_h
#define ChannelWindow_h

#include <cstdint>
#include <string>
#include <vector>

namespace gigapixel
{

/** Two values: samples from the lower one up to the higher one become 0 to 255, rounded, halves up; others are cut.
 * Where both are the same, samples above are 255, all others 0. */
struct ChannelWindow
{
  double low;
  double high;

  unsigned char
  Apply(double sample) const
  {
    if (!(sample > low))
    {
      return 0; // not a number is nothing, either
    }
    const double scaled = 255.0 * (sample - low) / (high - low) + 0.5; // infinite where both are the same
    return scaled >= 255.0 ? 255 : static_cast<unsigned char>(scaled);
  }

  /** "LOW,HIGH". Throws Refusal where it is none, or LOW is not below HIGH. */
  static ChannelWindow Parse(const std::string & text);

  std::string ToText() const;
};

/** Samples of one channel. */
struct ChannelRange
{
  ChannelWindow window;             // the 0.1 and 99.9 percentile
  bool          hasSignal{ false }; // samples differ
};

/** Order statistics of samples that are seen once (8 and 16 bit) or twice (floats), in a memory that does not depend on
 * their number. Percentiles are those of numpy.percentile, of all samples that are finite. */
class ChannelHistogram
{
public:
  explicit ChannelHistogram(bool isFloat);

  /** How often all samples have to be counted. */
  unsigned
  GetNumberOfPasses() const
  {
    return m_IsFloat ? 2 : 1;
  }

  void Add(std::uint32_t sample, std::uint64_t count = 1);
  void Add(float sample, std::uint64_t count = 1);

  /** Between passes. */
  void BeginSecondPass();

  ChannelRange GetRange() const;

private:
  struct Rank
  {
    std::uint64_t number;   // of the sample, in the order of their values
    std::uint32_t bin{ 0 }; // of the first pass
    std::uint64_t below{ 0 };
  };

  double GetValue(const Rank & rank) const;
  void   SetRanks();

  bool                                    m_IsFloat;
  bool                                    m_IsSecondPass{ false };
  std::uint64_t                           m_Count{ 0 };
  std::uint32_t                           m_Smallest{ UINT32_MAX };
  std::uint32_t                           m_Largest{ 0 };
  std::vector<std::uint64_t>              m_Bins;
  std::vector<Rank>                       m_Ranks;
  std::vector<std::vector<std::uint64_t>> m_Finer; // of each rank's bin
};

} // namespace gigapixel

#endif
