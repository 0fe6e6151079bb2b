package analysis

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

func TestTermsAsSpelled(t *testing.T) {
	a := New()
	for _, c := range []struct {
		text  string
		terms string
	}{
		{"", ""},
		{"  … !? ", ""},
		{"Parental leave", "parent leav"},
		{"ERR_4021", "err4021 err 4021"},
		{"err-4021", "err4021 err 4021"},
		{"ERR4021", "err 4021 err4021"},
		{"v1.35.2", "1.35.2 1.35 v1.35.2 v1 35 2"},
		{"HTTPServer", "http serv httpserv"},
		{"httpServer http_server http-server", "http serv httpserv httpserv http serv httpserv http serv"},
		{"mRNAs p53", "rna mrna 53 p53"},
		{"src/app/main_test.go", "src/app/main_test.go src app maintest.go main test.go test go"},
		{`C:\Temp\x.txt`, `c:\temp\x.txt c temp x.txt x txt`},
		{"jane.doe@example.org", "jane.doe@example.org jane.doe jan doe example.org exampl org"},
		{"https://example.org/a?q=1#top.", "https://example.org/a?q=1#top http example.org exampl org a q 1 top"},
		{"1,234,567.8 1.234,5 2,5 3.14 1.234 2024-05-01", "1234567.8 1234.5 2.5 3.14 1.234 1234 2024-05-01 2024 05 01"},
		{"1,2,3 12:30", "1,2,3 1 2 3 12:30 12 30"},
		{"don't company's l'employé O'Brien", "dont compan employ obri o brien"},
		{"U.S.A. e.g. C++ C# .NET", "usa eg c c++ c c# net"},
		{"初始化Client", "初 初始 始 始化 化 client"},
		{"ＡＰＩ　ｶﾞｲﾄﾞ", "api ガ ガイ イ イド ド"},
		{"6½ 10⁶ CO₂ ٣٤ ๑๒", "6 1 2 10 6 co co2 34 12"},
		{"Häuser Haeuser Straße STRASSE", "haus haus strass strass"},
	} {
		got := strings.Join(a.Terms(nil, c.text), " ")
		if diff := cmp.Diff(c.terms, got); diff != "" {
			t.Errorf("Terms(%q) (-want +got):\n%s", c.text, diff)
		}
	}
}

func TestTermsAppends(t *testing.T) {
	got := New().Terms([]string{"kept"}, "leave")
	if !slices.Equal(got, []string{"kept", "leav"}) {
		t.Errorf("got %q", got)
	}
}

// finds reports whether a term of the question is one of the text.
func finds(a *Analyzer, question, text string) bool {
	terms := a.Terms(nil, text)
	asked := a.QueryTerms(question)
	for _, q := range asked {
		if slices.Contains(terms, q) {
			return true
		}
	}
	return false
}

func TestCase_52_every_script_is_found(t *testing.T) {
	a := New()
	for _, c := range []struct{ question, text string }{
		{"育児休暇", "従業員は育児休暇を取得できます。"},
		{"休", "従業員は育児休暇を取得できます。"},
		{"产假多少天", "员工可享受产假一百五十八天。"},
		{"假", "员工可享受产假。"},
		{"육아휴직", "직원은 육아휴직을 신청할 수 있습니다."},
		{"책", "책을 읽는다"},
		{"ลาคลอด", "พนักงานมีสิทธิลาคลอดได้เก้าสิบแปดวัน"},
		{"ວັນພັກ", "ພະນັກງານມີວັນພັກປະຈໍາປີ"},
		{"ឈប់សម្រាក", "បុគ្គលិកមានសិទ្ធិឈប់សម្រាក"},
		{"ခွင့်", "ဝန်ထမ်းများသည် ခွင့်ယူနိုင်သည်"},
		{"client", "初始化Client"},
		{"初始化", "初始化Client"},
		{"отпуска", "Ежегодный отпуск составляет 28 дней."},
		{"еще", "Ещё"},
		{"إجازة", "يحق للموظف الإجازة السنوية"},
		{"كتاب", "كِتَابٌ"},
		{"שלום", "שָׁלוֹם"},
		{"छुट्टी", "कर्मचारी को छुट्टी मिलती है"},
		{"விடுமுறை", "ஆண்டு விடுமுறை நாட்கள்"},
		{"αδεια", "Η ετήσια άδεια"},
		{"urlop", "URLOP"},
		{"İstanbul", "istanbul"},
		{"ISPARTA", "ısparta"},
		{"nghỉ phép", "Nhân viên được nghỉ phép năm"},
	} {
		if !finds(a, c.question, c.text) {
			t.Errorf("%q does not find %q: %q, %q", c.question, c.text, a.QueryTerms(c.question), a.Terms(nil, c.text))
		}
	}
	if got := a.QueryTerms("初始化Client"); !slices.Contains(got, "client") || !slices.Contains(got, "初始") {
		t.Errorf("a mixed run is not split: %q", got)
	}
}

