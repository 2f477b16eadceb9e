/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef PyramidOutput_h
#define PyramidOutput_h

#include "gigapixelSession.h"

#include "itkCommand.h"
#include "itkImageFileWriter.h"
#include "itkPyramidTIFFImageIO.h"

namespace gigapixel::application
{

/** Shows a process object's progress from \a begin to \a end of the line, and stops it when the user asks for that. */
inline void
Observe(itk::ProcessObject * process, Progress & progress, double begin, double end)
{
  process->AddObserver(itk::ProgressEvent(), [process, &progress, begin, end](const itk::EventObject &) {
    progress.Update(begin + (end - begin) * static_cast<double>(process->GetProgress()));
    if (IsInterruptionRequested())
    {
      process->AbortGenerateDataOn();
    }
  });
}

/** Streams the output of a pipeline into a pyramid TIFF, which appears when it is complete.
 * \param io with compressor and level set
 * \throw Interrupted nothing is left of the file then */
template <typename TImage>
void
WritePyramid(const TImage *            image,
             const std::string &       file,
             itk::PyramidTIFFImageIO * io,
             Progress &                progress,
             double                    begin = 0,
             double                    end = 1)
{
  const auto writer = itk::ImageFileWriter<TImage>::New();
  writer->SetInput(image);
  writer->SetFileName(file);
  writer->SetImageIO(io);
  // The ImageIO decides on the bands; two or more let filters produce more than they are asked for.
  writer->SetNumberOfStreamDivisions(2);
  Observe(writer, progress, begin, end);
  writer->Update();
  ThrowIfInterrupted();
}

} // namespace gigapixel::application

#endif
