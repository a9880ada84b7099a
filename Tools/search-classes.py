#!/usr/bin/env python3
"""Makes a corpus and queries by class that tell how forgiving a search is, and scores answers.

    search-classes.py corpus --out DIR
    search-classes.py queries --documents FILE --seed N --count K --out FILE
    search-classes.py thesaurus --out DIR
    search-classes.py peers --documents FILE --queries FILE [--out FILE]
    search-classes.py answers --program CORDIAL --documents FILE --queries FILE --out FILE
        [--synonyms FILE]
    search-classes.py score --queries FILE --answers FILE
    search-classes.py rows --queries FILE --answers FILE [--synonyms FILE] [--peers FILE]

`corpus` writes DIR/documents.jsonl from what Debian's apt reaches with the machine's own sources:
package descriptions in all their languages, manual pages, and Unicode's names of characters.
`queries` draws K queries of each class from random documents; each knows which documents are
meant. Odd seeds are for development: look at those queries and at the answers as often as you
like. Even seeds are for the end: measure with them, and do not look.
`peers` gives the queries to SQLite's FTS5, and `answers` to a new store of the program CORDIAL, with
its defaults. `score` reads the answers of an engine: JSON
lines {"query": text, "ids": [the first three], "microseconds": number} in the order of the
queries. Both print the share of queries that have a document that is meant among the first three.
`thesaurus` writes DIR/synonyms.txt: all sets of synonyms of Debian's WordNet. `rows` prints rows
for Tools/bench; `--synonyms` has the answers of a store with that file.
"""

import argparse
import array
import bisect
import collections
import glob
import gzip
import hashlib
import importlib
import json
import math
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import time
import unicodedata

# Some languages have a translation of nearly all packages, which would be most of the corpus.
TRANSLATIONS_MAX = 12_000
# The longest manual pages are books, of which no search needs more than the first chapter.
BODY_LETTERS_MAX = 8_000
UNICODE_DATA = "/usr/share/unicode/UnicodeData.txt"
# Packages of manual pages, beside all whose name begins with "manpages".
MANUALS = ("git-man", "perl-doc")
TOP = 3


def say(text):
    print(text, file=sys.stderr, flush=True)


# --- Corpus: packages ----------------------------------------------------------------------------


class Apt:
    """apt with lists and downloads in a folder of its own, so that the machine's stay as they are.

    Only the machine's sources are read. Machines often have no translations (containers switch
    them off), hence the own lists.
    """

    def __init__(self, folder):
        self.folder = folder
        self.configuration = os.path.join(folder, "apt.conf")
        self.private = True
        for name in ("lists/partial", "cache/archives/partial"):
            os.makedirs(os.path.join(folder, name), exist_ok=True)

    def configure(self, languages):
        listed = " ".join(f"{json.dumps(name)};" for name in languages)
        # What the machine does after an update, such as to tell its desktop, does not apply here.
        with open(self.configuration, "w", encoding="utf-8") as file:
            file.write(
                "#clear APT::Update::Post-Invoke;\n"
                "#clear APT::Update::Post-Invoke-Success;\n"
                "#clear Acquire::Languages;\n"
                f"Acquire::Languages {{ {listed} }};\n"
                f"Dir::State {json.dumps(self.folder)};\n"
                f"Dir::Cache {json.dumps(os.path.join(self.folder, 'cache'))};\n"
            )

    def run(self, *command, check=True, cwd=None):
        configuration = ("-c", self.configuration) if self.private else ()
        result = subprocess.run(
            (command[0], *configuration, *command[1:]), capture_output=True, cwd=cwd
        )
        if check and result.returncode:
            raise OSError(result.stderr.decode(errors="replace").strip())
        return result.stdout.decode("utf-8", "replace")

    def update(self):
        """Gets the lists: first English, whose index of all files names the other languages."""
        self.configure(["en"])
        self.run("apt-get", "update", "-q")
        languages = set()
        for path in glob.glob(os.path.join(self.folder, "lists", "*Release")):
            with open(path, encoding="utf-8", errors="replace") as file:
                languages.update(re.findall(r"i18n/Translation-([A-Za-z_]+)$", file.read(), re.M))
        if languages - {"en"}:
            self.configure(["en", *sorted(languages - {"en"})])
            self.run("apt-get", "update", "-q")

    def lists(self):
        """Returns pairs of a language, None for the lists of packages, and a file's path."""
        form = "$(CREATED_BY)\t$(LANGUAGE)\t$(FILENAME)"
        pairs = []
        for line in self.run("apt-get", "indextargets", "--format", form).splitlines():
            origin, language, path = line.split("\t")
            if origin in ("Packages", "Translations") and os.path.exists(path):
                pairs.append((language if origin == "Translations" else None, path))
        return sorted(pairs, key=lambda pair: (pair[0] or "", pair[1]))

    def read(self, path):
        # apt keeps its lists compressed on many machines, and knows how.
        return self.run("/usr/lib/apt/apt-helper", "cat-file", path)


def apt_of(folder):
    """Returns apt with all lists it can have here, or None."""
    apt = Apt(folder)
    try:
        apt.update()
        if not apt.lists():
            raise OSError("no lists came")
    except OSError as error:
        say(f"apt-get update: {error}; with the machine's own lists instead")
        apt.private = False
        try:
            if not apt.lists():
                say("apt: no lists on this machine; skipped")
                return None
        except OSError as other:
            say(f"apt: {other}; skipped")
            return None
    return apt


def is_unspaced(character):
    """Whether a character is of a script that has no spaces between words."""
    return "\u2e80" <= character <= "\ua4cf" or "\uf900" <= character <= "\ufaff" or (
        "\uff00" <= character <= "\uffef"
    )


def joined(lines):
    """Joins the lines of a paragraph; Chinese and Japanese have no space there."""
    text = ""
    for line in lines:
        if text and not (is_unspaced(text[-1]) and is_unspaced(line[0])):
            text += " "
        text += line
    return text


def description(lines):
    """Returns the paragraphs of a long description: indented lines are as they stand."""
    paragraphs, current = [], []
    for line in lines:
        line = line[1:]
        is_item = line.startswith((" ", "* ", "- ", "+ "))
        if line.strip() in ("", ".") or is_item:
            if current:
                paragraphs.append(joined(current))
            current = []
        if line.strip() not in ("", "."):
            current.append(line.strip())
    if current:
        paragraphs.append(joined(current))
    return "\n".join(paragraphs)


def described(text):
    """Yields the name, short and long description of each paragraph of one of apt's lists."""
    for paragraph in text.split("\n\n"):
        name, short, lines, inside = None, None, [], False
        for line in paragraph.split("\n"):
            if line.startswith(" "):
                if inside:
                    lines.append(line)
                continue
            field, _, value = line.partition(":")
            inside = field == "Description" or (
                field.startswith("Description-") and field != "Description-md5"
            )
            if field == "Package":
                name = value.strip()
            elif inside:
                short, lines = value.strip(), []
        if name and short and "<trans>" not in short:
            yield name, short, description(lines)


def package_documents(apt):
    texts = collections.defaultdict(dict)
    for language, path in apt.lists():
        known = texts[language or "en"]
        for name, short, long in described(apt.read(path)):
            # Packages beside their translations have the short text alone; the longer one wins.
            if name not in known or len(long) > len(known[name][1]):
                known[name] = (short, long)
    for language in sorted(texts, key=lambda name: (name != "en", name)):
        names = sorted(texts[language])
        if language != "en" and len(names) > TRANSLATIONS_MAX:
            # A hash draws the same packages on each machine, whichever others exist there.
            names.sort(key=lambda name: hashlib.sha1(f"{language} {name}".encode()).digest())
            names = sorted(names[:TRANSLATIONS_MAX])
        for name in names:
            short, long = texts[language][name]
            yield f"{name} {short}", long[:BODY_LETTERS_MAX], language, "package"
    for language in ("de", "fr", "it", "es", "pt_BR", "ru", "ja", "zh_CN", "ko", "pl", "uk"):
        if language not in texts:
            say(f"packages: no translation into {language}; skipped")


# --- Corpus: characters --------------------------------------------------------------------------


def character_documents():
    if not os.path.exists(UNICODE_DATA):
        say(f"characters: no {UNICODE_DATA} (package unicode-data); skipped")
        return
    with open(UNICODE_DATA, encoding="ascii") as file:
        for line in file:
            code, name, category = line.split(";")[:3]
            # Names in angle brackets are controls and the ends of ranges: Han, Hangul, private use.
            if name.startswith(("<", "CJK COMPATIBILITY IDEOGRAPH")) or category in ("Cc", "Cs"):
                continue
            yield f"{chr(int(code, 16))} {name.lower()}", f"U+{code}", "en", "character"


# --- Corpus: manual pages ------------------------------------------------------------------------

