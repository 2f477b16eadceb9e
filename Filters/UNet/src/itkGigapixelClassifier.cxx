/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkGigapixelClassifier.h"

#include "itkGigapixelException.h"
#include "gigapixelClassifier.h"
#include "gigapixelJoinNames.h"
#include "gigapixelLabeling.h"
#include "gigapixelMaskName.h"
#include "gigapixelMemoryPlan.h"
#include "gigapixelRequireAxes.h"
#include "gigapixelSlideMemory.h"
#include "gigapixelTissueSource.h"
#include "itkGigapixelFileSource.h"
#include "itkGigapixelNetworkSource.h"
#include "itkGigapixelUNetImageFilter.h"
#include "itkMultiThreaderBase.h"

#include <algorithm>

namespace itk
{

struct GigapixelClassifier::Implementation
{
  std::shared_ptr<const gigapixel::Model>   model;
  std::function<gigapixel::PhysicalImage()> open; ///< empty: of the slide's file
  DataObject::ConstPointer                  image;
  std::string                               slide;
  std::vector<std::string>                  classNames; ///< of the model that the result is of; empty: there is none
  gigapixel::Objective                      objective;  ///< likewise
  bool                                      isAttention{ false };
  int                                       classOfMap{ 0 };
};

GigapixelClassifier::GigapixelClassifier()
  : m_Implementation(std::make_unique<Implementation>())
{
  this->SetNumberOfRequiredInputs(0);
  this->SetNumberOfRequiredOutputs(2);
  this->SetNthOutput(0, this->MakeOutput(0));
  this->SetNthOutput(1, this->MakeOutput(1));
}

GigapixelClassifier::~GigapixelClassifier() = default;

DataObject::Pointer
GigapixelClassifier::MakeOutput(DataObjectPointerArraySizeType index)
{
  return index == 1 ? DataObject::Pointer(MapType::New()) : DataObject::Pointer(ProbabilitiesType::New());
}

void
GigapixelClassifier::SetModelFileName(const std::string & fileName)
{
  if (m_ModelFileName != fileName || !m_Implementation->model)
  {
    m_ModelFileName = fileName;
    m_Implementation->model.reset();
    this->Modified();
  }
}

void
GigapixelClassifier::SetModel(const gigapixel::Model & model)
{
  this->SetSharedModel(std::make_shared<const gigapixel::Model>(model));
}

void
GigapixelClassifier::SetSharedModel(const std::shared_ptr<const gigapixel::Model> & model)
{
  m_Implementation->model = model;
  m_ModelFileName.clear();
  this->Modified();
}

void
GigapixelClassifier::SetSource(const std::function<gigapixel::PhysicalImage()> & open,
                               const DataObject *                                image,
                               const std::string &                               slide)
{
  m_Implementation->open = open;
  m_Implementation->image = image;
  m_Implementation->slide = slide;
  this->Modified();
}

void
GigapixelClassifier::SetSlide(const std::string & fileName)
{
  if (m_Implementation->slide != fileName)
  {
    this->SetSource({}, nullptr, fileName);
  }
}

void
GigapixelClassifier::LoadModel()
{
  auto & model = m_Implementation->model;
  if (!model && m_ModelFileName.empty())
  {
    throw gigapixel::Refusal(
      gigapixel::Diagnostic("E-CALL-ORDER", "no model", "call SetModelFileName() or SetModel()"));
  }
  if (!model)
  {
    model = std::make_shared<const gigapixel::Model>(gigapixel::Model::Load(m_ModelFileName));
  }
  gigapixel::Labeling::OfImages().Require(model->network);
  gigapixel::RequireAxes(model->network, 2);
}

gigapixel::PhysicalImage
GigapixelClassifier::OpenImage(bool onlyGrid)
{
  const Implementation &   state = *m_Implementation;
  const gigapixel::Model & model = *state.model;
  if (!state.open && state.slide.empty())
  {
    throw gigapixel::Refusal(
      gigapixel::Diagnostic("E-CALL-ORDER", "nothing to classify", "call SetImage() or SetSlide()"));
  }
  const auto goesOn = GigapixelAskWhetherToGoOn(*this);
  if (!state.open)
  {
    return GigapixelSlideForModel(state.slide, model, { m_Slide, onlyGrid, goesOn });
  }
  gigapixel::PhysicalImage image = state.open();
  const auto               warning = GigapixelCheckResolution(model.micronsPerPixel, image.grid.GetMicronsPerPixel());
  if (!warning.IsEmpty())
  {
    itkWarningMacro(<< gigapixel::Remember(warning.OfFile(image.name)));
  }
  if (onlyGrid)
  {
    return image;
  }
  const auto tissue =
    m_Slide.tissue.empty()
      ? nullptr
      : std::make_shared<const gigapixel::TissueMask>(GigapixelMaskSource(m_Slide.tissue), image.grid, image.name);
  image.pixels = GigapixelSourceForNetwork(image, model.network, tissue, goesOn);
  return image;
}

int
GigapixelClassifier::FindThreads(const gigapixel::PhysicalImage & image) const
{
  const auto threads = GigapixelCountThreads(*this);
  if (m_Computing.memoryLimit == 0)
  {
    return threads;
  }
  const gigapixel::Model & model = *m_Implementation->model;
  gigapixel::PlannedRun    run(model.network,
                            image.grid.size,
                            gigapixel::Purpose::Inference,
                            gigapixel::Device::Find(m_Computing.device, m_Computing.precision));
  run.LeaveOutWeights();
  run.processBytes += m_ComputeMap ? gigapixel::Classifier::GetExplanationBytes(model.network, image.grid.size) : 0;
  run.tileSize = m_Computing.tileSize == 0 ? model.tileSize : m_Computing.tileSize;
  run.budget = static_cast<std::int64_t>(m_Computing.memoryLimit);
  run.threads = threads;
  if (!m_Implementation->open)
  {
    gigapixel::SlideMemory memory{ model.network, image.grid.size, gigapixel::Purpose::Inference };
    memory.tileSize = run.tileSize;
    memory.reading.AddFile(m_Implementation->slide,
                           model.network.channels,
                           GigapixelContentForModel(m_Implementation->slide, m_Slide, model),
                           model.network.IsNormalized());
    memory.reading.AddResampling(image);
    run.threads = memory.reading.LimitThreads(threads, run.budget);
    run.SetLimit(run.budget, [memory](std::int64_t limit) { return memory.GetBytes(limit); });
  }
  return gigapixel::MemoryPlan::Make(run).tilesInFlight;
}

const DataObject *
GigapixelClassifier::GetImage() const
{
  return m_Implementation->image;
}

void
GigapixelClassifier::Update()
{
  this->GetOutput(0)->Update();
}

ModifiedTimeType
GigapixelClassifier::GetMTime() const
{
  const DataObject * const image = this->GetImage();
  return std::max(Superclass::GetMTime(), image ? GigapixelUpstreamMTime(*image) : ModifiedTimeType{ 0 });
}

void
GigapixelClassifier::InSentences(const std::function<void()> & f) const
{
  try
  {
    f();
  }
  catch (const ExceptionObject &)
  {
    throw; // from an observer, or the pipeline that is read
  }
  catch (const gigapixel::MemoryLimitError & error)
  {
    std::throw_with_nested(GigapixelException(__FILE__, __LINE__, gigapixel::Diagnostic::Of(error), ITK_LOCATION));
  }
  catch (const std::exception & error)
  {
    itkGigapixelExceptionMacro(gigapixel::Diagnostic::Of(error));
  }
}

void
GigapixelClassifier::GenerateOutputInformation()
{
  if (!m_ComputeMap)
  {
    this->GetMap()->SetLargestPossibleRegion(MapType::RegionType());
    return;
  }
  this->InSentences([this] {
    this->LoadModel();
    const gigapixel::NetworkDescription & network = m_Implementation->model->network;
    const gigapixel::Grid                 grid = this->OpenImage(true).grid;
    network.CheckImage(grid.size);
    const MapType::Pointer map = GigapixelMapImage(gigapixel::Classifier::DescribeMap(network, grid.size), grid);
    this->GetMap()->CopyInformation(map);
  });
}

void
GigapixelClassifier::EnlargeOutputRequestedRegion(DataObject *)
{
  this->GetMap()->SetRequestedRegionToLargestPossibleRegion();
}

void
GigapixelClassifier::GenerateData()
{
  const gigapixel::TileCacheBound bound(static_cast<std::int64_t>(m_Computing.memoryLimit));
  Implementation &                state = *m_Implementation;
  std::vector<double>             probabilities;
  gigapixel::ActivationMap        map;
  gigapixel::Grid                 grid;
  bool                            finished = false;
  state.classNames.clear();
  this->InSentences([&] {
    this->LoadModel();
    const gigapixel::Model &       model = *state.model;
    const int                      mapClass = GigapixelFindMapClass(model.network, m_Options.mapClass);
    const gigapixel::PhysicalImage image = this->OpenImage(false);
    grid = image.grid;
    model.network.CheckImage(grid.size);
    gigapixel::Classifier classifier(model,
                                     this->FindThreads(image),
                                     gigapixel::Device::Find(m_Computing.device, m_Computing.precision),
                                     m_Computing.tileSize);
    const auto            report = [this](double done) {
      this->UpdateProgress(static_cast<float>(done));
      return !this->GetAbortGenerateData();
    };
    finished = m_ComputeMap ? classifier.Explain(*image.pixels, mapClass, probabilities, map, report)
                            : classifier.Classify(*image.pixels, probabilities, report);
  });
  if (!finished)
  {
    throw ProcessAborted(__FILE__, __LINE__);
  }
  this->GetProbabilitiesOutput()->Set(probabilities);
  if (m_ComputeMap)
  {
    this->GetMap()->Graft(GigapixelMapImage(map, grid).GetPointer());
  }
  else
  {
    this->GetMap()->Initialize();
    this->GetMap()->SetRegions(MapType::RegionType()); // what was computed before is asked for no more
  }
  state.isAttention = map.isAttention;
  state.classOfMap = map.label;
  state.classNames = gigapixel::Classifier::GetClassNames(state.model->network);
  state.objective = state.model->network.objective;
}

void
GigapixelClassifier::RequireResult() const
{
  if (m_Implementation->classNames.empty())
  {
    itkGigapixelExceptionMacro(
      gigapixel::Diagnostic("E-CALL-ORDER", "nothing is classified yet", "call Update() first"));
  }
}

std::vector<std::string>
GigapixelClassifier::GetClassNames() const
{
  this->RequireResult();
  return m_Implementation->classNames;
}

std::vector<double>
GigapixelClassifier::GetProbabilities() const
{
  this->RequireResult();
  return dynamic_cast<const ProbabilitiesType &>(*this->GetOutput(0)).Get();
}

double
GigapixelClassifier::GetProbability(const std::string & className) const
{
  const std::vector<std::string> names = this->GetClassNames();
  const auto                     found = std::find(names.begin(), names.end(), className);
  if (found == names.end())
  {
    itkGigapixelExceptionMacro(
      gigapixel::Diagnostic("E-OPTION-VALUE",
                            "the model has no class \"" + className + "\": it has " + gigapixel::JoinNames(names))
        .OfValue(className));
  }
  return this->GetProbabilities()[found - names.begin()];
}

std::string
GigapixelClassifier::GetPredictedClass() const
{
  const std::vector<double>        probabilities = this->GetProbabilities();
  const gigapixel::ObjectiveKind & kind = m_Implementation->objective.GetKind();
  return m_Implementation->classNames[static_cast<std::size_t>(kind.choose(probabilities))];
}

GigapixelClassifier::ProbabilitiesType *
GigapixelClassifier::GetProbabilitiesOutput()
{
  return dynamic_cast<ProbabilitiesType *>(this->GetOutput(0));
}

GigapixelClassifier::MapType *
GigapixelClassifier::GetMap()
{
  return dynamic_cast<MapType *>(this->GetOutput(1));
}

bool
GigapixelClassifier::GetMapIsAttention() const
{
  this->RequireResult();
  return m_Implementation->isAttention;
}

std::string
GigapixelClassifier::GetClassOfMap() const
{
  this->RequireResult();
  return m_Implementation->classNames[m_Implementation->classOfMap];
}

void
GigapixelClassifier::PrintSelf(std::ostream & os, Indent indent) const
{
  Superclass::PrintSelf(os, indent);
  const Implementation & state = *m_Implementation;
  os << indent << "ModelFileName: " << m_ModelFileName << '\n';
  os << indent << "Model: " << (state.model ? state.model->network.name : "(none)") << '\n';
  os << indent << "Slide: " << (state.open ? "(an image)" : state.slide) << '\n';
  GigapixelPrintOptions(os, indent, m_Slide);
  os << indent << "ComputeMap: " << (m_ComputeMap ? "On" : "Off") << '\n';
  GigapixelPrintOptions(os, indent, m_Options);
  GigapixelPrintOptions(os, indent, m_Computing);
}

gigapixel::PhysicalImage
GigapixelSlideForModel(const std::string &           fileName,
                       const gigapixel::Model &      model,
                       const GigapixelSlideOptions & options)
{
  const auto          channels = static_cast<unsigned>(model.network.channels);
  GigapixelResolution resolution;
  resolution.level = options.level.value_or(0);
  resolution.micronsPerPixel = options.level ? 0 : model.micronsPerPixel;
  resolution.tolerance = gigapixel::ResolutionTolerance;
  resolution.content = GigapixelContentForModel(fileName, options, model);
  resolution.emptyAsBackground = model.network.TakesWhiteForBackground();
  resolution.asStored = model.network.IsNormalized();
  GigapixelRefuseWindow(resolution.content.window, model.network);
  gigapixel::PhysicalImage                     image = GigapixelFileSource(fileName, resolution, channels);
  std::shared_ptr<const gigapixel::TissueMask> tissue;
  if (!options.tissue.empty())
  {
    const std::string              file = gigapixel::FindMask(options.tissue, fileName);
    const gigapixel::PhysicalImage mask = GigapixelTissueSource(file, fileName, options);
    tissue = std::make_shared<const gigapixel::TissueMask>(mask, image.grid, image.name);
    GigapixelWarnOfFullTissue(*tissue, file, fileName);
    image.content = "tissue=(" + mask.content + ") " + image.content;
  }
  if (!options.onlyGrid)
  {
    image.pixels = GigapixelSourceForNetwork(image, model.network, tissue, options.goesOn);
  }
  return image;
}

int
GigapixelFindMapClass(const gigapixel::NetworkDescription & network, const std::string & name)
{
  const auto names = gigapixel::Classifier::GetClassNames(network);
  if (name.empty())
  {
    const bool areClasses = !network.objective.HasTargets();
    return areClasses && names.size() == 2 ? 1 : gigapixel::Classifier::MostProbable;
  }
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
  {
    throw gigapixel::Refusal(gigapixel::Diagnostic("E-OPTION-VALUE",
                                                   "The model has no class \"" + name + "\" (--map-class): it has " +
                                                     gigapixel::JoinNames(names))
                               .OfOption("--map-class", name));
  }
  return static_cast<int>(found - names.begin());
}

Image<float, 2>::Pointer
GigapixelMapImage(const gigapixel::ActivationMap & map, const gigapixel::Grid & grid)
{
  using ImageType = Image<float, 2>;
  const auto               image = ImageType::New();
  ImageType::SizeType      size{ { static_cast<SizeValueType>(map.size.width),
                                   static_cast<SizeValueType>(map.size.height) } };
  ImageType::PointType     origin;
  ImageType::SpacingType   spacing;
  ImageType::DirectionType direction;
  for (unsigned axis = 0; axis < 2; ++axis)
  {
    spacing[axis] = grid.spacing[axis] * map.step[axis];
    origin[axis] = grid.origin[axis];
    for (unsigned j = 0; j < 2; ++j)
    {
      direction[axis][j] = grid.direction[2 * axis + j];
      origin[axis] += direction[axis][j] * grid.spacing[j] * map.first[j];
    }
  }
  image->SetRegions(size);
  image->SetSpacing(spacing);
  image->SetOrigin(origin);
  image->SetDirection(direction);
  if (!map.values.empty())
  {
    image->Allocate();
    std::copy(map.values.begin(), map.values.end(), image->GetBufferPointer());
  }
  return image;
}

} // namespace itk
