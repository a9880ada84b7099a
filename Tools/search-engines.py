#!/usr/bin/env python3
"""Indexes and searches the same texts with Cordial and with other engines, for Tools/bench.

    search-engines.py versions
    search-engines.py packages [--count N] <PARAGRAPHS >DOCUMENTS
    search-engines.py catalogues LANGUAGE... [--count N] >DOCUMENTS
    search-engines.py index ENGINE DOCUMENTS --at PLACE
    search-engines.py search ENGINE DOCUMENTS --at PLACE [--count QUERIES]
    search-engines.py known ENGINE DOCUMENTS --at PLACE --language LANGUAGE [--count ITEMS]

DOCUMENTS are the JSON lines of `cordial import`. PLACE is the folder of an engine's index, and for
the engine `cordial` the socket of a service that has the documents. `index`, `search` and `known`
print their figures as one JSON object. `known --answers FILE` also writes each query and the first
titles of its answer.

Each engine has the title with the weight 2 and the body with the weight 1.
"""

import argparse
import gettext
import glob
import json
import os
import random
import re
import socket
import sqlite3
import sys
import time

try:
    import xapian
except ImportError:
    xapian = None
try:
    import tantivy
except ImportError:
    tantivy = None

SEED = 20
# No answer of a service takes longer, in seconds.
ANSWER_SECONDS_MAX = 120
# Languages without spaces between words. A typing mistake in them is another character, which no
# engine here can tell from another text.
UNSPACED = ("zh_CN", "zh_TW", "ja", "th")
# Languages of which Xapian indexes pairs of characters.
PAIRED = UNSPACED + ("ko",)


def percentile(values, part):
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


def folder_bytes(folder):
    paths = (os.path.join(folder, name) for name in os.listdir(folder))
    return sum(os.path.getsize(path) for path in paths if os.path.isfile(path))


def letters(text):
    """Returns the letters and digits of a text, in lower case."""
    return "".join(character for character in text.casefold() if character.isalnum())


# --- Documents -----------------------------------------------------------------------------------


def paragraphs(file):
    """Yields the fields of each paragraph of Debian's package lists."""
    fields, name = {}, None
    for line in file:
        line = line.rstrip("\n")
        if not line:
            if fields:
                yield fields
            fields, name = {}, None
        elif line[0] in " \t":
            if name:
                fields[name] += "\n" + ("" if line.strip() == "." else line.strip())
        else:
            name, _, value = line.partition(":")
            fields[name] = value.strip()
    if fields:
        yield fields


def package_documents(file):
    """Returns packages and their descriptions; the longest text of a package wins."""
    texts = {}
    for fields in paragraphs(file):
        name = fields.get("Package")
        text = fields.get("Description-en") or fields.get("Description") or ""
        if name and len(text) > len(texts.get(name, "")):
            texts[name] = text
    return sorted(texts.items())


def catalogue_documents(language):
    """Returns short messages of this machine's programs, each with a longer one of its program."""
    documents, known = [], set()
    for path in sorted(glob.glob(f"/usr/share/locale/{language}/LC_MESSAGES/*.mo")):
        try:
            with open(path, "rb") as file:
                catalogue = gettext.GNUTranslations(file)._catalog
        except (OSError, UnicodeDecodeError):
            continue
        messages = [text for text in catalogue.values() if isinstance(text, str)]
        for index, title in enumerate(messages):
            # A mark of a keyboard shortcut is inside a word, where a person does not type it.
            if not 8 <= len(title) <= 60 or set(title) & set("\n%_&"):
                continue
            # Titles that differ by signs or case alone are one known item.
            key = letters(title)
            body = next((text for text in messages[index + 1 :] if len(text) > len(title)), None)
            if body is None or len(key) < 4 or key in known:
                continue
            known.add(key)
            documents.append((title, body))
    return documents


def write_documents(documents, count):
    """Writes at most `count` documents, chosen at random, in their order."""
    if len(documents) > count:
        chosen = random.Random(SEED).sample(range(len(documents)), count)
        documents = [documents[index] for index in sorted(chosen)]
    for number, (title, body) in enumerate(documents, 1):
        values = {"title": title, "body": body}
        print(json.dumps({"id": f"Document/{number}", "values": values}, ensure_ascii=False))