# What the section that describes is called, in the languages of the manual pages.
DESCRIPTION_HEADINGS = (
    "DESCRIPTION BESCHREIBUNG DESCRIZIONE DESCRIPCIÓN DESCRIÇÃO ОПИСАНИЕ ОПИС OPIS POPIS"
    " BESKRIVELSE BESKRIVNING KUVAUS BESCHRIJVING DESCRIERE LEÍRÁS AÇIKLAMA TANIM ΠΕΡΙΓΡΑΦΗ"
    " 説明 描述 說明 说明 説明文 簡介 설명 DESKRIPSI"
).split()
SPECIAL_LETTERS = {
    "aq": "'", "cq": "’", "oq": "‘", "dq": '"', "lq": "“", "rq": "”", "em": "—", "en": "–",
    "bu": "•", "co": "©", "rg": "®", "tm": "™", "ha": "^", "ti": "~", "ga": "`", "rs": "\\",
    "->": "→", "<-": "←", ">=": "≥", "<=": "≤", "!=": "≠", "+-": "±", "mu": "×", "de": "°",
    "Fo": "«", "Fc": "»", "sh": "#", "at": "@", "ba": "|", "sl": "/", "hy": "-", "mi": "−",
    "ss": "ß", ":a": "ä", ":o": "ö", ":u": "ü", ":A": "Ä", ":O": "Ö", ":U": "Ü", "'e": "é",
    "'a": "á", "'i": "í", "'o": "ó", "'u": "ú", "`e": "è", "`a": "à", ",c": "ç", "^e": "ê",
    "dg": "†", "ps": "¶", "sc": "§", "12": "½", "14": "¼", "if": "∞", "*a": "α", "*m": "μ",
}
ESCAPE = re.compile(
    r'\\(?:"(?P<comment>.*)|f(?:\[[^\]]*\]|\(..|.)|s[+-]?\d+|s\[[^\]]*\]|\*(?:\[[^\]]*\]|\(..|.)'
    r"|\((?P<two>..)|\[(?P<long>[^\]]*)\]|(?P<one>.)|$)"
)
# Requests whose words are a part of the text; of those with two letters in two fonts, the words
# belong together without a space.
FONTS = {"B", "I", "SM", "SB", "SS", "UR", "MT", "IP", "TQ"}
PAIRED_FONTS = {"BR", "RB", "IR", "RI", "BI", "IB"}
BREAKS = {"PP", "P", "LP", "TP", "IP", "HP", "SS", "br", "sp", "TQ", "Pp", "It", "Bl", "Bd", "Ss"}
MDOC_TEXT = set(
    "Nm Nd It Fl Ar Xr Dq Sq Em Sy Pa Ql Op Cm Li Dv Va Fn Ev Er Ic Aq Bq Pq Qq No Fa Ft Ux Ss Ad"
    " Tn Vt St An Lk Mt Oo Oc Ns D1 Dl".split()
)


def unescaped(text):
    def letter(match):
        name = match["two"] or match["long"]
        if name is not None:
            code = re.fullmatch(r"u([0-9A-Fa-f]{4,6})", name)
            return chr(int(code[1], 16)) if code else SPECIAL_LETTERS.get(name, "")
        one = match["one"]
        if one is None:
            return ""
        return {"-": "-", "e": "\\", "\\": "\\", " ": " ", "~": " ", "0": " ", ".": ".", "'": "'",
                "`": "`"}.get(one, "")

    return ESCAPE.sub(letter, text)


def arguments(text):
    return [quoted or plain for quoted, plain in re.findall(r'"([^"]*)"?|(\S+)', text)]


def sections(source):
    """Returns pairs of the heading and the text of a manual page's sections."""
    found, lines, in_macro = [], [], False
    for line in source.split("\n"):
        if in_macro:
            in_macro = not line.startswith("..")
            continue
        if line[:1] not in (".", "'"):
            text = unescaped(line).strip()
            lines += [text] if text else [None]
            continue
        match = re.match(r"[.']\s*([A-Za-z0-9]+)\s*(.*)", line)
        if not match:
            continue
        request, rest = match.groups()
        if request in ("de", "de1", "am", "ig"):
            in_macro = True
        elif request in ("SH", "Sh"):
            lines = []
            found.append((unescaped(" ".join(arguments(rest))).strip(), lines))
        else:
            if request in BREAKS:
                lines.append(None)
            words = [unescaped(word) for word in arguments(rest)]
            if request in PAIRED_FONTS:
                lines.append("".join(words).strip())
            elif request == "Nd":
                lines.append("- " + " ".join(words))
            elif request in FONTS or request in MDOC_TEXT:
                # The second argument of these is an indentation.
                lines.append(" ".join(words[:1] if request in ("IP", "TQ") else words).strip())
    texts = []
    for heading, lines in found:
        paragraphs, current = [], []
        for line in (*lines, None):
            if line:
                current.append(line)
            elif line is None and current:
                paragraphs.append(joined(current))
                current = []
        texts.append((heading, "\n".join(paragraphs)))
    return texts


def manual_text(source):
    """Returns the NAME and DESCRIPTION of a manual page; None for an alias of another page."""
    parts = sections(source)
    if len(parts) < 2 or not parts[0][1]:
        return None
    described = [text for heading, text in parts[1:] if heading.upper() in DESCRIPTION_HEADINGS]
    # An unknown language: what describes is longer than the synopsis before it.
    text = described[0] if described else max((text for _, text in parts[1:4]), key=len)
    return f"{parts[0][1]}\n{text}"[:BODY_LETTERS_MAX].strip()


def manual_documents(apt, folder):
    os.makedirs(folder, exist_ok=True)
    names = apt.run("apt-cache", "pkgnames", "manpages", check=False).split()
    names += apt.run("apt-cache", "pkgnames", "git-man", check=False).split()
    names += apt.run("apt-cache", "pkgnames", "perl-doc", check=False).split()
    names = sorted({name for name in names if name.startswith("manpages") or name in MANUALS})
    for name in ("manpages", *MANUALS):
        if name not in names:
            say(f"manual pages: apt has no package {name}; skipped")
    for name in names:
        # Each alone: one that cannot be had leaves the others.
        if not glob.glob(os.path.join(folder, f"{name}_*.deb")):
            try:
                apt.run("apt-get", "download", "-q", name, cwd=folder)
            except OSError as error:
                say(f"manual pages: {name}: {error.args[0].splitlines()[-1]}; skipped")
    pages = {}
    for path in sorted(glob.glob(os.path.join(folder, "*.deb"))):
        with subprocess.Popen(
            ("dpkg-deb", "--fsys-tarfile", path), stdout=subprocess.PIPE
        ) as process, tarfile.open(fileobj=process.stdout, mode="r|") as archive:
            for member in archive:
                match = re.fullmatch(
                    r"\./usr/share/man/(?:([a-z]{2}(?:_[A-Z]{2})?)/)?man\d/(.+)\.(\d\w*)\.gz",
                    member.name,
                )
                # Links are other names of a page.
                if not match or not member.isfile():
                    continue
                language, name, section = match.groups()
                try:
                    source = gzip.decompress(archive.extractfile(member).read()).decode("utf-8")
                except (OSError, EOFError, UnicodeDecodeError):
                    continue
                text = manual_text(source)
                if text and len(text) >= 40:
                    pages.setdefault((language or "en", name, section), text)
    for (language, name, _), text in sorted(pages.items()):
        yield name, text, language, "manual"


def write_corpus(folder):
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "documents.jsonl")
    apt = apt_of(os.path.join(os.path.abspath(folder), "apt"))
    sources = [character_documents()]
    if apt:
        sources.insert(0, package_documents(apt))
        sources.append(manual_documents(apt, os.path.join(os.path.abspath(folder), "manuals")))
    counts = collections.Counter()
    number = 0
    with open(path, "w", encoding="utf-8") as file:
        for source in sources:
            for title, body, language, kind in source:
                number += 1
                counts[kind, language] += 1
                document = {"id": number, "title": title, "body": body, "language": language,
                            "kind": kind}
                file.write(json.dumps(document, ensure_ascii=False) + "\n")
    for (kind, language), count in counts.most_common():
        say(f"{kind:10} {language:6} {count:7}")
    say(f"{path}: {number} documents, {os.path.getsize(path) / 1e6:.0f} MB")


# --- The corpus as the generator sees it ---------------------------------------------------------

WORD = re.compile(r"\w+")
RARE = 200
FOUND_MAX = 10
# So many documents beside the meant ones may have all words of a query: with three, a search
# could show only these and still be right.
OTHERS_MAX = 2
# Words in more than this part of a language's documents tell nothing.
COMMON_PART = 0.1
STOP_WORDS = set(
    "the and for with that this are from can not you your has have its into which will any also"
    " der die das und für mit von dem den des ein eine einen einer eines einem ist sind wird werden"
    " auf aus bei nach über zum zur als auch oder nicht sich wie durch kann dieses diese dieser"
    " les des une est pour dans par sur avec qui que pas aux ces son ses peut cette sont plus vous"
    " los las una del por con para como más este esta puede sus uno desde cuando entre sin"
    " gli dei del della delle che per con una non sono alla nel nella come può questo questa più"
    " uma dos das com não por como este esta mais pode são aos pelo pela seu sua seus"
    " для или как что это его она они при так также может быть если все она из под над без"
    " med och det som til for den der kan til ved ikke eller fra har"
    " such other some many much very more most than then only when where while there these those"
    " them they their would should could been being was were does done via per etc one two get set"
    " without within each both own like over under between about through upon use used uses using"
    " made make makes let lets way all but out who how what around same".split()
)
# Short words are particles and the like at a lower frequency already; English has them above.
SHORT_COMMON_PART = 0.02


def is_spelled(word):
    """Whether a word is written letter by letter: Latin, Greek, Cyrillic and their neighbours."""
    return word.isalpha() and all(
        letter < "\u0600" or "\u1e00" <= letter <= "\u1fff" for letter in word
    )


def first_sentence(document):
    text = document["body"].split("\n", 1)[0]
    if document["kind"] == "manual":
        # The names of the page, before the dash, are its title.
        text = re.split(r" [-–—] ", text, maxsplit=1)[-1]
    return re.split(r"(?<=[.!?。])\s", text, maxsplit=1)[0]


