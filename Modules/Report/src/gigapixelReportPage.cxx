/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelReportPage.h"

#include "gigapixelReportSources.h"

#include "gigapixelAtomicFile.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelFileRefusal.h"
#include "gigapixelHash.h"
#include "gigapixelPrintable.h"

#include <cstdio>
#include <filesystem>
#include <regex>
#include <system_error>
#include <utility>

namespace fs = std::filesystem;

namespace gigapixel
{
namespace
{
constexpr char Digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** RFC 4648. */
std::string
ToBase64(const std::string & bytes)
{
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3)
  {
    const auto get = [&](std::size_t at) -> unsigned {
      return at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0;
    };
    const unsigned three = get(i) << 16 | get(i + 1) << 8 | get(i + 2);
    text += Digits[three >> 18];
    text += Digits[three >> 12 & 63];
    text += i + 1 < bytes.size() ? Digits[three >> 6 & 63] : '=';
    text += i + 2 < bytes.size() ? Digits[three & 63] : '=';
  }
  return text;
}

std::string
Replace(const std::string & text, const std::vector<std::pair<char, std::string>> & escapes)
{
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text)
  {
    const std::string * found = nullptr;
    for (const auto & [character, escape] : escapes)
    {
      found = character == c ? &escape : found;
    }
    found ? escaped += * found : escaped += c;
  }
  return escaped;
}

/** As a value of an attribute, or text between tags. */
std::string
ToHTML(const std::string & text)
{
  return Replace(text, { { '&', "&amp;" }, { '<', "&lt;" }, { '>', "&gt;" }, { '"', "&quot;" }, { '\'', "&#39;" } });
}

/** In JSON these characters stand in strings alone, and without them nothing in a script ends it or begins a comment.
 */
std::string
ToScriptData(const std::string & json)
{
  return Replace(json, { { '<', "\\u003c" }, { '>', "\\u003e" }, { '&', "\\u0026" } });
}

/** The name of a picture: by its content. */
std::string
GetName(const std::string & picture)
{
  Hash hash;
  hash.Add(picture.data(), picture.size());
  char name[17];
  std::snprintf(name, sizeof(name), "%016llx", static_cast<unsigned long long>(hash.Get()));
  return name;
}

/** Whether a file is a picture of a report, or one that a killed report has begun (AtomicFile). */
bool
IsPicture(const fs::path & file)
{
  static const std::regex names(R"([0-9a-f]{16}\.webp|\.[0-9a-f]{16}\.webp\.[0-9]+-[0-9]+\.part)");
  return std::regex_match(file.filename().string(), names);
}

/** A name as a part of a relative URL. */
std::string
ToURL(const std::string & name)
{
  std::string url;
  for (const char c : name)
  {
    const bool isPlain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
    char       escape[4];
    std::snprintf(escape, sizeof(escape), "%%%02X", static_cast<unsigned char>(c));
    isPlain ? url += c : url += escape;
  }
  return url;
}
} // namespace

ReportPage::ReportPage(const std::string & file, bool mayReplace)
  : m_File(file)
  , m_MayReplace(mayReplace)
  , m_Folder((fs::path(file).parent_path() / fs::path(file).stem()).string() + "-files")
{
  AtomicFile::RequireWritable(file);
  if (!mayReplace)
  {
    this->RequireFreeFolder();
  }
}

ReportPage::~ReportPage()
{
  std::error_code ignored;
  for (const fs::path & picture : m_Written)
  {
    fs::remove(picture, ignored);
  }
  if (!m_Written.empty())
  {
    fs::remove(m_Folder, ignored); // where nothing else is left
  }
}

/** Pictures alone are those of a report that was killed. */
void
ReportPage::RequireFreeFolder() const
{
  std::error_code ignored;
  const fs::path  stem = fs::path(m_File).replace_extension();
  bool            isFree = !fs::exists(m_Folder, ignored) ||
                (fs::is_directory(m_Folder, ignored) && !fs::exists(stem.string() + ".htm", ignored) &&
                 !fs::exists(stem.string() + ".html", ignored));
  for (fs::directory_iterator entry(m_Folder, ignored), end; !ignored && entry != end; entry.increment(ignored))
  {
    isFree = isFree && IsPicture(entry->path());
  }
  if (!isFree)
  {
    throw Refusal(Diagnostic("E-OUTPUT-EXISTS",
                             "the folder is there already, and would get the pictures of a large report",
                             "choose another name, or use --overwrite")
                    .OfFile(m_Folder));
  }
}

