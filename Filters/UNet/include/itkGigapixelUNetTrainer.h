/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkGigapixelUNetTrainer_h
#define itkGigapixelUNetTrainer_h

#include "GigapixelUNetExport.h"
#include "gigapixelComputingOptions.h"
#include "gigapixelLossOptions.h"
#include "gigapixelSlideOptions.h"
#include "gigapixelBegunRun.h"
#include "gigapixelCohort.h"
#include "gigapixelTrainer.h"
#include "itkGigapixelImageSource.h"
#include "itkGigapixelOptions.h"
#include "itkGigapixelTrainingEvents.h"
#include "itkImageRegion.h"
#include "itkProcessObject.h"

namespace itk
{
struct GigapixelTrainingSample;

/** \class GigapixelUNetTrainer
 * \brief Trains a network on whole images, one image a step, exactly, within a memory budget.
 *
 * Samples are images of any ITK pipeline, files, or anything that is a gigapixel::PhysicalImage, each with a mask on a
 * grid of its own that is matched in mm (see gigapixel::MaskLabelSource), or with one label, whole or by region. They
 * are opened by Update(), at one resolution: samples whose spacings differ by more than 10 % are refused. Images are no
 * inputs of the pipeline: after a change upstream of them, say Modified() to train again.
 *
 * Observers: GigapixelPlanEvent before the first step, ProgressEvent over all epochs, IterationEvent after each epoch,
 * GigapixelStepEvent after each step; the getters below then tell the state. AbortGenerateDataOn() from an observer, or
 * from another thread, stops within a tile: Update() throws ProcessAborted, and everything up to the last full step is
 * kept.
 *
 * \par Example
 * \code
 * trainer->SetRunFolder("run");
 * trainer->AddTrainingImage(reader->GetOutput(), maskReader->GetOutput());
 * trainer->AddValidationSlide("b.svs", "b-mask.pyramid.tif");
 * trainer->Update();
 * filter->SetModel(trainer->GetBestModel());
 * \endcode
 *
 * \ingroup ClassificationFilters */
class GigapixelUNet_EXPORT GigapixelUNetTrainer : public ProcessObject
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(GigapixelUNetTrainer);

  using Self = GigapixelUNetTrainer;
  using Superclass = ProcessObject;
  using Pointer = SmartPointer<Self>;
  using ConstPointer = SmartPointer<const Self>;
  using RegionType = ImageRegion<2>;

  itkNewMacro(Self);
  itkTypeMacro(GigapixelUNetTrainer, ProcessObject);

  /** A preset, the path of a JSON file, or a model, whose network is taken. See gigapixel::NetworkDescription::Load().
   * Empty, the default: of a run that is resumed the run's, else "unet", which takes RGB and needs LibTorch, or, where
   * slides have labels and no masks, "resnet18" with as many classes. Of a cohort with other truths of slides the
   * ResNets get the outputs that these want. */
  itkSetStringMacro(Network);
  itkGetStringMacro(Network);

  /** The network that is trained, with the loss that was asked for. Where there are ranks, all of them call it.
   * \throw std::exception it cannot be read */
  gigapixel::NetworkDescription LoadNetwork() const;

  /** Whether the network is the default for masks, which needs LibTorch where "remedios2023" does not. Where there are
   * ranks, all of them call it. \throw std::exception the run that is resumed cannot be read */
  bool TakesDefaultForMasks() const;

  /** \name How the network learns: Set and Get of each entry of gigapixelLearningOptionList.h, such as SetEpochs(). @{
   */
#define GIGAPIXEL_LEARNING_OPTION(type, Name, member, value, option)                                                   \
  itkGigapixelOptionMacro(type, Name, m_Options.member)
#include "gigapixelLearningOptionList.h"
  itkBooleanMacro(PartialWeights);
  itkBooleanMacro(Augment);
  itkBooleanMacro(Balance);

  /** All of them at once. */
  virtual void SetLearningOptions(const gigapixel::LearningOptions & options);
  const gigapixel::LearningOptions &
  GetLearningOptions() const
  {
    return m_Options;
  }
  /** @} */