def begins_all(words, prefixes):
    return all(any(word.startswith(prefix) for word in words) for prefix in prefixes)


class Corpus:
    def __init__(self, path):
        self.documents = []
        self.postings = {}
        # Of each language, in how many documents a word is.
        self.counts = collections.defaultdict(collections.Counter)
        sizes = collections.Counter()
        with open(path, encoding="utf-8") as file:
            for line in file:
                document = json.loads(line)
                number = document["id"]
                if number != len(self.documents) + 1:
                    raise ValueError(f"document {number} is not in its place")
                self.documents.append(document)
                words = set(WORD.findall(f"{document['title']} {document['body']}".lower()))
                for word in words:
                    found = self.postings.get(word)
                    if found is None:
                        found = self.postings[word] = array.array("i")
                    found.append(number)
                if document["kind"] != "character":
                    self.counts[document["language"]].update(words)
                    sizes[document["language"]] += 1
        self.vocabulary = sorted(self.postings)
        self.common = {
            language: {
                word
                for word, count in counts.items()
                if count > COMMON_PART * sizes[language]
                or language != "en"
                and len(word) <= 4
                and count > SHORT_COMMON_PART * sizes[language]
            }
            for language, counts in self.counts.items()
        }
        self.words_of = {}

    def document(self, number):
        return self.documents[number - 1]

    def text(self, number):
        document = self.document(number)
        return f"{document['title']} {document['body']}"

    def words(self, number):
        words = self.words_of.get(number)
        if words is None:
            if len(self.words_of) > 50_000:
                self.words_of.clear()
            words = self.words_of[number] = frozenset(WORD.findall(self.text(number).lower()))
        return words

    def title_words(self, number):
        return set(WORD.findall(self.document(number)["title"].lower()))

    def frequency(self, word):
        return len(self.postings.get(word, ()))

    def having(self, words):
        """Returns the documents that have all words, in their order."""
        lists = sorted((self.postings.get(word, ()) for word in set(words)), key=len)
        if not lists:
            return []
        numbers = lists[0]
        for other in lists[1:]:
            kept = []
            for number in numbers:
                at = bisect.bisect_left(other, number)
                if at < len(other) and other[at] == number:
                    kept.append(number)
            numbers = kept
        return list(numbers)

    def beginning(self, prefix):
        """Returns the words that begin with a prefix."""
        at = bisect.bisect_left(self.vocabulary, prefix)
        words = []
        while at < len(self.vocabulary) and self.vocabulary[at].startswith(prefix):
            words.append(self.vocabulary[at])
            at += 1
        return words

    def having_beginnings(self, words, prefixes):
        """Returns the documents that have all words, and words with all prefixes."""
        if words:
            numbers = self.having(words)
        else:
            unions = []
            for prefix in prefixes:
                lists = [self.postings[word] for word in self.beginning(prefix)]
                unions.append((sum(map(len, lists)), lists))
            numbers = sorted(set().union(*min(unions, key=lambda union: union[0])[1]))
        return [
            number
            for number in numbers
            if begins_all(self.words(number), prefixes)
        ]

    def tells(self, word, language):
        """Whether a person would remember a word."""
        return (
            len(word) >= 3
            and is_spelled(word)
            and word not in STOP_WORDS
            and word not in self.common.get(language, ())
        )


class Choice:
    """Words of a document, and the documents that a query of them means."""

    def __init__(self, words, intended, number):
        self.words, self.intended, self.number = words, intended, number


def meant(corpus, number, words, found=None):
    """Returns the documents that a person means who remembers these words of a document.

    None if others have them as well: then no search could tell which is meant.
    """
    found = corpus.having(words) if found is None else found
    if not found or len(found) > FOUND_MAX or number not in found:
        return None
    titled = [other for other in found if corpus.title_words(other) >= set(words)]
    if titled:
        return titled if number in titled else None
    # Parts of one program share their first sentence; any of them is right.
    sentence = first_sentence(corpus.document(number))
    same = [other for other in found if first_sentence(corpus.document(other)) == sentence]
    return same if number in same and len(found) - len(same) <= OTHERS_MAX else None


def is_clear(corpus, query, intended):
    """Whether a query, taken by the letter, means no other documents."""
    words = WORD.findall(query.lower())
    if not words or any(word not in corpus.postings for word in words):
        return True
    others = set(corpus.having(words)) - set(intended)
    return len(others) <= OTHERS_MAX and not any(
        corpus.title_words(other) >= set(words) for other in others
    )


def summary(document):
    """Returns the title without the name of a package, which is no word of the phrase."""
    title = document["title"]
    return title.split(" ", 1)[-1] if document["kind"] == "package" else title


def sources(corpus, number, rng, is_whole=False):
    """Returns a text that a person remembers, the title more often, and the words not to take.

    Of a first sentence it is a part, unless `is_whole`: words from all over it make no sense.
    """
    document = corpus.document(number)
    if document["kind"] == "character" or rng.random() < 0.7:
        text, without = document["title"], set()
        # Who knows the name of a package or page needs no search; some remember it half.
        if document["kind"] == "package" and rng.random() < 0.6:
            without = set(WORD.findall(text.split(" ", 1)[0].lower()))
        return text, without
    words = first_sentence(document)[:400].split(" ")
    if is_whole or len(words) <= 9:
        return " ".join(words), set()
    at = rng.randrange(len(words) - 8)
    return " ".join(words[at : at + 9]), set()


def choose(corpus, number, rng, count=(2, 4), needs=None, given=()):
    """Chooses words of a document, `given` ones among them, in the order of the text."""
    language = corpus.document(number)["language"]
    for _ in range(4):
        text, without = sources(corpus, number, rng, is_whole=bool(given))
        words = list(dict.fromkeys(WORD.findall(text.lower())))
        if any(word not in words for word in given):
            continue
        free = [
            word
            for word in words
            if corpus.tells(word, language) and word not in without and word not in given
        ]
        size = rng.randint(*count) - len(given)
        if size < 0 or len(free) < size:
            continue
        # What tells more stays in mind more easily.
        free.sort(key=lambda word: -(rng.random() ** math.log2(2 + corpus.frequency(word))))
        chosen = sorted([*free[:size], *given], key=words.index)
        if min(map(corpus.frequency, chosen)) >= RARE:
            continue
        if needs and not needs(chosen):
            continue
        intended = meant(corpus, number, chosen)
        if intended:
            return Choice(chosen, intended, number)
    return None


# --- Damage --------------------------------------------------------------------------------------

KEYS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
# The keys beside each key.
BESIDE = collections.defaultdict(str)
for at_row, row in enumerate(KEYS):
    for at, key in enumerate(row):
        BESIDE[key] += row[max(0, at - 1) : at] + row[at + 1 : at + 2]
        if at_row + 1 < len(KEYS):
            below = KEYS[at_row + 1][max(0, at - 1) : at + 1]
            BESIDE[key] += below
            for other in below:
                BESIDE[other] += key


def place(rng, word):
    """Returns where a mistake is: in the first letter they are seldom."""
    return 0 if rng.random() < 0.07 else rng.randrange(1, len(word))


def mistaken(rng, word):
    """Returns a word with a letter left out, added or replaced, as fingers do it."""
    at = place(rng, word)
    letter = word[at]
    # Other scripts and letters with accents: any letter of the word is on the same keyboard.
    near = rng.choice(BESIDE.get(letter) or word)
    kind = rng.randrange(3)
    if kind == 0:
        return word[:at] + word[at + 1 :]
    if kind == 1:
        return word[:at] + rng.choice((letter, near)) + word[at:]
    return word[:at] + near + word[at + 1 :]


def damaged(corpus, rng, word, damage):
    """Returns a damaged word that is no other word of the corpus, or None."""
    for _ in range(6):
        result = damage(rng, word)
        if result != word and result not in corpus.postings:
            return result
    return None


def transposed(rng, word):
    at = rng.randrange(len(word) - 1) if rng.random() < 0.1 else rng.randrange(1, len(word) - 1)
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def exchanged(words, old, new):
    return " ".join(new if word == old else word for word in words)


def make_damage(damage, length):
    def make(corpus, number, rng):
        choice = choose(corpus, number, rng, needs=lambda words: max(map(len, words)) >= length)
        if not choice:
            return None
        word = rng.choice([word for word in choice.words if len(word) >= length])
        result = damaged(corpus, rng, word, damage)
        return result and (exchanged(choice.words, word, result), choice.intended)

    return make


def make_typo2(corpus, number, rng):
    long = rng.random() < 0.5
    if long:
        return make_damage(lambda rng, word: mistaken(rng, mistaken(rng, word)), 8)(
            corpus, number, rng
        )
    choice = choose(
        corpus, number, rng, needs=lambda words: sum(len(word) >= 5 for word in words) >= 2
    )
    if not choice:
        return None
    words = list(choice.words)
    for at in rng.sample([at for at, word in enumerate(words) if len(word) >= 5], 2):
        words[at] = damaged(corpus, rng, words[at], mistaken)
        if not words[at]:
            return None
    return " ".join(words), choice.intended


