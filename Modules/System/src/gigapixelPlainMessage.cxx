/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelPlainMessage.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

namespace gigapixel
{
namespace
{

bool
BeginsAt(const std::string & text, std::size_t place, const std::string & word)
{
  return text.compare(place, word.size(), word) == 0;
}

/** Where the characters end, from here on and at most so many, that the function takes. */
template <typename TFunction>
std::size_t
SkipWhile(const std::string & text, std::size_t place, std::size_t most, const TFunction & takes)
{
  const std::size_t end = std::min(text.size(), place + most);
  while (place < end && takes(static_cast<unsigned char>(text[place])))
  {
    ++place;
  }
  return place;
}

/** Where the sentence begins behind "ITK ERROR: Class(0x1): " or "WARNING: In file, line 1\nClass (0x1): " at this
 * place; the place itself: there is neither. */
std::size_t
SkipOrigin(const std::string & message, std::size_t place)
{
  constexpr std::size_t longest = 5000; // of a file's name; a class has a shorter one
  const std::string     warning = "WARNING: In ";
  std::size_t           next = place;
  if (BeginsAt(message, place, warning))
  {
    next = SkipWhile(message, place + warning.size(), longest, [](unsigned char c) { return c != '\n'; }) + 1;
  }
  for (const char * const error : { "ITK ERROR: ", "itk::ERROR: " })
  {
    next = BeginsAt(message, place, error) ? place + std::string(error).size() : next;
  }
  if (next == place || next > message.size())
  {
    return place;
  }
  const std::string signs = "_:<>, ";
  const auto        isOfClass = [&signs](unsigned char c) {
    return std::isalnum(c) || signs.find(static_cast<char>(c)) != std::string::npos;
  };
  const std::string address = "(0x";
  next = SkipWhile(message, next, longest / 10, isOfClass);
  if (!BeginsAt(message, next, address))
  {
    return place;
  }
  next = SkipWhile(message, next + address.size(), longest, [](unsigned char c) { return std::isxdigit(c); });
  const std::string end = "): ";
  return BeginsAt(message, next, end) ? next + end.size() : place;
}

/** Where "file:1:\n" begins, which ends at this place; the place itself: there is none. */
std::size_t
FindFileAndLine(const std::string & message, std::size_t first, std::size_t place)
{
  const std::string end = ":\n";
  if (place < first + end.size() || !BeginsAt(message, place - end.size(), end))
  {
    return place;
  }
  std::size_t       begin = place - end.size();
  const std::size_t digitsEnd = begin;
  while (begin > first && std::isdigit(static_cast<unsigned char>(message[begin - 1])))
  {
    --begin;
  }
  if (begin == digitsEnd || begin == first || message[begin - 1] != ':')
  {
    return place;
  }
  const std::size_t file = --begin;
  while (begin > first && !std::isspace(static_cast<unsigned char>(message[begin - 1])))
  {
    --begin;
  }
  return begin < file ? begin : place;
}

} // namespace

std::string
CleanMessage(const std::string & message)
{
  // "WARNING: In file, line 1\nClass (0x1): sentence\n\n", "file:1:\nITK ERROR: Class(0x1): sentence". No regular
  // expressions: those of libstdc++ take a part of the stack for each character, and a message may repeat a file's
  // text.
  std::string sentence;
  std::size_t first = 0; // of what is not yet in the sentence
  for (std::size_t i = 0; i < message.size(); ++i)
  {
    const bool        mayBegin = message[i] == 'W' || message[i] == 'I' || message[i] == 'i';
    const std::size_t next = mayBegin ? SkipOrigin(message, i) : i;
    if (next > i)
    {
      sentence.append(message, first, FindFileAndLine(message, first, i) - first);
      first = next;
      i = next - 1;
    }
  }
  sentence.append(message, first);
  for (const std::string kind : { "WARNING: ", "Read: Error ", "ReadImageInformation: Error " })
  {
    if (BeginsAt(sentence, 0, kind))
    {
      sentence.erase(0, kind.find(": ") + 2);
      break;
    }
  }
  const std::string library = "[nrrd] ";
  const std::size_t outermost = sentence.find(library);
  const std::size_t reason = outermost == std::string::npos ? outermost : sentence.find(": ", sentence.rfind(library));
  if (reason != std::string::npos)
  {
    sentence = sentence.substr(0, outermost) + sentence.substr(reason + 2);
  }
  std::replace(sentence.begin(), sentence.end(), '\n', ' ');
  const std::size_t last = sentence.find_last_not_of(' ');
  return last == std::string::npos ? std::string()
                                   : sentence.substr(0, last + 1).erase(0, sentence.find_first_not_of(' '));
}

} // namespace gigapixel
