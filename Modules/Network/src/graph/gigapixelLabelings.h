/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelLabelings_h
#define gigapixelLabelings_h

#include "gigapixelLabeling.h"

namespace gigapixel
{

/** \class PixelLabeling
 * \brief Each pixel has a label: networks that segment. Each function stands with what it is about, as those of
 * Executor do. */
class PixelLabeling : public Labeling
{
public:
  PixelLabeling();

  void                  Check(const NetworkDescription & network) const override;
  Size                  GetSize(const Size & image) const override;
  std::string           GetMask(const std::string & file) const override;
  Diagnostic            DescribeMissing(const NetworkDescription & network,
                                        const std::string &        classes,
                                        bool                       ofValidation) const override;
  std::optional<bool>   FindTissue(const std::vector<Sample> & training) const override;
  const ObjectiveKind & GetKind(const NetworkDescription & network) const override;
  void                  AddProbabilities(const NetworkDescription & network,
                                         const TilePasses &         tiles,
                                         TileData &                 data,
                                         Score &                    sum) const override;
  double                GetScore(const NetworkDescription &  network,
                                 const std::vector<Sample> & validation,
                                 const std::vector<Score> &  scores,
                                 const Score &               total) const override;
  int                   FindTiled(const GraphGeometry & geometry) const override;
  std::vector<int>      FindKept(const GraphGeometry & geometry) const override;
  void                  Predict(StreamedNetwork & streamed, PixelSource & pixels) const override;
  void                  PadToMultiple(NetworkGraph & graph, std::int64_t multiple) const override;
};

/** \class ImageLabeling
 * \brief The whole image has a label, or another truth: networks that classify. */
class ImageLabeling : public Labeling
{
public:
  ImageLabeling();

  void                  Check(const NetworkDescription & network) const override;
  Size                  GetSize(const Size & image) const override;
  std::string           GetMask(const std::string & file) const override;
  Diagnostic            DescribeMissing(const NetworkDescription & network,
                                        const std::string &        classes,
                                        bool                       ofValidation) const override;
  std::optional<bool>   FindTissue(const std::vector<Sample> & training) const override;
  const ObjectiveKind & GetKind(const NetworkDescription & network) const override;
  void                  AddProbabilities(const NetworkDescription & network,
                                         const TilePasses &         tiles,
                                         TileData &                 data,
                                         Score &                    sum) const override;
  double                GetScore(const NetworkDescription &  network,
                                 const std::vector<Sample> & validation,
                                 const std::vector<Score> &  scores,
                                 const Score &               total) const override;
  int                   FindTiled(const GraphGeometry & geometry) const override;
  std::vector<int>      FindKept(const GraphGeometry & geometry) const override;
  void                  Predict(StreamedNetwork & streamed, PixelSource & pixels) const override;
  void                  PadToMultiple(NetworkGraph & graph, std::int64_t multiple) const override;
};

} // namespace gigapixel

#endif
