package exhibit_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/exhibit-rag/exhibit"
)

func filterOf(t *testing.T, s string) *exhibit.Filter {
	t.Helper()
	var f exhibit.Filter
	if err := json.Unmarshal([]byte(s), &f); err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return &f
}

func TestFilterMatch(t *testing.T) {
	doc := exhibit.Metadata{}
	if err := json.Unmarshal([]byte(`{"team":"hr","year":2024,"ratio":2.5,"open":true,"tags":["a","b2"],"none":null,"empty":[],"name":"Müller GmbH","numbers":[1,5]}`), &doc); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		filter string
		want   bool
	}{
		{`{"type":"eq","key":"team","value":"hr"}`, true}, {`{"type":"eq","key":"team","value":"HR"}`, false}, {`{"type":"eq","key":"nokey","value":"hr"}`, false},
		{`{"type":"eq","key":"year","value":2024}`, true}, {`{"type":"eq","key":"year","value":2024.0}`, true}, {`{"type":"eq","key":"year","value":"2024"}`, false},
		{`{"type":"eq","key":"open","value":true}`, true}, {`{"type":"eq","key":"open","value":"true"}`, false},
		{`{"type":"eq","key":"tags","value":"a"}`, true}, {`{"type":"eq","key":"tags","value":"b"}`, false}, {`{"type":"eq","key":"empty","value":"a"}`, false}, {`{"type":"eq","key":"none","value":"a"}`, false},
		{`{"type":"ne","key":"team","value":"it"}`, true}, {`{"type":"ne","key":"team","value":"hr"}`, false}, {`{"type":"ne","key":"nokey","value":"hr"}`, true}, {`{"type":"ne","key":"tags","value":"a"}`, false}, {`{"type":"ne","key":"none","value":"a"}`, true},
		{`{"type":"gt","key":"year","value":2023}`, true}, {`{"type":"gt","key":"year","value":2024}`, false}, {`{"type":"gt","key":"year","value":"2023"}`, false}, {`{"type":"gt","key":"nokey","value":1}`, false},
		{`{"type":"gte","key":"year","value":2024}`, true}, {`{"type":"gte","key":"year","value":2025}`, false},
		{`{"type":"lt","key":"ratio","value":2.6}`, true}, {`{"type":"lt","key":"ratio","value":2.5}`, false}, {`{"type":"lte","key":"ratio","value":2.5}`, true}, {`{"type":"lte","key":"ratio","value":2.4}`, false},
		{`{"type":"gt","key":"team","value":"ha"}`, true}, {`{"type":"lt","key":"team","value":"ha"}`, false}, {`{"type":"gt","key":"open","value":0}`, false},
		{`{"type":"gt","key":"numbers","value":4}`, true}, {`{"type":"gt","key":"numbers","value":5}`, false},
		{`{"type":"in","key":"team","value":["it","hr"]}`, true}, {`{"type":"in","key":"team","value":[]}`, false}, {`{"type":"in","key":"tags","value":["x","a"]}`, true}, {`{"type":"in","key":"nokey","value":["x"]}`, false},
		{`{"type":"nin","key":"team","value":["it"]}`, true}, {`{"type":"nin","key":"team","value":["hr"]}`, false}, {`{"type":"nin","key":"nokey","value":["x"]}`, true}, {`{"type":"nin","key":"team","value":[]}`, true}, {`{"type":"nin","key":"tags","value":["a"]}`, false},
		{`{"type":"contains","key":"name","value":"ller"}`, true}, {`{"type":"contains","key":"name","value":"muller"}`, false}, {`{"type":"contains","key":"tags","value":"a"}`, true}, {`{"type":"contains","key":"tags","value":"b"}`, true}, {`{"type":"contains","key":"numbers","value":5}`, true}, {`{"type":"contains","key":"year","value":"20"}`, false},
		{`{"type":"starts_with","key":"name","value":"Mü"}`, true}, {`{"type":"starts_with","key":"name","value":"ller"}`, false}, {`{"type":"starts_with","key":"year","value":"20"}`, false}, {`{"type":"starts_with","key":"tags","value":"b"}`, true},
		{`{"type":"ends_with","key":"name","value":"GmbH"}`, true}, {`{"type":"ends_with","key":"name","value":"Mü"}`, false},
		{`{"type":"exists","key":"team"}`, true}, {`{"type":"exists","key":"nokey"}`, false}, {`{"type":"exists","key":"team","value":false}`, false}, {`{"type":"exists","key":"nokey","value":false}`, true}, {`{"type":"exists","key":"team","value":true}`, true},
		{`{"type":"and","filters":[{"type":"eq","key":"team","value":"hr"},{"type":"gt","key":"year","value":2000}]}`, true},
		{`{"type":"and","filters":[{"type":"eq","key":"team","value":"hr"},{"type":"gt","key":"year","value":3000}]}`, false},
		{`{"type":"or","filters":[{"type":"eq","key":"team","value":"it"},{"type":"gt","key":"year","value":2000}]}`, true},
		{`{"type":"or","filters":[{"type":"eq","key":"team","value":"it"},{"type":"gt","key":"year","value":3000}]}`, false},
		{`{"type":"not","filters":[{"type":"eq","key":"team","value":"it"}]}`, true}, {`{"type":"not","filters":[{"type":"exists","key":"team"}]}`, false},
	} {
		f := filterOf(t, c.filter)
		if err := f.Validate(); err != nil {
			t.Errorf("%s: %v", c.filter, err)
			continue
		}
		got := f.Match(func(key string) (exhibit.Value, bool) { v, ok := doc[key]; return v, ok })
		if got != c.want {
			t.Errorf("%s matches: %v", c.filter, got)
		}
	}
	var none *exhibit.Filter
	if none.Validate() != nil || !none.Match(nil) {
		t.Error("no filter must match everything")
	}
}

