package text

// Replays, progress, and what can be done to a replay.
var (
	ReplaysTitle = M{"Queue and history", "Fila e histórico"}
	ReplaysEmpty = M{"No replay. n queues one.", "Nenhum replay. n põe um na fila."}

	ProgressNoPartitions = M{"not cut into partitions yet", "ainda não dividido em partições"}
	NothingToDo          = M{"Nothing to do: no event is in scope.", "Nada a fazer: nenhum evento no escopo."}
	NotPlanned           = M{"not planned yet", "ainda não planejado"}
	OfEvents             = M{"%s of %s events", "%s de %s eventos"}
	OfEffects            = M{"%s of %s effects", "%s de %s efeitos"}
	PerSecond            = M{"%s events/s", "%s eventos/s"}
	StageOf              = M{"stage %d of %d: %s", "etapa %d de %d: %s"}
	StageProjecting      = M{"reading the events", "lendo os eventos"}
	StageWriting         = M{"writing the state", "gravando o estado"}
	StageWorking         = M{"bringing about the effects", "realizando os efeitos"}
	StageParts           = M{"%s of %s parts", "%s de %s partes"}
	PartDone             = M{"done", "prontas"}
	PartActive           = M{"active", "ativas"}
	PartLeft             = M{"not finished", "não terminadas"}
	PartWaiting          = M{"waiting", "à espera"}
	PartError            = M{"with failures", "com falhas"}
	PartitionGroup       = M{"#%d–#%d  %s of %s done", "#%d–#%d  %s de %s prontas"}
	NoHosts              = M{"no runner is up: nothing moves until one is started", "nenhum executor no ar: nada anda até que um seja iniciado"}
	SlicesInHand         = Plural{M{"%s partition in hand", "%s partição em mãos"}, M{"%s partitions in hand", "%s partições em mãos"}}
	HostIdle             = M{"idle", "ocioso"}
	HostSilent           = M{"silent for %s", "mudo há %s"}
	HostUp               = M{"up for %s", "no ar há %s"}

	ActionNotNow = M{"%s is %s: that is not possible now.", "%s está %s: não é possível agora."}
	ActionHeld   = M{"It is held in the foreground by %s, which will notice.", "Está sendo feito em primeiro plano por %s, que vai perceber."}

	PauseTitle  = M{"Pause %s?", "Pausar %s?"}
	PauseWhat   = M{"Each partition stops at its next checkpoint, within seconds; calls that are on their way end first. Nothing is lost and nothing is repeated: resuming goes on from the checkpoints.", "Cada partição para no próximo checkpoint, em segundos; chamadas em curso terminam antes. Nada se perde e nada se repete: retomar continua dos checkpoints."}
	PauseButton = M{"Pause", "Pausar"}
	PauseDone   = M{"%s is paused.", "%s foi pausado."}

	ResumeTitle     = M{"Resume %s?", "Retomar %s?"}
	ResumeWhat      = M{"The partitions go on from their checkpoints as soon as a runner is free. What was already sent is not sent again.", "As partições continuam de seus checkpoints assim que houver executor livre. O que já foi enviado não é enviado de novo."}
	ResumeAgainWhat = M{"It ended with something missing. What is missing is tried again; what was done stays done and is not repeated.", "Terminou com pendências. O que falta é tentado de novo; o que foi feito fica feito e não se repete."}
	ResumeButton    = M{"Resume", "Retomar"}
	ResumeDone      = M{"%s goes on.", "%s continua."}

	ResumeLimit     = M{"at most so many effects", "no máximo tantos efeitos"}
	ResumeLimitHint = M{"empty: %s as before; 0: no limit", "vazio: %s como antes; 0: sem limite"}

	RevertTitle      = M{"Revert the state that %s wrote?", "Reverter o estado que %s gravou?"}
	RevertWhat       = M{"Every order that it wrote and that nobody changed since goes back to its value from before. What others wrote since stays. Effects cannot be undone: whoever was told something stays told.", "Cada pedido que ele gravou e que ninguém mudou desde então volta ao valor de antes. O que outros gravaram depois fica. Efeitos não se desfazem: quem foi avisado continua avisado."}
	RevertButton     = M{"Revert", "Reverter"}
	RevertDone       = M{"%s orders are as before %s; %s were changed by others since and stay.", "%s pedidos estão como antes de %s; %s foram mudados por outros e ficam."}
	RevertSimulation = M{"%s is a simulation: it changed nothing.", "%s é uma simulação: não mudou nada."}

	CancelTitle          = M{"Cancel %s for good?", "Cancelar %s de vez?"}
	CancelApplyWhat      = M{"Each partition stops at its next checkpoint, within seconds. Commissions that were written and notices that went out stay as they are: cancelling undoes nothing. A cancelled replay cannot be resumed.", "Cada partição para no próximo checkpoint, em segundos. Comissões gravadas e avisos enviados ficam como estão: cancelar não desfaz nada. Um replay cancelado não pode ser retomado."}
	CancelSimulationWhat = M{"The simulation stops within seconds. It wrote nothing outside its own tables. A cancelled replay cannot be resumed.", "A simulação para em segundos. Não gravou nada fora de suas próprias tabelas. Um replay cancelado não pode ser retomado."}
	CancelButton         = M{"Cancel the replay", "Cancelar o replay"}
	CancelDone           = M{"%s is cancelled.", "%s foi cancelado."}

	ApproveNotSimulation = M{"%s is no simulation: only a simulation can be approved.", "%s não é simulação: só se aprova uma simulação."}
	ApproveLooking       = M{"Looking at what approving %s would do…", "Vendo o que aprovar %s faria…"}
	ApproveTitle         = M{"Approve simulation %s", "Aprovar a simulação %s"}
	ApproveWhat          = M{"Approving queues %s: the same scope and the same rules, this time for real. State is written and effects go out.", "Aprovar põe %s na fila: o mesmo escopo e as mesmas regras, desta vez de verdade. O estado é gravado e os efeitos saem."}
	ApproveTotals        = M{"%s orders change, %s → %s; %s new, %s", "%s pedidos mudam, %s → %s; %s novos, %s"}
	ApproveAtOnce        = M{"at once, at any hour", "imediatamente, a qualquer hora"}
	ApproveHours         = M{"only %s; outside these hours effects wait", "só %s; fora desse horário os efeitos esperam"}
	ApproveType          = M{"type %s", "digite %s"}
	ApproveMismatch      = M{"That is not %s.", "Não é %s."}
	ApproveButton        = M{"Approve and apply", "Aprovar e aplicar"}
	ApproveDone          = M{"%s is queued.", "%s está na fila."}

	QueueTitle         = M{"New replay", "Novo replay"}
	QueueWhat          = M{"A day, a window or a range of positions. Nothing is queued before you have seen what it takes.", "Um dia, uma janela ou uma faixa de posições. Nada entra na fila antes de você ver o que abrange."}
	QueueMode          = M{"mode", "modo"}
	QueueFrom          = M{"from", "de"}
	QueueTo            = M{"to (not included)", "até (sem incluir)"}
	QueueZone          = M{"time zone", "fuso horário"}
	QueuePositions     = M{"positions", "posições"}
	QueueHandler       = M{"handler", "manipulador"}
	QueueHandlerByType = M{"by event type", "pelo tipo de evento"}
	QueueTypes         = M{"event types", "tipos de evento"}
	QueueOrders        = M{"orders", "pedidos"}
	QueueLimit         = M{"at most so many effects", "no máximo tantos efeitos"}
	QueuePartitions    = M{"partitions", "partições"}
	QueuePriority      = M{"priority (1 goes first)", "prioridade (1 vai primeiro)"}
	QueueID            = M{"id", "id"}
	QueueDayHint       = M{"2026-10-14 or 2026-10-14 09:30", "14/10/2026 ou 14/10/2026 09:30"}
	QueueToHint        = M{"empty: to the end of that day", "vazio: até o fim desse dia"}
	QueuePositionsHint = M{"first:last", "primeira:última"}
	QueueAllHint       = M{"empty: all; several with commas", "vazio: todos; vários com vírgulas"}
	QueueNoLimit       = M{"empty: no limit", "vazio: sem limite"}
	QueueIDHint        = M{"empty: made from mode and day", "vazio: feito do modo e do dia"}
	QueuePreview       = M{"Preview", "Prever"}
	QueueButton        = M{"Queue", "Pôr na fila"}
	QueueDone          = M{"%s is queued.", "%s está na fila."}
	QueueBadNumber     = M{"%s: a whole number from %s to %s.", "%s: um número inteiro de %s a %s."}
	QueueBadZone       = M{"There is no time zone \"%s\". Write it like America/Sao_Paulo.", "Não existe o fuso \"%s\". Escreva como America/Sao_Paulo."}
	QueueBadTime       = M{"\"%s\" is not a time. Write 2026-10-14 or 2026-10-14 09:30.", "\"%s\" não é uma data. Escreva 14/10/2026 ou 14/10/2026 09:30."}
	QueueNeedsEnd      = M{"A window that does not start with a day needs its end too.", "Uma janela que não começa com um dia precisa também do fim."}
	QueueEmptyWindow   = M{"The window is empty: its end is not after its start.", "A janela é vazia: o fim não vem depois do início."}
	QueueBadPositions  = M{"Positions are written first:last, as in 1000:2000.", "Posições se escrevem primeira:última, como 1000:2000."}
	QueueNoScope       = M{"Say what to replay: a day, a window or positions.", "Diga o que reprocessar: um dia, uma janela ou posições."}

	PreviewTitle     = M{"Preview: %s %s", "Previsão: %s %s"}
	PreviewEvents    = M{"%s events of %s orders", "%s eventos de %s pedidos"}
	PreviewKind      = M{"up to %s wanted · %s already in the ledger · %s of them uncertain", "até %s desejados · %s já no ledger · %s deles incertos"}
	PreviewSimulates = M{"A simulation sends nothing and writes nothing outside its own tables.", "Uma simulação não envia nada nem grava fora de suas próprias tabelas."}
	PreviewOverlaps  = M{"It will wait: these positions are being worked by %s.", "Vai esperar: estas posições estão sendo feitas por %s."}

	FailuresTitle = M{"Events that could not be processed by %s", "Eventos não processados por %s"}
	FailuresEmpty = M{"None: every event could be processed.", "Nenhum: todos os eventos foram processados."}

	FiringsEmpty = M{"Nothing fired yet.", "Nada disparou ainda."}
	NextNone     = M{"Nothing is scheduled in this configuration.", "Nada está agendado nesta configuração."}
	RunNowTitle  = M{"Run a task now?", "Rodar uma tarefa agora?"}
	RunNowWhat   = M{"The task does at once what it does at its slots: the slot that is due and that nobody ran, or one of its own. While it is at work it is refused. The work is done by a runner, not by this terminal.", "A tarefa faz já o que faz em seus horários: o disparo devido que ninguém rodou, ou um próprio. Enquanto ela trabalha, é recusado. O trabalho é feito por um executor, não por este terminal."}
	RunNowTask   = M{"task", "tarefa"}
	RunNowButton = M{"Run now", "Rodar agora"}
	RunNowDone   = M{"%s was set going.", "%s foi posta a andar."}
	NextIn       = M{"in %s", "em %s"}
)
