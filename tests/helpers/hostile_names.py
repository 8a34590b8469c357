"""Names that are markup, scripts, styles, addresses or signs, wherever a user or a sender can put a name."""

NAMES = (
    "<script>window.ran=1</script>",
    "\"><img src=x onerror='window.ran=2'>",
    "'><svg onload=window.ran=3>",
    "</style><script>window.ran=4</script>",
    "</title><script>window.ran=5</script>",
    "</script><script>window.ran=6</script>",
    "javascript:window.ran=7",
    "[x](javascript:window.ran=8)",
    "data:text/html,<script>window.ran=9</script>",
    "<style>*{display:none}</style>",
    "x;background:url(http://evil.example/a)",
    "<a href=http://evil.example/b>x</a><meta http-equiv=refresh content='0;url=http://evil.example/c'>",
    "<iframe srcdoc='<script>parent.ran=10</script>'></iframe><base href=http://evil.example/>",
    "{{7*7}}${window.ran=11}`${window.ran=12}`",
    "&lt;b&gt;&#60;img src=x onerror=window.ran=13&#62;&quot;",
    "\u202eright to left\u202c\u2066\u200f",
    "line\u2028window.ran=14\u2029paragraph\nnew\rline\ttab",
    "\x1b[31mred\x07\x9b31m",
    "-->]]><!--<![CDATA[",
    "' or 1=1 --",
)
