package chunk

import (
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func sentencesOf(text string) []string {
	var out []string
	for s, e := range Sentences(text) {
		out = append(out, strings.TrimSpace(text[s:e]))
	}
	return out
}

func TestSentences(t *testing.T) {
	for _, c := range []struct {
		name string
		want []string
	}{
		{"English", []string{"Dr. Smith saw Fig. 3 of J. Weber et al. in Vol. 2.", "It was, e.g. here, 3.14 wide!", "\"Really?\"", "Yes."}},
		{"German", []string{"Das gilt z. B. für Abs. 3 bzw. Nr. 4 am 3. Oktober 2020.", "Danach nicht mehr."}},
		{"French", []string{"M. Dupont et Mme. Curie arrivent.", "Bien !", "Oui."}},
		{"Russian", []string{"Он жил на ул. Ленина, т. е. рядом.", "Потом уехал."}},
		{"Chinese", []string{"他说：“你好！”", "然后走了。", "真的？", "是。"}},
		{"Japanese", []string{"「行きます。」", "と彼は言った。", "本当？", "はい。"}},
		{"Arabic", []string{"هل هذا صحيح؟", "نعم هذا صحيح.", "شكرا"}},
		{"Urdu", []string{"یہ پہلا جملہ ہے۔", "یہ دوسرا ہے۔"}},
		{"Hindi", []string{"यह पहला वाक्य है।", "यह दूसरा है।"}},
		{"list", []string{"1. First of all.", "2. Second."}},
	} {
		t.Run(c.name, func(t *testing.T) {
			sep := " "
			if c.name == "Chinese" || c.name == "Japanese" {
				sep = ""
			}
			if d := cmp.Diff(c.want, sentencesOf(strings.Join(c.want, sep))); d != "" {
				t.Error(d)
			}
		})
	}
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"line breaks are spaces", "One line\r\ngoes on. Then\nanother etc.\nand so on.\n", []string{"One line\r\ngoes on.", "Then\nanother etc.\nand so on."}},
		{"blank lines end", "No stop\n \nNext", []string{"No stop", "Next"}},
		{"list lines end", "Needed\n- a thing\n- another\n1. third", []string{"Needed", "- a thing", "- another", "1. third"}},
		{"Thai phrases", "ฉันรักแมว แมวรักฉัน ใช้ Python ได้", []string{"ฉันรักแมว", "แมวรักฉัน", "ใช้ Python ได้"}},
		{"notes", "It is so.[9] The rest.[10][self-published source?] Then.[A", []string{"It is so.[9]", "The rest.[10][self-published source?]", "Then.", "[A"}},
		{"opening marks", "他来了。“你好！”他说。「次」です。", []string{"他来了。", "“你好！”", "他说。", "「次」です。"}},
		{"closing mark that may open", "Das ist „gut.“ Dann kam er.", []string{"Das ist „gut.“", "Dann kam er."}},
		{"Khmer", "ខ្ញុំស្រឡាញ់ឆ្មា។ ឆ្មាស្រឡាញ់ខ្ញុំ", []string{"ខ្ញុំស្រឡាញ់ឆ្មា។", "ឆ្មាស្រឡាញ់ខ្ញុំ"}},
		{"Lao", "ຂ້ອຍຮັກແມວ ແມວຮັກຂ້ອຍ", []string{"ຂ້ອຍຮັກແມວ", "ແມວຮັກຂ້ອຍ"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, sentencesOf(c.text)); d != "" {
				t.Error(d)
			}
		})
	}
}

func sentencesHold(t interface{ Fatalf(string, ...any) }, text string) {
	end := 0
	for s, e := range Sentences(text) {
		if s != end || e <= s {
			t.Fatalf("sentence %d to %d after %d", s, e, end)
		}
		if utf8.ValidString(text) && !utf8.ValidString(text[s:e]) {
			t.Fatalf("cut inside a character: %q", text[s:e])
		}
		end = e
	}
	if end != len(text) {
		t.Fatalf("sentences end at %d of %d", end, len(text))
	}
}

func TestSentencesOfAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { sentencesHold(t, textGen().Draw(t, "text")) })
	sentencesHold(t, strings.Repeat("word ", 10000)+"end. Next.")
	sentencesHold(t, strings.Repeat("字", 10000))
	sentencesHold(t, "e"+strings.Repeat("\u0301", 20000))
}

func FuzzSentences(f *testing.F) {
	f.Add("Dr. X. 3. Mai\n- a\r\n\r\nb")
	f.Add("\xe0\xb8 \xe0\xb8")
	f.Fuzz(func(t *testing.T, text string) { sentencesHold(t, text) })
}

// Texts made to be slow: one line without any end, runs of signs after a full stop, towers of accents.
func TestCutIsLinear(t *testing.T) {
	size := 1 << 20
	if os.Getenv("EXHIBIT_SLOW") != "" {
		size = 200 << 20
	}
	for _, unit := range []string{"word ", "x", "字", "a.)))) ", "a.", ". ", "a.                  ", "e\u0301\u0301\u0301", "a\n", "\n", "Dr. ", "- a\n", "1. ", "\u0301", "ก ", "👩‍👧"} {
		text := "a." + strings.Repeat(unit, size/len(unit))
		start := time.Now()
		pieces := Cut(text, nil, Config{}, standIn)
		if spent := time.Since(start); spent > time.Duration(size/1024)*10*time.Millisecond {
			t.Errorf("%q: %d bytes in %v", unit, len(text), spent)
		} else {
			t.Logf("%q: %d pieces in %v", unit, len(pieces), spent)
		}
	}
}
