package importer

// The columns of the archive, which the native formats name.
const (
	colPosition = iota
	colID
	colType
	colOrder
	colVersion
	colPayload
	colTime
	columns
)

var columnNames = [columns]string{"posicao", "id", "tipo", "pedido_id", "versao", "payload", "ocorrido_em"}

func columnOf(name []byte) (int, bool) {
	for i, n := range columnNames {
		if n == string(name) {
			return i, true
		}
	}
	return 0, false
}

// native reads the members of one event in the native format, whose keys are exactly the archive's columns.
func (d *decoder) native(r *row) *fault {
	var values [columns]*member
	for i := range d.scan.members {
		m := &d.scan.members[i]
		col, known := columnOf(m.key)
		if !known {
			if d.ignoreExtras {
				continue
			}
			return &fault{CodeUnknownKey, m.at + 1, "key " + excerpt(m.key) + " is not one of an event's (see --ignore-extras)"}
		}
		values[col] = m
	}
	for col, m := range values {
		if m == nil {
			return faultf(CodeMissing, "%s is missing", columnNames[col])
		}
		if f := d.column(r, col, m.value); f != nil {
			f.column = m.at + 1
			return f
		}
	}
	return nil
}

// column reads one value of the native NDJSON format.
func (d *decoder) column(r *row, col int, value []byte) (f *fault) {
	switch col {
	case colPosition:
		r.position, f = count(CodePosition, "posicao", value)
	case colVersion:
		r.version, f = count(CodeVersion, "versao", value)
	case colPayload:
		r.payload = value
	default:
		if value[0] != '"' {
			return faultf(CodeType, "%s is %s, not a string", columnNames[col], excerpt(value))
		}
		return d.text(r, col, plainText(value))
	}
	return f
}

// text reads a value that is text in every format.
func (d *decoder) text(r *row, col int, text []byte) (f *fault) {
	if len(text) == 0 {
		return faultf(CodeMissing, "%s is empty", columnNames[col])
	}
	switch col {
	case colID:
		r.id = text
	case colType:
		r.kind = text
	case colOrder:
		r.order = text
	case colTime:
		r.at, f = parseInstant(text, d.zone)
	}
	return f
}

// plainText is the text of a JSON string that was checked before.
func plainText(raw []byte) []byte {
	inner := raw[1 : len(raw)-1]
	for _, c := range inner {
		if c == '\\' {
			return unquote(raw)
		}
	}
	return inner
}
