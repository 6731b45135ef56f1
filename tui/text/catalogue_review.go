package text

// Diff and review.
var (
	DiffAll         = M{"All orders of %s", "Todos os pedidos de %s"}
	DiffChanged     = M{"Changed orders of %s", "Pedidos alterados de %s"}
	DiffNewOnly     = M{"New orders of %s", "Pedidos novos de %s"}
	DiffEmpty       = M{"No order differs.", "Nenhum pedido difere."}
	DiffNew         = M{"new", "novo"}
	DiffChangedWord = M{"changed", "alterados"}
	DiffNewWord     = M{"new", "novos"}
	DiffSameWord    = M{"unchanged", "iguais"}
	DiffNewTotal    = M{"new, total", "novos, total"}
	DiffDeltas      = M{"Deltas, R$", "Diferenças, R$"}
	DiffOrders      = M{"orders", "pedidos"}

	HistoryTitle = M{"Order %s", "Pedido %s"}
	HistoryEmpty = M{"The archive holds no event of this order.", "O arquivo não tem evento deste pedido."}
	ToldTitle    = M{"Told otherwise", "Avisados com outro valor"}
	ToldWhat     = M{"What went out under these keys is not what would go out now. Nothing is sent again under them; a correction needs a kind of effect of its own.", "O que saiu sob estas chaves não é o que sairia agora. Nada é reenviado sob elas; uma correção precisa de um tipo de efeito próprio."}
	ToldSent     = M{"Went out", "Saiu"}
	ToldWould    = M{"Would go out", "Sairia"}
	ToldEmpty    = M{"Nobody was told another value.", "Ninguém foi avisado com outro valor."}

	ExportTitle     = M{"Export the diff of %s", "Exportar as diferenças de %s"}
	ExportWhat      = M{"The whole diff goes to a new file that only you can read.", "Todas as diferenças vão para um arquivo novo que só você pode ler."}
	ExportFormat    = M{"format", "formato"}
	ExportFile      = M{"file", "arquivo"}
	ExportButton    = M{"Export", "Exportar"}
	ExportDone      = M{"%s written, %s.", "%s gravado, %s."}
	ExportExists    = M{"%s exists already: choose another name.", "%s já existe: escolha outro nome."}
	ExportBadFormat = M{"export csv FILE or export json FILE", "export csv ARQUIVO ou export json ARQUIVO"}

	ReviewTitle  = M{"Uncertain effects", "Efeitos incertos"}
	ReviewEmpty  = M{"Nothing waits for a decision.", "Nada espera por decisão."}
	ReviewCount  = Plural{M{"%s waits", "%s à espera"}, M{"%s wait", "%s à espera"}}
	ReviewOldest = M{"oldest %s", "mais antigo %s"}

	QuarantineLeft  = M{"%s left: a call could still be alive", "faltam %s: uma chamada ainda pode estar viva"}
	QuarantineOver  = M{"over: it can be decided", "terminou: pode ser decidido"}
	LookUpsMade     = Plural{M{"%s made", "%s feita"}, M{"%s made", "%s feitas"}}
	OccurrencesNone = M{"nothing is on record", "nada registrado"}
	DecisionForced  = M{"forced", "forçada"}
	EventMissing    = M{"The archive does not hold this event.", "O arquivo não contém este evento."}
	VersionOf       = M{"version %s", "versão %s"}

	VerdictConfirmed = M{"confirmed", "confirmado"}
	VerdictResent    = M{"sent again", "mandado reenviar"}
	VerdictDiscarded = M{"discarded", "descartado"}

	GoneUnknown = M{"no longer in the queue", "não está mais na fila"}
	GoneSettled = M{"settled without a person", "resolvido sem intervenção"}
	GoneChanged = M{"it changed since it was shown: look at it again", "mudou desde que foi mostrado: olhe de novo"}
	GoneDecided = M{"%s by %s at %s", "%s por %s às %s"}

	ConfirmTitle  = M{"It went out: confirm?", "Foi enviado: confirmar?"}
	ConfirmWhat   = M{"The effect is recorded as done. Nothing is sent, now or later.", "O efeito fica registrado como concluído. Nada é enviado, nem agora nem depois."}
	ConfirmMany   = Plural{M{"%s effect went out: confirm?", "%s efeito foi enviado: confirmar?"}, M{"%s effects went out: confirm?", "%s efeitos foram enviados: confirmar?"}}
	ConfirmAll    = M{"All of them are recorded as done. Nothing is sent, now or later.", "Todos ficam registrados como concluídos. Nada é enviado, nem agora nem depois."}
	ConfirmButton = M{"Confirm", "Confirmar"}
	ConfirmDone   = M{"%s confirmed.", "%s confirmado."}
	ResendTitle   = M{"It did not go out: send again?", "Não foi enviado: reenviar?"}
	ResendWhat    = M{"A runner sends it once more. If the first call did go out after all, the recipient gets it twice.", "Um executor envia mais uma vez. Se a primeira chamada saiu mesmo assim, o destinatário recebe duas vezes."}
	ResendMany    = Plural{M{"%s effect did not go out: send again?", "%s efeito não foi enviado: reenviar?"}, M{"%s effects did not go out: send again?", "%s efeitos não foram enviados: reenviar?"}}
	ResendAll     = M{"A runner sends each of them once more. Where the first call did go out after all, the recipient gets it twice.", "Um executor envia cada um mais uma vez. Onde a primeira chamada saiu mesmo assim, o destinatário recebe duas vezes."}
	ResendButton  = M{"Send again", "Reenviar"}
	ResendDone    = M{"%s will be sent once more.", "%s será enviado mais uma vez."}
	DiscardTitle  = M{"It must not go out any more: discard?", "Não deve mais sair: descartar?"}
	DiscardWhat   = M{"The effect is closed as discarded. Nothing is sent, now or later.", "O efeito é encerrado como descartado. Nada é enviado, nem agora nem depois."}
	DiscardMany   = Plural{M{"%s effect must not go out any more: discard?", "%s efeito não deve mais sair: descartar?"}, M{"%s effects must not go out any more: discard?", "%s efeitos não devem mais sair: descartar?"}}
	DiscardAll    = M{"All of them are closed as discarded. Nothing is sent, now or later.", "Todos são encerrados como descartados. Nada é enviado, nem agora nem depois."}
	DiscardButton = M{"Discard", "Descartar"}
	DiscardDone   = M{"%s discarded.", "%s descartado."}

	DecideNote            = M{"why", "por quê"}
	DecideNoteHint        = M{"what you saw, e.g. a ticket or the provider's log", "o que você viu, p. ex. chamado ou registro do provedor"}
	DecideNoteMissing     = M{"Say why: it is kept with the decision.", "Diga por quê: fica junto da decisão."}
	DecideForce           = M{"quarantine", "quarentena"}
	ForceNo               = M{"wait for its end", "esperar o fim"}
	ForceYes              = M{"decide now, at the risk named", "decidir agora, com o risco dito"}
	DecideQuarantine      = M{"A call may still be alive for %s. A decision now may cross it: what you decide and what that call does can both come true. Deciding anyway is recorded as forced.", "Uma chamada ainda pode estar viva por %s. Decidir agora pode cruzar com ela: o que você decidir e o que ela fizer podem acontecer ambos. Decidir assim fica registrado como forçado."}
	DecideQuarantineStill = M{"In quarantine for %s more. Wait, or choose to decide now.", "Em quarentena por mais %s. Espere, ou escolha decidir agora."}
	DecideUnknown         = M{"whether it was recorded is not known; deciding again is safe, the row's version guards it", "não se sabe se foi registrado; decidir de novo é seguro, a versão da linha protege"}

	MarkingAll     = M{"Marking all that match…", "Marcando todos os que combinam…"}
	MarkedAll      = Plural{M{"%s marked.", "%s marcado."}, M{"%s marked.", "%s marcados."}}
	MarkedCount    = Plural{M{"%s marked", "%s marcado"}, M{"%s marked", "%s marcados"}}
	MarkedFirst    = M{"The first %s are marked: that is the most for one decision.", "Os primeiros %s estão marcados: é o máximo para uma decisão."}
	BulkBusy       = M{"A decision on many is being carried out; esc stops it.", "Uma decisão em massa está em curso; esc a interrompe."}
	BulkQuarantine = Plural{M{"%s is in quarantine, for up to %s: it will be refused unless you decide now at the risk that a call crosses it.", "%s está em quarentena, por até %s: será recusado, a menos que decida agora, com o risco de uma chamada cruzar."}, M{"%s are in quarantine, for up to %s: they will be refused unless you decide now at the risk that a call crosses it.", "%s estão em quarentena, por até %s: serão recusados, a menos que decida agora, com o risco de uma chamada cruzar."}}
	BulkType       = M{"type %d", "digite %d"}
	BulkMismatch   = M{"Type %d, the number of effects.", "Digite %d, o número de efeitos."}
	BulkProgress   = M{"%s of %s, esc stops", "%s de %s, esc interrompe"}
	BulkDone       = Plural{M{"%s decided", "%s decidido"}, M{"%s decided", "%s decididos"}}
	BulkOthers     = Plural{M{"%s settled by others meanwhile", "%s resolvido por outros nesse meio-tempo"}, M{"%s settled by others meanwhile", "%s resolvidos por outros nesse meio-tempo"}}
	BulkRefused    = Plural{M{"%s refused", "%s recusado"}, M{"%s refused", "%s recusados"}}
	BulkLeft       = Plural{M{"%s left marked", "%s continua marcado"}, M{"%s left marked", "%s continuam marcados"}}

	FormBusy   = M{"working…", "trabalhando…"}
	FormCancel = M{"Back", "Voltar"} // not "cancel": that is what one dialog does to a replay
	FormMore   = M{"… %s shows more", "… %s mostra mais"}
)

