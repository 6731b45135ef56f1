package main

import (
	"fmt"
	"strings"
	"testing"

	"reprise.dev/reprise/ledger"
	"reprise.dev/reprise/schema/failpoint"
)

// TestP1_P8_KilledAtEveryStep kills the real program at every step of an apply, for a provider that deduplicates and
// one that does not, then lets everything come to its end and asks the provider what it delivered.
func TestP1_P8_KilledAtEveryStep(t *testing.T) {
	t.Parallel()
	const events = 60
	for _, step := range []string{
		failpoint.AfterPlan, failpoint.BeforeState, failpoint.AfterState, failpoint.BeforeReserve, failpoint.AfterReserve,
		failpoint.RequestWritten, failpoint.AfterCall, failpoint.AfterRecord, failpoint.BeforeCheckpoint,
		failpoint.AfterCheckpoint, failpoint.BeforeConclude,
	} {
		for _, policy := range []ledger.OnFailure{ledger.Keep, ledger.Release} {
			for _, hit := range hits(step) {
				t.Run(fmt.Sprintf("%s/%s/%d", step, policy, hit), func(t *testing.T) {
					t.Parallel()
					s := newSite(t, policy, "")
					s.archive(events)
					s.want(exitDone, "replay", "queue", "--id", "a", "--positions", fmt.Sprintf("1:%d", events), "--apply", "--partitions", "4")
					s.env = []string{fmt.Sprintf("REPRISE_FAILPOINT=%s:%d", step, hit)}
					if r := s.run("replay", "run", "a"); r.code != -1 {
						t.Fatalf("not killed: exit %d\n%s%s", r.code, r.out, r.errout)
					}
					s.env = nil
					s.wantSettledBehindCheckpoints()
					s.quiet("a")
					s.wantPromises(policy, events)
				})
			}
		}
	}
}

// hits are which passages of a step kill: the first, and later ones that every run reaches.
func hits(step string) []int {
	switch step {
	case failpoint.AfterPlan, failpoint.BeforeState, failpoint.AfterState, failpoint.BeforeConclude:
		return []int{1}
	case failpoint.BeforeCheckpoint, failpoint.AfterCheckpoint:
		return []int{1, 3, 6} // the first four are of the stage in which nothing is done yet
	case failpoint.BeforeReserve:
		return []int{1, 3} // a statement reserves many effects at once: there are few of them
	}
	return []int{1, 17}
}

// wantSettledBehindCheckpoints: a checkpoint never passes an event whose effect is not settled.
func (s *site) wantSettledBehindCheckpoints() {
	s.t.Helper()
	n := s.int(`select count(*) from evento_arquivado e join reprocessamento_checkpoint c
		on e.posicao between c.posicao_de and c.ultima_posicao
		left join efeito_aplicado f on f.chave = e.id || ':' || $1
		where f.estado is null or f.estado = 'reservado'`, notify)
	if n != 0 {
		s.t.Errorf("%d events behind a checkpoint have an unsettled effect", n)
	}
}

// wantPromises asserts, from the provider's own counts, what each policy promises once all is quiet.
func (s *site) wantPromises(policy ledger.OnFailure, events int) {
	s.t.Helper()
	var missed []string
	for i := 1; i <= events; i++ {
		switch n := s.provider.Delivered(effectKey(i)); {
		case n > 1:
			s.t.Errorf("%s was delivered %d times", effectKey(i), n)
		case n == 0:
			missed = append(missed, effectKey(i))
		}
	}
	if policy == ledger.Release && len(missed) > 0 {
		s.t.Errorf("never delivered: %s", strings.Join(missed, " "))
	}
	for _, key := range missed {
		if s.int(`select count(*) from efeito_aplicado where chave = $1 and estado = 'incerto'`, key) != 1 {
			s.t.Errorf("%s was not delivered and nobody is asked about it", key)
		}
	}
	if n := s.int(`select count(*) from efeito_aplicado where estado = 'reservado'`); n != 0 {
		s.t.Errorf("%d effects are still reserved", n)
	}
	if n := s.int(`select count(*) from efeito_aplicado`); n != events {
		s.t.Errorf("the ledger holds %d effects, want %d", n, events)
	}
	if uncertain := s.int(`select count(*) from efeito_aplicado where estado = 'incerto'`); policy == ledger.Release && uncertain > 0 || uncertain > 8 {
		s.t.Errorf("%d effects are uncertain; at most what was in flight may be", uncertain)
	}
	wrong := s.int(`select count(*) from (
			select distinct on (pedido_id) pedido_id, versao, floor((payload->>'valorCentavos')::numeric * 5 / 100 + 0.5) as valor
			from evento_arquivado order by pedido_id, versao desc) e
		left join comissao c using (pedido_id)
		where c.valor_centavos is distinct from e.valor or c.versao_evento is distinct from e.versao`)
	if wrong != 0 {
		s.t.Errorf("%d orders hold a wrong commission", wrong)
	}
	read := s.int(`select coalesce(sum((contadores->>'Read')::int), 0)::int from reprocessamento_checkpoint where execucao_id = 'a'`)
	if read != events {
		s.t.Errorf("%d events accounted for, want %d", read, events)
	}
}
