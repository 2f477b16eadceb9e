/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelPixelHeader.h"
#include "gigapixelVolumeFormat.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <locale>
#include <map>
#include <set>
#include <sstream>

namespace gigapixel
{
namespace
{
namespace fs = std::filesystem;

std::vector<std::string>
SplitWords(const std::string & text)
{
  std::istringstream       stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;)
  {
    words.push_back(word);
  }
  return words;
}

std::vector<double>
ReadNumbers(std::string text)
{
  std::replace(text.begin(), text.end(), ',', ' ');
  std::vector<double> numbers;
  for (const std::string & word : SplitWords(text))
  {
    std::istringstream stream(word);
    stream.imbue(std::locale::classic());
    double number = std::nan("");
    stream >> number;
    numbers.push_back(stream.fail() ? std::nan("") : number); // "nan" among them
  }
  return numbers;
}

/** "(1,0,0) none (0,0,2)": nothing for what is none. */
std::vector<std::vector<double>>
ReadVectors(const std::string & text)
{
  std::vector<std::vector<double>> vectors;
  for (std::size_t at = 0; (at = text.find_first_not_of(" \t", at)) != std::string::npos;)
  {
    const bool        isVector = text[at] == '(';
    const std::size_t end = std::min(text.find_first_of(isVector ? ")" : " \t", at), text.size());
    vectors.push_back(isVector ? ReadNumbers(text.substr(at + 1, end - at - 1)) : std::vector<double>());
    const auto isNumber = [](double number) { return std::isfinite(number); };
    if (!std::all_of(vectors.back().begin(), vectors.back().end(), isNumber))
    {
      vectors.back().clear();
    }
    at = end + (isVector ? 1 : 0);
  }
  return vectors;
}

/** Texts in quotes; words where there are none. */
std::vector<std::string>
ReadTexts(const std::string & text)
{
  if (text.find('"') == std::string::npos)
  {
    return SplitWords(text);
  }
  std::vector<std::string> texts;
  for (std::size_t begin = text.find('"'); begin != std::string::npos;)
  {
    const std::size_t end = std::min(text.find('"', begin + 1), text.size());
    texts.push_back(text.substr(begin + 1, end - begin - 1));
    begin = end < text.size() ? text.find('"', end + 1) : std::string::npos;
  }
  return texts;
}

struct Space
{
  Triple turn{ 1, 1, 1 };     ///< to the left, back and head
  bool   isOfPatient{ true }; ///< else its axes are none of a patient's
  bool   isKnown{ true };
};

Space
FindSpace(std::string name)
{
  static const std::map<std::string, Space> spaces{
    { "right-anterior-superior", { { -1, -1, 1 } } }, { "ras", { { -1, -1, 1 } } },
    { "left-anterior-superior", { { 1, -1, 1 } } },   { "las", { { 1, -1, 1 } } },
    { "left-posterior-superior", { { 1, 1, 1 } } },   { "lps", { { 1, 1, 1 } } },
    { "scanner-xyz", { { 1, 1, 1 }, false } },        { "3d-right-handed", { { 1, 1, 1 }, false } },
    { "3d-left-handed", { { 1, 1, 1 }, false } },     { "", { { 1, 1, 1 } } },
  };
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
    return c == ' ' || c == '_' ? '-' : std::tolower(c);
  });
  const std::string time = "-time";
  if (name.size() > time.size() && name.compare(name.size() - time.size(), time.size(), time) == 0)
  {
    name.resize(name.size() - time.size());
  }
  if (name.size() == 4 && name.back() == 't') // RAST
  {
    name.pop_back();
  }
  const auto found = spaces.find(name);
  return found == spaces.end() ? Space{ { 1, 1, 1 }, true, false } : found->second;
}

/** Axes of the file that are axes of space: those with a direction, or else those that are not of values or time. */
std::vector<std::size_t>
FindAxesOfSpace(const Fields & fields, const std::vector<std::vector<double>> & directions, std::size_t number)
{
  static const std::set<std::string> kinds{ "domain", "space", "???", "none" };
  const std::vector<std::string>     named = ReadTexts(GetField(fields, "kinds"));
  std::vector<std::size_t>           axes;
  for (std::size_t axis = 0; axis < number; ++axis)
  {
    const bool hasVector = axis < directions.size() && directions[axis].size() >= 3 &&
                           GetLength({ directions[axis][0], directions[axis][1], directions[axis][2] }) > 0;
    if (directions.empty() ? axis >= named.size() || kinds.count(named[axis]) > 0 : hasVector)
    {
      axes.push_back(axis);
    }
  }
  return axes;
}

/** mm of each of three axes that units are given for, one by one. */
Triple
GetUnits(const std::string &              texts,
         const std::string &              field,
         const std::vector<std::size_t> & which,
         VolumePlace &                    place)
{
  const std::vector<std::string> names = ReadTexts(texts);
  std::map<std::string, double>  known;
  Triple                         units{ 1, 1, 1 };
  for (std::size_t i = 0; i < 3; ++i)
  {
    const std::string name = which[i] < names.size() ? names[which[i]] : std::string();
    if (known.count(name) == 0)
    {
      known[name] = GetUnitOfLength(name, field, place);
    }
    units[i] = known[name];
  }
  return units;
}

