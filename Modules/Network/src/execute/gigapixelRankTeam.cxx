/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelRankTeam.h"

#include <algorithm>

namespace gigapixel
{
namespace
{

template <typename T>
void
Append(const std::vector<T> & values, std::vector<double> & message, std::size_t size)
{
  const std::size_t begin = message.size();
  message.resize(begin + size); // a sum without a tile so far has no elements yet: zeros
  std::copy(values.begin(), values.end(), message.begin() + begin);
}

template <typename T>
void
Extract(const std::vector<double> & message, std::size_t begin, std::size_t size, std::vector<T> & values)
{
  values.assign(message.begin() + begin, message.begin() + begin + size);
}

void
SendMessage(Ranks & ranks, int to, const std::vector<double> & message)
{
  ranks.Send(to, message.data(), message.size() * sizeof(double));
}

std::vector<double>
ReceiveMessage(Ranks & ranks, int from, std::size_t size)
{
  std::vector<double> message(size);
  ranks.Receive(from, message.data(), size * sizeof(double));
  return message;
}

std::size_t
GetSizeOfLossSum(const NetworkDescription & network)
{
  return 3 + 3 * network.GetNumberOfOutputChannels();
}

/** Begins with the sum; counts are exact as double: below 2^53. */
std::vector<double>
MakeMessage(const LossSum & sum, const NetworkDescription & network)
{
  std::vector<double> message{ sum.loss, sum.weight, static_cast<double>(sum.pixels) };
  for (const auto * sums : { &sum.hits, &sum.probabilities, &sum.truths })
  {
    Append(*sums, message, network.GetNumberOfOutputChannels());
  }
  return message;
}

void
ExtractLossSum(const std::vector<double> & message, const NetworkDescription & network, LossSum & sum)
{
  const std::size_t channels = network.GetNumberOfOutputChannels();
  sum.loss = message[0];
  sum.weight = message[1];
  sum.pixels = static_cast<std::int64_t>(message[2]);
  Extract(message, 3, channels, sum.hits);
  Extract(message, 3 + channels, channels, sum.probabilities);
  Extract(message, 3 + 2 * channels, channels, sum.truths);
}

} // namespace

RankTeam::RankTeam(Ranks & ranks, int image, int images, int run)
  : m_Ranks(&ranks)
  , m_Run(run)
{
  const std::int64_t number = ranks.GetNumberOfRanks();
  m_First = static_cast<int>(image * number / images);
  m_Number = std::max(1, static_cast<int>((image + 1) * number / images) - m_First);
}

bool
RankTeam::Contains(int rank) const
{
  return rank >= m_First && rank < m_First + m_Number;
}

int
RankTeam::GetRankOf(std::int64_t tile) const
{
  return m_First + static_cast<int>(tile / m_Run % m_Number);
}

std::int64_t
RankTeam::GetNumberOfOwn(std::int64_t tiles) const
{
  const std::int64_t round = m_Run * m_Number;
  const std::int64_t place = (m_Ranks ? m_Ranks->GetRank() : 0) - m_First;
  return tiles / round * m_Run + std::clamp<std::int64_t>(tiles % round - place * m_Run, 0, m_Run);
}

std::int64_t
RankTeam::GetOwn(std::int64_t index) const
{
  const std::int64_t place = (m_Ranks ? m_Ranks->GetRank() : 0) - m_First;
  return (index / m_Run * m_Number + place) * m_Run + index % m_Run;
}

void
RankTeam::AddAll(int to, FixedPointSum & sum) const
{
  if (!Shares())
  {
    return;
  }
  if (m_Ranks->GetRank() != to)
  {
    return m_Ranks->Send(to, sum.GetData(), sum.GetBytes());
  }
  FixedPointSum other(sum.GetSize());
  for (int rank = m_First; rank < m_First + m_Number; ++rank)
  {
    if (rank != to)
    {
      m_Ranks->Receive(rank, other.GetData(), other.GetBytes());
      sum.Add(other);
    }
  }
}

void
RankTeam::Send(Ranks & ranks, int to, const LossSum & sum, const NetworkDescription & network)
{
  SendMessage(ranks, to, MakeMessage(sum, network));
}

void
RankTeam::Receive(Ranks & ranks, int from, LossSum & sum, const NetworkDescription & network)
{
  ExtractLossSum(ReceiveMessage(ranks, from, GetSizeOfLossSum(network)), network, sum);
}

void
RankTeam::Send(Ranks & ranks, int to, const LossGradient & sum, const NetworkDescription & network)
{
  std::vector<double> message = MakeMessage(sum, network);
  Append(sum.gradient, message, network.GetNumberOfParameters());
  SendMessage(ranks, to, message);
}

void
RankTeam::Receive(Ranks & ranks, int from, LossGradient & sum, const NetworkDescription & network)
{
  const std::size_t parameters = network.GetNumberOfParameters();
  const std::size_t begin = GetSizeOfLossSum(network);
  const auto        message = ReceiveMessage(ranks, from, begin + parameters);
  ExtractLossSum(message, network, sum);
  Extract(message, begin, parameters, sum.gradient);
}

void
RankTeam::Send(Ranks & ranks, int to, const Score & sum, const NetworkDescription & network)
{
  std::vector<double> message = MakeMessage(sum, network);
  for (const auto * counts : { &sum.both, &sum.predicted, &sum.actual })
  {
    Append(*counts, message, network.GetNumberOfClasses());
  }
  SendMessage(ranks, to, message);
}

void
RankTeam::Receive(Ranks & ranks, int from, Score & sum, const NetworkDescription & network)
{
  const std::size_t classes = network.GetNumberOfClasses();
  std::size_t       begin = GetSizeOfLossSum(network);
  const auto        message = ReceiveMessage(ranks, from, begin + 3 * classes);
  ExtractLossSum(message, network, sum);
  for (auto * counts : { &sum.both, &sum.predicted, &sum.actual })
  {
    Extract(message, begin, classes, *counts);
    begin += classes;
  }
}

void
RankTeam::Send(Ranks & ranks, int to, const std::vector<double> & sum, const NetworkDescription &)
{
  const std::uint64_t size = sum.size();
  ranks.Send(to, &size, sizeof(size));
  if (size > 0)
  {
    SendMessage(ranks, to, sum);
  }
}

void
RankTeam::Receive(Ranks & ranks, int from, std::vector<double> & sum, const NetworkDescription &)
{
  std::uint64_t size = 0;
  ranks.Receive(from, &size, sizeof(size));
  sum = size > 0 ? ReceiveMessage(ranks, from, size) : std::vector<double>();
}

} // namespace gigapixel
