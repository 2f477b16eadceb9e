/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelTableReader_h
#define gigapixelTableReader_h

#include "GigapixelCohortExport.h"

#include <string>
#include <vector>

namespace gigapixel
{

/** \class TableReader
 * \brief Reads a table from a CSV file (RFC 4180), row by row.
 *
 * Quoted fields may hold commas, line breaks and doubled quotes; white space around others is none of theirs. A byte
 * order mark, carriage returns and empty lines are skipped. The first line names the columns. */
class GigapixelCohort_EXPORT TableReader
{
public:
  struct Row
  {
    std::vector<std::string> fields;
    int                      line{ 0 }; ///< of the file, from 1, on which it begins
  };

  /** Takes in the whole file, of at most 64 MiB, and reads its first line.
   * \throw std::runtime_error names the file: there is none, it is no text, no table, or a quote is wrong */
  explicit TableReader(const std::string & fileName);

  /** The columns' names; none, if the file is empty. */
  const Row &
  GetHeader() const
  {
    return m_Header;
  }

  /** The number of a column, from 0; -1: there is none of this name. */
  int FindColumn(const std::string & name) const;

  /** \return false behind the last row
   * \throw std::runtime_error names file and line: there are not as many fields as columns, or a quote is wrong */
  bool Next(Row & row);

  /** \throw std::runtime_error "FILE, line N: reason", as ToMessage() shows a reason */
  [[noreturn]] void Fail(int line, const std::string & reason) const;

  /** The same for who does not have the reader at hand. */
  [[noreturn]] static void Fail(const std::string & file, int line, const std::string & reason);

private:
  bool        Take(char expected);
  bool        ReadRow(Row & row);
  std::string ReadField();
  std::string ReadQuoted();
  void        EndLine();

  std::string m_File;
  std::string m_Text;
  std::size_t m_At{ 0 };
  int         m_Line{ 1 };
  Row         m_Header;
};

/** A sentence in one line of at most a thousand bytes, and without what a terminal would obey: fields may hold any
 * bytes, and as many as the table. */
GigapixelCohort_EXPORT std::string ToMessage(const std::string & sentence);

/** A text as a field of a table: in quotes where it holds commas, quotes or line breaks. */
GigapixelCohort_EXPORT std::string ToField(const std::string & text);

} // namespace gigapixel

#endif
