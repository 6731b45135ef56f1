// Command pictures turns the capture of a terminal (tmux capture-pane -e -p) into an SVG: one text element per run of
// cells that look alike. rsvg-convert makes a PNG of it.
package main

import (
	"bufio"
	"fmt"
	"html"
	"os"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

const (
	cellWidth, cellHeight = 9.03, 20 // of DejaVu Sans Mono at 15 pixels
	margin                = 12
	background            = "#16161e"
	foreground            = "#d5d6db"
)

type style struct {
	fg, bg                    string
	bold, dim, reverse, under bool
}

func main() {
	var lines []string
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		lines = append(lines, in.Text())
	}
	columns := 0
	for _, l := range lines {
		columns = max(columns, ansi.StringWidth(l))
	}
	width, height := float64(columns)*cellWidth+2*margin, len(lines)*cellHeight+2*margin
	fmt.Printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%d"><rect width="100%%" height="100%%" fill="%s"/>`, width, height, background)
	fmt.Print(`<g font-family="DejaVu Sans Mono" font-size="15" xml:space="preserve">`)
	var s style // tmux says what changes, also from one line to the next
	for y, l := range lines {
		s.drawLine(l, y)
	}
	fmt.Println(`</g></svg>`)
}

func (s *style) drawLine(line string, y int) {
	x := 0
	for len(line) > 0 {
		if strings.HasPrefix(line, "\x1b[") {
			end := strings.IndexFunc(line[2:], func(r rune) bool { return r >= '@' && r <= '~' })
			if end < 0 {
				return
			}
			if line[2+end] == 'm' {
				s.apply(line[2 : 2+end])
			}
			line = line[3+end:]
			continue
		}
		next := strings.IndexByte(line, '\x1b')
		if next < 0 {
			next = len(line)
		}
		x = s.draw(line[:next], x, y)
		line = line[next:]
	}
}

// draw places each cell by itself, so that a font's own idea of a width cannot shift a column.
func (s style) draw(text string, x, y int) int {
	fg, bg := s.fg, s.bg
	if fg == "" {
		fg = foreground
	}
	if s.reverse {
		if bg == "" {
			bg = background
		}
		fg, bg = bg, fg
	}
	cells := ansi.StringWidth(text)
	if bg != "" {
		fmt.Printf(`<rect x="%.2f" y="%d" width="%.2f" height="%d" fill="%s"/>`, margin+float64(x)*cellWidth, margin+y*cellHeight, float64(cells)*cellWidth+0.4, cellHeight, bg)
	}
	attributes := fmt.Sprintf(`y="%d" fill="%s"`, margin+y*cellHeight+15, fg)
	if s.bold {
		attributes += ` font-weight="bold"`
	}
	if s.dim {
		attributes += ` opacity="0.6"`
	}
	if s.under {
		attributes += ` text-decoration="underline"`
	}
	for _, r := range text {
		if r != ' ' {
			fmt.Printf(`<text x="%.2f" %s>%s</text>`, margin+float64(x)*cellWidth, attributes, html.EscapeString(string(r)))
		}
		x += ansi.StringWidth(string(r))
	}
	return x
}

// apply reads the parameters of a "select graphic rendition" sequence.
func (s *style) apply(parameters string) {
	if parameters == "" {
		*s = style{}
		return
	}
	p := strings.Split(parameters, ";")
	for i := 0; i < len(p); i++ {
		n, err := strconv.Atoi(p[i])
		if err != nil {
			continue
		}
		switch {
		case n == 0:
			*s = style{}
		case n == 1:
			s.bold = true
		case n == 2:
			s.dim = true
		case n == 4:
			s.under = true
		case n == 7:
			s.reverse = true
		case n == 22:
			s.bold, s.dim = false, false
		case n == 24:
			s.under = false
		case n == 27:
			s.reverse = false
		case n == 39:
			s.fg = ""
		case n == 49:
			s.bg = ""
		case (n == 38 || n == 48) && i+2 < len(p):
			colour, used := extended(p[i+1:])
			i += used
			if n == 38 {
				s.fg = colour
			} else {
				s.bg = colour
			}
		case n >= 30 && n <= 37, n >= 90 && n <= 97:
			s.fg = indexed(n%10 + 8*(n/90))
		case n >= 40 && n <= 47:
			s.bg = indexed(n - 40)
		}
	}
}

// extended reads 2;R;G;B or 5;N and says how many parameters that were.
func extended(p []string) (colour string, used int) {
	at := func(i int) int {
		n, err := strconv.Atoi(p[i])
		if err != nil {
			return 0
		}
		return n
	}
	if p[0] == "2" && len(p) >= 4 {
		return fmt.Sprintf("#%02x%02x%02x", at(1), at(2), at(3)), 4
	}
	return indexed(at(1)), 2
}

// indexed is a colour of the 256-colour palette.
func indexed(n int) string {
	basic := []string{"#1d1f28", "#f7768e", "#9ece6a", "#e0af68", "#7aa2f7", "#bb9af7", "#7dcfff", "#c0caf5",
		"#565f89", "#ff899d", "#b9f27c", "#ffc777", "#8db0ff", "#c7a9ff", "#a4daff", "#ffffff"}
	switch {
	case n < 16:
		return basic[n]
	case n < 232:
		n -= 16
		level := func(v int) int {
			if v == 0 {
				return 0
			}
			return 55 + 40*v
		}
		return fmt.Sprintf("#%02x%02x%02x", level(n/36), level(n/6%6), level(n%6))
	default:
		g := 8 + 10*(n-232)
		return fmt.Sprintf("#%02x%02x%02x", g, g, g)
	}
}
