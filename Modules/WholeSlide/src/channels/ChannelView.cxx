/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ChannelView.h"

#include "codecs/RunOnThreads.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelFormatCount.h"
#include "gigapixelJoinNames.h"

#include "itkMultiThreaderBase.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <numeric>
#include <utility>

namespace gigapixel
{
namespace
{

/** More windows would take tables and time that no picture is worth. */
constexpr std::size_t mostWindows = 64;

/** Channels whose samples are counted at a time: each has a table of half a megabyte. */
constexpr std::size_t countedTogether = 16;

/** For channels of which the file says no color, in this order. */
constexpr std::array<unsigned char, 3> usualColors[] = { { { 0, 0, 255 } },    { { 0, 255, 0 } },   { { 255, 0, 0 } },
                                                         { { 0, 255, 255 } },  { { 255, 0, 255 } }, { { 255, 255, 0 } },
                                                         { { 255, 255, 255 } } };

template <typename TSample>
double
GetSample(const unsigned char * bytes)
{
  TSample sample;
  std::memcpy(&sample, bytes, sizeof(sample));
  return static_cast<double>(sample);
}

double
GetSample(SampleType type, const unsigned char * bytes)
{
  return type == SampleType::UInt8    ? GetSample<std::uint8_t>(bytes)
         : type == SampleType::UInt16 ? GetSample<std::uint16_t>(bytes)
                                      : GetSample<float>(bytes);
}

void
Count(SampleType type, const unsigned char * bytes, std::uint64_t count, ChannelHistogram & histogram)
{
  const double sample = GetSample(type, bytes);
  type == SampleType::Float32 ? histogram.Add(static_cast<float>(sample), count)
                              : histogram.Add(static_cast<std::uint32_t>(sample), count);
}

std::vector<unsigned>
CountUp(unsigned number)
{
  std::vector<unsigned> all(number);
  std::iota(all.begin(), all.end(), 0u);
  return all;
}

} // namespace

bool
ChannelView::IsAsked(const ChannelChoice & choice)
{
  return !choice.channels.empty() || !choice.window.empty() || choice.isPicture;
}

std::shared_ptr<const Slide>
ChannelView::Make(std::shared_ptr<const Slide> slide, const ChannelChoice & choice, const OpeningProgress & progress)
{
  const bool isPicture = slide->GetPlanes().front().IsPicture();
  if (choice.channels.empty() && choice.window.empty() && (isPicture || !choice.isPicture))
  {
    return slide;
  }
  return std::shared_ptr<const Slide>(new ChannelView(std::move(slide), choice, progress));
}

ChannelView::ChannelView(std::shared_ptr<const Slide> slide,
                         const ChannelChoice &        choice,
                         const OpeningProgress &      progress)
  : Slide(slide->GetPath())
  , m_Slide(std::move(slide))
  , m_Available(m_Slide->GetChannels())
  , m_Sample(m_Slide->m_Planes.front().sample)
  , m_IsPicture(choice.isPicture)
{
  m_NumberOfLevels = m_Slide->m_NumberOfLevels;
  m_NumberOfReducedLevels = m_Slide->m_NumberOfReducedLevels;
  m_Images = m_Slide->m_Images;
  m_Decoder = m_Slide->m_Decoder;
  m_Warnings = m_Slide->m_Warnings;
  m_MissingParts = m_Slide->m_MissingParts;
  m_Origin = m_Slide->m_Origin;
  m_Background = m_Slide->m_Background;
  m_DamagedTiles = m_Slide->m_DamagedTiles; // which all that read the file count
  const auto resolution = m_Slide->GetMicronsPerPixel();
  SetMicronsPerPixel(resolution[0], resolution[1], true);
  Choose(choice);
  if (choice.isPicture || !choice.window.empty())
  {
    SetWindows(choice, progress);
    FillTables();
  }
  SetColors();
  AddPlanes();
  FillProperties();
}

/** By its name or number; a name comes first. */
unsigned
ChannelView::FindChannel(const std::string & wanted) const
{
  const auto refuse = [&](const std::string & why, const std::string & remedy) {
    throw SlideError(
      Diagnostic("E-SLIDE-CHANNEL", why, remedy).OfFile(m_Slide->GetPath()).OfOption("--channel", wanted));
  };
  const std::string mark = NumberMark;
  const bool        isMarked = wanted.rfind(mark, 0) == 0;
  const auto        isNamed = [&](const SlideChannel & channel) { return !isMarked && channel.name == wanted; };
  const auto        found = std::find_if(m_Available.begin(), m_Available.end(), isNamed);
  const auto        numbers = "choose one by its number, 1 to " + std::to_string(m_Available.size());
  if (std::count_if(m_Available.begin(), m_Available.end(), isNamed) > 1)
  {
    refuse("several of its channels are named '" + wanted + '\'', numbers);
  }
  if (found != m_Available.end())
  {
    return static_cast<unsigned>(found - m_Available.begin());
  }
  const std::string digits = wanted.substr(isMarked ? mark.size() : 0);
  const bool        isNumber =
    !digits.empty() && digits.size() < 10 && digits.find_first_not_of("0123456789") == std::string::npos;
  const unsigned long number = isNumber ? std::stoul(digits) : 0;
  if (number < 1 || number > m_Available.size())
  {
    constexpr std::size_t    mostNamed = 40;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < std::min(m_Available.size(), mostNamed); ++i)
    {
      names.push_back(std::to_string(i + 1) + ' ' + m_Available[i].name);
    }
    const std::string others = m_Available.size() > mostNamed ? " and others" : "";
    refuse("it has no channel '" + wanted + '\'', "choose one of these: " + JoinNames(names) + others);
  }
  return static_cast<unsigned>(number - 1);
}

