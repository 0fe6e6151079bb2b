package sentencepiece

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/exhibit-rag/exhibit/internal/weights"
)

func packed(units []uint32) doubleArray {
	b := make([]byte, 0, 4*len(units))
	for _, u := range units {
		b = append(b, byte(u), byte(u>>8), byte(u>>16), byte(u>>24))
	}
	return doubleArray(b)
}

// TestDoubleArrayFindsTheLongestKey compares a built array with a map, for random keys and texts of few letters, so that
// prefixes and near misses abound, and of all bytes.
func TestDoubleArrayFindsTheLongestKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letter := rapid.OneOf(rapid.SampledFrom([]byte("ab")), rapid.ByteRange(1, 255))
		word := rapid.Map(rapid.SliceOfN(letter, 1, 8), func(b []byte) string { return string(b) })
		words := rapid.SliceOfNDistinct(word, 1, 60, rapid.ID[string]).Draw(t, "words")
		slices.Sort(words)
		var keys []entry
		for i, w := range words {
			keys = append(keys, entry{w, uint32(i * 7)})
		}
		units, err := buildDoubleArray(keys)
		if err != nil {
			t.Fatal(err)
		}
		d := packed(units)
		for _, text := range append(rapid.SliceOfN(rapid.String(), 0, 10).Draw(t, "texts"), words...) {
			text += rapid.SampledFrom([]string{"", "a", "b\x00", "\x00"}).Draw(t, "more")
			length, value := 0, uint32(0)
			for _, k := range keys {
				if strings.HasPrefix(text, k.key) && len(k.key) > length {
					length, value = len(k.key), k.value
				}
			}
			if gotLength, gotValue := d.longest(text); gotLength != length || gotValue != value {
				t.Fatalf("%q in %q: length %d value %d, want %d and %d", text, words, gotLength, gotValue, length, value)
			}
		}
	})
}

func TestDoubleArrayIsTheSameEachTime(t *testing.T) {
	var keys []entry
	for i := range 5000 {
		keys = append(keys, entry{fmt.Sprintf("%05d", i*13), uint32(i)})
	}
	first, err := buildDoubleArray(keys)
	if err != nil {
		t.Fatal(err)
	}
	second, _ := buildDoubleArray(keys)
	if !slices.Equal(first, second) {
		t.Error("two builds of the same keys differ")
	}
	if used := len(first); used > 4*len(keys) {
		t.Errorf("%d units for %d keys", used, len(keys))
	}
}

func TestBuildRefuses(t *testing.T) {
	for _, c := range []struct {
		name, want string
		change     func(*Vocabulary)
	}{
		{"scores missing", "25 pieces and 24 scores", func(v *Vocabulary) { v.Scores = v.Scores[1:] }},
		{"empty piece", `piece 5 is ""`, func(v *Vocabulary) { v.Pieces[5] = "" }},
		{"zero byte", `piece 5 is "\x00"`, func(v *Vocabulary) { v.Pieces[5] = "\x00" }},
		{"not UTF-8", `piece 5 is "\xff"`, func(v *Vocabulary) { v.Pieces[5] = "\xff" }},
		{"twice", "pieces 5 and 6 are both", func(v *Vocabulary) { v.Pieces[6] = v.Pieces[5] }},
		{"score", "has the score NaN", func(v *Vocabulary) { v.Scores[7] = float32(math.NaN()) }},
		{"no pieces", "no pieces", func(v *Vocabulary) { v.Pieces, v.Scores = v.Pieces[:4], v.Scores[:4] }},
		{"short map", "shorter than it claims", func(v *Vocabulary) { v.CharsMap = "\xff\xff\x00\x00" }},
		{"map keeps U+2581", "of U+2581, want a space", func(v *Vocabulary) { v.CharsMap = buildMap(t, map[string]string{"\t": " "}) }},
	} {
		v := tinyVocabulary(t)
		v.Pieces, v.Scores = slices.Clone(v.Pieces), slices.Clone(v.Scores)
		c.change(&v)
		if _, err := Build(v); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", c.name, err, c.want)
		}
	}
}

func TestBuildGivesTheSameEachTime(t *testing.T) {
	first, err := Build(tinyVocabulary(t))
	if err != nil {
		t.Fatal(err)
	}
	v := tinyVocabulary(t)
	v.CharsMap = first[3].Data
	second, err := Build(v)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, second); diff != "" {
		t.Error(diff)
	}
}

func TestOpenNamesWhatIsMissing(t *testing.T) {
	whole, err := Build(tinyVocabulary(t))
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range whole {
		without := slices.Delete(slices.Clone(whole), i, i+1)
		if _, err := Open(container(t, without)); err == nil || !strings.Contains(err.Error(), s.Name) {
			t.Errorf("without %s: %v", s.Name, err)
		}
	}
	whole[2] = weights.Section{Name: sectionMeta, Kind: weights.F32, Rows: 1, Cols: 1, Data: "\x00\x00\x80\xbf"}
	if _, err := Open(container(t, whole)); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("short %s: %v", sectionMeta, err)
	}
}

// TestDamagedSectionsDoNotPanic changes bytes of the sections; whatever then comes out, it ends and its spans hold together.
func TestDamagedSectionsDoNotPanic(t *testing.T) {
	whole, err := Build(tinyVocabulary(t))
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		sections := slices.Clone(whole)
		for range rapid.IntRange(1, 30).Draw(rt, "changes") {
			s := &sections[rapid.SampledFrom([]int{0, 1, 3}).Draw(rt, "section")]
			b := []byte(s.Data)
			b[rapid.IntRange(0, len(b)-1).Draw(rt, "at")] = rapid.Byte().Draw(rt, "byte")
			s.Data = string(b)
		}
		tok, err := Open(container(t, sections))
		if err != nil {
			return
		}
		text := "ab e\u0301 ㈱ xxxx ﷺ\t中文 q…" + strings.Repeat("ab", 10)
		if ids, tokens := tok.Encode(text), tok.EncodeSpans(text); len(ids) != len(tokens) {
			rt.Fatalf("%d ids, %d spans", len(ids), len(tokens))
		}
	})
}
