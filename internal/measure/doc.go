// Package measure holds what every measurement of this repository needs: the document that figures are written to, the
// facts about the machine that stand beside them, order statistics, and processes that are timed from outside.
package measure