void
ChannelView::Choose(const ChannelChoice & choice)
{
  for (const std::string & wanted : choice.channels)
  {
    const unsigned channel = FindChannel(wanted);
    if (std::find(m_Chosen.begin(), m_Chosen.end(), channel) != m_Chosen.end())
    {
      throw SlideError(Diagnostic("E-SLIDE-CHANNEL", "its channel '" + wanted + "' is chosen twice", "name it once")
                         .OfFile(m_Slide->GetPath())
                         .OfOption("--channel", wanted));
    }
    m_Chosen.push_back(channel);
  }
  if (m_Chosen.empty())
  {
    m_Chosen = CountUp(static_cast<unsigned>(m_Available.size()));
  }
}

void
ChannelView::SetWindows(const ChannelChoice & choice, const OpeningProgress & progress)
{
  if (m_Sample != SampleType::UInt8 && m_Sample != SampleType::UInt16 && m_Sample != SampleType::Float32)
  {
    throw SlideError("E-SLIDE-CHANNELS",
                     m_Slide->GetPath(),
                     "its samples are labels, signed, or of more than 32 bit, which have no window",
                     "convert them to unsigned ones of 8 or 16 bit, or to floats");
  }
  if (m_Chosen.size() > mostWindows)
  {
    throw SlideError("E-SLIDE-CHANNELS",
                     m_Slide->GetPath(),
                     "it has " + FormatCount(m_Chosen.size(), "channel") + ", and " + std::to_string(mostWindows) +
                       " are shown together at most",
                     "choose some of them (--channel, SetChannels())");
  }
  const bool isAutomatic = choice.window.empty() || choice.window == "auto";
  const bool keepsSome = choice.isPicture && choice.channels.empty() && !m_Slide->m_Planes.front().IsPicture();
  if (!isAutomatic)
  {
    m_Windows.assign(m_Chosen.size(), ChannelWindow::Parse(choice.window));
  }
  if (isAutomatic || keepsSome)
  {
    const auto ranges = FindRanges(progress);
    for (std::size_t i = 0; i < ranges.size() && isAutomatic; ++i)
    {
      m_Windows.push_back(ranges[i].window);
    }
    if (keepsSome)
    {
      KeepChannelsWithSignal(ranges);
    }
    if (isAutomatic)
    {
      WarnOfFlatChannels();
    }
  }
}

