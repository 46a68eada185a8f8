"""Wikipedia with a history: pages that are written, moved and turned into redirects; titles of today lead to revisions.

A page keeps its history when it is moved; its old title becomes a redirect whose first edit tells of the move. Asked
with ``redirects`` the service follows redirects as they are now, which is what a reader of the past must not do.
"""

from dataclasses import dataclass, field
from typing import Any

from tests.fakes.upstream import Seen, Sent


@dataclass
class Edit:
    """One revision: when it was saved, the text, the comment."""

    at: str
    text: str
    comment: str = ""


@dataclass
class Wiki:
    """The service: edits by the title they stand under today, oldest first."""

    pages: dict[str, list[Edit]] = field(default_factory=dict)
    seen: list[Seen] = field(default_factory=list)
    log: list[dict[str, Any]] = field(default_factory=list)

    def edit(self, title: str, at: str, text: str, comment: str = "") -> None:
        self.pages.setdefault(title, []).append(Edit(at, text, comment))

    def move(self, old: str, new: str, at: str) -> None:
        said = f"Editor moved page [[{old}]] to [[{new}]]: a better title"
        history = self.pages.pop(old)
        history.append(Edit(at, history[-1].text, said))
        self.pages[new] = history
        self.edit(old, at, f"#REDIRECT [[{new}]]", said)
        moved = {"title": old, "timestamp": at, "params": {"target_ns": 0, "target_title": new}}
        self.log.append({"logid": 700 + len(self.log), "type": "move", "action": "move", **moved})

    def __call__(self, seen: Seen) -> Sent:
        self.seen.append(seen)
        query = seen.query
        if query.get("list") == "search":
            hits = [{"title": title, "pageid": n + 1} for n, title in enumerate(self.pages)]
            return Sent({"query": {"search": hits}})
        if query.get("list") == "logevents":
            title = query["letitle"].replace("_", " ")
            title = title[:1].upper() + title[1:]
            moves = [
                row for row in self.log if row["title"] == title and row["timestamp"] >= query["lestart"]
            ]
            return Sent({"query": {"logevents": moves}})
        if "pageids" in query:
            title = list(self.pages)[int(query["pageids"]) - 1]
        else:
            title = query["titles"].replace("_", " ")
        title = title[:1].upper() + title[1:]
        if "redirects" in query:
            for _ in range(3):
                newest = self.pages.get(title, [Edit("", "")])[-1].text
                title = newest[12:-2] if newest.startswith("#REDIRECT") else title
        edits = self.pages.get(title)
        if edits is None:
            return self._said({"title": title, "missing": True})
        listed = list(edits) if query.get("rvdir") == "newer" else list(edits)[::-1]
        start = query.get("rvstart", "9999")[:19]
        newer = query.get("rvdir") == "newer"
        listed = [
            edit
            for edit in listed
            if (not newer and edit.at[:19] <= start)
            or (newer and edit.at[:19] >= query.get("rvstart", "0")[:19])
        ]
        first = int(query.get("rvcontinue", 0))
        most = first + int(query.get("rvlimit", 50))
        more = {"continue": {"rvcontinue": str(most)}} if most < len(listed) and newer else {}
        wanted = query["rvprop"].split("|")
        rows = [self._row(number, edit, wanted) for number, edit in enumerate(listed[first:most])]
        said = self._said({"title": title, "pageid": 1, **({"revisions": rows} if rows else {})})
        return Sent({**said.body, **more})

    def _row(self, number: int, edit: Edit, wanted: list[str]) -> dict[str, Any]:
        every = {"revid": number + 1, "timestamp": edit.at, "size": len(edit.text), "comment": edit.comment}
        row = {
            name: value
            for name, value in every.items()
            if name in wanted or (name == "revid" and "ids" in wanted)
        }
        return {**row, "slots": {"main": {"content": edit.text}}} if "content" in wanted else row

    def _said(self, page: dict[str, Any]) -> Sent:
        return Sent({"query": {"pages": [page]}})