def read_documents(path):
    with open(path, encoding="utf-8") as file:
        values = [json.loads(line)["values"] for line in file]
    return [(value["title"], value["body"]) for value in values]


# --- Engines -------------------------------------------------------------------------------------
# An engine has `build`, which indexes documents; `timed`, which returns the nanoseconds of a search
# of two words for its best ten documents and the number of all, and this number; and `find`, which
# returns the numbers of the best ten documents, counted from 0. The times include Python's call of
# the library, and for all but SQLite exclude the parsing of the query. Cordial reports the time of
# the whole request in its service.


class Cordial:
    def __init__(self, place, documents, language):
        self.numbers = {title: number for number, (title, _) in enumerate(documents)}
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(ANSWER_SECONDS_MAX)
        self.socket.connect(place)
        self.lines = self.socket.makefile("r", encoding="utf-8")
        self.call("initialize", {})

    def call(self, method, params):
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        self.socket.sendall(json.dumps(message).encode() + b"\n")
        while True:
            answer = json.loads(self.lines.readline())
            if "id" in answer:
                break
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["result"]

    def wait_until_indexed(self):
        ends = time.monotonic() + ANSWER_SECONDS_MAX
        while True:
            status = self.call("index/status", {})
            if status["state"] == "ready" and status["behind"] == 0:
                return
            if time.monotonic() > ends:
                raise RuntimeError("the index does not reach the newest commit")
            time.sleep(0.05)

    def build(self, documents):
        self.wait_until_indexed()
        began = time.perf_counter()
        size = self.call("index/rebuild", {})["bytes"]
        return time.perf_counter() - began, size

    def timed(self, words):
        answer = self.call("search", {"query": " ".join(words), "match": "all", "limit": 10})
        if answer.get("totalIsAtLeast"):
            raise RuntimeError("the number of hits is not exact")
        return answer["tookMicroseconds"] * 1000, answer["total"]

    def find(self, text, kind):
        params = {"query": text, "limit": 10, "match": "all", "fuzzy": kind == "typo",
                  "prefix": kind == "half"}
        hits = self.call("search", params)["hits"]
        return [self.numbers[hit["title"]] for hit in hits]


class FullText:
    """SQLite's FTS5."""

    tokenizer = "unicode61"

    def __init__(self, place, documents, language):
        self.path = os.path.join(place, "index.sqlite")
        self.database = sqlite3.connect(self.path, isolation_level=None)

    def build(self, documents):
        rows = ((number, *texts) for number, texts in enumerate(documents))
        began = time.perf_counter()
        self.database.execute("BEGIN")
        self.database.execute(
            "CREATE VIRTUAL TABLE document USING"
            f" fts5(title, body, content='', tokenize='{self.tokenizer}')"
        )
        self.database.execute(
            "INSERT INTO document(document, rank) VALUES ('rank', 'bm25(2.0, 1.0)')"
        )
        self.database.executemany("INSERT INTO document(rowid, title, body) VALUES (?, ?, ?)", rows)
        self.database.execute("COMMIT")
        return time.perf_counter() - began, os.path.getsize(self.path)

    best = "SELECT rowid FROM document WHERE document MATCH ? ORDER BY rank LIMIT 10"
    count = "SELECT count(*) FROM document WHERE document MATCH ?"

    def timed(self, words):
        match = (" ".join(f'"{word}"' for word in words),)
        began = time.perf_counter_ns()
        self.database.execute(self.best, match).fetchall()
        (count,) = self.database.execute(self.count, match).fetchone()
        return time.perf_counter_ns() - began, count

    def expression(self, text, kind):
        words = [word.replace('"', "") for word in text.split() if letters(word)]
        return " ".join(f'"{word}"' for word in words) + (" *" if kind == "half" else "")

    def find(self, text, kind):
        match = self.expression(text, kind)
        if not match.strip(" *"):
            return []
        return [number for (number,) in self.database.execute(self.best, (match,))]


class Trigrams(FullText):
    """FTS5 with trigrams, which finds substrings, and with any of them tolerates mistakes."""

    tokenizer = "trigram"

    def expression(self, text, kind):
        text = text.replace('"', "")
        if kind == "typo":
            parts = {text[at : at + 3] for at in range(len(text) - 2)}
            return " OR ".join(f'"{part}"' for part in sorted(parts))
        return " ".join(f'"{word}"' for word in text.split() if len(word) >= 3)