func TestFilterValidateRefuses(t *testing.T) {
	deep := strings.Repeat(`{"type":"not","filters":[`, 8) + `{"type":"exists","key":"a"}` + strings.Repeat(`]}`, 8)
	leaf := `{"type":"exists","key":"a"}`
	wide := `{"type":"or","filters":[` + strings.Repeat(leaf+",", 63) + leaf + `]}`
	for _, s := range []string{
		`{}`, `{"type":"equals","key":"a","value":1}`, `{"type":"eq","value":1}`, `{"type":"eq","key":"a"}`, `{"type":"eq","key":"a","value":null}`,
		`{"type":"gt","key":"a","value":true}`, `{"type":"lte","key":"a","value":[1]}`, `{"type":"in","key":"a","value":"x"}`, `{"type":"nin","key":"a","value":1}`,
		`{"type":"starts_with","key":"a","value":1}`, `{"type":"ends_with","key":"a","value":["x"]}`, `{"type":"exists","key":"a","value":"yes"}`,
		`{"type":"and"}`, `{"type":"or","filters":[]}`, `{"type":"not","filters":[` + leaf + `,` + leaf + `]}`, `{"type":"and","key":"a","filters":[` + leaf + `]}`,
		`{"type":"eq","key":"a","value":1,"filters":[` + leaf + `]}`, deep, wide,
	} {
		if err := filterOf(t, s).Validate(); !errors.Is(err, exhibit.ErrInvalid) || exhibit.HintOf(err) == "" {
			t.Errorf("%.80s: error %v", s, err)
		}
		_, err := over(dense(), nil).Lookup(t.Context(), exhibit.LookupRequest{Query: "q", Filter: filterOf(t, s)})
		if !errors.Is(err, exhibit.ErrInvalid) {
			t.Errorf("%.80s: a lookup with it answers %v", s, err)
		}
		_, err = over(dense(), nil).Lookup(t.Context(), exhibit.LookupRequest{Query: "q", Access: filterOf(t, s)})
		if !errors.Is(err, exhibit.ErrInvalid) {
			t.Errorf("%.80s: a lookup with it as access rule answers %v", s, err)
		}
	}
	atLimit := strings.Repeat(`{"type":"not","filters":[`, 7) + leaf + strings.Repeat(`]}`, 7)
	if err := filterOf(t, atLimit).Validate(); err != nil {
		t.Errorf("8 levels: %v", err)
	}
	full := `{"type":"or","filters":[` + strings.Repeat(leaf+",", 62) + leaf + `]}`
	if err := filterOf(t, full).Validate(); err != nil {
		t.Errorf("64 nodes: %v", err)
	}
}

