/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelOption_h
#define gigapixelOption_h

#include "GigapixelOptionsExport.h"

#include <optional>
#include <string>
#include <vector>

namespace gigapixel
{

/** What a value is, and so how its text is checked. */
enum class OptionType
{
  Switch,   ///< given or not; takes no value
  Text,     ///<
  Choice,   ///< one of Option::choices
  Integer,  ///<
  Number,   ///<
  Memory,   ///< bytes: 512M, 2G, 1.5G (powers of 1024)
  Extent,   ///< width x height in pixels: 16000x64000
  Box,      ///< the same, or width x height x depth in voxels: 240x240x155
  Region,   ///< x,y,width,height in pixels
  Numbers,  ///< separated by commas, one for each class or channel
  Interval, ///< low,high, the one below the other, or one of Option::choices
  File      ///< a file or a folder
};

/** Which way a file goes: front ends make a file dialog of the one kind or of the other. */
enum class OptionChannel
{
  None,
  Input,
  Output
};

/** Which images an option is for. */
enum class OptionScope
{
  All,
  Images,     ///< models and networks have no use for it
  Slides,     ///< volumes have no use for it, either
  Masks,      ///< it changes the whole mask of a slide, of two classes: probabilities have no use for it, either
  SlideFiles, ///< how the file of a slide is read: of no use for an image that is only a size, either
  Predictions ///< it is for tables of what networks say of slides, and not for images
};

/** Which readers of slides an option is for. */
enum class SlideReading
{
  None,       ///< it is no option of slides
  File,       ///< whoever opens the file of a slide
  Resolution, ///< who reads it at a resolution that no model states
  Values,     ///< who sees its values
  Tissue      ///< who leaves out what is no tissue
};

/** What depends on the value. A training run that goes on has to have the same values of all that decide on its bits.
 */
enum class OptionEffect
{
  Nothing, ///< where and when results appear, and how fast
  Begin,   ///< what a run begins with, which is compared by what is in the file
  Bits     ///< the result
};

/** \class Option
 * \brief The one definition of an option: arguments and help of the shell, descriptions for Slicer and Python, the
 * range that C++ and Python are held to, and what a training run is resumed with come from it.
 *
 * The basic kinds are made by OptionSwitch(), OptionChoice(), OptionInteger(), OptionNumber() and OptionText(). */
struct GigapixelOptions_EXPORT Option
{
  std::string name{}; ///< "memory" for --memory; capital letters for an argument without a dash: "SLIDE"
  OptionType  type{ OptionType::Text }; ///< what its value is
  std::string placeholder{};            ///< of its value in the help: "BYTES"
  std::string description{};            ///< one line; all there is where \a details are empty
  std::string defaultValue{};         ///< as the user would write it; empty: no default, the description says what then
  std::string unit{};                 ///< "µm/px", "px", ...; empty: none
  std::optional<double>    minimum{}; ///< inclusive
  std::optional<double>    maximum{}; ///< inclusive
  std::vector<std::string> choices{}; ///< of an Integer: words that may stand in the number's place
  OptionChannel            channel{ OptionChannel::None }; ///< whether a file is read or written
  std::string              content{};         ///< of a file: "slide", "label", "model", "table", "folder", ...
  char                     shortName{ 0 };    ///< the letter behind one dash; 0: none
  bool                     required{ false }; ///< whether the command needs it
  bool                     repeated{ false }; ///< may be given several times
  std::string              alternative{};     ///< options with the same word here exclude each other
  std::vector<std::string> excludes{};        ///< options that are not given beside it
  std::string              details{};         ///< what the reference and --help-all say beyond the description
  std::string              property{};        ///< of an ITK filter, "ClipGradient" for SetClipGradient(); empty: none
  std::string              group{};           ///< heading in the help; empty: the first ones, without a heading
  OptionScope              scope{ OptionScope::All };     ///< which images it is for
  OptionEffect             effect{ OptionEffect::Bits };  ///< what depends on it
  SlideReading             reading{ SlideReading::None }; ///< which commands on slides have it
  /** The option that this one belongs to, and the value that it needs there; an empty value: any that is given. */
  std::string needs{};
  std::string neededValue{}; ///< see needs
  /** Another option, and the value there with which alone this one decides on bits; empty: with any. */
  std::string decidesWith{};
  std::string decidingValue{}; ///< see decidesWith
  /** The name that it had in the version before, which still goes, with a warning; empty: it had no other. */
  std::string formerName{};
  std::string formerValue{};     ///< of a switch that was a value of that option: the value
  std::string formerOtherwise{}; ///< and the value that held without it
  /** The range is there for slips at a keyboard: programs may give any positive number. */
  bool isRangeForSlips{ false };
  /** How a shell is spoken to, and what becomes of outputs that exist: other front ends do both in their own ways. */
  bool isForShells{ false };