std::string
ReportPage::AddPhotograph(const std::string & picture)
{
  return this->Add(picture, true);
}

std::string
ReportPage::AddLabels(const std::string & picture)
{
  return this->Add(picture, false);
}

std::string
ReportPage::Add(const std::string & picture, bool isPhotograph)
{
  const std::string name = GetName(picture);
  if (!m_Names.insert(name).second)
  {
    return name;
  }
  if (isPhotograph && !m_UsedFolder.empty())
  {
    this->WriteToFolder(name, picture);
    return name;
  }
  m_Pictures.push_back({ name, picture, isPhotograph });
  m_Bytes += (picture.size() + 2) / 3 * 4;
  if (m_Bytes > MostBytes && m_UsedFolder.empty())
  {
    this->MoveToFolder();
  }
  return name;
}

void
ReportPage::MoveToFolder()
{
  std::error_code error;
  fs::create_directories(m_Folder, error);
  if (error)
  {
    throw Refusal(
      Diagnostic("E-OUTPUT-WRITE", "the folder cannot be made: " + DescribeFileRefusal(error)).OfFile(m_Folder));
  }
  m_UsedFolder = m_Folder;
  std::vector<Picture> kept;
  for (Picture & picture : m_Pictures)
  {
    if (picture.isPhotograph)
    {
      this->WriteToFolder(picture.name, picture.bytes);
    }
    else
    {
      kept.push_back(std::move(picture));
    }
  }
  m_Pictures = std::move(kept);
}

void
ReportPage::WriteToFolder(const std::string & name, const std::string & picture)
{
  const fs::path  file = fs::path(m_UsedFolder) / (name + ".webp");
  std::error_code ignored;
  m_Files.insert(file.filename().string());
  if (fs::file_size(file, ignored) != picture.size()) // else it is this picture, by its name
  {
    AtomicFile output(file.string());
    output.Append(picture);
    output.Commit();
    m_Written.push_back(file);
  }
}

/** Pictures of a page that was replaced, or never completed; what else lies in the folder stays there. */
void
ReportPage::RemoveOldPictures() const
{
  std::error_code       ignored;
  std::vector<fs::path> old;
  for (fs::directory_iterator entry(m_Folder, ignored), end; !ignored && entry != end; entry.increment(ignored))
  {
    if (IsPicture(entry->path()) && m_Files.count(entry->path().filename().string()) == 0)
    {
      old.push_back(entry->path());
    }
  }
  for (const fs::path & file : old)
  {
    fs::remove(file, ignored);
  }
  if (!old.empty())
  {
    fs::remove(m_Folder, ignored); // where nothing is left
  }
}

std::string
ReportPage::MakePage(const std::string & title, const std::string & json) const
{
  std::string page;
  const auto  get = [&](const std::string & place) -> std::string {
    if (place == "pictures")
    {
      std::string pictures;
      for (const Picture & picture : m_Pictures)
      {
        pictures +=
          "<script type=\"text/plain\" id=\"picture-" + picture.name + "\">" + ToBase64(picture.bytes) + "</script>\n";
      }
      return pictures;
    }
    return place == "title"   ? ToHTML(GetPrintable(title))
            : place == "style" ? ReportStyle
            : place == "data"  ? ToScriptData(json)
            : place == "folder"
              ? (m_UsedFolder.empty() ? std::string() : ToURL(fs::path(m_UsedFolder).filename().string()))
              : std::string(ReportScript);
  };
  const std::string source = ReportHTML;
  std::size_t       at = 0;
  for (std::size_t open = source.find("{{"); open != std::string::npos; open = source.find("{{", at))
  {
    const std::size_t close = source.find("}}", open);
    page += source.substr(at, open - at) + get(source.substr(open + 2, close - open - 2));
    at = close + 2;
  }
  return page + source.substr(at);
}

void
ReportPage::Commit(const std::string & title, const std::string & json)
{
  std::string page = this->MakePage(title, json);
  if (page.size() > MostBytes && m_UsedFolder.empty())
  {
    this->MoveToFolder();
    page = this->MakePage(title, json);
  }
  AtomicFile output(m_File, m_MayReplace);
  output.Append(page);
  output.Commit();
  m_Written.clear();
  this->RemoveOldPictures();
}

} // namespace gigapixel
