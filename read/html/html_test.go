package html

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/internal/chunk"
)

func read(t *testing.T, page string) exhibit.Document {
	t.Helper()
	doc, err := Reader{}.Read(context.Background(), exhibit.Source{DocID: "x.html", Path: "x.html", Data: []byte(page)})
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestText(t *testing.T) {
	for _, c := range []struct{ name, page, want string }{
		{"headings and paragraphs", "<title>T</title><h1>One <em>two</em></h1>loose <b>bold</b>\n text<p>Par<br>broken</p><h3><a href=/x>Linked</a></h3><div>a</div><div>b</div>",
			"# One two\n\nloose bold text\n\nPar\nbroken\n\n### Linked\n\na\n\nb\n"},
		{"lists", "<ul><li>a<li><p>b</p><p>c</p><ol start=3><li>d</ol>tail<li>e</ul>", "- a\n- b\n  c\n  3. d\n  tail\n- e\n"},
		{"definitions", "<dl><dt>term<dd>what it <i>is</i></dl>", "- term\n  - what it is\n"},
		{"table", "<table><caption>Cap</caption><tr><th>A<th>B|C<tr><td>1<td><p>2</p><p>3</p><tr><td colspan=2>x</table>",
			"Cap\n\n| A | B\\|C |\n|---|---|\n| 1 | 2 3 |\n| x |  |\n"},
		{"table with rows spanned", "<table><tr><th>A<th>B</tr><tr><td rowspan=2>x<td>1<tr><td>2</table>", "| A | B |\n|---|---|\n| x | 1 |\n| x | 2 |\n"},
		{"table for layout", "<table><tr><td><h1>H</h1>left</td><td>right</td></tr><tr><td>x<td>y</table>", "# H\n\nleft\n\nright\n\nx\n\ny\n"},
		{"code", "<p>Use <code>go  test</code>:</p><pre><code class='language-go'>func a() {\n\tb\n}\n</code></pre>", "Use `go test`:\n\n```go\nfunc a() {\n\tb\n}\n```\n"},
		{"quote", "<blockquote><p>a<p>b</blockquote>", "> a\n>\n> b\n"},
		{"links", `<a href="https://e.org/x">site</a> <a href="/y">page</a> <a href="https://e.org">https://e.org</a> <a href="javascript:x()">js</a>`,
			"[site](https://e.org/x) page https://e.org js\n"},
		{"images", "<p>a<img alt='two words'>b<img alt=icon>", "a two words b\n"},
		{"what is not text", "<p>a<script>s</script><style>t</style><noscript>n</noscript><template>m</template><svg><text>v</text></svg><p hidden>h<p style='display: none'>d<button>k</button>", "a\n"},
		{"outside the content", "<nav>n</nav><header>h</header><main><header>t</header>a</main><aside>s</aside><footer>f</footer><div role=navigation>r</div>", "t\n\na\n"},
		{"nothing but navigation", "<nav><p>a</nav>", "a\n"},
		{"frame", "<iframe srcdoc='<p>inside</p>'></iframe>outside", "inside\n\noutside\n"},
		{"entities", "<p>a&nbsp;b &amp; &lt;c&gt; &#x27;", "a\u00a0b & <c> '\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			doc := read(t, c.page)
			if d := cmp.Diff(c.want, doc.Text); d != "" {
				t.Error(d)
			}
			holds(t, doc)
		})
	}
}

func holds(t interface{ Fatalf(string, ...any) }, doc exhibit.Document) {
	var blocks []chunk.Block
	seen := 0
	for _, b := range doc.Blocks {
		blocks = append(blocks, chunk.Block{Start: b.Start, End: b.End, Header: b.Header, Rows: b.Rows})
		if gap := doc.Text[seen:min(max(b.Start, seen), len(doc.Text))]; strings.TrimSpace(gap) != "" {
			t.Fatalf("%q is in no block of %q", gap, doc.Text)
		}
		seen = b.End
	}
	if err := chunk.Check(doc.Text, blocks); err != nil {
		t.Fatalf("%v of %q", err, doc.Text)
	}
}

func TestBlocks(t *testing.T) {
	doc := read(t, "<h2>A</h2><ul><li>b<ul><li>c</ul></ul><table><thead><tr><td>h<td>i</thead><tr><td>1<td>2<tr><td>3<td>4</table><pre>x\ny\nz</pre><table><tr><td>p<td>q<tr><td>r<td>s</table>")
	var got []string
	for _, b := range doc.Blocks {
		s := fmt.Sprintf("%d/%d %s", b.Kind, b.Level, b.Title)
		pos := b.Start
		for _, at := range append([]int{b.Header}, append(b.Rows, b.End)...) {
			if at > pos {
				s += fmt.Sprintf(" %q", doc.Text[pos:at])
				pos = at
			}
		}
		got = append(got, s)
	}
	want := []string{`1/2 A "## A"`, `2/1  "- b"`, `2/2  "- c"`, `3/0  "| h | i |\n|---|---|\n" "| 1 | 2 |\n" "| 3 | 4 |"`, "4/0  \"```\\nx\\n\" \"y\\n\" \"z\\n```\"", `3/0  "| p | q |\n|---|---|\n" "| r | s |"`}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestTitleAndMainContent(t *testing.T) {
	body := strings.Repeat("<p>A paragraph of the article, long enough, with a comma, to be taken for content by whoever looks for it.</p>", 12)
	page := "<title>The article - The site</title><div class=menu><a href=/1>One</a> <a href=/2>Two</a></div><div class=article><h1>The article</h1>" + body + "</div><div class=sidebar><a href=/3>Three</a></div>"
	doc := read(t, page)
	if !strings.HasPrefix(doc.Title, "The article") || !strings.Contains(doc.Text, "long enough") || strings.Contains(doc.Text, "Three") {
		t.Errorf("%q\n%s", doc.Title, doc.Text)
	}
}

func TestEncodings(t *testing.T) {
	for _, page := range []string{
		"<meta charset=windows-1251><p>\xcf\xf0\xe8\xe2\xe5\xf2",
		"<meta http-equiv=Content-Type content='text/html; charset=koi8-r'><p>\xf0\xd2\xc9\xd7\xc5\xd4",
		"<meta charset=windows-1252><p>Привет", // says wrongly what it is
	} {
		if doc := read(t, page); doc.Text != "Привет\n" {
			t.Errorf("%q: %q", page, doc.Text)
		}
	}
}

// Pages made to be slow or deep.
func TestHostile(t *testing.T) {
	for _, unit := range []string{"<div>", "<table><tr><td>", "<ul><li>", "<blockquote>", "<b>", "<a href=http://x>a", "<p>x", "<td rowspan=65534 colspan=1000>x", "&", "<", "<!--", "<dl><dt>a<dd>", "<iframe srcdoc='", "<select>"} {
		page := "<table>" + strings.Repeat(unit, 60000/len(unit)) + "end of it"
		start := time.Now()
		doc, err := Reader{}.Read(context.Background(), exhibit.Source{Path: "x.html", Data: []byte(page)})
		if spent := time.Since(start); spent > 5*time.Second {
			t.Errorf("%q took %v", unit, spent)
		}
		if err == nil {
			holds(t, doc)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("<ul><li>a<pre>b\n</pre><table><tr><td>c<td>d")
	f.Add("<dl><dd><blockquote><li>x<h2>y")
	f.Fuzz(func(t *testing.T, page string) {
		doc, err := Reader{}.Read(context.Background(), exhibit.Source{Path: "x.html", Data: []byte(page)})
		if err == nil {
			holds(t, doc)
		}
	})
}
