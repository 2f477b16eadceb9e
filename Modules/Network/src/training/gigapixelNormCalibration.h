/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelNormCalibration_h
#define gigapixelNormCalibration_h

#include "gigapixelRanks.h"
#include "execute/gigapixelStreamedNetwork.h"
#include "gigapixelTrainer.h"

namespace gigapixel
{

/** \class NormCalibration
 * \brief Gives batch norms, whose statistics training keeps, those of the maps that they get of a cohort.
 *
 * Of each channel the mean, and the mean of the squared differences to it, over all pixels of all images together
 * (where an image knows of tissue, over those that tissue belongs to), of one norm after the other: each gets what
 * those before it have made with their new statistics. So the network makes of these images what PyTorch's makes in
 * training mode of one batch that holds them all, whose running_mean with momentum None is this mean, and whose
 * running_var is this variance times n / (n - 1) of n pixels. Each norm is a pass over all images, tile by tile; sums
 * are in double, the same bits for any number of threads and ranks. */
class GigapixelNetwork_EXPORT NormCalibration
{
public:
  /** \param network with arrays that are kept (NetworkGraph::IsKept()): norms with such stay as they are
   * \throw std::invalid_argument it has no batch norms */
  explicit NormCalibration(const NetworkDescription & network);

  /** How images are gone over; see StreamedNetwork. Statistics are exact to floats at least, whatever a device would
   * compute steps in. */
  void SetTiles(std::int64_t tileSize, int tilesInFlight, const Device & device);

  /** \param images are shared out among the ranks, which all have the same parameters in the end
   * \param parameters of the network, in which those of the norms are replaced
   * \param report is called with an image that is being looked at; returning false stops
   * \return false if it was stopped */
  bool Run(const std::vector<const Sample *> &         images,
           Ranks &                                     ranks,
           std::vector<double> &                       parameters,
           const std::function<bool(const Sample &)> & report) const;

private:
  NetworkDescription  CutBefore(int norm) const;
  std::vector<double> GetParameters(const NetworkDescription & cut, const std::vector<double> & all) const;

  const NetworkDescription           m_Network;
  std::vector<int>                   m_Norms;  ///< operations
  std::map<std::string, std::size_t> m_Places; ///< of the parameters
  std::int64_t                       m_TileSize{ WholeImage };
  int                                m_TilesInFlight{ 1 };
  Device                             m_Device;
};

} // namespace gigapixel

#endif
