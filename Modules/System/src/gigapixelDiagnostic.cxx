/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelDiagnostic.h"
#include "gigapixelPackedDiagnostic.h"

#include "gigapixelFileRefusal.h"
#include "gigapixelPlainMessage.h"

#include <algorithm>
#include <array>
#include <deque>
#include <filesystem>
#include <mutex>
#include <new>
#include <system_error>

namespace gigapixel
{
namespace
{

/** Refusals are caught soon after they are thrown. Warnings of a batch are shown at once. */
constexpr std::size_t rememberedLimit = 64;

std::mutex rememberedMutex;

std::deque<Diagnostic> &
GetRemembered()
{
  static std::deque<Diagnostic> & remembered = *new std::deque<Diagnostic>; // exceptions may outlive static objects
  return remembered;
}

bool
IsCode(const std::string & text)
{
  return text.size() > 3 && (text[0] == 'E' || text[0] == 'W') && text[1] == '-' &&
         text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") == std::string::npos;
}

/** Whether a clause was cut there. */
bool
EndsInEllipsis(const std::string & clause)
{
  return clause.size() >= 3 && clause.compare(clause.size() - 3, 3, "...") == 0;
}

/** A clause as it stands inside a sentence, without the stop at its end. */
std::string
WithoutStop(std::string clause)
{
  while (!clause.empty() && !EndsInEllipsis(clause) &&
         (clause.back() == '.' || clause.back() == ' ' || clause.back() == ';'))
  {
    clause.pop_back();
  }
  return clause;
}

/** "sentence. [E-CODE]" in its parts. Nothing where the text has no code at its end. */
std::optional<Diagnostic>
ParseText(const std::string & text)
{
  const std::size_t end = text.find_last_not_of(" \n\t");
  const std::size_t begin = end == std::string::npos ? end : text.rfind('[', end);
  if (begin == std::string::npos || text[end] != ']')
  {
    return std::nullopt;
  }
  const std::string code = text.substr(begin + 1, end - begin - 1);
  if (!IsCode(code))
  {
    return std::nullopt;
  }
  return Diagnostic(code, WithoutStop(text.substr(0, begin)));
}

Diagnostic
OfSystemError(const std::error_code & code, const std::string & why)
{
  if (code == std::errc::filename_too_long)
  {
    return { "E-FILE-NAME", "the name is too long for this file system", "choose a shorter one" };
  }
  if (code == std::errc::too_many_symbolic_link_levels)
  {
    return { "E-FILE-NAME", "the name leads in a circle of links", "name the file itself" };
  }
  const std::string remedy = GetFileRemedy(code);
  if (code == std::errc::no_such_file_or_directory)
  {
    return { "E-FILE-MISSING", why, remedy };
  }
  if (code == std::errc::no_space_on_device || code == std::errc::file_too_large)
  {
    return { "E-DISK-FULL", why, remedy };
  }
  return { "E-FILE-ACCESS", why, remedy };
}

/** Behind each field; none has it within. */
constexpr char EndOfField = '\0';

constexpr std::array<std::string Diagnostic::*, 6> Fields{ { &Diagnostic::code,
                                                             &Diagnostic::file,
                                                             &Diagnostic::option,
                                                             &Diagnostic::value,
                                                             &Diagnostic::why,
                                                             &Diagnostic::remedy } };

} // namespace

Diagnostic::Diagnostic(std::string stableCode, std::string reason, std::string nextStep)
  : code(std::move(stableCode))
  , why(WithoutStop(std::move(reason)))
  , remedy(WithoutStop(std::move(nextStep)))
{}

Diagnostic
Diagnostic::OfFile(std::string name) const
{
  Diagnostic copy = *this;
  copy.file = std::move(name);
  return copy;
}

Diagnostic
Diagnostic::OfOption(std::string name, std::string given) const
{
  Diagnostic copy = *this;
  copy.option = std::move(name);
  copy.value = std::move(given);
  return copy;
}

Diagnostic
Diagnostic::OfValue(std::string given) const
{
  Diagnostic copy = *this;
  copy.value = std::move(given);
  return copy;
}

std::string
Diagnostic::GetSentence() const
{
  std::string sentence;
  for (const std::string & subject : { file, option })
  {
    if (!subject.empty() && why.find(subject) == std::string::npos)
    {
      sentence += subject + ": ";
    }
  }
  sentence += why;
  if (!remedy.empty())
  {
    sentence += "; " + remedy;
  }
  const bool ends = !sentence.empty() && (sentence.back() == '?' || sentence.back() == '!' || EndsInEllipsis(sentence));
  return ends ? sentence : sentence + '.';
}

std::string
Diagnostic::GetText() const
{
  return GetSentence() + " [" + code + ']';
}

Diagnostic
Diagnostic::Of(const std::exception & error)
{
  if (const auto * const diagnosed = dynamic_cast<const Diagnosed *>(&error))
  {
    return diagnosed->GetDiagnostic();
  }
  if (dynamic_cast<const std::bad_alloc *>(&error) != nullptr)
  {
    return { "E-MEMORY", TooLittleMemory };
  }
  if (const auto * const ofFile = dynamic_cast<const std::filesystem::filesystem_error *>(&error))
  {
    return OfSystemError(ofFile->code(), ofFile->code().message()).OfFile(ofFile->path1().string());
  }
  if (const auto * const ofSystem = dynamic_cast<const std::system_error *>(&error))
  {
    return OfSystemError(ofSystem->code(), ofSystem->what());
  }
  return OfText(CleanMessage(error.what()), "E-OTHER");
}

Diagnostic
Diagnostic::OfText(const std::string & text, const std::string & otherwise)
{
  {
    const std::lock_guard<std::mutex> lock(rememberedMutex);
    const auto &                      remembered = GetRemembered();
    const auto found = std::find_if(remembered.rbegin(), remembered.rend(), [&text](const Diagnostic & each) {
      return text.find(each.GetText()) != std::string::npos;
    });
    if (found != remembered.rend())
    {
      return *found;
    }
  }
  const std::optional<Diagnostic> parsed = ParseText(text);
  return parsed ? *parsed : Diagnostic(otherwise, text == "std::bad_alloc" ? TooLittleMemory : text);
}

std::string
Remember(const Diagnostic & diagnostic)
{
  const std::lock_guard<std::mutex> lock(rememberedMutex);
  auto &                            remembered = GetRemembered();
  remembered.push_back(diagnostic);
  if (remembered.size() > rememberedLimit)
  {
    remembered.pop_front();
  }
  return diagnostic.GetText();
}

std::string
PackDiagnostic(const Diagnostic & diagnostic)
{
  std::string text;
  for (const auto field : Fields)
  {
    std::string part = diagnostic.*field;
    part.erase(std::remove(part.begin(), part.end(), EndOfField), part.end());
    text += part + EndOfField;
  }
  return diagnostic.IsEmpty() ? std::string() : text;
}

Diagnostic
UnpackDiagnostic(const std::string & text, const std::string & otherwise)
{
  if (std::count(text.begin(), text.end(), EndOfField) != static_cast<std::ptrdiff_t>(Fields.size()) ||
      text.back() != EndOfField)
  {
    return Diagnostic::OfText(text, otherwise);
  }
  Diagnostic  diagnostic;
  std::size_t begin = 0;
  for (const auto field : Fields)
  {
    const std::size_t end = text.find(EndOfField, begin);
    diagnostic.*field = text.substr(begin, end - begin);
    begin = end + 1;
  }
  return diagnostic;
}

Diagnosed::Diagnosed(Diagnostic diagnostic)
  : m_Diagnostic(std::move(diagnostic))
{}

Diagnosed::~Diagnosed() = default;

} // namespace gigapixel
