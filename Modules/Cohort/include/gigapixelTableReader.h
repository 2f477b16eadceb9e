/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelTableReader_h
#define gigapixelTableReader_h

#include "GigapixelCohortExport.h"
#include "gigapixelDiagnostic.h"

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
  /** One row below the header. */
  struct Row
  {
    std::vector<std::string> fields;    ///< in the order of the columns, without quotes
    int                      line{ 0 }; ///< of the file, from 1, on which it begins
  };

  /** Takes in the whole file, of at most 64 MiB, and reads its first line.
   * \param code of what is wrong with the table
   * \throw Refusal there is no such file, it is no text, no table, or a quote is wrong */
  explicit TableReader(const std::string & fileName, const std::string & code = "E-COHORT-FORMAT");

  /** The name that the table was opened with. */
  const std::string &
  GetFile() const
  {
    return m_File;
  }

  /** The columns' names; none, if the file is empty. */
  const Row &
  GetHeader() const
  {
    return m_Header;
  }

  /** The number of a column, from 0; -1: there is none of this name. */
  int FindColumn(const std::string & name) const;

  /** \return false behind the last row
   * \throw Refusal there are not as many fields as columns, or a quote is wrong */
  bool Next(Row & row);

  /** \throw Refusal of the reader's code: "FILE: line N: reason; remedy", as ToMessage() shows them. The file and the
   * line are its fields `file` and `value`. */
  [[noreturn]] void Fail(int line, const std::string & reason, const std::string & remedy = {}) const;

  /** The same without the reader. \param problem its code, reason and remedy */
  [[noreturn]] static void Fail(const std::string & file, int line, const Diagnostic & problem);

private:
  bool        Take(char expected);
  bool        ReadRow(Row & row);
  std::string ReadField();
  std::string ReadQuoted();
  void        EndLine();

  std::string m_File;
  std::string m_Code;
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
