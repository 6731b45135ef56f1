package text

// What each key does, as short as a hint has to be.
var (
	KeyScreen  = M{"screens", "telas"}
	KeyHelp    = M{"help", "ajuda"}
	KeyFilter  = M{"filter", "filtrar"}
	KeyCommand = M{"command", "comando"}
	KeyRefresh = M{"read again", "ler de novo"}
	KeyBack    = M{"back", "voltar"}
	KeyQuit    = M{"quit", "sair"}
	KeySuspend = M{"suspend", "suspender"}

	KeyUp       = M{"up", "acima"}
	KeyDown     = M{"down", "abaixo"}
	KeyPageUp   = M{"page up", "página acima"}
	KeyPageDown = M{"page down", "página abaixo"}
	KeyTop      = M{"first", "primeiro"}
	KeyBottom   = M{"last", "último"}
	KeyLeft     = M{"left, previous", "à esquerda, anterior"}
	KeyRight    = M{"right, next", "à direita, próximo"}
	KeyFocus    = M{"list or detail", "lista ou detalhe"}

	KeyOpen       = M{"open", "abrir"}
	KeyNew        = M{"new", "novo"}
	KeyPause      = M{"pause", "pausar"}
	KeyResume     = M{"resume", "retomar"}
	KeyCancel     = M{"cancel", "cancelar"}
	KeyApprove    = M{"approve", "aprovar"}
	KeyRevert     = M{"revert", "reverter"}
	KeyToProgress = M{"progress", "andamento"}
	KeyToDiff     = M{"diff", "diferenças"}
	KeyToFailures = M{"failures", "falhas"}

	KeyView = M{"map or bars", "mapa ou barras"}

	KeySort    = M{"sort", "ordenar"}
	KeyReverse = M{"reverse", "inverter"}
	KeyShow    = M{"changed, new", "alterados, novos"}
	KeyHistory = M{"history", "histórico"}
	KeyTold    = M{"told otherwise", "outro valor"}
	KeyExport  = M{"export", "exportar"}

	KeyRunNow = M{"run now", "rodar agora"}

	KeyConfirm = M{"confirm", "confirmar"}
	KeyResend  = M{"send again", "reenviar"}
	KeyDiscard = M{"discard", "descartar"}
	KeyMark    = M{"mark", "marcar"}
	KeyMarkAll = M{"mark all", "marcar todos"}
	KeyUnmark  = M{"unmark all", "desmarcar todos"}
	KeyKind    = M{"kind", "tipo"}
	KeyReason  = M{"reason", "motivo"}
	KeyOnlyRun = M{"only its run", "só sua execução"}
	KeyItem    = M{"another", "outro"}
	KeyPager   = M{"pager", "paginador"}

	KeyNext     = M{"next field", "próximo campo"}
	KeyPrevious = M{"field before", "campo anterior"}
	KeySubmit   = M{"next, press", "avançar, acionar"}
	KeyFinish   = M{"done", "concluir"}
	KeyChoose   = M{"choose", "escolher"}
	KeyDismiss  = M{"leave", "sair"}
	KeyYes      = M{"yes", "sim"}
	KeyYesKey   = M{"y", "s"}
	KeyNo       = M{"no", "não"}
)

// What each command does.
var (
	CommandScreen   = M{"open a screen", "abrir uma tela"}
	CommandOf       = M{"open a screen about a replay", "abrir uma tela sobre um replay"}
	CommandNew      = M{"queue a replay", "pôr um replay na fila"}
	CommandControl  = M{"pause, resume or cancel a replay", "pausar, retomar ou cancelar um replay"}
	CommandApprove  = M{"approve a simulation, under a name of yours", "aprovar uma simulação, com um nome seu"}
	CommandRevert   = M{"undo the state that an apply wrote", "desfazer o estado que um replay gravou"}
	CommandRunNow   = M{"run a schedule's task now", "rodar já a tarefa de uma agenda"}
	CommandExport   = M{"export a diff", "exportar diferenças"}
	CommandOrder    = M{"an order's history", "o histórico de um pedido"}
	CommandNarrow   = M{"review one kind, reason or run", "revisar um tipo, motivo ou execução"}
	CommandDecide   = M{"decide what is selected", "decidir o que está selecionado"}
	CommandLanguage = M{"change the language", "mudar o idioma"}
	CommandQuit     = M{"leave; nothing stops", "sair; nada para"}
)