/** The definition is https://teem.sourceforge.net/nrrd/format.html. */
void
ReadPlace(const std::string & file, VolumePlace & place)
{
  const auto                header = ReadPixelHeader(file);
  const Fields &            fields = header->fields;
  const auto                directions = ReadVectors(GetField(fields, "space directions"));
  const std::vector<double> sizes = ReadNumbers(GetField(fields, "sizes"));
  const auto                axes = FindAxesOfSpace(fields, directions, sizes.size());
  const Space               space = FindSpace(GetField(fields, "space"));
  if (axes.size() < 3 || !space.isKnown)
  {
    return; // ITK's reader says what it is
  }
  const Size & size = place.grid.size;
  if (sizes[axes[0]] != static_cast<double>(size.width) || sizes[axes[1]] != static_cast<double>(size.height) ||
      sizes[axes[2]] != static_cast<double>(size.depth))
  {
    throw Refusal(Diagnostic("E-VOLUME-FORMAT",
                             "an axis that is none of space comes before one of space in its header",
                             "store channels first or last, and time last")
                    .OfFile(file));
  }
  const bool            hasSpace = fields.count("space") > 0 || fields.count("space dimension") > 0;
  const Triple          unit = hasSpace ? GetUnits(GetField(fields, "space units"), "space units", { 0, 1, 2 }, place)
                                        : GetUnits(GetField(fields, "units"), "units", axes, place);
  const auto            origins = ReadVectors(GetField(fields, "space origin"));
  const auto            spacings = ReadNumbers(GetField(fields, "spacings"));
  std::array<Triple, 3> steps{};
  for (std::size_t axis = 0; axis < 3; ++axis)
  {
    const std::size_t own = axes[axis];
    for (std::size_t i = 0; i < 3; ++i)
    {
      const double alone =
        own < spacings.size() && std::isfinite(spacings[own]) && spacings[own] != 0 ? spacings[own] : 1;
      const double step = !directions.empty() ? directions[own][i] : i == axis ? alone : 0;
      steps[axis][i] = space.turn[i] * unit[i] * step;
    }
    const bool hasOrigin = !origins.empty() && origins[0].size() >= 3;
    place.grid.origin[axis] = hasSpace || hasOrigin ? hasOrigin ? space.turn[axis] * unit[axis] * origins[0][axis] : 0
                                                    : unit[axis] * place.grid.origin[axis]; // of axis mins
  }
  SetGridAxes(steps, place.grid);
  place.source = directions.empty() ? "spacings, without directions" : "space directions";
  if (!space.isOfPatient)
  {
    place.warnings.push_back(MakePlaceWarning("its space " + GetField(fields, "space") +
                                                " is none of a patient, and is taken for left-posterior-superior",
                                              "name the space in the header, such as left-posterior-superior")
                               .OfValue(GetField(fields, "space")));
  }
}

/** Pixels that are said to be text: words that are no numbers end the reader of ITK. */
void
CheckText(const std::string & file, const PixelHeader & header)
{
  const std::string encoding = GetField(header.fields, "encoding");
  if (encoding != "ascii" && encoding != "text" && encoding != "txt")
  {
    return;
  }
  for (const fs::path & pixels : header.files.empty() ? std::vector<fs::path>{ file } : header.files)
  {
    std::ifstream stream(pixels, std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(header.files.empty() ? header.bytes : 0));
    constexpr std::size_t longest = 64; // digits of a number
    std::size_t           length = 0;
    for (std::istreambuf_iterator<char> at(stream), end; at != end; ++at)
    {
      const auto byte = static_cast<unsigned char>(*at);
      const bool isSpace = std::isspace(byte) != 0 || byte == ',';
      length = isSpace ? 0 : length + 1;
      if (length > longest || (!isSpace && std::isalnum(byte) == 0 && byte != '+' && byte != '-' && byte != '.'))
      {
        RefuseCut(file, "its header says that its pixels are text (encoding), and they are none");
      }
    }
  }
}

bool
IsOf(const std::string & file)
{
  const auto header = ReadPixelHeader(file);
  return header && !header->isMetaImage;
}

void
CheckHeader(const std::string & file)
{
  const auto header = ReadPixelHeader(file);
  CheckPixelHeader(file, *header);
  CheckText(file, *header);
}

void
CheckPixels(const std::string & file)
{
  const auto        header = ReadPixelHeader(file);
  const Fields &    fields = header->fields;
  const std::string encoding = GetField(fields, "encoding");
  const bool        isWhole = fields.count("byte skip") == 0 && fields.count("line skip") == 0;
  if ((encoding == "gzip" || encoding == "gz") && isWhole && header->files.size() < 2)
  {
    const bool isLocal = header->files.empty();
    CheckCompressed(file, isLocal ? fs::path(file) : header->files.front(), isLocal ? header->bytes : 0, 0);
  }
}

std::string
Explain(const std::string & reason)
{
  if (reason.find("nrrdSpacingStatusScalarWithSpace") != std::string::npos)
  {
    return "its header names a space and spacings, which say nothing of directions in it; write \"space directions\" "
           "in place of \"spacings\"";
  }
  const std::string start = "fread got only "; // 4000 1-sized things, not 8000
  const std::size_t place = reason.find(start);
  if (place == std::string::npos)
  {
    return {};
  }
  std::istringstream words(reason.substr(place + start.size()));
  std::uintmax_t     found = 0, size = 0, expected = 0;
  std::string        word;
  words >> found >> size >> word >> word >> word >> expected;
  return "it is cut short: of " + std::to_string(expected * size) + " bytes of pixels, " +
         std::to_string(found * size) + " are there; get it again from where it came";
}

} // namespace

const VolumeFormat &
GetNRRDFormat()
{
  static const VolumeFormat format = [] {
    VolumeFormat entry{ "NRRD", { ".nrrd", ".nhdr" }, { ".nrrd" }, { ".nhdr" }, { ".raw", ".raw.gz" } };
    entry.hasPictures = true;
    entry.isOf = IsOf;
    entry.checkHeader = CheckHeader;
    entry.checkPixels = CheckPixels;
    entry.readPlace = ReadPlace;
    entry.listFiles = ListPixelFiles;
    entry.explain = Explain;
    return entry;
  }();
  return format;
}

} // namespace gigapixel