def make_half_last(corpus, number, rng):
    choice = choose(corpus, number, rng, needs=lambda words: len(words[-1]) >= 5)
    if not choice:
        return None
    *words, last = choice.words
    size = rng.randint(max(3, -(-len(last) * 2 // 5)), len(last) - 1)
    found = corpus.having_beginnings(words, [last[:size]])
    if len(set(found) - set(choice.intended)) > OTHERS_MAX:
        return None
    return " ".join((*words, last[:size])), choice.intended


def make_half_all(corpus, number, rng):
    choice = choose(corpus, number, rng, count=(2, 4), needs=lambda words: len(words) >= 2)
    if not choice:
        return None
    prefixes = [word[: rng.randint(3, 5)] for word in choice.words]
    if prefixes == choice.words or any(
        first != second and second.startswith(first) or prefixes.count(first) > 1
        for first in prefixes
        for second in prefixes
    ):
        return None
    found = corpus.having_beginnings([], prefixes)
    others = set(found) - set(choice.intended)
    titled = sum(
        begins_all(corpus.title_words(other), prefixes) for other in others
    )
    # In a title the beginnings stand out; elsewhere others that have them by chance are as good.
    in_title = corpus.title_words(number) >= set(choice.words)
    if titled > OTHERS_MAX or len(others) > (FOUND_MAX if in_title else OTHERS_MAX):
        return None
    return " ".join(prefixes), choice.intended


def make_no_spaces(corpus, number, rng):
    language = corpus.document(number)["language"]
    document = corpus.document(number)
    text = summary(document) if rng.random() < 0.6 else first_sentence(document)[:400]
    pairs = [
        pair
        for pair in re.findall(r"(?<!\S)(?=(\w{4,}) (\w{4,})(?![\w-]))", text.lower())
        if all(corpus.tells(word, language) for word in pair)
        and "".join(pair) not in corpus.postings
    ]
    if not pairs:
        return None
    pair = rng.choice(pairs)
    choice = choose(corpus, number, rng, count=(2, 3), given=pair)
    if not choice:
        return None
    at = choice.words.index(pair[0])
    if choice.words[at + 1 : at + 2] != [pair[1]]:
        return None
    words = [*choice.words[:at], "".join(pair), *choice.words[at + 2 :]]
    return " ".join(words), choice.intended


# --- Compounds -----------------------------------------------------------------------------------


def english_compounds(corpus):
    """Returns words that the corpus also has apart, "file system", with their two parts.

    Without this evidence any two short words would do: "pack ages".
    """
    words = {
        word
        for word, count in corpus.counts["en"].items()
        if len(word) >= 8 and count >= 3 and is_spelled(word)
    }
    pairs = collections.Counter()
    for document in corpus.documents:
        if document["language"] == "en" and document["kind"] != "character":
            list_ = WORD.findall(f"{document['title']} {document['body']}".lower())
            for first, second in zip(list_, list_[1:]):
                if len(first) >= 3 and len(second) >= 3 and first + second in words:
                    pairs[first, second] += 1
    return {"".join(pair): pair for pair, count in sorted(pairs.items()) if count >= 3}


# Beginnings of single words: an "Interaktion" is no "Aktion".
NO_NOUNS = {"inter", "trans", "kon", "sub", "pro", "pre", "per", "super", "ortho", "para", "kom"}


def german_compounds(corpus):
    """Returns words of two nouns with their parts; nouns are what German writes with a capital."""
    capital, small = collections.Counter(), collections.Counter()
    for document in corpus.documents:
        if document["language"] == "de":
            # The first word of a sentence has a capital whatever it is.
            capital.update(re.findall(r"(?<=[a-zäöüß,] )[A-ZÄÖÜ][a-zäöüß]{2,}", document["body"]))
            small.update(re.findall(r"\b[a-zäöüß]{3,}\b", document["body"]))
    nouns = {
        word.lower()
        for word, count in capital.items()
        if count >= 4 and count > small[word.lower()]
    }
    counts = corpus.counts["de"]
    found = {}
    for word in sorted(counts):
        if len(word) < 8 or not is_spelled(word) or word.capitalize() not in capital:
            continue
        splits = []
        for at in range(3, len(word) - 3):
            first, second = word[:at], word[at:]
            joint = first[:-1] if first.endswith("s") and counts[first] >= 3 else first
            if first in NO_NOUNS:
                continue
            if second in nouns and (first in nouns or joint in nouns) and len(second) >= 4:
                splits.append((min(counts[first], counts[second]), first, second))
        if splits:
            found[word] = max(splits)[1:]
    return found


def compound_choice(corpus, number, rng, count, least=3):
    compounds = corpus.compounds.get(corpus.document(number)["language"], {})
    document = corpus.document(number)
    text = f"{document['title']} {first_sentence(document)}".lower()
    words = [
        word
        for word in dict.fromkeys(WORD.findall(text))
        if word in compounds and len(compounds[word][1]) >= least
    ]
    if not words:
        return None, None, None
    word = rng.choice(words)
    return choose(corpus, number, rng, count=count, given=(word,)), word, compounds[word]


def make_compound_apart(corpus, number, rng):
    choice, word, parts = compound_choice(corpus, number, rng, (1, 3))
    if not choice:
        return None
    return exchanged(choice.words, word, " ".join(parts)), choice.intended


def make_compound_end(corpus, number, rng):
    if corpus.document(number)["language"] != "de":
        return None
    choice, word, parts = compound_choice(corpus, number, rng, (2, 2), least=5)
    # The end must tell something: "Dateien" does not.
    if (
        not choice
        or not corpus.tells(parts[1], "de")
        or all(corpus.frequency(other) >= RARE for other in choice.words if other != word)
    ):
        return None
    return exchanged(choice.words, word, parts[1]), choice.intended


# --- Word forms ----------------------------------------------------------------------------------

STEMMERS = {
    "en": "english", "de": "german", "fr": "french", "it": "italian", "es": "spanish",
    "pt": "portuguese", "pt_BR": "portuguese", "ru": "russian",
}


def stemmers():
    """Returns a function for each language that maps words to stems; none without Snowball.

    The package is in no requirement of the project: it is got where it can be, into a folder that
    goes away.
    """
    def load(name):
        module = importlib.import_module(name)
        if name == "Stemmer":
            return {lang: module.Stemmer(key).stemWords for lang, key in STEMMERS.items()}
        return {lang: module.stemmer(key).stemWords for lang, key in STEMMERS.items()}

    for name in ("Stemmer", "snowballstemmer"):
        try:
            return load(name)
        except ImportError:
            pass
    with tempfile.TemporaryDirectory() as folder:
        for package, name in (("PyStemmer", "Stemmer"), ("snowballstemmer", "snowballstemmer")):
            command = (sys.executable, "-m", "pip", "install", "-q", "--target", folder, package)
            if subprocess.run(command, capture_output=True).returncode == 0:
                sys.path.insert(0, folder)
                try:
                    return load(name)
                except ImportError:
                    continue
                finally:
                    sys.path.remove(folder)
    say("inflection: neither PyStemmer nor snowballstemmer can be had; skipped")
    return {}


def word_forms(corpus):
    """Returns for each language the other forms of a word: same stem, same beginning."""
    forms = {}
    for language, stem in stemmers().items():
        counts = corpus.counts[language]
        words = sorted(
            word
            for word, count in counts.items()
            if count >= 4 and len(word) >= 4 and is_spelled(word)
        )
        groups = collections.defaultdict(list)
        for word, key in zip(words, stem(words)):
            groups[key].append(word)
        forms[language] = {
            word: others
            for group in groups.values()
            for word in group
            if (others := [other for other in group if is_form(word, other)])
        }
    return forms


def is_form(word, other):
    same = len(os.path.commonprefix((word, other)))
    return word != other and same >= 3 and max(len(word), len(other)) - same <= 4


def make_inflection(corpus, number, rng):
    forms = corpus.forms.get(corpus.document(number)["language"])
    if not forms:
        return None
    choice = choose(corpus, number, rng, needs=lambda words: any(word in forms for word in words))
    if not choice:
        return None
    word = rng.choice([word for word in choice.words if word in forms])
    # The common form is the one that comes to mind.
    counts = corpus.counts[corpus.document(number)["language"]]
    other = max(rng.sample(forms[word], min(2, len(forms[word]))), key=lambda form: counts[form])
    return exchanged(choice.words, word, other), choice.intended


LETTERS_WITHOUT_MARKS = {"ß": "ss", "ø": "o", "ł": "l", "æ": "ae", "œ": "oe", "đ": "d", "ı": "i"}


def without_accents(word, is_german):
    if is_german:
        word = word.replace("ä", "ae").replace("ö", "oe").replace("ü", "ue")
    word = "".join(LETTERS_WITHOUT_MARKS.get(letter, letter) for letter in word)
    parts = unicodedata.normalize("NFD", word)
    return "".join(letter for letter in parts if not unicodedata.combining(letter))


def make_accents(corpus, number, rng):
    def is_marked(word):
        # Russian й and ё are letters of their own on each keyboard.
        return word < "\u0370" and without_accents(word, False) != word

    choice = choose(corpus, number, rng, needs=lambda words: any(map(is_marked, words)))
    if not choice:
        return None
    is_german = corpus.document(number)["language"] == "de" and rng.random() < 0.6
    return " ".join(without_accents(word, is_german) for word in choice.words), choice.intended


# --- Scripts and signs ---------------------------------------------------------------------------

SCRIPTS = (
    ("kana", "ァ-ヺー"), ("han", "一-鿿々"), ("hangul", "가-힣"), ("cyrillic", "а-яёіїєґА-ЯЁІЇЄҐ"),
)
# Parts of sentences that are no part of a word in Chinese.
PARTICLES = set("的和是在与或为了一个这些中对于可以使用及其個這與為並并不有上下从到将所以被把")


def han_pairs(corpus):
    """Returns in how many documents two Han letters stand together."""
    pairs = collections.Counter()
    for document in corpus.documents:
        if document["language"][:2] in ("zh", "ja"):
            text = corpus.text(document["id"])
            pairs.update(
                {text[at : at + 2] for at in range(len(text) - 1) if "一" <= text[at] <= "鿿"}
            )
    return pairs


def han_words(corpus, run):
    """Returns words of two letters in a text without spaces, each with its place.

    Two letters that stand together more often than both do with the letters beside them are
    likely a word.
    """
    counts = [corpus.han_pairs[run[at : at + 2]] for at in range(len(run) - 1)]
    return [
        (at, run[at : at + 2])
        for at, count in enumerate(counts)
        if count >= 3
        and count >= max(counts[max(0, at - 1) : at + 2])
        and not set(run[at : at + 2]) & PARTICLES
    ]


KOREAN_ENDINGS = (
    r"(?<=..)(?:입니다|합니다|됩니다|습니다|하는|하여|하고|되는|으로|에서|에게|[을를은는의와과로])$"
)


def containing(corpus, parts):
    """Returns the documents whose text has all parts; those without spaces have no postings."""
    spaced = [part for part in parts if part.isascii()]
    if spaced:
        candidates = corpus.having([word for part in spaced for word in WORD.findall(part)])
    else:
        candidates = corpus.unspaced
    return [
        number
        for number in candidates
        if all(part in corpus.lowered(number) for part in parts)
    ]


def make_mixed_scripts(corpus, number, rng):
    document = corpus.document(number)
    language = document["language"][:2]
    if language not in ("zh", "ja", "ko", "ru"):
        return None
    title = document["title"]
    if document["kind"] == "package":
        title = title.split(" ", 1)[-1]
    text = (title if rng.random() < 0.6 else first_sentence(document)[:200]).lower()
    parts = []
    for script, letters in SCRIPTS:
        for match in re.finditer(f"[{letters}]{{2,}}", text):
            run = match[0]
            if script == "kana" and 2 <= len(run) <= 6:
                parts.append((match.start(), run))
            elif script == "han":
                words = han_words(corpus, run)
                for at, word in enumerate(words):
                    # Two words are often one name: "文件" and "系统".
                    both = words[at : at + 2]
                    joint = both[0][0] + len(both[0][1]) == both[-1][0]
                    if joint and rng.random() < 0.4:
                        word = (word[0], word[1] + both[1][1])
                    parts.append((match.start() + word[0], word[1]))
            elif script == "hangul":
                # Without the ending, which is another in each sentence.
                stem = re.sub(KOREAN_ENDINGS, "", run)
                if 2 <= len(stem) <= 6:
                    parts.append((match.start(), stem))
            elif script == "cyrillic" and len(run) >= 4 and run not in STOP_WORDS:
                parts.append((match.start(), run[:6]))
    latin = [
        (match.start(), match[0])
        for match in re.finditer(r"(?<![a-z0-9.+-])[a-z][a-z0-9]{1,}(?![a-z0-9.+-])", text)
    ]
    if not parts:
        return None
    chosen = rng.sample(parts, min(len(parts), 1 if latin else rng.randint(1, 3)))
    if latin:
        chosen.append(rng.choice(latin))
        if len(parts) > 1 and rng.random() < 0.5:
            chosen.append(rng.choice([part for part in parts if part not in chosen]))
    words = list(dict.fromkeys(part for _, part in sorted(chosen)))
    if len("".join(words)) < 4:
        return None
    found = containing(corpus, words)
    if number not in found or len(found) > FOUND_MAX:
        return None
    titled = [
        other
        for other in found
        if all(word in corpus.document(other)["title"].lower() for word in words)
    ]
    if titled:
        return (" ".join(words), titled) if number in titled else None
    sentence = first_sentence(document)
    same = [other for other in found if first_sentence(corpus.document(other)) == sentence]
    if len(found) - len(same) > OTHERS_MAX:
        return None
    return " ".join(words), same


IDENTIFIERS = {
    "path": re.compile(r"(?<![\w/.<~:-])~?/[\w.+-]{2,}(?:/[\w.+-]+)+(?<![.,-])"),
    "file": re.compile(
        r"(?<![\w/.@-])[\w][\w-]*\.(?:conf|cfg|txt|xml|html|json|ya?ml|ini|log|hpp|h|py|so|tex|csv"
        r"|db|sh|js|css|jar|tar\.gz|zip|png|svg|desktop|service|rc|pl|pm|exe|dll|pdf|iso)\b"
    ),
    "url": re.compile(r"https?://[^\s<>\"()\[\]{},;'»]+[\w/]"),
    "unit": re.compile(
        r"(?<![\w.,-])\d+(?:[.,]\d+)? (?:[KMGT]i?B|kB|[kMG]?Hz|bits?|[kM]bit/s|[kM]bps|dpi|mm|cm|ms"
        r"|fps|Mio?|Go|Мб|МБ|ГБ|KB/s|MB/s|GB/s)\b"
    ),
    "number": re.compile(r"(?<![\w.,-])\d+\.\d+(?:\.\d+)+(?![\w-])"),
    "function": re.compile(r"(?<![\w.>:-])[a-z_][\w]{3,}\(\d?\)"),
    "variable": re.compile(r"(?<!\w)\$?[A-Z]{2,}(?:_[A-Z0-9]+)+(?!\w)"),
    "option": re.compile(r"(?<![\w-])--[a-z]{2,}(?:-[a-z]+)*(?![\w-])"),
    "module": re.compile(r"(?<![\w:])[A-Z]\w+(?:::\w+)+"),
}
VERSION = re.compile(
    r"(?<![\w.+/:@-])(?:c\+\+\d\d|[a-zA-Z]{2,12}[- ]?\d+(?:\.\d+)+|[a-zA-Z]{2,12}-?\d{1,3}"
    r"|v?\d+\.\d+(?:\.\d+)*|[cC]\+\+|[cCfF]#|\.NET|[A-Za-z]{2,8}/\d(?:\.\d)?|[A-Z]/[A-Z]\w*)"
    r"(?![\w+#/-]|\.\w)"
)


def standing(corpus, text, words):
    """Returns the documents that have a text as it stands, and words."""
    lowered = text.lower()
    parts = WORD.findall(lowered)
    if not parts and not words:
        return []
    exact = re.compile(rf"(?<![\w+-]){re.escape(lowered)}(?![\w+-]|\.\w)")
    # Signs at the start or end, as in "--all" and "main()", are their own border.
    if not (lowered[0].isalnum() and lowered[-1].isalnum()):
        exact = re.compile(
            (r"(?<![\w])" if lowered[0].isalnum() else "")
            + re.escape(lowered)
            + (r"(?![\w])" if lowered[-1].isalnum() else "")
        )
    return [
        number
        for number in corpus.having([*parts, *words])
        if exact.search(corpus.lowered(number))
    ]


def with_words(corpus, number, rng, text, least, most):
    """Returns a query of a text as it stands and so many words that it is specific."""
    document = corpus.document(number)
    source = document["title"] if rng.random() < 0.6 else first_sentence(document)[:400]
    own = set(WORD.findall(text.lower()))
    if document["kind"] == "package":
        own |= set(WORD.findall(document["title"].split(" ", 1)[0].lower()))
    free = [
        word
        for word in dict.fromkeys(WORD.findall(source.lower()))
        if corpus.tells(word, document["language"]) and word not in own
    ]
    rng.shuffle(free)
    for size in range(least, most + 1):
        if size > len(free):
            break
        words = free[:size]
        found = standing(corpus, text, words)
        if number not in found or len(found) > FOUND_MAX:
            continue
        titled = [
            other
            for other in found
            if all(
                part in corpus.document(other)["title"].lower() for part in (text.lower(), *words)
            )
        ]
        if size and not titled:
            # With words the document is meant; alone, an identifier means all that have it.
            sentence = first_sentence(document)
            same = [other for other in found if first_sentence(corpus.document(other)) == sentence]
            if len(found) - len(same) > OTHERS_MAX:
                continue
            found = same
        elif size and number not in titled:
            return None
        query = [*words, text] if rng.random() < 0.5 else [text, *words]
        return " ".join(query), titled or found
    return None


def make_identifier(corpus, number, rng):
    document = corpus.document(number)
    # In turn: some kinds are in few documents, and chance would hardly find them.
    kinds = ("package", *IDENTIFIERS)
    kind = kinds[corpus.turn % len(kinds)]
    if kind == "package":
        name = document["title"].split(" ", 1)[0]
        if document["kind"] != "package" or len(name) < 5 or name.isalpha():
            return None
        return name, corpus.named[name]
    found = sorted(set(IDENTIFIERS[kind].findall(document["body"])))
    if not found:
        return None
    text = rng.choice(found)
    if len(text) > 70:
        return None
    if kind == "url" and rng.random() < 0.5:
        text = text.split("://", 1)[1].rstrip("/")
    result = with_words(corpus, number, rng, text, 1 if kind == "unit" else 0, 2)
    return result if result and len(result[1]) <= FOUND_MAX else None


def make_version(corpus, number, rng):
    document = corpus.document(number)
    title = document["title"]
    if document["kind"] == "character":
        return None
    if document["kind"] == "package" and rng.random() < 0.5:
        title = title.split(" ", 1)[-1]
    text = title if rng.random() < 0.6 else document["body"][:600]
    found = [
        version
        for version in sorted(set(VERSION.findall(text)))
        if any(letter.isdigit() for letter in version) or "+" in version or "#" in version
        or "." in version
    ]
    if not found:
        return None
    version = rng.choice(found)
    if rng.random() < 0.5:
        version = version.lower()
    return with_words(corpus, number, rng, version, 0, 3)


# Blocks of signs that a person may come across, from currencies to pictures.
KNOWN_BLOCKS = (
    (0x00A0, 0x00FF), (0x20A0, 0x20CF), (0x2100, 0x214F), (0x2190, 0x22FF), (0x2300, 0x23FF),
    (0x2500, 0x27BF), (0x2900, 0x297F), (0x2B00, 0x2BFF), (0x1F300, 0x1F6FF), (0x1F900, 0x1F9FF),
)


def is_known(letter):
    return any(first <= ord(letter) <= last for first, last in KNOWN_BLOCKS)


def signs(corpus):
    """Returns for each sign the documents that have it."""
    having = collections.defaultdict(list)
    is_sign = {}
    for document in corpus.documents:
        for letter in set(document["title"] + document["body"]):
            if letter not in is_sign:
                is_sign[letter] = unicodedata.category(letter) in ("Sc", "Sm", "So", "Sk")
            if is_sign[letter]:
                having[letter].append(document["id"])
    return having


def make_symbol(corpus, number, rng):
    pools = corpus.sign_pools
    sign = rng.choice(pools[0 if rng.random() < 0.4 else 1 if rng.random() < 0.8 else 2])
    found = corpus.signs[sign]
    if len(found) > FOUND_MAX:
        found = [other for other in found if sign in corpus.document(other)["title"]]
    return (sign, found) if 1 <= len(found) <= FOUND_MAX else None


def make_code_point(corpus, number, rng):
    document = corpus.document(number)
    if document["kind"] != "character":
        return None
    letter = document["title"][0]
    if not is_known(letter) and rng.random() < 0.5:
        return None
    code = ord(letter)
    # The character alone has a class of its own where it is a sign; a mark cannot stand alone.
    by_itself = [letter] if unicodedata.category(letter)[0] in "LNP" and code > 0x24F else []
    query = rng.choice(
        [f"U+{code:04X}", f"u+{code:04x}", f"0x{code:04x}", f"0x{code:x}", f"U+{code:04X}",
         f"\\u{{{code:x}}}" if code > 0xFFFF else f"\\u{code:04x}", f"&#x{code:X};", *by_itself]
    )
    if query == letter and sum(letter in corpus.text(other) for other in
                               corpus.postings.get(letter.lower(), ())) > 1:
        return None
    return query, [number]


# --- Sentences and questions ---------------------------------------------------------------------


def make_sentence(corpus, number, rng):
    document = corpus.document(number)
    language = document["language"]
    counts = corpus.counts[language]
    if document["kind"] == "character":
        return None
    sentences = [
        sentence.split()
        for sentence in re.split(r"(?<=[.!?:;])\s|\n", document["body"][:3000])
        if not re.search(r"https?:|[{}\\|<>=_]|[•*] |\w\(", sentence)
    ]
    sentences = [
        words
        for words in sentences
        if len(words) >= 8
        and sum(is_spelled(word.strip(".,;:!?()\"'„“”«»")) for word in words) > 0.8 * len(words)
    ]
    if not sentences:
        return None
    words = rng.choice(sentences)
    size = min(len(words), rng.randint(8, 14))
    at = rng.randrange(len(words) - size + 1)
    words = [word.strip(".,;:!?()\"'„“”«»`") for word in words[at : at + size]]
    passage = [word for text in words for word in WORD.findall(text.lower())]
    if min(map(corpus.frequency, passage)) >= RARE:
        return None
    found = corpus.having(passage)
    if not found or len(found) > FOUND_MAX:
        return None
    whole = f" {' '.join(passage)} "
    intended = [
        other
        for other in found
        if whole in f" {' '.join(WORD.findall(corpus.lowered(other)))} "
    ]
    if number not in intended or len(found) - len(intended) > OTHERS_MAX:
        return None
    places = [place for place, word in enumerate(words) if corpus.tells(word.lower(), language)]
    if len(places) < 3:
        return None
    # What tells most is what stays in mind.
    rarest = min(places, key=lambda place: corpus.frequency(words[place].lower()))
    changed = rng.choice([place for place in places if place != rarest])
    word = words[changed].lower()
    other = (corpus.forms.get(language) or {}).get(word) or neighbours(corpus, counts, word)
    if not other:
        return None
    words[changed] = max(other, key=lambda form: (counts[form], form))
    gone = rng.sample([at for at in range(1, len(words)) if at not in (changed, rarest)], 2)
    left = [word for at, word in enumerate(words) if at not in gone and word]
    return " ".join(left), intended


def neighbours(corpus, counts, word):
    """Returns words beside this one in the order of the letters: what a person may confuse."""
    if len(word) < 5:
        return []
    at = bisect.bisect_left(corpus.vocabulary, word)
    return [
        other
        for other in corpus.vocabulary[max(0, at - 40) : at + 40]
        if other != word
        and other[:4] == word[:4]
        and abs(len(other) - len(word)) <= 3
        and counts[other] >= 5
        and is_spelled(other)
    ]


# {v} is a verb, {p} two words that stand together, {a} and {b} are nouns.
QUESTIONS = {
    "en": (
        "how do I {v} {p}", "how can I {v} a {a}", "is there a program to {v} {p}",
        "which tool can {v} {a} and {b}", "how to {v} {p} on linux", "I want to {v} my {p}",
        "what is the best {p} for {a}", "where can I find {p}", "where can I find a {a} for {b}",
        "is there a {p} for {a}", "how do I use {a} with {b}", "what do I need for {p}",
        "which package has {a} {b}", "looking for a {p} with {a}", "what is a {p}",
        "can you recommend a {p}", "does anyone know a {p}", "what was that {p} called",
    ),
    "de": (
        "wie kann ich {p} {v}", "womit kann ich {a} und {b} {v}",
        "gibt es ein Programm um {p} zu {v}", "was ist das beste für {p}", "wo finde ich {p}",
        "gibt es {a} für {b}", "was brauche ich für {p}", "wie benutze ich {a} mit {b}",
        "ich suche {a} für {b}", "was ist {p}", "welches Paket enthält {a} {b}",
    ),
    "fr": (
        "comment {v} {p}", "comment puis-je {v} {a} et {b}",
        "existe-t-il un programme pour {v} {p}", "où trouver {p}", "quel est le meilleur {p}",
        "comment utiliser {a} avec {b}", "je cherche {p}", "qu'est-ce que {p}",
        "y a-t-il {a} pour {b}",
    ),
    "es": (
        "cómo puedo {v} {p}", "hay algún programa para {v} {p}", "dónde encuentro {p}",
        "cuál es el mejor {p}", "cómo usar {a} con {b}", "busco {a} para {b}", "qué es {p}",
        "qué programa sirve para {a} {b}",
    ),
}
VERBS = {
    "en": set(
        "add analyze archive backup build calculate capture check clean compare compile compress"
        " compute configure connect control convert copy count create debug decode delete detect"
        " display download draw edit embed encode encrypt execute export extract filter find fix"
        " format generate grab import inspect install list log manage measure merge modify monitor"
        " mount parse play plot predict print process protect query read record recover remove"
        " rename render repair resize run scan search send show simulate sort split store stream"
        " sync test trace translate upload validate verify view visualize watch write".split()
    ),
    "de": set(
        "abspielen analysieren anzeigen ausführen bearbeiten berechnen drucken durchsuchen"
        " entpacken erstellen erzeugen finden herunterladen importieren installieren komprimieren"
        " konfigurieren konvertieren kopieren lesen löschen messen öffnen schreiben senden spielen"
        " steuern suchen testen überprüfen übersetzen überwachen umwandeln vergleichen"
        " verschlüsseln verwalten wiederherstellen zeichnen".split()
    ),
    "fr": set(
        "afficher analyser calculer chercher chiffrer compiler compresser configurer contrôler"
        " convertir copier créer dessiner écouter écrire éditer enregistrer envoyer extraire gérer"
        " générer importer imprimer installer jouer lire manipuler mesurer modifier rechercher"
        " supprimer surveiller télécharger tester traduire transformer vérifier visualiser".split()
    ),
    "es": set(
        "analizar buscar calcular cifrar comprimir configurar controlar convertir copiar crear"
        " descargar dibujar editar ejecutar eliminar enviar escribir extraer generar gestionar"
        " grabar importar imprimir instalar jugar leer manejar manipular modificar mostrar"
        " probar reproducir traducir ver verificar visualizar".split()
    ),
}


# Words before a noun, and words that end a phrase before them.
BEFORE_NOUNS = {
    "en": "a an the of for with in to and your from between as".split(),
    "fr": "le la les un une des de du l d en pour et avec au aux".split(),
    "es": "el la los las un una unos unas de del para en y con al".split(),
}
LINKS = {"fr": "de|d['’]|du|des|pour", "es": "de|del|para", "en": "of|for", "de": "für|von"}


def nouns(text, language):
    """Returns the words of a text that are likely nouns, from how a language writes them."""
    if language == "de":
        return {word.lower() for word in re.findall(r"\b[A-ZÄÖÜ][\wäöüß]+\b", text)}
    before = "|".join(BEFORE_NOUNS[language])
    # An English text begins with what describes: "Perl module".
    start = "" if language == "en" else "^|"
    found = set(re.findall(rf"(?:{start}\b(?:{before})[ '’])(\w+)", text.lower()))
    if language == "en":
        # In an English phrase the noun is the last word.
        found = {word for word in found if not re.search("(ed|ly|ing|ive|al|ic|able|ous)$", word)}
        found |= set(re.findall(rf"(\w+)(?= (?:{before}|to)\b|[^\w -]|$)", text.lower()))
    return found


def phrases(text, language):
    """Returns phrases of a text with their two words: a noun with what describes it."""
    before = "|".join(BEFORE_NOUNS.get(language, ["für", "von", "mit", "und", "zum", "zur", "in"]))
    end = rf"(?: (?:{before}|to)\b|[^\w -]|$)"
    pattern = rf"(?<![\w-])(?=(\w+)( (?:(?:{LINKS[language]}) ?)?)(\w+){end})"
    return [
        (first + link + second, (first.lower(), second.lower()))
        for first, link, second in re.findall(pattern, text)
        if (language != "de" or second[0].isupper())
        # "for editing files" has no files that edit.
        and not (first.endswith("ing") and re.search(rf"\b(?:for|of|by) {first}\b", text))
    ]


def make_question(corpus, number, rng):
    document = corpus.document(number)
    language = document["language"]
    if language not in QUESTIONS or document["kind"] != "package":
        return None
    # English sentences have verbs that look like nouns: "the framework helps".
    is_summary = language == "en" or rng.random() < 0.75
    text = summary(document) if is_summary else first_sentence(document)[:200]
    tells = [
        word
        for word in dict.fromkeys(WORD.findall(text.lower()))
        if corpus.tells(word, language)
    ]
    verbs = [word for word in tells if word in VERBS[language]]
    tells = [word for word in tells if word not in VERBS[language]]
    pairs = [
        (phrase, pair)
        for phrase, pair in phrases(text, language)
        if all(word in tells for word in pair)
    ]
    nouns_here = nouns(text, language)
    names_here = [word for word in tells if word in nouns_here]
    templates = [
        template
        for template in QUESTIONS[language]
        if ("{v}" in template) == bool(verbs) and ("{p}" not in template or pairs)
    ]
    if not templates:
        return None
    template = rng.choice(templates)
    words, slots = [], {}
    if "{v}" in template:
        slots["v"] = rng.choice(verbs)
        words.append(slots["v"])
    if "{p}" in template:
        phrase, pair = rng.choice(pairs)
        slots["p"] = phrase.lower() if language != "de" else phrase
        words += pair
    rest = [word for word in names_here if word not in words]
    names = [name for name in "ab" if f"{{{name}}}" in template]
    if len(rest) < len(names):
        return None
    for name, word in zip(names, sorted(rng.sample(rest, len(names)), key=rest.index)):
        slots[name] = word.capitalize() if language == "de" else word
        words.append(word)
    if min(map(corpus.frequency, words)) >= RARE:
        return None
    intended = meant(corpus, number, words)
    query = template.format(**slots)
    if language == "en":
        query = re.sub(r"\ba (?=\w+[^s\W]s\b)", "", query)
        query = re.sub(r"\ba (?=[aeiou])", "an ", query)
    return intended and (query, intended)


# --- Queries -------------------------------------------------------------------------------------

CLASSES = {
    "typo1": make_damage(mistaken, 5),
    "transposed": make_damage(transposed, 5),
    "typo2": make_typo2,
    "halfLast": make_half_last,
    "halfAll": make_half_all,
    "noSpaces": make_no_spaces,
    "compoundApart": make_compound_apart,
    "compoundEnd": make_compound_end,
    "inflection": make_inflection,
    "accents": make_accents,
    "mixedScripts": make_mixed_scripts,
    "identifiers": make_identifier,
    "versions": make_version,
    "symbols": make_symbol,
    "codePoints": make_code_point,
    "sentence": make_sentence,
    "question": make_question,
}
# Classes of documents that few are of: drawing from all would take long.
LANGUAGES = {
    "compoundApart": ("en", "de"),
    "compoundEnd": ("de",),
    "inflection": tuple(STEMMERS),
    "mixedScripts": ("zh_CN", "zh_TW", "ja", "ko", "ru"),
    "question": tuple(QUESTIONS),
}
TRIES = 2000


def prepare(corpus):
    """Adds what single classes need to a corpus."""
    lowered = {}

    def lower(number):
        if number not in lowered:
            lowered[number] = corpus.text(number).lower()
        return lowered[number]

    corpus.lowered = lower
    corpus.unspaced = [
        document["id"]
        for document in corpus.documents
        if document["language"][:2] in ("zh", "ja", "ko", "ru", "uk")
    ]
    corpus.named = collections.defaultdict(list)
    for document in corpus.documents:
        if document["kind"] == "package":
            corpus.named[document["title"].split(" ", 1)[0]].append(document["id"])
    corpus.compounds = {"en": english_compounds(corpus), "de": german_compounds(corpus)}
    corpus.forms = word_forms(corpus)
    corpus.signs = signs(corpus)
    corpus.han_pairs = han_pairs(corpus)
    ordered = sorted(corpus.signs)
    written = [
        sign
        for sign in ordered
        if any(corpus.document(number)["kind"] != "character" for number in corpus.signs[sign])
    ]
    corpus.sign_pools = (written, [sign for sign in ordered if is_known(sign)], ordered)


def write_queries(path, seed, count, out):
    began = time.monotonic()
    corpus = Corpus(path)
    prepare(corpus)
    say(f"read {len(corpus.documents)} documents in {time.monotonic() - began:.0f} s")
    with open(out, "w", encoding="utf-8") as file:
        for name, make in CLASSES.items():
            # A generator for each class: one that changes leaves the queries of the others.
            rng = random.Random(f"{seed} {name}")
            languages = LANGUAGES.get(name)
            pool = [
                document["id"]
                for document in corpus.documents
                if (not languages or document["language"] in languages)
                and (document["kind"] == "character" or name != "codePoints")
                and (document["kind"] != "character" or name == "codePoints" or not languages)
            ]
            queries, tries = {}, 0
            while pool and len(queries) < count and tries < TRIES * count:
                tries += 1
                corpus.turn = len(queries)
                result = make(corpus, rng.choice(pool), rng)
                if result and result[0] not in queries:
                    query, intended = result
                    # These check more of their query than its words.
                    if name in ("identifiers", "versions", "symbols", "codePoints") or is_clear(
                        corpus, query, intended
                    ):
                        queries[query] = intended
            for query, intended in queries.items():
                line = {"class": name, "query": query, "intended": sorted(intended)}
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
            say(f"{name:14} {len(queries):4} of {count} queries in {tries} tries")
    say(f"{out}: {time.monotonic() - began:.0f} s")


# --- Scores --------------------------------------------------------------------------------------


def read_lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def print_table(queries, answers):
    """Prints a row for each class; `answers` has of each engine the ids and the microseconds."""
    names = list(answers)
    print(f"{'class':14} {'queries':>7}" + "".join(f" {name:>12} {'ms':>8}" for name in names))
    classes = list(dict.fromkeys(query["class"] for query in queries))
    for name in (*classes, "all"):
        rows = [at for at, query in enumerate(queries) if name in (query["class"], "all")]
        text = f"{name:14} {len(rows):7}"
        for engine in names:
            found = sum(
                bool(set(answers[engine][at][0][:TOP]) & set(queries[at]["intended"]))
                for at in rows
            )
            mean = sum(answers[engine][at][1] for at in rows) / len(rows) / 1000
            text += f" {100 * found / len(rows):11.1f}% {mean:8.2f}"
        print(text)


# The shares that the search aims at: those who type a query of the class should find the document.
GOALS = {
    "typo1": 95, "transposed": 95, "typo2": 95, "halfLast": 95, "halfAll": 90, "noSpaces": 90,
    "compoundApart": 90, "compoundEnd": 90, "inflection": 95, "accents": 98, "mixedScripts": 98,
    "identifiers": 98, "versions": 98, "symbols": 100, "codePoints": 100, "sentence": 98,
    "question": 65, "all": 93,
}
SYNONYMS_GOAL = 80
MILLISECONDS_GOALS = {50: 3, 99: 15}


def shares(queries, answers):
    """Returns the share of the queries, in percent, whose document is found, by class."""
    found = collections.defaultdict(list)
    for query, (ids, _) in zip(queries, answers, strict=True):
        for name in (query["class"], "all"):
            found[name].append(bool(set(ids[:TOP]) & set(query["intended"])))
    return {name: 100 * sum(all) / len(all) for name, all in found.items()}


def read_answers(queries, path):
    answers = read_lines(path)
    if [query["query"] for query in queries] != [answer["query"] for answer in answers]:
        raise SystemExit(f"{path}: the answers are not in the order of the queries")
    return [(answer["ids"], answer["microseconds"]) for answer in answers]


def print_rows(path, answers_path, synonyms_path, peers_path):
    """Prints what|unit|peer|peer's figure|figure|goal for each class."""
    queries = read_lines(path)
    answers = read_answers(queries, answers_path)
    own = shares(queries, answers)
    peers = {}
    if peers_path:
        with open(peers_path, encoding="utf-8") as file:
            peers = json.load(file)
    for name in GOALS:
        if name not in own:
            continue
        for peer in peers or {"": None}:
            other = f"{shares(queries, peers[peer])[name]:.1f}" if peer else ""
            title = f"FTS5 {peer}" if peer else ""
            print(f"found by {name}|%|{title}|{other}|{own[name]:.1f}|>= {GOALS[name]}")
    if synonyms_path:
        share = shares(queries, read_answers(queries, synonyms_path))["question"]
        print(f"found by question, WordNet|%|||{share:.1f}|>= {SYNONYMS_GOAL}")
    for part, goal in MILLISECONDS_GOALS.items():
        def figure(answers):
            times = sorted(microseconds for _, microseconds in answers)
            return times[min(len(times) - 1, len(times) * part // 100)] / 1000
        for peer in peers or {"": None}:
            other = f"{figure(peers[peer]):.2f}" if peer else ""
            title = f"FTS5 {peer}" if peer else ""
            print(f"forgiving search, p{part}|ms|{title}|{other}|{figure(answers):.2f}|<= {goal}")


# --- Thesaurus -----------------------------------------------------------------------------------

THESAURUS = "wordnet-base"


def write_thesaurus(folder):
    """Writes the sets of synonyms of WordNet, one in a line."""
    os.makedirs(folder, exist_ok=True)
    folder = os.path.abspath(folder)
    apt = apt_of(os.path.join(folder, "apt"))
    if apt and not glob.glob(os.path.join(folder, f"{THESAURUS}_*.deb")):
        apt.run("apt-get", "download", "-q", THESAURUS, cwd=folder)
    packages = glob.glob(os.path.join(folder, f"{THESAURUS}_*.deb"))
    if not packages:
        raise SystemExit(f"apt has no package {THESAURUS}")
    lines = []
    with subprocess.Popen(
        ("dpkg-deb", "--fsys-tarfile", packages[0]), stdout=subprocess.PIPE
    ) as process, tarfile.open(fileobj=process.stdout, mode="r|") as archive:
        for member in archive:
            if not re.search(r"/data\.(noun|verb|adj|adv)$", member.name):
                continue
            for line in archive.extractfile(member).read().decode().splitlines():
                # A line of the licence begins with a space. A set has its number, its file, its
                # type, the count of its words in hexadecimal, and each word with a number.
                fields = line.split()
                if line.startswith(" ") or len(fields) < 6:
                    continue
                words = fields[4:4 + 2 * int(fields[3], 16):2]
                # An adjective may have its place in a sentence behind it.
                words = [re.sub(r"\(\w+\)$", "", word).replace("_", " ") for word in words]
                words = list(dict.fromkeys(word for word in words if "," not in word))
                if len(words) > 1:
                    lines.append(", ".join(words))
    path = os.path.join(folder, "synonyms.txt")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    say(f"{path}: {len(lines)} lists")


class Peer:
    """A table of SQLite's FTS5."""

    def __init__(self, path, tokenizer, documents):
        self.database = sqlite3.connect(path, isolation_level=None)
        # The table is made anew each time: nothing is lost with the power.
        self.database.execute("PRAGMA synchronous = OFF")
        self.database.execute("PRAGMA journal_mode = OFF")
        self.database.execute("BEGIN")
        self.database.execute(
            "CREATE VIRTUAL TABLE document"
            f" USING fts5(title, body, content='', tokenize='{tokenizer}')"
        )
        self.database.execute(
            "INSERT INTO document(document, rank) VALUES ('rank', 'bm25(5.0, 1.0)')"
        )
        with open(documents, encoding="utf-8") as file:
            self.database.executemany(
                "INSERT INTO document(rowid, title, body) VALUES (?, ?, ?)",
                (
                    (document["id"], document["title"], document["body"])
                    for document in map(json.loads, file)
                ),
            )
        self.database.execute("COMMIT")

    def best(self, expression):
        if not expression:
            return []
        try:
            rows = self.database.execute(
                f"SELECT rowid FROM document WHERE document MATCH ? ORDER BY rank LIMIT {TOP}",
                (expression,),
            ).fetchall()
        except sqlite3.OperationalError as error:
            say(f"{expression}: {error}")
            return []
        return [number for (number,) in rows]


def quoted(word):
    return '"' + word.replace('"', '""') + '"'


class Words(Peer):
    """All words, the last one as a prefix; any of them where no document has all."""

    def __init__(self, path, documents):
        super().__init__(path, "unicode61 remove_diacritics 2", documents)

    def search(self, query):
        words = [quoted(word) for word in query.split()]
        if words:
            words[-1] += " *"
        return self.best(" AND ".join(words)) or self.best(" OR ".join(words))


class Trigrams(Peer):
    """Any of the words that have three letters, the least that this table finds."""

    def __init__(self, path, documents):
        super().__init__(path, "trigram", documents)

    def search(self, query):
        return self.best(" OR ".join(quoted(word) for word in query.split() if len(word) >= 3))


def run_peers(documents, path, out=None):
    queries = read_lines(path)
    answers = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, kind in (("unicode61", Words), ("trigram", Trigrams)):
            began = time.monotonic()
            file = os.path.join(folder, f"{name}.sqlite")
            peer = kind(file, documents)
            say(
                f"{name}: built in {time.monotonic() - began:.0f} s,"
                f" {os.path.getsize(file) / 1e6:.0f} MB"
            )
            answers[name] = []
            for query in queries:
                started = time.perf_counter()
                ids = peer.search(query["query"])
                answers[name].append((ids, (time.perf_counter() - started) * 1e6))
            peer.database.close()
    if out:
        with open(out, "w", encoding="utf-8") as file:
            json.dump(answers, file)
    print_table(queries, answers)


MODEL = {
    "name": "Documents", "version": "1",
    "entities": [{
        "name": "Document",
        "attributes": [
            {"name": "title", "type": "string"}, {"name": "body", "type": "string"},
            {"name": "number", "type": "int64"},
        ],
        "spotlight": {"displayName": "title", "attributes": {"title": 5, "body": 1}},
    }],
}


class Cordial:
    """A service of a new store with the documents, over its standard streams."""

    def __init__(self, program, documents, place, synonyms=None):
        store = os.path.join(place, "documents")
        model = os.path.join(place, "model.json")
        with open(model, "w") as file:
            json.dump(MODEL, file)
        imported = subprocess.Popen(
            [program, "import", store, "--model", model], stdin=subprocess.PIPE, text=True)
        for document in read_lines(documents):
            values = {"number": document["id"]}
            values |= {name: document[name] for name in ("title", "body")}
            line = {"id": f"Document/d{document['id']}", "values": values}
            imported.stdin.write(json.dumps(line, ensure_ascii=False) + "\n")
        imported.stdin.close()
        if imported.wait() != 0:
            raise SystemExit("cordial import failed")
        if synonyms:
            shutil.copy(synonyms, os.path.join(store, "synonyms.txt"))
        self.process = subprocess.Popen(
            [program, "serve", store], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.number = 0

    def call(self, method, params):
        self.number += 1
        request = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        while True:
            answer = json.loads(self.process.stdout.readline())
            if answer.get("id") == self.number:
                return answer["result"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def run_answers(program, documents, queries, out, synonyms=None):
    with tempfile.TemporaryDirectory() as place, open(out, "w", encoding="utf-8") as file:
        service = Cordial(os.path.abspath(program), documents, place, synonyms)
        # The first search reads the words of the index.
        service.call("search", {"query": "wrod"})
        for query in read_lines(queries):
            found = service.call(
                "search", {"query": query["query"], "limit": 20, "select": ["number"]})
            ids = [hit["object"]["values"]["number"] for hit in found["hits"][:TOP]]
            answer = {
                "query": query["query"], "ids": ids, "microseconds": found["tookMicroseconds"]}
            file.write(json.dumps(answer, ensure_ascii=False) + "\n")
        service.close()


def run_score(path, answers_path):
    queries = read_lines(path)
    print_table(
        queries,
        {"answers": read_answers(queries, answers_path)},
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("corpus")
    command.add_argument("--out", required=True)
    command = commands.add_parser("queries")
    command.add_argument("--documents", required=True)
    command.add_argument("--seed", type=int, required=True)
    command.add_argument("--count", type=int, required=True)
    command.add_argument("--out", required=True)
    command = commands.add_parser("thesaurus")
    command.add_argument("--out", required=True)
    command = commands.add_parser("peers")
    command.add_argument("--documents", required=True)
    command.add_argument("--queries", required=True)
    command.add_argument("--out")
    command = commands.add_parser("answers")
    command.add_argument("--program", required=True)
    command.add_argument("--documents", required=True)
    command.add_argument("--queries", required=True)
    command.add_argument("--out", required=True)
    command.add_argument("--synonyms")
    command = commands.add_parser("score")
    command.add_argument("--queries", required=True)
    command.add_argument("--answers", required=True)
    command = commands.add_parser("rows")
    command.add_argument("--queries", required=True)
    command.add_argument("--answers", required=True)
    command.add_argument("--synonyms")
    command.add_argument("--peers")
    given = parser.parse_args()
    if given.command == "corpus":
        write_corpus(given.out)
    elif given.command == "queries":
        write_queries(given.documents, given.seed, given.count, given.out)
    elif given.command == "thesaurus":
        write_thesaurus(given.out)
    elif given.command == "peers":
        run_peers(given.documents, given.queries, given.out)
    elif given.command == "answers":
        run_answers(
            given.program, given.documents, given.queries, given.out, given.synonyms)
    elif given.command == "rows":
        print_rows(given.queries, given.answers, given.synonyms, given.peers)
    else:
        run_score(given.queries, given.answers)


if __name__ == "__main__":
    main()
