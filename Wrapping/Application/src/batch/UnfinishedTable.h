/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef UnfinishedTable_h
#define UnfinishedTable_h

#include "GigapixelApplicationExport.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace gigapixel::application
{

/** \class UnfinishedTable
 * \brief What classify or measure has said of slides or masks before all are done, so that a batch that was interrupted
 * goes on where it was: a hidden file beside the table, .TABLE.unfinished, which goes when the table is complete.
 *
 * A line of JSON for each of them; one that was cut off when the program was killed is passed over. Ranks share the
 * file. Memory does not grow with what was said: it stays in the file. */
class GigapixelApplication_EXPORT UnfinishedTable
{
public:
  using Json = nlohmann::ordered_json;

  /** Reads what there is. \param keeps whether anything is written: of one slide without a map, or
   * one mask, there is nothing to go on with */
  UnfinishedTable(const std::string & table, bool keeps);

  /** What was said in this way, by this process or another one; nothing: it was not. */
  std::optional<Json> Find(const std::string & madeBy);

  /** Whether anything was said. */
  bool
  HasAny() const
  {
    return !m_Places.empty() || m_HasAdded;
  }

  /** Whether it was announced: then it is our own, complete or not. */
  bool
  HasMap(const std::string & file) const
  {
    return m_Maps.count(file) > 0;
  }

  /** A map that will be written. */
  void Announce(const std::string & map);

  void Add(const std::string & madeBy, const Json & said);

  /** The table is complete. */
  void Remove() const;

private:
  void ReadLines();
  void Append(const Json & line) const;

  const std::string                    m_File;
  const bool                           m_Keeps;
  std::uint64_t                        m_Read{ 0 }; ///< bytes of the file
  std::map<std::string, std::uint64_t> m_Places;    ///< of lines in the file, by how it was made
  std::map<std::string, Json>          m_Own;       ///< where nothing is written
  std::set<std::string>                m_Maps;
  bool                                 m_HasAdded{ false };
};

} // namespace gigapixel::application

#endif