void
ChannelView::WarnOfFlatChannels()
{
  std::vector<std::string> names;
  for (std::size_t i = 0; i < m_Chosen.size(); ++i)
  {
    if (m_Windows[i].low == m_Windows[i].high)
    {
      names.push_back(m_Available[m_Chosen[i]].name);
    }
  }
  if (!names.empty())
  {
    m_Warnings.push_back(Diagnostic("W-SLIDE-CHANNEL-FLAT",
                                    "nearly all values are the same in " + JoinNames(names) +
                                      ": values above are shown as 255, and all others as 0",
                                    "state a window (--window LOW,HIGH), or leave these channels out")
                           .OfFile(m_Slide->GetPath())
                           .OfValue(std::to_string(names.size())));
  }
}

/** All of them where none has any. */
void
ChannelView::KeepChannelsWithSignal(const std::vector<ChannelRange> & ranges)
{
  const bool hasAny = std::any_of(ranges.begin(), ranges.end(), [](const ChannelRange & of) { return of.hasSignal; });
  std::vector<unsigned>      chosen;
  std::vector<ChannelWindow> windows;
  std::vector<std::string>   names;
  for (std::size_t i = 0; i < ranges.size(); ++i)
  {
    if (ranges[i].hasSignal || !hasAny)
    {
      chosen.push_back(m_Chosen[i]);
      windows.push_back(m_Windows[i]);
      names.push_back(m_Available[m_Chosen[i]].name);
    }
  }
  m_Chosen = std::move(chosen);
  m_Windows = std::move(windows);
  if (m_Available.size() > 1)
  {
    m_Warnings.push_back(Diagnostic("W-SLIDE-CHANNELS-ALL",
                                    "no channel is chosen, and all with signal are used together: " + JoinNames(names),
                                    "choose channels where it matters (--channel, SetChannels())")
                           .OfFile(m_Slide->GetPath())
                           .OfValue(std::to_string(m_Chosen.size())));
  }
}

void
ChannelView::FillTables()
{
  const std::size_t values = m_Sample == SampleType::UInt8 ? 256 : m_Sample == SampleType::UInt16 ? 65536 : 0;
  for (const ChannelWindow & window : m_Windows)
  {
    std::vector<unsigned char> table(values);
    for (std::size_t value = 0; value < values; ++value)
    {
      table[value] = window.Apply(static_cast<double>(value));
    }
    m_Tables.push_back(std::move(table));
  }
}

unsigned char
ChannelView::Scale(std::size_t chosen, const unsigned char * sample) const
{
  if (m_Windows.empty() || m_Sample == SampleType::Float32)
  {
    return m_Windows.empty() ? *sample : m_Windows[chosen].Apply(GetSample<float>(sample));
  }
  std::uint16_t value = *sample;
  if (m_Sample == SampleType::UInt16)
  {
    std::memcpy(&value, sample, sizeof(value));
  }
  return m_Tables[chosen][value];
}

void
ChannelView::SetColors()
{
  for (const unsigned channel : m_Chosen)
  {
    SlideChannel of = m_Available[channel];
    if (!of.color && m_Available.size() > 1)
    {
      of.color = usualColors[channel % std::size(usualColors)];
    }
    m_Colors.push_back(of.color.value_or(std::array<unsigned char, 3>{ { 255, 255, 255 } }));
    m_Shown.push_back(of);
  }
  m_Channels = ChannelView::GetAddedChannels().empty() ? m_Shown : std::vector<SlideChannel>();
}

bool
ChannelView::IsLevel(unsigned plane) const
{
  return plane < m_NumberOfLevels + m_NumberOfReducedLevels;
}

void
ChannelView::AddPlanes()
{
  const SlidePlane & base = m_Slide->m_Planes.front();
  for (unsigned i = 0; i < m_Slide->m_Planes.size(); ++i)
  {
    SlidePlane plane = m_Slide->m_Planes[i];
    plane.reduction = 1; // of which the other slide knows
    if (IsLevel(i))
    {
      if (plane.channels != base.channels || plane.sample != base.sample)
      {
        throw SlideError(
          "E-SLIDE-CHANNELS", m_Slide->GetPath(), "its levels have different channels", "convert one level of it");
      }
      plane.channels = m_IsPicture && m_Chosen.size() > 1 ? 3 : static_cast<unsigned>(m_Chosen.size());
      plane.sample = m_Windows.empty() ? plane.sample : SampleType::UInt8;
      plane.hasDyes = !m_IsPicture && m_Chosen.size() > 1;
      plane.holdsLabels = plane.holdsLabels && m_Windows.empty();
      SetEmptyPixel(plane, m_Slide->m_Planes[i]);
    }
    m_Planes.push_back(std::move(plane));
  }
}

