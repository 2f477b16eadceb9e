/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelDiagnostic.h"
#include "gigapixelFormatCount.h"
#include "graph/json/gigapixelFileKind.h"
#include "gigapixelHash.h"
#include "gigapixelImageKind.h"
#include "gigapixelImageNorms.h"
#include "gigapixelLabeling.h"
#include "model/gigapixelModelFile.h"
#include "gigapixelNetworkImport.h"
#include "gigapixelOnnxWalk.h"
#include "gigapixelPrintable.h"
#include "model/gigapixelSafeTensors.h"
#include "graph/gigapixelOperationSchema.h"
#include "graph/gigapixelValueBounds.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>

namespace gigapixel
{
namespace
{

using Json = nlohmann::ordered_json;

/** Networks whose maps are halved this often take no other multiples. */
constexpr std::int64_t LargestMultiple = 256;

/** Before, arrays were broadcast in another way. */
constexpr std::int64_t FirstOpset = 7;

/** Sizes of a multiple that are different from each other, and in their sides. */
std::vector<Extent>
MakeSizes(std::int64_t multiple, int axes)
{
  const std::vector<Extent> odd{ { 291, 373, 518 }, { 340, 412, 301 }, { 437, 350, 449 } };
  const std::vector<Extent> rough{ { 1160, 384, 520 }, { 1032, 648, 392 }, { 1288, 904, 776 } };
  std::vector<Extent>       sizes(odd.size(), Extent(axes));
  for (std::size_t i = 0; i < sizes.size(); ++i)
  {
    for (int axis = 0; axis < axes; ++axis)
    {
      const std::int64_t side = (multiple == 1 ? odd : rough)[i][axis + 3 - axes];
      sizes[i][axis] = multiple == 1 ? side : multiple * (side / multiple | 1);
    }
  }
  return sizes;
}

/** Of protobuf, in whose form ONNX files are. */
constexpr std::uintmax_t MostBytes = std::uintmax_t{ 1 } << 31;

/** Values have one source: else readers may disagree on which one counts. \throw std::invalid_argument one has two */
OnnxFile
CheckSources(OnnxFile file)
{
  std::set<std::string> given;
  for (const OnnxValue & input : file.inputs)
  {
    given.insert(input.name);
  }
  for (const OnnxNode & node : file.nodes)
  {
    for (const std::string & output : node.outputs)
    {
      if (!output.empty() && (file.arrays.count(output) > 0 || !given.insert(output).second))
      {
        throw InvalidArgument(Diagnostic("E-ONNX-FORMAT",
                                         "its node \"" + GetPrintable(node.name).substr(0, 200) + "\" gives \"" +
                                           GetPrintable(output).substr(0, 200) + "\", which there is already"));
      }
    }
  }
  return file;
}

/** A slide that is given for a network has gigabytes: its first byte says that it is none. Fields of an ONNX file have
 * the numbers 1 to 26, and the first one is a number, a text or a message. */
std::string
ReadOnnx(const std::string & path)
{
  const FileKind kind = FindFileKind(path);
  if (kind != FileKind::ONNX && kind != FileKind::Unknown)
  {
    throw InvalidArgument(DescribeFileKind(kind));
  }
  std::string     head(1, '\0');
  std::error_code error;
  if (std::filesystem::is_regular_file(path, error)) // opening a pipe would wait for ever
  {
    std::ifstream(path, std::ios::binary).read(head.data(), static_cast<std::streamsize>(head.size()));
    if (const auto bytes = std::filesystem::file_size(path, error); !error && bytes > MostBytes)
    {
      throw InvalidArgument(Diagnostic("E-FILE-LIMIT",
                                       "it has " + std::to_string(bytes) + " bytes, and no ONNX file has more than " +
                                         std::to_string(MostBytes)));
    }
  }
  const unsigned tag = static_cast<unsigned char>(head.front());
  if (tag != 0 && (tag >> 3 < 1 || tag >> 3 > 26 || (tag & 7) % 2 != 0))
  {
    throw InvalidArgument(Diagnostic("E-ONNX-FORMAT", "it is no ONNX file"));
  }
  return ReadFile(path);
}

/** \class Importer
 * \brief One file on its way to a model. */
class Importer
{
public:
  Importer(const std::string & path, const ImportOptions & options)
    : m_Path(path)
    , m_Options(options)
    , m_Content(ReadOnnx(path))
    , m_File(CheckSources(ReadBeside(OnnxFile::Parse(m_Content), path)))
    , m_Images(GetOnnxImages(m_File))
  {
    const int channels = std::accumulate(m_Images.begin(), m_Images.end(), 0, [](int sum, const OnnxImage & image) {
      return sum + static_cast<int>(image.channels);
    });
    m_Options.Check(channels, ImageKind::Of(m_Images.front().size.GetNumberOfAxes()).areFloats);
    if (m_File.opset < FirstOpset)
    {
      throw InvalidArgument(Diagnostic("E-ONNX-FORMAT",
                                       "it is of opset " + std::to_string(m_File.opset) +
                                         ", whose operators mean other things than those of " +
                                         std::to_string(FirstOpset) + " and later",
                                       "export it anew"));
    }
  }

