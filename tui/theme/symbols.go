package theme

// Symbols are the characters that the dashboard draws with. All are one column wide.
type Symbols struct {
	Queued, Running, Paused, Done, Partial, Failed, Cancelled string // states
	CellDone, CellActive, CellWaiting, CellError, CellPart    string // partition map
	Cursor, Mark, Bullet, Up, Down, Right, Left, Warning, Dot string
	Rule, VRule                                               string
	TopLeft, TopRight, BottomLeft, BottomRight                string
	Thumb, Track                                              string
	BarFull, BarHalf, BarEmpty                                string
	Column                                                    string   // of a histogram
	Spark                                                     []string // ascending
}

var unicodeSymbols = Symbols{
	Queued: "○", Running: "▸", Paused: "‖", Done: "✓", Partial: "◐", Failed: "✗", Cancelled: "⊘",
	CellDone: "■", CellActive: "▶", CellWaiting: "·", CellError: "✗", CellPart: "▪",
	Cursor: "▌", Mark: "●", Bullet: "•", Up: "↑", Down: "↓", Right: "→", Left: "←", Warning: "▲", Dot: "·",
	Rule: "─", VRule: "│", TopLeft: "╭", TopRight: "╮", BottomLeft: "╰", BottomRight: "╯",
	Thumb: "┃", Track: "│",
	BarFull: "━", BarHalf: "╸", BarEmpty: "─",
	Column: "▆",
	Spark:  []string{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"},
}

var asciiSymbols = Symbols{
	Queued: "o", Running: ">", Paused: "=", Done: "+", Partial: "%", Failed: "x", Cancelled: "/",
	CellDone: "#", CellActive: ">", CellWaiting: ".", CellError: "x", CellPart: ":",
	Cursor: ">", Mark: "*", Bullet: "*", Up: "^", Down: "v", Right: ">", Left: "<", Warning: "!", Dot: "-",
	Rule: "-", VRule: "|", TopLeft: "+", TopRight: "+", BottomLeft: "+", BottomRight: "+",
	Thumb: "#", Track: "|",
	BarFull: "#", BarHalf: "", BarEmpty: ".",
	Column: "#",
	Spark:  []string{"_", ".", "-", "=", "+", "*", "%", "#"},
}
