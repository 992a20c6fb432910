from __future__ import annotations

from tvm_qnn.io.html import table


def test_a_table_shows_text_as_it_is() -> None:
    made = table("<b>", ("a & b", ""), [("x", 1), ("<script>", None)])
    assert made == (
        "<table><caption>&lt;b&gt;</caption><tr><th>a &amp; b</th><th></th></tr>"
        "<tr><td>x</td><td>1</td></tr><tr><td>&lt;script&gt;</td><td>None</td></tr></table>"
    )
