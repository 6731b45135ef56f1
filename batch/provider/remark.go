package provider

// Why no call can be made now, as people are told; see the remarks of package batch.
const (
	remarkFailedOnce = "it failed %d time in a row"
	remarkFailed     = "it failed %d times in a row"
	remarkProbed     = "it failed, and is being tried again"
	remarkHours      = "outside sending hours (%s, %s)"
	remarkRateOne    = "the rate of %g call a second is used up"
	remarkRate       = "the rate of %g calls a second is used up"
	remarkAnswered   = "the provider answered %d"
	remarkSealed     = "the call was given up before it was written"
)
