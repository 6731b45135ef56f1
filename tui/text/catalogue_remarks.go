package text

// What the engine says about its work; the formats are those of the files remark.go below batch, and the errors of
// package ledger that become part of an effect's history.
var remarks = []remark{
	// Why a replay waits.
	{
		One:  M{"%d position is missing; waiting for open transactions that may fill it", "falta %d posição; à espera de transações abertas que podem preenchê-la"},
		Said: M{"%d positions are missing; waiting for open transactions that may fill them", "faltam %d posições; à espera de transações abertas que podem preenchê-las"},
	},
	{
		One:  M{"%d effect is in flight elsewhere; it is settled at the latest when it reaches the sweep age", "%d efeito está em curso em outro lugar; resolve-se o mais tardar quando atingir a idade da varredura"},
		Said: M{"%d effects are in flight elsewhere; they are settled at the latest when they reach the sweep age", "%d efeitos estão em curso em outro lugar; resolvem-se o mais tardar quando atingirem a idade da varredura"},
	},
	{Said: M{"provider %s: %s", "provedor %s: %s"}},
	{
		One:  M{"it failed %d time in a row", "falhou %d vez seguida"},
		Said: M{"it failed %d times in a row", "falhou %d vezes seguidas"},
	},
	{Said: M{"it failed, and is being tried again", "falhou, e está sendo tentado de novo"}},
	{Said: M{"outside sending hours (%s, %s)", "fora do horário de envio (%s, %s)"}},
	{
		One:  M{"the rate of %g call a second is used up", "o ritmo de %g chamada por segundo está esgotado"},
		Said: M{"the rate of %g calls a second is used up", "o ritmo de %g chamadas por segundo está esgotado"},
	},
	{Said: M{"positions are being worked by %s", "as posições estão sendo feitas por %s"}},
	{Said: M{"tried again after an error: %s", "nova tentativa depois de um erro: %s"}},
	{Said: M{"effects of kind %s go to provider %q, which this host does not know: add [providers.%s] to its configuration", "efeitos do tipo %s vão para o provedor %q, que esta máquina não conhece: acrescente [providers.%s] à configuração dela"}},

	// What a run lacks.
	{
		One:  M{"%d event could not be processed (replay show lists it)", "%d evento não pôde ser processado (replay show o lista)"},
		Said: M{"%d events could not be processed (replay show lists them)", "%d eventos não puderam ser processados (replay show os lista)"},
	},
	{
		One:  M{"%d effect is uncertain and waits for review", "%d efeito está incerto e espera por revisão"},
		Said: M{"%d effects are uncertain and wait for review", "%d efeitos estão incertos e esperam por revisão"},
	},
	{One: M{"%d effect is pending", "%d efeito está pendente"}, Said: M{"%d effects are pending", "%d efeitos estão pendentes"}},
	{
		One:  M{"%d position is missing and a transaction that may still fill it has been open for more than %s", "falta %d posição, e uma transação que ainda pode preenchê-la está aberta há mais de %s"},
		Said: M{"%d positions are missing and a transaction that may still fill them has been open for more than %s", "faltam %d posições, e uma transação que ainda pode preenchê-las está aberta há mais de %s"},
	},
	{One: M{"limit of %d effect reached", "limite de %d efeito atingido"}, Said: M{"limit of %d effects reached", "limite de %d efeitos atingido"}},
	{Said: M{"no policy for effects of kind %s: they were suppressed", "sem política para efeitos do tipo %s: foram suprimidos"}},
	{Said: M{"not every partition was worked to its end", "nem toda partição foi feita até o fim"}},

	// Why an event could not be processed.
	{Said: M{"ocorrido_em is infinite", "ocorrido_em é infinito"}},
	{Said: M{"handler %s panicked: %v", "o manipulador %s entrou em pânico: %v"}},
	{Stored: "payload de %s invalido: %w", Said: M{"payload of %s is invalid: %s", "payload de %s inválido: %s"}},
	{Stored: "nao e JSON", Said: M{"it is not JSON", "não é JSON"}},
	{Stored: "nao e um objeto", Said: M{"it is not an object", "não é um objeto"}},
	{Stored: "%s ausente", Said: M{"%s is missing", "%s ausente"}},
	{Stored: "%s = %s nao e um numero", Said: M{"%s = %s is not a number", "%s = %s não é um número"}},
	{Stored: "valorCentavos = %s nao e inteiro", Said: M{"valorCentavos = %s is not a whole number", "valorCentavos = %s não é inteiro"}},
	{Stored: "percentual = %s e grande demais", Said: M{"percentual = %s is too large", "percentual = %s é grande demais"}},
	{Stored: "a comissao de valorCentavos = %s e percentual = %s nao cabe em 64 bits", Said: M{"the commission of valorCentavos = %s and percentual = %s does not fit in 64 bits", "a comissão de valorCentavos = %s e percentual = %s não cabe em 64 bits"}},

	// What a request would meet.
	{Said: M{"no archived event is in this scope: check the window and its time zone", "nenhum evento arquivado está neste escopo: confira a janela e o fuso horário"}},
	{Said: M{"effects of kind %s have no policy in the configuration: they will be suppressed", "efeitos do tipo %s não têm política na configuração: serão suprimidos"}},
	{Said: M{"%s suppressed effects of kind %s on some of these positions; this run would send them", "%s suprimiu efeitos do tipo %s em algumas destas posições; este replay os enviaria"}},

	// What moved since a simulation.
	{Said: M{"it was approved before, as %s (%v)", "já foi aprovada antes, como %s (%v)"}},
	{
		One:  M{"the state of %d order changed since the simulation", "o estado de %d pedido mudou desde a simulação"},
		Said: M{"the state of %d orders changed since the simulation", "o estado de %d pedidos mudou desde a simulação"},
	},
	{
		One:  M{"the scope holds %d event, the simulation saw %d", "o escopo tem %d evento, a simulação viu %d"},
		Said: M{"the scope holds %d events, the simulation saw %d", "o escopo tem %d eventos, a simulação viu %d"},
	},
	{Said: M{"the configured policy for effects of kind %s changed; the apply keeps the simulation's", "a política configurada para efeitos do tipo %s mudou; a aplicação mantém a da simulação"}},
	{Said: M{"the simulation ran with program version %s, this is %s", "a simulação rodou com a versão %s do programa, esta é a %s"}},

	// How a slot of a schedule went.
	{Said: M{"not run in time: nobody was there, or the one before was at work", "não rodou a tempo: não havia ninguém, ou o anterior ainda trabalhava"}},
	{Said: M{"%s (%s late)", "%s (%s de atraso)"}},
	{Said: M{"queued %s", "pôs na fila %s"}},
	{Said: M{"already queued as %s", "já estava na fila como %s"}},
	{One: M{"%d moved to review", "%d levado à revisão"}, Said: M{"%d moved to review", "%d levados à revisão"}},
	{One: M{"%d brought to an end", "%d concluído"}, Said: M{"%d brought to an end", "%d concluídos"}},
	{One: M{"%d left over", "%d ficou por fazer"}, Said: M{"%d left over", "%d ficaram por fazer"}},
	{One: M{"%d looked up", "%d consultado"}, Said: M{"%d looked up", "%d consultados"}},
	{Said: M{"%d of unknown kind", "%d de tipo desconhecido"}},
	{Said: M{"%d without event", "%d sem evento"}},
	{Said: M{"nothing to settle", "nada a resolver"}},

	// What happened to an effect.
	{Said: M{"not sent: %v", "não enviado: %v"}},
	{Said: M{"the provider answered %d", "o provedor respondeu %d"}},
	{Said: M{"the call was given up before it was written", "a chamada foi abandonada antes de ser escrita"}},
	{Said: M{"reservation too old for a call", "a reserva é velha demais para uma chamada"}},
	{Said: M{"changed since it was shown: it is %v now", "mudou desde que foi mostrado: agora está %v"}},
	{Said: M{"changed since it was shown: %s decided %q at %s", "mudou desde que foi mostrado: %s decidiu %q em %s"}},
	{Said: M{"a call could still be alive for %s", "uma chamada ainda pode estar viva por %s"}},
	{Said: M{"not uncertain: it is %v", "não está incerto: está %v"}},
	{Said: M{"not uncertain", "não está incerto"}},
	{Said: M{"a decision needs a note", "uma decisão precisa de uma nota"}},

	// What is refused, and why.
	{Said: M{"pause %s: %w", "pausar %s: %w"}},
	{Said: M{"resume %s: %w", "retomar %s: %w"}},
	{Said: M{"cancel %s: %w", "cancelar %s: %w"}},
	{Said: M{"revert %s: %w", "reverter %s: %w"}},
	{Said: M{"approve %s: %w", "aprovar %s: %w"}},
	{Said: M{"queue %s: %w", "pôr %s na fila: %w"}},
	{Said: M{"run %s now: %w", "rodar %s agora: %w"}},
	{Said: M{"a simulation changed nothing: %w", "uma simulação não mudou nada: %w"}},
	{Said: M{"it is a replay in mode %v, %v; only a finished simulation can be approved: %w", "é um replay no modo %v, %v; só se aprova uma simulação terminada: %w"}},
	{Said: M{"%s requested it; with four-eyes on another database role has to approve: %w", "%s a pediu; com quatro olhos ligado, outro papel do banco precisa aprovar: %w"}},
	{Said: M{"%w with another scope, mode or limit; it is %v. Choose another id", "%w com outro escopo, modo ou limite; está %v. Escolha outro id"}},
	{Said: M{"it is worked by %s since %s: %w", "está sendo feito por %s desde %s: %w"}},
	{Said: M{"it is %v: %w", "está %v: %w"}}, // after the longer ones that begin so
	{Said: M{"id %q: 1 to 100 of letters, digits, '.', '_', ':' and '-', starting with a letter or digit", "id %q: 1 a 100 letras, algarismos, '.', '_', ':' e '-', começando por letra ou algarismo"}},
	{Said: M{"id %q names the live consumer; choose another", "o id %q nomeia o consumidor ao vivo; escolha outro"}},
	{Said: M{"%d handlers take event types %v; name one", "%d manipuladores aceitam os tipos de evento %v; escolha um"}},
	{Said: M{"no such replay", "não existe esse replay"}},
	{Said: M{"a replay of that id exists", "já existe um replay com esse id"}},
	{Said: M{"held by another", "em mãos de outro"}},
	{Said: M{"not allowed in this state", "não é permitido neste estado"}},
	{Said: M{"not allowed", "não é permitido"}},
	{Said: M{"invalid request", "pedido inválido"}},
}

// states are how the engine's sentences name what a replay or an effect is, and what a replay does.
var states = map[string]M{
	"enfileirado": StateQueued,
	"executando":  StateRunning,
	"pausado":     StatePaused,
	"concluido":   StateDone,
	"parcial":     StatePartial,
	"falhou":      StateFailed,
	"cancelado":   StateCancelled,
	"simular":     ModeSimulate,
	"aplicar":     ModeApply,
	"reservado":   {"reserved", "reservado"},
	"incerto":     {"uncertain", "incerto"},
}
