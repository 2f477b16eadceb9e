/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkGigapixelClassifier_h
#define itkGigapixelClassifier_h

#include "GigapixelUNetExport.h"
#include "gigapixelClassificationOptions.h"
#include "gigapixelComputingOptions.h"
#include "gigapixelSlideOptions.h"
#include "gigapixelActivationMap.h"
#include "gigapixelModel.h"
#include "itkGigapixelFileSource.h"
#include "itkGigapixelImageSource.h"
#include "itkGigapixelOptions.h"
#include "itkImage.h"
#include "itkProcessObject.h"
#include "itkSimpleDataObjectDecorator.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace itk
{

/** \class GigapixelClassifier
 * \brief What a trained network says of a whole image or slide: the probability of each class, exactly, and what it
 * comes from.
 *
 * The model is one that labels images; GigapixelUNetTrainer trains it on images or slides that have one label each. The
 * image is read region by region, upstream of any ITK pipeline as well: its size is no matter of memory. Like the
 * trainer's, it is no input of the pipeline, but changes upstream of it are followed by the next Update().
 *
 * With ComputeMapOn() a second output shows what the label comes from, on a coarse grid that lies where it lies on the
 * image, in mm: attention, or the class' activation (grad-CAM); see gigapixel::ActivationMap. It takes twice the time,
 * and leaves the probabilities as they are.
 *
 * Observers: ProgressEvent. AbortGenerateDataOn() from an observer, or from another thread, stops within a tile:
 * Update() throws ProcessAborted.
 *
 * \par Example
 * \code
 * classifier->SetModelFileName("run");
 * classifier->SetSlide("slide.svs");
 * classifier->ComputeMapOn();
 * classifier->Update();
 * std::cout << classifier->GetPredictedClass() << ' ' << classifier->GetProbability("tumor") << '\n';
 * writer->SetInput(classifier->GetMap());
 * \endcode
 *
 * \ingroup ClassificationFilters */
class GigapixelUNet_EXPORT GigapixelClassifier : public ProcessObject
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(GigapixelClassifier);

  using Self = GigapixelClassifier;
  using Superclass = ProcessObject;
  using Pointer = SmartPointer<Self>;
  using ConstPointer = SmartPointer<const Self>;
  using MapType = Image<float, 2>; ///< one float for each pixel of the map that is pooled last
  using ProbabilitiesType = SimpleDataObjectDecorator<std::vector<double>>; ///< one for each class, 0 to 1

  itkNewMacro(Self);
  itkTypeMacro(GigapixelClassifier, ProcessObject);

  /** A model file, or the folder of a training run (its best weights). Takes the place of SetModel(). */
  void SetModelFileName(const std::string & fileName);
  itkGetStringMacro(ModelFileName);

  /** A model at hand, as the trainer gives it. Takes the place of SetModelFileName(). */
  void SetModel(const gigapixel::Model & model);

  /** The same without a copy of its weights. */
  void SetSharedModel(const std::shared_ptr<const gigapixel::Model> & model);

  /** \name What is classified: the last one that was set. @{ */
  /** An image of any pipeline: unsigned char, gray or RGB, of the resolution that the model was trained at (10 %). It
   * is kept alive. */
  template <typename TImage>
  void
  SetImage(const TImage * image)
  {
    if (image && image == this->GetImage())
    {
      return;
    }
    const typename TImage::ConstPointer kept = image;
    this->SetSource([kept] { return GigapixelImageSource(kept.GetPointer()); }, image, std::string());
  }

  /** A file: a slide is read at the model's resolution, a level within 10 % as it is. */
  void SetSlide(const std::string & fileName);
  /** @} */

  /** \name What is read of a slide's file: Set and Get of each entry of gigapixelSlideOptionList.h, and ClearLevel().
   * The label is made of the tissue alone. @{ */
#define GIGAPIXEL_RESAMPLING_OPTION(type, Name, member, value, option)
#define GIGAPIXEL_SLIDE_OPTION(type, Name, member, value, option) itkGigapixelOptionMacro(type, Name, m_Slide.member)
#define GIGAPIXEL_OPTIONAL_OPTION(type, Name, member, otherwise, option)                                               \
  itkGigapixelOptionalMacro(type, Name, m_Slide.member, otherwise)
#include "gigapixelSlideOptionList.h"
  /** @} */

  /** Whether the map is computed, too; off by default. */
  itkSetMacro(ComputeMap, bool);
  itkGetConstMacro(ComputeMap, bool);
  itkBooleanMacro(ComputeMap);

  /** \name What is said beside the label: Set and Get of each entry of gigapixelClassificationOptionList.h. @{ */
#define GIGAPIXEL_CLASSIFICATION_OPTION(type, Name, member, value, option)                                             \
  itkGigapixelOptionMacro(type, Name, m_Options.member)
#include "gigapixelClassificationOptionList.h"
  /** @} */

  /** \name Where and how it is computed: Set and Get of each entry of gigapixelComputingOptionList.h, such as
   * SetDevice(). @{ */
#define GIGAPIXEL_SHARING_OPTION(type, Name, member, value, option)
#define GIGAPIXEL_MAPS_OPTION(type, Name, member, value, option)
#define GIGAPIXEL_COMPUTING_OPTION(type, Name, member, value, option)                                                  \
  itkGigapixelOptionMacro(type, Name, m_Computing.member)
#include "gigapixelComputingOptionList.h"
  /** @} */

  /** Classifies. Does nothing when nothing has changed since the last time.
   * \throw ExceptionObject one sentence, which is a std::nested_exception, too, of a gigapixel::MemoryLimitError;
   * ProcessAborted */
  void Update() override;

  /** The last change of this, or of anything upstream of the image. */
  ModifiedTimeType GetMTime() const override;

  /** \name Of the last Update(). @{ */
  /** The names of the model's classes, findings, grades or values; numbers, where it has none. */
  std::vector<std::string> GetClassNames() const;

  /** In the order of the names; those of classes and of grades are 1 together but for rounding. Of a model that says
   * values, the values. */
  std::vector<double> GetProbabilities() const;

  /** \throw ExceptionObject the model has no such class */
  double GetProbability(const std::string & className) const;

  /** The most probable one, of equal ones the first; the predicted grade. */
  std::string GetPredictedClass() const;

  /** The probabilities as an object of the pipeline. */
  ProbabilitiesType * GetProbabilitiesOutput();

  /** What the label comes from; without pixels where it was not asked for. */
  MapType * GetMap();

  /** Whether the map is attention, and not the activation of a class. */
  bool GetMapIsAttention() const;

  /** The class whose activation the map shows. */
  std::string GetClassOfMap() const;
  /** @} */

  using Superclass::MakeOutput;
  DataObject::Pointer MakeOutput(DataObjectPointerArraySizeType index) override;

protected:
  GigapixelClassifier();
  ~GigapixelClassifier() override;

  /** Grid of the map, if one is computed, which needs the model and the size of the image alone. */
  void GenerateOutputInformation() override;

  /** The whole map. */
  void EnlargeOutputRequestedRegion(DataObject * output) override;

  void GenerateData() override;

  void PrintSelf(std::ostream & os, Indent indent) const override;

private:
  const DataObject * GetImage() const;

  /** Calls f(); what it throws becomes what Update() throws. */
  void InSentences(const std::function<void()> & f) const;

  /** \param image whose changes are followed; null: of a file */
  void SetSource(const std::function<gigapixel::PhysicalImage()> & open,
                 const DataObject *                                image,
                 const std::string &                               slide);

  void                     LoadModel();
  gigapixel::PhysicalImage OpenImage(bool onlyGrid);
  int                      FindThreads(const gigapixel::PhysicalImage & image) const;

  /** \throw ExceptionObject before the first Update() */
  void RequireResult() const;

  std::string                      m_ModelFileName;
  gigapixel::SlideOptions          m_Slide;
  bool                             m_ComputeMap{ false };
  gigapixel::ClassificationOptions m_Options;
  gigapixel::ComputingOptions      m_Computing;

  struct Implementation;
  std::unique_ptr<Implementation> m_Implementation;
};