func TestAll(t *testing.T) {
	a, b := exhibit.Eq("a", exhibit.Int(1)), exhibit.Eq("b", exhibit.Int(2))
	if f := exhibit.All(); f != nil {
		t.Errorf("no parts give %v", f)
	}
	if f := exhibit.All(nil, &a, nil); f.Type != "eq" || f.Key != "a" {
		t.Errorf("one part gives %+v", f)
	}
	both := exhibit.All(&a, nil, &b)
	for _, c := range []struct {
		doc  exhibit.Metadata
		want bool
	}{{exhibit.Metadata{"a": exhibit.Int(1)}, false}, {exhibit.Metadata{"a": exhibit.Int(1), "b": exhibit.Int(2)}, true}} {
		if both.Match(func(k string) (exhibit.Value, bool) { v, ok := c.doc[k]; return v, ok }) != c.want {
			t.Errorf("%v", c.doc)
		}
	}
}

// The pipeline hands filter and access rule to every leg, and to the scorer that completes a leg.
func TestCase_49_filter_reaches_every_leg(t *testing.T) {
	words, vectors := lexical(chunk("a", 0, 1)), dense(chunk("b", 0, 1))
	f, access := exhibit.Eq("team", exhibit.String("it")), exhibit.Eq("group", exhibit.String("staff"))
	res, err := over(hybrid(words, vectors), nil).Lookup(t.Context(), exhibit.LookupRequest{Query: "q", Collection: "c", Filter: &f, Access: &access})
	if err != nil || len(res.Ledger.Legs) != 2 {
		t.Fatal(res, err)
	}
	for _, p := range []interface {
		LegName() string
		Asked() []exhibit.SearchRequest
	}{words, vectors} {
		asked := p.Asked()
		if len(asked) != 1 || asked[0].Filter != &f || asked[0].Access != &access || asked[0].Collection != "c" || asked[0].K != 20 || asked[0].Query != "q" {
			t.Errorf("%s was asked %+v", p.LegName(), asked)
		}
	}
}

func TestMetadataJSON(t *testing.T) {
	const in = `{"a":"<&>","b":1.50,"c":true,"d":null,"e":["x",1,[2]],"f":12345678901234567890,"g":"{\"k\":1}"}`
	var m exhibit.Metadata
	if err := json.Unmarshal([]byte(in), &m); err != nil {
		t.Fatal(err)
	}
	out, err := m.MarshalJSON()
	if err != nil || string(out) != in {
		t.Errorf("%s\nbecame %s, %v", in, out, err)
	}
	var object exhibit.Value
	if err := json.Unmarshal([]byte(`{ "k" : [ 1 ] }`), &object); err != nil || object.Text() != `{"k":[1]}` {
		t.Errorf("an object is kept as %q, %v", object.Text(), err)
	}
	for _, v := range []exhibit.Value{exhibit.Number(0), exhibit.Number(1e300), exhibit.Int(-3)} {
		data, _ := v.MarshalJSON()
		var back exhibit.Value
		if err := json.Unmarshal(data, &back); err != nil || !back.Equal(v) {
			t.Errorf("%s reads back as %v, %v", data, back, err)
		}
	}
}
