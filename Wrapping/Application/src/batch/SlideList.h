/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef SlideList_h
#define SlideList_h

#include "gigapixelRunCommand.h"

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace gigapixel::application
{

/** What lies in a folder of slides and is no slide: by name, without what is kept beside slides. Of volumes likewise.
 */
struct PassedOver
{
  std::string              folder;
  std::vector<std::string> files;
  std::vector<std::string> folders; ///< in which nobody looks
};

/** The slides that a command is given, or the volumes, and how they were given. */
struct SlideList
{
  std::vector<std::string> slides;
  bool                     isList{ false };   ///< so is the result: more than one name was given, or a name for several
  bool                     isFolder{ false }; ///< a pattern, a table or a folder of more than one DICOM slide was given
  std::vector<std::string> given{};           ///< tables and manifests that name slides: they are inputs as well
  std::vector<PassedOver>  passedOver{};
  std::string              kind{ "slide" }; ///< or "volume", "mask": for people, and the key of its name in results
};

/** What a name stands for that is no file or folder of slides itself: the files that match a pattern (*, ?, [ ]; a file
 * of this very name goes before), those in a column of a table (.csv), or those that a manifest of results says. Empty:
 * it is none of these.
 * \param kind the column: "slide" (of volumes as well), or "mask", which is the output in a manifest
 * \throw Refusal nothing matches, or the table or manifest cannot be read */
GigapixelApplication_EXPORT std::vector<std::string> ExpandName(const std::string & name, const std::string & kind);

/** The slides of masks, by the absolute paths of these, as a table with the columns slide and mask has them, or a
 * manifest of results. Empty: it is something else.
 * \throw Refusal the table or manifest cannot be read */
GigapixelApplication_EXPORT std::map<std::string, std::string> FindSlidesOfMasks(const std::string & name);

/** Where a file is, however its folder is spelled. A link to a file has a name, and thus an output, of its own; one to
 * its folder has not. */
GigapixelApplication_EXPORT std::string GetPlace(const std::string & file);

/** Files as given, and what names stand for (ExpandName()); a folder stands for the slides in it that our reader
 * claims, all *.ome.tif, and TIFFs of focal planes or channels, sorted by name, without masks (pyramids of one channel
 * that we wrote, but for slides that we converted; of others those named *.pyramid.tif): of those that others wrote it
 * is said. Damaged files that are slides by their names are among them, so that they fail instead of vanishing. Of all
 * else in a folder it is said that it is passed over: other files and folders, but not what is hidden, belongs to a
 * slide (the folder of a .mrxs, other files of a DICOM series), or is kept beside slides: tables, notes, outlines,
 * pictures, features, our masks, and folders of nothing else. \throw std::runtime_error for a name that is neither, and
 * for a folder without slides */
GigapixelApplication_EXPORT SlideList FindSlides(const std::vector<std::string> & names, const Session & session);

/** The same for volumes, which are known by their names: files as given, of several modalities joined by commas; a
 * folder stands for the volumes in it, also those that are the folder of a DICOM series, sorted by name. Files that the
 * header of a volume has its voxels in belong to it. */
GigapixelApplication_EXPORT SlideList FindVolumes(const std::vector<std::string> & names, const Session & session);

/** The same for masks: files as given; a folder stands for the mask pyramids in it (one channel, *.pyramid.tif, and
 * *.ome.tif that we wrote), sorted by name. */
GigapixelApplication_EXPORT SlideList FindMasks(const std::vector<std::string> & names, const Session & session);

/** Says in the result of each slide of a folder what was passed over there ("passedOver"). */
GigapixelApplication_EXPORT void AddPassedOver(nlohmann::ordered_json & results, const SlideList & list);

} // namespace gigapixel::application

#endif