  /** \name What is minimized: Set and Get of each entry of gigapixelLossOptionList.h, such as SetLoss(), and all of
   * them at once. @{ */
#define GIGAPIXEL_LOSS_OPTION(type, Name, member, value, option)                                                       \
  itkGigapixelOptionMacro(type, Name, m_LossOptions.member)
#include "gigapixelLossOptionList.h"
  itkGigapixelSetOptionsMacro(LossOptions, m_LossOptions);
  /** @} */

  /** Where the models and the history go; empty, the default: nothing is written. */
  itkSetStringMacro(RunFolder);
  itkGetStringMacro(RunFolder);

  /** Samples from images: unsigned char, gray or RGB; labels unsigned char. \param region in the image's own indices;
   * empty: all of it. Both images are kept alive and read region by region during Update(). */
  template <typename TImage, typename TLabelImage>
  void AddTrainingImage(const TImage * image, const TLabelImage * labels, const RegionType & region = RegionType());

  /** The same for validation. */
  template <typename TImage, typename TLabelImage>
  void AddValidationImage(const TImage * image, const TLabelImage * labels, const RegionType & region = RegionType());

  /** Samples from files, at the resolution of SetLevel() or SetMicronsPerPixel(). For a network for volumes they are
   * volumes (the files of several modalities joined by commas), and volumes of labels on the
   * same grid; the resolution stays theirs, and one volume is in memory at a time. \param region in level-0 pixels;
   * width 0: the whole slide. */
  void AddTrainingSlide(const std::string & slide, const std::string & mask, const gigapixel::Region & region = {});

  /** The same for validation. */
  void AddValidationSlide(const std::string & slide, const std::string & mask, const gigapixel::Region & region = {});

  /** What networks that label images learn where it is no class: findings, grades, values or survival, with the names
   * of all findings or values, in whose order truths are; grades are found, and so are means and deviations. Before
   * samples with truths. \throw ExceptionObject samples are there that have truths of another kind, or other names */
  void SetObjective(const gigapixel::Objective & objective);

  /** \name Images or slides with one label each, for networks that label images
   * (gigapixel::NetworkDescription::LabelsImage()), which GigapixelClassifier applies. The names of all labels, sorted,
   * are the network's classes, if it has no names of its own. Or with what SetObjective() says: a number for each
   * finding (1 where it is there, else 0) or value, NaN where it is not known, or the grade. @{ */
  /** An image with its class. \param region in the image's own indices; empty: all of it */
  template <typename TImage>
  void AddLabeledTrainingImage(const TImage *      image,
                               const std::string & label,
                               const RegionType &  region = RegionType());

  /** The same for validation. */
  template <typename TImage>
  void AddLabeledValidationImage(const TImage *      image,
                                 const std::string & label,
                                 const RegionType &  region = RegionType());

  /** A slide's file with its class. \param region in level-0 pixels; width 0: the whole slide */
  void AddLabeledTrainingSlide(const std::string &       slide,
                               const std::string &       label,
                               const gigapixel::Region & region = {});

  /** The same for validation. */
  void AddLabeledValidationSlide(const std::string &       slide,
                                 const std::string &       label,
                                 const gigapixel::Region & region = {});

  /** An image with its findings, grade, values, or time and event. \param region in the image's own indices; empty: all
   * of it */
  template <typename TImage>
  void AddLabeledTrainingImage(const TImage *                image,
                               const gigapixel::ImageTruth & truth,
                               const RegionType &            region = RegionType());

  /** The same for validation. */
  template <typename TImage>
  void AddLabeledValidationImage(const TImage *                image,
                                 const gigapixel::ImageTruth & truth,
                                 const RegionType &            region = RegionType());

  /** A slide's file with its findings, grade, values, or time and event. \param region in level-0 pixels; width 0: the
   * whole slide */
  void AddLabeledTrainingSlide(const std::string &           slide,
                               const gigapixel::ImageTruth & truth,
                               const gigapixel::Region &     region = {});

