"""Images that people judge: one page of cards, the file of decisions that it saves, and what raters agree on."""
