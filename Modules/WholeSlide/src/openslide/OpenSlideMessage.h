/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef OpenSlideMessage_h
#define OpenSlideMessage_h

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace gigapixel
{

/** What the process that OpenSlide runs in may take, beside the memory that both processes share. */
struct OpenSlideLimits
{
  /** Bytes of address space, beyond what OpenSlide takes before it opens a file: sound slides take some tens of MB. */
  static constexpr std::uint64_t memory = std::uint64_t{ 1 } << 30;

  /** Seconds on a core for an answer. Sound slides take some hundredths of one to be opened, as do their tiles. */
  static constexpr unsigned processor = 10;

  /** Seconds that pass until an answer: much more than computing takes, since disks and networks may be slow. */
  static constexpr unsigned time = 60;
};

/** Of what is said, so that programs and libraries of different versions do not talk past each other. */
constexpr const char * OpenSlideProtocol = "1";

/** What both processes say to each other: a list of texts. A side that has asked waits for the answer, so that a socket
 * never holds more than one message.
 *
 * The program says first OpenSlideProtocol, and which OpenSlide it has: its version, or an empty text and why there is
 * none. It answers these, or "refused" and why, or "late" where it ends because of OpenSlideLimits::processor:
 *
 *     vendor FILE                           "vendor" and whose slide OpenSlide takes the file for; empty for none
 *     open FILE                             "unknown", or "opened" and what the slide is: "level" WIDTH HEIGHT,
 *                                           "property" NAME VALUE, "image" NAME WIDTH HEIGHT (an associated one) and
 *                                           "profile" BYTES (of colors), as many as there are
 *     try FILE                              as well, with a pixel of each level read
 *     level BYTES LEVEL X Y WIDTH HEIGHT    "read", with the pixels in the memory that is shared, which has this many
 *                                           bytes. Places and sizes are of pixels of the level
 *     image BYTES NAME                      the same of an associated image
 */
using OpenSlideMessage = std::vector<std::string>;

/** False where the other side is gone. */
bool SendMessage(int socket, const OpenSlideMessage & message);

/** Sends "late"; may be called by a signal's handler. */
void SendLate(int socket);

/** Calls `wait` before each time that it takes what is there. False where the other side is gone, what comes is no
 * message, or `wait` returns false. */
bool ReceiveMessage(int socket, OpenSlideMessage & message, const std::function<bool()> & wait);

} // namespace gigapixel

#endif
