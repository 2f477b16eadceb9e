/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelPixelFiles.h"
#include "gigapixelFormatCount.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>
#include <utility>

namespace gigapixel
{
namespace
{
namespace fs = std::filesystem;

std::string
Trim(const std::string & text)
{
  const std::size_t first = text.find_first_not_of(" \t\r");
  return first == std::string::npos ? std::string() : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/** An integer of at most nine digits; nothing for another text. */
std::optional<long>
ReadInteger(const std::string & text)
{
  const std::string digits = text.substr(!text.empty() && text.front() == '-' ? 1 : 0);
  const bool        isInteger =
    !digits.empty() && digits.size() <= 9 && digits.find_first_not_of("0123456789") == std::string::npos;
  return isInteger ? std::optional<long>(std::stol(text)) : std::nullopt;
}

std::vector<std::string>
SplitWords(const std::string & text)
{
  std::istringstream stream(text);
  using Words = std::istream_iterator<std::string>;
  return { Words(stream), Words() };
}

/** Whether the readers take the name for that of several files: MetaIO by any '%', NrrdIO by one with a 'd'. */
bool
IsNumbered(const std::string & name, bool isMetaImage)
{
  bool is = isMetaImage && name.find('%') != std::string::npos;
  for (std::size_t i = name.find('%'); i != std::string::npos && !is; i = name.find('%', i + 1))
  {
    const std::size_t type = name.find_first_not_of("0123456789", i + 1);
    is = type != std::string::npos && name[type] == 'd';
  }
  return is;
}

/** Names like "plane%03d.raw 1 9 1": the first number, the last one and the step. */
struct NumberedName
{
  fs::path    folder;
  std::string start;
  std::size_t width{ 0 }; ///< digits at least
  std::string end;
};

/** Nothing for what is not safe to be printed by: the readers print with the format as it is, into memory that is as
 * long as a name, and count on as long as the numbers say. Without numbers MetaIO takes those of the slices. */
std::optional<NumberedName>
ReadNumberedName(const std::string & name)
{
  constexpr long                 mostFiles = 65536, mostDigits = 99;
  const std::vector<std::string> words = SplitWords(name);
  const fs::path                 path = words.empty() ? std::string() : words.front();
  const std::string              format = path.filename().string();
  const std::size_t              begin = format.find('%');
  const std::size_t type = begin == std::string::npos ? begin : format.find_first_not_of("0123456789", begin + 1);
  if (type == std::string::npos || std::string("diu").find(format[type]) == std::string::npos ||
      std::count(name.begin(), name.end(), '%') != 1 || words.size() > 5)
  {
    return std::nullopt;
  }
  std::vector<long> numbers;
  for (auto word = words.begin() + 1; word != words.end(); ++word)
  {
    if (const auto number = ReadInteger(*word))
    {
      numbers.push_back(*number);
    }
  }
  const long width = begin + 1 < type ? ReadInteger(format.substr(begin + 1, type - begin - 1)).value_or(mostFiles) : 0;
  const long step = numbers.size() > 2 ? numbers[2] : 1;
  const long last = numbers.size() > 1 && step != 0 ? (numbers[1] - numbers[0]) / step : 0;
  if (numbers.size() + 1 < words.size() || width > mostDigits || step == 0 || last < 0 || last >= mostFiles)
  {
    return std::nullopt;
  }
  return NumberedName{
    path.parent_path(), format.substr(0, begin), static_cast<std::size_t>(width), format.substr(type + 1)
  };
}

/** The files that are there of those that such a name stands for, whatever their numbers; where none is, the name. */
std::vector<fs::path>
FindNumbered(const fs::path & headerFolder, const std::string & pattern)
{
  const auto name = ReadNumberedName(pattern);
  if (!name)
  {
    return {};
  }
  const auto & [subfolder, start, width, end] = *name;
  const fs::path        folder = headerFolder / subfolder;
  std::vector<fs::path> files;
  const auto            isNumber = [width = width](const std::string & digits) {
    const bool isPadded = digits.size() == width || digits == "0" || digits.front() != '0';
    return digits.size() >= width && isPadded && digits.find_first_not_of("0123456789") == std::string::npos;
  };
  std::error_code error;
  for (const fs::directory_entry & entry : fs::directory_iterator(folder, error))
  {
    const std::string file = entry.path().filename().string();
    const bool        isLonger = file.size() > start.size() + end.size();
    if (isLonger && file.compare(0, start.size(), start) == 0 &&
        file.compare(file.size() - end.size(), end.size(), end) == 0 &&
        isNumber(file.substr(start.size(), file.size() - start.size() - end.size())))
    {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files.empty() ? std::vector<fs::path>{ headerFolder / SplitWords(pattern).front() } : files;
}

bool
IsNRRD(std::istream & stream)
{
  std::array<char, 4> start{};
  const bool          is = stream.read(start.data(), start.size()) && std::string(start.data(), start.size()) == "NRRD";
  stream.clear();
  stream.seekg(0);
  return is;
}

/** \return key and value of a line; no key: it is something else, like a comment */
std::pair<std::string, std::string>
SplitField(const std::string & line, bool isMetaImage)
{
  const std::size_t separator = line.find_first_of(isMetaImage ? "=:" : ":");
  if (separator == std::string::npos || (!isMetaImage && line.front() == '#')) // MetaIO has no comments
  {
    return {};
  }
  std::string key = Trim(line.substr(0, separator));
  if (!isMetaImage)
  {
    std::transform(key.begin(), key.end(), key.begin(), [](unsigned char c) { return std::tolower(c); });
    key = key == "datafile" ? "data file" : key; // two names of one field
  }
  return { std::move(key), Trim(line.substr(separator + 1)) };
}

/** What a name in a header leads to, or one of its list. MetaIO also takes a file that was compressed afterwards. */
std::vector<fs::path>
FindFiles(const fs::path & header, const std::string & name, bool isMetaImage, bool isOfList)
{
  const fs::path folder = fs::absolute(header).parent_path();
  const fs::path path = folder / name;
  if (!isOfList && IsNumbered(name, isMetaImage))
  {
    return FindNumbered(folder, name);
  }
  std::error_code error;
  for (const char * const ending : { ".gz", ".Z" })
  {
    if (isMetaImage && !fs::exists(path, error) && fs::exists(path.string() + ending, error))
    {
      return { path.string() + ending };
    }
  }
  return { path };
}

/** Whether a path leads from the folder into it or into a folder in it, by what is written there. */
bool
IsWithin(const fs::path & folder, const fs::path & path)
{
  const fs::path way = path.lexically_relative(folder);
  return !way.empty() && *way.begin() != "..";
}

/** Whether a file that a header names lies in the header's folder, or deeper: else reading a mask of somebody's would
 * read any file of the reader's. A link in that folder, which no header makes, may lead anywhere. */
bool
IsInFolderOf(const fs::path & header, const fs::path & file)
{
  const fs::path folder = fs::absolute(header).parent_path();
  const fs::path way = file.lexically_relative(folder);
  if (IsWithin(folder, file) && std::find(way.begin(), way.end(), "..") == way.end())
  {
    return true;
  }
  std::error_code error;
  const fs::path  realFolder = fs::weakly_canonical(folder, error);
  const fs::path  realFile = error ? fs::path() : fs::weakly_canonical(file.parent_path(), error) / file.filename();
  return !error && file.filename() != ".." && IsWithin(realFolder, realFile);
}

constexpr std::size_t MostNRRDBytes = 500; // NrrdIO repeats lines and names in messages that may have about 1000

Diagnostic
MakeTrouble(const std::string & why, const std::string & remedy = "correct the header")
{
  return { "E-FILE-DAMAGED", why, remedy };
}

Diagnostic
MakeTroubleOfLength(const std::string & what, std::size_t bytes, std::size_t most)
{
  return MakeTrouble(
    what + " has " + std::to_string(bytes) + " bytes, and at most " + std::to_string(most) + " are read", "shorten it");
}

/** But for those that may say anything; lines of a list of files are none of them.
 * \return what is wrong with the line; empty: nothing */
Diagnostic
FindTroubleOfNRRD(const std::string & line)
{
  const std::size_t colon = line.find(':');
  const bool        isPair = colon != std::string::npos && line.compare(colon, 2, ":=") == 0;
  const bool        mayBeLong = isPair || line.front() == '#' || line.rfind("content:", 0) == 0;
  return line.size() <= MostNRRDBytes || mayBeLong ? Diagnostic()
                                                   : MakeTroubleOfLength("it", line.size(), MostNRRDBytes);
}

/** MetaIO copies names of fields and some values into 255 bytes, and takes "NDims" without a separator for the name of
 * the next line's value; a name of files is cut off behind 499 bytes.
 * \return what is wrong with the line; empty: nothing */
Diagnostic
FindTroubleOfMetaImage(const std::string & key, const std::string & value)
{
  constexpr std::size_t mostShort = 254, mostOfNames = 498;
  const auto            isControl = [](unsigned char c) { return std::iscntrl(c) != 0; };
  if (key.empty() || std::any_of(key.begin(), key.end(), isControl))
  {
    return MakeTrouble("it is no field, as NAME = VALUE");
  }
  if (key.size() > mostShort)
  {
    return MakeTroubleOfLength("its name", key.size(), mostShort);
  }
  const bool        isShort = key == "Comment" || key == "Name" || key == "ObjectType" || key == "ObjectSubType";
  const bool        isOfNames = key == "ElementDataFile";
  const std::size_t most = isShort ? mostShort : mostOfNames;
  return (isShort || isOfNames) && value.size() > most ? MakeTroubleOfLength(key, value.size(), most) : Diagnostic();
}

/** Of the names of files, which a reader prints by, or reads lists of. */
Diagnostic
FindTroubleOfNames(const std::string & names, bool isMetaImage)
{
  const std::vector<std::string> words = SplitWords(names);
  const bool                     isList = names.rfind("LIST", 0) == 0;
  if (isMetaImage && isList &&
      (words.size() > 2 || words.front() != "LIST" || (words.size() == 2 && ReadInteger(words[1]).value_or(-1) < 0)))
  {
    return MakeTrouble("the list of files is to begin with LIST, or LIST and the axes of a file");
  }
  return !isList && IsNumbered(names, isMetaImage) && !ReadNumberedName(names)
           ? MakeTrouble("the names of files are to have one number, as in plane%03d.raw 1 9 1 (first, last, step)")
           : Diagnostic();
}

/** NrrdIO reads up to 16 axes, and computes with what it has eight places for. */
Diagnostic
FindTroubleOfAxes(const std::map<std::string, std::string> & fields)
{
  constexpr long mostAxes = 8;
  const auto     axes = fields.find("dimension");
  const long     number = axes == fields.end() ? 1 : ReadInteger(axes->second).value_or(0);
  return number < 1 || number > mostAxes
           ? MakeTrouble("dimension is to be a number of axes from 1 to " + std::to_string(mostAxes))
           : Diagnostic();
}

/** MetaIO reads as many numbers as there are axes, wherever they end. */
Diagnostic
FindTroubleOfSize(const std::map<std::string, std::string> & fields)
{
  const auto axes = fields.find("NDims"), sizes = fields.find("DimSize"),
             channels = fields.find("ElementNumberOfChannels");
  constexpr long mostAxes = 10;
  const long     number = axes == fields.end() ? 1 : ReadInteger(axes->second).value_or(0);
  if (number < 1 || number > mostAxes)
  {
    return MakeTrouble("NDims is to be a number of axes from 1 to " + std::to_string(mostAxes));
  }
  std::vector<std::string> factors = sizes == fields.end() ? std::vector<std::string>() : SplitWords(sizes->second);
  if (axes != fields.end() && sizes != fields.end() && factors.size() != static_cast<std::size_t>(number))
  {
    return MakeTrouble("DimSize has " + FormatCount(factors.size(), "number") + ", and NDims says " +
                       std::to_string(number));
  }
  if (channels != fields.end())
  {
    factors.push_back(channels->second);
  }
  constexpr std::uintmax_t sampleBytes = 8;
  std::uintmax_t           bytes = sampleBytes;
  for (const std::string & factor : factors)
  {
    const long size = ReadInteger(factor).value_or(-1);
    if (size < 0 ||
        (size > 0 && bytes > std::numeric_limits<std::uintmax_t>::max() / static_cast<std::uintmax_t>(size)))
    {
      return MakeTrouble("DimSize or ElementNumberOfChannels holds no number that an image has");
    }
    bytes *= static_cast<std::uintmax_t>(std::max(size, 1L));
  }
  return {};
}

bool
IsLocal(const std::string & name)
{
  return name == "LOCAL" || name == "Local" || name == "local";
}
void
AddFiles(const fs::path & file, const std::vector<fs::path> & found, PixelHeader & header)
{
  const auto outside =
    std::find_if_not(found.begin(), found.end(), [&file](const fs::path & each) { return IsInFolderOf(file, each); });
  if (outside == found.end())
  {
    header.files.insert(header.files.end(), found.begin(), found.end());
  }
  else if (header.trouble.IsEmpty())
  {
    header.trouble =
      Diagnostic("E-FILE-NAME",
                 "its pixels are said to be in " + outside->string() + ", which is not in the header's folder",
                 "put that file beside the header, and name it there without a folder")
        .OfValue(outside->string());
  }
}

/** \class HeaderReader
 * \brief Takes what a header says, line by line. */
class HeaderReader
{
public:
  HeaderReader(const fs::path & file, PixelHeader & header)
    : m_File(file)
    , m_Header(header)
    , m_Pixels(header.isMetaImage ? "ElementDataFile" : "data file")
  {}

  /** \return whether the header goes on behind the line */
  bool
  Read(const std::string & line)
  {
    ++m_Number;
    m_Header.bytes += line.size() + 1;
    const std::string text = Trim(line);
    if (text.empty())
    {
      return m_Header.isMetaImage && !m_IsList;
    }
    if (!m_IsList)
    {
      return this->ReadField(line);
    }
    this->Keep(m_Header.isMetaImage ? Diagnostic() : FindTroubleOfNRRD(line));
    AddFiles(m_File, FindFiles(m_File, text, m_Header.isMetaImage, true), m_Header);
    return true;
  }

private:
  bool
  ReadField(const std::string & line)
  {
    const auto [key, value] = SplitField(line, m_Header.isMetaImage);
    const bool ofPixels = key == m_Pixels;
    Diagnostic trouble = m_Header.isMetaImage ? FindTroubleOfMetaImage(key, value) : FindTroubleOfNRRD(line);
    if (!key.empty() && !m_Header.fields.emplace(key, value).second && m_Header.isMetaImage)
    {
      trouble = MakeTrouble(key + " is there twice", "leave one of them out"); // MetaIO takes the last one
    }
    if (ofPixels && trouble.IsEmpty())
    {
      trouble = FindTroubleOfNames(value, m_Header.isMetaImage);
    }
    this->Keep(trouble);
    if (!ofPixels)
    {
      return true;
    }
    m_IsList = value.rfind("LIST", 0) == 0;
    if (!m_IsList && !IsLocal(value))
    {
      AddFiles(m_File, FindFiles(m_File, value, m_Header.isMetaImage, false), m_Header);
    }
    return m_IsList || !m_Header.isMetaImage;
  }

  /** The first one is told. */
  void
  Keep(const Diagnostic & trouble)
  {
    if (m_Header.trouble.IsEmpty() && !trouble.IsEmpty())
    {
      m_Header.trouble = trouble;
      m_Header.trouble.why = "line " + std::to_string(m_Number) + " of its header: " + trouble.why;
    }
  }

  const fs::path &  m_File;
  PixelHeader &     m_Header;
  const std::string m_Pixels; ///< the field that says where they are
  int               m_Number{ 0 };
  bool              m_IsList{ false }; ///< lines are names of files
};

} // namespace

std::optional<PixelHeader>
ReadPixelHeader(const fs::path & file)
{
  constexpr int     longest = 65536; // lines: other files may be anything, and a list may name a file for each slice
  const std::string ending = file.extension().string();
  std::ifstream     stream(file, std::ios::binary);
  PixelHeader       header;
  header.isMetaImage = ending == ".mha" || ending == ".mhd";
  if (!header.isMetaImage && !IsNRRD(stream))
  {
    return std::nullopt;
  }
  if (!header.isMetaImage && file.string().size() > MostNRRDBytes)
  {
    header.trouble = MakeTroubleOfLength("its path, as it is named here,", file.string().size(), MostNRRDBytes);
    header.trouble.code = "E-FILE-NAME";
  }
  HeaderReader reader(file, header);
  std::string  line;
  for (int i = 0; std::getline(stream, line); ++i)
  {
    if (i == longest)
    {
      header.trouble = MakeTrouble("its header has more than " + std::to_string(longest) + " lines",
                                   "get it again from where it came");
      break;
    }
    if (!reader.Read(line))
    {
      break;
    }
  }
  if (header.trouble.IsEmpty())
  {
    header.trouble = header.isMetaImage ? FindTroubleOfSize(header.fields) : FindTroubleOfAxes(header.fields);
    header.trouble.why = header.trouble.IsEmpty() ? "" : "its header: " + header.trouble.why;
  }
  return header;
}

} // namespace gigapixel
