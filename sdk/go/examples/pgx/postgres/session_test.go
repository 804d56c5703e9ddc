package postgres

import (
	"errors"
	"fmt"
	"math/big"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	lydite "lydite.dev/driver"
)

func refused(code string, committing bool) error {
	s := &Session{committing: committing}
	err := fmt.Errorf("while it ran: %w", &pgconn.PgError{Severity: "ERROR", Code: code, Message: "words"})
	s.explain(&err)
	return err
}

func TestCodesOfTheServerAreToldInLyditesWords(t *testing.T) {
	for code, reason := range map[string]string{"40001": "serialization", "40P01": "deadlock", "55P03": "lock_timeout"} {
		var aborted *lydite.Aborted
		if err := refused(code, true); !errors.As(err, &aborted) || aborted.Reason != reason {
			t.Fatalf("%s is %v", code, err)
		}
	}
	for _, code := range []string{"08006", "57P01", "53300", "40003"} {
		var gone *lydite.Unavailable
		if err := refused(code, false); !errors.As(err, &gone) || !gone.NotCommitted {
			t.Fatalf("%s before the commit is %v", code, err)
		}
		if err := refused(code, true); !errors.As(err, &gone) || gone.NotCommitted {
			t.Fatalf("%s at the commit is %v", code, err)
		}
	}
	for _, code := range []string{"23505", "42P01", "53100"} {
		var known *pgconn.PgError
		if err := refused(code, false); !errors.As(err, &known) {
			t.Fatalf("%s is %v", code, err)
		}
	}
}

func TestAmountsComeBackAsTheyWereAndInexactOnesAreRefused(t *testing.T) {
	for _, amount := range []cents{0, 1, -1, 99, 12_345_678_901_234} {
		value, err := amount.NumericValue()
		if err != nil {
			t.Fatal(err)
		}
		// As a sum comes from the server: with more places.
		value.Int.Mul(value.Int, big.NewInt(100))
		value.Exp -= 2
		var back cents
		if err := back.ScanNumeric(value); err != nil || back != amount {
			t.Fatalf("%v came back as %v: %v", amount, back, err)
		}
	}
	var back cents
	for _, value := range []pgtype.Numeric{
		{}, {NaN: true, Valid: true}, {Int: big.NewInt(1), Exp: -3, Valid: true}, {Int: big.NewInt(1), Exp: 30, Valid: true},
	} {
		if err := back.ScanNumeric(value); err == nil {
			t.Fatalf("%v became %v", value, back)
		}
	}
	if text := cents(5_005).String(); text != "50.05" {
		t.Fatal(text)
	}
}