  bool IsPositional() const; ///< whether it is an argument without a dash

  /** "--memory" or "SLIDE". */
  std::string GetDisplayName() const;

  /** What its value is called where it is kept: "augmentation" of a switch "no-augmentation", else the name. */
  std::string GetSettingName() const;

  /** Whether the switch turns off what is on without it. */
  bool TurnsOff() const;

  /** "0.05 to 20 µm/px"; empty where any value goes. */
  std::string GetRange() const;

  /** \name The same option with more said of it, so that a table can be written in one expression. @{ */
  Option Details(const std::string & text) const;
  Option Group(const std::string & heading) const;
  Option Default(const std::string & value) const; ///< as the user would write it
  Option Unit(const std::string & name) const;
  Option Words(const std::vector<std::string> & words) const; ///< that may stand in a number's place
  Option Sets(const std::string & name) const;                ///< the property of a filter
  Option ForShells() const;
  Option OfImages() const;
  Option OfPredictions() const;
  Option OfSlides() const;
  Option OfMasks() const;
  Option OfSlideFiles() const;
  Option Of(const std::string & fileContent) const; ///< an input file, or what stands for one
  Option Repeated() const;
  Option OneOf(const std::string & word) const;                    ///< those of the same word exclude each other
  Option Excludes(const std::vector<std::string> & options) const; ///< are not given beside it
  Option Reads(
    SlideReading whatOfSlides) const; ///< a group of options on slides; of files, that is OfSlideFiles(), too
  Option Needs(const std::string & option, const std::string & value = {}) const;
  Option DecidesNothing() const;
  Option DecidesTheBegin() const;
  Option RangeForSlips() const;
  Option DecidesWith(const std::string & option, const std::string & value) const;
  Option Formerly(const std::string & former, const std::string & value = {}, const std::string & otherwise = {}) const;
  /** @} */
};

/** An option of the type Switch. \param text one line for the help, as below */
GigapixelOptions_EXPORT Option OptionSwitch(const std::string & name, const std::string & text);

/** An option of the type Choice. \param value its default; empty: none, as below */
GigapixelOptions_EXPORT Option OptionChoice(const std::string &      name,
                                            std::vector<std::string> choices,
                                            const std::string &      value,
                                            const std::string &      text);

/** An option of the type Integer, of which least and most are possible, too. */
GigapixelOptions_EXPORT Option
OptionInteger(const std::string & name, const std::string & value, double least, double most, const std::string & text);

/** An option of the type Number, likewise. */
GigapixelOptions_EXPORT Option
OptionNumber(const std::string & name, const std::string & value, double least, double most, const std::string & text);

/** An option of the type Text. \param placeholder what stands for the value in the help: "NAME" */
GigapixelOptions_EXPORT Option OptionText(const std::string & name,
                                          const std::string & placeholder,
                                          const std::string & text);

/** An option of the type Numbers. */
GigapixelOptions_EXPORT Option OptionNumbers(const std::string & name,
                                             const std::string & placeholder,
                                             const std::string & text);

/** An option of the type Memory. */
GigapixelOptions_EXPORT Option OptionMemory(const std::string & name, const std::string & text);

/** "a, b or c"; for messages. */
GigapixelOptions_EXPORT std::string JoinWithOr(const std::vector<std::string> & words);

} // namespace gigapixel

#endif