/** What is not stored looks as it would, were it stored. */
void
ChannelView::SetEmptyPixel(SlidePlane & plane, const SlidePlane & from)
{
  std::vector<unsigned char> stored = from.emptyPixel;
  if (stored.empty() && from.IsPicture())
  {
    stored.assign(m_Slide->m_Background.begin(), m_Slide->m_Background.begin() + from.channels);
  }
  const std::size_t sample = from.GetSampleBytes();
  stored.resize(from.channels * sample);
  std::vector<unsigned char> chosen;
  for (const unsigned channel : m_Chosen)
  {
    const auto begin = stored.begin() + static_cast<std::ptrdiff_t>(channel * sample);
    chosen.insert(chosen.end(), begin, begin + static_cast<std::ptrdiff_t>(sample));
  }
  const auto channels = static_cast<unsigned>(m_Chosen.size());
  plane.emptyPixel.assign(std::size_t{ plane.channels } * plane.GetSampleBytes(), 0);
  Convert({ chosen.data(), chosen.size(), 1, 1, channels, static_cast<unsigned>(sample) },
          { plane.emptyPixel.data(), plane.emptyPixel.size(), 1, 1, plane.channels, plane.GetSampleBytes() });
  if (plane.IsPicture())
  {
    for (std::size_t i = 0; i < 3; ++i)
    {
      m_Background[i] = plane.emptyPixel[plane.channels == 3 ? i : 0];
    }
  }
}

void
ChannelView::FillProperties()
{
  m_Properties = m_Slide->m_Properties;
  m_Properties.erase("openslide.background-color"); // of pixels as they are stored
  std::string names;
  for (const SlideChannel & channel : m_Channels)
  {
    names += (names.empty() ? "" : "\n") + channel.name;
  }
  m_Properties.erase("gigapixel.channel-names");
  if (!names.empty())
  {
    m_Properties["gigapixel.channel-names"] = names;
  }
}

std::string
ChannelView::GetChannelChoice() const
{
  std::string text = "channels=";
  for (std::size_t i = 0; i < m_Chosen.size(); ++i)
  {
    text += (i > 0 ? "," : "") + std::to_string(m_Chosen[i] + 1);
  }
  for (std::size_t i = 0; i < m_Windows.size(); ++i)
  {
    text += (i > 0 ? ";" : " windows=") + m_Windows[i].ToText();
  }
  return text + (m_IsPicture ? " picture" : "");
}

std::string
ChannelView::DescribeChannelChoice() const
{
  std::string text;
  for (std::size_t i = 0; i < m_Chosen.size(); ++i)
  {
    text += (i > 0 ? "\n" : "") + m_Shown[i].name;
    text += m_Windows.empty() ? "" : ' ' + m_Windows[i].ToText();
  }
  return text;
}

std::vector<SlideChannel>
ChannelView::GetAddedChannels() const
{
  return m_IsPicture && m_Shown.size() > 1 ? m_Shown : std::vector<SlideChannel>();
}

std::size_t
ChannelView::GetDecodingBytes(unsigned plane) const
{
  const SlidePlane & of = m_Slide->m_Planes[plane];
  return m_Slide->GetDecodingBytes(plane) +
         std::size_t{ of.tileWidth } * of.tileHeight * of.GetSampleBytes() * (m_Chosen.size() + of.channels);
}

bool
ChannelView::HasTile(unsigned plane, std::uint64_t tile) const
{
  return m_Slide->HasTile(m_Slide->GetSource(plane), tile);
}

void
ChannelView::Prefetch(unsigned plane, std::uint64_t first, std::uint64_t last) const
{
  m_Slide->Prefetch(m_Slide->GetSource(plane), first, last);
}

