package charset

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
)

const (
	chinese     = "知识库是企业内部信息的集合。员工可以在这里查找关于假期、报销和办公设备的规定。如果没有找到答案，请联系人力资源部门。"
	traditional = "知識庫是企業內部資訊的集合。員工可以在這裡查找關於假期、報銷和辦公設備的規定。如果沒有找到答案，請聯繫人力資源部門。"
	nihongo     = "この文書は会社の休暇についての規則を説明しています。質問があるときは、人事部に連絡してください。"
	hangul      = "이 문서는 회사의 휴가 규정을 설명합니다. 질문이 있으면 인사부에 연락해 주십시오."
	russian     = "Этот документ описывает правила отпуска. Если у вас есть вопросы, обратитесь в отдел кадров."
	greek       = "Αυτό το έγγραφο περιγράφει τους κανόνες άδειας. Για ερωτήσεις επικοινωνήστε με το τμήμα προσωπικού."
	hebrew      = "מסמך זה מתאר את כללי החופשה. לשאלות יש לפנות למחלקת משאבי אנוש."
	arabic      = "تصف هذه الوثيقة قواعد الإجازة. للأسئلة يرجى الاتصال بقسم الموارد البشرية."
	thaiText    = "เอกสารนี้อธิบายกฎการลางาน หากมีคำถามโปรดติดต่อฝ่ายบุคคล"
	german      = "Dieses Dokument beschreibt die Urlaubsregeln für alle Beschäftigten. Für Fragen wäre das Büro zuständig – „gern“."
	french      = "Ce document décrit les règles de congé. À l’été, les salariés reçoivent une réponse très rapide où c’est possible."
	polish      = "Ten dokument opisuje zasady urlopu. Jeśli masz pytania, skontaktuj się z działem kadr. Żółć, gęś, źdźbło."
	czech       = "Tento dokument popisuje pravidla dovolené. Máte-li otázky, obraťte se na personální oddělení. Příliš žluťoučký kůň."
	turkish     = "Bu belge izin kurallarını açıklar. Sorularınız için insan kaynakları bölümüne başvurunuz. Şimdi değil, öğleden sonra."
)

func TestDecode(t *testing.T) {
	le, be := unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	for _, c := range []struct {
		name, text, want string
		enc              encoding.Encoding
	}{
		{"utf-16le", german, "utf-16le", le}, {"utf-16be", german, "utf-16be", be},
		{"utf-16le Chinese", chinese + "\n", "utf-16le", le}, {"utf-16be Chinese", chinese + "\n", "utf-16be", be},
		{"utf-16le Russian", russian, "utf-16le", le}, {"utf-16be Japanese", nihongo + "\r\n", "utf-16be", be},
		{"utf-16le short", "ab", "utf-16le", le},
		{"gb18030", chinese, "gb18030", simplifiedchinese.GB18030}, {"gbk", chinese, "gb18030", simplifiedchinese.GBK},
		{"big5", traditional, "big5", traditionalchinese.Big5},
		{"shift_jis", nihongo, "shift_jis", japanese.ShiftJIS}, {"euc-jp", nihongo, "euc-jp", japanese.EUCJP},
		{"iso-2022-jp", nihongo, "iso-2022-jp", japanese.ISO2022JP},
		{"euc-kr", hangul, "euc-kr", korean.EUCKR},
		{"koi8-r", russian, "koi8-r", charmap.KOI8R}, {"windows-1251", russian, "windows-1251", charmap.Windows1251},
		{"ibm866", russian, "ibm866", charmap.CodePage866},
		{"windows-1253", greek, "windows-1253", charmap.Windows1253}, {"windows-1255", hebrew, "windows-1255", charmap.Windows1255},
		{"windows-1256", arabic, "windows-1256", charmap.Windows1256}, {"iso-8859-6", strings.ReplaceAll(arabic, "،", ""), "iso-8859-6", charmap.ISO8859_6}, {"windows-874", thaiText, "windows-874", charmap.Windows874},
		{"windows-1252 German", german, "windows-1252", charmap.Windows1252}, {"windows-1252 French", french, "windows-1252", charmap.Windows1252},
		{"windows-1250 Polish", polish, "windows-1250", charmap.Windows1250}, {"windows-1250 Czech", czech, "windows-1250", charmap.Windows1250},
		{"windows-1254 Turkish", turkish, "windows-1254", charmap.Windows1254},
	} {
		for _, n := range []int{1, 40} {
			data, err := c.enc.NewEncoder().Bytes([]byte(strings.Repeat(c.text, n)))
			if err != nil {
				t.Fatal(c.name, err)
			}
			got, err := Decode(data, "")
			if err != nil || got.Charset != c.want || got.Text != strings.Repeat(c.text, n) {
				t.Errorf("%s ×%d: read as %s (%v): %.60q", c.name, n, got.Charset, err, got.Text)
			}
		}
	}
}