  /** The same for validation. */
  void AddLabeledValidationSlide(const std::string &           slide,
                                 const gigapixel::ImageTruth & truth,
                                 const gigapixel::Region &     region = {});
  /** @} */

  /** Samples from anything. \param region in level-0 pixels (see PhysicalImage::downsamples) */
  void AddTrainingSample(const gigapixel::PhysicalImage & pixels,
                         const gigapixel::PhysicalImage & mask,
                         const gigapixel::Region &        region = {});

  /** The same for validation. */
  void AddValidationSample(const gigapixel::PhysicalImage & pixels,
                           const gigapixel::PhysicalImage & mask,
                           const gigapixel::Region &        region = {});

  /** The training and validation slides of a cohort, with its masks and its labels, or other truths of whole slides
   * (gigapixel::Objective): the network takes what it can.
   * \throw ExceptionObject it has truths of another kind than the samples before it */
  void AddCohort(const gigapixel::Cohort & cohort);

  void ClearSamples(); ///< forgets all images, slides and cohorts

  /** \name What is read of slides that are given as files: Set and Get of each entry of gigapixelSlideOptionList.h.
   * Slides have to have the same names for their channels. The model keeps names and window, and finds the channels of
   * other slides by their names. @{ */
#define GIGAPIXEL_SLIDE_OPTION(type, Name, member, value, option) itkGigapixelOptionMacro(type, Name, m_Slide.member)
#define GIGAPIXEL_OPTIONAL_OPTION(type, Name, member, otherwise, option)                                               \
  itkGigapixelOptionalMacro(type, Name, m_Slide.member, otherwise)
#include "gigapixelSlideOptionList.h"

  /** All of them at once. */
  itkGigapixelSetOptionsMacro(SlideOptions, m_Slide);
  /** @} */

  /** \name Where and how it is computed: Set and Get of each entry of gigapixelComputingOptionList.h, such as
   * SetDevice(). @{ */
#define GIGAPIXEL_COMPUTING_OPTION(type, Name, member, value, option)                                                  \
  itkGigapixelOptionMacro(type, Name, m_Computing.member)
#include "gigapixelComputingOptionList.h"
  itkBooleanMacro(SharedMemory);

  /** All of them at once. */
  itkGigapixelSetOptionsMacro(ComputingOptions, m_Computing);
  /** @} */

  /** Goes on with the run in the run folder, bit for bit, or begins it; off by default, which refuses a folder with a
   * run. Refused with other samples or options than the run began with. */
  itkSetMacro(Resume, bool);
  itkGetConstMacro(Resume, bool);
  itkBooleanMacro(Resume);

  /** The processes that train together, see gigapixel::TrainingOptions; null, the default: this one alone. */
  void SetRanks(const std::shared_ptr<gigapixel::Ranks> & ranks);

  /** Trains. Does nothing when nothing has changed since the last time.
   * \throw ExceptionObject one sentence; ProcessAborted. Where the memory limit is too small it is a
   * std::nested_exception, too, of a gigapixel::MemoryLimitError. */
  void Update() override;

  /** The plan of the run that Update() has begun last: see gigapixel::Trainer::SetPlanObserver(). */
  const gigapixel::MemoryPlan & GetMemoryPlan() const;

  /** State after the last step or epoch; what observers read. */
  const gigapixel::TrainingProgress & GetTrainingProgress() const;

  /** Best validation loss (the last weights without validation samples), also after an abort.
   * \throw ExceptionObject before the first step */
  const gigapixel::Model & GetBestModel() const;

  /** Weights after the last step. \throw ExceptionObject before the first step */
  const gigapixel::Model & GetLastModel() const;

  /** Losses of all epochs, those before a run was resumed among them. \throw ExceptionObject before Update() */
  const std::vector<gigapixel::EpochRecord> & GetHistory() const;

protected:
  GigapixelUNetTrainer();
  ~GigapixelUNetTrainer() override;

  void GenerateData() override;

  void PrintSelf(std::ostream & os, Indent indent) const override;

private:
  enum class Split
  {
    Training,
    Validation
  };

