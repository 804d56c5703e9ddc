package lydite

import "errors"

// Aborted says that the database gave the transaction up and that it may be sent again. Reason is "serialization",
// "deadlock", "lock_timeout" or "other".
type Aborted struct {
	Reason string
	Detail string
}

func (e *Aborted) Error() string { return e.Detail }

// RolledBack says that a New-Order with an unused item was rolled back (clause 2.4.2.3), with what the terminal shows.
type RolledBack struct {
	OID     int64
	CLast   string
	CCredit string
}

func (e *RolledBack) Error() string { return "item number is not valid" }

// Unavailable says that the database went away. NotCommitted is set when the transaction was surely not committed.
type Unavailable struct {
	Detail       string
	NotCommitted bool
}

func (e *Unavailable) Error() string { return e.Detail }

// Unsupported says that the driver does not offer what was asked.
type Unsupported struct{ Detail string }

func (e *Unsupported) Error() string { return e.Detail }

// Fatal says that trying again would not help, and that nothing was committed. Only Store.Commit needs it: any other error of
// other functions says the same.
type Fatal struct{ Detail string }

func (e *Fatal) Error() string { return e.Detail }

// isKnown says whether an error is one of these.
func isKnown(err error) bool {
	var aborted *Aborted
	var rolledBack *RolledBack
	var unavailable *Unavailable
	var unsupported *Unsupported
	var fatal *Fatal
	return errors.As(err, &aborted) || errors.As(err, &rolledBack) || errors.As(err, &unavailable) ||
		errors.As(err, &unsupported) || errors.As(err, &fatal)
}