  /** The network of the smallest multiple that all sizes are of. \throw std::invalid_argument there is none */
  Model
  Make()
  {
    const Extent              fixed = m_Images.front().size;
    const bool                isFixed = m_Images.front().IsOfFixedSize();
    std::optional<Diagnostic> missing, problem;
    for (std::int64_t multiple = 1; multiple <= LargestMultiple; multiple *= 2)
    {
      const auto isMultiple = [=](std::int64_t side) { return side % multiple == 0; };
      if (isFixed && !std::all_of(fixed.begin(), fixed.end(), isMultiple))
      {
        break;
      }
      try
      {
        return MakeModel(Walk(isFixed ? std::vector<Extent>{ fixed } : MakeSizes(multiple, fixed.GetNumberOfAxes())),
                         multiple);
      }
      catch (const MissingOperations & error)
      {
        missing = error.GetDiagnostic();
      }
      catch (const std::invalid_argument & error)
      {
        missing.reset(); // what was missing before was so for its size alone
        problem = problem ? problem : Diagnostic::Of(error);
      }
    }
    throw InvalidArgument(missing ? *missing : *problem);
  }

private:
  static OnnxFile
  ReadBeside(OnnxFile && file, const std::string & path)
  {
    file.ReadBeside(std::filesystem::path(path).parent_path().string());
    return std::move(file);
  }

  SizedGraph
  Walk(const std::vector<Extent> & sizes)
  {
    std::vector<SizedGraph> graphs;
    graphs.reserve(sizes.size());
    for (const Extent & size : sizes)
    {
      graphs.push_back(OnnxWalk::Make(m_File, m_Images, m_Arrays, size, m_Options.output));
    }
    return MergeSizes(graphs);
  }

  std::string
  MakeProvenance(const SizedGraph & sized, const SettledOutput & settled) const
  {
    Hash hash;
    hash.Add(m_Content.data(), m_Content.size());
    for (const auto & item : m_File.beside)
    {
      hash.Add(item.second->data(), item.second->size());
    }
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash.Get()));
    Json json{ { "made by", "ONNX of " + GetPrintable(m_File.producer) + ", opset " + std::to_string(m_File.opset) },
               { "file", GetPrintable(std::filesystem::path(m_Path).filename().string()) },
               { "FNV-1a", digits } };
    for (const OnnxImage & image : m_Images)
    {
      json["inputs"].push_back({ { "name", GetPrintable(image.name) }, { "channels", image.channels } });
    }
    if (m_File.outputs.size() > 1)
    {
      for (const OnnxValue & output : m_File.outputs)
      {
        json["outputs"].push_back(GetPrintable(output.name));
      }
      json["logits"] = GetPrintable(m_Options.output.empty() ? m_File.outputs.front().name : m_Options.output);
    }
    if (!sized.shapes.empty())
    {
      json["shapes"] = sized.shapes;
    }
    if (!sized.leftOut.empty())
    {
      json["left out"] = sized.leftOut;
    }
    if (!settled.computed.empty())
    {
      json["output"] = settled.computed;
    }
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