class Xapian:
    def __init__(self, place, documents, language):
        self.place = place
        self.is_paired = language in PAIRED
        # Spelling makes an index slower to build, and only the known items use it.
        self.is_known = language is not None
        self.database = None

    def build(self, documents):
        began = time.perf_counter()
        database = xapian.WritableDatabase(self.place, xapian.DB_CREATE_OR_OVERWRITE)
        generator = xapian.TermGenerator()
        generator.set_database(database)
        generator.set_flags(
            (xapian.TermGenerator.FLAG_SPELLING if self.is_known else 0)
            | (xapian.TermGenerator.FLAG_CJK_NGRAM if self.is_paired else 0)
        )
        for title, body in documents:
            document = xapian.Document()
            generator.set_document(document)
            generator.index_text(title, 2)
            generator.increase_termpos()
            generator.index_text(body)
            database.add_document(document)
        database.commit()
        database.close()
        return time.perf_counter() - began, folder_bytes(self.place)

    def open(self):
        if self.database is None:
            self.database = xapian.Database(self.place)
            self.size = self.database.get_doccount()
            self.enquire = xapian.Enquire(self.database)
            self.parser = xapian.QueryParser()
            self.parser.set_database(self.database)
            self.parser.set_default_op(xapian.Query.OP_AND)
            self.basis = xapian.QueryParser.FLAG_CJK_NGRAM if self.is_paired else 0

    def parsed(self, text, flags):
        try:
            return self.parser.parse_query(text, flags)
        except xapian.QueryParserError:
            # The parser refuses some texts that mix scripts, and accepts most of their words.
            parts = text.split()
            if len(parts) < 2:
                return xapian.Query()
            queries = [self.parsed(part, flags) for part in parts]
            return xapian.Query(
                xapian.Query.OP_AND, [query for query in queries if not query.empty()]
            )

    def timed(self, words):
        self.open()
        self.enquire.set_query(xapian.Query(xapian.Query.OP_AND, words))
        began = time.perf_counter_ns()
        # The number of hits is exact where every document is checked.
        found = self.enquire.get_mset(0, 10, self.size)
        ended = time.perf_counter_ns()
        return ended - began, found.get_matches_estimated()

    def find(self, text, kind):
        self.open()
        partial = xapian.QueryParser.FLAG_PARTIAL if kind == "half" else 0
        spelling = xapian.QueryParser.FLAG_SPELLING_CORRECTION if kind == "typo" else 0
        query = self.parsed(text, self.basis | partial | spelling)
        corrected = self.parser.get_corrected_query_string()
        if kind == "typo" and corrected:
            query = self.parsed(corrected.decode(), self.basis)
        self.enquire.set_query(query)
        return [match.docid - 1 for match in self.enquire.get_mset(0, 10)]