std::string
ChannelView::DecodeTile(unsigned                           plane,
                        std::uint64_t                      tile,
                        const PixelSpan &                  out,
                        std::unique_ptr<unsigned char[]> * scanned) const
{
  if (!IsLevel(plane))
  {
    return m_Slide->DecodeTile(plane, tile, out, scanned);
  }
  const SlidePlane & of = m_Slide->m_Planes[plane];
  const auto         channels = static_cast<unsigned>(m_Chosen.size());
  const std::size_t  stride = std::size_t{ of.tileWidth } * channels * of.GetSampleBytes();
  m_Slide->CheckRectangle(plane, { 0, 0, 1, 1 }); // refuses tiles that are too large with all their channels
  thread_local std::vector<unsigned char> samples;
  samples.resize(stride * of.tileHeight);
  const PixelSpan raw{ samples.data(), stride, of.tileWidth, of.tileHeight, channels, of.GetSampleBytes() };
  std::string     damage = m_Slide->DecodeChannels(plane, tile, m_Chosen, raw, scanned);
  Convert(raw, out);
  return damage;
}

/** Chosen channels to what is wanted: of pictures 1 or 3 channels, else those of the planes. */
void
ChannelView::Convert(const PixelSpan & raw, const PixelSpan & out) const
{
  const unsigned    bytes = raw.sampleBytes;
  const std::size_t channels = m_Chosen.size();
  const bool        isSum = m_IsPicture && channels > 1;
  // The grounds of more channels than there are colors would add up to white by themselves.
  constexpr std::size_t Colors = 7;
  const auto share = [channels](std::size_t sum) { return channels > Colors ? sum * Colors / channels : sum; };
  for (std::uint32_t y = 0; y < out.height; ++y)
  {
    const unsigned char * from = raw.data + y * raw.stride;
    unsigned char *       to = out.data + y * out.stride;
    if (m_Windows.empty() && out.channels == channels)
    {
      std::memcpy(to, from, std::size_t{ out.width } * channels * bytes);
      continue;
    }
    for (std::uint32_t x = 0; x < out.width; ++x)
    {
      unsigned      sums[3] = { 0, 0, 0 };
      unsigned char value = 0;
      for (std::size_t i = 0; i < channels; ++i, from += bytes)
      {
        value = Scale(i, from);
        if (!m_IsPicture && channels > 1)
        {
          *to++ = value;
        }
        for (unsigned c = 0; isSum && c < 3; ++c)
        {
          sums[c] += m_Colors[i][c] * value;
        }
      }
      if (!m_IsPicture && channels > 1)
      {
        continue;
      }
      for (unsigned & sum : sums)
      {
        sum = isSum ? static_cast<unsigned>(std::min<std::size_t>(255, (share(sum) + 127) / 255)) : value;
      }
      if (out.channels == 3)
      {
        to = std::copy(sums, sums + 3, to);
      }
      else
      {
        *to++ = isSum ? LumaFromRGB(sums[0], sums[1], sums[2]) : value;
      }
    }
  }
}

/** Calls visit(samples of a tile's pixels inside the level, or null where it is not stored, their number), for one
 * tile at a time. Of several tiles that fail the first one is told. */