  void
  Warn(const SettledOutput & settled, const NetworkDescription & network, bool isLabels, bool isRenamed) const
  {
    if (!m_Options.warn)
    {
      return;
    }
    if (m_File.outputs.size() > 1 && m_Options.output.empty())
    {
      std::string names;
      for (const OnnxValue & output : m_File.outputs)
      {
        names += (names.empty() ? "" : ", ") + GetPrintable(output.name);
      }
      m_Options.warn(Diagnostic("W-MODEL-OUTPUT",
                                "it has " + FormatCount(m_File.outputs.size(), "output") + " (" + names +
                                  "), and the first one is taken",
                                "name another one by --logits if it has the result")
                       .OfFile(m_Path)
                       .OfOption("--logits")
                       .OfValue(GetPrintable(m_File.outputs.front().name)));
    }
    const bool isOfOne = network.GetNumberOfOutputChannels() == 1;
    if (settled.bounds && !isLabels)
    {
      m_Options.warn(
        Diagnostic("W-MODEL-OUTPUT",
                   "its values are " + ToText(*settled.bounds) + ", and count as logits: " +
                     (isOfOne ? "the label is 1 where they are above 0" : "the label is the class of the greatest one"))
          .OfFile(m_Path));
    }
    if (isRenamed)
    {
      m_Options.warn(
        Diagnostic("W-MODEL-OUTPUT", "it gives its labels other numbers at the end, such as 255: here they are 0 and 1")
          .OfFile(m_Path));
    }
    if (settled.isOfEach && !isLabels)
    {
      m_Options.warn(Diagnostic("W-MODEL-OUTPUT",
                                "the probabilities of its classes do not have the sum 1: the label is that of the "
                                "greatest one",
                                network.GetNumberOfClasses() == 2
                                  ? "ask for the probability of the last class (of slides segment --probability) "
                                    "where they may overlap"
                                  : "")
                       .OfFile(m_Path));
    }
    if (settled.greatest != 1)
    {
      m_Options.warn(Diagnostic("W-MODEL-OUTPUT", "its output is taken for " + settled.computed).OfFile(m_Path));
    }
  }

  NetworkDescription
  Describe(const SizedGraph & sized, const SettledOutput & settled) const
  {
    NetworkDescription network;
    network.name =
      m_Options.name.empty() ? GetPrintable(std::filesystem::path(m_Path).stem().string()) : m_Options.name;
    network.graph = sized.graph;
    network.graph.Validate();
    network.channels = network.graph.GetInputChannels();
    network.invert = false;
    network.mean = m_Options.mean;
    network.deviation = m_Options.deviation;
    network.SetLoss("cross-entropy");
    network.probabilities =
      settled.isOfEach ? NetworkDescription::Probabilities::Sigmoid : NetworkDescription::Probabilities::Softmax;
    network.provenance = MakeProvenance(sized, settled);
    return NetworkDescription::FromJSON(network.ToJSON());
  }

  static ValueBounds::FindArray
  FindArrays(const SizedGraph & sized)
  {
    return [&sized](const std::string & name) {
      const auto found = sized.arrays.find(name);
      return found == sized.arrays.end() ? nullptr : &found->second->floats;
    };
  }

  /** \throw std::domain_error the output's sign is always the same, at all sizes: no other multiple is to be tried */
  static SettledOutput
  Settle(SizedGraph & sized)
  {
    SettledOutput settled = SettleOutput(sized.graph, FindArrays(sized));
    if (!settled.leftOut.empty())
    {
      sized.leftOut.insert(settled.leftOut);
    }
    const bool hasOneSign = settled.bounds && (settled.bounds->least >= 0 || settled.bounds->greatest <= 0);
    if (hasOneSign && sized.graph.GetOutputChannels() == 1 && !sized.isLabels)
    {
      throw RefusalOf<std::domain_error>(
        Diagnostic("E-NETWORK-OPERATION",
                   "its output is " + ToText(*settled.bounds) +
                     ", so that it is neither logits nor, for all that its operations say, probabilities",
                   "let it return logits or probabilities")
          .OfValue(sized.graph.operations[sized.graph.GetIndex(sized.graph.output)].type));
    }
    return settled;
  }

  static void
  Append(NetworkGraph & graph, const char * type, double other)
  {
    graph.operations.push_back({ graph.output + "." + type, type, { graph.output }, { { "other", other } }, {} });
    graph.output = graph.operations.back().name;
  }

