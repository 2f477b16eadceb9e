/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelNetworkPresets_h
#define gigapixelNetworkPresets_h

#include "gigapixelNetworkDescription.h"

#include <functional>
#include <map>

namespace gigapixel
{

/** What of a preset can be chosen: a whole number, or one of some words. */
struct GigapixelNetwork_EXPORT PresetOption
{
  std::string              name;          ///< as a user writes it: depth
  std::string              description;   ///< one clause
  std::string              defaultValue;  ///< as a user would write it
  std::int64_t             least{ 0 };    ///< of a whole number
  std::int64_t             greatest{ 0 }; ///< of a whole number
  std::vector<std::string> words{};       ///< empty: a whole number

  /** "1 to 8", "batch or none" */
  std::string GetRange() const;
};

/** Values of a preset's options by their names, checked, with the defaults filled in. */
class GigapixelNetwork_EXPORT PresetValues
{
public:
  /** \param text "base=32,depth=3"; empty: all have their defaults
   * \throw std::invalid_argument says which options there are, or which values */
  PresetValues(const std::vector<PresetOption> & options, const std::string & text);

  int GetInteger(const std::string & name) const; ///< of an option that is a whole number

  const std::string & GetWord(const std::string & name) const; ///< of an option that is a word

private:
  std::map<std::string, std::string> m_Values;
};

/** \class NetworkPreset
 * \brief A network that is known by its name, with options: "unet", "unet:base=32,depth=3".
 *
 * Presets without options are the files of Modules/Network/networks, the others are built as graphs by a function. */
struct GigapixelNetwork_EXPORT NetworkPreset
{
  std::string                                                    name;         ///< as a user writes it: unet
  std::string                                                    summary;      ///< one sentence
  double                                                         learningRate; ///< of adam, from weights by chance
  std::vector<PresetOption>                                      options;      ///< in the order of the reference
  std::function<NetworkDescription(const PresetValues & values)> build;        ///< makes the network

  /** \param text name and options \throw std::invalid_argument names the text and says what is wrong with it */
  NetworkDescription Make(const std::string & text) const;

  static const std::vector<NetworkPreset> & GetAll(); ///< in the order of the reference

  /** By a name with or without options. \return null: there is none of this name */
  static const NetworkPreset * Find(const std::string & text);
};

/** The learning rate that a training of the network has unless another one is given: the description's own, as presets
 * have; of other graphs, of imported ones above all, one that few networks diverge at; of other chains of layers that
 * of remedios2023. */
GigapixelNetwork_EXPORT double GetDefaultLearningRate(const NetworkDescription & network);

} // namespace gigapixel

#endif
