/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkGigapixelException.h"

#include "RefusalCode.h"

#include "itkImage.h"
#include "itkImageSource.h"

namespace
{

using gigapixel::Diagnostic;

Diagnostic
MakeDiagnostic()
{
  return Diagnostic("E-SLIDE-DAMAGED", "its tile 7 is damaged", "leave it out").OfFile("a.svs").OfValue("7");
}

/** A filter of ITK that throws in its threads, which keep the text of an exception and not its type. */
class FailingSource : public itk::ImageSource<itk::Image<unsigned char, 2>>
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(FailingSource);
  using Self = FailingSource;
  using Superclass = itk::ImageSource<itk::Image<unsigned char, 2>>;
  using Pointer = itk::SmartPointer<Self>;
  itkNewMacro(Self);
  itkTypeMacro(FailingSource, ImageSource);

protected:
  FailingSource()
  {
    this->DynamicMultiThreadingOn();
    this->SetNumberOfWorkUnits(4);
  }
  ~FailingSource() override = default;

  void
  GenerateOutputInformation() override
  {
    this->GetOutput()->SetLargestPossibleRegion(OutputImageRegionType(itk::Size<2>{ { 64, 64 } }));
  }

  void
  DynamicThreadedGenerateData(const OutputImageRegionType &) override
  {
    throw gigapixel::Refusal(MakeDiagnostic());
  }
};

} // namespace

TEST(GigapixelException, IsAnExceptionOfITKWithFields)
{
  const itk::GigapixelException error("file", 1, MakeDiagnostic(), "here");
  const itk::ExceptionObject &  ofITK = error;
  EXPECT_EQ(ofITK.GetDescription(), MakeDiagnostic().GetText());
  EXPECT_EQ(Diagnostic::Of(ofITK).value, "7");
}

TEST(GigapixelException, FieldsPassTheThreadsOfITK)
{
  const auto       source = FailingSource::New();
  const Diagnostic is = gigapixel_test::FindRefusal([&] { source->Update(); });
  EXPECT_EQ(is.code, "E-SLIDE-DAMAGED");
  EXPECT_EQ(is.file, "a.svs");
  EXPECT_EQ(is.value, "7");
  EXPECT_EQ(is.why, MakeDiagnostic().why);
  EXPECT_EQ(is.remedy, "leave it out");
}
