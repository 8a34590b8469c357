"""A page as its tags, attributes, headings and words, for the tests of what is in it."""

import re
from html.parser import HTMLParser

VOID = {"meta", "img", "br", "wbr", "link", "input"}


class ParsedPage(HTMLParser):
    """Every tag with its attributes, all text, and whether the tags are balanced."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.tags, self.text, self.open, self.unbalanced, self.headings = [], [], [], [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.unbalanced.append(tag)

    def handle_data(self, data):
        if not self.open or self.open[-1] != "style":
            self.text.append(data)

    def attributes(self, name):
        return [attrs[name] for _, attrs in self.tags if name in attrs]

    @property
    def words(self):
        return re.sub(r"\s+", " ", "".join(self.text).replace("\u202f", "_")).replace("_", "\u202f")
