package commission

// Why an event has no commission. It begins with the words of the live consumer.
const (
	remarkInvalid    = "payload de %s invalido: %w"
	remarkNotJSON    = "nao e JSON"
	remarkNoObject   = "nao e um objeto"
	remarkMissing    = "%s ausente"
	remarkNotANumber = "%s = %s nao e um numero"
	remarkNotWhole   = "valorCentavos = %s nao e inteiro"
	remarkTooLarge   = "percentual = %s e grande demais"
	remarkOutOfRange = "a comissao de valorCentavos = %s e percentual = %s nao cabe em 64 bits"
)
