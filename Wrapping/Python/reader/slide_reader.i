// The reader of slides for the package alone. Opening a slide loads none of ITK's wrapped libraries, which take 260 MB.
%module(package = "itkgigapixel", threads = "1") slide_reader
%nothreadallow;

%{
#include "ProgressObserver.h"
#include "SharedITK.h"
#include "WarningWindow.h"

#include "itkMetaDataObject.h"
#include "itkWholeSlideImageIO.h"

using itkWholeSlideImageIO = itk::WholeSlideImageIO;

static std::vector<std::string>
FindDiagnostic(const std::string & text)
{
  const gigapixel::Diagnostic found = gigapixel::Diagnostic::OfText(gigapixel::CleanMessage(text), std::string());
  return { found.code, found.file, found.option, found.value, found.why, found.remedy };
}

static void
KeepWarnings(bool keeps)
{
  keeps ? WarningWindow::Install() : WarningWindow::Remove();
}

static std::vector<std::string>
TakeWarnings()
{
  return WarningWindow::Take();
}
%}

%include <std_string.i>
%include <std_vector.i>
%template(Texts) std::vector<std::string>;

%include Refusals.swg
%include SlideReading.swg

%threadallow itkWholeSlideImageIO::ReadImage;
%threadallow itkWholeSlideImageIO::ReadImageInformation;

%rename(SlideReader) itkWholeSlideImageIO;
%nodefaultctor itkWholeSlideImageIO;
class itkWholeSlideImageIO
{
public:
  static void SetGlobalDefaultStrict(bool strict);
  static bool GetGlobalDefaultStrict();

  void SetFileName(const char * name);
  void SetImage(const char * name);
  void SetFocalPlane(const char * plane);
  void SetChannels(const std::vector<std::string> & channels);
  void SetWindow(const char * window);
  void SetAsPicture(bool is);
  void SetAssociatedImage(const char * name);
  void SetGiveWarnings(bool gives);
  void SetStrict(bool is);
  void SetStoredValues(bool are);
  void SetLevel(unsigned int level);
  void SetLevelZeroMicronsPerPixel(double mpp);
  void SetMicronsPerPixel(double mpp);
  void ReadImageInformation();
  void ReportDamage() const;
  void AbortGenerateDataOn();

  std::vector<std::string>     GetAssociatedImageNames() const;
  std::string                  GetDecoder() const;
  unsigned int                 GetDimensions(unsigned int axis) const;
  unsigned int                 GetLevel() const;
  double                       GetLevelDownsample(unsigned int level) const;
  std::array<double, 2>        GetLevelDownsamples(unsigned int level) const;
  std::array<unsigned long, 2> GetLevelSize(unsigned int level) const;
  std::array<double, 2>        GetLevelZeroResolution() const;
  double                       GetMicronsPerPixel() const;
  unsigned int                 GetNumberOfComponents() const;
  unsigned int                 GetNumberOfLevels() const;
  double                       GetOrigin(unsigned int axis) const;
  unsigned int                 GetSourceLevel() const;
  double                       GetSpacing(unsigned int axis) const;
  std::string                  GetVendor() const;
  bool                         GetStrict() const;
  bool                         IsResampled() const;
};

%extend itkWholeSlideImageIO
{
  itkWholeSlideImageIO()
  {
    const itk::WholeSlideImageIO::Pointer reader = itk::WholeSlideImageIO::New();
    reader->Register();
    return reader;
  }

  ~itkWholeSlideImageIO() { $self->UnRegister(); }

  std::string GetSampleType() const { return $self->GetComponentTypeAsString($self->GetComponentType()); }

  std::string GetPixelKind() const { return $self->GetPixelTypeAsString($self->GetPixelType()); }

  std::vector<std::string> ListProperties() const
  {
    std::vector<std::string> texts;
    for (const std::string & key : $self->GetMetaDataDictionary().GetKeys())
    {
      std::string value;
      itk::ExposeMetaData($self->GetMetaDataDictionary(), key, value);
      texts.insert(texts.end(), { key, value });
    }
    return texts;
  }

  void ReadImage(unsigned char * pixels, size_t bytes)
  {
    const size_t needed = $self->GetImageSizeInBytes();
    if (bytes != needed)
    {
      throw gigapixel::InvalidArgument(GigapixelBufferProblem(bytes, needed));
    }
    itk::ImageIORegion region(2);
    region.SetSize({ $self->GetDimensions(0), $self->GetDimensions(1) });
    $self->SetIORegion(region);
    $self->Read(pixels);
  }

  unsigned long AddProgressObserver(PyObject * call) { return ObserveProgress(*$self, call); }

  void RemoveObserver(unsigned long tag) { $self->RemoveObserver(tag); }
}

std::vector<std::string> FindDiagnostic(const std::string & text);
void                     KeepWarnings(bool keeps);
std::vector<std::string> TakeWarnings();
void                     ShareITK(const std::string & library);

%pythoncode
%{
import importlib.util

ShareITK(getattr(importlib.util.find_spec("itk._ITKCommonPython"), "origin", ""))
%}