func TestIdentifiersWholeAndByPart(t *testing.T) {
	a := New()
	for text, questions := range map[string][]string{
		"raised ERR_4021 again":           {"ERR_4021", "err 4021", "4021", "err4021", "ERR-4021"},
		"since v1.35.2, and":              {"v1.35.2", "1.35.2", "1.35", "v1.35.2?"},
		"call getUserName now":            {"getUserName", "getusername", "user name", "get_user_name"},
		"an HTTPServer":                   {"HTTPServer", "httpserver", "server", "http"},
		"see internal/lexical/index.go":   {"internal/lexical/index.go", "index.go", "lexical", "index"},
		"mail jane.doe@example.org.":      {"jane.doe@example.org", "example.org", "jane.doe", "doe"},
		"at https://example.org/docs/a-b": {"https://example.org/docs/a-b", "example.org", "a-b", "docs"},
		"run kebab-case-name":             {"kebab-case-name", "kebab", "kebab_case_name", "kebabCaseName"},
		"std::vector and x->y":            {"std::vector", "vector"},
		"UTF-8":                           {"utf8", "UTF 8", "utf_8"},
	} {
		for _, q := range questions {
			if !finds(a, q, text) {
				t.Errorf("%q does not find %q: %q, %q", q, text, a.QueryTerms(q), a.Terms(nil, text))
			}
		}
	}
	// What is asked whole has a term that its parts alone lack.
	for _, id := range []string{"ERR_4021", "v1.35.2", "internal/lexical/index.go", "jane.doe@example.org", "kebab-case", "HTTPServer"} {
		parts := a.Terms(nil, strings.NewReplacer("_", " ", ".", " ", "/", " ", "@", " ", "-", " ", "PS", "P S").Replace(id))
		if !slices.ContainsFunc(a.QueryTerms(id), func(q string) bool { return !slices.Contains(parts, q) }) {
			t.Errorf("%q has no term that its parts lack", id)
		}
	}
}

func TestFormsOfAWordAgree(t *testing.T) {
	a := New()
	for _, forms := range [][]string{
		{"PDF", "PDFs", "pdfs"},
		{"policy", "policies", "Policies"},
		{"employee", "employees"},
		{"Haus", "Häuser", "Hauses"},
		{"Müller", "Mueller", "Muller"},
		{"Versicherung", "Versicherungen"},
		{"congé", "congés", "conge"},
		{"employé", "employés", "employée", "employées"},
		{"empleado", "empleados", "empleada"},
		{"giorno", "giorni"},
		{"licença", "licenças"},
		{"отпуск", "отпуска", "отпуском"},
		{"θάλασσα", "ΘΑΛΑΣΣΑ"},
	} {
		want := a.Terms(nil, forms[0])
		for _, f := range forms[1:] {
			if got := a.Terms(nil, f); !slices.Equal(got, want) {
				t.Errorf("%q is %q, but %q is %q", forms[0], want, f, got)
			}
		}
	}
}

