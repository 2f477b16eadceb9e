/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef HDF5File_h
#define HDF5File_h

#include "GigapixelApplicationExport.h"

#include "gigapixelAtomicFile.h"

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace gigapixel::application
{

/** \class HDF5Writer
 * \brief Arrays that grow row by row, into an HDF5 file that appears when it is complete.
 *
 * Of the format (HDF5 File Format Specification, version 3.0) the little that this takes, which HDF5 reads since 1.8
 * (2008): one group, each array in one piece, attributes of numbers and text. That is fewer lines than a library would
 * want for being found in all builds; and the library writes to a name, where we need the file to take its name last.
 * The same content gives the same bytes. */
class GigapixelApplication_EXPORT HDF5Writer
{
public:
  enum class Type
  {
    Float32,
    Int64
  };

  using Value = std::variant<std::int64_t, double, std::string>;
  using Attributes = std::vector<std::pair<std::string, Value>>;

  /** \param mayReplace see AtomicFile */
  HDF5Writer(const std::string & target, bool mayReplace);

  /** What is appended from now on belongs to this array.
   * \param columns values in a row; 0: there is one axis only, rows are values */
  void BeginArray(const std::string & name, Type type, std::uint64_t columns, Attributes attributes = {});

  void Append(const std::vector<float> & values);
  void Append(const std::vector<std::int64_t> & values);

  /** \param attributes of the whole file */
  void Commit(const Attributes & attributes);

private:
  struct Array
  {
    std::string   name;
    Type          type;
    std::uint64_t columns;
    Attributes    attributes;
    std::uint64_t offset;
    std::uint64_t values{ 0 };
  };

  std::uint64_t AppendHeader(const std::string & messages);

  AtomicFile         m_File;
  std::vector<Array> m_Arrays;
};

/** An attribute of a whole file that HDF5Writer has written, a text.
 * \return empty: it is none of these files, or it was cut off, or it has no such attribute */
GigapixelApplication_EXPORT std::string ReadHDF5Text(const std::string & file, const std::string & attribute);

} // namespace gigapixel::application

#endif
