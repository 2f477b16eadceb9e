/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef Doubt_h
#define Doubt_h

#include "GigapixelApplicationExport.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelSession.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <vector>

namespace gigapixel::application
{

/** A reason to look at a result before it is used: a figure of it beyond its limit. The code begins with "W-" and is in
 * the table of codes. */
struct Doubt
{
  std::string code;
  double      value;
  double      limit;
  std::string file{}; // the image or mask; empty: that of the result
};

/** Keeps a doubt for the result that is being made, and warns of it.
 * \param why, remedy as in a Diagnostic \param file the image or mask */
GigapixelApplication_EXPORT void RaiseDoubt(const Session &     session,
                                            const Doubt &       doubt,
                                            const std::string & why,
                                            const std::string & file,
                                            const std::string & remedy = {});

/** Keeps a doubt of which a warning was shown already. */
GigapixelApplication_EXPORT void KeepDoubt(const Doubt & doubt);

/** Drops those that are kept: of a command that failed before it had a result. */
void ForgetDoubts();

/** Doubts about a mask by the share of it that is object: W-DOUBT-MASK-EMPTY, W-DOUBT-MASK-FULL.
 * \param name what the warning names first: "the truth t.tif" \return whether there is one */
GigapixelApplication_EXPORT bool DoubtMask(const Session &     session,
                                           const std::string & file,
                                           const std::string & name,
                                           double              objectShare);

/** The doubt about a tissue mask by the share of the slide that is tissue; empty: there is none. */
std::optional<Doubt> FindTissueDoubt(double tissueShare);

/** Doubts about a tissue mask by the share of the slide that is tissue. */
GigapixelApplication_EXPORT void DoubtTissue(const Session & session, const std::string & slide, double tissueShare);

/** Gives a result the doubts that were kept since the last call, and those of its warnings that are doubts: the list
 * "doubts" of {"code", "file", "value", "limit"} in JSON, and a mark at the end of the text for people. */
GigapixelApplication_EXPORT void AddDoubts(const std::vector<Diagnostic> & warnings,
                                           nlohmann::ordered_json &        result,
                                           std::string &                   text);

} // namespace gigapixel::application

#endif
