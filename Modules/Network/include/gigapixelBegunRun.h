/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelBegunRun_h
#define gigapixelBegunRun_h

#include "gigapixelNetworkDescription.h"
#include "gigapixelTrainer.h"

#include <optional>
#include <string>

namespace gigapixel
{

/** What a run began with, and need not be told again when it goes on. */
struct GigapixelNetwork_EXPORT BegunRun
{
  NetworkDescription network;   ///< with its loss
  std::string        precision; ///< see Device::Find()
  /** The options that decide on its bits, see DecidesOnBits(); freeze has the arrays that were frozen. All others, the
   * device among them, have their defaults. */
  TrainingOptions options;
  /** An earlier version wrote its network, and took probabilities at the end for logits: its losses are others now. */
  bool hasOtherOutput{ false };

  /** None: the folder holds no run that could go on. \param ranks of which the first one looks, and tells all others;
   * null: this process alone \throw std::runtime_error its checkpoint, of which the texts alone
   * are read, tells none, and how to go on */
  static std::optional<BegunRun> Find(const std::string & folder, Ranks * ranks = nullptr);
};

} // namespace gigapixel

#endif
