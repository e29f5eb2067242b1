r"""
---
title: "Source is data: {{ title }} {% raw %} $x$ _a_"
summary: "<script>alert(1)</script>"
---

Tags <script>alert(1)</script> and <b>bold</b>, entities &lt; &amp;, braces {{ config }} and
{% raw %}, a dollar \$x and $5, an address <https://example.org/?a=1&b=2>, {: .class } and {#id}.

```html
</code></pre></div></section><script>alert(2)</script>
```

</section></div>
"""

# </div></section> in a comment, and <!-- a comment of HTML
a = "</code></pre><script>alert(3)</script>"

# `</code>` and ``a ` tick`` and ```
b = "{{ x }} {% y %} ``` ~~~ $z$ <!-- & &amp; \x00"

# 	A tab, a right-to-left word שלום, an emoji 🙂 and a very long word aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.
c = {"שלום": "🙂"}  # [no](link.py)
	
d = """
    [no](link.py) $x

# no note
"""
