/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef SlideTask_h
#define SlideTask_h

#include "SlideList.h"

#include "GigapixelApplicationExport.h"

#include <string>
#include <vector>

namespace gigapixel::application
{

/** One slide and where its result goes. */
struct SlideTask
{
  std::string              slide;
  std::string              output;
  std::string              folder{};  ///< of all results, which has records of them; empty: the output was named
  std::vector<std::string> further{}; ///< outputs of the same slide

  std::vector<std::string>
  GetOutputs() const
  {
    std::vector<std::string> outputs{ output };
    outputs.insert(outputs.end(), further.begin(), further.end());
    return outputs;
  }
};

/** Pairs slides, or volumes, with outputs. The output is a .tif file for one slide, else a folder with
 * SLIDE-NAME.pyramid.tif for each, which CheckOutput() makes where it is not there. For a folder of slides it is a
 * folder, however many they are.
 * \param optionName for messages
 * \param content of the outputs: "label", or another one, whose ending stands in the place of .tif and .pyramid.tif
 * \throw UsageError several slides, or a folder of them, for one file; a file name that is no .tif
 * \throw std::runtime_error two slides of one name; an output that is the slide; a folder that cannot be written */
GigapixelApplication_EXPORT std::vector<SlideTask> AssignOutputs(const SlideList &   list,
                                                                 const std::string & output,
                                                                 const std::string & optionName,
                                                                 const std::string & content = "label");

/** \param tissue the mask, or the folder of masks, of these slides; empty: none
 * \throw std::runtime_error an output is one of these masks, which are read */
GigapixelApplication_EXPORT void RefuseMasks(const std::vector<SlideTask> & tasks, const std::string & tissue);

} // namespace gigapixel::application

#endif
