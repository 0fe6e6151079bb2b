package charset

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/saintfish/chardet"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// sampleSize is how many bytes a guess looks at. Decoding reads all of them.
const sampleSize = 64 << 10

type candidate struct {
	name string
	enc  encoding.Encoding
}

// multiByte lists the encodings whose byte rules are strict enough to tell them from noise, in order of preference.
func multiByte() []candidate {
	return []candidate{
		{"gb18030", simplifiedchinese.GB18030},
		{"big5", traditionalchinese.Big5},
		{"shift_jis", japanese.ShiftJIS},
		{"euc-jp", japanese.EUCJP},
		{"euc-kr", korean.EUCKR},
	}
}

// singleByte lists the encodings of one alphabet each. The guesser's ISO names stand for the Windows code page that extends them.
func singleByte() []candidate {
	return []candidate{
		{"windows-1252", charmap.Windows1252},
		{"windows-1250", charmap.Windows1250},
		{"windows-1251", charmap.Windows1251},
		{"koi8-r", charmap.KOI8R},
		{"iso-8859-5", charmap.ISO8859_5},
		{"ibm866", charmap.CodePage866},
		{"windows-1253", charmap.Windows1253},
		{"windows-1254", charmap.Windows1254},
		{"windows-1255", charmap.Windows1255},
		{"windows-1256", charmap.Windows1256},
		{"windows-1257", charmap.Windows1257},
		{"iso-8859-6", charmap.ISO8859_6},
		{"windows-874", charmap.Windows874},
		{"iso-8859-2", charmap.ISO8859_2},
	}
}

// legacy decodes data that is no Unicode encoding. It always succeeds: windows-1252 has a character for nearly every byte.
func legacy(data []byte) Text {
	sample := data[:min(len(data), sampleSize)]
	best, bestScore := candidate{"windows-1252", charmap.Windows1252}, 0.0
	likely := guesses(sample)
	for i, c := range append(multiByte(), singleByte()...) {
		text, ok := strict(c.enc, trimPartial(data, sample, c))
		if !ok {
			continue
		}
		s := plausible(text, c.name) + likely[c.name]
		if i < len(multiByte()) {
			s += .2 // bytes that keep such rules seldom do so by chance
		}
		if s > bestScore {
			best, bestScore = c, s
		}
	}
	t := with(best.enc, best.name, data)
	t.Warnings = append(t.Warnings, fmt.Sprintf("the encoding is not stated and was taken to be %s", best.name))
	return t
}

// trimPartial drops what may be half a character at the end of a sample.
func trimPartial(data, sample []byte, c candidate) []byte {
	if len(sample) == len(data) {
		return sample
	}
	for len(sample) > 1 && sample[len(sample)-1] >= 0x40 {
		sample = sample[:len(sample)-1]
	}
	return sample
}

// guesses returns what the statistical guesser makes of a sample, from 0 to .3 by name.
func guesses(sample []byte) map[string]float64 {
	results, err := chardet.NewTextDetector().DetectAll(sample)
	if err != nil {
		return nil
	}
	out := map[string]float64{}
	for _, r := range results {
		name := strings.ToLower(r.Charset)
		switch name {
		case "gb-18030":
			name = "gb18030"
		case "iso-8859-1":
			name = "windows-1252"
		case "iso-8859-7":
			name = "windows-1253"
		case "iso-8859-8", "iso-8859-8-i":
			name = "windows-1255"
		case "iso-8859-9":
			name = "windows-1254"
		}
		out[name] = max(out[name], .3*float64(r.Confidence)/100)
	}
	return out
}

// plausible rates decoded text from 0 to about 1: the share of its letters outside ASCII that are usual in the encoding's languages,
// less what no language writes, such as a capital after a small letter.
func plausible(text, charset string) float64 {
	letters, usual, odd := 0, 0, 0
	var prev rune
	for _, r := range text {
		if r >= 0x80 {
			letters++
			if common(r, charset) {
				usual++
			}
			if strange(prev, r) {
				odd++
			}
		} else if prev >= 0x80 && unicode.IsLetter(prev) && strange(prev, r) {
			odd++
		}
		prev = r
	}
	if letters == 0 {
		return 0
	}
	return (float64(usual) - 2*float64(odd)) / float64(letters)
}

