/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ReportRuns.h"

#include "ArgumentText.h"
#include "ReportRows.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelFileIdentity.h"
#include "gigapixelFileRefusal.h"
#include "gigapixelTableReader.h"

#include <nlohmann/json.hpp>

#include <array>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace fs = std::filesystem;

namespace gigapixel::application
{
namespace
{
using Json = nlohmann::ordered_json;

/** The texts of a safetensors file: eight bytes with the size of the JSON that follows, in which they are. */
Json
ReadTexts(const std::string & file)
{
  constexpr std::uint64_t      most = 100'000'000; // bytes of the JSON, as other readers of this format allow
  std::ifstream                stream(file, std::ios::binary);
  std::array<unsigned char, 8> bytes{};
  stream.read(reinterpret_cast<char *>(bytes.data()), bytes.size());
  std::uint64_t size = 0;
  for (std::size_t i = bytes.size(); i-- > 0;)
  {
    size = size << 8 | bytes[i];
  }
  std::string text(stream && size <= most ? size : 0, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  const Json header = Json::parse(text, nullptr, false);
  if (!stream || !header.is_object())
  {
    throw Refusal(Diagnostic("E-MODEL-FORMAT", "it is no model that can be read").OfFile(file));
  }
  return header.value("__metadata__", Json::object());
}

/** Settings of a training, but the network, which has hundreds of lines, and what is in other fields. */
Json
GetSettings(const Json & texts)
{
  Json settings = Json::parse(texts.value("training.settings", ""), nullptr, false);
  if (!settings.is_object())
  {
    return {};
  }
  settings.erase("network");
  return settings;
}

Json
DescribeModel(const std::string & file)
{
  const Json texts = ReadTexts(file);
  const Json network = Json::parse(texts.value("network", ""), nullptr, false);
  Json model{ { "file", fs::path(file).filename().string() }, { "identity", IdentifyFile(file, HashedBytes::All) } };
  model["network"] = network.is_object() ? network.value("name", Json()) : Json();
  model["micronsPerPixel"] = texts.value("microns_per_pixel", Json());
  return model;
}

/** Adds a part of a description, or why it is missing. */
template <typename TFunction>
void
Add(Json & description, const char * key, const std::string & file, const TFunction & read)
{
  std::error_code ignored;
  if (!fs::exists(file, ignored))
  {
    description["missing"].push_back(DescribeMissing(std::string("there is no ") + key, DescribeMissingFile(file)));
    return;
  }
  try
  {
    description[key] = read(file);
  }
  catch (const std::exception & error)
  {
    description["missing"].push_back(DescribeMissing(std::string("there is no ") + key, Diagnostic::Of(error)));
  }
}

std::string
In(const std::string & folder, const std::string & name)
{
  return (fs::path(folder) / name).string();
}
} // namespace

bool
IsRun(const std::string & folder)
{
  std::error_code ignored;
  return fs::exists(In(folder, "last.safetensors"), ignored) || fs::exists(In(folder, "history.csv"), ignored) ||
         fs::is_directory(In(folder, "fold-1"), ignored);
}

nlohmann::ordered_json
ReadHistory(const std::string & file)
{
  TableReader      table(file, "E-REPORT-INPUT");
  Json             history{ { "columns", table.GetHeader().fields }, { "rows", Json::array() } };
  TableReader::Row line;
  while (table.Next(line))
  {
    Json row = Json::array();
    for (const std::string & field : line.fields)
    {
      const auto number = ReadNumber(field);
      row.push_back(number ? Json(*number) : Json());
    }
    history["rows"].push_back(std::move(row));
  }
  return history;
}

nlohmann::ordered_json
DescribeRun(const std::string & folder)
{
  Json            run{ { "folder", folder }, { "missing", Json::array() } };
  std::error_code ignored;
  if (fs::is_directory(In(folder, "fold-1"), ignored))
  {
    run["folds"] = Json::array();
    for (int fold = 1; fs::is_directory(In(folder, "fold-" + std::to_string(fold)), ignored); ++fold)
    {
      run["folds"].push_back(DescribeRun(In(folder, "fold-" + std::to_string(fold))));
    }
    return run;
  }
  Add(run, "history", In(folder, "history.csv"), ReadHistory);
  Add(run, "model", In(folder, "best.safetensors"), DescribeModel);
  Add(run, "settings", In(folder, "last.safetensors"), [](const std::string & file) {
    return GetSettings(ReadTexts(file));
  });
  return run;
}

} // namespace gigapixel::application