class Tantivy:
    tokenizer = "default"
    fields = ("title", "body")

    def __init__(self, place, documents, language):
        builder = tantivy.SchemaBuilder()
        for field in self.fields:
            builder.add_text_field(field, tokenizer_name=self.tokenizer)
        builder.add_unsigned_field("number", stored=True, indexed=False)
        self.schema = builder.build()
        self.place = place
        self.index = tantivy.Index(self.schema, path=place)
        self.searcher = None
        self.analyzer = self.make_analyzer().build()

    def make_analyzer(self):
        builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
        return builder.filter(tantivy.Filter.remove_long(40)).filter(tantivy.Filter.lowercase())

    def document(self, number, title, body):
        return tantivy.Document(number=number, title=title, body=body)

    def build(self, documents):
        began = time.perf_counter()
        writer = self.index.writer(num_threads=1)
        for number, (title, body) in enumerate(documents):
            writer.add_document(self.document(number, title, body))
        writer.commit()
        writer.wait_merging_threads()
        return time.perf_counter() - began, folder_bytes(self.place)

    def open(self):
        if self.searcher is None:
            self.index.reload()
            self.searcher = self.index.searcher()

    def timed(self, words):
        self.open()
        query = self.index.parse_query(
            " ".join(words), list(self.fields), conjunction_by_default=True
        )
        began = time.perf_counter_ns()
        found = self.searcher.search(query, 10)
        return time.perf_counter_ns() - began, found.count

    def in_fields(self, make):
        """Returns a query for a word in any field, where the title has twice the weight."""
        queries = (("title", 2.0), ("body", 1.0))
        return tantivy.Query.boolean_query([
            (tantivy.Occur.Should, tantivy.Query.boost_query(make(field), weight))
            for field, weight in queries
        ])

    def exact(self, tokens):
        if len(tokens) == 1:
            return self.in_fields(
                lambda field: tantivy.Query.term_query(self.schema, field, tokens[0])
            )
        return self.in_fields(lambda field: tantivy.Query.phrase_query(self.schema, field, tokens))

    def near(self, token, distance, is_prefix):
        return self.in_fields(
            lambda field: tantivy.Query.fuzzy_term_query(
                self.schema, field, token, distance=distance, prefix=is_prefix
            )
        )

    def find(self, text, kind):
        self.open()
        words = [tokens for tokens in map(self.analyzer.analyze, text.split()) if tokens]
        if not words:
            return []
        must = [self.exact(tokens) for tokens in words]
        # Words with mistakes and beginnings of words have a constant score in Tantivy, so that the
        # exact words decide the order where a document has them.
        should = []
        if kind == "half":
            *start, last = words[-1]
            should.append(must.pop())
            must += ([self.exact(start)] if start else []) + [self.near(last, 0, True)]
        if kind == "typo":
            tokens = [token for word in words for token in word]
            should = [self.exact([token]) for token in tokens]
            must = [
                self.near(token, 2 if len(token) >= 8 else 1 if len(token) >= 4 else 0, False)
                for token in tokens
            ]
        query = tantivy.Query.boolean_query(
            [(tantivy.Occur.Must, part) for part in must]
            + [(tantivy.Occur.Should, part) for part in should]
        )
        hits = self.searcher.search(query, 10, count=False).hits
        return [self.searcher.doc(address)["number"][0] for _, address in hits]


class TantivyText(Tantivy):
    """Tantivy with title and body as one text, which is faster to search, and has no weights."""

    fields = ("text",)

    def document(self, number, title, body):
        return tantivy.Document(number=number, text=title + "\n" + body)


class TantivyStems(Tantivy):
    """Tantivy with the stems of English words."""

    tokenizer = "en_stem"

    def make_analyzer(self):
        return super().make_analyzer().filter(tantivy.Filter.stemmer("english"))


ENGINES = {
    "cordial": Cordial,
    "fts5": FullText,
    "trigrams": Trigrams,
    "xapian": Xapian,
    "tantivy": Tantivy,
    "tantivy-text": TantivyText,
    "tantivy-stems": TantivyStems,
}


# --- Measuring -----------------------------------------------------------------------------------


def index(engine, documents):
    seconds, size = engine.build(documents)
    text = sum(len(title.encode()) + len(body.encode()) for title, body in documents)
    return {
        "documents": len(documents),
        "textBytes": text,
        "bytes": size,
        "sizeRatio": size / text,
        "megabytesPerSecond": text / seconds / 1e6,
    }


def word_pairs(documents, count, seed):
    """Yields pairs of different words, both of which one document has."""
    chooser = random.Random(seed)
    word = re.compile(r"(?<![^\s(,])[a-z]{3,}(?![^\s),.;:])")
    for _ in range(1000 * count):
        words = sorted(set(word.findall(" ".join(chooser.choice(documents)).lower())))
        if len(words) < 2:
            continue
        yield chooser.sample(words, 2)
        count -= 1
        if count == 0:
            return


def search(engine, documents, count):
    for words in word_pairs(documents, 100, SEED + 1):
        engine.timed(words)
    times, found = [], 0
    for words in word_pairs(documents, count, SEED):
        nanoseconds, total = engine.timed(words)
        times.append(nanoseconds / 1000)
        found += total
    return {
        "seed": SEED,
        "queries": len(times),
        "found": found,
        "p50Microseconds": percentile(times, 0.5),
        "p99Microseconds": percentile(times, 0.99),
    }


