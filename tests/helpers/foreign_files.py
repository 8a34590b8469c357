"""What files of others hold, which oochub must neither replace nor remove."""

FOREIGN = {
    ".safetensors": b'\x10\0\0\0\0\0\0\0{"__metadata__":{"format":"pt"}}',
    ".parquet": b"PAR1 no footer",
    ".json": b'{"schema_version": 1, "name": "package"}',
    ".html": b"<!doctype html><title>My page</title>",
    ".htm": b"<!doctype html><title>My page</title>",
    ".md": b"# My project\n\nUses oochub.\n",
    ".markdown": b"# My project\n",
    ".latex": b"\\documentclass{article}\n",
    ".tex": b"% My paper\n\\documentclass{article}\n",
    ".csv": b"example_id,split,label\na,test,1\n",
    ".txt": b"a list of mine\n",
    ".png": b"\x89PNG\r\n\x1a\n of another program",
    ".pdf": b"%PDF-1.4 of another program",
    ".svg": b"<?xml version='1.0'?><svg></svg>",
    ".xml": b"<testsuites name='pytest'></testsuites>",
    ".toml": b"[project]\n",
}
"""By suffix; each could be taken for ours at a glance."""