func TestFunctionWordsOfQuestions(t *testing.T) {
	a := New()
	for question, want := range map[string]string{
		"How much parental leave do I get?":      "parental leav get",
		"what is it":                             "",
		"?!":                                     "",
		"Wie viele Tage Urlaub bekomme ich":      "tag urlaub bekomm",
		"Who does IT support?":                   "it support",
		"how many people die of it":              "people die",
		"Combien de jours de congé":              "jour cong",
		"to-do":                                  "todo",
		"what does the WHO say about vaccines ?": "who say vaccin",
	} {
		want := strings.Fields(want)
		for i, w := range want {
			want[i] = a.Terms(nil, w)[0]
		}
		if got := a.QueryTerms(question); !slices.Equal(got, want) {
			t.Errorf("QueryTerms(%q) = %q, want %q", question, got, want)
		}
	}
	if got := a.Terms(nil, "what is it"); len(got) != 3 {
		t.Errorf("function words are not indexed: %q", got)
	}
}

func TestLongTermsAreBoundedAndKeptApart(t *testing.T) {
	a := New()
	x, y := strings.Repeat("ä", 5000)+"x", strings.Repeat("ä", 5000)+"y"
	tx, ty := a.Terms(nil, x), a.Terms(nil, y)
	if len(tx) != 1 || len(tx[0]) > MaxTermBytes || !slices.Equal(a.QueryTerms(x), tx) || slices.Equal(tx, ty) {
		t.Errorf("got %q and %q", tx, ty)
	}
	path := strings.Repeat("folder/", 100) + "file.go"
	if !finds(a, "file.go", path) || !slices.Contains(a.Terms(nil, path), a.QueryTerms(path)[0]) {
		t.Error("a long path is not found")
	}
}

// words draws text in which every rule has something to do.
func words() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.OneOf(
			rapid.SampledFrom([]string{"Straße", "café", "é", "ガイド", "각하", "ERR_4021", "v1.2.3", "ﬁn", "İ", "Å", "q̣̇", "а́", "ά", "क़", "½", "1½", "10⁶",
				"a@b.c", "x/y?z=1", "don't", "ไทย", "น้ำ", "កម្ពុជា", "mRNAs", "1,000", "1.000,5", "e.g", "שָׁלוֹם", "كِتَاب", "Việt", "C#", "\u200d", "\u00ad", "\xff"}),
			rapid.String(),
			rapid.StringOf(rapid.RuneFrom([]rune("aZ09_-./:@'é 的กά")))), 0, 8).Draw(t, "words"), rapid.SampledFrom([]string{" ", "", "-", "/"}).Draw(t, "by"))
	})
}

func TestNormalFormsGiveTheSameTerms(t *testing.T) {
	a := New()
	rapid.Check(t, func(t *rapid.T) {
		s := words().Draw(t, "text")
		c, d := a.Terms(nil, norm.NFC.String(s)), a.Terms(nil, norm.NFD.String(s))
		if diff := cmp.Diff(c, d); diff != "" {
			t.Errorf("%q (-NFC +NFD):\n%s", s, diff)
		}
	})
}

func TestTrailingPunctuationChangesNothing(t *testing.T) {
	a := New()
	rapid.Check(t, func(t *rapid.T) {
		s := words().Draw(t, "text")
		marks := rapid.SampledFrom([]string{".", "?", "!", "...", "。", "？", ",", ";", ":", ")", "\"", "»", " -", "'", "…", "।", "؟"}).Draw(t, "marks")
		if diff := cmp.Diff(a.QueryTerms(s), a.QueryTerms(s+marks)); diff != "" {
			t.Errorf("%q and %q (-without +with):\n%s", s, s+marks, diff)
		}
		if diff := cmp.Diff(a.Terms(nil, s), a.Terms(nil, s+marks)); diff != "" {
			t.Errorf("%q and %q (-without +with):\n%s", s, s+marks, diff)
		}
	})
}