// strange tells whether two neighbours do not occur in a text: a capital after a small letter, letters of two alphabets, a sign
// inside a word, or a Thai vowel without its letter.
func strange(a, b rune) bool {
	if thai(a) || thai(b) {
		below := b >= 0xe31 && b <= 0xe3a && b != 0xe32 && b != 0xe33 || b >= 0xe47 && b <= 0xe4e // stands on the letter before
		before := a >= 0xe40 && a <= 0xe44                                                        // stands before its letter
		return below && !thai(a) || before && !(b >= 0xe01 && b <= 0xe2e)
	}
	la, lb := unicode.IsLetter(a), unicode.IsLetter(b)
	if la && lb {
		return unicode.IsLower(a) && unicode.IsUpper(b) || alphabet(a) != alphabet(b)
	}
	return b >= 0x80 && la && unicode.In(b, unicode.Sm, unicode.So, unicode.Sc, unicode.No)
}

func thai(r rune) bool { return r >= 0xe01 && r <= 0xe5b }

// alphabet numbers the scripts that are not mixed within a word; scripts without spaces count as one.
func alphabet(r rune) int {
	switch {
	case r < 0x250 || r >= 0x1e00 && r < 0x1f00:
		return 1
	case r < 0x400:
		return 2
	case r < 0x530:
		return 3
	case r < 0x600:
		return 4
	case r < 0x700:
		return 5
	case r >= 0xe00 && r < 0xe80:
		return 6
	}
	return 0
}

// common tells whether a character is among those that make up most of a text in the languages of the encoding.
func common(r rune, charset string) bool {
	switch charset {
	case "gb18030":
		return strings.ContainsRune(usualSimplified, r) || strings.ContainsRune(usualMarks, r)
	case "big5":
		return strings.ContainsRune(usualTraditional, r) || strings.ContainsRune(usualMarks, r)
	case "shift_jis", "euc-jp":
		return r >= 0x3041 && r <= 0x30fe || strings.ContainsRune(usualMarks, r)
	case "euc-kr":
		return strings.ContainsRune(usualHangul, r)
	case "windows-1251", "koi8-r", "iso-8859-5", "ibm866":
		return r >= 0x430 && r <= 0x45f || strings.ContainsRune("—«»№’“”", r)
	case "windows-1253":
		return r >= 0x3ac && r <= 0x3ce
	case "windows-1255":
		return r >= 0x5d0 && r <= 0x5ea
	case "windows-1256", "iso-8859-6":
		return r >= 0x621 && r <= 0x652 || strings.ContainsRune("،؛؟پچژگ", r)
	case "windows-874":
		return strings.ContainsRune("กขคงจชดตทนบปพมยรลวสหอะัาำิีึืุูเแโใไ็่้์", r)
	case "windows-1250", "iso-8859-2":
		return strings.ContainsRune("ąćęłńóśźżáčďéěíňřšťúůýžőűöüăâîșțşţäß„”“’–", r)
	case "windows-1254":
		return strings.ContainsRune("çğışöüâîûİ’“”–", r)
	case "windows-1257":
		return strings.ContainsRune("āčēģīķļņšūžąęėįųõäöü„“”–", r)
	case "windows-1252":
		return strings.ContainsRune("àâäáãåæçéèêëíìîïñóòôöõøœßúùûüÿÉÄÖÜ’‘“”–—«»…•€£©®°§¿¡ªº", r)
	}
	return false
}

// The characters that fill nearly half of a text, by common frequency lists, and the marks of East Asian text.
const (
	usualMarks       = "，。、；：？！「」『』（）《》“”‘’…—・ー"
	usualHangul      = "이다는에을의가한하고로은를지도기사서대인있그시자해나리어으들아과수만라일정부게니것보안제거전스면장상주여려할원없구되와지었했습요합당때문세오성유러공개동년국"
	usualSimplified  = "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应战向头文体政美相见被利什二等产或新己制身果加西斯月话合回特代内信表化老给世位次度门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活尔更别打女变四神总何电数安少报才结反受目太量再感建务做接必场件计管期市直德资命山金指克许统区保至队形社便空决治展马科司五基眼书非则听白却界达光放强即像难且权思王象完设式色路记南品住告类求据程北边死张该交规万取拉格望觉术领共确传师观清今切院让识候带导争运"
	usualTraditional = "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作裡用道行所然家種事成方多經麼去法學如都同現當沒動面起看定天分還進好小部其些主樣理心她本前開但因只從想實日軍者意無力它與長把機十民第公此已工使情明性知全三又關點正業外將兩高間由問很最重並物手應戰向頭文體政美相見被利什二等產或新己制身果加西斯月話合回特代內信表化老給世位次度門任常先海通教兒原東聲提立及比員解水名真論處走義各入幾口認條平系氣題活爾更別打女變四神總何電數安少報才結反受目太量再感建務做接必場件計管期市直德資命山金指克許統區保至隊形社便空決治展馬科司五基眼書非則聽白卻界達光放強即像難且權思王象完設式色路記南品住告類求據程北邊死張該交規萬取拉格望覺術領共確傳師觀清今切院讓識候帶導爭運"
)