  /** The word and the number of samples so far: what messages call an image, which has no name. */
  std::string NameNext(const std::string & word) const;

  void AddImage(Split                            split,
                const gigapixel::PhysicalImage & pixels,
                const gigapixel::PhysicalImage & mask,
                const ImageBase<2> &             image,
                const RegionType &               region,
                const std::string &              label = {},
                const gigapixel::ImageTruth &    truth = {});

  void Add(Split split, const GigapixelTrainingSample & sample);

  std::optional<gigapixel::BegunRun> FindBegunRun() const;

  /** \param begun the run that goes on, if one does */
  gigapixel::NetworkDescription MakeNetwork(const std::optional<gigapixel::BegunRun> & begun) const;
  gigapixel::TrainingOptions    MakeOptions(const std::optional<gigapixel::BegunRun> & begun) const;

  /** Null: everything is tissue. */
  std::unique_ptr<gigapixel::PhysicalImage> OpenTissue(const std::string & sample) const;

  void AddVolumesTo(gigapixel::Trainer & trainer, const gigapixel::NetworkDescription & network);

  void AddSamplesTo(gigapixel::Trainer & trainer, const gigapixel::NetworkDescription & network);

  bool Observe(const gigapixel::TrainingProgress & progress);

  gigapixel::LearningOptions  m_Options;
  gigapixel::ComputingOptions m_Computing;
  std::string                 m_Network;
  gigapixel::LossOptions      m_LossOptions;
  std::string                 m_RunFolder;
  gigapixel::SlideOptions     m_Slide;
  bool                        m_Resume{ false };

  struct Implementation;
  std::unique_ptr<Implementation> m_Implementation;
};

template <typename TImage, typename TLabelImage>
void
GigapixelUNetTrainer::AddTrainingImage(const TImage * image, const TLabelImage * labels, const RegionType & region)
{
  static_assert(GigapixelSampleType<TLabelImage>() == gigapixel::SampleType::UInt8, "Labels are of unsigned char");
  this->AddImage(Split::Training,
                 GigapixelImageSource(image, this->NameNext("training image")),
                 GigapixelImageSource(labels, this->NameNext("label of training image")),
                 *image,
                 region);
}

template <typename TImage, typename TLabelImage>
void
GigapixelUNetTrainer::AddValidationImage(const TImage * image, const TLabelImage * labels, const RegionType & region)
{
  static_assert(GigapixelSampleType<TLabelImage>() == gigapixel::SampleType::UInt8, "Labels are of unsigned char");
  this->AddImage(Split::Validation,
                 GigapixelImageSource(image, this->NameNext("validation image")),
                 GigapixelImageSource(labels, this->NameNext("label of validation image")),
                 *image,
                 region);
}

template <typename TImage>
void
GigapixelUNetTrainer::AddLabeledTrainingImage(const TImage *      image,
                                              const std::string & label,
                                              const RegionType &  region)
{
  this->AddImage(
    Split::Training, GigapixelImageSource(image, this->NameNext("training image")), {}, *image, region, label);
}

template <typename TImage>
void
GigapixelUNetTrainer::AddLabeledValidationImage(const TImage *      image,
                                                const std::string & label,
                                                const RegionType &  region)
{
  this->AddImage(
    Split::Validation, GigapixelImageSource(image, this->NameNext("validation image")), {}, *image, region, label);
}

template <typename TImage>
void
GigapixelUNetTrainer::AddLabeledTrainingImage(const TImage *                image,
                                              const gigapixel::ImageTruth & truth,
                                              const RegionType &            region)
{
  this->AddImage(
    Split::Training, GigapixelImageSource(image, this->NameNext("training image")), {}, *image, region, {}, truth);
}

template <typename TImage>
void
GigapixelUNetTrainer::AddLabeledValidationImage(const TImage *                image,
                                                const gigapixel::ImageTruth & truth,
                                                const RegionType &            region)
{
  this->AddImage(
    Split::Validation, GigapixelImageSource(image, this->NameNext("validation image")), {}, *image, region, {}, truth);
}

} // namespace itk

#endif
