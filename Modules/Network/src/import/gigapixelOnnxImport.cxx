/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "graph/gigapixelFileKind.h"
#include "gigapixelHash.h"
#include "gigapixelImageNorms.h"
#include "model/gigapixelModelFile.h"
#include "gigapixelNetworkImport.h"
#include "gigapixelOnnxWalk.h"
#include "gigapixelPrintable.h"
#include "model/gigapixelSafeTensors.h"
#include "graph/gigapixelOperationSchema.h"

#include <nlohmann/json.hpp>

#include <algorithm>
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
        throw std::invalid_argument("its node \"" + GetPrintable(node.name).substr(0, 200) + "\" gives \"" +
                                    GetPrintable(output).substr(0, 200) + "\", which there is already");
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
    throw std::invalid_argument("it " + DescribeFileKind(kind));
  }
  std::string     head(1, '\0');
  std::error_code error;
  if (std::filesystem::is_regular_file(path, error)) // opening a pipe would wait for ever
  {
    std::ifstream(path, std::ios::binary).read(head.data(), static_cast<std::streamsize>(head.size()));
    if (const auto bytes = std::filesystem::file_size(path, error); !error && bytes > MostBytes)
    {
      throw std::invalid_argument("it has " + std::to_string(bytes) + " bytes, and no ONNX file has more than " +
                                  std::to_string(MostBytes));
    }
  }
  const unsigned tag = static_cast<unsigned char>(head.front());
  if (tag != 0 && (tag >> 3 < 1 || tag >> 3 > 26 || (tag & 7) % 2 != 0))
  {
    throw std::invalid_argument("it is no ONNX file");
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
    m_Options.Check(channels, m_Images.front().size.GetNumberOfAxes() > 2);
    if (m_File.opset < FirstOpset)
    {
      throw std::invalid_argument("it is of opset " + std::to_string(m_File.opset) +
                                  ", whose operators mean other things than those of " + std::to_string(FirstOpset) +
                                  " and later; export it anew");
    }
  }

  /** The network of the smallest multiple that all sizes are of. \throw std::invalid_argument there is none */
  Model
  Make()
  {
    const Extent               fixed = m_Images.front().size;
    const bool                 isFixed = m_Images.front().IsOfFixedSize();
    std::optional<std::string> missing, problem;
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
        missing = error.what();
      }
      catch (const std::invalid_argument & error)
      {
        missing.reset(); // what was missing before was so for its size alone
        problem = problem ? problem : error.what();
      }
    }
    throw std::invalid_argument(missing ? *missing : *problem);
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

  /** Takes off what makes probabilities of classes of logits, also where pixels of these are chosen or copied behind
   * it: so are the logits' then. */
  static void
  Strip(SizedGraph & sized)
  {
    NetworkGraph & graph = sized.graph;
    const auto     countReaders = [&graph](const std::string & name) {
      return std::accumulate(graph.operations.begin(), graph.operations.end(), 0, [&](int sum, const Operation & each) {
        return sum + static_cast<int>(std::count(each.inputs.begin(), each.inputs.end(), name));
      });
    };
    const auto choosesPixels = [](const Operation & operation) {
      return operation.type == "crop" || operation.type == "slice" ||
             (operation.type == "interpolate" && operation.GetWord("mode") == "nearest");
    };
    const std::string end = graph.GetOutputChannels() == 1 ? "sigmoid" : "softmax";
    std::string *     place = &graph.output; // where the name of the operation stands that is looked at
    int               readers = 0;
    while (countReaders(*place) == readers && choosesPixels(graph.operations[graph.GetIndex(*place)]))
    {
      place = &graph.operations[graph.GetIndex(*place)].inputs.front();
      readers = 1;
    }
    const int last = graph.GetIndex(*place);
    if (graph.operations[last].type == end && countReaders(*place) == readers)
    {
      sized.leftOut.insert(end + " at the end");
      *place = graph.operations[last].inputs.front();
      graph.operations.erase(graph.operations.begin() + last);
    }
  }

  /** Networks whose logits are the mean of their maps itself, as SqueezeNet's: in a graph something is computed of it.
   */
  static void
  EndBehindMean(NetworkGraph & graph)
  {
    const Operation output = graph.operations[graph.GetIndex(graph.output)];
    if (!OperationSchema::Find(output.type)->getReduction(output))
    {
      return;
    }
    std::string name = "logits";
    while (
      std::any_of(graph.operations.begin(), graph.operations.end(), [&](const auto & o) { return o.name == name; }))
    {
      name += '_';
    }
    graph.operations.push_back({ name, "mul", { output.name }, { { "other", 1.0 } }, {} });
    graph.output = name;
  }

  static void
  CheckLogits(const NetworkGraph & graph)
  {
    const Operation & source = FindSourceOfOutput(graph);
    if (OperationSchema::Find(source.type)->Is(Role::NoLogits))
    {
      // At all sizes: no other multiple is to be tried.
      throw std::domain_error("its output is " + (source.name == graph.output ? std::string("a ") : "moved from a ") +
                              source.type +
                              ", which gives no logits of classes that exclude each "
                              "other, as losses and masks here need them");
    }
  }

  std::string
  MakeProvenance(const SizedGraph & sized) const
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
    if (!sized.shapes.empty())
    {
      json["shapes"] = sized.shapes;
    }
    if (!sized.leftOut.empty())
    {
      json["left out"] = sized.leftOut;
    }
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

  NetworkDescription
  Describe(const SizedGraph & sized) const
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
    network.loss = network.graph.GetOutputChannels() == 1 ? NetworkDescription::Loss::BinaryCrossEntropy
                                                          : NetworkDescription::Loss::SoftmaxCrossEntropy;
    network.provenance = MakeProvenance(sized);
    return NetworkDescription::FromJSON(network.ToJSON());
  }

  Model
  MakeModel(SizedGraph sized, std::int64_t multiple) const
  {
    sized.graph.Validate();
    Strip(sized);
    EndBehindMean(sized.graph);
    sized.graph.Validate(); // as it is now
    const std::string problem = GetRunProblem(sized.graph);
    if (!problem.empty())
    {
      throw std::domain_error(problem); // at all sizes: no other multiple is to be tried
    }
    CheckLogits(sized.graph);
    if (multiple > 1 && sized.graph.LabelsImage())
    {
      throw std::invalid_argument(
        "it labels images whose sides are multiples of " + std::to_string(multiple) +
        " alone: of others the pixels that they would be padded with would count in the mean");
    }
    if (multiple > 1)
    {
      PadToMultiple(sized.graph, multiple);
    }
    Model model;
    model.network = Describe(sized);
    model.micronsPerPixel = m_Options.micronsPerPixel;
    model.tileSize = m_Options.GetTileSize(model.network);
    for (const ParameterDescription & parameter : model.network.GetParameters())
    {
      const OnnxConstant & array = *sized.arrays.at(parameter.name);
      model.parameters[parameter.name] = { array.shape, array.floats };
    }
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
    CheckParameters(model);
    return model;
  }
  catch (const std::logic_error & error)
  {
    throw std::runtime_error("network file \"" + path + "\": " + GetPrintable(error.what())); // names of the file's
  }
}

} // namespace gigapixel
