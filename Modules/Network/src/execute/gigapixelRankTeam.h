/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelRankTeam_h
#define gigapixelRankTeam_h

#include "gigapixelRanks.h"
#include "gigapixelFixedPointSum.h"
#include "gigapixelNetworkDescription.h"
#include "objective/gigapixelScore.h"

namespace gigapixel
{

/** \class RankTeam
 * \brief The ranks that share the tiles of one image, and what each of them does.
 *
 * Tiles are dealt in short runs, round and round. The losses go from rank to rank with the runs: each rank adds its
 * tiles to what the ones before have come to. So tiles are added in their order, as one process adds them. Gradients
 * have the same bits in any order, and are added in the end: see AddAll(). */
class GigapixelNetwork_EXPORT RankTeam
{
public:
  /** One process. */
  RankTeam() = default;

  /** That for image number `image` of `images` that are worked on at the same time: the images are dealt to the ranks,
   * or, where there are more ranks than images, the ranks to the images.
   * \param run tiles; about as many as a rank computes at the same time, the same number on all ranks */
  RankTeam(Ranks & ranks, int image, int images, int run);

  bool Contains(int rank) const;

  /** Whether this process is one of the team. */
  bool
  ContainsThis() const
  {
    return Contains(m_Ranks ? m_Ranks->GetRank() : 0);
  }

  bool
  IsThis(int rank) const
  {
    return rank == (m_Ranks ? m_Ranks->GetRank() : 0);
  }

  int
  GetFirstRank() const
  {
    return m_First;
  }

  /** Whether it has several ranks. */
  bool
  Shares() const
  {
    return m_Number > 1;
  }

  /** Who computes the tile. */
  int GetRankOf(std::int64_t tile) const;

  /** How many of the tiles this rank computes. */
  std::int64_t GetNumberOfOwn(std::int64_t tiles) const;

  /** The tile that is the index-th one of this rank. */
  std::int64_t GetOwn(std::int64_t index) const;

  /** To be called before the tile is added: takes over the sum where a run begins. */
  template <typename TSum>
  void
  TakeOver(std::int64_t tile, TSum & sum, const NetworkDescription & network) const
  {
    if (Shares() && tile > 0 && tile % m_Run == 0)
    {
      Receive(*m_Ranks, GetRankOf(tile - 1), sum, network);
    }
  }

  /** To be called after the tile is added: hands the sum over where a run ends. */
  template <typename TSum>
  void
  HandOver(std::int64_t tile, std::int64_t tiles, const TSum & sum, const NetworkDescription & network) const
  {
    ReportProgress();
    if (Shares() && tile + 1 < tiles && (tile + 1) % m_Run == 0)
    {
      Send(*m_Ranks, GetRankOf(tile + 1), sum, network);
    }
  }

  /** Says that this rank works. */
  void
  ReportProgress() const
  {
    if (m_Ranks)
    {
      m_Ranks->ReportProgress();
    }
  }

  /** To be called by all ranks of the team: the sum of rank `from` for all. */
  template <typename TSum>
  void
  ShareSum(int from, TSum & sum, const NetworkDescription & network) const
  {
    const int own = m_Ranks ? m_Ranks->GetRank() : 0;
    if (own != from)
    {
      return Receive(*m_Ranks, from, sum, network);
    }
    for (int rank = m_First; rank < m_First + m_Number; ++rank)
    {
      if (rank != from)
      {
        Send(*m_Ranks, rank, sum, network);
      }
    }
  }

  /** To be called by all ranks of the team: rank `to` adds what the others have. */
  void AddAll(int to, FixedPointSum & sum) const;

  /** Sums as messages; both sides know the network. */
  static void Send(Ranks & ranks, int to, const LossSum & sum, const NetworkDescription & network);
  static void Receive(Ranks & ranks, int from, LossSum & sum, const NetworkDescription & network);
  static void Send(Ranks & ranks, int to, const LossGradient & sum, const NetworkDescription & network);
  static void Send(Ranks & ranks, int to, const Score & sum, const NetworkDescription & network);
  static void Receive(Ranks & ranks, int from, LossGradient & sum, const NetworkDescription & network);
  static void Receive(Ranks & ranks, int from, Score & sum, const NetworkDescription & network);

  /** Numbers, of whatever length. */
  static void Send(Ranks & ranks, int to, const std::vector<double> & sum, const NetworkDescription & network);
  static void Receive(Ranks & ranks, int from, std::vector<double> & sum, const NetworkDescription & network);

private:
  Ranks *      m_Ranks{ nullptr };
  int          m_First{ 0 };
  int          m_Number{ 1 };
  std::int64_t m_Run{ 1 };
};

} // namespace gigapixel

#endif
