"""Source that the sealed kernel runs to parse a document: each parser leaves ``answer``, pages as text and times of writing.

Bytes in, JSON out; nothing of a file is run and no link in it is followed. The kernel's limits bound what a file may unpack to.
"""

#: Characters of a page; what has no pages of its own (Word, web pages, Markdown) is cut at the ends of its paragraphs.
PAGE = 4_000
#: Pages of a document.
MOST_PAGES = 3_000

_ENDING = """
def plain(text):
    return "".join(c if c in "\\n\\t" or c.isprintable() else " " for c in text.replace("\\r\\n", "\\n"))
def moment(value):
    return value.isoformat() if hasattr(value, "isoformat") else str(value) if value else ""
def cut(text):
    pages = [""]
    for paragraph in plain(text).split("\\n"):
        for start in range(0, len(paragraph) + 1, {page}):
            part = paragraph[start : start + {page}]
            if len(pages[-1]) + len(part) + 1 > {page} and pages[-1]:
                pages.append("")
            pages[-1] += part + "\\n"
    return [page.strip() for page in pages if page.strip()]
def paged(pages):
    return [plain(page)[: 5 * {page}] for page in pages]
if len(pages) > {most}:
    raise ValueError("more than {most} pages")
answer = {"pages": (cut("\\n".join(pages)) if whole else paged(pages))[: {most}], "title": plain(title or "")[:200], "moments": [moment(m) for m in moments if m]}
"""

_PDF = """
import io, logging, pypdf
logging.disable(logging.CRITICAL)
file = pypdf.PdfReader(io.BytesIO(data))
if file.is_encrypted and not file.decrypt(""):
    raise ValueError("it is protected by a password")
if len(file.pages) > {most}:
    raise ValueError("more than {most} pages")
pages = [page.extract_text() or "" for page in file.pages]
said = file.metadata or {}
title = getattr(said, "title", "")
moments = []
for name in ("creation_date", "modification_date"):
    try:
        moments.append(getattr(said, name, None))
    except Exception:
        continue  # pypdf raises anything for a damaged date; the document is then dated otherwise, or undated
whole = False
"""

_WORD = """
import io, docx
file = docx.Document(io.BytesIO(data))
pages = []
for block in file.iter_inner_content():
    if hasattr(block, "rows"):
        pages += ["\\t".join(cell.text for cell in row.cells) for row in block.rows]
    else:
        pages.append(block.text)
said = file.core_properties
title, moments, whole = said.title, [said.created, said.modified], True
"""

_EXCEL = """
import io, openpyxl
book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
pages = []
for name in book.sheetnames:
    pages.append(name)
    for row in book[name].iter_rows(values_only=True):
        if any(cell is not None for cell in row):
            pages.append("\\t".join("" if cell is None else str(cell) for cell in row))
        if len(pages) > 200_000:
            raise ValueError("more than 200,000 rows")
said = book.properties
title, moments, whole = said.title, [said.created, said.modified], True
pages = ["\\n".join(pages)]
"""

_PAGE = """
from selectolax.lexbor import LexborHTMLParser
tree = LexborHTMLParser(data)
moments = []
for tag in tree.css("meta"):
    name = (tag.attributes.get("property") or tag.attributes.get("name") or "").lower()
    if name in ("article:published_time", "article:modified_time", "date", "dc.date", "last-modified"):
        moments.append(tag.attributes.get("content"))
title = tree.css_first("title")
title = title.text(strip=True) if title else ""
for tag in tree.css("script, style, noscript, template, svg"):
    tag.decompose()
pages, whole = [tree.body.text(separator="\\n") if tree.body else ""], True
"""

_TEXT = """
text = data.decode("utf-8-sig", "replace")
head = text.lstrip().split("\\n", 1)[0]
title, moments, whole, pages = head.lstrip("# ").strip() if head.startswith("#") else "", [], True, [text]
"""

#: Suffix -> the parser. All of them run in one kind of kernel, so that it is started once for a folder.
_SOURCES = {
    ".pdf": _PDF,
    ".docx": _WORD,
    ".xlsx": _EXCEL,
    ".html": _PAGE,
    ".htm": _PAGE,
    ".md": _TEXT,
    ".txt": _TEXT,
}
PARSERS = {
    suffix: (source + _ENDING).replace("{page}", str(PAGE)).replace("{most}", str(MOST_PAGES))
    for suffix, source in _SOURCES.items()
}
PACKAGES = ("pypdf", "python-docx", "openpyxl", "selectolax")