  /** Labels that the file makes by a number become those of logits above 0. Probabilities stay what they are but for
   * the number. \throw std::domain_error two classes have no such labels */
  static SettledOutput
  SettleThreshold(SizedGraph & sized)
  {
    const LabelThreshold & threshold = *sized.threshold;
    const OutputValues     values = FindOutputValues(sized.graph, FindArrays(sized));
    const double           share = threshold.number / values.greatest;
    const bool             ofProbabilities = values.kind == OutputValues::Kind::Probabilities && share > 0 && share < 1;
    const double           sign = threshold.isBelow ? -1 : 1;
    const double           shift = ofProbabilities ? -std::log(share / (1 - share)) : -threshold.number;
    // Where many pixels have the number itself, as 0 behind ReLU, the least step is that of a label.
    const bool isBound =
      !ofProbabilities && (threshold.number == values.range.least || threshold.number == values.range.greatest);
    const double step = isBound ? sign * (1 << 20) : sign;
    const double beside = !isBound ? 0 : threshold.isStrict ? -1 : 1;
    const double a = step * (values.range.least + shift) + beside, b = step * (values.range.greatest + shift) + beside;
    const bool   isConstant = !ofProbabilities && (std::min(a, b) >= 0 || std::max(a, b) < 0);
    if (sized.graph.GetOutputChannels() != 1 || isConstant ||
        (threshold.isRounding && (!ofProbabilities || values.greatest != 1)))
    {
      throw RefusalOf<std::domain_error>(Diagnostic(
        "E-NETWORK-OPERATION",
        "its labels are made by a threshold that no two classes have: of several channels, of values that are always "
        "above or always below it, or by rounding what is no probability",
        "export it without the last operations"));
    }
    SettledOutput settled = ofProbabilities ? Settle(sized) : SettledOutput();
    if (shift != 0 || !ofProbabilities)
    {
      Append(sized.graph, "add", shift);
    }
    if (step != 1)
    {
      Append(sized.graph, "mul", step);
    }
    if (beside != 0)
    {
      Append(sized.graph, "add", beside);
    }
    sized.graph.Validate();
    return settled;
  }

  Model
  MakeModel(SizedGraph sized, std::int64_t multiple) const
  {
    sized.graph.Validate();
    const SettledOutput settled = sized.threshold ? SettleThreshold(sized) : Settle(sized);
    const std::string   problem = GetRunProblem(sized.graph);
    if (!problem.empty())
    {
      throw RefusalOf<std::domain_error>(
        Diagnostic("E-NETWORK-OPERATION", problem)); // at all sizes: no other multiple is to be tried
    }
    if (multiple > 1)
    {
      Labeling::Of(sized.graph).PadToMultiple(sized.graph, multiple);
    }
    Model model;
    model.network = Describe(sized, settled);
    model.micronsPerPixel = m_Options.micronsPerPixel;
    model.tileSize = m_Options.GetTileSize(model.network);
    for (const ParameterDescription & parameter : model.network.GetParameters())
    {
      const OnnxConstant & array = *sized.arrays.at(parameter.name);
      model.parameters[parameter.name] = { array.shape, array.floats };
    }
    Warn(settled, model.network, sized.isLabels, sized.isRenamed);
    return model;
  }

  const std::string            m_Path;
  const ImportOptions          m_Options;
  const std::string            m_Content;
  const OnnxFile               m_File;
  const std::vector<OnnxImage> m_Images;
  OnnxWalk::Arrays             m_Arrays;
};

} // namespace

Model
ImportONNX(const std::string & path, const ImportOptions & options)
{
  try
  {
    Model model = Importer(path, options).Make();
    model = options.norms == ImportedNorms::Image ? TakeNormsOfImage(std::move(model)) : std::move(model);
    options.Orient(model.network);
    CheckParameters(model);
    return model;
  }
  catch (const std::logic_error & error)
  {
    Diagnostic problem = Diagnostic::Of(error);
    problem.code = problem.code == "E-OTHER" ? "E-ONNX-FORMAT" : problem.code;
    problem.why = GetPrintable(problem.why); // names of the file's
    problem.value = GetPrintable(problem.value);
    throw Refusal(problem.OfFile(path));
  }
}

} // namespace gigapixel
