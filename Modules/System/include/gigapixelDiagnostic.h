/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelDiagnostic_h
#define gigapixelDiagnostic_h

#include "GigapixelSystemExport.h"

#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace gigapixel
{

/** One refusal or warning in the fields that programs and tests rely on: a stable code, what it is about (file, option,
 * value), why, and what to do. The wording of \a why and \a remedy may change between versions; the other fields do
 * not.
 *
 * \code
 * throw Refusal(Diagnostic("E-TIFF-CODEC", "its compression, JPEG XL, is not decoded", "convert it with
 * vips").OfFile(path)); \endcode
 *
 * What the codes mean is in one table, GetCodes(). */
struct GigapixelSystem_EXPORT Diagnostic
{
  Diagnostic() = default;

  /** \param why a clause without the file's name and without a full stop
   * \param remedy the next step as an imperative clause without a full stop; empty where \a why says it */
  Diagnostic(std::string code, std::string why, std::string remedy = {});

  Diagnostic OfFile(std::string name) const; ///< the same, about this file

  /** \param name as the user writes it, such as "--tile-size" or "SLIDE" */
  Diagnostic OfOption(std::string name, std::string given = {}) const;

  Diagnostic OfValue(std::string given) const; ///< the same, about this value

  /** Whether there is nothing to say. */
  bool
  IsEmpty() const
  {
    return code.empty();
  }

  /** "FILE: why; remedy." The file and the option are left out where \a why names them. */
  std::string GetSentence() const;

  /** GetSentence() and the code: "FILE: why; remedy. [E-CODE]". This is what() of a Refusal and the text of a warning.
   */
  std::string GetText() const;

  /** The fields of an exception. Exceptions of other libraries get the code of their kind; a text that came through
   * ITK's threads or another process is recognized by its end, "[E-CODE]". */
  static Diagnostic Of(const std::exception & error);

  /** The fields of a text that GetText() made, even where a library put its own words around it. Text without a code
   * becomes \a why of a diagnostic with the code \a otherwise. */
  static Diagnostic OfText(const std::string & text, const std::string & otherwise);

  std::string code;   ///< "E-..." or "W-..."
  std::string file;   ///< path; empty: about no file
  std::string option; ///< as the user writes it: "--tile-size"; empty: about none
  std::string value;  ///< what was given; empty: nothing
  std::string why;    ///< a clause without a full stop
  std::string remedy; ///< the next step, as an imperative clause
};

/** Keeps a diagnostic, so that Diagnostic::OfText() finds all its fields where only its text gets through.
 * \return GetText() */
GigapixelSystem_EXPORT std::string Remember(const Diagnostic & diagnostic);

/** What exceptions with a Diagnostic have in common, whatever else they are. */
class GigapixelSystem_EXPORT Diagnosed
{
public:
  explicit Diagnosed(Diagnostic diagnostic); ///< its fields are kept
  Diagnosed(const Diagnosed &) = default;
  Diagnosed & operator=(const Diagnosed &) = default;
  virtual ~Diagnosed();

  /** The fields that what() is made of. */
  const Diagnostic &
  GetDiagnostic() const noexcept
  {
    return m_Diagnostic;
  }

private:
  Diagnostic m_Diagnostic;
};

/** An exception of the given type with a Diagnostic. Its what() is Diagnostic::GetText(). */
template <typename TException>
class RefusalOf
  : public TException
  , public Diagnosed
{
public:
  /** \param diagnostic its text becomes what() */
  explicit RefusalOf(const Diagnostic & diagnostic)
    : TException(Remember(diagnostic))
    , Diagnosed(diagnostic)
  {}
};

/** Something that was read, found or asked for does not allow the work. */
using Refusal = RefusalOf<std::runtime_error>;

/** An argument of a function or an option has a value that it cannot have. */
using InvalidArgument = RefusalOf<std::invalid_argument>;

/** One row of the table of codes. */
struct CodeEntry
{
  const char * code;       ///< "E-..." or "W-..."
  const char * meaning;    ///< one sentence
  const char * remedy;     ///< one or two sentences
  const char * wrong = ""; ///< what gives the code: lines of a shell with the program, else an input in a few words
  const char * right = ""; ///< the same without the fault
};

/** All codes, errors first, in alphabetical order. */
GigapixelSystem_EXPORT const std::vector<CodeEntry> & GetCodes();

/** The reference page of all codes, in Markdown. */
GigapixelSystem_EXPORT std::string DescribeCodes();

} // namespace gigapixel

#endif
