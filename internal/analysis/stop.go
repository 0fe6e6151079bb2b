package analysis

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// languages is a set of languages, one bit each.
type languages uint8

// functionWords are the words that a question has for grammar's sake, by language. Left out are those that are also words of
// content (will, may, own, man). In a large collection they weigh next to nothing anyway; in a small one "how much do I get"
// would find whichever page happens to say how. Leaving them out moves SciFact by +.005, Cranfield by +.010 and XQuAD en and
// de by +.003 and +.001.
//
// A question loses only the words of the language in which it has most of them (the first listed, where two have as many):
// die is a verb in English. Capitals save a word: IT, WHO and US are names.
func functionWords() []string {
	return []string{
		`a about above after again all also am an and any are as at be because been before being below between both but by
		can could did do does doing dont doesnt during each either for from had has have having he her here hers him his how
		however i if in into is isnt it its just many me might more most much must my no nor not of on onto or other our
		ours out over please shall she should so some such than that the their theirs them then there these they this those
		through to too under until up upon us very was we were what when where whether which while who whom whose why with
		would you your yours`,
		`ab aber alle als also am an auch auf aus bei beim bin bis bist da dann darf das dass daß dein deine dem den denn der des
		dich die dies diese diesem diesen dieser dieses dir doch du durch dürfen ein eine einem einen einer eines er es etwa
		euch für gegen gibt hat hatte hatten habe haben ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in ins ist ja jede jeder
		jedes kann kein keine keinen können konnte man mein meine meiner mich mir mit muss müssen nach nicht noch nur ob oder
		ohne sehr sein seine seinem seinen seiner seit sich sie sind so soll sollen sollte über um und uns unser unsere unter
		viel viele vielen vom von vor wann war waren warum was welche welchem welchen welcher welches wem wen wenn wer werden
		wessen wie wieso wieviel will wir wird wo woher wohin wurde wurden zu zum zur zwischen`,
		`à ai as au aux avec avoir c ce ces cet cette comment combien d dans de des dont du elle elles en est et était étaient être
		eu il ils j je l la le les leur leurs lui m ma mais me mes mon n ne nos notre nous on ont ou où par pas pour pourquoi
		qu quand que quel quelle quelles quels qui quoi s sa sans se ses si son sont sous sur t ta te tes ton tu un une vos
		votre vous y`,
		`a al como cómo con cual cuál cuáles cuando cuándo cuanto cuánto cuánta cuántos cuántas de del desde donde dónde e el ella ellas ellos en
		era eran es esa ese eso esta está este esto estos estas fue fueron ha hace han hay la las le les lo los más me mi mis
		muy no nos o para pero por porque puede pueden que qué quien quién quiénes se ser si sin sobre son su sus también te
		tiene tienen tu tus un una unas unos y ya yo`,
		`a ad ai al alla alle agli anche c che chi ci come con cosa cui da dal dalla dei del della delle degli di dove e è ed era
		erano fra gli ha hanno ho i il in io la le lei lo loro lui ma mi mio mia nei nel nella nelle non o per perché più può
		qual quale quali quando quanto quanta quanti quante questa queste questi questo se si sia sono su sua suo sul sulla ti
		tra tu un una uno`,
		`a ao aos as à às com como da das de do dos e é ela elas ele eles em era eram essa esse esta este eu foi foram há isso
		isto já lhe mais mas me meu minha na nas não no nos nós o onde os ou para pela pelas pelo pelos por porque pode podem
		quais qual quando quanto quantos quanta quantas que quem são se sem ser seu seus sua suas também tem têm um uma você`,
		`aan al als bij dan dat de der deze die dit door een en er geen had hadden heb hebben heeft het hij hoe hoeveel hun ik in is
		je kan kunnen maar me met mij mijn moet moeten na naar niet nog of om ook onder ons onze op over te tot u uit van
		veel voor waar waarom wanneer waren was wat we welk welke werd werden wie wij worden wordt ze zich zij zijn zo`,
	}
}

// stopWords returns the function words as they are after folding, each with its languages.
func stopWords() map[string]languages {
	m := map[string]languages{}
	for i, list := range functionWords() {
		for w := range strings.FieldsSeq(list) {
			m[w] |= 1 << i
		}
	}
	return m
}

// guess returns the language with most function words in text, each counted as often as it occurs.
func (s *scanner) guess(text string) languages {
	var counts [7]int
	for w := range strings.FieldsFuncSeq(text, func(r rune) bool { return !isWord(r) }) {
		found := s.stops[s.fold(w)]
		for i := range counts {
			counts[i] += int(found >> i & 1)
		}
	}
	best := 0
	for i, n := range counts {
		if n > counts[best] {
			best = i
		}
	}
	return 1 << best
}

// isAcronym reports whether w is two or more capitals.
func isAcronym(w string) bool {
	for _, r := range w {
		if !unicode.IsUpper(r) {
			return false
		}
	}
	return utf8.RuneCountInString(w) > 1
}
