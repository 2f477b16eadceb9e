/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelArgumentValues_h
#define gigapixelArgumentValues_h

#include "gigapixelArgument.h"

#include "gigapixelDiagnostic.h"

#include <array>
#include <cstdint>
#include <map>
#include <stdexcept>

namespace gigapixel::application
{

/** A wrong command line: exit code 2. It names the argument and says what would be right. */
class GigapixelApplication_EXPORT UsageError : public Refusal
{
public:
  using Refusal::Refusal;
  ~UsageError() override;
};

/** \class ArgumentValues
 * \brief What the user gave for a command, checked against its definition, with the defaults filled in.
 *
 * Asking for an argument that the command's table does not have is a mistake of ours: std::logic_error. */
class GigapixelApplication_EXPORT ArgumentValues
{
public:
  /** \param words without the program's and the command's name
   * \throw UsageError */
  static ArgumentValues Parse(const Command & command, const std::vector<std::string> & words);

  const Command &
  GetCommand() const
  {
    return *m_Command;
  }

  /** Whether there is a value: given by the user, or a default. For a switch: whether it is on. */
  bool Has(const std::string & name) const;

  /** Whether the user gave it. */
  bool IsGiven(const std::string & name) const;

  /** \name The value: without one an empty text, 0, or none. @{ */
  const std::string & GetText(const std::string & name) const;

  const std::vector<std::string> & GetTexts(const std::string & name) const;

  double GetNumber(const std::string & name) const;

  /** \return of the words that may stand in its place -1 the first, -2 the second and so on */
  std::int64_t GetInteger(const std::string & name) const;

  std::vector<double> GetNumbers(const std::string & name) const;

  /** Bytes. */
  std::int64_t GetMemory(const std::string & name) const;

  /** Width and height. */
  std::array<std::int64_t, 2> GetExtent(const std::string & name) const;

  /** Width, height, and depth where it is given, else 0. */
  std::array<std::int64_t, 3> GetBox(const std::string & name) const;

  /** x, y, width, height. */
  std::array<std::int64_t, 4> GetRegion(const std::string & name) const;
  /** @} */

  /** The same with another value of an argument. \throw UsageError */
  ArgumentValues With(const std::string & name, const std::string & value) const;

  /** All that the user gave and that decides on results, which threads, memory and the like do not: for comparing. */
  std::string Describe() const;

private:
  explicit ArgumentValues(const Command & command);

  const Argument & GetArgument(const std::string & name) const;

  void Add(const Argument & argument, const std::string & value);

  void CheckCompleteness() const;

  const Command *                                 m_Command;
  std::map<std::string, std::vector<std::string>> m_Given;
  std::map<std::string, std::vector<std::string>> m_Defaults;
};

/** Refuses options that have no meaning for what the command was given: by default, for what is no slide. \param reason
 * a clause that says why \param first \param last of the scopes that are refused \throw UsageError one is given */
GigapixelApplication_EXPORT void RefuseOptions(const ArgumentValues & values,
                                               const std::string &    reason,
                                               OptionScope            first = OptionScope::Slides,
                                               OptionScope            last = OptionScope::SlideFiles);

/** The same of these options. \param remedy what to do in their place */
GigapixelApplication_EXPORT void RefuseOptions(const ArgumentValues &           values,
                                               const std::vector<std::string> & names,
                                               const std::string &              reason,
                                               const std::string &              remedy = "leave it out");

/** Bytes of "2G", "512M", "1.5G", "800k" or plain bytes; powers of 1024. \throw UsageError naming the argument */
GigapixelApplication_EXPORT std::int64_t ParseMemory(const std::string & argumentName, const std::string & text);

} // namespace gigapixel::application

#endif
