/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "BatchRecords.h"

#include "NameText.h"
#include "SlideBatch.h"
#include "SlideFile.h"
#include "TableValues.h"

#include "gigapixelAtomicFile.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelFileIdentity.h"
#include "gigapixelMaskName.h"
#include "gigapixelSession.h"
#include "gigapixelSlideFiles.h"
#include "gigapixelTissueNetwork.h"
#include "gigapixelTissuePresets.h"
#include "itkGigapixelVolumeSource.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <thread>

namespace fs = std::filesystem;

namespace gigapixel::application
{
namespace
{
using Json = nlohmann::ordered_json;

std::string
ToLine(const Json & json)
{
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/** A short name for a file beside others, whatever the name is that it stands for. */
std::string
Hash(const std::string & text)
{
  const std::string identity = IdentifyContent(text);
  return identity.substr(identity.rfind('=') + 1);
}

void
WriteFile(const std::string & file, const std::string & text)
{
  AtomicFile output(file);
  output.Append(text);
  output.Commit();
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
    const bool isOfAnother = !argument.needs.empty() && !values.IsGiven(argument.name);
    if (isFile || isOfAnother || argument.effect == OptionEffect::Nothing || argument.name == "overwrite" ||
        !values.Has(argument.name))
    {
      continue;
    }
    auto texts =
      argument.type == ArgumentType::Switch ? std::vector<std::string>{ "yes" } : values.GetTexts(argument.name);
    std::transform(texts.begin(), texts.end(), texts.begin(), ToNameText);
    options[argument.name] = texts.size() == 1 ? Json(texts.front()) : Json(texts);
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

/** A slide, or the files of a volume. */
std::string
IdentifySlideOrVolume(const std::string & slide, const SlideContent & content)
{
  std::string all;
  for (const std::string & file : itk::GigapixelSplitModalities(slide))
  {
    all += (all.empty() ? "" : ", ") + (fs::is_directory(file) ? IdentifyFolder(file) : IdentifySlide(file, content));
  }
  return all;
}

Json
IdentifyOutputs(const SlideTask & task, HashedBytes bytes)
{
  Json outputs = Json::array();
  for (const std::string & output : task.GetOutputs())
  {
    outputs.push_back({ { "file", ToNameText(GetName(output)) }, { "content", IdentifyFile(output, bytes) } });
  }
  return outputs;
}

} // namespace

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
  const std::string failures = GetFailedTable(m_Folder);
  std::error_code   ignored;
  if (fs::exists(fs::symlink_status(failures, ignored)) && ReadAll(failures).rfind(FailedColumns, 0) != 0)
  {
    throw Refusal(Diagnostic("E-OUTPUT-EXISTS",
                             "it is no table of failures of ours, and would be replaced",
                             "write into another folder")
                    .OfFile(failures));
  }
}

BatchRecords::~BatchRecords()
{
  try
  {
    this->RemoveEmptyFolders();
  }
  catch (const std::exception &)
  {} // what is left does no harm
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
  Json inputs{ { "slide", IdentifySlideOrVolume(task.slide, GetSlideOptions(m_Values)) } };
  for (const Argument & argument : m_Values.GetCommand().arguments)
  {
    const bool isInput = argument.channel == ArgumentChannel::Input && !argument.IsPositional();
    if (isInput && argument.content != "folder" && m_Values.Has(argument.name))
    {
      inputs[argument.name] = IdentifyInput(argument.name, m_Values.GetText(argument.name), task.slide);
    }
  }
  // A tissue mask is made with a ready network that nobody names, and another release may have another one.
  if (m_Values.GetCommand().Find("preset") && !m_Values.Has("model") && MayUseTissueNetwork(m_Values.GetText("preset")))
  {
    inputs["model"] = TissueNetwork::Identify(TissueNetwork::ReadyModel) + " method=" + TissueNetwork::Method;
  }
  return inputs;
}

Json
BatchRecords::Describe(const SlideTask & task)
{
  Json & described = m_Described[task.output];
  if (described.is_null())
  {
    described = { { "slide", ToNameText(SeeFrom(task.slide, m_Folder)) },
                  { "output", ToNameText(GetName(task.output)) },
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
  const std::string name = ToNameText(GetName(output));
  Json              record = ParseEntry(ReadAll((fs::path(m_State) / (Hash(GetName(output)) + RecordEnding)).string()));
  if (!record.is_null() && record["output"] == name)
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
    return m_IsRetrying || IsToDo(entry) ? std::nullopt : std::optional<Json>(result);
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
      outputs.push_back(ToNameText(GetName(task.output)));
    }
    const std::string text = ToLine({ { "command", m_Values.GetCommand().name }, { "outputs", outputs } });
    try
    {
      m_Batch = (fs::path(m_State) / (Hash(text) + BatchEnding)).string();
      WriteFile(m_Batch, text);
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
    std::error_code ignored;
    const bool      isGathered = !fs::exists(m_State, ignored); // by another process, meanwhile
    m_Unrecorded = m_Unrecorded.empty() && !isGathered ? GetManifest(m_Folder) : m_Unrecorded;
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
  auto                               entries = ReadManifest(m_Folder);
  std::map<std::string, std::string> records;
  for (const std::string & file : FindFiles(m_State, RecordEnding))
  {
    const std::string text = ReadAll(file);
    const Json        entry = ParseEntry(text);
    if (!entry.is_null())
    {
      entries[entry["output"].get<std::string>()] = entry;
    }
    records[file] = text;
  }
  // Else nothing is known of any slide, or the only one was refused, which leaves no folder.
  const bool isOfUse = std::any_of(entries.begin(), entries.end(), [&entries](const auto & each) {
    return entries.size() > 1 ? !IsToDo(each.second) : !HasFailed(each.second);
  });
  if (isOfUse)
  {
    Update(GetManifest(m_Folder), FormatManifest(entries));
    Update(GetFailedTable(m_Folder), FormatFailures(entries));
  }
  for (const auto & [file, text] : records)
  {
    // Another process may have tried the slide again since, or be about to write.
    const auto own =
      BatchLock::Take(m_State, GetName(file.substr(0, file.size() - std::strlen(RecordEnding))), nullptr);
    if (own && ReadAll(file) == text)
    {
      fs::remove(file, error);
    }
  }
  for (const std::string & batch : FindFiles(m_State, BatchEnding))
  {
    const auto outputs = ReadOutputs(batch);
    if (std::all_of(outputs.begin(), outputs.end(), [&](const auto & output) { return entries.count(output) > 0; }))
    {
      fs::remove(batch, error);
    }
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
    fs::remove(m_Batch, error);
    fs::remove(BatchLock::GetClock(m_State), error);
  }
  fs::remove(m_State, error); // which fails where something is in it
  for (auto folder = m_MadeFolders.rbegin(); folder != m_MadeFolders.rend(); ++folder)
  {
    fs::remove(*folder, error);
  }
}

} // namespace gigapixel::application