// Reasons explains the machine-readable reasons of uncertain effects, and what look-ups led to.
var Reasons = map[string]M{
	"sem-resposta":            {"the call left and no answer came", "a chamada saiu e nenhuma resposta veio"},
	"interrompida":            {"we stopped waiting for the answer", "deixamos de esperar pela resposta"},
	"resposta-invalida":       {"the provider answered something that is not HTTP", "o provedor respondeu algo que não é HTTP"},
	"resposta-incompleta":     {"the answer broke off", "a resposta veio pela metade"},
	"chave-invalida":          {"no header can carry this key: nothing was sent, and never will be", "nenhum cabeçalho comporta esta chave: nada foi nem será enviado"},
	"conexao-caiu":            {"the connection broke before an answer came", "a conexão caiu antes de vir uma resposta"},
	"sem-recibo":              {"the provider answered well but without the receipt", "o provedor respondeu bem, mas sem o recibo"},
	"abandonada":              {"the process that was sending it died", "o processo que enviava morreu"},
	"panico":                  {"the code that was sending it failed", "o código que enviava falhou"},
	"erro-desconhecido":       {"the failure says nothing about the request", "a falha nada diz sobre a chamada"},
	"janela-encerrada":        {"the provider may no longer deduplicate this key", "o provedor pode não deduplicar mais esta chave"},
	"tentativas-esgotadas":    {"all attempts that the policy allows were made", "todas as tentativas que a política permite foram feitas"},
	"conteudo-difere":         {"something else would be sent than may have gone out", "seria enviado algo diferente do que pode ter saído"},
	"consulta-nao-encontrado": {"the provider was asked and does not know the key", "o provedor foi consultado e não conhece a chave"},
	"nao-enviado":             {"nothing left in that attempt", "nada saiu nessa tentativa"},
	"encontrado":              {"the provider acted on this key", "o provedor agiu com esta chave"},
	"nao-encontrado":          {"the provider does not know this key", "o provedor não conhece esta chave"},
	"inacessivel":             {"no answer that says either", "nenhuma resposta que diga sim ou não"},
}

// Occurrences says in words what happened to an effect.
var Occurrences = map[string]M{
	"nao-enviado":      {"not sent", "não enviado"},
	"falha-ambigua":    {"in doubt", "na dúvida"},
	"recusado":         {"refused", "recusado"},
	"resposta-tardia":  {"late answer", "resposta tardia"},
	"varredura":        {"swept", "varrido"},
	"consulta":         {"looked up", "consultado"},
	"decisao-recusada": {"decision refused", "decisão recusada"},
}

// ReasonStatus explains reasons of the form "resposta-503".
var ReasonStatus = M{"the provider answered %s, which says nothing certain", "o provedor respondeu %s, o que nada diz com certeza"}
