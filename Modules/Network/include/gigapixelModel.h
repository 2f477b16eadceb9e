/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelModel_h
#define gigapixelModel_h

#include "gigapixelNetworkDescription.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gigapixel
{

/** One named array of float weights. */
struct Parameter
{
  std::vector<std::int64_t> shape;  ///< PyTorch's layout
  std::vector<float>        values; ///< the last axis fastest
};

/** \class Model
 * \brief A network with its weights and what is needed to use them on another slide.
 *
 * On disk: a safetensors file (weights; no code can hide in it) whose "__metadata__" holds the network's JSON and the
 * fields below, so that one file is a whole model. */
struct GigapixelNetwork_EXPORT Model
{
  NetworkDescription               network;              ///< with the names of its classes
  std::map<std::string, Parameter> parameters;           ///< those of NetworkDescription::GetParameters()
  double                           micronsPerPixel{ 0 }; ///< of the pixels it was trained on; 0: unknown
  std::int64_t                     tileSize{ 2048 };     ///< side of a tile's core in pixels, multiple of the stride
  /** For a network that labels images: whether a mask told which pixels it was trained on. Unknown of weights that were
   * not trained here. */
  std::optional<bool> tissueOnly;
  /** Names of the channels of slides that it was trained on, in the network's order, and the window that made 8 bit of
   * them ("LOW,HIGH" or "auto"; empty: none). None: slides as they are. */
  std::vector<std::string> channels{};
  std::string              window{}; ///< see channels
  std::string              plane{};  ///< focal plane that was chosen: a number, "middle", "max" or "focus"; empty: none

  /** A ready model by its name (see GetNames()), a model file, or a training run's folder (its best weights). A folder
   * that has the name of a ready model is loaded as "./name".
   * \throw std::runtime_error with one sentence that names the file and what is wrong with it. */
  static Model Load(const std::string & nameOrPath);

  /** Models that come with the library; each has its card, Modules/Network/models/NAME.md. */
  static std::vector<std::string> GetNames();

  /** Whether it is one of these names. */
  static bool IsReady(const std::string & name);

  /** A number, in hexadecimal, of what it computes with: other weights or another network, another number. */
  std::string GetIdentity() const;

  /** A sentence about weights that can be used, but hardly are what was meant: the last ones are all 0, so that the
   * result is the same at every pixel. Empty: nothing is to be said. */
  std::string GetWarning() const;

  /** Appears by atomic rename. \param mayReplace else a file of this name is not replaced, even one that came there
   * just now
   */
  void Save(const std::string & path, bool mayReplace = true) const;
};

} // namespace gigapixel

#endif