// TestQuestionFindsItsText: whatever is asked is spelled as it is indexed.
func TestQuestionFindsItsText(t *testing.T) {
	a := New()
	rapid.Check(t, func(t *rapid.T) {
		s := words().Draw(t, "text")
		terms := map[string]bool{}
		for _, x := range a.Terms(nil, s) {
			terms[x] = true
		}
		for _, q := range a.QueryTerms(s) {
			if !terms[q] {
				t.Errorf("question %q asks for %q, which the same text lacks", s, q)
			}
		}
	})
}

func TestOneAnalyzerManyGoroutines(t *testing.T) {
	a := New()
	texts := make([]string, 200)
	want := make([][]string, len(texts))
	for i := range texts {
		texts[i] = fmt.Sprintf("Policies of München %d: getUser_%d, 产假%d天, v1.%d.2", i, i, i, i)
		want[i] = New().Terms(nil, texts[i])
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range texts {
				i := (i + 25*g) % len(texts)
				if got := a.Terms(nil, texts[i]); !slices.Equal(got, want[i]) {
					t.Errorf("%q: got %q, want %q", texts[i], got, want[i])
				}
			}
		})
	}
	wg.Wait()
}

// TestTimeIsLinear: of what is hard on the rules, 16 times as much takes about 16 times as long; 256 times as long would be a quadratic rule.
// A busy machine gets three tries.
func TestTimeIsLinear(t *testing.T) {
	a := New()
	cost := func(unit string, n int) time.Duration {
		s := strings.Repeat(unit, n/len(unit))
		best := time.Hour
		for range 3 {
			start := time.Now()
			a.QueryTerms(s)
			best = min(best, time.Since(start))
		}
		return best
	}
	for _, unit := range []string{"a", "aB", "a-", "a/b?c#", "1,", "1.", "a.", "a'b", "的", "น้ำ", "a1", "e\u0301", "\u0301", "½1", "..", "how "} {
		var small, large time.Duration
		for range 3 {
			small, large = cost(unit, 1<<14), cost(unit, 1<<18)
			if large < 128*max(small, time.Millisecond/4) {
				small = 0
				break
			}
		}
		if small != 0 {
			t.Errorf("%q: 16 KB took %v and 256 KB %v", unit, small, large)
		}
	}
}

func FuzzTerms(f *testing.F) {
	for _, s := range []string{"ERR_4021 v1.35.2", "a/\u0301b", "vv.1", "1,2'3.4", "l'a'b", "\xff\xfe", "น้ำ\u0301", "İı", "aeiou", "ieieie", "v.1", "__a__", "a:\\b", "كِتَاب", "உறவினர்கள்", "أأأأأ"} {
		f.Add(s)
	}
	a := New()
	f.Fuzz(func(t *testing.T, s string) {
		terms := a.Terms(nil, s)
		for _, x := range terms {
			if x == "" || len(x) > MaxTermBytes {
				t.Errorf("Terms(%q) has the term %q", s, x)
			}
		}
		for _, q := range a.QueryTerms(s) {
			if !slices.Contains(terms, q) {
				t.Errorf("QueryTerms(%q) has %q, which Terms lacks", s, q)
			}
		}
	})
}

func BenchmarkTerms(b *testing.B) {
	for name, text := range map[string]string{
		"english": strings.Repeat("The policies of the company grant parental leave of sixteen weeks to every employee. ", 20),
		"chinese": strings.Repeat("员工可享受产假一百五十八天，具体以公司政策为准。", 20),
		"german":  strings.Repeat("Die Mitarbeiterinnen und Mitarbeiter können für Ärzte Urlaub nehmen. ", 20),
	} {
		b.Run(name, func(b *testing.B) {
			a := New()
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			var dst []string
			for b.Loop() {
				dst = a.Terms(dst[:0], text)
			}
		})
	}
}
