package bert

import "fmt"

// Windows splits a text of token ids that is too long into the fewest parts of at most limit tokens, as even in length as
// can be. The first head tokens (the begin mark and the words before the text proper) and the last tail tokens (the end
// mark) are in every part; the tokens between are in exactly one. A text within the limit is returned as it is.
// It fails where head and tail leave no room within the limit.
func Windows(ids []int32, head, tail, limit int) ([][]int32, error) {
	if len(ids) <= limit {
		return [][]int32{ids}, nil
	}
	room := limit - head - tail
	if head < 0 || tail < 0 || room < 1 {
		return nil, fmt.Errorf("bert: windows of %d tokens leave no room between %d tokens at the begin and %d at the end", limit, head, tail)
	}
	begin, middle, end := ids[:head], ids[head:len(ids)-tail], ids[len(ids)-tail:]
	n := (len(middle) + room - 1) / room
	out := make([][]int32, n)
	for i := range out {
		out[i] = append(out[i], begin...)
		out[i] = append(out[i], middle[len(middle)*i/n:len(middle)*(i+1)/n]...)
		out[i] = append(out[i], end...)
	}
	return out, nil
}

// Mean returns the mean of vectors, each weighted by the tokens of its window, at length 1. It fails for no vectors, for
// lists that do not match, and for a mean without a direction.
func Mean(vectors [][]float32, tokens []int) ([]float32, error) {
	if len(vectors) == 0 || len(vectors) != len(tokens) {
		return nil, fmt.Errorf("bert: mean of %d vectors with %d weights", len(vectors), len(tokens))
	}
	sum := make([]float64, len(vectors[0]))
	for i, v := range vectors {
		if len(v) != len(sum) {
			return nil, fmt.Errorf("bert: mean of vectors of %d and %d values", len(sum), len(v))
		}
		for j, x := range v {
			sum[j] += float64(tokens[i]) * float64(x)
		}
	}
	return unit(sum)
}