template <typename TVisitor>
void
ChannelView::VisitTiles(unsigned                      plane,
                        const std::vector<unsigned> & channels,
                        const TVisitor &              visit,
                        const OpeningProgress &       progress) const
{
  const SlidePlane &         of = m_Slide->m_Planes[plane];
  const std::uint64_t        across = of.GetTilesAcross();
  const std::uint64_t        tiles = across * of.GetTilesDown();
  const std::size_t          pixel = channels.size() * of.GetSampleBytes();
  std::atomic<std::uint64_t> next{ 0 };
  std::atomic<std::uint64_t> failed{ tiles };
  std::exception_ptr         failure;
  std::mutex                 mutex;
  const auto threads = std::min<std::uint64_t>(itk::MultiThreaderBase::GetGlobalDefaultNumberOfThreads(), tiles);
  RunOnThreads(static_cast<unsigned>(threads), [&](unsigned thread) {
    std::vector<unsigned char> samples;
    for (std::uint64_t tile = next++; tile < tiles && tile < failed; tile = next++)
    {
      const std::uint64_t width = std::min<std::uint64_t>(of.tileWidth, of.width - tile % across * of.tileWidth);
      const std::uint64_t height = std::min<std::uint64_t>(of.tileHeight, of.height - tile / across * of.tileHeight);
      const bool          has = m_Slide->HasTile(plane, tile);
      try
      {
        if (has)
        {
          samples.resize(pixel * of.tileWidth * of.tileHeight);
          const PixelSpan whole{ samples.data(),
                                 pixel * of.tileWidth,
                                 of.tileWidth,
                                 of.tileHeight,
                                 static_cast<unsigned>(channels.size()),
                                 of.GetSampleBytes() };
          m_Slide->DecodeMeasured(plane, tile, channels, whole);
          for (std::uint64_t y = 1; y < height; ++y) // rows without gaps
          {
            std::memmove(samples.data() + y * width * pixel, samples.data() + y * whole.stride, width * pixel);
          }
        }
        const std::lock_guard<std::mutex> lock(mutex);
        visit(has ? samples.data() : nullptr, width * height);
        if (thread == 0 && progress)
        {
          progress(static_cast<double>(std::min<std::uint64_t>(next, tiles)) / static_cast<double>(tiles));
        }
      }
      catch (...)
      {
        const std::lock_guard<std::mutex> lock(mutex);
        if (tile < failed)
        {
          failed = tile;
          failure = std::current_exception();
        }
      }
    }
  });
  if (failure)
  {
    std::rethrow_exception(failure);
  }
}

std::vector<ChannelRange>
ChannelView::FindRanges(const OpeningProgress & progress) const
{
  const unsigned             plane = m_Slide->GetMeasuredLevel();
  const SlidePlane &         of = m_Slide->m_Planes[plane];
  const std::size_t          bytes = of.GetSampleBytes();
  const bool                 isFloat = m_Sample == SampleType::Float32;
  std::vector<unsigned char> empty = of.emptyPixel;
  std::vector<ChannelRange>  ranges;
  if (empty.empty() && of.IsPicture())
  {
    empty.assign(m_Slide->m_Background.begin(), m_Slide->m_Background.begin() + of.channels);
  }
  empty.resize(of.channels * bytes);
  m_Slide->CheckRectangle(plane, { 0, 0, of.width, of.height });
  for (std::size_t first = 0; first < m_Chosen.size(); first += countedTogether)
  {
    const std::size_t             end = std::min(first + countedTogether, m_Chosen.size());
    const std::vector<unsigned>   channels(m_Chosen.begin() + static_cast<std::ptrdiff_t>(first),
                                         m_Chosen.begin() + static_cast<std::ptrdiff_t>(end));
    std::vector<ChannelHistogram> histograms(channels.size(), ChannelHistogram(isFloat));
    const auto                    count = [&](const unsigned char * samples, std::uint64_t pixels) {
      for (std::size_t i = 0; i < channels.size() && samples == nullptr; ++i)
      {
        Count(m_Sample, empty.data() + channels[i] * bytes, pixels, histograms[i]);
      }
      for (std::uint64_t pixel = 0; pixel < pixels && samples != nullptr; ++pixel)
      {
        for (ChannelHistogram & histogram : histograms)
        {
          Count(m_Sample, samples, 1, histogram);
          samples += bytes;
        }
      }
    };
    const unsigned passes = histograms.front().GetNumberOfPasses();
    for (unsigned pass = 0; pass < passes; ++pass)
    {
      for (ChannelHistogram & histogram : histograms)
      {
        pass > 0 ? histogram.BeginSecondPass() : void();
      }
      const auto advance = [&](double share) {
        const double all = static_cast<double>(m_Chosen.size()), counted = static_cast<double>(end - first);
        progress((static_cast<double>(first) + counted * (pass + share) / passes) / all);
      };
      VisitTiles(plane, channels, count, progress ? OpeningProgress(advance) : OpeningProgress());
    }
    for (const ChannelHistogram & histogram : histograms)
    {
      ranges.push_back(histogram.GetRange());
    }
  }
  return ranges;
}

} // namespace gigapixel
