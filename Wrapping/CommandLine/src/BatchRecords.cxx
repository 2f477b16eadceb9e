/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "BatchRecords.h"

#include "SlideBatch.h"

#include "gigapixelAtomicFile.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelFileIdentity.h"
#include "gigapixelMaskName.h"
#include "gigapixelSession.h"
#include "gigapixelSlideFiles.h"
#include "gigapixelTableReader.h"
#include "itkGigapixelVolumeSource.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <thread>

namespace fs = std::filesystem;

namespace gigapixel::commandline
{
namespace
{
using Json = nlohmann::ordered_json;

const char * const Format = "gigapixel manifest 1";
const char * const FailedColumns = "slide,code,file,why,do\n";
const char * const RecordEnding = ".record.json";
const char * const BatchEnding = ".batch.json";

std::string
GetManifest(const std::string & folder)
{
  return (fs::path(folder) / "manifest.json").string();
}

std::string
GetFailedTable(const std::string & folder)
{
  return (fs::path(folder) / "failed.csv").string();
}

std::string
GetStateFolder(const std::string & folder)
{
  return (fs::path(folder) / ".gigapixel").string();
}

/** A file of ours; discarded: it is something else, such as one that is nested beyond what a stack holds. */
Json
Parse(const std::string & text)
{
  constexpr int deepest = 100;
  bool          isTooDeep = false;
  Json          json = Json::parse(
    text,
    [&isTooDeep](int depth, Json::parse_event_t, Json &) {
      isTooDeep = isTooDeep || depth > deepest;
      return depth <= deepest;
    },
    false);
  return isTooDeep ? Json(Json::value_t::discarded) : json;
}

std::string
ToLine(const Json & json)
{
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/** A text as JSON has it, whatever bytes a file's name has. */
std::string
ToText(const std::string & name)
{
  return Json::parse(ToLine(name)).get<std::string>();
}

std::string
GetName(const std::string & output)
{
  return fs::path(output).filename().string();
}

/** The path of a slide, or the paths of a volume's files, seen from a folder, so that both may be moved together. Links
 * keep their names, which outputs are called by. */
std::string
SeeFrom(const std::string & slide, const std::string & folder)
{
  std::string seen;
  for (const std::string & file : itk::GigapixelSplitModalities(slide))
  {
    std::error_code ignored;
    const fs::path  absolute = fs::absolute(file, ignored);
    const fs::path  canonical = fs::weakly_canonical(absolute.parent_path(), ignored) / absolute.filename();
    const fs::path  place = fs::weakly_canonical(fs::absolute(folder, ignored), ignored);
    seen += (seen.empty() ? "" : ",") + canonical.lexically_relative(place).string();
  }
  return seen;
}

/** The way back. \param folder canonical */
std::string
SeeFromHere(const std::string & slide, const fs::path & folder)
{
  std::error_code ignored;
  const fs::path  here = fs::canonical(fs::current_path(ignored), ignored);
  const bool      isOne = fs::exists(folder / slide, ignored); // its name may have commas
  std::string     seen;
  for (std::size_t begin = 0; begin <= slide.size();)
  {
    const std::size_t end = isOne ? slide.size() : std::min(slide.find(',', begin), slide.size());
    const fs::path    file = (folder / slide.substr(begin, end - begin)).lexically_normal();
    seen += (begin == 0 ? "" : ",") + file.lexically_proximate(here).string();
    begin = end + 1;
  }
  return seen;
}

/** Whether a failure is of the machine or of what is written, and says nothing of the slide. */
bool
IsOfMachine(const Json & error)
{
  const std::string code = error.value("code", "");
  const auto        kinds = { "OUTPUT", "DISK", "MEMORY", "DEVICE", "THREADS", "READER", "RANK" };
  return std::any_of(kinds.begin(), kinds.end(), [&code](const char * kind) { return code.rfind(kind, 2) == 2; });
}

/** A short name for a file beside others, whatever the name is that it stands for. */
std::string
Hash(const std::string & text)
{
  const std::string identity = IdentifyContent(text);
  return identity.substr(identity.rfind('=') + 1);
}

std::string
ReadAll(const std::string & file)
{
  std::error_code error;
  if (!fs::is_regular_file(file, error)) // a pipe would wait for a writer for ever
  {
    return {};
  }
  std::ifstream stream(file, std::ios::binary);
  return { std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>() };
}

void
WriteFile(const std::string & file, const std::string & text)
{
  AtomicFile output(file);
  output.Append(text);
  output.Commit();
}

bool
EndsIn(const std::string & text, const std::string & ending)
{
  return text.size() > ending.size() && text.compare(text.size() - ending.size(), ending.size(), ending) == 0;
}

/** Files of the hidden folder, in the order of their names. */
std::vector<std::string>
FindFiles(const std::string & state, const std::string & ending)
{
  std::vector<std::string> files;
  std::error_code          error;
  for (fs::directory_iterator entry(state, error), end; !error && entry != end; entry.increment(error))
  {
    if (const std::string file = entry->path().string(); EndsIn(file, ending) && GetName(file).front() != '.')
    {
      files.push_back(file);
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

/** The names of what a batch writes. */
std::vector<std::string>
ReadOutputs(const std::string & file)
{
  std::vector<std::string> outputs;
  const Json               batch = Parse(ReadAll(file));
  for (const Json & output : batch.is_object() ? batch.value("outputs", Json::array()) : Json::array())
  {
    outputs.push_back(output.is_string() ? output.get<std::string>() : std::string());
  }
  return outputs;
}

/** Whether what we read of an entry has the types that we write; others may have edited the file. */
bool
IsEntry(const Json & entry)
{
  const auto hasText = [](const Json & of, const char * key) { return of.value(key, Json("")).is_string(); };
  if (!entry.is_object() || !entry.contains("output") || !entry.value("result", Json()).is_object())
  {
    return false;
  }
  const Json outputs = entry.value("outputs", Json::array());
  const Json error = entry["result"].value("error", Json::object());
  return hasText(entry, "output") && hasText(entry, "slide") && hasText(entry, "command") && outputs.is_array() &&
         std::all_of(outputs.begin(),
                     outputs.end(),
                     [&](const Json & each) { return each.is_object() && hasText(each, "field"); }) &&
         error.is_object() && hasText(error, "code");
}

bool
HasFailed(const Json & entry)
{
  return entry.at("result").contains("error");
}

[[noreturn]] void
RefuseForeign(const std::string & file, const std::string & why)
{
  throw Refusal(
    Diagnostic("E-OUTPUT-EXISTS", "it is not one of ours, and would be replaced: " + why, "write into another folder")
      .OfFile(file));
}

/** \throw std::runtime_error it is something else */
std::map<std::string, Json>
ReadManifest(const std::string & folder)
{
  std::map<std::string, Json> entries;
  const std::string           file = GetManifest(folder);
  std::error_code             ignored;
  if (!fs::exists(file, ignored))
  {
    return entries;
  }
  const Json manifest = Parse(ReadAll(file));
  if (!manifest.is_object() || manifest.value("format", Json()) != Format)
  {
    RefuseForeign(file, "it is no manifest of results");
  }
  for (const Json & entry : manifest.value("slides", Json::array()))
  {
    if (IsEntry(entry))
    {
      entries[entry["output"].get<std::string>()] = entry;
    }
  }
  return entries;
}

std::string
FormatManifest(const std::map<std::string, Json> & entries)
{
  Json slides = Json::array();
  for (const auto & [output, entry] : entries)
  {
    slides.push_back(entry);
  }
  return Json({ { "format", Format }, { "slides", slides } }).dump(1, ' ', false, Json::error_handler_t::replace) +
         '\n';
}

/** Empty: no slide failed. */
std::string
FormatFailures(const std::map<std::string, Json> & entries)
{
  std::string text;
  for (const auto & [output, entry] : entries)
  {
    if (!HasFailed(entry))
    {
      continue;
    }
    const Json error = entry.at("result").at("error");
    text += ToField(entry.value("slide", ""));
    for (const char * const field : { "code", "file", "why", "do" })
    {
      const Json value = error.value(field, Json());
      text += ',' + ToField(value.is_string() ? value.get<std::string>() : std::string());
    }
    text += '\n';
  }
  return text.empty() ? text : FailedColumns + text;
}

/** Writes where something changes, so that a folder that cannot be written into may be complete. */
void
Update(const std::string & file, const std::string & text)
{
  std::error_code ignored;
  if (text.empty())
  {
    fs::remove(file, ignored);
  }
  else if (ReadAll(file) != text)
  {
    WriteFile(file, text);
  }
}

/** What depends on other things than an option's value is left out: what a run is called, and how it goes on. */
Json
DescribeOptions(const ArgumentValues & values)
{
  Json options = Json::object();
  for (const Argument & argument : values.GetCommand().arguments)
  {
    const bool isFile = argument.channel != ArgumentChannel::None;
    if (isFile || argument.effect == OptionEffect::Nothing || argument.name == "overwrite" ||
        !values.Has(argument.name))
    {
      continue;
    }
    const auto texts =
      argument.type == ArgumentType::Switch ? std::vector<std::string>{ "yes" } : values.GetTexts(argument.name);
    options[argument.name] = texts.size() == 1 ? Json(ToText(texts.front())) : Json(texts);
  }
  return options;
}

/** Whether outputs of the command are so large that samples of them have to do. */
HashedBytes
GetHashedBytes(const Command & command)
{
  const bool writesSlides = std::any_of(command.arguments.begin(), command.arguments.end(), [](const Argument & each) {
    return each.channel == ArgumentChannel::Output && each.content == "slide";
  });
  return writesSlides ? HashedBytes::Samples : HashedBytes::All;
}

std::string
IdentifyFolder(const std::string & folder)
{
  std::vector<std::string> files;
  for (const fs::directory_entry & entry : fs::directory_iterator(folder))
  {
    if (entry.is_regular_file())
    {
      files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  std::string all;
  for (const std::string & file : files)
  {
    all += GetName(file) + ' ' + IdentifyFile(file, HashedBytes::Samples) + '\n';
  }
  return IdentifyContent(all);
}

/** A slide, or the files of a volume. \param image of the slide's file */
std::string
IdentifySlideOrVolume(const std::string & slide, const std::string & image)
{
  std::string all;
  for (const std::string & file : itk::GigapixelSplitModalities(slide))
  {
    all += (all.empty() ? "" : ", ") + (fs::is_directory(file) ? IdentifyFolder(file) : IdentifySlide(file, image));
  }
  return all;
}

Json
IdentifyOutputs(const SlideTask & task, HashedBytes bytes)
{
  Json outputs = Json::array();
  for (const std::string & output : task.GetOutputs())
  {
    outputs.push_back({ { "file", ToText(GetName(output)) }, { "content", IdentifyFile(output, bytes) } });
  }
  return outputs;
}

std::int64_t
GetTime(const std::string & file)
{
  std::error_code error;
  const auto      time = fs::last_write_time(file, error);
  return error ? 0 : static_cast<std::int64_t>(time.time_since_epoch().count());
}

} // namespace

Json
ReadManifestEntries(const std::string & file)
{
  const Json manifest = Parse(ReadAll(file));
  const bool isOurs = manifest.is_object() && manifest.value("format", Json()) == Format;
  return SeeEntriesFromHere(isOurs ? manifest.value("slides", Json()) : Json(), file);
}

Json
SeeEntriesFromHere(const Json & found, const std::string & manifest)
{
  Json entries = Json::array();
  // A link to a manifest leads to where its slides are seen from.
  std::error_code ignored;
  const fs::path  folder = fs::weakly_canonical(fs::absolute(manifest, ignored), ignored).parent_path();
  for (Json entry : found)
  {
    if (IsEntry(entry) && entry.value("slide", Json()).is_string())
    {
      entry["slide"] = SeeFromHere(entry["slide"], folder);
      entry["output"] = SeeFromHere(GetName(entry["output"]), folder);
      for (const char * const key : { "slide", "volume" })
      {
        if (entry["result"].contains(key))
        {
          entry["result"][key] = entry["slide"];
        }
      }
      entries.push_back(std::move(entry));
    }
  }
  return entries;
}

BatchFolder
BatchFolder::Read(const std::string & folder)
{
  BatchFolder       found;
  const std::string state = GetStateFolder(folder);
  found.entries = ReadManifest(folder);
  std::vector<std::int64_t> times;
  for (const std::string & file : FindFiles(state, RecordEnding))
  {
    const Json entry = Parse(ReadAll(file));
    if (IsEntry(entry))
    {
      found.entries[entry["output"].get<std::string>()] = entry;
      times.push_back(GetTime(file));
    }
  }
  std::optional<std::int64_t> begin; // times may be negative
  for (const std::string & file : FindFiles(state, BatchEnding))
  {
    const auto outputs = ReadOutputs(file);
    found.outputs.insert(outputs.begin(), outputs.end());
    begin = std::max(begin.value_or(GetTime(file)), GetTime(file));
  }
  found.holders = BatchLock::FindHolders(state);
  const auto made =
    std::count_if(times.begin(), times.end(), [begin](std::int64_t time) { return begin && time >= *begin; });
  if (made > 0 && begin)
  {
    const fs::file_time_type::duration each((*std::max_element(times.begin(), times.end()) - *begin) / made);
    found.secondsForEach = std::chrono::duration<double>(each).count();
  }
  return found;
}

BatchRecords::BatchRecords(const ArgumentValues & values, const std::vector<SlideTask> & tasks)
  : m_Values(values)
  , m_Tasks(tasks)
{
  if (!values.GetCommand().Find("retry") || tasks.empty() || tasks.front().folder.empty())
  {
    return;
  }
  m_Folder = tasks.front().folder;
  m_State = GetStateFolder(m_Folder);
  m_Options = DescribeOptions(values);
  m_IsOverwriting = values.Has("overwrite");
  m_IsRetrying = values.Has("retry");
  m_Manifest = ReadManifest(m_Folder);
  m_ManifestTime = GetTime(GetManifest(m_Folder));
  const std::string failures = ReadAll(GetFailedTable(m_Folder));
  if (!failures.empty() && failures.rfind(FailedColumns, 0) != 0)
  {
    RefuseForeign(GetFailedTable(m_Folder), "it is no table of failures");
  }
}

BatchRecords::~BatchRecords()
{
  this->RemoveEmptyFolders();
}

std::string
BatchRecords::IdentifyInput(const std::string & name, const std::string & value, const std::string & slide)
{
  std::error_code ignored;
  if (fs::is_directory(value, ignored) && name == "tissue") // of each slide its own
  {
    return IdentifyFile(GetMaskInFolder(value, slide), HashedBytes::All);
  }
  auto & identity = m_Identities[value];
  if (identity.empty())
  {
    identity = fs::is_directory(value, ignored) ? IdentifyFolder(value)
               : fs::exists(value, ignored)     ? IdentifyFile(value, HashedBytes::All)
                                                : "of gigapixel " GIGAPIXEL_VERSION; // a ready model
  }
  return identity;
}

Json
BatchRecords::DescribeInputs(const SlideTask & task)
{
  const auto * const image = m_Values.GetCommand().Find("image");
  Json               inputs{ { "slide",
                               IdentifySlideOrVolume(task.slide,
                                       image && m_Values.Has("image") ? m_Values.GetText("image") : std::string()) } };
  for (const Argument & argument : m_Values.GetCommand().arguments)
  {
    const bool isInput = argument.channel == ArgumentChannel::Input && !argument.IsPositional();
    if (isInput && argument.content != "folder" && m_Values.Has(argument.name))
    {
      inputs[argument.name] = IdentifyInput(argument.name, m_Values.GetText(argument.name), task.slide);
    }
  }
  return inputs;
}

Json
BatchRecords::Describe(const SlideTask & task)
{
  Json & described = m_Described[task.output];
  if (described.is_null())
  {
    described = { { "slide", ToText(SeeFrom(task.slide, m_Folder)) },
                  { "output", ToText(GetName(task.output)) },
                  { "version", GIGAPIXEL_VERSION },
                  { "command", m_Values.GetCommand().name },
                  { "options", m_Options } };
    try
    {
      described["inputs"] = this->DescribeInputs(task);
    }
    catch (const std::exception &)
    {
      described["inputs"] = nullptr; // whoever reads them says what is wrong
    }
  }
  return described;
}

Json
BatchRecords::FindEntry(const std::string & output)
{
  const std::string name = ToText(GetName(output));
  Json              record =
    Json::parse(ReadAll((fs::path(m_State) / (Hash(GetName(output)) + RecordEnding)).string()), nullptr, false);
  if (IsEntry(record) && record["output"] == name)
  {
    return record;
  }
  if (const std::int64_t time = GetTime(GetManifest(m_Folder)); time != m_ManifestTime) // another process has gathered
  {
    m_Manifest = ReadManifest(m_Folder);
    m_ManifestTime = time;
  }
  const auto found = m_Manifest.find(name);
  return found == m_Manifest.end() ? Json() : found->second;
}

std::optional<Json>
BatchRecords::Find(const SlideTask & task)
{
  if (!AreKept() || m_IsOverwriting)
  {
    return std::nullopt;
  }
  const Json entry = this->FindEntry(task.output);
  if (entry.is_null() || entry.value("command", "") != m_Values.GetCommand().name ||
      entry.value("options", Json()) != m_Options)
  {
    return std::nullopt;
  }
  const Json inputs = this->Describe(task)["inputs"];
  if (inputs.is_null() || entry.value("inputs", Json()) != inputs)
  {
    return std::nullopt;
  }
  Json result = entry["result"];
  if (HasFailed(entry))
  {
    return m_IsRetrying || IsOfMachine(result["error"]) ? std::nullopt : std::optional<Json>(result);
  }
  const auto outputs = task.GetOutputs();
  if (std::any_of(outputs.begin(), outputs.end(), [](const std::string & file) { return !fs::exists(file); }))
  {
    return std::nullopt;
  }
  Json recorded = entry.value("outputs", Json::array());
  for (std::size_t i = 0; i < std::min(recorded.size(), outputs.size()); ++i)
  {
    if (const std::string field = recorded[i].value("field", ""); !field.empty())
    {
      result[field] = outputs[i]; // which may have been named in another way
    }
    recorded[i].erase("field");
  }
  if (IdentifyOutputs(task, GetHashedBytes(m_Values.GetCommand())) != recorded)
  {
    throw Refusal(
      Diagnostic("E-OUTPUT-EXISTS",
                 "the output was changed after it was made: " + GetManifest(m_Folder) + " has another hash of it",
                 "write into another folder, or replace it by --overwrite")
        .OfFile(task.output));
  }
  return result;
}

void
BatchRecords::MakeStateFolder()
{
  std::error_code error;
  for (fs::path folder = fs::absolute(m_State); !fs::exists(folder, error) && folder.has_parent_path();
       folder = folder.parent_path())
  {
    m_MadeFolders.insert(m_MadeFolders.begin(), folder.string());
  }
  fs::create_directories(m_State, error);
  if (!m_HasBegun && fs::is_directory(m_State, error))
  {
    m_HasBegun = true;
    Json outputs = Json::array();
    for (const SlideTask & task : m_Tasks)
    {
      outputs.push_back(ToText(GetName(task.output)));
    }
    const std::string text = ToLine({ { "command", m_Values.GetCommand().name }, { "outputs", outputs } });
    try
    {
      WriteFile((fs::path(m_State) / (Hash(text) + BatchEnding)).string(), text);
    }
    catch (const std::exception &)
    {} // another process has written the same, or what follows says what is wrong
  }
}

bool
BatchRecords::Lock(const SlideTask & task, std::unique_ptr<BatchLock> & lock)
{
  this->Describe(task);
  for (int trial = 0; trial < 2 && !m_CannotWrite; ++trial)
  {
    try
    {
      this->MakeStateFolder();
      lock = BatchLock::Take(m_State, Hash(GetName(task.output)), { { "slide", task.slide } });
      return lock != nullptr;
    }
    catch (const std::exception &)
    {
      std::error_code ignored;
      m_CannotWrite = trial > 0 || fs::is_directory(m_State, ignored); // another process may have removed it as empty
    }
  }
  return true;
}

void
BatchRecords::Add(const SlideTask & task, const Json & result)
{
  try
  {
    this->Write(task, result);
  }
  catch (const std::exception &)
  {
    m_Unrecorded = m_Unrecorded.empty() && !result.contains("error") ? task.output : m_Unrecorded;
  }
}

void
BatchRecords::Write(const SlideTask & task, const Json & result)
{
  if (!AreKept())
  {
    return;
  }
  const Json      before = this->FindEntry(task.output);
  std::error_code ignored;
  if (result.contains("error") && !before.is_null() && !HasFailed(before) && fs::exists(task.output, ignored))
  {
    return; // what the folder has is as it was
  }
  Json entry = this->Describe(task);
  if (!result.contains("error"))
  {
    entry["outputs"] = IdentifyOutputs(task, GetHashedBytes(m_Values.GetCommand()));
    const auto outputs = task.GetOutputs();
    for (const auto & item : result.items())
    {
      const auto found = std::find(
        outputs.begin(), outputs.end(), item.value().is_string() ? item.value().get<std::string>() : std::string());
      if (found != outputs.end())
      {
        entry["outputs"][found - outputs.begin()]["field"] = item.key();
      }
    }
  }
  entry["result"] = result;
  entry["result"].erase("skipped"); // which is said of a run
  this->MakeStateFolder();
  WriteFile((fs::path(m_State) / (Hash(GetName(task.output)) + RecordEnding)).string(), ToLine(entry));
}

void
BatchRecords::Finish(const Session & session)
{
  try
  {
    this->Gather();
  }
  catch (const Interrupted &)
  {
    throw;
  }
  catch (const std::exception &)
  {
    m_Unrecorded = m_Unrecorded.empty() ? GetManifest(m_Folder) : m_Unrecorded;
  }
  if (!m_Unrecorded.empty())
  {
    session.Warn(Diagnostic("W-BATCH-UNRECORDED",
                            "the folder " + m_Folder + " cannot be written into, and " + GetManifest(m_Folder) +
                              " does not have all results",
                            "free space or get the right to write, and give the same command again")
                   .OfFile(m_Unrecorded));
  }
}

void
BatchRecords::Gather()
{
  std::error_code error;
  if (!AreKept() || !fs::exists(m_State, error))
  {
    return;
  }
  std::unique_ptr<BatchLock> lock;
  while (!(lock = BatchLock::Take(m_State, "manifest", { { "slide", nullptr } })))
  {
    ThrowIfInterrupted();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  auto entries = ReadManifest(m_Folder);
  auto files = FindFiles(m_State, RecordEnding);
  for (const std::string & file : files)
  {
    const Json entry = Parse(ReadAll(file));
    if (IsEntry(entry))
    {
      entries[entry["output"].get<std::string>()] = entry;
    }
  }
  const bool isOfUse =
    std::any_of(entries.begin(), entries.end(), [](const auto & each) { return !HasFailed(each.second); });
  if (isOfUse) // else the folder has no results
  {
    Update(GetManifest(m_Folder), FormatManifest(entries));
    Update(GetFailedTable(m_Folder), FormatFailures(entries));
  }
  for (const std::string & batch : FindFiles(m_State, BatchEnding))
  {
    const auto outputs = ReadOutputs(batch);
    if (std::all_of(outputs.begin(), outputs.end(), [&](const auto & output) { return entries.count(output) > 0; }))
    {
      files.push_back(batch);
    }
  }
  for (const std::string & file : files)
  {
    fs::remove(file, error);
  }
  BatchLock::RemoveDead(m_State); // of processes that were killed between the record and the end of the lock
}

void
BatchRecords::RemoveEmptyFolders() const
{
  std::error_code error;
  if (!AreKept() || !fs::is_directory(m_State, error))
  {
    return;
  }
  if (FindFiles(m_State, RecordEnding).empty() && BatchLock::FindHolders(m_State).empty())
  {
    for (const std::string & file : FindFiles(m_State, BatchEnding))
    {
      fs::remove(file, error);
    }
  }
  fs::remove(m_State, error); // which fails where something is in it
  for (auto folder = m_MadeFolders.rbegin(); folder != m_MadeFolders.rend(); ++folder)
  {
    fs::remove(*folder, error);
  }
}

} // namespace gigapixel::commandline
