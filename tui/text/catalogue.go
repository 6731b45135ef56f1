package text

// The catalogue: what is said on every screen. English first, Portuguese second.
var (
	ScreenReplays  = M{"Replays", "Replays"}
	ScreenProgress = M{"Progress", "Andamento"}
	ScreenDiff     = M{"Diff", "Diferenças"}
	ScreenReview   = M{"Review", "Revisão"}
	ScreenSchedule = M{"Schedule", "Agenda"}
	ScreenFailures = M{"Failures", "Falhas"}

	Loading        = M{"loading…", "carregando…"}
	PlaceMore      = M{"more above and below", "há mais acima e abaixo"}
	PlaceMoreOf    = M{"more above and below, %s in all", "há mais acima e abaixo, %s ao todo"}
	NothingMatches = M{"Nothing matches the filter; esc shows all.", "Nada corresponde ao filtro; esc mostra tudo."}
	Since          = M{"since %s", "desde %s"}

	NoReplayChosen = M{"No replay chosen: pick one on screen 1 and press enter.", "Nenhum replay escolhido: escolha um na tela 1 e tecle enter."}
	NoSuchReplay   = M{"There is no replay %s.", "Não existe o replay %s."}

	// The dashboard around the screens.
	HeadRole        = M{"role %s", "papel %s"}
	HeadServer      = M{"%s on %s", "%s em %s"}
	HeadFilter      = M{"filter", "filtro"}
	TooSmall        = M{"window too small: %d×%d", "janela pequena demais: %d×%d"}
	TooSmallNeeds   = M{"needs at least %d×%d", "precisa de ao menos %d×%d"}
	TooSmallQuit    = M{"q quits", "q sai"}
	BannerAway      = M{"Database away", "Banco fora do ar"}
	BannerFailed    = M{"Reading failed", "A leitura falhou"}
	BannerStale     = M{"as of %s ago", "como estava há %s"}
	BannerNothing   = M{"nothing was read yet", "nada foi lido ainda"}
	BannerRetry     = M{"retry in %s", "tenta em %s"}
	BannerTrying    = M{"retrying", "tentando"}
	BannerBack      = M{"The database is back.", "O banco voltou."}
	UnknownCommand  = M{"Unknown command %s. Tab completes; ? helps.", "Comando desconhecido %s. Tab completa; ? ajuda."}
	NothingToFilter = M{"There is nothing to filter on this screen.", "Não há o que filtrar nesta tela."}
	NoSuspend       = M{"There is no shell to come back from.", "Não há shell de onde voltar."}
	HelpTitle       = M{"Keys", "Teclas"}
	HelpHere        = M{"On this screen", "Nesta tela"}
	HelpMoving      = M{"Moving", "Mover-se"}
	HelpEverywhere  = M{"Everywhere", "Em toda parte"}
	HelpCommands    = M{"Commands (after a colon)", "Comandos (depois dos dois-pontos)"}
	HelpQuit        = M{"Quitting stops nothing: replays are worked by the runners.", "Sair não para nada: os replays são feitos pelos executores."}
	PromptFilter    = M{"enter keeps, esc drops", "enter mantém, esc descarta"}
	PromptCommand   = M{"tab completes, esc leaves", "tab completa, esc sai"}

	// States.
	StateQueued    = M{"queued", "na fila"}
	StateRunning   = M{"running", "executando"}
	StatePaused    = M{"paused", "pausado"}
	StateDone      = M{"done", "concluído"}
	StatePartial   = M{"partial", "parcial"}
	StateFailed    = M{"failed", "falhou"}
	StateCancelled = M{"cancelled", "cancelado"}
	StateMissed    = M{"missed", "perdido"}

	ModeSimulate = M{"simulate", "simular"}
	ModeApply    = M{"apply", "aplicar"}

	// Columns.
	ColState       = M{"STATE", "ESTADO"}
	ColReplay      = M{"REPLAY", "REPLAY"}
	ColMode        = M{"MODE", "MODO"}
	ColScope       = M{"SCOPE", "ESCOPO"}
	ColEvents      = M{"EVENTS", "EVENTOS"}
	ColProgress    = M{"DONE", "FEITO"}
	ColRequestedBy = M{"REQUESTED BY", "PEDIDO POR"}
	ColAge         = M{"AGE", "IDADE"}
	ColRead        = M{"READ", "LIDOS"}
	ColPositions   = M{"POSITIONS", "POSIÇÕES"}
	ColCheckpoint  = M{"CHECKPOINT", "CHECKPOINT"}
	ColPoison      = M{"FAILURES", "FALHAS"}
	ColOwner       = M{"WORKED BY", "COM QUEM"}
	ColOrder       = M{"ORDER", "PEDIDO"}
	ColBefore      = M{"BEFORE", "ANTES"}
	ColAfter       = M{"AFTER", "DEPOIS"}
	ColDelta       = M{"DELTA", "DIFERENÇA"}
	ColVersion     = M{"VERSION", "VERSÃO"}
	ColEvent       = M{"EVENT", "EVENTO"}
	ColType        = M{"TYPE", "TIPO"}
	ColOccurred    = M{"OCCURRED", "OCORRIDO"}
	ColPosition    = M{"POSITION", "POSIÇÃO"}
	ColEffect      = M{"EFFECT", "EFEITO"}
	ColSent        = M{"WENT OUT", "ENVIADO"}
	ColWouldSend   = M{"WOULD GO OUT", "SERIA ENVIADO"}
	ColKind        = M{"KIND", "TIPO"}
	ColReason      = M{"REASON", "MOTIVO"}
	ColTries       = M{"TRIES", "TENT."}
	ColReady       = M{"READY", "PRONTO"}
	ColRun         = M{"RUN", "EXECUÇÃO"}
	ColSlot        = M{"SLOT", "PREVISTO PARA"}
	ColTask        = M{"TASK", "TAREFA"}
	ColTook        = M{"TOOK", "DUROU"}
	ColLate        = M{"LATE", "ATRASO"}
	ColHost        = M{"HOST", "MÁQUINA"}
	ColDetail      = M{"DETAIL", "DETALHE"}

	// Labels of facts.
	LabelScope       = M{"scope", "escopo"}
	LabelUTC         = M{"UTC", "UTC"}
	LabelEvents      = M{"events", "eventos"}
	LabelPositions   = M{"positions", "posições"}
	LabelFirst       = M{"first", "primeiro"}
	LabelLast        = M{"last", "último"}
	LabelLimit       = M{"limit", "limite"}
	LabelEffect      = M{"effect", "efeito"}
	LabelSending     = M{"sending", "envio"}
	LabelRequestedBy = M{"requested by", "pedido por"}
	LabelChanges     = M{"changes", "mudanças"}
	LabelContent     = M{"content", "conteúdo"}
	LabelApprovedBy  = M{"approved by", "aprovado por"}
	LabelSimulation  = M{"simulation", "simulação"}
	LabelCut         = M{"cut into", "dividido em"}
	LabelStarted     = M{"started", "início"}
	LabelFinished    = M{"finished", "fim"}
	LabelVersion     = M{"code", "código"}
	LabelWaiting     = M{"waits for", "espera por"}
	LabelHolder      = M{"held by", "com"}
	LabelError       = M{"error", "erro"}
	LabelElapsed     = M{"elapsed", "decorrido"}
	LabelLeft        = M{"left", "falta"}
	LabelRate        = M{"rate", "ritmo"}
	LabelSince       = M{"uncertain since", "incerto desde"}
	LabelAttempts    = M{"attempts", "tentativas"}
	LabelPolicy      = M{"provider", "provedor"}
	LabelQuarantine  = M{"quarantine", "quarentena"}
	LabelNextLookUp  = M{"next look-up", "próxima consulta"}

	// Sections.
	SectionPartitions  = M{"Partitions", "Partições"}
	SectionOneByOne    = M{"One by one", "Uma a uma"}
	SectionEffects     = M{"Effects", "Efeitos"}
	SectionHosts       = M{"Hosts", "Máquinas"}
	SectionAccount     = M{"Account", "Prestação de contas"}
	SectionTotals      = M{"Totals", "Totais"}
	SectionStake       = M{"Effects at stake", "Efeitos em jogo"}
	SectionPayload     = M{"Payload of %s", "Conteúdo de %s"}
	SectionEvidence    = M{"Evidence", "Evidências"}
	SectionContent     = M{"What was to be sent", "O que seria enviado"}
	SectionOccurrences = M{"What happened", "O que aconteceu"}
	SectionLookUps     = M{"What the provider says", "O que o provedor diz"}
	SectionDecisions   = M{"Decisions so far", "Decisões até aqui"}
	SectionEvent       = M{"The event", "O evento"}
	SectionNext        = M{"Next", "Próximos"}
	SectionFirings     = M{"Slots", "Disparos"}

	// Scope.
	ScopePositions = M{"positions %s–%s", "posições %s–%s"}
	ScopeDay       = M{"day %s", "dia %s"}
	ScopeOrders    = Plural{M{"%s order", "%s pedido"}, M{"%s orders", "%s pedidos"}}

	// Identifiers that may deceive the eye.
	WarnHidden = M{"holds characters that are not shown as themselves; they are written as escapes", "contém caracteres que não aparecem como são; estão escritos como escapes"}
	WarnMixed  = M{"mixes letters of scripts that look alike: compare it letter by letter", "mistura letras parecidas de alfabetos diferentes: compare letra por letra"}
	WarnSpaced = M{"begins or ends with a space, or holds several together", "começa ou termina com espaço, ou tem vários juntos"}

	JSONCut = M{"… the first %s of %s; %s opens all of it in the pager", "… os primeiros %s de %s; %s abre tudo no paginador"}

	// Counters.
	CountRead       = M{"read", "lidos"}
	CountWritten    = M{"written", "gravados"}
	CountWouldWrite = M{"would be written", "seriam gravados"}
	CountUnchanged  = M{"already right", "já certos"}
	CountNewer      = M{"newer version kept", "com versão mais nova"}
	CountPassed     = M{"other types", "outros tipos"}
	CountPoison     = Plural{M{"%s failure", "%s falha"}, M{"%s failures", "%s falhas"}}
	CountOtherMode  = M{"differ from the old arithmetic", "diferem da aritmética antiga"}
	CountPartitions = Plural{M{"%s partition", "%s partição"}, M{"%s partitions", "%s partições"}}
	CountPriority   = M{"priority %d", "prioridade %d"}
	LimitEffects    = Plural{M{"at most %s effect", "no máximo %s efeito"}, M{"at most %s effects", "no máximo %s efeitos"}}
	AccountEvents   = M{"%s events in scope", "%s eventos no escopo"}
	AccountOrders   = M{"%s orders, %s with another value", "%s pedidos, %s com outro valor"}
	AccountLate     = Plural{M{"%s late event taken in", "%s evento atrasado incluído"}, M{"%s late events taken in", "%s eventos atrasados incluídos"}}
	AccountGaps     = Plural{M{"%s position missing", "%s posição ausente"}, M{"%s positions missing", "%s posições ausentes"}}

	// Outcomes of effects.
	EffectsNone      = M{"no effects so far", "nenhum efeito até aqui"}
	EffectApplied    = M{"applied", "aplicados"}
	EffectWouldApply = M{"would apply", "seriam aplicados"}
	EffectRegistered = M{"already done", "já feitos"}
	EffectUncertain  = M{"uncertain", "incertos"}
	EffectRefused    = M{"refused", "recusados"}
	EffectPending    = M{"pending", "pendentes"}
	EffectSuppressed = M{"suppressed", "suprimidos"}
	EffectSuperseded = M{"superseded", "superados"}
	EffectDiffers    = M{"told otherwise", "com outro valor"}

	// Rules.
	RuleSuppress    = M{"suppressed: nothing is sent", "suprimido: nada é enviado"}
	RuleApply       = M{"applied", "aplicado"}
	RuleApplyTo     = M{"sent to %s", "enviado a %s"}
	RuleWhenWritten = M{", for written state only", ", só de estado gravado"}
	RuleRelease     = M{"it deduplicates: failures are tried again", "deduplica: falhas são tentadas de novo"}
	RuleKeep        = M{"it does not deduplicate: doubt goes to review", "não deduplica: a dúvida vai para revisão"}
	RuleLookUp      = M{"it can be asked: doubt is looked up, then reviewed", "pode ser consultado: a dúvida é consultada, depois revisada"}
)