def mistyped(title, chooser):
    """Returns a title with one mistake in its longest word; nil for one without a long word."""
    words = [match for match in re.finditer(r"[^\W\d_]+", title) if len(match.group()) >= 5]
    if not words:
        return None
    word = max(words, key=lambda match: len(match.group()))
    text, at = word.group(), chooser.randrange(len(word.group()) - 1)
    if chooser.random() < 0.5 and text[at] != text[at + 1]:
        changed = text[:at] + text[at + 1] + text[at] + text[at + 2 :]
    else:
        changed = text[:at] + text[at + 1 :]
    return title[: word.start()] + changed + title[word.end() :]


def known_items(documents, language, count):
    """Returns the queries of each kind, each with the number of the document to find."""
    chooser = random.Random(SEED)
    order = list(range(len(documents)))
    chooser.shuffle(order)
    starts = {}
    for title, _ in documents:
        for end in range(1, len(title) + 1):
            start = title[:end].casefold()
            starts[start] = starts.get(start, 0) + 1
    items = {"title": [], "typo": [], "half": []}
    for number in order:
        title = documents[number][0]
        half = title[: (len(title) + 1) // 2].rstrip()
        queries = {"title": title}
        if language not in UNSPACED:
            queries["typo"] = mistyped(title, chooser)
        # Where several titles begin alike, a half does not say which of them it belongs to.
        if letters(half) and starts[half.casefold()] == 1:
            queries["half"] = half
        for kind, query in queries.items():
            if query and len(items[kind]) < count:
                items[kind].append((query, number))
    return items


def known(engine, name, documents, language, count, answers):
    figures = {"corpus": language, "engine": name, "documents": len(documents), "seed": SEED}
    for kind, items in known_items(documents, language, count).items():
        if not items:
            continue
        first, reciprocal = 0, 0.0
        for query, number in items:
            found = engine.find(query, kind)
            rank = found.index(number) + 1 if number in found else None
            first += rank == 1
            reciprocal += 1 / rank if rank else 0
            if answers:
                best = [documents[other][0] for other in found[:3]]
                answer = {"kind": kind, "query": query, "title": documents[number][0]}
                line = json.dumps({**answer, "rank": rank, "best": best}, ensure_ascii=False)
                print(line, file=answers)
        figures[f"{kind}Items"] = len(items)
        figures[f"{kind}Success"] = round(100 * first / len(items), 1)
        figures[f"{kind}ReciprocalRank"] = round(reciprocal / len(items), 4)
    return figures


def versions():
    names = [f"SQLite {sqlite3.sqlite_version}"]
    if xapian:
        names.append(f"Xapian {xapian.version_string()}")
    if tantivy:
        names.append(f"Tantivy {tantivy.__version__.split(',')[0].split('v')[-1]}")
    return ", ".join(names) + f"; random choices from seed {SEED}"


def main():
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("versions")
    commands.add_parser("packages").add_argument("--count", type=int, default=10**9)
    catalogues = commands.add_parser("catalogues")
    catalogues.add_argument("languages", nargs="+")
    catalogues.add_argument("--count", type=int, default=10**9)
    for command in ("index", "search", "known"):
        measuring = commands.add_parser(command)
        measuring.add_argument("engine", choices=ENGINES)
        measuring.add_argument("documents")
        measuring.add_argument("--at", required=True)
        measuring.add_argument("--language")
        measuring.add_argument("--count", type=int, default=1000)
        measuring.add_argument("--answers", type=argparse.FileType("w", encoding="utf-8"))
    options = parser.parse_args()

    if options.command == "versions":
        print(versions())
        return
    if options.command == "packages":
        sys.stdin.reconfigure(encoding="utf-8", errors="replace")
        write_documents(package_documents(sys.stdin), options.count)
        return
    if options.command == "catalogues":
        texts = [text for name in options.languages for text in catalogue_documents(name)]
        write_documents(texts, options.count)
        return

    documents = read_documents(options.documents)
    if options.engine != "cordial":
        os.makedirs(options.at, exist_ok=True)
    engine = ENGINES[options.engine](options.at, documents, options.language)
    if options.command == "index":
        figures = index(engine, documents)
    elif options.command == "search":
        figures = search(engine, documents, options.count)
    else:
        figures = known(
            engine, options.engine, documents, options.language, options.count, options.answers
        )
    print(json.dumps(figures, ensure_ascii=False, separators=(",", ":")))


if __name__ == "__main__":
    main()