/** How a slide is opened for a model that labels images. */
struct GigapixelSlideOptions : gigapixel::SlideOptions
{
  bool onlyGrid{ false }; ///< the pixels are not read: statistics of them are not found
  /** Called with 0..1 while the statistics are found of a network that states a normalization; false stops. */
  std::function<bool(double)> goesOn{};
};

/** A slide's file with the channels and at the resolution that the model was trained on, its glass white. Its `content`
 * tells the tissue mask as well.
 * \throw std::exception one sentence that names the file: there is no such level, or the resolution is unknown */
GigapixelUNet_EXPORT gigapixel::PhysicalImage GigapixelSlideForModel(const std::string &           fileName,
                                                                     const gigapixel::Model &      model,
                                                                     const GigapixelSlideOptions & options);

/** The class that a map is of, by its name, as GigapixelClassifier::SetMapClass() takes it; -1: the most probable one.
 * \throw std::runtime_error there is none of this name */
GigapixelUNet_EXPORT int GigapixelFindMapClass(const gigapixel::NetworkDescription & network, const std::string & name);

/** The map where it lies in mm. \param grid of the image that it is of */
GigapixelUNet_EXPORT Image<float, 2>::Pointer GigapixelMapImage(const gigapixel::ActivationMap & map,
                                                                const gigapixel::Grid &          grid);

} // namespace itk

#endif
