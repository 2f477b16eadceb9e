/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkGigapixelTrainingVolume_h
#define itkGigapixelTrainingVolume_h

#include "gigapixelDiagnostic.h"
#include "gigapixelTrainer.h"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace itk
{

/** \class GigapixelTrainingVolumes
 * \brief Volumes of files and their labels, of which one at a time is in memory: a step takes the same memory however
 * many there are.
 *
 * Axes are brought to the network's orientation. A file is opened again whenever its turn comes. Threads read the same
 * volume at the same time, as they do in a step.
 */
class GigapixelTrainingVolumes
{
public:
  /** Looks at the files' headers.
   * \param volume a file, or one for each modality, joined by commas
   * \param labels a volume on the same grid, of one channel: whole numbers, which are classes; of two classes 255 is
   * the object as 1 is \throw std::runtime_error one sentence that names the file */
  gigapixel::Sample Add(const std::string &                   volume,
                        const std::string &                   labels,
                        const gigapixel::NetworkDescription & network);

  /** The orientation that all volumes have, or RAS, to which they are brought, where they have several; empty: there
   * are none. \throw std::runtime_error one of them cannot be opened */
  static std::string FindOrientation(const std::vector<std::string> & volumes);

  /** Most bytes that a volume and its labels take, one of which is read while the maps of the one before are there. */
  std::int64_t
  GetHeldBytes() const
  {
    return m_HeldBytes;
  }

  /** What the headers of the files say of the place and may be wrong. */
  const std::vector<gigapixel::Diagnostic> &
  GetWarnings() const
  {
    return m_Warnings;
  }

  struct Held;

private:
  std::shared_ptr<Held> m_Held;
  std::int64_t          m_HeldBytes{ 0 };

  std::vector<gigapixel::Diagnostic> m_Warnings;
};

} // namespace itk

#endif
