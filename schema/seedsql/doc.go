// Package seedsql is a live consumer as it was before Reprise: it knows the five shared tables, the three
// states and nothing else. Tests run it beside Reprise to see that its statements, unchanged, keep working
// and keep their promises.
//
//	consumer := seedsql.Consumer{
//		Pool:      pool,
//		Gateway:   func(ctx context.Context, key string, body []byte) error { … },
//		Execution: seedsql.Live,
//		Policy:    seedsql.Policy{seedsql.NotifySeller: {Mode: seedsql.Apply, OnFailure: seedsql.Release}},
//	}
//	err := consumer.Apply(ctx, event)
//
// It is for tests only. Its statements must not be changed to suit the schema: the schema suits them.
package seedsql