func TestDecodeShort(t *testing.T) {
	for _, c := range []struct {
		text string
		enc  encoding.Encoding
	}{
		{"Привет, как дела?", charmap.Windows1251}, {"Привет, как дела?", charmap.KOI8R},
		{"你好，世界。我们来了", simplifiedchinese.GBK}, {"你好，我們來了。", traditionalchinese.Big5},
		{"これはテストです", japanese.ShiftJIS}, {"これはテストです", japanese.EUCJP}, {"안녕하세요 여러분", korean.EUCKR},
		{"Übergröße für Ämter", charmap.Windows1252}, {"café", charmap.Windows1252}, {"naïve façade", charmap.Windows1252}, {"it’s “fine” – 20 €", charmap.Windows1252},
	} {
		data, err := c.enc.NewEncoder().Bytes([]byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := Decode(data, ""); got.Text != c.text {
			t.Errorf("%q is read as %s: %q", c.text, got.Charset, got.Text)
		}
	}
}

func TestDecodeMarksAndFaults(t *testing.T) {
	for _, c := range []struct {
		name, data, declared, want, charset string
		warns                               bool
	}{
		{"empty", "", "", "", "utf-8", false},
		{"UTF-8 mark", "\xef\xbb\xbfé", "", "é", "utf-8", false},
		{"UTF-16 mark", "\xff\xfea\x00", "", "a", "utf-16le", false},
		{"UTF-16 mark, other order", "\xfe\xff\x00a", "", "a", "utf-16be", false},
		{"UTF-16 of odd length", "\xff\xfea\x00b", "", "a\ufffd", "utf-16le", true},
		{"UTF-32 mark", "\xff\xfe\x00\x00a\x00\x00\x00", "", "a", "utf-32le", false},
		{"one bad byte among good", strings.Repeat("é", 12) + "\xff.", "", strings.Repeat("é", 12) + "\ufffd.", "utf-8", true},
		{"cut inside a character", strings.Repeat("字", 30) + "\xe5\xad", "", strings.Repeat("字", 30) + "\ufffd\ufffd", "utf-8", true},
		{"declared", "\xcf\xf0\xe8", "windows-1251", "При", "windows-1251", false},
		{"declared wrongly", strings.Repeat("é", 12), "big5", strings.Repeat("é", 12), "utf-8", false},
		{"unknown name", "abc", "klingon", "abc", "utf-8", false},
		{"lone carriage returns", "a\rb\r", "", "a\nb\n", "utf-8", false},
		{"line ends stay", "a\r\nb\r", "", "a\r\nb\r", "utf-8", false},
	} {
		got, err := Decode([]byte(c.data), c.declared)
		if err != nil || got.Text != c.want || got.Charset != c.charset || (len(got.Warnings) > 0) != c.warns {
			t.Errorf("%s: %q, %s, %v, %v", c.name, got.Text, got.Charset, got.Warnings, err)
		}
	}
	for _, data := range []string{"\x00\x01\x02\x03", "abc\x00def\x00", "\x7fELF\x02\x01\x01\x00\x00\x00\x00", strings.Repeat("\x00", 100)} {
		if got, err := Decode([]byte(data), ""); !errors.Is(err, ErrBinary) {
			t.Errorf("%q is read as %s: %q", data, got.Charset, got.Text)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("\xff\xfea\x00"), "")
	f.Add([]byte("\x1b$B$3\x1b(B"), "shift_jis")
	f.Add([]byte("\xc4\xe3\xba\xc3"), "gbk")
	f.Fuzz(func(t *testing.T, data []byte, declared string) {
		got, err := Decode(data, declared)
		if err == nil && !utf8.ValidString(got.Text) {
			t.Fatalf("not UTF-8: %q", got.Text)
		}
	})
}
