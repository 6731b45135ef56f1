package text

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
)

// remark is a sentence that the engine stored, as a reader is told it.
type remark struct {
	Stored string // its format in the database, if that is not the English one
	One    M      // for the number 1, if that makes a difference
	Said   M
}

// deepest is how many sentences may stand one in another: others' text is long at times, and is said in every frame.
const deepest = 6

// Remark says a sentence that the engine stored in the language of the reader, its numbers as that language writes
// them. What the engine did not write (an error of the database, say) comes back untouched. Neither is clean.
func (p *Printer) Remark(s string) string { return p.within(s, deepest) }

func (p *Printer) within(s string, depth int) string {
	if depth == 0 {
		return s
	}
	if said, ok := p.remark(s, depth); ok {
		return said
	}
	var list []string // such as what a sweep did
	for part := range strings.SplitSeq(s, ", ") {
		said, ok := p.remark(part, depth)
		if !ok {
			return p.reported(s, depth)
		}
		list = append(list, said)
	}
	return strings.Join(list, ", ")
}

// reported says a sentence after what it is about, as an error tells it: "ev-1:notificar-vendedor: not uncertain", or
// after the kind of error that it is.
func (p *Printer) reported(s string, depth int) string {
	if about, told, ok := strings.Cut(s, ": "); ok {
		if said, ok := p.remark(about, depth-1); ok {
			about = said
		}
		return about + ": " + p.within(told, depth-1)
	}
	return s
}

func (p *Printer) remark(s string, depth int) (string, bool) {
	for i := range known {
		if said, ok := known[i].say(p, s, depth); ok {
			return said, true
		}
	}
	return "", false
}

// form recognises one format of a remark.
type form struct {
	begins, ends string // what no sentence of this form lacks, to be quick with others
	pattern      *regexp.Regexp
	verbs        []string
	one, many    M // with a %s for every verb
}

var aVerb = regexp.MustCompile(`%[a-z]`)

// known are the forms of all remarks. A sentence of two is told the same by either.
var known = func() (all []form) {
	for _, r := range remarks {
		one := cmp.Or(r.One, r.Said)
		all = append(all, formOf(cmp.Or(r.Stored, r.Said[0]), one, r.Said))
		if r.Stored == "" && one[0] != r.Said[0] {
			all = append(all, formOf(one[0], one, r.Said))
		}
	}
	return all
}()

func formOf(stored string, one, many M) form {
	literals := aVerb.Split(stored, -1)
	f := form{
		begins: literals[0], ends: literals[len(literals)-1],
		verbs: aVerb.FindAllString(stored, -1), one: texts(one), many: texts(many),
	}
	pattern := `(?s)^` + regexp.QuoteMeta(literals[0])
	for i, verb := range f.verbs {
		switch verb {
		case "%d":
			pattern += `(-?[0-9]+)`
		case "%g":
			pattern += `(-?[0-9.e+-]+)`
		case "%q":
			pattern += `"(.*?)"`
		default:
			pattern += `(.*?)`
		}
		pattern += regexp.QuoteMeta(literals[i+1])
	}
	f.pattern = regexp.MustCompile(pattern + `$`)
	return f
}

// texts is a message that takes text in every place.
func texts(m M) M {
	for i := range m {
		m[i] = aVerb.ReplaceAllStringFunc(m[i], func(verb string) string {
			if verb == "%q" {
				return `"%s"`
			}
			return "%s"
		})
	}
	return m
}

func (f *form) say(p *Printer, s string, depth int) (string, bool) {
	if !strings.HasPrefix(s, f.begins) || !strings.HasSuffix(s, f.ends) {
		return "", false
	}
	found := f.pattern.FindStringSubmatch(s)
	if found == nil {
		return "", false
	}
	m, counted := f.many, false
	args := make([]any, len(f.verbs))
	for i, verb := range f.verbs {
		arg := found[i+1]
		switch verb {
		case "%d", "%g":
			if !counted && arg == "1" {
				m = f.one
			}
			counted = true
			args[i] = p.number(arg)
		case "%q":
			args[i] = arg
		default:
			args[i] = p.within(arg, depth-1)
			if word, ok := states[arg]; ok && verb == "%v" { // an id, which is a %s, may look like one
				args[i] = p.S(word)
			}
		}
	}
	return fmt.Sprintf(m[p.Language], args...), true
}

// number writes a number that is written as Go does.
func (p *Printer) number(s string) string {
	whole, fraction, broken := strings.Cut(s, ".")
	if !broken {
		return p.Digits(whole)
	}
	_, point := p.separators()
	return p.Digits(whole) + point + fraction
}
